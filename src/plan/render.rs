//! From a declared pod to Docker's create requests. The mapping is that of the kubelet's Docker shim.

use std::collections::BTreeMap;

use crate::model::pod::{DnsPolicy, PodSpec, Resources};
use crate::model::{expand, pod};
use crate::plan::config::{EngineResources, PortBinding};
use crate::plan::scene::Part;
use crate::plan::{ContainerConfig, Declared, Fingerprint, Instance, Node, Role, labels};

/// The kubelet's bounds for CPU weights (`pkg/kubelet/cm/helpers_linux.go`).
const MIN_SHARES: i64 = 2;
const MAX_SHARES: i64 = 262_144;
/// Nearly never killed; an engine that may not set it sets the lowest that it may.
const GUARANTEED_OOM_SCORE: i32 = -997;
const SANDBOX_OOM_SCORE: i32 = -998;
/// Below this the kernel refuses a quota.
const MIN_QUOTA: i64 = 1000;

/// The create request of a pod's sandbox.
pub fn sandbox(node: &Node, declared: &Declared, attempt: u32) -> ContainerConfig {
    let role = Role::Sandbox;
    ContainerConfig {
        name: labels::container_name(&role, &declared.key, &declared.uid, attempt),
        image: node.sandbox_image.to_string(),
        labels: labels(node, declared, &role, &declared.fingerprint, attempt),
        ..comparable_sandbox(declared)
    }
}

/// The create request of a container in a sandbox.
pub fn container(node: &Node, part: &Part, sandbox: &Instance, attempt: u32, memory: i64) -> ContainerConfig {
    let declared = part.declared;
    let spec = &declared.pod.spec;
    let role = Role::Container(part.name().into());
    let joined = format!("container:{}", sandbox.id);
    let mode = |host: bool, shared: bool| match (host, shared) {
        (true, _) => "host".to_owned(),
        (false, true) => joined.clone(),
        (false, false) => String::new(),
    };
    ContainerConfig {
        name: labels::container_name(&role, &declared.key, &declared.uid, attempt),
        labels: labels(node, declared, &role, part.fingerprint, attempt),
        stop_timeout: Some(spec.termination_grace_period_seconds),
        network_mode: joined.clone(),
        ipc_mode: mode(spec.host_ipc, true),
        pid_mode: mode(spec.host_pid, spec.share_process_namespace),
        uts_mode: mode(spec.host_network, false),
        oom_score_adj: oom_score(spec, part.container, memory),
        ..comparable(part)
    }
}

/// The part of a container's request that its declaration alone decides.
pub fn comparable(part: &Part) -> ContainerConfig {
    let c = part.container;
    let env = expand::environment(&c.env);
    let lookup = |name: &str| env.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str());
    let words = |list: &[String]| {
        (!list.is_empty()).then(|| list.iter().map(|word| expand::expand(word, lookup)).collect())
    };
    ContainerConfig {
        image: c.image.clone(),
        // Docker drops the image's arguments when an entrypoint is given, as Kubernetes wants it.
        entrypoint: words(&c.command),
        cmd: words(&c.args),
        env: env.iter().map(|(name, value)| format!("{name}={value}")).collect(),
        working_dir: c.working_dir.clone(),
        open_stdin: c.stdin,
        stdin_once: c.stdin_once,
        tty: c.tty,
        resources: resources(&c.resources),
        ..ContainerConfig::default()
    }
}

/// The part of a sandbox's request that the declaration alone decides.
pub fn comparable_sandbox(declared: &Declared) -> ContainerConfig {
    let spec = &declared.pod.spec;
    let dns = spec.dns_config.clone().unwrap_or_default();
    let options = dns.options.iter().map(|option| match &option.value {
        Some(value) => format!("{}:{value}", option.name),
        None => option.name.clone(),
    });
    let aliases = spec.host_aliases.iter();
    let aliases = aliases.flat_map(|alias| alias.hostnames.iter().map(|name| format!("{name}:{}", alias.ip)));
    ContainerConfig {
        // With the host's network goes the host's name.
        hostname: (!spec.host_network).then(|| hostname(&declared.pod)),
        network_mode: if spec.host_network { "host" } else { "default" }.into(),
        ipc_mode: if spec.host_ipc { "host" } else { "shareable" }.into(),
        pid_mode: if spec.host_pid { "host" } else { "" }.into(),
        uts_mode: if spec.host_network { "host" } else { "" }.into(),
        ports: if spec.host_network { Vec::new() } else { ports(spec) },
        // `None` means: only what dnsConfig says. Docker then writes nothing of the node's.
        dns: dns.nameservers.clone(),
        dns_search: match (spec.dns_policy, dns.searches.is_empty()) {
            // Docker's way to say "no search list at all".
            (DnsPolicy::None, true) => vec![".".into()],
            _ => dns.searches.clone(),
        },
        dns_options: options.collect(),
        extra_hosts: aliases.collect(),
        resources: EngineResources { cpu_shares: MIN_SHARES, ..EngineResources::default() },
        oom_score_adj: SANDBOX_OOM_SCORE,
        security_opt: vec!["no-new-privileges".into()],
        ..ContainerConfig::default()
    }
}

/// At most 63 characters, as Linux allows; what is cut off must not leave a `-` or `.` at the end.
fn hostname(pod: &pod::Pod) -> String {
    let name = pod.spec.hostname.as_deref().unwrap_or(&pod.metadata.name);
    let end = name.char_indices().nth(63).map_or(name.len(), |(end, _)| end);
    name[..end].trim_end_matches(['-', '.']).to_owned()
}

fn ports(spec: &PodSpec) -> Vec<PortBinding> {
    let sidecars = spec.init_containers.iter().filter(|c| c.is_sidecar());
    let all = sidecars.chain(&spec.containers).flat_map(|c| &c.ports);
    let published = all.filter_map(|port| {
        Some(PortBinding {
            container_port: port.container_port,
            protocol: port.protocol,
            host_ip: port.host_ip.clone().unwrap_or_default(),
            host_port: port.host_port.filter(|&port| port != 0)?,
        })
    });
    published.collect()
}

/// The kubelet's arithmetic: shares from the request (the limit when there is none), quota from the limit.
fn resources(resources: &Resources) -> EngineResources {
    let request = resources.cpu_request_milli.or(resources.cpu_limit_milli);
    let shares = |milli: i64| (milli * 1024 / 1000).clamp(MIN_SHARES, MAX_SHARES);
    let quota = |milli: i64| if milli == 0 { 0 } else { (milli * 100).max(MIN_QUOTA) };
    EngineResources {
        memory: resources.memory_limit_bytes.unwrap_or(0),
        cpu_shares: request.map_or(MIN_SHARES, shares),
        cpu_quota: resources.cpu_limit_milli.map_or(0, quota),
    }
}

/// Who dies first when memory runs out (`pkg/kubelet/qos/policy.go`).
fn oom_score(spec: &PodSpec, container: &pod::Container, memory: i64) -> i32 {
    let all = || spec.init_containers.iter().chain(&spec.containers);
    if all().all(|c| c.resources.is_empty()) {
        return 1000;
    }
    let is_guaranteed = |r: &Resources| {
        r.cpu_limit_milli.is_some()
            && r.memory_limit_bytes.is_some()
            && r.cpu_request_milli.is_none_or(|request| Some(request) == r.cpu_limit_milli)
            && r.memory_request_bytes.is_none_or(|request| Some(request) == r.memory_limit_bytes)
    };
    if all().all(|c| is_guaranteed(&c.resources)) {
        return GUARANTEED_OOM_SCORE;
    }
    let request = container.resources.memory_request_bytes.or(container.resources.memory_limit_bytes);
    let share = if memory > 0 { 1000 * request.unwrap_or(0) / memory } else { 0 };
    i32::try_from((1000 - share).clamp(3, 999)).unwrap_or(999)
}

fn labels(
    node: &Node,
    declared: &Declared,
    role: &Role,
    fingerprint: &Fingerprint,
    attempt: u32,
) -> BTreeMap<String, String> {
    let kind = match role {
        Role::Sandbox => "podsandbox",
        Role::Container(_) => "container",
    };
    [
        (labels::NODE, node.name.to_string()),
        (labels::FINGERPRINT, fingerprint.to_string()),
        (labels::SOURCE, declared.source.to_string()),
        (labels::ATTEMPT, attempt.to_string()),
        (labels::GRACE, declared.pod.spec.termination_grace_period_seconds.to_string()),
        (labels::POD_NAME, declared.key.name.to_string()),
        (labels::POD_NAMESPACE, declared.key.namespace.to_string()),
        (labels::POD_UID, declared.uid.to_string()),
        (labels::CONTAINER_NAME, role.name().to_owned()),
        (labels::TYPE, kind.to_owned()),
    ]
    .into_iter()
    .map(|(key, value)| (key.to_owned(), value))
    .collect()
}
