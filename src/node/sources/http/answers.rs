//! What the answers of all URLs say together: pods for the store, a report for each URL.
//!
//! Knows nothing of connections: an answer comes in, what to do next goes out. It parses and writes to the disk, so it
//! is called off the agent's loop.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use crate::model::Time;
use crate::model::read::{self, Diagnosis, Options, Severity};
use crate::node::clock::Clock;
use crate::node::sources::file::digest;
use crate::node::sources::http::decode;
use crate::node::sources::http::fetch::{Fetched, Fresh};
use crate::node::sources::http::flapping::{Flapping, GONE_FOR};
use crate::node::sources::http::response::{Trouble, Validators};
use crate::node::sources::http::url::ManifestUrl;
use crate::node::sources::publish::Publisher;
use crate::node::sources::reading::{Look, Manifests, Said, Seen};
use crate::node::store::{SourceReport, SourceState};
use crate::plan::{Node, Slot, SourceKind};

/// Everything that was answered so far.
pub struct Answers {
    manifests: Manifests,
    publisher: Publisher,
    options: Options,
    clock: Clock,
    places: Vec<Place>,
}

/// One URL.
struct Place {
    /// As it is shown; the name of its text.
    name: Arc<str>,
    flapping: Flapping,
    /// It was read since the agent started.
    read: bool,
    read_at: Option<Time>,
    revision: Option<String>,
    error: Option<String>,
    /// After an error.
    next_try: Time,
    /// A version that is not taken yet.
    waits: Option<String>,
    /// A removal by its last version is not believed yet.
    doubted: bool,
}

/// What follows for whoever asks.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Next {
    /// It answered with manifests, or that they are as they were.
    pub good: bool,
    /// And this version counts now.
    pub taken: bool,
    /// Ask again after the settle time: a removal waits for a second, equal reading.
    pub again: bool,
}

/// What one answer brought.
struct Told {
    seen: Seen,
    revision: Option<String>,
    error: Option<String>,
    waits: Option<String>,
}

impl Answers {
    /// Goes on where an earlier agent ended, as far as it read the same URLs.
    pub fn new(
        urls: &[ManifestUrl],
        node: Node,
        allow_mass_delete: bool,
        publisher: Publisher,
        clock: Clock,
    ) -> Self {
        let place = |url: &ManifestUrl| Place {
            name: url.to_string().into(),
            flapping: Flapping::default(),
            read: false,
            read_at: None,
            revision: None,
            error: None,
            next_try: Time(0),
            waits: None,
            doubted: false,
        };
        let options = Options { lenient: false, node_name: Some(node.name.to_string()) };
        let manifests = Manifests::new(SourceKind::Http, node, allow_mass_delete);
        let mut answers =
            Self { manifests, publisher, options, clock, places: urls.iter().map(place).collect() };
        if let Some(remembered) = answers.publisher.recall() {
            let (origin, places) = (answers.origin(), &answers.places);
            answers
                .manifests
                .recall(&origin, remembered, |name| places.iter().any(|place| *place.name == *name));
        }
        // Before the first answer, which may take half a minute: what ran goes on as it was declared.
        let said = answers.manifests.fold(Look::Unavailable(String::new()), answers.clock.elapsed());
        answers.publish(said);
        answers
    }

    /// Takes in what one URL answered, and says what all of them say now. If that is of no use, it is asked again after
    /// the pause.
    pub fn hear(&mut self, at: usize, answer: Result<&Fetched, &Trouble>, pause: Duration) -> Next {
        let Some(place) = self.places.get_mut(at) else { return Next::default() };
        place.next_try = self.clock.now() + pause;
        let told = match answer {
            Ok(Fetched::NotModified) => {
                Told { seen: Seen::Same, revision: place.revision.clone(), error: None, waits: None }
            }
            Ok(Fetched::Body(fresh)) => self.told(at, fresh),
            Err(trouble) => failed(trouble.message.clone()),
        };
        let good = told.error.is_none();
        let taken = good && told.waits.is_none();
        let is_new = matches!(told.seen, Seen::Read { .. });
        let said = self.fold(at, told);
        let again = said.again && is_new;
        if taken {
            self.places[at].doubted = said.held.is_some() && (is_new || self.places[at].doubted);
        }
        self.publish(said);
        Next { good, taken, again }
    }

    /// A body becomes manifests, unless it is as it was, or comes and goes.
    fn told(&mut self, at: usize, fresh: &Fresh) -> Told {
        let Place { name, flapping, .. } = &mut self.places[at];
        let text = match decode::text(fresh.encoding, &fresh.bytes) {
            Ok(text) => text,
            Err(why) => return failed(format!("{name} cannot be used: {why}")),
        };
        let digest = digest(&text);
        if !flapping.takes(digest, self.clock.elapsed()) {
            // The same words each time, so that they are logged once.
            let waits = format!(
                "{name} answers with a version that it replaced less than {} s ago, as if two servers took turns: it \
                 is taken once that is over, if it is still there",
                GONE_FOR.as_secs()
            );
            return Told { seen: Seen::Unasked, revision: None, error: None, waits: Some(waits) };
        }
        let revision =
            fresh.validators.revision().or_else(|| Some(format!("{:.16}", format!("{digest:032x}"))));
        if self.manifests.digest(name) == Some(digest) {
            return Told { seen: Seen::Same, revision, error: None, waits: None };
        }
        match catch_unwind(AssertUnwindSafe(|| read::read(name, &text, &self.options))) {
            Ok(reading) if reading.says_nothing() => failed(format!(
                "{name} answers with no pod, and does not say so either: 'items: []' is how to say \"no pods\""
            )),
            Ok(reading) => Told { seen: Seen::Read { digest, reading }, revision, error: None, waits: None },
            Err(_) => failed(format!("podkeeper failed to read what {name} answers: please report it")),
        }
    }

    fn fold(&mut self, at: usize, told: Told) -> Said {
        let now = self.clock.now();
        let place = &mut self.places[at];
        (place.error, place.waits) = (told.error, told.waits);
        if place.error.is_none() && place.waits.is_none() {
            (place.read, place.read_at, place.revision) = (true, Some(now), told.revision);
        }
        if !self.places.iter().any(|place| place.read && place.error.is_none()) {
            return self.manifests.fold(Look::Unavailable(String::new()), self.clock.elapsed());
        }
        let mut seen = Some(told.seen);
        let texts = self.places.iter().enumerate().map(|(number, place)| {
            let seen = if number == at { seen.take() } else { None };
            (place.name.clone(), seen.unwrap_or(Seen::Unasked))
        });
        self.manifests.fold(Look::Files(texts.collect()), self.clock.elapsed())
    }

    fn publish(&mut self, said: Said) {
        let nothing =
            self.places.iter().all(|place| !place.read) && said.slot.pods().is_none_or(im::OrdMap::is_empty);
        let reports = self.places.iter().map(|place| place.report(&said)).collect();
        let slot = if nothing { Slot::Unknown } else { said.slot };
        let origin = self.origin();
        self.publisher.publish(slot, reports, || self.manifests.remember(&origin));
    }

    /// All URLs: of others only a part of what was remembered is good.
    fn origin(&self) -> String {
        self.places.iter().map(|place| &*place.name).collect::<Vec<_>>().join(" ")
    }
}

fn failed(error: String) -> Told {
    Told { seen: Seen::Unasked, revision: None, error: Some(error), waits: None }
}

impl Place {
    fn report(&self, said: &Said) -> SourceReport {
        let diagnoses: Vec<Diagnosis> =
            said.diagnoses.iter().filter(|diagnosis| diagnosis.place.file == self.name).cloned().collect();
        let is_wrong = diagnoses.iter().any(|diagnosis| diagnosis.severity == Severity::Error);
        let declared = said.slot.pods().into_iter().flat_map(|pods| pods.values());
        let pods = declared.filter(|pod| pod.places.file == self.name).count();
        let state = match (self.read, self.error.is_some() || is_wrong) {
            (true, false) => SourceState::Known,
            (true, true) => SourceState::Stale,
            (false, _) if pods > 0 => SourceState::Stale,
            (false, _) => SourceState::Unknown,
        };
        let of_all = said.error.as_ref().filter(|error| is_wrong && !error.is_empty());
        let doubt = said.held.as_ref().filter(|_| self.doubted);
        SourceReport {
            origin: self.name.to_string(),
            state,
            read_at: self.read_at,
            revision: self.revision.clone(),
            error: self.error.as_ref().or(of_all).cloned(),
            next_try: self.error.is_some().then_some(self.next_try),
            held: self.waits.as_ref().or(doubt).cloned(),
            pods,
            diagnoses: Arc::new(diagnoses),
        }
    }
}

/// What to ask with next time: only for another version than the one that was taken.
pub fn next_validators(before: Validators, answer: &Result<Fetched, Trouble>, next: &Next) -> Validators {
    match answer {
        Ok(Fetched::NotModified) => before,
        Ok(Fetched::Body(fresh)) if next.taken => fresh.validators.clone(),
        // A version that was not taken has to come again as a whole.
        Ok(Fetched::Body(_)) => Validators::default(),
        Err(_) => before,
    }
}
