//! Ports of a pod. Host ports between pods are a matter of the planner, which knows all of them.

use super::metadata::name;
use super::names;
use super::unique;
use crate::model::read::report::{Path, Report};
use crate::model::read::tree::{Mark, Node};

struct Taken<'n> {
    container: &'n str,
    port: i64,
    protocol: &'n str,
    ip: &'n str,
    mark: Mark,
}

pub fn check(spec: &Node<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    let host_network = spec.bool_of("hostNetwork") == Some(true);
    let mut taken = Vec::new();
    for list in ["containers", "initContainers"] {
        let path = path.field(list);
        for (index, container) in spec.list(list).iter().enumerate() {
            let sidecar = container.text_of("restartPolicy") == Some("Always");
            // A plain init container is gone before others need its port; a sidecar stays.
            let mut own = Vec::new();
            let taken = if list == "containers" || sidecar { &mut taken } else { &mut own };
            of_container(container, host_network, taken, &path.item(index), report);
        }
    }
}

fn of_container<'n>(
    container: &'n Node<'_>,
    host_network: bool,
    taken: &mut Vec<Taken<'n>>,
    path: &Path<'_>,
    report: &mut Report<'_>,
) {
    let path = path.field("ports");
    let mut names_seen = Vec::new();
    for (index, port) in container.list("ports").iter().enumerate() {
        let path = path.item(index);
        name(port, "name", names::port, &path, report);
        unique(port, "name", &path, &mut names_seen, report);
        name(port, "hostIP", super::network::ip, &path, report);
        let number = port.integer_of("containerPort");
        let written = port.integer_of("hostPort").filter(|&port| port != 0);
        if let (true, Some(host), Some(number), Some(node)) =
            (host_network, written, number, port.get("hostPort"))
            && host != number
        {
            let message = format!(
                "{path}.hostPort {host} must equal containerPort {number}: the pod uses the host's network"
            );
            report.error(
                node.mark,
                path.field("hostPort"),
                message,
                &format!("hostPort: {number}, or remove it"),
            );
        }
        let host = written.or(number.filter(|_| host_network));
        let Some(host) = host else { continue };
        let mark = port.get("hostPort").map_or(port.mark, |node| node.mark);
        let new = Taken {
            container: container.text_of("name").unwrap_or("?"),
            port: host,
            protocol: port.text_of("protocol").unwrap_or("TCP"),
            ip: port.text_of("hostIP").unwrap_or(""),
            mark,
        };
        match taken.iter().find(|old| clash(old, &new)) {
            Some(old) => {
                let message = format!(
                    "hostPort {}/{} is already used by container {} (line {})",
                    new.port, new.protocol, old.container, old.mark.line
                );
                report.error(
                    mark,
                    path.field("hostPort"),
                    message,
                    "declare a port once for the whole pod, or take another",
                );
            }
            None => taken.push(new),
        }
    }
}

/// Same port and protocol, and the same address or one that means all of them.
fn clash(a: &Taken<'_>, b: &Taken<'_>) -> bool {
    let all = |ip: &str| matches!(ip, "" | "0.0.0.0" | "::");
    a.port == b.port && a.protocol == b.protocol && (a.ip == b.ip || all(a.ip) || all(b.ip))
}
