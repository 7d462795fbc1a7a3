//! Bringing one container up: image, back-off, create, start; and replacing one that must go.

use crate::plan::backoff;
use crate::plan::ledger::Ended;
use crate::plan::scene::{Part, Scene, Status};
use crate::plan::{Call, Cause, Instance, Role, images, render, teardown};

/// The next step to a running container; `cause` says why it is wanted.
pub fn bring_up(scene: &mut Scene, part: &Part, sandbox: &Instance, status: &Status, cause: Cause) {
    let uid = &part.declared.uid;
    let failure = scene.failure(uid, part.name(), part.fingerprint);
    match status {
        Status::Created(instance) if instance.joins(sandbox) && instance.fingerprint == *part.fingerprint => {
            if failure.is_some_and(|failure| failure.is_hopeless(instance)) {
                teardown::remove(scene, instance, &cause);
            } else if !scene.holds_back(Some(part.name()), failure) {
                let id = instance.id.clone();
                scene.act_on(instance, Call::StartContainer { id }, Cause::NotStarted);
            }
            return;
        }
        // Made from another definition, or for a sandbox that is gone: it can never be started.
        Status::Created(instance) => teardown::remove(scene, instance, &cause),
        Status::Leaving(instance) => teardown::remove(scene, instance, &cause),
        Status::Ended(end) if is_backing_off(scene, part, sandbox, end) => return,
        Status::Ended(_) | Status::None => {}
        Status::Running(_) | Status::EndedSomehow(_) | Status::Unknown(..) => return,
    }
    if scene.holds_back(Some(part.name()), failure) || !images::is_ready(scene, part) {
        return;
    }
    let attempt = scene.next_attempt(uid, &Role::Container(part.name().into()));
    let memory = scene.observed.memory_bytes;
    let config = render::container(&scene.desired.node, part, sandbox, attempt, memory);
    scene.act(Some(part.name()), Call::CreateContainer { config: Box::new(config) }, cause);
}

/// A container that ended of itself in this sandbox waits longer each time; a changed definition, or a new
/// sandbox, starts at once.
fn is_backing_off(scene: &mut Scene, part: &Part, sandbox: &Instance, end: &Ended) -> bool {
    if !end.joined(sandbox) || !part.made(&end.fingerprint) {
        return false;
    }
    let streak = scene.memo(&part.declared.uid, part.name()).map_or(0, |memo| memo.streak);
    let delay = backoff::restart_delay(backoff::streak_after(end, streak));
    let until = end.at + delay;
    if scene.at() >= until {
        return false;
    }
    let message = format!(
        "it {}; back-off {} s restarting failed container={} pod={}_{}",
        end.how(),
        delay.as_secs(),
        part.name(),
        part.declared.key.name,
        part.declared.key.namespace
    );
    scene.wait(Some(part.name()), Some(until), "CrashLoopBackOff", message);
    true
}

/// Stops a running container that another has to take the place of, once that other can be made.
pub fn replace(scene: &mut Scene, part: &Part, instance: &Instance, cause: Cause) {
    if images::is_ready(scene, part) {
        let grace = part.declared.pod.spec.termination_grace_period_seconds;
        teardown::stop(scene, instance, Some(grace), &cause);
    }
}
