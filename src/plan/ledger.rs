//! The ledger: what podkeeper remembers of its own doings. It is part of what is observed.

use std::sync::Arc;

use im::{OrdMap, OrdSet};
use serde::{Deserialize, Serialize};

use crate::model::{ContainerId, Time, Uid};
use crate::plan::{Fingerprint, SourceKind};

/// Memory, as a value. Written to disk by the agent, handed back in `Observed`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Ledger {
    /// Per pod life and container name; the sandbox's name is [`SANDBOX`].
    pub pods: OrdMap<Uid, Arc<PodMemo>>,
    /// Containers whose limits were changed in place: their labels no longer say what their limits are.
    /// Written before the change, so that no crash can lose it.
    pub updated: OrdSet<ContainerId>,
    /// Per image as it is written in manifests.
    pub pulls: OrdMap<Arc<str>, Failure>,
}

/// The name of the sandbox among the containers of its pod, as the kubelet has it.
pub const SANDBOX: &str = "POD";

/// What is remembered of one life of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodMemo {
    /// Who declared it last.
    pub source: Option<SourceKind>,
    pub containers: OrdMap<Arc<str>, Memo>,
}

/// What is remembered of one container.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Memo {
    /// The highest attempt that was ever created.
    pub attempt: Option<u32>,
    /// When that was, and from which definition.
    pub created_at: Option<Time>,
    pub made: Option<Fingerprint>,
    /// Restarts in a row without ten minutes of running between them.
    pub streak: u32,
    /// The last failure to create, start or update it; gone after a success.
    pub failure: Option<Failure>,
    /// The last failure to look at, stop or remove an instance of it; gone after a success.
    pub stuck: Option<Failure>,
    /// The attempt that podkeeper itself stopped last: its end is not the program's own, so exit code 0 does
    /// not mean that it has finished. Written before the stop, so that no crash can lose it.
    pub stopped: Option<u32>,
    /// How its last finished run ended: outlives the container itself.
    pub ended: Option<Ended>,
}

/// A failure that is tried again later.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    /// In a row.
    pub count: u32,
    pub at: Time,
    /// One word: `CreateContainerError`, `PortConflict`, `NameConflict`, `ErrImagePull`, …
    pub word: Arc<str>,
    pub message: Arc<str>,
    /// The definition that failed; a changed one is tried at once.
    pub fingerprint: Option<Fingerprint>,
}

/// The end of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ended {
    pub fingerprint: Fingerprint,
    pub attempt: u32,
    pub code: i64,
    pub oom: bool,
    /// The engine's own words when it could not run it; empty otherwise.
    pub error: Arc<str>,
    /// podkeeper stopped it: see [`Memo::stopped`].
    #[serde(default)]
    pub stopped: bool,
    /// Its network mode, which names the sandbox that it ran in.
    pub network_mode: Arc<str>,
    pub started_at: Option<Time>,
    pub at: Time,
}

impl Ledger {
    /// What is remembered of one container (or, as [`SANDBOX`], of the sandbox).
    pub fn memo(&self, uid: &Uid, container: &str) -> Option<&Memo> {
        self.pods.get(uid)?.containers.get(container)
    }
}
