//! Names of things: pods, their identity, containers on the engine.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Names a pod on this node: namespace and name.
///
/// Its order is the order of every list that podkeeper prints.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PodKey {
    pub namespace: Arc<str>,
    pub name: Arc<str>,
}

impl PodKey {
    pub fn new(namespace: &str, name: &str) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }
}

impl fmt::Display for PodKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

impl From<PodKey> for String {
    fn from(key: PodKey) -> Self {
        key.to_string()
    }
}

impl TryFrom<String> for PodKey {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        match text.split_once('/') {
            Some((namespace, name)) => Ok(Self::new(namespace, name)),
            None => Err(format!("'{text}' is not <namespace>/<name>")),
        }
    }
}

/// Identifies one life of a pod; part of every container name on the engine.
///
/// `metadata.uid` when it is given, otherwise derived from node, namespace and name. So it stays the
/// same when the manifest is edited or moves to another file: podkeeper compares fields where the
/// kubelet would make a new pod (`pkg/kubelet/config/common.go` hashes the whole manifest).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Uid(pub Arc<str>);

impl fmt::Display for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The engine's full identifier of a container, 64 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ContainerId(pub Arc<str>);

impl ContainerId {
    /// The first twelve digits, as the `docker` command shows them.
    pub fn short(&self) -> &str {
        self.0.get(..12).unwrap_or(&self.0)
    }
}

impl From<&str> for ContainerId {
    fn from(id: &str) -> Self {
        Self(id.into())
    }
}

impl fmt::Display for ContainerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
