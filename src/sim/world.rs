//! A node in miniature: the simulated engine, sources, and an agent that does what the real one does.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use crate::docker::Look;
use crate::executor::{self, Outcome};
use crate::model::{ContainerId, Place, Places, Pod, PodKey, Time};
use crate::observer::{self, Hint};
use crate::plan::{
    Action, BUILTIN_SANDBOX_IMAGE, Call, Declared, Desired, Instance, Ledger, Node, Observed, Rounds,
    SourceKind, Wait,
};
use crate::sim::container::Program;
use crate::sim::engine::Engine;
use crate::sim::ready;
use crate::sim::sources::Sources;

/// Longest time between two lists, as `--sync-frequency` has it by default.
const SYNC: Duration = Duration::from_secs(10);
/// How long what is remembered may differ from what is on disk.
const SAVE_DELAY: Duration = Duration::from_secs(1);
/// How long an init container runs when nobody says otherwise.
const INIT_TIME: Duration = Duration::from_secs(1);
/// An ordinary moment, so that nothing depends on a time near zero: 2026-01-01T00:00:00Z.
pub const START: Time = Time(1_767_225_600_000);

/// A node: engine, sources and agent, with virtual time.
///
/// One [`round`](World::round) is what the agent's loop does: read what is due, plan, carry out, fold the
/// outcomes. The finer steps ([`read`](World::read), [`decide`](World::decide),
/// [`carry_out`](World::carry_out)) let a test stop anywhere between them.
pub struct World {
    pub engine: Engine,
    pub desired: Desired,
    pub observed: Observed,
    rounds: Rounds,
    /// What a restarted agent finds on disk.
    saved: Ledger,
    /// Since when that is not what is remembered.
    unsaved_since: Option<Time>,
    sources: Sources,
    /// Something happened of which only a list can tell more: nothing is planned before it.
    unsure: bool,
    next_list: Time,
    /// Pods of which something was learnt since the list was asked for.
    touched: BTreeSet<PodKey>,
    /// The next list's answer arrives a round late.
    list_is_late: bool,
    late_list: Option<Vec<Instance>>,
    /// Engine events that were not delivered yet.
    pub(crate) events: Vec<(ContainerId, Hint)>,
    /// Actions that were begun and not carried out yet.
    flight: Vec<Action>,
    scripts: Scripts,
}

type Script = Rc<dyn Fn(u32) -> Program>;
type Scripts = Rc<RefCell<BTreeMap<(PodKey, String), Script>>>;

/// What one round did.
#[derive(Clone, Debug)]
pub struct Round {
    pub at: Time,
    /// What was planned in it.
    pub planned: Vec<Action>,
    /// What was carried out in it, and what became of it.
    pub done: Vec<(Action, Outcome)>,
}

impl Default for World {
    fn default() -> Self {
        let node = Node {
            name: "node-1".into(),
            key: *b"16 bytes of key.",
            sandbox_image: BUILTIN_SANDBOX_IMAGE.into(),
        };
        Self::new(node)
    }
}

impl World {
    /// A node with an empty engine and a file source that declares nothing.
    pub fn new(node: Node) -> Self {
        let engine = Engine::new(START);
        let scripts = Scripts::default();
        let read = scripts.clone();
        engine.set_programs(Rc::new(move |pod, container, attempt| {
            match read.borrow().get(&(pod.clone(), container.to_owned())) {
                Some(script) => script(attempt),
                None => Program::FOREVER,
            }
        }));
        let mut world = Self {
            engine,
            desired: Desired::new(node),
            observed: Observed { at: START, ..Observed::default() },
            rounds: Rounds::default(),
            saved: Ledger::default(),
            sources: Sources::default(),
            unsaved_since: None,
            unsure: true,
            next_list: START,
            touched: BTreeSet::new(),
            list_is_late: false,
            late_list: None,
            events: Vec::new(),
            flight: Vec::new(),
            scripts,
        };
        world.set_readable(SourceKind::File, true);
        world
    }

    pub fn now(&self) -> Time {
        self.engine.now()
    }

    /// Says what the program of a container does at each attempt. Without it init containers succeed
    /// after a second and all others run for ever.
    pub fn script(&mut self, pod: &PodKey, container: &str, program: impl Fn(u32) -> Program + 'static) {
        self.scripts.borrow_mut().insert((pod.clone(), container.to_owned()), Rc::new(program));
    }

    /// A source declares a pod, new or changed.
    pub fn declare(&mut self, source: SourceKind, pod: Pod, places: Places) {
        let declared = Declared::new(&self.desired.node, source, pod, places);
        for (container, _) in declared.containers() {
            let key = (declared.key.clone(), container.name.clone());
            let is_init = declared.pod.spec.init_containers.iter().any(|c| c.name == container.name);
            if is_init && !container.is_sidecar() {
                let succeed: Script = Rc::new(|_| Program::exits(0, INIT_TIME));
                self.scripts.borrow_mut().entry(key).or_insert(succeed);
            }
        }
        self.sources.declare(declared);
        self.read_sources();
    }

    /// A source no longer declares a pod.
    pub fn undeclare(&mut self, source: SourceKind, pod: &PodKey) {
        self.sources.undeclare(source, pod);
        self.read_sources();
    }

    /// What the sources declare, whether they can be read now or not, by name.
    pub fn declared(&self) -> impl Iterator<Item = &Arc<Declared>> {
        self.sources.declared()
    }

    /// From now on a source can be read, or cannot.
    pub fn set_readable(&mut self, source: SourceKind, readable: bool) {
        self.sources.set_readable(source, readable);
        self.read_sources();
    }

    /// Every source can be read.
    pub(super) fn all_readable(&mut self) {
        self.sources.all_readable();
        self.read_sources();
    }

    /// Before another word of a source counts, what is gone altogether is forgotten, as the agent does it: what
    /// is declared again begins anew.
    fn read_sources(&mut self) {
        if self.observed.listed {
            observer::tidy(&mut self.observed, &self.desired);
        }
        self.desired = self.sources.read(&self.desired);
    }

    /// The agent is killed. A new one finds on the disk what was saved, and reads everything else anew.
    pub fn restart_agent(&mut self) {
        self.desired = self.sources.recall(&self.desired);
        self.observed = Observed { at: self.now(), ledger: self.saved.clone(), ..Observed::default() };
        self.rounds = Rounds::default();
        self.flight.clear();
        self.events.clear();
        self.unsaved_since = None;
        self.lose_connection();
    }

    /// The engine closed every connection: events and answers are lost, so the agent lists again.
    pub fn lose_connection(&mut self) {
        self.events.clear();
        self.late_list = None;
        self.touched.clear();
        self.unsure = true;
    }

    /// The next list is answered a round late, with what was true when it was asked.
    pub fn list_late(&mut self) {
        self.list_is_late = true;
        self.next_list = self.now();
    }

    /// Lets time pass.
    pub fn pass(&mut self, time: Duration) {
        self.engine.pass_to(self.now() + time);
    }

    /// The first half of a round: what the engine's events tell, and a list when one is due.
    pub fn read(&mut self) {
        if self.observed.listed {
            self.desired = self.sources.read(&self.desired);
            observer::heirs(&mut self.observed, &self.desired);
        }
        let at = self.now();
        self.observed.at = at;
        self.events.extend(self.engine.take_events());
        for (id, hint) in std::mem::take(&mut self.events) {
            let pod = self.observed.pods.iter().find(|(_, pod)| pod.instances.iter().any(|i| i.id == id));
            self.touched.extend(pod.map(|(key, _)| key.clone()));
            if observer::hint(&mut self.observed, at, &id, hint) {
                self.late_list = None;
                self.unsure = true;
            }
        }
        match self.late_list.take() {
            Some(instances) => self.take_list(instances),
            None if self.unsure || at >= self.next_list => self.list(),
            None => {}
        }
    }

    fn list(&mut self) {
        self.touched.clear();
        match ready(self.engine.list(&self.desired.node.name)) {
            Err(_) => self.unsure = true,
            Ok(instances) if std::mem::take(&mut self.list_is_late) => self.late_list = Some(instances),
            Ok(instances) => self.take_list(instances),
        }
    }

    fn take_list(&mut self, instances: Vec<Instance>) {
        let at = self.now();
        let touched = std::mem::take(&mut self.touched);
        observer::relist_others(&mut self.observed, at, instances, touched);
        observer::tidy(&mut self.observed, &self.desired);
        self.unsure = false;
        self.next_list = at + SYNC;
    }

    /// The second half: what is due is begun.
    pub fn decide(&mut self) -> Vec<Action> {
        if self.unsure {
            self.save(false);
            return Vec::new();
        }
        let planned = self.rounds.plan(&self.desired, &self.observed);
        for action in &planned {
            observer::begin(&mut self.observed, action);
        }
        // That something is stopped must outlive a crash; the rest may be lost for a second.
        self.save(
            planned.iter().any(|action| {
                matches!(action.call, Call::StopContainer { .. } | Call::UpdateContainer { .. })
            }),
        );
        self.flight.extend(planned.iter().cloned());
        planned
    }

    fn save(&mut self, at_once: bool) {
        let now = self.now();
        if self.saved == self.observed.ledger {
            self.unsaved_since = None;
            return;
        }
        let since = *self.unsaved_since.get_or_insert(now);
        if at_once || now.since(since) >= SAVE_DELAY {
            self.saved = self.observed.ledger.clone();
            self.unsaved_since = None;
        }
    }

    /// How many actions were begun and not carried out yet.
    pub fn in_flight(&self) -> usize {
        self.flight.len()
    }

    /// Carries out one of the actions that were begun, and folds what became of it.
    pub fn carry_out(&mut self, which: usize) -> Option<(Action, Outcome)> {
        if which >= self.flight.len() {
            return None;
        }
        let action = self.flight.remove(which);
        let outcome = ready(executor::execute(&self.engine, &action));
        self.touched.insert(action.pod.clone());
        if observer::fold(&mut self.observed, self.engine.now(), &action, &outcome) {
            self.late_list = None;
            self.unsure = true;
            // What the list says of this pod is what is asked for.
            self.touched.remove(&action.pod);
        }
        Some((action, outcome))
    }

    /// One round of the agent's loop, with all that is due carried out in order.
    pub fn round(&mut self) -> Round {
        self.read();
        let planned = self.decide();
        let at = self.now();
        let mut done = Vec::new();
        while let Some(one) = self.carry_out(0) {
            done.push(one);
        }
        Round { at, planned, done }
    }

    /// What is not done now, and why.
    pub fn waits(&self) -> Vec<Wait> {
        crate::plan::waits(&self.desired, &self.observed)
    }

    /// When the planner wants to be woken.
    pub fn wake_at(&self) -> Option<Time> {
        self.rounds.wake_at()
    }

    /// True when nothing but time can bring anything new.
    pub fn is_quiet(&self) -> bool {
        let unread = !self.events.is_empty() || !self.engine.machine().events.is_empty();
        !self.unsure && self.late_list.is_none() && self.flight.is_empty() && !unread
    }

    /// The next moment at which something happens by itself: a wait is over or a program ends.
    pub fn next_moment(&self) -> Option<Time> {
        self.wake_at().into_iter().chain(self.engine.next_end()).min()
    }

    /// Rounds until nothing is planned and nothing is left to read, without letting time pass.
    ///
    /// # Errors
    /// After `limit` rounds: what the last one planned.
    pub fn settle(&mut self, limit: usize) -> Result<Vec<Round>, String> {
        let mut rounds = Vec::new();
        loop {
            let round = self.round();
            let empty = round.planned.is_empty() && self.is_quiet();
            if !empty && rounds.len() >= limit {
                return Err(format!("still busy after {limit} rounds: {:#?}", round.planned));
            }
            rounds.push(round);
            if empty {
                return Ok(rounds);
            }
        }
    }
}

/// Places of a pod that was written nowhere.
pub fn nowhere(file: &str) -> Places {
    let place = Place { file: file.into(), line: 1, column: 1 };
    Places { fields: BTreeMap::from([("".into(), (place.line, place.column))]), file: place.file }
}
