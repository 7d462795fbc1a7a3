//! Node ports that two pods of one set want: each manifest is right, and only one of the pods can run.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::model::PodKey;
use crate::model::diagnosis::{Diagnosis, Severity};
use crate::model::read::Reading;
use crate::plan::desired::HostPort;
use crate::plan::{Declared, Desired, Node, Slot, SourceKind};

/// One warning for each port that an earlier pod wants too, with the reading that it belongs to.
pub fn find(readings: &[Reading]) -> Vec<(usize, Diagnosis)> {
    // Ports depend neither on the node nor on its key.
    let node = Node { name: "".into(), key: [0; 16], sandbox_image: "".into() };
    let pods =
        readings.iter().enumerate().flat_map(|(at, reading)| reading.pods.iter().map(move |pod| (at, pod)));
    let declared: Vec<(usize, Arc<Declared>)> = pods
        .filter_map(|(at, read)| Some((at, read.pod.clone()?, read.places.clone())))
        .map(|(at, pod, places)| (at, Arc::new(Declared::new(&node, SourceKind::File, pod, places))))
        .collect();
    let order: BTreeMap<&PodKey, usize> =
        declared.iter().enumerate().map(|(place, (_, pod))| (&pod.key, place)).collect();
    let all = declared.iter().map(|(_, pod)| (pod.key.clone(), pod.clone())).collect();
    let desired = Desired::new(node).with_slot(SourceKind::File, Slot::Known(all));
    let mut found = Vec::new();
    for (at, pod) in &declared {
        for port in &pod.host_ports {
            let earlier =
                desired.rivals(&port.at).iter().filter(|rival| order.get(rival) < order.get(&pod.key));
            let clash = earlier.filter_map(|rival| desired.get(rival)).find_map(|rival| {
                let theirs = rival.host_ports.iter().find(|theirs| theirs.at.clashes(&port.at))?;
                Some(warning(pod, port, rival, theirs))
            });
            found.extend(clash.map(|clash| (*at, clash)));
        }
    }
    found
}

fn warning(pod: &Declared, port: &HostPort, rival: &Declared, theirs: &HostPort) -> Diagnosis {
    Diagnosis {
        severity: Severity::Warning,
        place: pod.places.of(&port.path),
        field: port.path.clone(),
        message: format!(
            "port {}/{} of the node is wanted by pod {} at {} too: only one of them can run",
            port.at.number,
            port.at.protocol.lower(),
            rival.key,
            rival.places.of(&theirs.path)
        ),
        fix: Some("give one of them another hostPort".to_owned()),
        source_line: String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::read::{Options, read};

    fn pod(name: &str, ports: &str) -> String {
        format!(
            "---\napiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\nspec:\n  containers:\n  - name: c\n    \
             image: x\n    ports: [{ports}]\n"
        )
    }

    #[test]
    fn the_later_pod_is_warned_of_with_both_places() {
        let port = |more: &str| format!("{{containerPort: 80, hostPort: 8080{more}}}");
        let files = [
            ("b.yaml", pod("b", &port("")) + &pod("udp", &port(", protocol: UDP"))),
            ("a.yaml", pod("a", &port(", hostIP: 10.0.0.1")) + &pod("free", "{containerPort: 80}")),
        ];
        let readings = files.map(|(name, text)| read(name, text.as_bytes(), &Options::default()));
        let told: Vec<_> = find(&readings)
            .into_iter()
            .map(|(at, diagnosis)| format!("{at} {}: {}", diagnosis.place, diagnosis.message))
            .collect();
        assert_eq!(
            told,
            [
                "1 a.yaml:9:33: port 8080/tcp of the node is wanted by pod default/b at b.yaml:9:33 too: only one of \
              them can run"
            ]
        );
    }
}
