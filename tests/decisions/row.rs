//! One row of the decision table: a pod, what is on the engine of it, and how it is driven.

use std::sync::Arc;

use podkeeper::docker::Inspected;
use podkeeper::executor::{Fact, Outcome};
use podkeeper::model::pod::{Container, Metadata, Pod, PodSpec, Probe};
use podkeeper::model::{ContainerId, Places, RestartPolicy, Time};
use podkeeper::observer;
use podkeeper::plan::observed::{Probed, Probes};
use podkeeper::plan::{
    Call, Declared, Desired, Exit, Fingerprint, Image, Instance, Node, Observed, PodObserved, Role, Slot,
    SourceKind, State, plan,
};

pub const NOW: Time = Time(1_000_000_000);
const LONG_AGO: Time = Time(0);

/// A pod and what is on the engine of it, before a row changes it.
pub struct Row {
    pub pod: Pod,
    /// What the instances were made from, when it is not `pod`.
    pub made_from: Option<Pod>,
    /// Is the sandbox ready, and which attempt is it?
    pub sandbox: Option<(bool, u32)>,
    pub sandbox_ip: bool,
    pub statuses: Vec<(&'static str, State)>,
    pub probes: Vec<(&'static str, Probes)>,
    /// Containers that were made from another image.
    pub changed: Vec<&'static str>,
}

fn container(name: &str, image: &str) -> Container {
    Container { name: name.into(), image: image.into(), ..Container::default() }
}

pub fn base() -> Row {
    let containers = ["foo1", "foo2", "foo3"].map(|name| container(name, "busybox:1"));
    let metadata = Metadata { name: "p".into(), namespace: "default".into(), ..Metadata::default() };
    Row {
        pod: Pod { metadata, spec: PodSpec { containers: containers.into(), ..PodSpec::default() } },
        made_from: None,
        sandbox: Some((true, 0)),
        sandbox_ip: true,
        statuses: ["foo1", "foo2", "foo3"].map(|name| (name, running())).into(),
        probes: Vec::new(),
        changed: Vec::new(),
    }
}

pub fn with_init() -> Row {
    let mut row = base();
    row.pod.spec.init_containers = ["init1", "init2", "init3"].map(|name| container(name, "bar:1")).into();
    row.statuses = ["init1", "init2", "init3"].map(|name| (name, exited(0))).into();
    row
}

pub fn with_sidecars() -> Row {
    let mut row = base();
    let probed = |name: &str, has: bool| Container {
        restart_policy: Some(RestartPolicy::Always),
        startup_probe: has.then(Probe::default),
        liveness_probe: has.then(Probe::default),
        ..container(name, "bar:1")
    };
    row.pod.spec.init_containers = vec![probed("sc1", false), probed("sc2", true), probed("sc3", true)];
    row.statuses = ["sc1", "sc2", "sc3"].map(|name| (name, running())).into();
    let fine = Probes { startup: Some(Probed::Success), liveness: Some(Probed::Success), readiness: None };
    row.probes = vec![("sc2", fine), ("sc3", fine)];
    row
}

pub fn running() -> State {
    State::Running { started_at: Some(LONG_AGO) }
}

pub fn exited(code: i64) -> State {
    State::Exited(Some(Exit {
        code,
        oom: false,
        error: String::new(),
        started_at: Some(LONG_AGO),
        finished_at: LONG_AGO,
    }))
}

pub fn unknown() -> State {
    State::Unknown("restarting".into())
}

impl Row {
    pub fn policy(mut self, policy: RestartPolicy) -> Self {
        self.pod.spec.restart_policy = policy;
        self
    }

    pub fn is(mut self, name: &'static str, state: State) -> Self {
        self.statuses.retain(|(known, _)| *known != name);
        self.statuses.push((name, state));
        self
    }

    pub fn only(mut self, names: &[&'static str]) -> Self {
        self.statuses.retain(|(name, _)| names.contains(name));
        self
    }

    pub fn sandbox(mut self, sandbox: Option<(bool, u32)>) -> Self {
        self.sandbox = sandbox;
        self
    }

    pub fn dead_sandbox(self) -> Self {
        self.sandbox(Some((false, 0)))
    }

    pub fn startup(self, name: &'static str, startup: Option<Probed>) -> Self {
        self.probe(name, |probes| probes.startup = startup)
    }

    pub fn liveness(self, name: &'static str, liveness: Option<Probed>) -> Self {
        self.probe(name, |probes| probes.liveness = liveness)
    }

    fn probe(mut self, name: &'static str, change: impl FnOnce(&mut Probes)) -> Self {
        let mut probes = self.probes.iter().find(|(n, _)| *n == name).map_or(Probes::default(), |(_, p)| *p);
        change(&mut probes);
        self.probes.retain(|(known, _)| *known != name);
        self.probes.push((name, probes));
        let of = |c: &&mut Container| c.name == name;
        for c in self.pod.spec.init_containers.iter_mut().chain(&mut self.pod.spec.containers).filter(of) {
            c.startup_probe.get_or_insert_default();
            c.liveness_probe.get_or_insert_default();
        }
        self
    }

    pub fn made_otherwise(mut self, name: &'static str) -> Self {
        self.changed.push(name);
        self
    }

    pub fn worlds(&self) -> (Desired, Observed) {
        let node = Node { name: "n".into(), key: [7; 16], sandbox_image: "podkeeper/pause:1".into() };
        let places = Places { file: "p.yaml".into(), fields: Default::default() };
        let declared = Declared::new(&node, SourceKind::File, self.pod.clone(), places);
        let made = self.made_from.clone().unwrap_or_else(|| self.pod.clone());
        let made = Declared::new(&node, SourceKind::File, made, declared.places.clone());
        let mut instances = Vec::new();
        if let Some((ready, attempt)) = self.sandbox {
            let state = if ready { running() } else { exited(0) };
            let mut sandbox = instance(&made, Role::Sandbox, attempt, state, &made.fingerprint);
            sandbox.ip = self.sandbox_ip.then(|| "10.0.0.1".parse().unwrap());
            instances.push(Arc::new(sandbox));
        }
        for (name, state) in &self.statuses {
            let (_, fingerprint) = made.containers().find(|(c, _)| c.name == *name).unwrap();
            let mut one = instance(&made, Role::Container((*name).into()), 0, state.clone(), fingerprint);
            if self.changed.contains(name) {
                one.fingerprint = Fingerprint("1 image=000000000000".into());
            }
            one.probes = self.probes.iter().find(|(n, _)| n == name).map_or(Probes::default(), |(_, p)| *p);
            instances.push(Arc::new(one));
        }
        let mut observed = Observed { at: NOW, listed: true, ..Observed::default() };
        for image in ["busybox:1", "bar:1", "podkeeper/pause:1"] {
            observed.images.insert(image.into(), Image::Present { id: "sha256:1".into(), pulled_at: None });
        }
        observed.pods.insert(declared.key.clone(), Arc::new(PodObserved::new(instances)));
        let pods = [(declared.key.clone(), Arc::new(declared))].into_iter().collect();
        (Desired::new(node).with_slot(SourceKind::File, Slot::Known(pods)), observed)
    }

    /// Drives the row and says what was done: `new sandbox 1, stop a b, start c`.
    pub fn done(&self) -> String {
        let (desired, mut observed) = self.worlds();
        let (mut stopped, mut started, mut sandboxes) = (Vec::new(), Vec::new(), Vec::new());
        let mut updated = Vec::new();
        for round in 0.. {
            assert!(round < 20, "the plan does not end: {:#?}", plan(&desired, &observed));
            let actions = plan(&desired, &observed);
            if actions.is_empty() {
                break;
            }
            for action in actions {
                let name = action.container.clone().unwrap_or_else(|| "sandbox".into());
                match &action.call {
                    Call::StopContainer { .. } => stopped.push(name),
                    Call::UpdateContainer { .. } => updated.push(name),
                    Call::StartContainer { .. } if action.container.is_some() => started.push(name),
                    Call::CreateSandbox { config } => {
                        sandboxes.push(format!("new sandbox {}", config.labels["io.podkeeper.attempt"]));
                    }
                    _ => {}
                }
                let outcome = obey(&observed, &action);
                assert!(!observer::fold(&mut observed, NOW, &action, &outcome));
            }
        }
        let order: Vec<&str> =
            self.pod.spec.init_containers.iter().chain(&self.pod.spec.containers).map(|c| &*c.name).collect();
        let list = |word: &str, names: &mut Vec<String>| {
            names.sort_by_key(|name| order.iter().position(|known| known == name));
            names.dedup();
            if names.is_empty() { None } else { Some(format!("{word} {}", names.join(" "))) }
        };
        let stopped = list("stop", &mut stopped);
        let started = list("start", &mut started);
        let updated = list("update", &mut updated);
        let parts: Vec<String> = stopped.into_iter().chain(sandboxes).chain(started).chain(updated).collect();
        if parts.is_empty() { "nothing".into() } else { parts.join(", ") }
    }
}

fn instance(
    declared: &Declared,
    role: Role,
    attempt: u32,
    state: State,
    fingerprint: &Fingerprint,
) -> Instance {
    let id = format!("{}-{attempt}", role.name());
    let network_mode = match role {
        Role::Sandbox => "default".into(),
        Role::Container(_) => "container:POD-0".into(),
    };
    Instance {
        name: id.as_str().into(),
        id: ContainerId(id.as_str().into()),
        pod: declared.key.clone(),
        uid: declared.uid.clone(),
        role,
        attempt,
        source: Some(SourceKind::File),
        fingerprint: fingerprint.clone(),
        grace: Some(30),
        state,
        created_at: None,
        ip: None,
        ports: Vec::new(),
        network_mode,
        config: None,
        probes: Probes::default(),
    }
}

/// An engine that does at once what it is asked; what is started runs for ever.
fn obey(observed: &Observed, action: &podkeeper::plan::Action) -> Outcome {
    let instance = action.call.id().map(|id| {
        let pod = &observed.pods[&action.pod];
        pod.instances.iter().find(|instance| instance.id == *id).map(|i| (**i).clone()).unwrap()
    });
    let now = |mut instance: Instance, state: State| {
        let exit = match &state {
            State::Exited(exit) => exit.clone(),
            _ => None,
        };
        instance.state = state;
        instance.probes = Probes::default();
        instance.config.get_or_insert_default();
        Outcome::Done(Fact::Container(Box::new(Inspected { instance, exit })))
    };
    match (&action.call, instance) {
        (Call::CreateSandbox { config } | Call::CreateContainer { config }, _) => {
            Outcome::Done(Fact::Created(ContainerId(config.name.as_str().into())))
        }
        (Call::StartContainer { .. }, Some(mut instance)) => {
            instance.ip = Some("10.0.0.2".parse().unwrap());
            now(instance, State::Running { started_at: Some(NOW) })
        }
        (Call::StopContainer { .. }, Some(instance)) => now(instance, exited(137)),
        (Call::InspectContainer { .. }, Some(instance)) => {
            let state = instance.state.clone();
            now(instance, state)
        }
        (Call::UpdateContainer { resources, .. }, Some(mut instance)) => {
            let mut config = instance.config.as_deref().cloned().unwrap_or_default();
            config.resources = *resources;
            instance.config = Some(Arc::new(config));
            let state = instance.state.clone();
            now(instance, state)
        }
        (Call::RemoveContainer { id }, _) => Outcome::Done(Fact::Gone(id.clone())),
        (call, _) => panic!("no row needs {call:?}"),
    }
}

/// Each row: its number, the world, what is done.
pub fn check(rows: Vec<(&str, Row, &str)>) {
    let wrong: Vec<String> = rows
        .iter()
        .filter_map(|(id, row, expected)| {
            let done = row.done();
            (done != *expected).then(|| format!("{id}\n  expected {expected}\n  done     {done}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{} of {} rows are wrong:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}
