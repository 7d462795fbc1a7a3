//! What should run, judged from the Kubernetes documentation and not from the planner's code.

use podkeeper::model::{Container, PodKey, RestartPolicy};
use podkeeper::plan::Declared;
use podkeeper::plan::labels;
use podkeeper::sim::{Seen, World};

/// Judges a world at rest. Every line says what is wrong. `may_have_finished` excuses containers of OnFailure
/// pods: something in the tale may have ended one with code 0.
pub fn complaints(world: &World, may_have_finished: bool) -> Vec<String> {
    let ours: Vec<Seen> =
        world.engine.containers().into_iter().filter(|seen| pod_of(seen).is_some()).collect();
    let mut wrong = Vec::new();
    for declared in world.declared() {
        let of_pod: Vec<&Seen> =
            ours.iter().filter(|seen| pod_of(seen).as_ref() == Some(&declared.key)).collect();
        if !waits_for_a_port(world, declared) {
            wrong.extend(pod(declared, &of_pod, may_have_finished));
        }
    }
    for seen in &ours {
        let key = pod_of(seen);
        if world.declared().all(|declared| Some(&declared.key) != key.as_ref()) {
            wrong.push(format!("{} is of a pod that nobody declares", seen.config.name));
        }
    }
    wrong
}

/// A pod's containers run or have run to their end, as its restart policy says; all in one sandbox.
fn pod(declared: &Declared, seen: &[&Seen], may_have_finished: bool) -> Vec<String> {
    let spec = &declared.pod.spec;
    let up = |name: &str| seen.iter().filter(|s| s.up && name_of(s) == name).copied().collect::<Vec<_>>();
    let mut wrong = Vec::new();
    let always = match spec.restart_policy {
        RestartPolicy::Always => true,
        RestartPolicy::OnFailure => !may_have_finished,
        RestartPolicy::Never => false,
    };
    let sandboxes = up("POD");
    if sandboxes.len() > 1 || (always && sandboxes.is_empty()) {
        wrong.push(format!("{} has {} running sandboxes", declared.key, sandboxes.len()));
    }
    for container in spec.init_containers.iter().chain(&spec.containers) {
        let name = format!("{}[{}]", declared.key, container.name);
        let running = up(&container.name);
        let is_init = spec.init_containers.iter().any(|c| c.name == container.name);
        match running.as_slice() {
            [] if always && (!is_init || container.is_sidecar()) => {
                wrong.push(format!("{name} does not run"))
            }
            [] => {}
            [one] => {
                wrong.extend(
                    differences(container, one).map(|what| format!("{name} runs with another {what}")),
                );
                let sandbox = sandboxes.first().map(|s| format!("container:{}", s.id));
                if Some(&one.config.network_mode) != sandbox.as_ref() {
                    wrong.push(format!("{name} is not in the sandbox that runs"));
                }
                if one.paused {
                    wrong.push(format!("{name} is paused"));
                }
            }
            many => wrong.push(format!("{name} runs {} times", many.len())),
        }
    }
    let names: Vec<&str> =
        spec.init_containers.iter().chain(&spec.containers).map(|c| c.name.as_str()).collect();
    for stray in seen.iter().filter(|s| s.up && name_of(s) != "POD" && !names.contains(&name_of(s))) {
        wrong.push(format!("{} runs, and its pod has no such container", stray.config.name));
    }
    wrong
}

fn differences<'a>(container: &'a Container, seen: &'a Seen) -> impl Iterator<Item = &'static str> + 'a {
    let config = &seen.config;
    let env_is_so = container.env.iter().all(|e| config.env.contains(&format!("{}={}", e.name, e.value)));
    let quota = container.resources.cpu_limit_milli.map_or(0, |milli| milli * 100);
    let memory = container.resources.memory_limit_bytes.unwrap_or(0);
    let unlimited = |value: i64| value.max(0);
    [
        ("image", config.image == container.image),
        (
            "environment",
            env_is_so && config.env.iter().filter(|e| e.starts_with("A=")).count() == container.env.len(),
        ),
        ("CPU limit", unlimited(config.resources.cpu_quota) == quota),
        ("memory limit", unlimited(config.resources.memory) == memory),
        ("arguments", config.cmd.clone().unwrap_or_default() == container.args),
    ]
    .into_iter()
    .filter_map(|(what, same)| (!same).then_some(what))
}

/// Another pod has a node port that this one wants: who came first keeps it, and one of the two waits.
fn waits_for_a_port(world: &World, declared: &Declared) -> bool {
    world.declared().filter(|other| other.key != declared.key).any(|other| {
        declared
            .host_ports
            .iter()
            .any(|port| other.host_ports.iter().any(|theirs| theirs.at.clashes(&port.at)))
    })
}

pub fn pod_of(seen: &Seen) -> Option<PodKey> {
    let label = |key: &str| seen.config.labels.get(key).map(String::as_str);
    Some(PodKey::new(label(labels::POD_NAMESPACE)?, label(labels::POD_NAME)?))
}

pub fn name_of(seen: &Seen) -> &str {
    seen.config.labels.get(labels::CONTAINER_NAME).map_or("", String::as_str)
}
