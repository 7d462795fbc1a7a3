//! Status: the judgement on a pod in Kubernetes' words.

use serde::Serialize;

use crate::model::{PodKey, Time};

/// What is reported of one pod. Shapes follow Kubernetes' `PodStatus`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PodStatus {
    pub key: PodKey,
    pub phase: Phase,
    /// One word for the table: `Running`, `CrashLoopBackOff`, `Init:0/2`, `Completed`, `Terminating`, …
    pub word: String,
    /// The sentence behind the word; empty when there is nothing to explain.
    pub message: String,
    pub conditions: Vec<Condition>,
    pub init_containers: Vec<ContainerStatus>,
    pub containers: Vec<ContainerStatus>,
    pub pod_ip: Option<String>,
    pub started_at: Option<Time>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Phase {
    Pending,
    Running,
    Succeeded,
    Failed,
    Unknown,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub status: bool,
    pub reason: &'static str,
    pub message: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ContainerStatus {
    pub name: String,
    pub image: String,
    pub ready: bool,
    pub restart_count: u32,
    pub container_id: Option<String>,
    pub state: ContainerState,
    pub last_state: Option<ContainerState>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ContainerState {
    Waiting { reason: String, message: String },
    Running { started_at: Option<Time> },
    Terminated { exit_code: i64, reason: String, started_at: Option<Time>, finished_at: Option<Time> },
}
