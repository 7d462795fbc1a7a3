//! What a container on the engine is made of: the part of Docker's create request that we use.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::model::pod::Protocol;

/// Docker's create request, as far as podkeeper uses it, and what inspect says of an existing one.
///
/// Names follow the Docker Engine API (`POST /containers/create`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerConfig {
    pub name: String,
    pub image: String,
    /// `None` leaves the image's.
    pub entrypoint: Option<Vec<String>>,
    /// `None` leaves the image's, unless `entrypoint` is given.
    pub cmd: Option<Vec<String>>,
    /// `NAME=VALUE`, expanded, in order.
    pub env: Vec<String>,
    pub working_dir: Option<String>,
    pub hostname: Option<String>,
    pub labels: BTreeMap<String, String>,
    pub open_stdin: bool,
    pub stdin_once: bool,
    pub tty: bool,
    /// Seconds; the engine uses it when stop is called without a time.
    pub stop_timeout: Option<u32>,
    /// `host`, `default`, or `container:<id>`.
    pub network_mode: String,
    /// `shareable` for a sandbox, `container:<id>` in it, `host`.
    pub ipc_mode: String,
    /// Empty is the container's own; `container:<id>` or `host`.
    pub pid_mode: String,
    /// Empty is the container's own; `host` goes with the host's network.
    pub uts_mode: String,
    pub ports: Vec<PortBinding>,
    pub dns: Vec<String>,
    pub dns_search: Vec<String>,
    pub dns_options: Vec<String>,
    /// `name:ip`.
    pub extra_hosts: Vec<String>,
    pub resources: EngineResources,
    pub oom_score_adj: i32,
    pub security_opt: Vec<String>,
}

/// One published port.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PortBinding {
    pub container_port: u16,
    pub protocol: Protocol,
    /// Empty is every address.
    pub host_ip: String,
    pub host_port: u16,
}

/// The part of a container's limits that the engine can change while it runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EngineResources {
    /// Bytes; 0 is no limit. Swap is set to the same, so there is none.
    pub memory: i64,
    /// Relative weight, 2…262144; 0 is the engine's default.
    pub cpu_shares: i64,
    /// Microseconds per period of 100 000; 0 is no limit.
    pub cpu_quota: i64,
}

/// As the `docker` command writes it: `127.0.0.1:8080→80/tcp`.
impl fmt::Display for PortBinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.host_ip.is_empty() {
            write!(f, "{}:", self.host_ip)?;
        }
        write!(f, "{}→{}/{}", self.host_port, self.container_port, self.protocol.lower())
    }
}

impl fmt::Display for EngineResources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let memory = match self.memory {
            0 => "no memory limit".into(),
            bytes => format!("{bytes} bytes"),
        };
        let cpu = match self.cpu_quota {
            0 => "no CPU limit".into(),
            quota => format!("{} milli-CPU", quota / 100),
        };
        write!(f, "{memory}, {cpu}, {} shares", self.cpu_shares)
    }
}
