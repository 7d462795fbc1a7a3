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
    pub trouble: Trouble,
    pub message: Arc<str>,
    /// The definition that failed; a changed one is tried at once.
    pub fingerprint: Option<Fingerprint>,
}

/// What failed, in one word: Kubernetes' own where it has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Trouble {
    /// Another container has the name.
    NameConflict,
    /// The engine keeps the name of a container that is nowhere to be found (moby#23371).
    NameStuck,
    /// Somebody has the node port.
    PortConflict,
    /// The engine is in trouble, was silent, or found things other than they had been seen.
    EngineError,
    CreatePodSandboxError,
    CreateContainerError,
    RunContainerError,
    StopContainerError,
    RemoveContainerError,
    UpdateContainerError,
    InspectContainerError,
    ErrImageInspect,
    ErrImagePull,
}

impl Trouble {
    pub fn as_str(self) -> &'static str {
        match self {
            Trouble::NameConflict => "NameConflict",
            Trouble::NameStuck => "NameStuck",
            Trouble::PortConflict => "PortConflict",
            Trouble::EngineError => "EngineError",
            Trouble::CreatePodSandboxError => "CreatePodSandboxError",
            Trouble::CreateContainerError => "CreateContainerError",
            Trouble::RunContainerError => "RunContainerError",
            Trouble::StopContainerError => "StopContainerError",
            Trouble::RemoveContainerError => "RemoveContainerError",
            Trouble::UpdateContainerError => "UpdateContainerError",
            Trouble::InspectContainerError => "InspectContainerError",
            Trouble::ErrImageInspect => "ErrImageInspect",
            Trouble::ErrImagePull => "ErrImagePull",
        }
    }
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
    /// podkeeper stopped it. Said by [`Memo::stopped`], and filled in from there.
    #[serde(skip)]
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
