//! A story: what happens to a node, told so that a person can read it and a test can compare it.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use crate::model::read::{self, Severity};
use crate::model::{PodKey, Time};
use crate::plan::SourceKind;
use crate::sim::container::Program;
use crate::sim::event::{Event, member};
use crate::sim::transcript::{self, seconds};
use crate::sim::world::{Round, World};

/// No pod needs so many rounds: a story that does has found a planner that turns in circles.
const ROUNDS: usize = 100;

/// A simulated node and the account of what happened on it.
///
/// Inputs ([`file`](Story::file), [`happens`](Story::happens)) are told as they come; nothing moves until
/// [`settles`](Story::settles), [`passes`](Story::passes) or [`rounds`](Story::rounds) lets the agent work.
pub struct Story {
    /// The node itself, for questions that the account does not answer.
    pub world: World,
    documents: BTreeMap<(SourceKind, String), (String, Vec<PodKey>)>,
    told: String,
    /// What it came to when it last came to rest; empty when something was told since.
    rest: String,
}

impl Story {
    /// Begins a story. Its first line is the rule that it shows, in one sentence.
    pub fn new(rule: &str) -> Self {
        Self {
            world: World::default(),
            documents: BTreeMap::new(),
            told: format!("{rule}\n"),
            rest: String::new(),
        }
    }

    /// A manifest file appears, or changes. Of a change only the lines that differ are told.
    pub fn file(&mut self, name: &str, text: &str) -> &mut Self {
        self.says(SourceKind::File, name, text)
    }

    /// A source has a manifest, new or changed, under a name of its own: a URL, a key.
    pub fn says(&mut self, source: SourceKind, name: &str, text: &str) -> &mut Self {
        let id = (source, name.to_owned());
        let (before, mut gone) = self.documents.remove(&id).unwrap_or_default();
        self.headline(&format!("{source} {} {name}", if before.is_empty() { "applies" } else { "changes" }));
        self.echo(&before, text);
        let reading = read::read(name, text.as_bytes(), &read::Options::default());
        for diagnosis in reading.diagnoses.iter().filter(|d| d.severity == Severity::Error) {
            transcript::line(&mut self.told, "error", &format!("{}: {}", diagnosis.place, diagnosis.message));
        }
        let mut keys = Vec::new();
        for pod in reading.pods {
            keys.extend(pod.key.clone());
            if let Some(declared) = pod.pod {
                self.world.declare(source, declared, pod.places);
            }
        }
        gone.retain(|key| !keys.contains(key));
        for key in gone {
            self.world.undeclare(source, &key);
        }
        self.documents.insert(id, (text.into(), keys));
        self
    }

    /// A manifest file is deleted.
    pub fn no_file(&mut self, name: &str) -> &mut Self {
        self.takes_back(SourceKind::File, name)
    }

    /// A source no longer has a manifest.
    pub fn takes_back(&mut self, source: SourceKind, name: &str) -> &mut Self {
        self.headline(&format!("{source} {name} is deleted"));
        for key in self.documents.remove(&(source, name.to_owned())).map(|(_, keys)| keys).unwrap_or_default()
        {
            self.world.undeclare(source, &key);
        }
        self
    }

    /// Something happens from outside.
    pub fn happens(&mut self, event: Event) -> &mut Self {
        self.headline(&event.to_string());
        self.world.happen(&event);
        self
    }

    /// Says what the program of a container does at each attempt. Pods without a namespace are in `default`.
    pub fn program(
        &mut self,
        pod: &str,
        container: &str,
        program: impl Fn(u32) -> Program + 'static,
    ) -> &mut Self {
        self.world.script(&key(pod), container, program);
        self
    }

    /// Lets the agent work until it has nothing to do, without letting time pass.
    pub fn settles(&mut self) -> &mut Self {
        let mut calls = 0;
        for _ in 0..ROUNDS {
            let round = self.world_round();
            calls += round.planned.iter().filter(|a| !a.call.is_look()).count();
            if round.planned.is_empty() && self.world.is_quiet() {
                self.rest(calls);
                return self;
            }
        }
        transcript::line(&mut self.told, "!", &format!("still busy after {ROUNDS} rounds"));
        self
    }

    /// Lets the agent do a number of rounds and no more.
    pub fn rounds(&mut self, number: usize) -> &mut Self {
        for _ in 0..number {
            self.world_round();
        }
        self
    }

    /// Lets time pass; the agent wakes when it said it would, and when a program ends.
    pub fn passes(&mut self, time: Duration) -> &mut Self {
        let end = self.world.now() + time;
        self.settles();
        while let Some(next) = self.world.next_moment().filter(|&next| next <= end) {
            let before = self.told.len();
            self.moment(next);
            let began = self.told.len();
            self.settles();
            if self.told.len() == began {
                self.told.truncate(before);
            }
        }
        if end > self.world.now() {
            self.world.engine.pass_to(end);
        }
        self
    }

    /// Lets time pass and tells only when a container was started: for long waits, of which the single steps
    /// tell nothing new.
    pub fn starts_of(&mut self, pod: &str, container: &str, time: Duration) -> &mut Self {
        let begin = self.told.len();
        self.passes(time);
        self.told.truncate(begin);
        let starts: Vec<String> =
            self.world.engine.starts(&key(pod), container).into_iter().map(seconds).collect();
        let _ = write!(
            self.told,
            "\n== {}: {} was started at\n",
            seconds(self.world.now()),
            member(&key(pod), container)
        );
        transcript::line(&mut self.told, "", &starts.join(", "));
        self
    }

    /// The account. Compare it with a snapshot.
    pub fn told(&self) -> &str {
        &self.told
    }

    fn world_round(&mut self) -> Round {
        self.world.read();
        let seen = self.world.observed.clone();
        let planned = self.world.decide();
        let at = self.world.now();
        let mut done = Vec::new();
        while let Some(one) = self.world.carry_out(0) {
            done.push(one);
        }
        if planned.iter().any(|action| !action.call.is_look()) {
            transcript::observed(&mut self.told, &seen);
            transcript::plan(&mut self.told, &planned);
        }
        transcript::failures(&mut self.told, &done);
        Round { at, planned, done }
    }

    /// What it came to, unless nothing was done and it is as it was at the last rest.
    fn rest(&mut self, calls: usize) {
        let (mut there, mut waits) = (String::new(), String::new());
        transcript::observed(&mut there, &self.world.observed);
        transcript::waits(&mut waits, &self.world.waits());
        let nothing = if calls == 0 { "plan      (nothing)\n" } else { "" };
        let rest = format!("{there}{waits}");
        if calls > 0 || rest != self.rest {
            self.told.push_str(&format!("{there}{nothing}{waits}"));
        }
        self.rest = rest;
    }

    fn headline(&mut self, text: &str) {
        let at = seconds(self.world.now());
        let _ = write!(self.told, "\n== {at}: {text}\n");
        self.rest.clear();
    }

    fn moment(&mut self, at: Time) {
        self.world.engine.pass_to(at);
        let _ = writeln!(self.told, "-- {}", seconds(at));
    }

    /// The text of a file; of a changed one the lines between what is the same at both ends.
    fn echo(&mut self, before: &str, now: &str) {
        let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), now.lines().collect());
        if old.is_empty() {
            for text in new {
                let _ = writeln!(self.told, "  {text}");
            }
            return;
        }
        let head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
        let most = old.len().min(new.len()) - head;
        let tail = old.iter().rev().zip(new.iter().rev()).take(most).take_while(|(a, b)| a == b).count();
        for (sign, lines) in [('-', &old[head..old.len() - tail]), ('+', &new[head..new.len() - tail])] {
            for text in lines {
                let _ = writeln!(self.told, "{sign} {text}");
            }
        }
    }

    /// How many calls that may change something were made since the engine began.
    pub fn changes(&self) -> u64 {
        self.world.engine.changes()
    }
}

/// The pod that a person means by `web` or `team/web`.
pub fn key(pod: &str) -> PodKey {
    match pod.split_once('/') {
        Some((namespace, name)) => PodKey::new(namespace, name),
        None => PodKey::new("default", pod),
    }
}
