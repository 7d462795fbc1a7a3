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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::read::{Options, read};

    fn built(spec: &str) -> Pod {
        let text = format!("{{apiVersion: v1, kind: Pod, metadata: {{name: p}}, spec: {{{spec}}}}}");
        let mut reading = read("x.yaml", text.as_bytes(), &Options::default());
        reading.pods.pop().and_then(|read| read.pod).unwrap_or_else(|| panic!("{:?}", reading.diagnoses))
    }

    #[test]
    fn what_is_not_given_has_the_default_of_kubernetes() {
        let pod = built("containers: [{name: c, image: nginx, ports: [{containerPort: 80}]}]");
        let mut expected = Pod::default();
        expected.metadata.name = "p".into();
        expected.metadata.namespace = "default".into();
        expected.spec.containers = vec![Container {
            name: "c".into(),
            image: "nginx".into(),
            image_pull_policy: PullPolicy::Always,
            ports: vec![ContainerPort { container_port: 80, ..ContainerPort::default() }],
            ..Container::default()
        }];
        assert_eq!(pod, expected);
        assert_eq!(
            (pod.spec.termination_grace_period_seconds, pod.spec.restart_policy),
            (30, RestartPolicy::Always)
        );
    }

    #[test]
    fn what_is_given_is_taken() {
        let pod = built(
            "restartPolicy: OnFailure, terminationGracePeriodSeconds: 0, hostname: h, hostPID: true, hostIPC: true,
             dnsPolicy: None, dnsConfig: {nameservers: [1.1.1.1], searches: [a.b], options: [{name: ndots, value: '2'}]},
             hostAliases: [{ip: '::1', hostnames: [a, b]}],
             initContainers: [{name: s, image: 'x:1', restartPolicy: Always}],
             containers: [{name: c, image: 'x:latest', imagePullPolicy: Never, command: [a], args: ['1'], workingDir: /w,
               env: [{name: A, value: $(B)}, {name: C}], stdin: true, stdinOnce: true, tty: true,
               ports: [{name: n, containerPort: 80, hostPort: 81, hostIP: 127.0.0.1, protocol: UDP}]}]",
        );
        let spec = &pod.spec;
        assert_eq!(
            (spec.restart_policy, spec.termination_grace_period_seconds),
            (RestartPolicy::OnFailure, 0)
        );
        assert_eq!((spec.hostname.as_deref(), spec.host_pid, spec.host_ipc), (Some("h"), true, true));
        assert_eq!(spec.dns_policy, DnsPolicy::None);
        let option = DnsOption { name: "ndots".into(), value: Some("2".into()) };
        let dns = DnsConfig {
            nameservers: vec!["1.1.1.1".into()],
            searches: vec!["a.b".into()],
            options: vec![option],
        };
        assert_eq!(spec.dns_config, Some(dns));
        assert_eq!(
            spec.host_aliases,
            [HostAlias { ip: "::1".into(), hostnames: vec!["a".into(), "b".into()] }]
        );
        assert!(spec.init_containers[0].is_sidecar());
        let variable = |name: &str, value: &str| EnvVar { name: name.into(), value: value.into() };
        let expected = Container {
            name: "c".into(),
            image: "x:latest".into(),
            image_pull_policy: PullPolicy::Never,
            command: vec!["a".into()],
            args: vec!["1".into()],
            working_dir: Some("/w".into()),
            env: vec![variable("A", "$(B)"), variable("C", "")],
            stdin: true,
            stdin_once: true,
            tty: true,
            ports: vec![ContainerPort {
                name: Some("n".into()),
                container_port: 80,
                host_port: Some(81),
                host_ip: Some("127.0.0.1".into()),
                protocol: Protocol::Udp,
            }],
            ..Container::default()
        };
        assert_eq!(spec.containers, [expected]);
    }

    #[test]
    fn on_the_hosts_network_a_port_is_the_hosts_port() {
        let ports = "containers: [{name: c, image: x, ports: [{containerPort: 80, hostPort: 0}]}]";
        let host_port = |spec: &str| built(spec).spec.containers[0].ports[0].host_port;
        assert_eq!(host_port(ports), None);
        assert_eq!(host_port(&format!("hostNetwork: true, {ports}")), Some(80));
    }

    #[test]
    fn a_request_that_is_not_given_equals_the_limit() {
        for (written, expected) in [
            ("limits: {cpu: 0.5, memory: 64Mi}", [Some(500), Some(500), Some(67_108_864), Some(67_108_864)]),
            ("limits: {cpu: 1}, requests: {cpu: 100m}", [Some(1000), Some(100), None, None]),
            ("requests: {memory: 1M}", [None, None, None, Some(1_000_000)]),
            ("limits: {cpu: 0.0001}", [Some(1), Some(1), None, None]),
        ] {
            let pod = built(&format!("containers: [{{name: c, image: x, resources: {{{written}}}}}]"));
            let Resources { cpu_limit_milli, cpu_request_milli, memory_limit_bytes, memory_request_bytes } =
                pod.spec.containers[0].resources;
            let got = [cpu_limit_milli, cpu_request_milli, memory_limit_bytes, memory_request_bytes];
            assert_eq!(got, expected, "{written}");
        }
    }
}
