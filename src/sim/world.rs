//! A node in miniature: the simulated engine, a source, and an agent that does what the real one does.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use im::OrdMap;

use crate::docker::Look;
use crate::executor::{self, Outcome};
use crate::model::{ContainerId, Place, Places, Pod, PodKey, Time};
use crate::observer::{self, Hint};
use crate::plan::{
    Action, BUILTIN_SANDBOX_IMAGE, Declared, Desired, Instance, Ledger, Node, Observed, Rounds, Slot, Wait,
};
use crate::sim::container::Program;
use crate::sim::engine::Engine;
use crate::sim::event::SOURCE;
use crate::sim::ready;

/// Longest time between two lists, as `--sync-frequency` has it by default.
const SYNC: Duration = Duration::from_secs(10);
/// How long an init container runs when nobody says otherwise.
const INIT_TIME: Duration = Duration::from_secs(1);
/// An ordinary moment, so that nothing depends on a time near zero: 2026-01-01T00:00:00Z.
pub const START: Time = Time(1_767_225_600_000);

/// A node: engine, source and agent, with virtual time.
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
    /// What the source would say if it were read.
    declared: OrdMap<PodKey, Arc<Declared>>,
    readable: bool,
    list_due: bool,
    next_list: Time,
    /// The next list's answer arrives a round late.
    list_is_late: bool,
    late_list: Option<(Time, Vec<Instance>)>,
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
    /// A node with an empty engine and a source that declares nothing.
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
            declared: OrdMap::new(),
            readable: true,
            list_due: true,
            next_list: START,
            list_is_late: false,
            late_list: None,
            events: Vec::new(),
            flight: Vec::new(),
            scripts,
        };
        world.read_source();
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

    /// The source declares a pod, new or changed.
    pub fn declare(&mut self, pod: Pod, places: Places) {
        let declared = Declared::new(&self.desired.node, SOURCE, pod, places);
        for (container, _) in declared.containers() {
            let key = (declared.key.clone(), container.name.clone());
            let is_init = declared.pod.spec.init_containers.iter().any(|c| c.name == container.name);
            if is_init && !container.is_sidecar() {
                let succeed: Script = Rc::new(|_| Program::exits(0, INIT_TIME));
                self.scripts.borrow_mut().entry(key).or_insert(succeed);
            }
        }
        self.declared.insert(declared.key.clone(), Arc::new(declared));
        self.read_source();
    }

    /// The source no longer declares a pod.
    pub fn undeclare(&mut self, pod: &PodKey) {
        self.declared.remove(pod);
        self.read_source();
    }

    /// What the source declares, whether it can be read now or not.
    pub fn declared(&self) -> impl Iterator<Item = &Arc<Declared>> {
        self.declared.values()
    }

    /// From now on the source can be read, or cannot.
    pub fn set_readable(&mut self, readable: bool) {
        self.readable = readable;
        self.read_source();
    }

    /// A source that cannot be read keeps its last good word.
    fn read_source(&mut self) {
        let slot = if self.readable {
            Slot::Known(self.declared.clone())
        } else {
            let last = self.desired.slot(SOURCE).pods().cloned().unwrap_or_default();
            Slot::Stale(last)
        };
        self.desired = self.desired.with_slot(SOURCE, slot);
    }

    /// The agent is killed. A new one finds on the disk what was saved, and reads everything else anew.
    pub fn restart_agent(&mut self) {
        let last = self.desired.slot(SOURCE).pods().cloned().unwrap_or_default();
        self.desired = Desired::new(self.desired.node.clone()).with_slot(SOURCE, Slot::Stale(last));
        self.observed = Observed { at: self.now(), ledger: self.saved.clone(), ..Observed::default() };
        self.rounds = Rounds::default();
        self.flight.clear();
        self.events.clear();
        self.late_list = None;
        self.list_due = true;
    }

    /// The engine closed every connection: events are lost, so the agent lists again.
    pub fn lose_connection(&mut self) {
        self.events.clear();
        self.list_due = true;
    }

    /// The next list is answered a round late, with what was true when it was asked.
    pub fn list_late(&mut self) {
        self.list_is_late = true;
        self.list_due = true;
    }

    /// Lets time pass.
    pub fn pass(&mut self, time: Duration) {
        self.engine.pass_to(self.now() + time);
    }

    /// The first half of a round: a list when one is due, otherwise what the engine's events tell.
    pub fn read(&mut self) {
        if self.observed.listed && self.readable {
            self.read_source();
        }
        self.observed.at = self.now();
        self.events.extend(self.engine.take_events());
        if let Some((at, instances)) = self.late_list.take() {
            self.take_list(at, instances);
        }
        for (id, hint) in std::mem::take(&mut self.events) {
            self.list_due |= observer::hint(&mut self.observed, self.engine.now(), &id, hint);
        }
        if !self.list_due && self.now() < self.next_list {
            return;
        }
        let at = self.now();
        let Ok(instances) = ready(self.engine.list(&self.desired.node.name)) else {
            self.list_due = true;
            return;
        };
        self.next_list = at + SYNC;
        if std::mem::take(&mut self.list_is_late) {
            self.list_due = true;
            self.late_list = Some((at, instances));
        } else {
            self.list_due = false;
            self.take_list(at, instances);
        }
    }

    fn take_list(&mut self, at: Time, instances: Vec<Instance>) {
        observer::relist(&mut self.observed, at, instances);
        observer::tidy(&mut self.observed, &self.desired);
        self.observed.at = self.now();
    }

    /// The second half: what is due is begun. Memory is on disk before anything is done.
    pub fn decide(&mut self) -> Vec<Action> {
        let planned = self.rounds.plan(&self.desired, &self.observed);
        for action in &planned {
            observer::begin(&mut self.observed, action);
        }
        self.saved = self.observed.ledger.clone();
        self.flight.extend(planned.iter().cloned());
        planned
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
        self.list_due |= observer::fold(&mut self.observed, self.engine.now(), &action, &outcome);
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
        self.saved = self.observed.ledger.clone();
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
        !self.list_due && self.late_list.is_none() && self.flight.is_empty() && !unread
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
