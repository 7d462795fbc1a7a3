//! Security contexts, shared namespaces, kernel settings.

use crate::model::read::report::{Path, Report};
use crate::model::read::tree::Node;

pub fn check_pod(spec: &Node<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    if spec.bool_of("hostPID") == Some(true)
        && spec.bool_of("shareProcessNamespace") == Some(true)
        && let Some(node) = spec.get("shareProcessNamespace")
    {
        let message = "spec.shareProcessNamespace and spec.hostPID cannot both be true";
        report.error(node.mark, path.field("shareProcessNamespace"), message, "keep one");
    }
    let Some(context) = spec.get("securityContext") else { return };
    let path = path.field("securityContext");
    profile(context, &path, report);
    let path = path.field("sysctls");
    let mut seen = Vec::new();
    for (index, sysctl) in context.list("sysctls").iter().enumerate() {
        let path = path.item(index);
        super::unique(sysctl, "name", &path, &mut seen, report);
        let (Some(at), Some(name)) = (sysctl.get("name"), sysctl.text_of("name")) else { continue };
        if let Some(what) = sysctl_complaint(name, spec) {
            let path = path.field("name");
            report.error(at.mark, path, format!("{path} '{name}' {what}"), "set it on the machine instead");
        }
    }
}

/// Only settings that a namespace of the pod's own has can be set for a pod.
fn sysctl_complaint(name: &str, spec: &Node<'_>) -> Option<&'static str> {
    // '/' may part the words as well as '.'.
    let dotted = name.replace('/', ".");
    let word = |part: &str| {
        let ends = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        part.starts_with(ends)
            && part.ends_with(ends)
            && part.chars().all(|c| ends(c) || c == '-' || c == '_')
    };
    if name.len() > 253 || !dotted.split('.').all(word) {
        return Some("is not the name of a kernel setting");
    }
    let is = |flag: &str| spec.bool_of(flag) == Some(true);
    if dotted.starts_with("net.") {
        return is("hostNetwork").then_some("would change the host's network, which this pod shares");
    }
    let ipc = ["kernel.shm", "kernel.msg", "kernel.sem", "fs.mqueue."];
    if ipc.iter().any(|prefix| dotted.starts_with(prefix)) {
        return is("hostIPC").then_some("would change the host's IPC, which this pod shares");
    }
    Some("belongs to the whole machine, not to a pod")
}

pub fn check_container(container: &Node<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    let Some(context) = container.get("securityContext") else { return };
    let path = path.field("securityContext");
    profile(context, &path, report);
    let Some(node) = context.get("allowPrivilegeEscalation").filter(|node| node.as_bool() == Some(false))
    else {
        return;
    };
    let capabilities = context.get("capabilities");
    let admin = capabilities.is_some_and(|c| {
        c.list("add").iter().any(|word| matches!(word.as_text(), Some("CAP_SYS_ADMIN" | "SYS_ADMIN")))
    });
    let because = match (context.bool_of("privileged"), admin) {
        (Some(true), _) => "a privileged container",
        (_, true) => "the capability SYS_ADMIN",
        (_, false) => return,
    };
    let path = path.field("allowPrivilegeEscalation");
    report.error(node.mark, path, format!("{path}: false does not go with {because}"), "keep one of them");
}

/// `Localhost` needs a profile's name, and nothing else may have one.
fn profile(context: &Node<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    for key in ["seccompProfile", "appArmorProfile"] {
        let Some(node) = context.get(key) else { continue };
        let path = path.field(key);
        let (local, named) = (node.text_of("type") == Some("Localhost"), node.get("localhostProfile"));
        match (local, named) {
            (true, None) => {
                report.error(
                    node.mark,
                    path,
                    format!("{path}.localhostProfile is required with type Localhost"),
                    "",
                );
            }
            (false, Some(named)) => {
                let path = path.field("localhostProfile");
                report.error(
                    named.mark,
                    path,
                    format!("{path} is only for type Localhost"),
                    "type: Localhost",
                );
            }
            (true, Some(_)) | (false, None) => {}
        }
    }
}
