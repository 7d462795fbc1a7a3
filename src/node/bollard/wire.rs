//! What we read of the engine's answers: only the fields in use, every word as a plain string.
//!
//! bollard's models know every field and refuse every word they do not know, and one unknown word would
//! lose a whole list. A list of 200 containers is also read six times an hour for ever, so it must be cheap.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use serde::Deserialize;

use crate::docker::Inspected;
use crate::model::Time;
use crate::model::pod::Protocol;
use crate::plan::config::{ContainerConfig, EngineResources, PortBinding};
use crate::plan::labels;
use crate::plan::ports::{NodePort, in_order};
use crate::plan::{Exit, Instance, Role, State};

type Labels = BTreeMap<String, String>;

/// One entry of `GET /containers/json`. What is only compared stays in the answer's own bytes.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Listed<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
    #[serde(borrow)]
    names: Option<Vec<Cow<'a, str>>>,
    #[serde(borrow)]
    state: Cow<'a, str>,
    /// Seconds since 1970.
    #[serde(default)]
    created: i64,
    #[serde(borrow)]
    labels: Option<BTreeMap<Cow<'a, str>, Cow<'a, str>>>,
    #[serde(default)]
    ports: Option<Vec<ListedPort>>,
    #[serde(default)]
    host_config: ListedHost,
    #[serde(default)]
    network_settings: NetworkSettings,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct ListedHost {
    network_mode: String,
}

/// A port that is exposed, and published when it has a number on the node. Only a running container has some.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct ListedPort {
    #[serde(rename = "IP")]
    ip: String,
    public_port: Option<u16>,
    #[serde(rename = "Type")]
    protocol: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct NetworkSettings {
    networks: Option<BTreeMap<String, Option<Network>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Network {
    #[serde(rename = "IPAddress")]
    ip: Option<String>,
}

/// `GET /containers/{id}/json`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Detailed {
    id: String,
    name: String,
    created: Option<String>,
    state: DetailedState,
    config: Config,
    host_config: HostConfig,
    #[serde(default)]
    network_settings: NetworkSettings,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct DetailedState {
    status: String,
    exit_code: i64,
    error: Option<String>,
    #[serde(rename = "OOMKilled")]
    oom_killed: bool,
    started_at: Option<String>,
    finished_at: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Config {
    image: String,
    entrypoint: Option<Vec<String>>,
    cmd: Option<Vec<String>>,
    env: Option<Vec<String>>,
    working_dir: Option<String>,
    hostname: Option<String>,
    labels: Option<Labels>,
    open_stdin: bool,
    stdin_once: bool,
    tty: bool,
    stop_timeout: Option<u32>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct HostConfig {
    network_mode: Option<String>,
    ipc_mode: Option<String>,
    pid_mode: Option<String>,
    #[serde(rename = "UTSMode")]
    uts_mode: Option<String>,
    port_bindings: Option<BTreeMap<String, Option<Vec<Binding>>>>,
    dns: Option<Vec<String>>,
    dns_search: Option<Vec<String>>,
    dns_options: Option<Vec<String>>,
    extra_hosts: Option<Vec<String>>,
    memory: i64,
    cpu_shares: i64,
    cpu_quota: i64,
    oom_score_adj: i32,
    security_opt: Option<Vec<String>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Binding {
    host_ip: String,
    host_port: String,
}

impl Listed<'_> {
    /// `None` when its labels do not make it a container of this node.
    pub(super) fn instance(self, node: &str) -> Option<Instance> {
        let labels = self.labels?;
        let label = |key: &str| labels.get(key).map(|value| &**value);
        if label(labels::NODE) != Some(node) {
            return None;
        }
        let name = self.names.and_then(|names| names.into_iter().next()).unwrap_or_default();
        let mut instance = Instance::from_labels(&self.id, &name, label, state(&self.state))?;
        instance.network_mode = self.host_config.network_mode.into();
        instance.created_at = Some(Time(self.created * 1000)).filter(|_| self.created > 0);
        instance.ip = sandbox_ip(&instance, &self.network_settings);
        let published = self.ports.iter().flatten().filter_map(|port| {
            Some(NodePort::new(Protocol::parse(&port.protocol)?, port.public_port?, &port.ip))
        });
        instance.ports = in_order(published.collect());
        Some(instance)
    }
}

impl Detailed {
    /// `None` when it does not carry our labels.
    pub(super) fn inspected(self) -> Option<Inspected> {
        let config = config(&self.name, self.config, self.host_config);
        let exit = exit(&self.state, self.created.as_deref());
        let state = match state(&self.state.status) {
            State::Running { .. } => State::Running { started_at: time(&self.state.started_at) },
            State::Exited(_) => State::Exited(exit.clone()),
            other => other,
        };
        let mut instance = Instance::from_labels(&self.id, &self.name, labels::of(&config.labels), state)?;
        instance.created_at = time(&self.created);
        instance.network_mode = config.network_mode.as_str().into();
        instance.ip = sandbox_ip(&instance, &self.network_settings);
        if instance.is_alive() {
            instance.ports = NodePort::of(&config.ports);
        }
        instance.config = Some(Arc::new(config));
        Some(Inspected { instance, exit })
    }

    pub(super) fn stop_timeout(&self) -> Option<u32> {
        self.config.stop_timeout
    }
}

/// The engine's word for a state. A word of a later engine stays what it is.
fn state(word: &str) -> State {
    match word {
        "created" => State::Created,
        "running" => State::Running { started_at: None },
        "paused" => State::Paused,
        "exited" => State::Exited(None),
        "removing" => State::Removing,
        "dead" => State::Dead,
        other => State::Unknown(other.into()),
    }
}

/// How it ended. A container that could not be started stays `created`, with an exit code, a text and
/// no time of its own: then the time of its creation stands in.
fn exit(state: &DetailedState, created: Option<&str>) -> Option<Exit> {
    let error = state.error.clone().unwrap_or_default();
    let finished_at = time(&state.finished_at);
    let finished_at = match state.status.as_str() {
        "exited" | "dead" => finished_at.or(created.and_then(Time::parse)).unwrap_or_default(),
        "created" if state.exit_code != 0 || !error.is_empty() => {
            finished_at.or(created.and_then(Time::parse)).unwrap_or_default()
        }
        _ => return None,
    };
    Some(Exit {
        code: state.exit_code,
        oom: state.oom_killed,
        error,
        started_at: time(&state.started_at),
        finished_at,
    })
}

fn time(text: &Option<String>) -> Option<Time> {
    text.as_deref().and_then(Time::parse)
}

/// Only the sandbox has an address, and only while it runs.
fn sandbox_ip(instance: &Instance, settings: &NetworkSettings) -> Option<IpAddr> {
    if instance.role != Role::Sandbox || !matches!(instance.state, State::Running { .. } | State::Paused) {
        return None;
    }
    let networks = settings.networks.as_ref()?;
    networks.values().flatten().find_map(|network| network.ip.as_deref()?.parse().ok())
}

fn config(name: &str, config: Config, host: HostConfig) -> ContainerConfig {
    let filled = |text: Option<String>| text.filter(|text| !text.is_empty());
    ContainerConfig {
        name: name.trim_start_matches('/').to_owned(),
        image: config.image,
        entrypoint: config.entrypoint.filter(|words| !words.is_empty()),
        cmd: config.cmd.filter(|words| !words.is_empty()),
        env: config.env.unwrap_or_default(),
        working_dir: filled(config.working_dir),
        hostname: filled(config.hostname),
        labels: config.labels.unwrap_or_default(),
        open_stdin: config.open_stdin,
        stdin_once: config.stdin_once,
        tty: config.tty,
        stop_timeout: config.stop_timeout,
        network_mode: host.network_mode.unwrap_or_default(),
        ipc_mode: host.ipc_mode.unwrap_or_default(),
        pid_mode: host.pid_mode.unwrap_or_default(),
        uts_mode: host.uts_mode.unwrap_or_default(),
        ports: ports(host.port_bindings.unwrap_or_default()),
        dns: host.dns.unwrap_or_default(),
        dns_search: host.dns_search.unwrap_or_default(),
        dns_options: host.dns_options.unwrap_or_default(),
        extra_hosts: host.extra_hosts.unwrap_or_default(),
        resources: EngineResources {
            memory: host.memory,
            cpu_shares: host.cpu_shares,
            // A quota that an update took away is shown as -1.
            cpu_quota: host.cpu_quota.max(0),
        },
        oom_score_adj: host.oom_score_adj,
        security_opt: host.security_opt.unwrap_or_default(),
    }
}

fn ports(bindings: BTreeMap<String, Option<Vec<Binding>>>) -> Vec<PortBinding> {
    let mut ports: Vec<PortBinding> = Vec::new();
    for (port, bound) in bindings {
        let (number, protocol) = port.split_once('/').unwrap_or((&port, "tcp"));
        let (Ok(container_port), Some(protocol)) = (number.parse(), Protocol::parse(protocol)) else {
            continue;
        };
        ports.extend(bound.into_iter().flatten().filter_map(|binding| {
            let host_port = binding.host_port.parse().ok()?;
            Some(PortBinding { container_port, protocol, host_ip: binding.host_ip, host_port })
        }));
    }
    ports.sort();
    ports
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "5e1f2a0c9b8d7e6f5a4b3c2d1e0f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c4d3e2f";

    fn labels(kind: &str, container: &str) -> String {
        format!(
            r#"{{"io.podkeeper.node":"n1","io.podkeeper.fingerprint":"1 image=00","io.podkeeper.attempt":"2",
                "io.podkeeper.source":"file","io.podkeeper.grace":"7","io.kubernetes.pod.name":"web",
                "io.kubernetes.pod.namespace":"default","io.kubernetes.pod.uid":"u1",
                "io.kubernetes.container.name":"{container}","io.kubernetes.docker.type":"{kind}"}}"#
        )
    }

    fn listed(state: &str, labels: &str) -> Option<Instance> {
        listed_for("n1", state, labels)
    }

    fn listed_for(node: &str, state: &str, labels: &str) -> Option<Instance> {
        let text = format!(
            r#"{{"Id":"{ID}","Names":["/k8s_POD_web"],"State":"{state}","Labels":{labels},"Surprise":[1],
                "HostConfig":{{"NetworkMode":"default"}},
                "NetworkSettings":{{"Networks":{{"bridge":{{"IPAddress":"172.17.0.5"}}}}}}}}"#
        );
        serde_json::from_str::<Listed>(&text).unwrap().instance(node)
    }

    #[test]
    fn a_listed_sandbox_is_read_with_its_address() {
        let sandbox = listed("running", &labels("podsandbox", "POD")).unwrap();
        assert_eq!(sandbox.role, Role::Sandbox);
        assert_eq!((sandbox.attempt, sandbox.grace, &*sandbox.network_mode), (2, Some(7), "default"));
        assert_eq!(sandbox.ip, Some("172.17.0.5".parse().unwrap()));
        assert_eq!(&*sandbox.name, "k8s_POD_web");
    }

    #[test]
    fn an_unknown_state_is_kept_as_a_word() {
        let odd = listed("stopping", &labels("container", "app")).unwrap();
        assert_eq!(odd.state, State::Unknown("stopping".into()));
        assert_eq!(odd.ip, None);
    }

    #[test]
    fn what_is_not_labelled_for_this_node_is_not_ours() {
        assert!(listed_for("n2", "running", &labels("container", "app")).is_none());
        assert!(listed("running", "null").is_none());
        assert!(listed("running", r#"{"io.podkeeper.node":"n1"}"#).is_none());
    }

    fn detailed(state: &str) -> Inspected {
        let labels = labels("container", "app");
        let text = format!(
            r#"{{"Id":"{ID}","Name":"/k8s_app","Created":"2026-11-30T10:00:00Z","State":{state},
                "Config":{{"Image":"busybox:1","Entrypoint":null,"Cmd":["sleep","1"],"Env":["A=b"],"WorkingDir":"",
                  "Labels":{labels},"StopTimeout":7}},
                "HostConfig":{{"NetworkMode":"container:{ID}","Memory":1048576,"OomScoreAdj":1000,
                  "PortBindings":{{"80/tcp":[{{"HostIp":"","HostPort":"8080"}}],"53/udp":null}}}},
                "NetworkSettings":{{"Networks":{{}}}}}}"#
        );
        serde_json::from_str::<Detailed>(&text).unwrap().inspected().unwrap()
    }

    #[test]
    fn inspect_tells_how_a_run_ended_and_what_it_was_made_from() {
        let read = detailed(
            r#"{"Status":"exited","ExitCode":137,"Error":"","OOMKilled":true,
                "StartedAt":"2026-11-30T10:00:01Z","FinishedAt":"2026-11-30T10:00:02.5Z"}"#,
        );
        let exit = read.exit.clone().unwrap();
        assert_eq!((exit.code, exit.oom), (137, true));
        assert_eq!(exit.finished_at.since(exit.started_at.unwrap()).as_millis(), 1500);
        assert_eq!(read.instance.state, State::Exited(read.exit));
        let config = read.instance.config.unwrap();
        assert_eq!(config.cmd.as_deref(), Some(&["sleep".to_owned(), "1".to_owned()][..]));
        assert_eq!((config.working_dir.as_deref(), config.stop_timeout), (None, Some(7)));
        assert_eq!(config.resources.memory, 1_048_576);
        assert_eq!(config.ports.len(), 1);
        assert_eq!(config.ports[0].host_port, 8080);
    }

    #[test]
    fn a_container_that_could_not_start_says_why_although_it_never_ended() {
        let read = detailed(
            r#"{"Status":"created","ExitCode":127,"Error":"exec: no such file","StartedAt":"0001-01-01T00:00:00Z",
                "FinishedAt":"0001-01-01T00:00:00Z"}"#,
        );
        assert_eq!(read.instance.state, State::Created);
        let exit = read.exit.unwrap();
        assert_eq!((exit.code, exit.error.as_str()), (127, "exec: no such file"));
        assert_eq!(exit.finished_at.to_string(), "2026-11-30T10:00:00Z");
    }

    #[test]
    fn a_running_container_has_not_ended_whatever_its_last_run_left_behind() {
        let read = detailed(
            r#"{"Status":"running","ExitCode":0,"StartedAt":"2026-11-30T10:00:05Z","FinishedAt":"2026-11-30T10:00:02Z"}"#,
        );
        assert_eq!(read.exit, None);
        assert_eq!(read.instance.state, State::Running { started_at: Time::parse("2026-11-30T10:00:05Z") });
    }
}
