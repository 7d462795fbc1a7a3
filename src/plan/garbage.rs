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
            let changed = position.is_none_or(|at| {
                let wanted = &declared.containers[at];
                *wanted != instance.fingerprint && wanted.is_like(&instance.fingerprint)
            });
            if changed {
                let cause = match position {
                    None => Cause::NotInManifest,
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use super::*;
    use crate::plan::{PodObserved, labels};

    /// One life of a pod on the engine: `foo 1 exited` is attempt 1 of container foo.
    fn pod(instances: &str) -> PodObserved {
        let instances = instances.split(',').map(|text| {
            let words: Vec<&str> = text.split_whitespace().collect();
            let [name, attempt, state] = words[..] else { panic!("not an instance: {text}") };
            let kind = if name == "POD" { "podsandbox" } else { "container" };
            let labels: BTreeMap<String, String> = [
                (labels::NODE, "n"),
                (labels::TYPE, kind),
                (labels::CONTAINER_NAME, name),
                (labels::POD_NAME, "p"),
                (labels::POD_NAMESPACE, "default"),
                (labels::POD_UID, "u"),
                (labels::ATTEMPT, attempt),
                (labels::FINGERPRINT, "1"),
            ]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into();
            let state = match state {
                "running" => State::Running { started_at: None },
                "created" => State::Created,
                "exited" => State::Exited(None),
                other => panic!("no such state: {other}"),
            };
            let name = format!("{name}#{attempt}");
            Arc::new(
                Instance::from_labels(&name, &name, labels::of(&labels), state)
                    .expect("all labels are there"),
            )
        });
        PodObserved::new(instances.collect())
    }

    /// The rows of the decision table, §15 and SP-3, that speak of one pod: what is kept per container, and
    /// never by time of creation. A total over all pods and a minimum age are not offered: one dead
    /// container for each that is declared is bounded already.
    #[test]
    fn the_newest_dead_instances_stay_and_the_live_ones_are_not_touched() {
        for (row, keep, instances, removed) in [
            ("GC-1 one exited, none kept beside it", 1, "foo 0 exited", ""),
            ("GC-5 three exited, two kept", 2, "foo 0 exited, foo 1 exited, foo 2 exited", "foo#0"),
            ("GC-6 a running one is never removed", 2, "foo 2 exited, foo 1 exited, foo 0 running", ""),
            ("GC-7 two exited, two kept", 2, "foo 1 exited, foo 0 exited", ""),
            (
                "GC-8 each container counts alone",
                2,
                "a 0 exited, a 1 exited, a 2 exited, b 0 exited, b 1 exited",
                "a#0",
            ),
            (
                "the live one does not use up the kept one",
                1,
                "foo 2 running, foo 1 exited, foo 0 exited",
                "foo#0",
            ),
            ("nor does one that is about to start", 1, "foo 2 created, foo 1 exited, foo 0 exited", "foo#0"),
            (
                "SP-3 of init containers the newest end stays",
                1,
                "init1 3 exited, init1 2 exited, init1 0 exited, init2 1 exited, init2 0 exited",
                "init1#2 init1#0 init2#0",
            ),
            ("sandbox: the newest stays, whatever its state", 1, "POD 0 exited", ""),
            ("sandbox: an older one goes", 1, "POD 1 running, POD 0 exited", "POD#0"),
            ("sandbox: of two dead ones the older goes", 1, "POD 1 exited, POD 0 exited", "POD#0"),
        ] {
            let pod = pod(instances);
            let all: Vec<&Instance> = pod.instances.iter().map(|instance| &**instance).collect();
            let names: Vec<&str> = dead(&all, keep).iter().map(|(instance, _)| &*instance.name).collect();
            assert_eq!(names.join(" "), removed, "{row}");
        }
    }
}
