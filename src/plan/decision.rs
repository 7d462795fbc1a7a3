//! A decision is the judgement on one container (or sandbox): act, wait or leave alone.

use serde::Serialize;

use crate::model::{PodKey, Time};
use crate::plan::Action;

/// The judgement on one container or sandbox.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Decision {
    Act(Action),
    Wait(Wait),
    Settled,
}

/// Something that is not done now, why, and until when.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Wait {
    pub pod: PodKey,
    /// `None` is the sandbox, or the pod as a whole.
    pub container: Option<String>,
    /// `None`: not a matter of time; a fact has to change.
    pub until: Option<Time>,
    pub reason: Reason,
}

/// Why something waits: one word as Kubernetes prints it, and a sentence.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reason {
    /// `CrashLoopBackOff`, `ImagePullBackOff`, `ContainerCreating`, `PodInitializing`, …
    pub word: &'static str,
    pub message: String,
}
