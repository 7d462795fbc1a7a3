//! Probes and lifecycle hooks.

use super::{Context, one_of};
use crate::model::read::report::{Path, Report};
use crate::model::read::rules::names;
use crate::model::read::tree::Node;

/// `plain_init`: an init container that is no sidecar, which has neither probes nor hooks.
pub fn check(
    container: &Node<'_>,
    plain_init: bool,
    pod: &Context<'_, '_>,
    path: &Path<'_>,
    report: &mut Report<'_>,
) {
    for key in ["livenessProbe", "readinessProbe", "startupProbe", "lifecycle"] {
        let Some(node) = container.get(key).filter(|node| !node.asks_for_nothing()) else { continue };
        let path = path.field(key);
        if plain_init {
            let message = format!("{path} is not allowed on an init container that runs to its end");
            report.error(node.mark, path, message, "remove it, or make it a sidecar: restartPolicy: Always");
        }
        if key == "lifecycle" {
            lifecycle(node, container, pod, &path, report);
        } else {
            probe(node, key, container, &path, report);
        }
    }
}

fn probe(node: &Node<'_>, key: &str, container: &Node<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    for (name, handler) in one_of(node, &["exec", "httpGet", "tcpSocket", "grpc"], "handler", path, report) {
        self::handler(name, handler, container, &path.field(name), report);
    }
    if let (Some(at), Some(count)) = (node.get("successThreshold"), node.integer_of("successThreshold"))
        && key != "readinessProbe"
        && count != 1
    {
        let path = path.field("successThreshold");
        report.error(at.mark, path, format!("{path} is {count}, must be 1 here"), "successThreshold: 1");
    }
    if let Some(at) = node.get("terminationGracePeriodSeconds")
        && key == "readinessProbe"
    {
        let path = path.field("terminationGracePeriodSeconds");
        report.error(
            at.mark,
            path,
            format!("{path} is not allowed: a readiness probe stops nothing"),
            "remove it",
        );
    }
}

fn lifecycle(
    node: &Node<'_>,
    container: &Node<'_>,
    pod: &Context<'_, '_>,
    path: &Path<'_>,
    report: &mut Report<'_>,
) {
    let grace = pod.spec.integer_of("terminationGracePeriodSeconds").unwrap_or(30);
    for hook in ["postStart", "preStop"] {
        let Some(hook_node) = node.get(hook) else { continue };
        let path = path.field(hook);
        let known = ["exec", "httpGet", "sleep", "tcpSocket"];
        for (name, handler) in one_of(hook_node, &known, "handler", &path, report) {
            let path = path.field(name);
            match (name, handler.integer_of("seconds")) {
                ("tcpSocket", _) => {
                    let message =
                        format!("{path} never worked in a hook: Kubernetes accepts it and then fails it");
                    report.error(handler.mark, path, message, "use exec, httpGet or sleep");
                }
                ("sleep", Some(seconds)) if seconds > grace => {
                    let message =
                        format!("{path} is {seconds} s, longer than terminationGracePeriodSeconds ({grace})");
                    report.error(handler.mark, path, message, "shorten it, or raise the grace period");
                }
                (_, _) => self::handler(name, handler, container, &path, report),
            }
        }
    }
    if let Some(signal) = node.get("stopSignal")
        && pod.spec.get("os").is_none()
    {
        let path = path.field("stopSignal");
        report.error(
            signal.mark,
            path,
            format!("{path} needs spec.os.name"),
            "add os: {name: linux} to spec",
        );
    }
}

fn handler(name: &str, node: &Node<'_>, container: &Node<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    match name {
        "exec" if node.list("command").is_empty() => {
            let path = path.field("command");
            report.error(
                node.mark,
                path,
                format!("{path} is required"),
                "command: [\"cat\", \"/tmp/healthy\"]",
            );
        }
        "httpGet" | "tcpSocket" => {
            port(node, container, path, report);
            headers(node, path, report);
        }
        _ => {}
    }
}

/// A number, or the name of one of the container's ports.
fn port(node: &Node<'_>, container: &Node<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    let Some(port) = node.get("port") else { return };
    let path = path.field("port");
    if let Some(number) = port.as_integer() {
        if !(1..=65535).contains(&number) {
            report.error(port.mark, path, format!("{path} is {number}, must be from 1 to 65535"), "");
        }
        return;
    }
    let Some(name) = port.as_text() else { return };
    if let Some(bad) = names::port(name) {
        report.error(port.mark, path, format!("{path} '{name}' {}", bad.what), &bad.fix);
    } else if !container.list("ports").iter().any(|port| port.text_of("name") == Some(name)) {
        let message = format!("{path} '{name}' is the name of no port of this container: it can only fail");
        report.warn(port.mark, path, message, "name one under ports:, or write the number");
    }
}

fn headers(node: &Node<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    let path = path.field("httpHeaders");
    for (index, header) in node.list("httpHeaders").iter().enumerate() {
        let path = path.item(index);
        let path = path.field("name");
        let (Some(at), Some(name)) = (header.get("name"), header.text_of("name")) else { continue };
        if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
            report.error(at.mark, path, format!("{path} '{name}' must be letters, digits and '-'"), "X-Name");
        }
    }
}
