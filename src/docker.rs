//! The seam: one method per engine endpoint in use, our own small types, Docker's own refusals.
//!
//! Two things implement it, the real engine (`node::bollard`) and the simulated one ([`crate::sim`]);
//! `tests/conformance.rs` holds them to each other. Looking and doing are two traits: whoever holds only
//! a [`Look`] cannot change an engine, and that is what `podkeeper plan` holds.

use std::fmt;

pub mod mask;

use serde::{Deserialize, Serialize};

use crate::model::ContainerId;
use crate::plan::config::{ContainerConfig, EngineResources};
use crate::plan::{Exit, Instance};

/// What an engine says of itself (`GET /version`, `GET /info`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EngineVersion {
    /// `20.10.24`.
    pub version: String,
    /// The API version in use after negotiation, `1.41`.
    pub api: String,
    pub memory_bytes: i64,
}

/// What the engine's inspect says of a container.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Inspected {
    /// As in a list, with every fact that only inspect knows; `config` is filled in.
    pub instance: Instance,
    /// When it ended or failed to start, in the engine's clock.
    pub exit: Option<Exit>,
}

/// Looking: changes nothing on the engine.
#[allow(async_fn_in_trait)] // every user is generic over it and runs on one thread
pub trait Look {
    /// `GET /version` and `GET /info`.
    async fn version(&self) -> Result<EngineVersion, DockerError>;
    /// `GET /containers/json?all=1`, filtered by the label `io.podkeeper.node=<node>`.
    async fn list(&self, node: &str) -> Result<Vec<Instance>, DockerError>;
    /// `GET /containers/{id}/json`. [`DockerError::NotFound`] when there is none; an error of kind
    /// [`DockerError::Foreign`] when it does not carry our labels.
    async fn inspect(&self, id: &ContainerId) -> Result<Inspected, DockerError>;
    /// `GET /images/{name}/json`: the image's id, or `None` when it is not there.
    async fn image(&self, name: &str) -> Result<Option<String>, DockerError>;
}

/// Doing. Only the agent, `apply` and the tests hold one.
#[allow(async_fn_in_trait)]
pub trait Docker: Look {
    /// `POST /containers/create`.
    async fn create(&self, config: &ContainerConfig) -> Result<ContainerId, DockerError>;
    /// `POST /containers/{id}/start`; starting a running one is a success (304).
    async fn start(&self, id: &ContainerId) -> Result<(), DockerError>;
    /// `POST /containers/{id}/stop?t=`; stopping a stopped one is a success (304).
    async fn stop(&self, id: &ContainerId, grace: Option<u32>) -> Result<(), DockerError>;
    /// `POST /containers/{id}/unpause`.
    async fn unpause(&self, id: &ContainerId) -> Result<(), DockerError>;
    /// `DELETE /containers/{id}?v=1`: never forced.
    async fn remove(&self, id: &ContainerId) -> Result<(), DockerError>;
    /// `POST /containers/{id}/update`.
    async fn update(&self, id: &ContainerId, resources: &EngineResources) -> Result<(), DockerError>;
    /// `POST /images/create`, read to its end.
    async fn pull(&self, image: &str) -> Result<(), DockerError>;
    /// `POST /images/load`, read to its end: the sandbox image that the binary carries, under this name.
    async fn load_sandbox_image(&self, name: &str) -> Result<(), DockerError>;
}

/// How an engine call can fail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub enum DockerError {
    /// 404: no such container or image.
    NotFound { message: String },
    /// 409 on create: another container has the name.
    NameInUse { holder: Option<ContainerId>, message: String },
    /// 409 on remove: somebody is removing it already.
    RemovalInProgress { message: String },
    /// 409 otherwise: the container is in a state in which this cannot be done.
    Conflict { message: String },
    /// 500 on start, with the engine's words that a node port is taken.
    PortTaken { message: String },
    /// Any other refusal, by HTTP status.
    Refused { status: u16, message: String },
    /// The container exists and is not ours.
    Foreign { id: ContainerId },
    /// The call was sent and no whole answer came: it may have taken effect.
    Uncertain { message: String },
    /// The engine could not be reached at all: nothing was sent.
    Unreachable { message: String },
}

impl DockerError {
    /// The same, without the values of these `NAME=value` in the engine's words.
    #[must_use]
    pub fn without_values(mut self, env: &[String]) -> Self {
        match &mut self {
            DockerError::NotFound { message }
            | DockerError::NameInUse { message, .. }
            | DockerError::RemovalInProgress { message }
            | DockerError::Conflict { message }
            | DockerError::PortTaken { message }
            | DockerError::Uncertain { message }
            | DockerError::Unreachable { message }
            | DockerError::Refused { message, .. } => *message = mask::without_values(message, env),
            DockerError::Foreign { .. } => {}
        }
        self
    }

    /// True when the call may have taken effect, so that only looking again can tell.
    pub fn is_uncertain(&self) -> bool {
        matches!(self, DockerError::Uncertain { .. })
            || matches!(self, DockerError::Refused { status: 500.., .. })
    }
}

/// Fragments that finish "failed to …".
impl fmt::Display for DockerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DockerError::NotFound { message }
            | DockerError::NameInUse { message, .. }
            | DockerError::RemovalInProgress { message }
            | DockerError::Conflict { message }
            | DockerError::PortTaken { message }
            | DockerError::Uncertain { message }
            | DockerError::Unreachable { message } => f.write_str(message),
            DockerError::Refused { status, message } => write!(f, "{message} (status {status})"),
            DockerError::Foreign { id } => write!(f, "container {} does not carry our labels", id.short()),
        }
    }
}

impl std::error::Error for DockerError {}
