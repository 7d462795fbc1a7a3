//! A checked tree → the typed pod, with Kubernetes' defaults filled in.
//!
//! Only trees without errors come here, so what is missing was not given.

use std::collections::BTreeMap;

use super::tree::{Entry, Node};
use crate::model::image::Image;
use crate::model::pod::{
    Container, ContainerPort, DnsConfig, DnsOption, DnsPolicy, EnvVar, HostAlias, Metadata, Pod, PodSpec,
    Protocol, PullPolicy, Resources, RestartPolicy,
};
use crate::model::quantity::Quantity;

pub fn pod(root: &Node<'_>) -> Pod {
    let spec = root.get("spec").map(spec).unwrap_or_default();
    Pod { metadata: root.get("metadata").map(metadata).unwrap_or_default(), spec }
}

fn metadata(node: &Node<'_>) -> Metadata {
    Metadata {
        name: text(node, "name").unwrap_or_default(),
        namespace: text(node, "namespace").unwrap_or_else(|| "default".into()),
        uid: text(node, "uid").unwrap_or_default(),
        labels: texts(node, "labels"),
        annotations: texts(node, "annotations"),
    }
}

fn spec(node: &Node<'_>) -> PodSpec {
    let host_network = flag(node, "hostNetwork");
    let containers = |key| node.list(key).iter().map(|node| container(node, host_network)).collect();
    let default = PodSpec::default();
    let grace =
        node.integer_of("terminationGracePeriodSeconds").and_then(|seconds| u32::try_from(seconds).ok());
    PodSpec {
        init_containers: containers("initContainers"),
        containers: containers("containers"),
        restart_policy: restart_policy(node).unwrap_or_default(),
        termination_grace_period_seconds: grace.unwrap_or(default.termination_grace_period_seconds),
        hostname: text(node, "hostname"),
        host_network,
        host_pid: flag(node, "hostPID"),
        host_ipc: flag(node, "hostIPC"),
        share_process_namespace: flag(node, "shareProcessNamespace"),
        host_aliases: node.list("hostAliases").iter().map(host_alias).collect(),
        dns_policy: dns_policy(node),
        dns_config: node.get("dnsConfig").filter(|node| !node.asks_for_nothing()).map(dns_config),
    }
}

fn container(node: &Node<'_>, host_network: bool) -> Container {
    let image = text(node, "image").unwrap_or_default();
    Container {
        name: text(node, "name").unwrap_or_default(),
        image_pull_policy: pull_policy(node, &image),
        image,
        command: strings(node, "command"),
        args: strings(node, "args"),
        working_dir: text(node, "workingDir"),
        ports: node.list("ports").iter().map(|node| port(node, host_network)).collect(),
        env: node.list("env").iter().map(variable).collect(),
        resources: node.get("resources").map(resources).unwrap_or_default(),
        restart_policy: restart_policy(node),
        // "Not yet" in the table: a pod that has one does not come here.
        startup_probe: None,
        liveness_probe: None,
        readiness_probe: None,
        stdin: flag(node, "stdin"),
        stdin_once: flag(node, "stdinOnce"),
        tty: flag(node, "tty"),
    }
}

fn port(node: &Node<'_>, host_network: bool) -> ContainerPort {
    let number = |key| node.integer_of(key).and_then(|port| u16::try_from(port).ok());
    let container_port = number("containerPort").unwrap_or_default();
    let host_port = number("hostPort").filter(|&port| port != 0);
    ContainerPort {
        name: text(node, "name"),
        container_port,
        // On the host's network the container's port is the host's.
        host_port: host_port.or(host_network.then_some(container_port)),
        host_ip: text(node, "hostIP"),
        protocol: match node.text_of("protocol") {
            Some("UDP") => Protocol::Udp,
            Some("SCTP") => Protocol::Sctp,
            Some(_) | None => Protocol::Tcp,
        },
    }
}

fn variable(node: &Node<'_>) -> EnvVar {
    EnvVar { name: text(node, "name").unwrap_or_default(), value: text(node, "value").unwrap_or_default() }
}

/// A request that is not given equals the limit.
fn resources(node: &Node<'_>) -> Resources {
    let amount = |list: &str, name: &str| Quantity::parse(node.get(list)?.get(name)?.written()?);
    let cpu = |list| amount(list, "cpu").map(Quantity::milli);
    let memory = |list| amount(list, "memory").map(Quantity::whole);
    let (cpu_limit_milli, memory_limit_bytes) = (cpu("limits"), memory("limits"));
    Resources {
        cpu_limit_milli,
        cpu_request_milli: cpu("requests").or(cpu_limit_milli),
        memory_limit_bytes,
        memory_request_bytes: memory("requests").or(memory_limit_bytes),
    }
}

fn pull_policy(node: &Node<'_>, image: &str) -> PullPolicy {
    match node.text_of("imagePullPolicy") {
        Some("Always") => PullPolicy::Always,
        Some("IfNotPresent") => PullPolicy::IfNotPresent,
        Some("Never") => PullPolicy::Never,
        Some(_) | None => Image::parse(image).map(Image::default_pull_policy).unwrap_or_default(),
    }
}

fn restart_policy(node: &Node<'_>) -> Option<RestartPolicy> {
    match node.text_of("restartPolicy")? {
        "OnFailure" => Some(RestartPolicy::OnFailure),
        "Never" => Some(RestartPolicy::Never),
        _ => Some(RestartPolicy::Always),
    }
}

fn dns_policy(node: &Node<'_>) -> DnsPolicy {
    match node.text_of("dnsPolicy") {
        Some("Default") => DnsPolicy::Default,
        Some("None") => DnsPolicy::None,
        Some("ClusterFirstWithHostNet") => DnsPolicy::ClusterFirstWithHostNet,
        Some(_) | None => DnsPolicy::ClusterFirst,
    }
}

fn dns_config(node: &Node<'_>) -> DnsConfig {
    let option = |node: &Node<'_>| DnsOption {
        name: text(node, "name").unwrap_or_default(),
        value: text(node, "value"),
    };
    DnsConfig {
        nameservers: strings(node, "nameservers"),
        searches: strings(node, "searches"),
        options: node.list("options").iter().map(option).collect(),
    }
}

fn host_alias(node: &Node<'_>) -> HostAlias {
    HostAlias { ip: text(node, "ip").unwrap_or_default(), hostnames: strings(node, "hostnames") }
}

/// A text; one that is empty is the same as none.
fn text(node: &Node<'_>, key: &str) -> Option<String> {
    node.text_of(key).map(str::to_owned)
}

fn flag(node: &Node<'_>, key: &str) -> bool {
    node.bool_of(key).unwrap_or(false)
}

fn strings(node: &Node<'_>, key: &str) -> Vec<String> {
    node.list(key).iter().filter_map(Node::as_text).map(str::to_owned).collect()
}

fn texts(node: &Node<'_>, key: &str) -> BTreeMap<String, String> {
    let entries = node.get(key).map_or(&[][..], Node::entries);
    entries
        .iter()
        .map(|Entry { key, value }| (key.to_string(), value.as_text().unwrap_or("").to_owned()))
        .collect()
}
