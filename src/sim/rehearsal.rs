//! The dry run: what the agent would do, found out by letting it do it on a simulated engine.

use std::collections::BTreeMap;

use crate::docker::Look;
use crate::executor::{self, Outcome};
use crate::observer::{self, Hint};
use crate::plan::{
    self, Action, Declared, Desired, Image, Instance, Observed, Role, Rounds, State, Wait, labels,
};
use crate::sim::container::{Container, Phase, Program};
use crate::sim::engine::Engine;
use crate::sim::ready;

/// More rounds than any pod needs for one container: asked, pulled, stopped, removed, created, started.
const ROUNDS_PER_CONTAINER: usize = 10;

/// What the agent would do.
#[derive(Clone, Debug)]
pub struct Rehearsal {
    /// In order, looks left out. Ids of containers that are yet to be made are the rehearsal's own.
    pub steps: Vec<Action>,
    /// What would still wait when the last step is done, and for what.
    pub waits: Vec<Wait>,
    /// False when the plan did not come to an end, which is a fault of the planner.
    pub settled: bool,
}

/// Numbers of new containers begin here, so that no id is one that was observed, or is remembered, even when
/// that came from another simulated engine.
const FIRST_NUMBER: u64 = 1 << 60;

/// How often a wait that began in the rehearsal itself is waited for: a port or a name that another step frees.
const PATIENCE: usize = 5;

/// Lets plan and executor run on a simulated engine that holds what was observed, until there is nothing
/// left to do.
///
/// What nobody can know beforehand goes well: every pull finds its image, every init container succeeds,
/// all others run on. Grace periods and pulls cost no time; a back-off that is not over stays a wait.
pub fn rehearse(desired: &Desired, observed: &Observed) -> Rehearsal {
    let engine = load(desired, observed);
    let mut observed =
        Observed { in_flight: Default::default(), pulling: Default::default(), ..observed.clone() };
    let waited: Vec<_> = plan::waits(desired, &observed).into_iter().map(|w| (w.pod, w.container)).collect();
    let mut rounds = Rounds::default();
    let (mut steps, mut patience) = (Vec::new(), PATIENCE);
    for _ in 0..limit(desired, &observed) {
        let actions = rounds.plan(desired, &observed);
        if actions.is_empty() && !init_containers_succeed(&engine, desired, &mut observed) {
            let waits = plan::waits(desired, &observed);
            let fresh = waits.iter().filter(|w| !waited.contains(&(w.pod.clone(), w.container.clone())));
            let until = fresh.filter_map(|wait| wait.until).min().filter(|_| patience > 0);
            let Some(until) = until else { return Rehearsal { steps, waits, settled: true } };
            patience -= 1;
            engine.pass_to(until);
            observed.at = until;
        }
        for action in actions {
            let done = carry_out(&engine, desired, &mut observed, &action);
            if done && !action.call.is_look() {
                steps.push(action);
            }
        }
    }
    Rehearsal { steps, waits: plan::waits(desired, &observed), settled: false }
}

fn limit(desired: &Desired, observed: &Observed) -> usize {
    let declared: usize = desired.pods().values().map(|declared| declared.containers.len() + 1).sum();
    let there: usize = observed.pods.values().map(|pod| pod.instances.len()).sum();
    ROUNDS_PER_CONTAINER * (declared + there + 1)
}

/// False when the engine refused.
fn carry_out(engine: &Engine, desired: &Desired, observed: &mut Observed, action: &Action) -> bool {
    observer::begin(observed, action);
    let outcome = ready(executor::execute(engine, action));
    if observer::fold(observed, engine.now(), action, &outcome)
        && let Ok(instances) = ready(engine.list(&desired.node.name))
    {
        observer::relist(observed, engine.now(), instances);
    }
    matches!(outcome, Outcome::Done(_))
}

/// An engine that holds what was observed.
fn load(desired: &Desired, observed: &Observed) -> Engine {
    let engine = Engine::new(observed.at);
    {
        let mut machine = engine.machine_mut();
        machine.created = FIRST_NUMBER;
        for instance in observed.pods.values().flat_map(|pod| &pod.instances) {
            let mut config = instance.config.as_deref().cloned().unwrap_or_default();
            config.name = instance.name.to_string();
            config.labels = labels_of(desired, instance);
            config.network_mode = instance.network_mode.to_string();
            // Every sandbox of ours is made so; a list does not tell.
            if instance.role == Role::Sandbox && instance.config.is_none() {
                config.ipc_mode = "shareable".into();
            }
            machine.put_as(instance.id.clone(), config);
            if let Some(container) = machine.containers.get_mut(&instance.id) {
                resume(container, instance);
            }
        }
        for (name, image) in &observed.images {
            if let Image::Present { id, .. } = image {
                machine.images.insert(name.to_string(), id.to_string());
            }
        }
    }
    engine
}

/// Puts a container where the observed one is in its life.
fn resume(container: &mut Container, instance: &Instance) {
    container.program = Program::FOREVER;
    match &instance.state {
        State::Created => {}
        State::Running { started_at } => {
            container.phase = Phase::Running;
            container.started_at = *started_at;
        }
        State::Paused => container.phase = Phase::Paused,
        State::Exited(exit) => {
            container.phase = Phase::Exited;
            if let Some(exit) = exit {
                (container.code, container.oom) = (exit.code, exit.oom);
                container.error.clone_from(&exit.error);
                container.started_at = exit.started_at;
                container.finished_at = Some(exit.finished_at);
            }
        }
        // Nothing runs in them, and a remove is all that is left to do.
        State::Removing | State::Dead | State::Unknown(_) => container.phase = Phase::Exited,
    }
}

/// Every init container that runs now succeeds, so that what comes after it is shown. False when none runs.
fn init_containers_succeed(engine: &Engine, desired: &Desired, observed: &mut Observed) -> bool {
    let at = engine.now();
    let running: Vec<_> = observed
        .pods
        .iter()
        .filter_map(|(key, pod)| Some((desired.get(key)?, pod)))
        .flat_map(|(declared, pod)| {
            pod.instances.iter().filter(|instance| is_running_init(declared, instance))
        })
        .map(|instance| instance.id.clone())
        .collect();
    for id in &running {
        engine.machine_mut().end(id, at, 0, false);
        // What it says of unknown containers does not apply: this one is known.
        let _ = observer::hint(observed, at, id, Hint::Died);
    }
    !running.is_empty()
}

fn is_running_init(declared: &Declared, instance: &Instance) -> bool {
    let Role::Container(name) = &instance.role else { return false };
    let running = matches!(instance.state, State::Running { .. });
    let init = declared.pod.spec.init_containers.iter().any(|c| *c.name == **name && !c.is_sidecar());
    running && init && instance.uid == declared.uid
}

/// The labels from which [`Instance::from_labels`] reads the same instance again.
fn labels_of(desired: &Desired, instance: &Instance) -> BTreeMap<String, String> {
    let kind = if instance.role == Role::Sandbox { "podsandbox" } else { "container" };
    let mut pairs = vec![
        (labels::NODE, desired.node.name.to_string()),
        (labels::FINGERPRINT, instance.fingerprint.to_string()),
        (labels::ATTEMPT, instance.attempt.to_string()),
        (labels::POD_NAME, instance.pod.name.to_string()),
        (labels::POD_NAMESPACE, instance.pod.namespace.to_string()),
        (labels::POD_UID, instance.uid.to_string()),
        (labels::CONTAINER_NAME, instance.role.name().to_string()),
        (labels::TYPE, kind.to_string()),
    ];
    pairs.extend(instance.source.map(|source| (labels::SOURCE, source.to_string())));
    pairs.extend(instance.grace.map(|grace| (labels::GRACE, grace.to_string())));
    pairs.into_iter().map(|(key, value)| (key.to_string(), value)).collect()
}
