//! Our [`ContainerConfig`] as the body of Docker's create request.

use std::collections::HashMap;

use ::bollard::models::{
    ContainerCreateBody, ContainerUpdateBody, HostConfig, PortBinding, PortMap, RestartPolicy,
    RestartPolicyNameEnum,
};

use crate::plan::config::{ContainerConfig, EngineResources};

/// The period that `cpu_quota` counts in, in microseconds: Docker's and the kernel's default.
const CPU_PERIOD: i64 = 100_000;

/// `oom_floor` is the lowest OOM score that the engine is able to set.
pub(super) fn create(config: &ContainerConfig, oom_floor: i32) -> ContainerCreateBody {
    let ports: Vec<String> = config
        .ports
        .iter()
        .map(|port| format!("{}/{}", port.container_port, port.protocol.lower()))
        .collect();
    ContainerCreateBody {
        image: Some(config.image.clone()),
        entrypoint: config.entrypoint.clone(),
        cmd: config.cmd.clone(),
        env: some(&config.env),
        working_dir: config.working_dir.clone(),
        hostname: config.hostname.clone(),
        labels: Some(config.labels.clone().into_iter().collect()),
        open_stdin: Some(config.open_stdin),
        stdin_once: Some(config.stdin_once),
        tty: Some(config.tty),
        stop_timeout: config.stop_timeout.map(i64::from),
        exposed_ports: some(&ports),
        host_config: Some(host(config, oom_floor)),
        ..ContainerCreateBody::default()
    }
}

fn host(config: &ContainerConfig, oom_floor: i32) -> HostConfig {
    let (memory, swap) = memory(&config.resources);
    let word = |text: &String| (!text.is_empty()).then(|| text.clone());
    HostConfig {
        network_mode: word(&config.network_mode),
        ipc_mode: word(&config.ipc_mode),
        pid_mode: word(&config.pid_mode),
        uts_mode: word(&config.uts_mode),
        port_bindings: (!config.ports.is_empty()).then(|| bindings(config)),
        dns: some(&config.dns),
        dns_search: some(&config.dns_search),
        dns_options: some(&config.dns_options),
        extra_hosts: some(&config.extra_hosts),
        security_opt: some(&config.security_opt),
        memory,
        memory_swap: swap,
        cpu_shares: positive(config.resources.cpu_shares),
        cpu_quota: positive(config.resources.cpu_quota),
        cpu_period: positive(config.resources.cpu_quota).map(|_| CPU_PERIOD),
        oom_score_adj: Some(config.oom_score_adj.max(oom_floor).into()),
        // Restarts are the agent's alone: two owners lose count of each other.
        restart_policy: Some(RestartPolicy {
            name: Some(RestartPolicyNameEnum::NO),
            maximum_retry_count: None,
        }),
        ..HostConfig::default()
    }
}

/// For `POST /containers/{id}/update`. A limit that was taken away is sent as Docker's "none": for memory
/// that is -1 swap with an unchanged limit refused, so 0 is left out and the planner makes a new container.
pub(super) fn update(resources: &EngineResources) -> ContainerUpdateBody {
    let (memory, swap) = memory(resources);
    ContainerUpdateBody {
        memory,
        memory_swap: swap,
        cpu_shares: positive(resources.cpu_shares),
        cpu_quota: Some(if resources.cpu_quota > 0 { resources.cpu_quota } else { -1 }),
        cpu_period: Some(CPU_PERIOD),
        ..ContainerUpdateBody::default()
    }
}

/// Limit and limit with swap: the same, so that there is no swap, as in Kubernetes.
fn memory(resources: &EngineResources) -> (Option<i64>, Option<i64>) {
    (positive(resources.memory), positive(resources.memory))
}

/// 0 is Docker's "not given".
fn positive(value: i64) -> Option<i64> {
    (value > 0).then_some(value)
}

fn bindings(config: &ContainerConfig) -> PortMap {
    let mut map: PortMap = HashMap::new();
    for port in &config.ports {
        let binding =
            PortBinding { host_ip: Some(port.host_ip.clone()), host_port: Some(port.host_port.to_string()) };
        let key = format!("{}/{}", port.container_port, port.protocol.lower());
        map.entry(key).or_default().get_or_insert_default().push(binding);
    }
    map
}

fn some(list: &[String]) -> Option<Vec<String>> {
    (!list.is_empty()).then(|| list.to_vec())
}
