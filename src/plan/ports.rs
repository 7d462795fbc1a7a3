//! Node ports: two pods that want the same one are told apart before either starts.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::model::PodKey;
use crate::model::pod::Protocol;
use crate::plan::config::PortBinding;
use crate::plan::desired::HostPort;
use crate::plan::scene::Scene;
use crate::plan::{Declared, PodObserved, Role};

/// A port of the node, on one of its addresses or on all of them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct NodePort {
    pub protocol: Protocol,
    pub number: u16,
    /// `None` is every address.
    pub ip: Option<IpAddr>,
}

impl NodePort {
    /// `ip` as manifests and engines write it: nothing, `0.0.0.0` and `::` are every address.
    pub fn new(protocol: Protocol, number: u16, ip: &str) -> Self {
        let ip = ip.parse().ok().filter(|ip: &IpAddr| !ip.is_unspecified());
        Self { protocol, number, ip }
    }

    /// Of a container's configuration: in order, each once.
    pub fn of(bindings: &[PortBinding]) -> Vec<NodePort> {
        in_order(bindings.iter().map(|b| Self::new(b.protocol, b.host_port, &b.host_ip)).collect())
    }

    /// Two claims clash when protocol and port are equal and one address covers the other.
    pub fn clashes(&self, other: &NodePort) -> bool {
        let addresses = self.ip.is_none() || other.ip.is_none() || self.ip == other.ip;
        self.protocol == other.protocol && self.number == other.number && addresses
    }
}

/// In order, each once: an engine lists a port on every address twice, for IPv4 and IPv6.
pub fn in_order(mut ports: Vec<NodePort>) -> Vec<NodePort> {
    ports.sort();
    ports.dedup();
    ports
}

/// True, and a wait, when another pod has, or goes before this one for, a node port that this one wants.
///
/// The one that runs keeps its port, also one that is on its way out; otherwise the source of higher
/// precedence, then the earlier name. The kubelet fails the later pod for good (`NodePorts`); here it starts
/// as soon as the port is free.
pub fn are_taken(scene: &mut Scene, declared: &Declared) -> bool {
    if declared.host_ports.is_empty() || is_up(scene, &declared.key) {
        return false;
    }
    let Some(message) = rival(scene, declared).or_else(|| holder(scene, declared)) else { return false };
    scene.wait(None, None, "PortConflict", message);
    true
}

/// A pod that is declared, too.
fn rival(scene: &Scene, declared: &Declared) -> Option<String> {
    let (port, rival) = declared.host_ports.iter().find_map(|port| {
        let rivals = scene.desired.rivals(&port.at).iter().filter(|rival| **rival != declared.key);
        let mut rivals = rivals.filter_map(|rival| scene.desired.get(rival));
        let rival = rivals.find(|rival| wants(rival, port) && goes_first(scene, rival, declared))?;
        Some((port, rival))
    })?;
    let theirs = rival.host_ports.iter().find(|theirs| theirs.at.clashes(&port.at));
    let place = theirs.map(|theirs| rival.places.of(&theirs.path).to_string()).unwrap_or_default();
    Some(format!("{} belongs to pod {} ({place})", said(declared, port), rival.key))
}

/// A pod that runs and will not for long: nobody declares it any more, or not with this port.
fn holder(scene: &Scene, declared: &Declared) -> Option<String> {
    let others = scene.observed.pods.iter().filter(|(key, _)| **key != declared.key);
    others.into_iter().find_map(|(key, pod)| {
        let held = held(pod);
        let port = declared.host_ports.iter().find(|port| held.clone().any(|held| held.clashes(&port.at)))?;
        Some(format!("{} is still held by pod {key}, which is to give it up", said(declared, port)))
    })
}

fn held(pod: &PodObserved) -> impl Iterator<Item = &NodePort> + Clone {
    pod.instances
        .iter()
        .take_while(|i| i.role == Role::Sandbox)
        .filter(|i| i.is_alive())
        .flat_map(|i| &i.ports)
}

fn said(declared: &Declared, port: &HostPort) -> String {
    let NodePort { protocol, number, ip } = &port.at;
    let address = ip.map_or_else(|| "every address".into(), |ip| ip.to_string());
    let place = declared.places.of(&port.path);
    format!("node port {number}/{} on {address} ({place})", protocol.lower().to_uppercase())
}

fn wants(rival: &Declared, port: &HostPort) -> bool {
    rival.host_ports.iter().any(|theirs| theirs.at.clashes(&port.at))
}

fn goes_first(scene: &Scene, rival: &Declared, declared: &Declared) -> bool {
    is_up(scene, &rival.key) || (rival.source, &rival.key) < (declared.source, &declared.key)
}

/// Has it a running sandbox, and so its ports?
fn is_up(scene: &Scene, key: &PodKey) -> bool {
    let pod = scene.observed.pods.get(key);
    pod.is_some_and(|pod| pod.instances.iter().any(|i| i.role == Role::Sandbox && i.is_alive()))
}
