//! The engine made of values: what [`Docker`] asks, answered at once by a [`Machine`].

use std::cell::{Ref, RefCell, RefMut};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

use crate::docker::{Docker, DockerError, EngineVersion, Inspected, Look};
use crate::model::pod::Protocol;
use crate::model::{ContainerId, PodKey, Time};
use crate::observer::Hint;
use crate::plan::config::{EngineResources, PortBinding};
use crate::plan::{ContainerConfig, Instance, labels};
use crate::sim::container::{Phase, Program};
use crate::sim::fault::{Fault, Faults, Verb};
use crate::sim::machine::Machine;
use crate::sim::refusal;

/// Says what the program of a container does: asked at every start with the pod, the container's name
/// and its attempt.
pub type Programs = Rc<dyn Fn(&PodKey, &str, u32) -> Program>;

/// A simulated Docker Engine. A clone is a snapshot that goes its own way.
///
/// Every call is answered at once, and time passes only when it is told to.
#[derive(Clone)]
pub struct Engine {
    inside: RefCell<Inside>,
}

#[derive(Clone)]
struct Inside {
    machine: Machine,
    programs: Programs,
    faults: Faults,
    changes: u64,
    looks: u64,
    touched: BTreeSet<ContainerId>,
}

/// A container as a bystander sees it: for judging what the planner did.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    pub id: ContainerId,
    pub config: Arc<ContainerConfig>,
    /// Runs, or is paused while running.
    pub up: bool,
    pub paused: bool,
    /// Of the last run, when it ended.
    pub code: Option<i64>,
    pub started_at: Option<Time>,
}

impl Engine {
    /// An engine with nothing on it.
    pub fn new(at: Time) -> Self {
        let machine = Machine { at, ..Machine::default() };
        let programs: Programs = Rc::new(|_, _, _| Program::FOREVER);
        Self {
            inside: RefCell::new(Inside {
                machine,
                programs,
                faults: Faults::default(),
                changes: 0,
                looks: 0,
                touched: BTreeSet::new(),
            }),
        }
    }

    pub(crate) fn machine(&self) -> Ref<'_, Machine> {
        Ref::map(self.inside.borrow(), |inside| &inside.machine)
    }

    pub(crate) fn machine_mut(&self) -> RefMut<'_, Machine> {
        RefMut::map(self.inside.borrow_mut(), |inside| &mut inside.machine)
    }

    pub fn now(&self) -> Time {
        self.machine().at
    }

    /// Lets time pass up to a moment; programs that end by themselves do so on the way.
    pub fn pass_to(&self, at: Time) {
        self.machine_mut().pass_to(at);
    }

    /// When the next program ends by itself.
    pub fn next_end(&self) -> Option<Time> {
        self.machine().next_end()
    }

    /// Says what programs do from now on.
    pub fn set_programs(&self, programs: Programs) {
        self.inside.borrow_mut().programs = programs;
    }

    /// Makes a call fail: the first one of this kind after `skip` others.
    pub fn fail(&self, verb: Option<Verb>, skip: u32, fault: Fault) {
        self.inside.borrow_mut().faults.add(verb, skip, fault);
    }

    /// Takes back every fault that has not happened yet.
    pub fn heal(&self) {
        self.inside.borrow_mut().faults = Faults::default();
    }

    /// How many calls were made that may change something.
    pub fn changes(&self) -> u64 {
        self.inside.borrow().changes
    }

    /// How many calls were made that only look.
    pub fn looks(&self) -> u64 {
        self.inside.borrow().looks
    }

    /// The containers that were asked to start, stop, resume, change or go.
    pub fn touched(&self) -> BTreeSet<ContainerId> {
        self.inside.borrow().touched.clone()
    }

    /// Puts an image on the engine.
    pub fn add_image(&self, name: &str) {
        self.machine_mut().images.insert(name.into(), refusal::image_id(name));
    }

    /// Takes an image away, as `docker rmi -f` and a prune do.
    pub fn remove_image(&self, name: &str) {
        self.machine_mut().images.remove(name);
    }

    /// Decides whether a pull finds an image. By default every pull does.
    pub fn set_pullable(&self, name: &str, pullable: bool) {
        let mut machine = self.machine_mut();
        if pullable {
            machine.unpullable.remove(name)
        } else {
            machine.unpullable.insert(name.into())
        };
    }

    /// A program outside any container takes a port of the node, or gives it back.
    pub fn take_port(&self, protocol: Protocol, port: u16, taken: bool) {
        let ports = &mut self.machine_mut().foreign_ports;
        if taken {
            ports.insert((protocol, port))
        } else {
            ports.remove(&(protocol, port))
        };
    }

    /// Starts a container that is somebody else's.
    ///
    /// # Errors
    /// What Docker says when its name or its port is taken.
    pub fn add_foreign(&self, name: &str, ports: Vec<PortBinding>) -> Result<ContainerId, DockerError> {
        let config = ContainerConfig { name: name.into(), ports, ..ContainerConfig::default() };
        self.add_image(&config.image);
        let mut machine = self.machine_mut();
        let id = machine.create(&config)?;
        machine.start(&id, Program::FOREVER)?;
        Ok(id)
    }

    /// Somebody runs `docker start`.
    ///
    /// # Errors
    /// What Docker says to them.
    pub fn start_by_hand(&self, id: &ContainerId) -> Result<(), DockerError> {
        let inside = &mut *self.inside.borrow_mut();
        let program = inside.program(id);
        inside.machine.start(id, program)
    }

    /// All containers, ours and others, in the order of their making.
    pub fn containers(&self) -> Vec<Seen> {
        let machine = self.machine();
        let seen = machine.containers.values().map(|c| Seen {
            id: c.id.clone(),
            config: c.config.clone(),
            up: c.is_up(),
            paused: c.phase == Phase::Paused,
            code: (c.phase == Phase::Exited).then_some(c.code),
            started_at: c.started_at,
        });
        seen.collect()
    }

    /// The newest container that is called so in a pod; `POD` is the sandbox.
    pub fn find(&self, pod: &PodKey, container: &str) -> Option<Seen> {
        let of =
            |seen: &Seen| Machine::who(&seen.config).is_some_and(|(p, c, _)| p == *pod && c == container);
        self.containers().into_iter().rfind(of)
    }

    /// When a container of a pod was started, each time.
    pub fn starts(&self, pod: &PodKey, container: &str) -> Vec<Time> {
        let machine = self.machine();
        let of = machine.starts.iter().filter(|(p, c, _)| p == pod && c == container);
        of.map(|(_, _, at)| *at).collect()
    }

    /// What the event stream has told since it was last asked.
    pub fn take_events(&self) -> Vec<(ContainerId, Hint)> {
        std::mem::take(&mut self.machine_mut().events)
    }

    /// The engine goes down and comes back. With live restore its containers do not notice; without it
    /// they are told to stop, and nothing starts them again but their owner.
    pub fn restart(&self, live_restore: bool) {
        let mut machine = self.machine_mut();
        if !live_restore {
            let up: Vec<_> =
                machine.containers.values().filter(|c| c.is_up()).map(|c| c.id.clone()).collect();
            for id in up {
                // Nothing to answer: it is there and runs.
                let _ = machine.stop(&id, Some(0));
            }
        }
        machine.events.clear();
    }

    fn call<T>(
        &self,
        verb: Verb,
        run: impl FnOnce(&mut Inside) -> Result<T, DockerError>,
    ) -> Result<T, DockerError> {
        let inside = &mut *self.inside.borrow_mut();
        match verb {
            Verb::Version | Verb::List | Verb::Inspect | Verb::Image => inside.looks += 1,
            _ => inside.changes += 1,
        }
        let error = match inside.faults.take(verb) {
            None => return run(inside),
            Some(fault @ (Fault::Error | Fault::Timeout | Fault::Unreachable)) => fault.error(),
            Some(fault @ (Fault::ErrorAfterEffect | Fault::ReplyLost)) => {
                let _lost = run(inside);
                fault.error()
            }
        };
        Err(error)
    }
}

impl Inside {
    fn program(&self, id: &ContainerId) -> Program {
        let who = self.machine.containers.get(id).and_then(|c| Machine::who(&c.config));
        match who {
            Some((pod, container, attempt)) if container != crate::plan::ledger::SANDBOX => {
                (self.programs)(&pod, container, attempt)
            }
            // The sandbox's pause program ends on TERM.
            Some(_) | None => Program::FOREVER,
        }
    }
}

impl Look for Engine {
    async fn version(&self) -> Result<EngineVersion, DockerError> {
        self.call(Verb::Version, |_| {
            Ok(EngineVersion { version: "20.10.24".into(), api: "1.41".into(), memory_bytes: 8 << 30 })
        })
    }

    async fn list(&self, node: &str) -> Result<Vec<Instance>, DockerError> {
        self.call(Verb::List, |inside| {
            let ours = inside.machine.containers.values();
            let ours = ours.filter(|c| c.config.labels.get(labels::NODE).is_some_and(|n| n == node));
            // Docker lists the newest first.
            Ok(ours.rev().filter_map(|c| c.listed()).collect())
        })
    }

    async fn inspect(&self, id: &ContainerId) -> Result<Inspected, DockerError> {
        self.call(Verb::Inspect, |inside| {
            let container = inside.machine.container(id)?;
            container.inspected().ok_or_else(|| DockerError::Foreign { id: id.clone() })
        })
    }

    async fn image(&self, name: &str) -> Result<Option<String>, DockerError> {
        self.call(Verb::Image, |inside| {
            refusal::check_image_name(name)?;
            Ok(inside.machine.images.get(name).cloned())
        })
    }
}

impl Docker for Engine {
    async fn create(&self, config: &ContainerConfig) -> Result<ContainerId, DockerError> {
        self.call(Verb::Create, |inside| inside.machine.create(config))
    }

    async fn start(&self, id: &ContainerId) -> Result<(), DockerError> {
        self.call(Verb::Start, |inside| {
            inside.touched.insert(id.clone());
            let program = inside.program(id);
            inside.machine.start(id, program)
        })
    }

    async fn stop(&self, id: &ContainerId, grace: Option<u32>) -> Result<(), DockerError> {
        self.call(Verb::Stop, |inside| {
            inside.touched.insert(id.clone());
            inside.machine.stop(id, grace)
        })
    }

    async fn unpause(&self, id: &ContainerId) -> Result<(), DockerError> {
        self.call(Verb::Unpause, |inside| {
            inside.touched.insert(id.clone());
            inside.machine.unpause(id)
        })
    }

    async fn remove(&self, id: &ContainerId) -> Result<(), DockerError> {
        self.call(Verb::Remove, |inside| {
            inside.touched.insert(id.clone());
            inside.machine.remove(id)
        })
    }

    async fn update(&self, id: &ContainerId, resources: &EngineResources) -> Result<(), DockerError> {
        self.call(Verb::Update, |inside| {
            inside.touched.insert(id.clone());
            inside.machine.update(id, resources)
        })
    }

    async fn pull(&self, image: &str) -> Result<(), DockerError> {
        self.call(Verb::Pull, |inside| inside.machine.pull(image))
    }

    async fn load_sandbox_image(&self, name: &str) -> Result<(), DockerError> {
        self.call(Verb::Load, |inside| {
            inside.machine.images.insert(name.into(), refusal::image_id(name));
            Ok(())
        })
    }
}
