//! Regular containers, once the init containers are done. Source: decision table §4d and §5.

use crate::model::RestartPolicy;
use crate::plan::changes::{self, Difference};
use crate::plan::ledger::Ended;
use crate::plan::observed::Probed;
use crate::plan::scene::{Part, Scene, Status, status_of};
use crate::plan::start::{bring_up, replace};
use crate::plan::{Cause, Change, Instance, State, teardown};

/// Decides on the regular containers of a pod that is initialised and has not finished.
pub fn judge<'a>(scene: &mut Scene<'a>, parts: &[Part<'a>], sandbox: &'a Instance) {
    for part in parts.iter().filter(|part| !part.is_init()) {
        one(scene, part, sandbox);
    }
}

/// How all regular containers ended, when none of them will run again.
pub fn all_over(scene: &Scene, parts: &[Part]) -> Option<String> {
    let ends = parts.iter().filter(|part| !part.is_init()).map(|part| match scene.status(part) {
        Status::Ended(end) => {
            why_again(scene, part, &end).is_none().then(|| format!("{} {}", part.name(), end.how()))
        }
        Status::None
        | Status::Created(_)
        | Status::Running(_)
        | Status::EndedSomehow(_)
        | Status::Unknown(..)
        | Status::Leaving(_) => None,
    });
    Some(ends.collect::<Option<Vec<_>>>()?.join(", "))
}

fn one<'a>(scene: &mut Scene<'a>, part: &Part<'a>, sandbox: &'a Instance) {
    stop_older(scene, part);
    let status = scene.status(part);
    match &status {
        Status::None | Status::Leaving(_) => {
            bring_up(scene, part, sandbox, &status, Cause::Missing { what: "container" });
        }
        Status::Created(_) => bring_up(scene, part, sandbox, &status, Cause::NotStarted),
        Status::Unknown(instance, state) => {
            replace(scene, part, instance, Cause::StateUnknown { state: (*state).to_owned() });
        }
        // It is being asked how it ended: see `pod::judge`.
        Status::EndedSomehow(_) => {}
        Status::Ended(end) => {
            if let Some(cause) = why_again(scene, part, end) {
                bring_up(scene, part, sandbox, &status, cause);
            }
        }
        Status::Running(instance) => running(scene, part, instance, sandbox),
    }
}

/// Should a container that ended run again, and why?
fn why_again(scene: &Scene, part: &Part, end: &Ended) -> Option<Cause> {
    if !part.made(&end.fingerprint) {
        return Some(changed_since(scene, part, end));
    }
    let (again, policy) = match scene.policy(part) {
        RestartPolicy::Always => (true, "Always"),
        RestartPolicy::OnFailure => (end.failed(), "OnFailure"),
        RestartPolicy::Never => (false, "Never"),
    };
    again.then(|| Cause::Ended { how: end.how(), policy })
}

/// A changed definition is another container: it runs although the old one has finished.
fn changed_since(scene: &Scene, part: &Part, end: &Ended) -> Cause {
    let mut instances = scene.instances(&part.declared.uid, part.name());
    let newest = instances.next().filter(|instance| instance.attempt == end.attempt);
    if let Some(Difference::Replace(changes)) =
        newest.map(|i| changes::of_container(part, i, scene.was_updated(i)))
    {
        return Cause::Changed { changes };
    }
    let groups = part.fingerprint.differences(&end.fingerprint);
    let changes = groups.into_iter().map(|group| Change {
        field: group.as_str().to_owned(),
        old: None,
        new: "another value".to_owned(),
        place: Some(part.declared.places.of(&part.path(group.as_str()))),
    });
    Cause::Changed { changes: changes.collect() }
}

fn running<'a>(scene: &mut Scene<'a>, part: &Part<'a>, instance: &'a Instance, sandbox: &'a Instance) {
    if !instance.joins(sandbox) || outlived(instance, sandbox) {
        let why = "it runs in is not the pod's any more".into();
        return replace(scene, part, instance, Cause::SandboxLost { why });
    }
    let failed = |probe: Option<Probed>| probe == Some(Probed::Failure);
    let c = part.container;
    match changes::of_container(part, instance, scene.was_updated(instance)) {
        Difference::NeedsLook => scene.look(instance, "configuration"),
        Difference::Replace(changes) => {
            return replace(scene, part, instance, Cause::Changed { changes });
        }
        Difference::Update(changes) => scene.update(part, instance, changes),
        Difference::Same if c.liveness_probe.is_some() && failed(instance.probes.liveness) => {
            return killed(scene, part, instance, "liveness");
        }
        Difference::Same if c.startup_probe.is_some() && failed(instance.probes.startup) => {
            return killed(scene, part, instance, "startup");
        }
        Difference::Same => {}
    }
    if instance.state == State::Paused {
        let message = "somebody has paused it; podkeeper leaves it alone until it is resumed".into();
        scene.wait(Some(part.name()), None, "Paused", message);
    }
}

fn killed<'a>(scene: &mut Scene<'a>, part: &Part<'a>, instance: &Instance, probe: &'static str) {
    let grace = part.declared.pod.spec.termination_grace_period_seconds;
    teardown::stop(scene, instance, Some(grace), &Cause::ProbeFailed { probe });
}

/// A sandbox that was restarted by hand has new namespaces; a container from before keeps the dead ones.
pub fn outlived(instance: &Instance, sandbox: &Instance) -> bool {
    match (&instance.state, &sandbox.state) {
        (State::Running { started_at: Some(own) }, State::Running { started_at: Some(sandbox) }) => {
            own < sandbox
        }
        _ => false,
    }
}

/// Somebody may have started an older instance by hand: never two of one container.
pub fn stop_older<'a>(scene: &mut Scene<'a>, part: &Part<'a>) {
    let uid = &part.declared.uid;
    let newest = scene.instances(uid, part.name()).next().map(|newest| newest.attempt);
    let older: Vec<_> = scene.instances(uid, part.name()).skip(1).filter(|i| i.is_alive()).collect();
    for instance in older {
        let by = newest.unwrap_or(instance.attempt);
        let grace = part.declared.pod.spec.termination_grace_period_seconds;
        teardown::stop(scene, instance, Some(grace), &Cause::Superseded { by });
    }
}

/// Has this container of the declared definition ever run? Created and never started does not count.
pub fn has_run(scene: &Scene, part: &Part) -> bool {
    let runs = |instance: &Instance| match status_of(instance) {
        Status::Running(_) | Status::Ended(_) | Status::EndedSomehow(_) | Status::Unknown(..) => true,
        Status::None | Status::Created(_) | Status::Leaving(_) => false,
    };
    let mut instances = scene.instances(&part.declared.uid, part.name());
    let remembered = scene.memo(&part.declared.uid, part.name()).and_then(|memo| memo.ended.as_ref());
    instances.any(|instance| part.made(&instance.fingerprint) && runs(instance))
        || remembered.is_some_and(|end| part.made(&end.fingerprint))
}
