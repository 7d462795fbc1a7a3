//! What is desired: one immutable value, merged from every source.

use std::fmt;
use std::sync::Arc;

use im::OrdMap;
use im::ordmap::DiffItem;
use serde::{Deserialize, Serialize};

use crate::model::pod::Protocol;
use crate::model::{Container, Places, Pod, PodKey, Uid};
use crate::plan::fingerprint::{self, Fingerprint};
use crate::plan::ports::NodePort;

/// Who this agent is: part of every derived identity and of every digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    pub name: Arc<str>,
    /// Keys the digests in labels, so that nobody can guess a value from its digest.
    pub key: [u8; 16],
    /// The sandbox's image, by name.
    pub sandbox_image: Arc<str>,
}

/// Where declarations come from, in order of precedence: the first wins a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SourceKind {
    File,
    Api,
    Http,
    Etcd,
}

impl SourceKind {
    pub const ALL: [SourceKind; 4] = [SourceKind::File, SourceKind::Api, SourceKind::Http, SourceKind::Etcd];

    pub fn as_str(self) -> &'static str {
        match self {
            SourceKind::File => "file",
            SourceKind::Api => "api",
            SourceKind::Http => "http",
            SourceKind::Etcd => "etcd",
        }
    }

    /// Reads the value of the label `io.podkeeper.source`.
    pub fn parse(text: &str) -> Option<SourceKind> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }
}

impl fmt::Display for SourceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What one source has said so far.
#[derive(Clone, Debug, Default)]
pub enum Slot {
    /// Nothing yet: its pods are not to be removed.
    #[default]
    Unknown,
    /// All of it, read successfully.
    Known(OrdMap<PodKey, Arc<Declared>>),
    /// The last good reading of a source that cannot be read now: its pods are not to be removed.
    Stale(OrdMap<PodKey, Arc<Declared>>),
}

/// One pod as one source declares it, with everything that follows from it alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared {
    pub key: PodKey,
    pub uid: Uid,
    pub source: SourceKind,
    pub pod: Pod,
    pub places: Places,
    /// Of the sandbox.
    pub fingerprint: Fingerprint,
    /// Of each container: init containers first, then the regular ones.
    pub containers: Vec<Fingerprint>,
    /// Ports that the pod takes on the node.
    pub host_ports: Vec<HostPort>,
}

/// A port of the node that a pod wants.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostPort {
    pub at: NodePort,
    /// The field that asks for it, as a path in the pod.
    pub path: String,
}

/// What is desired on this node. Cheap to clone; two values share what is equal in them.
#[derive(Clone, Debug)]
pub struct Desired {
    pub node: Node,
    slots: OrdMap<SourceKind, Slot>,
    pods: OrdMap<PodKey, Arc<Declared>>,
    /// Which pods claim a node port, in order.
    claims: OrdMap<(Protocol, u16), Vec<PodKey>>,
    /// Seconds that pods may take to stop which were let go with a grace period of their own.
    graces: OrdMap<Uid, u32>,
}

/// A pod that a source declares in vain: another source of higher precedence declares the name too.
#[derive(Clone, Debug)]
pub struct Shadowed {
    pub loser: Arc<Declared>,
    pub winner: Arc<Declared>,
}

impl Declared {
    /// Fills in what follows from the pod alone: uid, digests, node ports.
    pub fn new(node: &Node, source: SourceKind, pod: Pod, places: Places) -> Self {
        let key = PodKey::new(&pod.metadata.namespace, &pod.metadata.name);
        let uid = if pod.metadata.uid.is_empty() {
            fingerprint::derived_uid(&node.name, &key)
        } else {
            Uid(pod.metadata.uid.as_str().into())
        };
        let fingerprint = Fingerprint::of_sandbox(&node.key, &pod.spec);
        let containers =
            all_containers(&pod).map(|c| Fingerprint::of_container(&node.key, &fingerprint, c)).collect();
        let host_ports = host_ports(&pod);
        Self { key, uid, source, pod, places, fingerprint, containers, host_ports }
    }

    /// Every container with its digest, init containers first.
    pub fn containers(&self) -> impl Iterator<Item = (&Container, &Fingerprint)> {
        all_containers(&self.pod).zip(&self.containers)
    }

    /// Where a container is written, as a path: `spec.initContainers[0]`.
    pub fn path_of(&self, index: usize) -> String {
        match index.checked_sub(self.pod.spec.init_containers.len()) {
            None => format!("spec.initContainers[{index}]"),
            Some(regular) => format!("spec.containers[{regular}]"),
        }
    }
}

fn all_containers(pod: &Pod) -> impl Iterator<Item = &Container> {
    pod.spec.init_containers.iter().chain(&pod.spec.containers)
}

/// Ports of regular containers and sidecars: an init container has ended before they matter, and the
/// kubelet's admission counts the same (`k8s.io/component-helpers` `GetHostPorts`).
fn host_ports(pod: &Pod) -> Vec<HostPort> {
    let init = pod.spec.init_containers.iter().enumerate().filter(|(_, c)| c.is_sidecar());
    let init = init.map(|(i, c)| (format!("spec.initContainers[{i}]"), c));
    let regular = pod.spec.containers.iter().enumerate().map(|(i, c)| (format!("spec.containers[{i}]"), c));
    let ports = init.chain(regular).flat_map(|(path, container)| {
        container.ports.iter().enumerate().filter_map(move |(i, port)| {
            let number = port.host_port.filter(|&port| port != 0)?;
            let ip = port.host_ip.as_deref().unwrap_or_default();
            Some(HostPort {
                at: NodePort::new(port.protocol, number, ip),
                path: format!("{path}.ports[{i}].hostPort"),
            })
        })
    });
    ports.collect()
}

impl Slot {
    /// The pods it declares now; none while unknown.
    pub fn pods(&self) -> Option<&OrdMap<PodKey, Arc<Declared>>> {
        match self {
            Slot::Unknown => None,
            Slot::Known(pods) | Slot::Stale(pods) => Some(pods),
        }
    }
}

impl Desired {
    /// Nothing is known yet.
    pub fn new(node: Node) -> Self {
        Self { node, slots: OrdMap::new(), pods: OrdMap::new(), claims: OrdMap::new(), graces: OrdMap::new() }
    }

    /// Replaces what one source says: the source of higher precedence wins a name, and when it lets go of
    /// it the next one has it. Only the names that differ are merged anew.
    pub fn with_slot(&self, source: SourceKind, slot: Slot) -> Self {
        let mut next = self.clone();
        let new = slot.pods().cloned().unwrap_or_default();
        let old = next.slots.insert(source, slot);
        let old = old.as_ref().and_then(Slot::pods).cloned().unwrap_or_default();
        for change in old.diff(&new) {
            let (DiffItem::Add(key, _) | DiffItem::Remove(key, _) | DiffItem::Update { new: (key, _), .. }) =
                change;
            next.settle(key);
        }
        next
    }

    /// Says of pods that were let go how long they may take to stop. Another life of the same name is another pod.
    #[must_use]
    pub fn with_graces(self, graces: OrdMap<Uid, u32>) -> Self {
        Self { graces, ..self }
    }

    /// What [`with_graces`](Desired::with_graces) said of one.
    pub fn grace(&self, uid: &Uid) -> Option<u32> {
        self.graces.get(uid).copied()
    }

    /// Finds the winner of one name.
    fn settle(&mut self, key: &PodKey) {
        let mut claimants = SourceKind::ALL.iter().filter_map(|kind| self.slots.get(kind)?.pods()?.get(key));
        let winner = claimants.next().cloned();
        let before = match &winner {
            Some(winner) => self.pods.insert(key.clone(), winner.clone()),
            None => self.pods.remove(key),
        };
        for port in before.iter().flat_map(|before| &before.host_ports) {
            let port = (port.at.protocol, port.at.number);
            if let Some(claimants) = self.claims.get_mut(&port) {
                claimants.retain(|claimant| claimant != key);
                if claimants.is_empty() {
                    self.claims.remove(&port);
                }
            }
        }
        for port in winner.iter().flat_map(|winner| &winner.host_ports) {
            let claimants = self.claims.entry((port.at.protocol, port.at.number)).or_default();
            if let Err(at) = claimants.binary_search(key) {
                claimants.insert(at, key.clone());
            }
        }
    }

    /// What is declared in vain, by name.
    pub fn shadowed(&self) -> impl Iterator<Item = Shadowed> {
        let declared = self.slots.values().filter_map(Slot::pods).flat_map(|pods| pods.values());
        declared.filter_map(|loser| {
            let winner = self.pods.get(&loser.key).filter(|winner| winner.source != loser.source)?;
            Some(Shadowed { loser: loser.clone(), winner: winner.clone() })
        })
    }

    pub fn pods(&self) -> &OrdMap<PodKey, Arc<Declared>> {
        &self.pods
    }

    pub fn get(&self, key: &PodKey) -> Option<&Arc<Declared>> {
        self.pods.get(key)
    }

    pub fn slot(&self, source: SourceKind) -> &Slot {
        self.slots.get(&source).unwrap_or(&Slot::Unknown)
    }

    /// May pods of this source that nobody declares be removed? Only when it was read, whole, just now.
    pub fn knows(&self, source: SourceKind) -> bool {
        matches!(self.slot(source), Slot::Known(_))
    }

    /// Is this source one of those that are read here, whether it answers or not?
    pub fn reads(&self, source: SourceKind) -> bool {
        self.slots.contains_key(&source)
    }

    /// The other pods that want a node port of this one.
    pub fn rivals(&self, port: &NodePort) -> &[PodKey] {
        let claimants = self.claims.get(&(port.protocol, port.number));
        claimants.filter(|claimants| claimants.len() > 1).map_or(&[], Vec::as_slice)
    }
}
