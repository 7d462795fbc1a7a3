//! What is observed: the engine's containers that carry our label, images, time, and memory.

use std::net::IpAddr;
use std::sync::Arc;

use im::{OrdMap, OrdSet};
use serde::{Deserialize, Serialize};

use crate::model::{ContainerId, PodKey, Time, Uid};
use crate::plan::config::ContainerConfig;
use crate::plan::ports::NodePort;
use crate::plan::{Fingerprint, Ledger, SourceKind};

/// Everything that is known of the world at one moment. Cheap to clone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Observed {
    /// Now.
    pub at: Time,
    /// False until the engine has been read once: then nothing is planned.
    pub listed: bool,
    pub pods: OrdMap<PodKey, Arc<PodObserved>>,
    /// Containers that carry all of our labels and are not ours, each with the reason in words.
    #[serde(skip_serializing_if = "OrdMap::is_empty")]
    pub lookalikes: OrdMap<ContainerId, Arc<str>>,
    /// Images that were asked for, as they are written in manifests: there or not.
    pub images: OrdMap<Arc<str>, Image>,
    pub ledger: Ledger,
    /// Actions that were begun and have not ended: per pod, what they keep busy, and how many of them do.
    #[serde(skip)]
    pub in_flight: OrdMap<PodKey, OrdMap<Arc<str>, u32>>,
    /// Images that are being pulled or looked up now.
    #[serde(skip)]
    pub pulling: OrdSet<Arc<str>>,
    /// Memory of the machine in bytes; 0 is unknown. The kubelet's OOM scores need it.
    pub memory_bytes: i64,
}

/// What the engine says of an image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Image {
    /// `pulled_at`: when this agent last pulled it.
    Present { id: Arc<str>, pulled_at: Option<Time> },
    /// `at`: when the engine said so.
    Absent { at: Time },
}

/// What the probes of one container last said. Absent until a probe has run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Probes {
    pub startup: Option<Probed>,
    pub liveness: Option<Probed>,
    pub readiness: Option<Probed>,
}

/// The kubelet's three results (`pkg/kubelet/prober/results`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Probed {
    Unknown,
    Success,
    Failure,
}

/// The containers of one pod.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodObserved {
    /// Sandboxes first, then by container name; the newest attempt first.
    pub instances: Vec<Arc<Instance>>,
}

/// One container on the engine that carries our label.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Instance {
    pub id: ContainerId,
    /// As the engine has it, without the leading slash.
    pub name: Arc<str>,
    pub pod: PodKey,
    pub uid: Uid,
    pub role: Role,
    pub attempt: u32,
    pub source: Option<SourceKind>,
    pub fingerprint: Fingerprint,
    /// Seconds, from its label: for pods that nobody declares any more.
    pub grace: Option<u32>,
    pub state: State,
    #[serde(default)]
    pub created_at: Option<Time>,
    /// Of a sandbox on a network of its own, while it runs.
    pub ip: Option<IpAddr>,
    /// `host`, `bridge`, `default`, `container:<id>`, …
    pub network_mode: Arc<str>,
    /// Ports of the node that a sandbox takes, while it runs.
    #[serde(default)]
    pub ports: Vec<NodePort>,
    /// What it was made from; known after it was inspected.
    pub config: Option<Arc<ContainerConfig>>,
    #[serde(default)]
    pub probes: Probes,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Role {
    Sandbox,
    /// Its name in the manifest.
    Container(Arc<str>),
}

/// The engine's words for the state of a container.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum State {
    Created,
    /// `started_at` is known after an inspect.
    Running {
        started_at: Option<Time>,
    },
    Paused,
    /// `None` until it was inspected.
    Exited(Option<Exit>),
    Removing,
    Dead,
    /// `restarting`, or a word that this podkeeper does not know.
    Unknown(Arc<str>),
}

/// How a container ended. Times are the agent's, never in its future.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Exit {
    pub code: i64,
    /// The engine's flag; 137 alone does not say it.
    pub oom: bool,
    /// The engine's own words when it could not run it.
    pub error: String,
    pub started_at: Option<Time>,
    pub finished_at: Time,
}

impl Observed {
    /// Which source declared a pod last, as far as anybody knows.
    pub fn source(&self, pod: &PodObserved) -> Option<SourceKind> {
        let remembered = pod.instances.iter().find_map(|i| self.ledger.pods.get(&i.uid)?.source);
        remembered.or_else(|| pod.instances.iter().find_map(|instance| instance.source))
    }
}

impl Role {
    /// `POD` for the sandbox.
    pub fn name(&self) -> &str {
        match self {
            Role::Sandbox => crate::plan::ledger::SANDBOX,
            Role::Container(name) => name,
        }
    }
}

impl PodObserved {
    /// Puts the instances in order: the sandboxes, then by container, the newest attempt first.
    pub fn new(mut instances: Vec<Arc<Instance>>) -> Self {
        instances.sort_by(|a, b| a.role.cmp(&b.role).then(b.attempt.cmp(&a.attempt)).then(a.id.cmp(&b.id)));
        Self { instances }
    }

    pub fn sandboxes(&self) -> impl Iterator<Item = &Arc<Instance>> {
        self.instances.iter().filter(|i| i.role == Role::Sandbox)
    }

    /// The instances of one container, newest attempt first.
    pub fn of<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Arc<Instance>> {
        self.instances.iter().filter(move |i| matches!(&i.role, Role::Container(n) if **n == *name))
    }
}
