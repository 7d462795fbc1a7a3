//! An action is one engine call with one cause.

use serde::Serialize;

use crate::model::{ContainerId, Place, PodKey};
use crate::plan::Fingerprint;
use crate::plan::config::{ContainerConfig, EngineResources};

/// One engine call that is due, for one pod, with the reason for it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Action {
    pub pod: PodKey,
    /// The container it is for, by its name in the manifest; `None` is the pod's sandbox.
    pub container: Option<String>,
    pub call: Call,
    pub cause: Cause,
    /// The fingerprint of the container that the plan saw. The executor checks that the id still carries
    /// it before it changes or destroys anything.
    pub seen: Option<Fingerprint>,
}

/// What the engine is asked. Every call that destroys or changes names the full container id.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", tag = "call")]
pub enum Call {
    /// Look: is the image there? Changes nothing.
    InspectImage {
        image: String,
    },
    /// Look: exit code, times and configuration of a container. Changes nothing.
    InspectContainer {
        id: ContainerId,
    },
    PullImage {
        image: String,
    },
    /// Loads the sandbox image that the binary carries.
    LoadSandboxImage {
        image: String,
    },
    CreateSandbox {
        config: Box<ContainerConfig>,
    },
    CreateContainer {
        config: Box<ContainerConfig>,
    },
    StartContainer {
        id: ContainerId,
    },
    /// Sends the stop signal and, after `grace` seconds, kills. Without `grace` the engine uses what
    /// the container was created with.
    StopContainer {
        id: ContainerId,
        grace: Option<u32>,
    },
    /// A paused container takes no signal on older engines, so it is resumed before it is stopped.
    UnpauseContainer {
        id: ContainerId,
    },
    RemoveContainer {
        id: ContainerId,
    },
    /// Changes CPU and memory of a running container in place.
    UpdateContainer {
        id: ContainerId,
        resources: EngineResources,
    },
}

impl Call {
    /// True for calls that only look: they are never part of a printed plan.
    pub fn is_look(&self) -> bool {
        matches!(self, Call::InspectImage { .. } | Call::InspectContainer { .. })
    }

    /// The image that a call is about, when it is about no container.
    pub fn image(&self) -> Option<&str> {
        match self {
            Call::InspectImage { image } | Call::PullImage { image } | Call::LoadSandboxImage { image } => {
                Some(image)
            }
            Call::InspectContainer { .. }
            | Call::CreateSandbox { .. }
            | Call::CreateContainer { .. }
            | Call::StartContainer { .. }
            | Call::StopContainer { .. }
            | Call::UnpauseContainer { .. }
            | Call::RemoveContainer { .. }
            | Call::UpdateContainer { .. } => None,
        }
    }

    /// The container that an existing-container call is about.
    pub fn id(&self) -> Option<&ContainerId> {
        match self {
            Call::InspectContainer { id }
            | Call::StartContainer { id }
            | Call::StopContainer { id, .. }
            | Call::UnpauseContainer { id }
            | Call::RemoveContainer { id }
            | Call::UpdateContainer { id, .. } => Some(id),
            Call::InspectImage { .. }
            | Call::PullImage { .. }
            | Call::LoadSandboxImage { .. }
            | Call::CreateSandbox { .. }
            | Call::CreateContainer { .. } => None,
        }
    }
}

/// Why an action is due. Its [`Display`](std::fmt::Display) is one clause that follows "because".
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", tag = "because")]
pub enum Cause {
    /// It is desired and nothing of it is there.
    Missing { what: &'static str },
    /// Its manifest changed; one entry per field.
    Changed { changes: Vec<Change> },
    /// It ended and its restart policy wants it back.
    Ended { how: String, policy: &'static str },
    /// It was created and never started.
    NotStarted,
    /// No source declares the pod any more.
    Removed { source: String },
    /// The manifest of its pod no longer has such a container.
    NotInManifest,
    /// The pod's sandbox is gone, dead or of another kind, so all of it starts over.
    SandboxLost { why: String },
    /// The pod has finished: nothing in it will run again.
    Finished { how: String },
    /// A newer instance took its place.
    Superseded { by: u32 },
    /// It was made from a definition that no longer holds.
    Outdated,
    /// A probe says that it has to be restarted.
    ProbeFailed { probe: &'static str },
    /// The engine no longer says what state it is in.
    StateUnknown { state: String },
    /// Something else needs this first.
    NeededBy { what: String },
    /// A fact is not known yet and the next decision needs it.
    Unknown { fact: &'static str },
}

/// One field that differs from what runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// As in the manifest, relative to the pod or container: `image`, `env`, `hostNetwork`.
    pub field: String,
    /// What runs now, when it has been looked up. Values of `env` are never shown.
    pub old: Option<String>,
    pub new: String,
    /// Where the new value was written.
    pub place: Option<Place>,
}

impl std::fmt::Display for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.old {
            Some(old) => write!(f, "{} {} → {}", self.field, old, self.new),
            None => write!(f, "{} is now {}", self.field, self.new),
        }
    }
}

impl std::fmt::Display for Cause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Cause::Missing { what } => write!(f, "it is desired and has no {what}"),
            Cause::Changed { changes } => {
                let list: Vec<String> = changes.iter().map(Change::to_string).collect();
                f.write_str(&list.join(", "))
            }
            Cause::Ended { how, policy } => write!(f, "it {how} and restartPolicy is {policy}"),
            Cause::NotStarted => f.write_str("it is created and not started yet"),
            Cause::Removed { source } => write!(f, "source {source} no longer declares the pod"),
            Cause::NotInManifest => f.write_str("its pod's manifest no longer has it"),
            Cause::SandboxLost { why } => write!(f, "the sandbox {why}"),
            Cause::Finished { how } => write!(f, "the pod has finished: {how}"),
            Cause::Superseded { by } => write!(f, "attempt {by} took its place"),
            Cause::Outdated => f.write_str("its definition has changed"),
            Cause::ProbeFailed { probe } => write!(f, "its {probe} probe has failed"),
            Cause::StateUnknown { state } => write!(f, "the engine says its state is {state}"),
            Cause::NeededBy { what } => write!(f, "{what} needs it"),
            Cause::Unknown { fact } => write!(f, "its {fact} is not known yet"),
        }
    }
}
