//! The cast of decoded stories: a few pods of which every field that matters varies.

use crate::model::pod::{ContainerPort, EnvVar, PullPolicy};
use crate::model::{Container, Pod, PodKey, RestartPolicy};
use crate::sim::bytes::Bytes;

const PODS: [&str; 3] = ["a", "b", "c"];
/// Every container that a pod of the cast may have; `POD` is the sandbox.
const MEMBERS: [&str; 6] = ["app", "side", "init", "prepare", "proxy", crate::plan::ledger::SANDBOX];
const IMAGES: [&str; 3] = ["one:1", "two:1", "three:1"];
const PORTS: [u16; 2] = [8080, 9090];

pub(crate) fn key(bytes: &mut Bytes) -> PodKey {
    PodKey::new("default", PODS[bytes.below(PODS.len())])
}

/// A container of the cast, by pod and name.
pub(crate) fn member(bytes: &mut Bytes) -> (PodKey, String) {
    (key(bytes), MEMBERS[bytes.below(MEMBERS.len())].into())
}

pub(crate) fn image(bytes: &mut Bytes) -> String {
    IMAGES[bytes.below(IMAGES.len())].into()
}

/// All images that the cast may ask for.
pub fn images() -> impl Iterator<Item = &'static str> {
    IMAGES.into_iter()
}

pub(crate) fn port(bytes: &mut Bytes) -> u16 {
    PORTS[bytes.below(PORTS.len())]
}

/// All node ports that the cast may ask for.
pub fn ports() -> impl Iterator<Item = u16> {
    PORTS.into_iter()
}

/// A pod. Two of the same name differ in what the bytes say, so applying both is an edit.
pub fn pod(bytes: &mut Bytes) -> Pod {
    let mut pod = Pod::default();
    let key = key(bytes);
    pod.metadata.namespace = key.namespace.to_string();
    pod.metadata.name = key.name.to_string();
    let shape = bytes.below(16);
    let spec = &mut pod.spec;
    spec.containers.push(container("app", bytes));
    if shape & 1 != 0 {
        spec.containers.push(container("side", bytes));
    }
    if shape & 2 != 0 {
        spec.init_containers.push(container("init", bytes));
    }
    if shape & 4 != 0 {
        let mut proxy = container("proxy", bytes);
        proxy.restart_policy = Some(RestartPolicy::Always);
        spec.init_containers.push(proxy);
    }
    if shape & 8 != 0 {
        spec.init_containers.push(container("prepare", bytes));
    }
    let rest = bytes.below(64);
    spec.restart_policy =
        [RestartPolicy::Always, RestartPolicy::OnFailure, RestartPolicy::Never, RestartPolicy::Always]
            [rest & 3];
    spec.host_network = rest & 0b1_1100 == 0b1_1100;
    spec.share_process_namespace = rest & 0b10_1100 == 0b10_1100;
    spec.termination_grace_period_seconds = 5;
    pod
}

fn container(name: &str, bytes: &mut Bytes) -> Container {
    let choice = bytes.below(256);
    let mut container = Container { name: name.into(), image: IMAGES[0].into(), ..Container::default() };
    match choice & 15 {
        1 => container.image = IMAGES[1].into(),
        2 => container.image = IMAGES[2].into(),
        3 => container.env.push(EnvVar { name: "A".into(), value: "1".into() }),
        4 => container.env.push(EnvVar { name: "A".into(), value: "2".into() }),
        5 => container.resources.cpu_limit_milli = Some(500),
        6 => container.resources.cpu_limit_milli = Some(250),
        7 => container.resources.memory_limit_bytes = Some(64 << 20),
        8 => container.args.push("serve".into()),
        9 => container.image_pull_policy = PullPolicy::Always,
        10..=11 if matches!(name, "app" | "side" | "proxy") => {
            let port = PORTS[choice >> 4 & 1];
            container.ports.push(ContainerPort {
                container_port: port,
                host_port: Some(port),
                ..ContainerPort::default()
            });
        }
        _ => {}
    }
    container
}
