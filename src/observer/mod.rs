//! Docker → `Observed`: a list replaces what was known, events and outcomes are folded in between.
//!
//! Pure functions over a value. Their caller knows the clock and says what time it is.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::docker::{DockerError, Inspected};
use crate::executor::{Fact, Outcome};
use crate::model::{ContainerId, PodKey, Time};
use crate::plan::ledger::SANDBOX;
use crate::plan::{
    Action, Call, ContainerConfig, Exit, Image, Instance, Observed, PodObserved, Role, State, backoff, labels,
};

mod hints;
mod memory;

pub use hints::{Hint, hint};
pub use memory::{heirs, tidy};

/// A full list of the engine: replaces all instances, and keeps what was inspected of those that are in the
/// same state as before.
pub fn relist(observed: &mut Observed, at: Time, instances: Vec<Instance>) {
    let mut pods = std::collections::BTreeMap::new();
    for mut instance in instances {
        if let Some(known) = find(observed, &instance) {
            remember(&mut instance, known);
        }
        pods.entry(instance.pod.clone()).or_insert_with(Vec::new).push(Arc::new(instance));
    }
    observed.at = at;
    observed.listed = true;
    let pods = pods.into_iter().map(|(key, instances)| {
        let pod = PodObserved::new(instances);
        // The same value is kept as the same allocation, so that a round can see that nothing changed.
        let known = observed.pods.get(&key).filter(|known| ***known == pod).cloned();
        (key, known.unwrap_or_else(|| Arc::new(pod)))
    });
    observed.pods = pods.collect();
}

/// The same for a list that may be older than what is known of some pods: those that something was begun or
/// learnt of since it was asked for, and those that something is in flight for, stay as they are known.
pub fn relist_others(observed: &mut Observed, at: Time, mut list: Vec<Instance>, touched: BTreeSet<PodKey>) {
    let touched: BTreeSet<PodKey> = touched.into_iter().chain(observed.in_flight.keys().cloned()).collect();
    list.retain(|instance| !touched.contains(&instance.pod));
    let known = touched.iter().filter_map(|key| observed.pods.get(key));
    list.extend(known.flat_map(|pod| &pod.instances).map(|instance| Instance::clone(instance)));
    relist(observed, at, list);
}

fn find<'a>(observed: &'a Observed, instance: &Instance) -> Option<&'a Instance> {
    let pod = observed.pods.get(&instance.pod)?;
    pod.instances.iter().map(|known| &**known).find(|known| known.id == instance.id)
}

/// A list knows less than an inspect: what an inspect said stays true while the state is the same.
fn remember(instance: &mut Instance, known: &Instance) {
    instance.config = instance.config.take().or_else(|| known.config.clone());
    instance.created_at = known.created_at.or(instance.created_at);
    instance.probes = known.probes;
    match (&instance.state, &known.state) {
        (State::Running { started_at: None }, State::Running { .. })
        | (State::Exited(None), State::Exited(_)) => instance.state = known.state.clone(),
        _ => {}
    }
}

/// An action was handed to the executor: until [`fold`], nothing that it could disturb is planned.
pub fn begin(observed: &mut Observed, action: &Action) {
    match action.call.image() {
        Some(image) => drop(observed.pulling.insert(image.into())),
        None => {
            let busy = observed.in_flight.entry(action.pod.clone()).or_default();
            *busy.entry(busy_key(action)).or_default() += 1;
        }
    }
    if let Call::StopContainer { id, .. } = &action.call {
        memory::stopping(observed, &action.pod, id);
    }
    if let Call::UpdateContainer { id, .. } = &action.call {
        observed.ledger.updated.insert(id.clone());
    }
}

/// What is busy while an action is under way: the instance alone when it is looked at or cleared away,
/// otherwise the container, of which an instance may come to life or end, and for the sandbox the whole pod.
fn busy_key(action: &Action) -> Arc<str> {
    match (&action.container, &action.call) {
        (_, Call::InspectContainer { id } | Call::RemoveContainer { id }) => id.0.clone(),
        (None, _) => SANDBOX.into(),
        (Some(container), _) => container.as_str().into(),
    }
}

/// What became of an action that was begun. Returns true when the engine must be read again before the
/// next plan, because nobody can say what the action did.
#[must_use]
pub fn fold(observed: &mut Observed, at: Time, action: &Action, outcome: &Outcome) -> bool {
    observed.at = at;
    finish(observed, action);
    match outcome {
        Outcome::Done(fact) => done(observed, action, fact),
        // Nothing was sent: that tells of the engine, and nothing of the container.
        Outcome::Refused(DockerError::Unreachable { .. }) => return true,
        // The container is not in the state in which it was seen: what was observed is stale.
        Outcome::Refused(error @ DockerError::Conflict { .. }) => {
            memory::failed(observed, action, error);
            return true;
        }
        Outcome::Refused(error) => refused(observed, action, error),
        Outcome::Uncertain(error) => {
            memory::failed(observed, action, error);
            // A look that got no answer has changed nothing.
            return !action.call.is_look();
        }
    }
    false
}

fn finish(observed: &mut Observed, action: &Action) {
    if let Some(image) = action.call.image() {
        observed.pulling.remove(image);
        return;
    }
    let Some(busy) = observed.in_flight.get_mut(&action.pod) else { return };
    let key = busy_key(action);
    match busy.get(&key).copied() {
        Some(count @ 2..) => drop(busy.insert(key, count - 1)),
        Some(0 | 1) | None => drop(busy.remove(&key)),
    }
    if busy.is_empty() {
        observed.in_flight.remove(&action.pod);
    }
}

fn done(observed: &mut Observed, action: &Action, fact: &Fact) {
    match (fact, &action.call) {
        (Fact::Created(id), Call::CreateSandbox { config } | Call::CreateContainer { config }) => {
            created(observed, id, config);
        }
        (Fact::Container(inspected), call) => {
            inspected_now(observed, inspected);
            memory::succeeded(observed, &inspected.instance, call);
        }
        (Fact::Gone(id), _) => {
            memory::gone(observed, action, id);
            gone(observed, id);
        }
        (Fact::Image(id), Call::InspectImage { image }) => image_is(observed, image, id.as_deref(), false),
        (Fact::Image(id), Call::PullImage { image } | Call::LoadSandboxImage { image }) => {
            image_is(observed, image, id.as_deref(), true);
        }
        // A fact of another kind than the call asks for says nothing about it.
        (Fact::Created(_) | Fact::Image(_), _) => {}
    }
}

fn image_is(observed: &mut Observed, image: &str, id: Option<&str>, pulled: bool) {
    let at = observed.at;
    let before = match observed.images.get(image) {
        Some(Image::Present { pulled_at, .. }) => *pulled_at,
        Some(Image::Absent { .. }) | None => None,
    };
    let state = match id {
        Some(id) => Image::Present { id: id.into(), pulled_at: if pulled { Some(at) } else { before } },
        None => Image::Absent { at },
    };
    if id.is_some() {
        observed.ledger.pulls.remove(image);
    }
    observed.images.insert(image.into(), state);
}

/// A new container: its labels say what it is, and the ledger counts it.
fn created(observed: &mut Observed, id: &ContainerId, config: &ContainerConfig) {
    let Some(mut instance) =
        Instance::from_labels(&id.0, &config.name, labels::of(&config.labels), State::Created)
    else {
        return;
    };
    instance.created_at = Some(observed.at);
    instance.network_mode = config.network_mode.as_str().into();
    instance.config = Some(Arc::new(config.clone()));
    let streak = backoff::streak_of_next(observed, &instance);
    memory::made(observed, &instance, streak);
    put(observed, instance);
}

/// What inspect says replaces what was known. Times of the engine are never in our future.
fn inspected_now(observed: &mut Observed, inspected: &Inspected) {
    let mut instance = inspected.instance.clone();
    let at = observed.at;
    if let Some(known) = find(observed, &instance) {
        instance.created_at = known.created_at.or(instance.created_at);
    }
    // What probes said of a run holds for that run.
    if let Some(known) = find(observed, &instance).filter(|known| known.is_running()) {
        instance.probes = known.probes;
    }
    if let State::Running { started_at: Some(started) } = &mut instance.state {
        *started = (*started).min(at);
    }
    if matches!(instance.state, State::Exited(_) | State::Dead) {
        let exit = end_of(inspected.exit.as_ref(), at);
        if instance.role != Role::Sandbox {
            memory::ended(observed, &instance, &exit);
        }
        instance.state = State::Exited(Some(exit));
    }
    put(observed, instance);
}

/// Docker reports 255 for an end that it did not see, such as one while it was down; so does this for one of
/// which an engine says nothing at all.
fn end_of(exit: Option<&Exit>, at: Time) -> Exit {
    match exit {
        Some(exit) => Exit {
            finished_at: exit.finished_at.min(at),
            started_at: exit.started_at.map(|started| started.min(at)),
            ..exit.clone()
        },
        None => Exit { code: 255, oom: false, error: String::new(), started_at: None, finished_at: at },
    }
}

fn refused(observed: &mut Observed, action: &Action, error: &DockerError) {
    if let Call::StartContainer { id } = &action.call
        && action.container.is_some()
        && is_final(error)
    {
        return memory::could_not_run(observed, &action.pod, id, error);
    }
    if let Call::CreateSandbox { config } | Call::CreateContainer { config } = &action.call
        && matches!(error, DockerError::NotFound { .. })
    {
        // The image was there a moment ago: ask again before the next try.
        observed.images.remove(config.image.as_str());
    }
    memory::failed(observed, action, error);
}

/// The engine tried to run it and could not: an unknown executable, a missing directory. The kubelet's Docker
/// shim reports that as an end (`ContainerCannotRun`), so that the restart policy decides what follows.
fn is_final(error: &DockerError) -> bool {
    matches!(error, DockerError::Refused { status: 400..500, .. })
}

/// Puts an instance in the place of what was known of it.
fn put(observed: &mut Observed, instance: Instance) {
    let pod = observed.pods.entry(instance.pod.clone()).or_default();
    let mut instances = pod.instances.clone();
    instances.retain(|known| known.id != instance.id);
    instances.push(Arc::new(instance));
    *pod = Arc::new(PodObserved::new(instances));
}

fn gone(observed: &mut Observed, id: &ContainerId) {
    let key = observed
        .pods
        .iter()
        .find(|(_, pod)| pod.instances.iter().any(|instance| instance.id == *id))
        .map(|(key, _)| key.clone());
    let Some(key) = key else { return };
    let Some(pod) = observed.pods.get(&key) else { return };
    let left: Vec<_> = pod.instances.iter().filter(|instance| instance.id != *id).cloned().collect();
    if left.is_empty() {
        observed.pods.remove(&key);
    } else {
        observed.pods.insert(key, Arc::new(PodObserved { instances: left }));
    }
}
