//! One pod on the scene: what is desired of it, what is observed of it, and the verdict being written.

use crate::model::{Container, ContainerId, PodKey, Time, Uid};
use crate::plan::ledger::{Ended, Failure, Memo, SANDBOX, Trouble};
use crate::plan::{
    Action, Call, Cause, Declared, Desired, Exit, Fingerprint, Instance, Observed, PodObserved, Reason, Role,
    State, Wait,
};

/// What is decided for one pod. Everything that is in neither list is settled.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict {
    pub acts: Vec<Action>,
    pub waits: Vec<Wait>,
}

/// The facts about one pod, and the verdict as far as it has been written.
pub struct Scene<'a> {
    pub desired: &'a Desired,
    pub observed: &'a Observed,
    pub key: &'a PodKey,
    pub pod: &'a PodObserved,
    pub verdict: Verdict,
}

/// One declared container and what follows from its place in the pod.
#[derive(Clone, Copy)]
pub struct Part<'a> {
    pub declared: &'a Declared,
    /// Among all containers of the pod, init containers first.
    pub index: usize,
    pub container: &'a Container,
    pub fingerprint: &'a Fingerprint,
}

impl<'a> Part<'a> {
    pub fn all(declared: &'a Declared) -> impl DoubleEndedIterator<Item = Part<'a>> + Clone {
        let spec = &declared.pod.spec;
        let count = spec.init_containers.len() + spec.containers.len();
        (0..count).map(move |index| Part {
            declared,
            index,
            container: declared.container(index),
            fingerprint: &declared.containers[index],
        })
    }

    pub fn is_init(&self) -> bool {
        self.index < self.declared.pod.spec.init_containers.len()
    }

    pub fn name(&self) -> &'a str {
        &self.container.name
    }

    /// Was something with this label made from the declared definition, as far as the label can tell?
    pub fn made(&self, fingerprint: &Fingerprint) -> bool {
        fingerprint == self.fingerprint || !fingerprint.is_like(self.fingerprint)
    }

    /// A field of this container as a path in the pod.
    pub fn path(&self, field: &str) -> String {
        format!("{}.{field}", self.declared.path_of(self.index))
    }
}

/// The newest that is known of one container.
pub enum Status<'a> {
    /// It never was, or all trace of it is gone.
    None,
    /// It is there and has never run.
    Created(&'a Instance),
    /// It runs, or is paused by hand.
    Running(&'a Instance),
    /// It ended: an instance says so, or the ledger remembers one that is gone.
    Ended(Ended),
    /// It ended, and how is not known yet.
    EndedSomehow(&'a Instance),
    /// The engine's word for its state is not one that podkeeper can act upon.
    Unknown(&'a Instance, &'a str),
    /// It is being removed.
    Leaving(&'a Instance),
}

impl<'a> Scene<'a> {
    pub fn at(&self) -> Time {
        self.observed.at
    }

    /// The instances of the declared life of the pod.
    pub fn of_life(&self, uid: &'a Uid) -> impl Iterator<Item = &'a Instance> + use<'a> {
        let pod = self.pod;
        pod.instances.iter().map(|instance| &**instance).filter(move |instance| instance.uid == *uid)
    }

    pub fn instances(&self, uid: &'a Uid, name: &'a str) -> impl Iterator<Item = &'a Instance> + use<'a> {
        self.of_life(uid).filter(move |instance| matches!(&instance.role, Role::Container(n) if **n == *name))
    }

    pub fn sandboxes(&self, uid: &'a Uid) -> impl Iterator<Item = &'a Instance> + use<'a> {
        self.of_life(uid).filter(|instance| instance.role == Role::Sandbox)
    }

    pub fn memo(&self, uid: &Uid, name: &str) -> Option<&'a Memo> {
        self.observed.ledger.memo(uid, name)
    }

    /// The newest status of a container: an instance, or what the ledger remembers of one that is gone.
    pub fn status(&self, part: &Part<'a>) -> Status<'a> {
        let stopped = self.memo(&part.declared.uid, part.name()).and_then(|memo| memo.stopped);
        match self.newest(part) {
            Status::Ended(end) => Status::Ended(Ended { stopped: stopped == Some(end.attempt), ..end }),
            status => status,
        }
    }

    fn newest(&self, part: &Part<'a>) -> Status<'a> {
        let newest = self.instances(&part.declared.uid, part.name()).next();
        let remembered = self.memo(&part.declared.uid, part.name()).and_then(|memo| memo.ended.as_ref());
        match newest {
            // The engine could not run it: it stays as created, and the ledger says why.
            Some(Instance { state: State::Created, attempt, .. })
                if remembered.is_some_and(|end| end.attempt == *attempt) =>
            {
                remembered.map_or(Status::None, |end| Status::Ended(end.clone()))
            }
            // What an agent before this one saw, or this one when it saw more.
            Some(instance @ Instance { state: State::Exited(None), attempt, .. }) => {
                match remembered.filter(|end| end.attempt == *attempt) {
                    Some(end) => Status::Ended(end.clone()),
                    None => status_of(instance),
                }
            }
            Some(instance) => status_of(instance),
            None => match remembered.filter(|end| part.made(&end.fingerprint)) {
                Some(end) => Status::Ended(end.clone()),
                None => Status::None,
            },
        }
    }

    /// The number that the next instance gets: never one that was used before.
    pub fn next_attempt(&self, uid: &'a Uid, role: &Role) -> u32 {
        let seen = self.of_life(uid).filter(|instance| instance.role == *role).map(|i| i.attempt).max();
        let memo = self.memo(uid, role.name());
        let known = seen.max(memo.and_then(|memo| memo.attempt));
        // Docker can keep the name of a container that is nowhere to be found (moby#23371): after three
        // refusals the next number is taken.
        let failure = memo.and_then(|memo| memo.failure.as_ref());
        let stuck = failure.filter(|failure| failure.trouble == Trouble::NameStuck);
        known.map_or(0, |attempt| attempt + 1) + stuck.map_or(0, |failure| failure.count.saturating_sub(2))
    }

    pub fn act(&mut self, container: Option<&str>, call: Call, cause: Cause) {
        self.push(container, call, cause, None);
    }

    /// An action on an instance that is there.
    pub fn act_on(&mut self, instance: &Instance, call: Call, cause: Cause) {
        let container = match &instance.role {
            Role::Sandbox => None,
            Role::Container(name) => Some(&**name),
        };
        self.push(container, call, cause, Some(instance.fingerprint.clone()));
    }

    fn push(&mut self, container: Option<&str>, call: Call, cause: Cause, seen: Option<Fingerprint>) {
        let action =
            Action { pod: self.key.clone(), container: container.map(str::to_owned), call, cause, seen };
        if !self.verdict.acts.iter().any(|known| known.call == action.call) {
            self.verdict.acts.push(action);
        }
    }

    pub fn wait(
        &mut self,
        container: Option<&str>,
        until: Option<Time>,
        word: &'static str,
        message: String,
    ) {
        self.verdict.waits.push(Wait {
            pod: self.key.clone(),
            container: container.map(str::to_owned),
            until,
            reason: Reason { word, message },
        });
    }

    /// True, and a wait, while a failure is too young to try the same again.
    pub fn holds_back(&mut self, container: Option<&str>, failure: Option<&Failure>) -> bool {
        let Some(failure) = failure.filter(|failure| self.at() < failure.retry_at()) else { return false };
        self.wait(container, Some(failure.retry_at()), failure.trouble.as_str(), failure.message.to_string());
        true
    }

    /// Were its limits changed in place since it was made?
    pub fn was_updated(&self, instance: &Instance) -> bool {
        self.observed.ledger.updated.contains(&instance.id)
    }

    /// True, and a wait, while an instance could not be looked at or cleared away a moment ago.
    pub fn is_stuck(&mut self, instance: &Instance) -> bool {
        let memo = self.memo(&instance.uid, instance.role.name());
        let name = match &instance.role {
            Role::Sandbox => None,
            Role::Container(name) => Some(&**name),
        };
        self.holds_back(name, memo.and_then(|memo| memo.stuck.as_ref()))
    }

    /// The failure to create, start or update this definition of a container.
    pub fn failure(&self, uid: &Uid, name: &str, fingerprint: &Fingerprint) -> Option<&'a Failure> {
        let failure = self.memo(uid, name)?.failure.as_ref()?;
        (failure.fingerprint.as_ref() == Some(fingerprint)).then_some(failure)
    }

    /// Asks for exit code, times and configuration of a container.
    pub fn look(&mut self, instance: &Instance, fact: &'static str) {
        if self.is_stuck(instance) {
            return;
        }
        self.act_on(instance, Call::InspectContainer { id: instance.id.clone() }, Cause::Unknown { fact });
    }
}

/// What an instance's state means for a decision.
pub fn status_of(instance: &Instance) -> Status<'_> {
    match &instance.state {
        State::Created => Status::Created(instance),
        State::Running { .. } | State::Paused => Status::Running(instance),
        State::Exited(Some(exit)) => Status::Ended(Ended::of(instance, exit)),
        State::Exited(None) | State::Dead => Status::EndedSomehow(instance),
        State::Removing => Status::Leaving(instance),
        State::Unknown(word) => Status::Unknown(instance, word),
    }
}

impl Ended {
    pub fn of(instance: &Instance, exit: &Exit) -> Self {
        Self {
            fingerprint: instance.fingerprint.clone(),
            attempt: instance.attempt,
            code: exit.code,
            oom: exit.oom,
            error: exit.error.as_str().into(),
            stopped: false,
            network_mode: instance.network_mode.clone(),
            started_at: exit.started_at,
            at: exit.finished_at,
        }
    }

    /// Did it run in this sandbox's namespaces?
    pub fn joined(&self, sandbox: &Instance) -> bool {
        joins(&self.network_mode, sandbox)
    }

    /// A run that an OnFailure policy repeats, and that includes one that podkeeper cut short. Out of memory
    /// is a failure whatever the exit code says: the kubelet asks the code alone (decision table 4b, note 1).
    pub fn failed(&self) -> bool {
        self.code != 0 || self.oom || self.stopped
    }

    /// Finishes the sentence "it …".
    pub fn how(&self) -> String {
        match (self.oom, self.code) {
            (true, _) => "ran out of memory".into(),
            (false, _) if self.stopped => "was stopped by podkeeper".into(),
            (false, 0) => "exited with code 0".into(),
            (false, _) if !self.error.is_empty() => format!("could not be run: {}", self.error),
            (false, code) => format!("exited with code {code}"),
        }
    }
}

impl Instance {
    /// Does it, or may it, hold processes, ports and memory?
    pub fn is_alive(&self) -> bool {
        match self.state {
            State::Running { .. } | State::Paused | State::Unknown(_) => true,
            State::Created | State::Exited(_) | State::Removing | State::Dead => false,
        }
    }

    pub fn is_running(&self) -> bool {
        matches!(self.state, State::Running { .. })
    }

    /// Does it live in this sandbox's namespaces?
    pub fn joins(&self, sandbox: &Instance) -> bool {
        joins(&self.network_mode, sandbox)
    }
}

fn joins(network_mode: &str, sandbox: &Instance) -> bool {
    network_mode.strip_prefix("container:") == Some(&sandbox.id.0)
}

impl Declared {
    /// By its place among all containers, init containers first.
    pub fn container(&self, index: usize) -> &Container {
        let spec = &self.pod.spec;
        match index.checked_sub(spec.init_containers.len()) {
            None => &spec.init_containers[index],
            Some(regular) => &spec.containers[regular],
        }
    }
}

/// Is something under way that this action could disturb, or that could disturb it? See
/// `Observed::in_flight`. What is about a sandbox waits for everything in its pod, except for a look or for
/// clearing away an instance that is not the one in use.
pub fn is_busy(observed: &Observed, action: &Action) -> bool {
    let Some(busy) = observed.in_flight.get(&action.pod) else { return false };
    let alone = matches!(action.call, Call::InspectContainer { .. } | Call::RemoveContainer { .. });
    let container = action.container.as_deref().unwrap_or(SANDBOX);
    let of_pod = busy.contains_key(SANDBOX) || (action.container.is_none() && !alone);
    of_pod
        || busy.contains_key(container)
        || action.call.id().is_some_and(|ContainerId(id)| busy.contains_key(id))
}
