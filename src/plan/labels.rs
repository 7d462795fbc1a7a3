//! Labels: how a container on the engine says what it is.
//!
//! Those of the kubelet's Docker shim are kept, because Docker tooling knows them; ours begin with
//! `io.podkeeper.`. Labels never change after create, so nothing that changes is written in one.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::model::{ContainerId, PodKey, Uid};
use crate::plan::ledger::SANDBOX;
use crate::plan::observed::Probes;
use crate::plan::{Fingerprint, Instance, Role, SourceKind, State};

/// Which agent owns the container. An object without it is never touched.
pub const NODE: &str = "io.podkeeper.node";
pub const FINGERPRINT: &str = "io.podkeeper.fingerprint";
pub const SOURCE: &str = "io.podkeeper.source";
pub const ATTEMPT: &str = "io.podkeeper.attempt";
/// Grace period in seconds at creation: what a stop uses once nobody declares the pod.
pub const GRACE: &str = "io.podkeeper.grace";

pub const POD_NAME: &str = "io.kubernetes.pod.name";
pub const POD_NAMESPACE: &str = "io.kubernetes.pod.namespace";
pub const POD_UID: &str = "io.kubernetes.pod.uid";
pub const CONTAINER_NAME: &str = "io.kubernetes.container.name";
/// `podsandbox` or `container`.
pub const TYPE: &str = "io.kubernetes.docker.type";

/// The engine's name for an instance: the kubelet's `k8s_<container>_<pod>_<namespace>_<uid>_<attempt>`.
pub fn container_name(role: &Role, pod: &PodKey, uid: &Uid, attempt: u32) -> String {
    format!("k8s_{}_{}_{}_{uid}_{attempt}", role.name(), pod.name, pod.namespace)
}

/// Looks a label up in the labels of a container.
pub fn of<'l>(labels: &'l BTreeMap<String, String>) -> impl Fn(&str) -> Option<&'l str> {
    |key| labels.get(key).map(String::as_str)
}

impl Instance {
    /// Reads what a container is from its labels. `None` when one that makes it ours is missing or
    /// contradicts another: then it is somebody else's, and sacred.
    pub fn from_labels<'l>(
        id: &str,
        name: &str,
        label: impl Fn(&str) -> Option<&'l str>,
        state: State,
    ) -> Option<Instance> {
        let label = |key: &str| label(key).filter(|value| !value.is_empty());
        label(NODE)?;
        let container = label(CONTAINER_NAME)?;
        let role = match label(TYPE)? {
            "podsandbox" if container == SANDBOX => Role::Sandbox,
            "container" if container != SANDBOX => Role::Container(container.into()),
            _ => return None,
        };
        Some(Instance {
            id: ContainerId(id.into()),
            name: name.trim_start_matches('/').into(),
            pod: PodKey::new(label(POD_NAMESPACE)?, label(POD_NAME)?),
            uid: Uid(label(POD_UID)?.into()),
            role,
            attempt: label(ATTEMPT)?.parse().ok()?,
            source: label(SOURCE).and_then(SourceKind::parse),
            fingerprint: Fingerprint(label(FINGERPRINT)?.into()),
            grace: label(GRACE).and_then(|seconds| seconds.parse().ok()),
            state,
            created_at: None,
            ip: None,
            ports: Vec::new(),
            network_mode: Arc::from(""),
            config: None,
            probes: Probes::default(),
        })
    }
}
