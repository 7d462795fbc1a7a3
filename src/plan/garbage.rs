//! What is left behind by restarts and changes, and when it goes.

use crate::plan::scene::Scene;
use crate::plan::{Cause, Declared, Instance, Role, State, teardown};

/// Dead instances kept of each container beside the live one: the last one's log is what people ask for.
/// The kubelet's `MaxPerPodContainer` is 1 too (`pkg/kubelet/container/container_gc.go`).
const KEEP: usize = 1;

/// Removes dead instances that nobody will ask for: all but the newest dead one of each container, those of
/// another definition, containers that no longer belong to the pod, and sandboxes that were replaced.
pub fn collect(scene: &mut Scene, declared: &Declared) {
    let pod = scene.pod;
    let mine: Vec<&Instance> =
        pod.instances.iter().map(|instance| &**instance).filter(|i| i.uid == declared.uid).collect();
    for (instance, by) in dead(&mine, KEEP) {
        teardown::remove(scene, instance, &Cause::Superseded { by });
    }
    for instance in mine.iter().filter(|instance| !instance.is_alive()) {
        if let Role::Container(name) = &instance.role {
            let position = declared.containers().position(|(container, _)| container.name == **name);
            let changed = position.is_none_or(|at| declared.containers[at] != instance.fingerprint);
            if changed && instance.fingerprint.is_current() {
                let cause = match position {
                    None => Cause::Removed { source: declared.source.to_string() },
                    Some(_) => Cause::Outdated,
                };
                teardown::remove(scene, instance, &cause);
            }
        }
    }
}

/// The dead instances to remove, each with the attempt that took its place. `instances` are of one life of
/// a pod, in the order of [`crate::plan::PodObserved`].
pub fn dead<'a>(instances: &[&'a Instance], keep: usize) -> Vec<(&'a Instance, u32)> {
    let mut out = Vec::new();
    for of_one in instances.chunk_by(|a, b| a.role == b.role) {
        let newest = of_one[0].attempt;
        let rest = of_one[1..].iter().filter(|instance| !instance.is_alive());
        let is_sandbox = of_one[0].role == Role::Sandbox;
        let newest_is_dead = usize::from(matches!(of_one[0].state, State::Exited(_) | State::Dead));
        let kept = if is_sandbox { 0 } else { keep.saturating_sub(newest_is_dead) };
        out.extend(rest.skip(kept).map(|instance| (*instance, newest)));
    }
    out
}
