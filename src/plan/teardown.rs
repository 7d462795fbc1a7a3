//! Taking down: containers first, their sandbox when nothing in it runs any more.

use crate::plan::scene::Scene;
use crate::plan::{Call, Cause, Instance, Role, State};

/// The kubelet's time for a sandbox to stop (`StopPodSandbox`); ours ends at once when asked.
pub const SANDBOX_GRACE: u32 = 10;

/// Stops and removes every one of these, whatever state it is in.
pub fn remove_all(scene: &mut Scene, instances: &[&Instance], grace: Option<u32>, cause: &Cause) {
    let alive = stop_all(scene, instances, grace, cause);
    for instance in instances.iter().filter(|instance| !instance.is_alive()) {
        let holds_others = instance.role == Role::Sandbox && alive;
        if !holds_others {
            remove(scene, instance, cause);
        }
    }
}

/// Stops the containers, and then the sandboxes. True while something is alive.
///
/// Without a `grace` it is what whoever let go of the pod said, or what its manifest had said when it was made.
pub fn stop_all(scene: &mut Scene, instances: &[&Instance], grace: Option<u32>, cause: &Cause) -> bool {
    let alive = |role: fn(&Role) -> bool| {
        instances.iter().copied().filter(move |instance| role(&instance.role) && instance.is_alive())
    };
    let mut containers = alive(|role| *role != Role::Sandbox).peekable();
    if containers.peek().is_some() {
        for instance in containers {
            let grace = grace.or_else(|| scene.desired.grace(&instance.uid)).or(instance.grace);
            stop(scene, instance, grace, cause);
        }
        return true;
    }
    let sandboxes: Vec<_> = alive(|role| *role == Role::Sandbox).collect();
    for instance in &sandboxes {
        stop(scene, instance, Some(SANDBOX_GRACE), cause);
    }
    !sandboxes.is_empty()
}

/// Stops one instance. A paused one is resumed first: engines before 20.10.15 cannot signal it.
pub fn stop(scene: &mut Scene, instance: &Instance, grace: Option<u32>, cause: &Cause) {
    if scene.is_stuck(instance) {
        return;
    }
    let id = instance.id.clone();
    match instance.state {
        State::Paused => scene.act_on(instance, Call::UnpauseContainer { id }, cause.clone()),
        State::Running { .. } | State::Unknown(_) => {
            scene.act_on(instance, Call::StopContainer { id, grace }, cause.clone());
        }
        State::Created | State::Exited(_) | State::Removing | State::Dead => {}
    }
}

/// Removes one instance that does not run. One that is being removed is waited for: its name is still taken.
pub fn remove(scene: &mut Scene, instance: &Instance, cause: &Cause) {
    match instance.state {
        State::Removing => {
            let message = format!("the engine is removing {}", instance.name);
            scene.wait(Some(instance.role.name()), None, "Terminating", message);
        }
        State::Created | State::Exited(_) | State::Dead => {
            if !scene.is_stuck(instance) {
                scene.act_on(instance, Call::RemoveContainer { id: instance.id.clone() }, cause.clone());
            }
        }
        State::Running { .. } | State::Paused | State::Unknown(_) => {}
    }
}
