//! Node ports: two pods that want the same one are told apart before either starts.

use crate::model::PodKey;
use crate::plan::desired::HostPort;
use crate::plan::scene::Scene;
use crate::plan::{Declared, Role};

/// True, and a wait, when another pod has, or goes before this one for, a node port that this one wants.
///
/// The one that runs keeps its port; otherwise the source of higher precedence, then the earlier name. The
/// kubelet fails the later pod for good (`NodePorts`); here it starts as soon as the port is free.
pub fn are_taken(scene: &mut Scene, declared: &Declared) -> bool {
    if declared.host_ports.is_empty() || is_up(scene, &declared.key) {
        return false;
    }
    let clash = declared.host_ports.iter().find_map(|port| {
        let rivals = scene.desired.rivals(port).iter().filter(|rival| **rival != declared.key);
        let mut rivals = rivals.filter_map(|rival| Some((port, scene.desired.get(rival)?)));
        rivals.find(|(port, rival)| wants(rival, port) && goes_first(scene, rival, declared))
    });
    let Some((port, rival)) = clash else { return false };
    let theirs = rival.host_ports.iter().find(|theirs| theirs.clashes(port));
    let place = theirs.map(|theirs| rival.places.of(&theirs.path).to_string()).unwrap_or_default();
    let address = port.ip.map_or_else(|| "every address".into(), |ip| ip.to_string());
    let message = format!(
        "node port {}/{} on {address} ({}) belongs to pod {} ({place})",
        port.port,
        port.protocol.lower().to_uppercase(),
        declared.places.of(&port.path),
        rival.key,
    );
    scene.wait(None, None, "PortConflict", message);
    true
}

fn wants(rival: &Declared, port: &HostPort) -> bool {
    rival.host_ports.iter().any(|theirs| theirs.clashes(port))
}

fn goes_first(scene: &Scene, rival: &Declared, declared: &Declared) -> bool {
    is_up(scene, &rival.key) || (rival.source, &rival.key) < (declared.source, &declared.key)
}

/// Has it a running sandbox, and so its ports?
fn is_up(scene: &Scene, key: &PodKey) -> bool {
    let pod = scene.observed.pods.get(key);
    pod.is_some_and(|pod| pod.instances.iter().any(|i| i.role == Role::Sandbox && i.is_alive()))
}
