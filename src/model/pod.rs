//! The pod as Kubernetes spells it, with its defaults filled in.
//!
//! These are the types that the planner reasons about. A manifest becomes one of them only through
//! [`crate::model::read`], which refuses what it does not know; so whatever is here was asked for.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A pod: containers that share one sandbox. Source: Kubernetes API, `core/v1` Pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Pod {
    pub metadata: Metadata,
    pub spec: PodSpec,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Metadata {
    pub name: String,
    /// `default` when the manifest gives none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Empty when the manifest gives none; [`crate::plan::Declared`] then derives one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodSpec {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub init_containers: Vec<Container>,
    pub containers: Vec<Container>,
    pub restart_policy: RestartPolicy,
    /// Seconds between the stop signal and the kill.
    pub termination_grace_period_seconds: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hostname: Option<String>,
    #[serde(rename = "hostNetwork", skip_serializing_if = "is_false")]
    pub host_network: bool,
    #[serde(rename = "hostPID", skip_serializing_if = "is_false")]
    pub host_pid: bool,
    #[serde(rename = "hostIPC", skip_serializing_if = "is_false")]
    pub host_ipc: bool,
    #[serde(skip_serializing_if = "is_false")]
    pub share_process_namespace: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub host_aliases: Vec<HostAlias>,
    /// `ClusterFirst` falls back to `Default` (the node's resolver): there is no cluster DNS.
    pub dns_policy: DnsPolicy,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dns_config: Option<DnsConfig>,
}

impl Default for PodSpec {
    fn default() -> Self {
        Self {
            init_containers: Vec::new(),
            containers: Vec::new(),
            restart_policy: RestartPolicy::Always,
            // Kubernetes' default, `DefaultTerminationGracePeriodSeconds`.
            termination_grace_period_seconds: 30,
            hostname: None,
            host_network: false,
            host_pid: false,
            host_ipc: false,
            share_process_namespace: false,
            host_aliases: Vec::new(),
            dns_policy: DnsPolicy::ClusterFirst,
            dns_config: None,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum RestartPolicy {
    #[default]
    Always,
    OnFailure,
    Never,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum DnsPolicy {
    #[default]
    ClusterFirst,
    ClusterFirstWithHostNet,
    Default,
    None,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DnsConfig {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nameservers: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub searches: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<DnsOption>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DnsOption {
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HostAlias {
    pub ip: String,
    pub hostnames: Vec<String>,
}

/// One container of a pod, regular or init.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Container {
    pub name: String,
    pub image: String,
    /// Replaces the image's entrypoint, and then drops the image's arguments too.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// Replaces the image's arguments.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub working_dir: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<ContainerPort>,
    /// In manifest order; a later entry of the same name wins. `$(VAR)` is still as it was written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<EnvVar>,
    #[serde(skip_serializing_if = "Resources::is_empty")]
    pub resources: Resources,
    /// Defaulted when read: `Always` for the tag `latest` or no tag, otherwise `IfNotPresent`.
    pub image_pull_policy: PullPolicy,
    /// Only on init containers, only `Always`: makes it a sidecar.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restart_policy: Option<RestartPolicy>,
    /// While it has not succeeded, neither the other probes nor what comes after a sidecar may start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub startup_probe: Option<Probe>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub liveness_probe: Option<Probe>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub readiness_probe: Option<Probe>,
    #[serde(skip_serializing_if = "is_false")]
    pub stdin: bool,
    #[serde(skip_serializing_if = "is_false")]
    pub stdin_once: bool,
    #[serde(skip_serializing_if = "is_false")]
    pub tty: bool,
}

impl Container {
    /// An init container that keeps running beside the regular ones (`restartPolicy: Always`).
    pub fn is_sidecar(&self) -> bool {
        self.restart_policy == Some(RestartPolicy::Always)
    }
}

/// When a container is asked how it is. Kubernetes' defaults.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Probe {
    pub initial_delay_seconds: u32,
    pub timeout_seconds: u32,
    pub period_seconds: u32,
    pub success_threshold: u32,
    pub failure_threshold: u32,
}

impl Default for Probe {
    fn default() -> Self {
        Self {
            initial_delay_seconds: 0,
            timeout_seconds: 1,
            period_seconds: 10,
            success_threshold: 1,
            failure_threshold: 3,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum PullPolicy {
    Always,
    #[default]
    IfNotPresent,
    Never,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EnvVar {
    pub name: String,
    pub value: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerPort {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub container_port: u16,
    /// The port on the node; without it nothing is published.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_port: Option<u16>,
    #[serde(rename = "hostIP", skip_serializing_if = "Option::is_none")]
    pub host_ip: Option<String>,
    pub protocol: Protocol,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Protocol {
    #[default]
    Tcp,
    Udp,
    Sctp,
}

impl Protocol {
    /// As the engine writes it in `80/tcp`.
    pub fn lower(self) -> &'static str {
        match self {
            Protocol::Tcp => "tcp",
            Protocol::Udp => "udp",
            Protocol::Sctp => "sctp",
        }
    }

    /// Reads the engine's word.
    pub fn parse(word: &str) -> Option<Self> {
        [Protocol::Tcp, Protocol::Udp, Protocol::Sctp].into_iter().find(|protocol| protocol.lower() == word)
    }
}

/// What a container may use and what it asks for, in the kubelet's units: CPU rounded up to
/// milli-CPU, memory rounded up to bytes. A request that is not given equals the limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Resources {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_limit_milli: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_request_milli: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_limit_bytes: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_request_bytes: Option<i64>,
}

impl Resources {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

fn is_false(value: &bool) -> bool {
    !value
}
