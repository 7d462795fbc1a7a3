//! The kubelet's decision table, row by row: what runs and what is declared → what is done.
//!
//! Every row carries the number that it has in the table (CPA: pods, CPI: with init containers, CPS: with
//! sidecars). The kubelet decides a whole sync at once; podkeeper takes one justified step after another.
//! So a row is driven until the plan is empty, with containers that start and then run for ever, and what
//! was done is compared. Ephemeral containers (CPE), container-level restart rules (CPR) and restart-all (RA)
//! are not supported yet.

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

const NOW: Time = Time(1_000_000_000);
const LONG_AGO: Time = Time(0);

/// A pod and what is on the engine of it, before a row changes it.
struct Row {
    pod: Pod,
    /// Is the sandbox ready, and which attempt is it?
    sandbox: Option<(bool, u32)>,
    sandbox_ip: bool,
    statuses: Vec<(&'static str, State)>,
    probes: Vec<(&'static str, Probes)>,
    /// Containers that were made from another image.
    changed: Vec<&'static str>,
}

fn container(name: &str, image: &str) -> Container {
    Container { name: name.into(), image: image.into(), ..Container::default() }
}

fn base() -> Row {
    let containers = ["foo1", "foo2", "foo3"].map(|name| container(name, "busybox:1"));
    let metadata = Metadata { name: "p".into(), namespace: "default".into(), ..Metadata::default() };
    Row {
        pod: Pod { metadata, spec: PodSpec { containers: containers.into(), ..PodSpec::default() } },
        sandbox: Some((true, 0)),
        sandbox_ip: true,
        statuses: ["foo1", "foo2", "foo3"].map(|name| (name, running())).into(),
        probes: Vec::new(),
        changed: Vec::new(),
    }
}

fn with_init() -> Row {
    let mut row = base();
    row.pod.spec.init_containers = ["init1", "init2", "init3"].map(|name| container(name, "bar:1")).into();
    row.statuses = ["init1", "init2", "init3"].map(|name| (name, exited(0))).into();
    row
}

fn with_sidecars() -> Row {
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

fn running() -> State {
    State::Running { started_at: Some(LONG_AGO) }
}

fn exited(code: i64) -> State {
    State::Exited(Some(Exit {
        code,
        oom: false,
        error: String::new(),
        started_at: Some(LONG_AGO),
        finished_at: LONG_AGO,
    }))
}

fn unknown() -> State {
    State::Unknown("restarting".into())
}

impl Row {
    fn policy(mut self, policy: RestartPolicy) -> Self {
        self.pod.spec.restart_policy = policy;
        self
    }

    fn is(mut self, name: &'static str, state: State) -> Self {
        self.statuses.retain(|(known, _)| *known != name);
        self.statuses.push((name, state));
        self
    }

    fn only(mut self, names: &[&'static str]) -> Self {
        self.statuses.retain(|(name, _)| names.contains(name));
        self
    }

    fn sandbox(mut self, sandbox: Option<(bool, u32)>) -> Self {
        self.sandbox = sandbox;
        self
    }

    fn dead_sandbox(self) -> Self {
        self.sandbox(Some((false, 0)))
    }

    fn startup(self, name: &'static str, startup: Option<Probed>) -> Self {
        self.probe(name, |probes| probes.startup = startup)
    }

    fn liveness(self, name: &'static str, liveness: Option<Probed>) -> Self {
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

    fn made_otherwise(mut self, name: &'static str) -> Self {
        self.changed.push(name);
        self
    }

    fn worlds(&self) -> (Desired, Observed) {
        let node = Node { name: "n".into(), key: [7; 16], sandbox_image: "podkeeper/pause:1".into() };
        let places = Places { file: "p.yaml".into(), fields: Default::default() };
        let declared = Declared::new(&node, SourceKind::File, self.pod.clone(), places);
        let mut instances = Vec::new();
        if let Some((ready, attempt)) = self.sandbox {
            let state = if ready { running() } else { exited(0) };
            let mut sandbox = instance(&declared, Role::Sandbox, attempt, state, &declared.fingerprint);
            sandbox.ip = self.sandbox_ip.then(|| "10.0.0.1".parse().unwrap());
            instances.push(Arc::new(sandbox));
        }
        for (name, state) in &self.statuses {
            let (_, fingerprint) = declared.containers().find(|(c, _)| c.name == *name).unwrap();
            let mut one = instance(&declared, Role::Container((*name).into()), 0, state.clone(), fingerprint);
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
    fn done(&self) -> String {
        let (desired, mut observed) = self.worlds();
        let (mut stopped, mut started, mut sandboxes) = (Vec::new(), Vec::new(), Vec::new());
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
        let parts: Vec<String> = stopped.into_iter().chain(sandboxes).chain(started).collect();
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
        ip: None,
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
        (Call::RemoveContainer { id }, _) => Outcome::Done(Fact::Gone(id.clone())),
        (call, _) => panic!("no row needs {call:?}"),
    }
}

/// Each row: its number, the world, what is done.
fn check(rows: Vec<(&str, Row, &str)>) {
    let wrong: Vec<String> = rows
        .iter()
        .filter_map(|(id, row, expected)| {
            let done = row.done();
            (done != *expected).then(|| format!("{id}\n  expected {expected}\n  done     {done}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{} of {} rows are wrong:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

use RestartPolicy::{Always, Never, OnFailure};

#[test]
fn pods_of_regular_containers_do_what_the_kubelet_does() {
    let all = "start foo1 foo2 foo3";
    check(vec![
        ("CPA-01", base(), "nothing"),
        ("CPA-02", base().sandbox(None).only(&[]), &format!("new sandbox 0, {all}")),
        ("CPA-03", base().policy(Always).is("foo1", exited(0)).is("foo2", exited(111)), "start foo1 foo2"),
        ("CPA-04", base().policy(OnFailure).is("foo1", exited(0)).is("foo2", exited(111)), "start foo2"),
        ("CPA-05", base().policy(OnFailure).is("foo1", exited(0)).is("foo2", State::Created), "start foo2"),
        ("CPA-06", base().policy(Never).is("foo1", exited(0)).is("foo2", exited(111)), "nothing"),
        (
            "CPA-07",
            base().policy(Always).dead_sandbox(),
            &format!("stop foo1 foo2 foo3, new sandbox 1, {all}"),
        ),
        (
            "CPA-08",
            base().policy(OnFailure).dead_sandbox().is("foo2", exited(0)),
            "stop foo1 foo3, new sandbox 1, start foo1 foo3",
        ),
        (
            "CPA-09",
            Row { sandbox_ip: false, ..base() },
            &format!("stop sandbox foo1 foo2 foo3, new sandbox 1, {all}"),
        ),
        ("CPA-10", base().policy(Always).made_otherwise("foo2"), "stop foo2, start foo2"),
        ("CPA-11", base().policy(Always).liveness("foo2", Some(Probed::Failure)), "stop foo2, start foo2"),
        ("CPA-12", base().policy(Always).startup("foo2", Some(Probed::Failure)), "stop foo2, start foo2"),
        ("CPA-13", finished().policy(Never).sandbox(Some((false, 1))), "nothing"),
        ("CPA-14", finished().policy(OnFailure).sandbox(Some((false, 1))), "nothing"),
        (
            "CPA-15",
            base().policy(Never).sandbox(Some((false, 2))).only(&[]),
            &format!("new sandbox 3, {all}"),
        ),
        // Decided otherwise than the kubelet, by the law "run once means once": once stopped it has ended.
        ("CPA-16", base().policy(Never).is("foo2", unknown()), "stop foo2"),
        ("CPA-17", base().policy(Never).is("foo2", State::Created), "start foo2"),
    ]);
}

fn finished() -> Row {
    ["foo1", "foo2", "foo3"].into_iter().fold(base(), |row, name| row.is(name, exited(0)))
}

#[test]
fn init_containers_do_what_the_kubelet_does() {
    check(vec![
        ("CPI-01", with_init(), "start foo1 foo2 foo3"),
        ("CPI-02", with_init().only(&[]), "start init1"),
        ("CPI-03", with_init().policy(Always).is("init3", running()), "nothing"),
        ("CPI-04", with_init().policy(Always).dead_sandbox(), "new sandbox 1, start init1"),
        ("CPI-05", with_init().policy(Always).is("init3", exited(137)), "start init3"),
        ("CPI-06", with_init().policy(OnFailure).is("init3", exited(137)), "start init3"),
        ("CPI-07", with_init().policy(Never).is("init3", exited(137)), "stop sandbox"),
        ("CPI-08", with_init().policy(Always).is("init3", unknown()), "stop init3, start init3"),
        ("CPI-09", with_init().policy(OnFailure).is("init3", unknown()), "stop init3, start init3"),
        ("CPI-10", with_init().policy(Never).is("init3", unknown()), "stop sandbox init3"),
        ("CPI-11", with_init().policy(Never).dead_sandbox(), "nothing"),
        ("CPI-12", with_init().policy(Never).dead_sandbox().only(&[]), "new sandbox 1, start init1"),
        (
            "CPI-13",
            with_init().policy(OnFailure).dead_sandbox().is("init3", exited(137)),
            "new sandbox 1, start init1",
        ),
        ("CPI-14", with_init().policy(Always).is("init3", running()).only(&["init3"]), "nothing"),
        ("CPI-15", with_init().policy(Always).is("init3", State::Created), "start init3"),
        // CPI-16: a wish to resize an init container that does not run yet changes nothing.
        ("CPI-16", with_init().only(&[]), "start init1"),
    ]);
}

#[test]
fn sidecars_do_what_the_kubelet_does() {
    let mains = "start foo1 foo2 foo3";
    check(vec![
        ("CPS-01", with_sidecars(), mains),
        ("CPS-02", with_sidecars().only(&[]), "start sc1 sc2"),
        ("CPS-03", with_sidecars().policy(Always).is("sc3", State::Created), "start sc3"),
        ("CPS-04", with_sidecars().policy(Always).only(&["sc1"]), "start sc2"),
        ("CPS-05", with_sidecars().policy(Always).liveness("sc2", None).only(&["sc1", "sc2"]), "start sc3"),
        (
            "CPS-06",
            with_sidecars().policy(Always).liveness("sc2", Some(Probed::Unknown)).only(&["sc1", "sc2"]),
            "start sc3",
        ),
        ("CPS-07", with_sidecars().policy(Always).only(&["sc1", "sc2"]), "start sc3"),
        (
            "CPS-08",
            with_sidecars().policy(Always).liveness("sc3", Some(Probed::Failure)),
            "stop sc3, start sc3 foo1 foo2 foo3",
        ),
        ("CPS-09", with_sidecars().policy(Always).startup("sc2", None).only(&["sc1", "sc2"]), "nothing"),
        (
            "CPS-10",
            with_sidecars().policy(Always).startup("sc2", Some(Probed::Unknown)).only(&["sc1", "sc2"]),
            "nothing",
        ),
        ("CPS-11", with_sidecars().policy(Always).only(&["sc1", "sc2"]), "start sc3"),
        (
            "CPS-12",
            with_sidecars().policy(Always).startup("sc3", Some(Probed::Failure)),
            "stop sc3, start sc3",
        ),
        (
            "CPS-13",
            with_sidecars().policy(Always).made_otherwise("sc3"),
            "stop sc3, start sc3 foo1 foo2 foo3",
        ),
        ("CPS-14", with_sidecars().policy(Always).is("sc1", exited(1)).is("sc3", exited(1)), "start sc1 sc3"),
        ("CPS-15", with_sidecars().policy(Always).is("sc1", exited(1)), "start sc1 foo1 foo2 foo3"),
        ("CPS-16", with_sidecars().policy(Never).dead_sandbox().is("sc3", exited(137)), "stop sc1 sc2"),
        ("CPS-17", with_sidecars().policy(Never).dead_sandbox().only(&[]), "new sandbox 1, start sc1 sc2"),
        (
            "CPS-18",
            with_sidecars().policy(OnFailure).dead_sandbox().is("sc3", exited(137)),
            "stop sc1 sc2, new sandbox 1, start sc1 sc2",
        ),
        (
            "CPS-19",
            with_sidecars().policy(Always).dead_sandbox().is("sc3", exited(137)),
            "stop sc1 sc2, new sandbox 1, start sc1 sc2",
        ),
        ("CPS-20", with_sidecars().policy(Never).is("sc3", exited(137)), "start sc3"),
        ("CPS-21", with_sidecars().policy(Never).is("sc3", unknown()), "stop sc3, start sc3"),
        (
            "CPS-22",
            ["foo1", "foo2", "foo3"]
                .into_iter()
                .fold(with_sidecars().policy(Never).is("sc3", exited(137)), |row, name| {
                    row.is(name, running())
                }),
            "start sc3",
        ),
        (
            "CPS-23",
            ["foo1", "foo2", "foo3"]
                .into_iter()
                .fold(with_sidecars().policy(Never), |row, name| row.is(name, exited(0))),
            "stop sandbox sc1 sc2 sc3",
        ),
        ("CPS-24", with_sidecars().policy(Always).only(&["sc3"]), "start sc1 sc2 foo1 foo2 foo3"),
    ]);
}
