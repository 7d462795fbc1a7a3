//! One container: its name, image, environment and mounts.

use super::metadata::name;
use super::names::{self, Complaint};
use super::{Context, not_yet, one_of, probe, resources, security, unique};
use crate::model::image::Image;
use crate::model::read::report::{Path, Report};
use crate::model::read::tree::{Node, Value, shortened};

pub fn check(node: &Node<'_>, init: bool, pod: &Context<'_, '_>, path: &Path<'_>, report: &mut Report<'_>) {
    if !matches!(node.value, Value::Map(_)) {
        return;
    }
    name(node, "name", names::label, path, report);
    name(node, "image", image, path, report);
    let sidecar = restart_policy(node, init, path, report);
    environment(node, path, report);
    mounts(node, pod, path, report);
    resources::check(node, path, report);
    security::check_container(node, path, report);
    probe::check(node, init && !sidecar, pod, path, report);
}

fn image(text: &str) -> Option<Complaint> {
    let reason = Image::parse(text).err()?;
    Some(Complaint {
        what: format!("is not an image reference: {reason}"),
        fix: "registry.example/name:tag".into(),
    })
}

/// Only on init containers, and there only `Always`, which makes a sidecar of it.
fn restart_policy(node: &Node<'_>, init: bool, path: &Path<'_>, report: &mut Report<'_>) -> bool {
    let Some((value, text)) = node.get("restartPolicy").zip(node.text_of("restartPolicy")) else {
        return false;
    };
    let path = path.field("restartPolicy");
    match (init, text) {
        (true, "Always") => return true,
        (true, "OnFailure" | "Never") | (false, "Always" | "OnFailure" | "Never") => {
            not_yet(report, value.mark, &path);
        }
        (true | false, _) => {}
    }
    false
}

fn environment(node: &Node<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    let env = path.field("env");
    for (index, variable) in node.list("env").iter().enumerate() {
        let path = env.item(index);
        name(variable, "name", names::variable, &path, report);
        let Some(source) = variable.get("valueFrom") else { continue };
        let path_from = path.field("valueFrom");
        if let Some(value) = variable.get("value").filter(|value| value.as_text() != Some("")) {
            let message = format!("{path} has both value (line {}) and valueFrom", value.mark.line);
            report.error(source.mark, path_from, message, "keep one");
        }
        let known = ["fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef"];
        one_of(source, &known, "source", &path_from, report);
    }
    let from = path.field("envFrom");
    for (index, source) in node.list("envFrom").iter().enumerate() {
        let path = from.item(index);
        name(source, "prefix", names::variable, &path, report);
        one_of(source, &["configMapRef", "secretRef"], "source", &path, report);
    }
}

fn mounts(node: &Node<'_>, pod: &Context<'_, '_>, path: &Path<'_>, report: &mut Report<'_>) {
    let privileged =
        node.get("securityContext").and_then(|context| context.bool_of("privileged")) == Some(true);
    let path = path.field("volumeMounts");
    let mut seen = Vec::new();
    for (index, mount) in node.list("volumeMounts").iter().enumerate() {
        let path = path.item(index);
        unique(mount, "mountPath", &path, &mut seen, report);
        if let (Some(at), Some(volume)) = (mount.get("name"), mount.text_of("name"))
            && !pod.volumes.contains(&volume)
        {
            let path = path.field("name");
            let message = format!("{path} '{}' is no volume of this pod", shortened(volume));
            let known = if pod.volumes.is_empty() { "none".into() } else { pod.volumes.join(", ") };
            report.error(at.mark, path, message, &format!("add it under spec.volumes (there: {known})"));
        }
        if let (Some(at), Some(target)) = (mount.get("mountPath"), mount.text_of("mountPath"))
            && target.contains(':')
        {
            let path = path.field("mountPath");
            let message = format!(
                "{path} '{}' has a ':': mount options like :Z are Podman's, not Kubernetes'",
                shortened(target)
            );
            let bare = target.split(':').next().unwrap_or_default();
            report.error(at.mark, path, message, &format!("mountPath: {bare}"));
        }
        sub_path(mount, &path, report);
        propagation(mount, privileged, &path, report);
    }
}

fn sub_path(mount: &Node<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    for key in ["subPath", "subPathExpr"] {
        let (Some(at), Some(text)) = (mount.get(key), mount.text_of(key)) else { continue };
        let path = path.field(key);
        if text.starts_with('/') {
            report.error(
                at.mark,
                path,
                format!("{path} '{text}' must be relative to the volume"),
                "take the first '/' off",
            );
        }
        if text.split('/').any(|part| part == "..") {
            report.error(
                at.mark,
                path,
                format!("{path} '{text}' must not leave the volume by '..'"),
                "name the folder itself",
            );
        }
    }
    if let (Some(first), Some(second)) = (mount.get("subPath"), mount.get("subPathExpr"))
        && !first.asks_for_nothing()
        && !second.asks_for_nothing()
    {
        let message = format!("{path} has both subPath (line {}) and subPathExpr", first.mark.line);
        report.error(second.mark, path.field("subPathExpr"), message, "keep one");
    }
}

fn propagation(mount: &Node<'_>, privileged: bool, path: &Path<'_>, report: &mut Report<'_>) {
    let propagation = mount.text_of("mountPropagation");
    if propagation == Some("Bidirectional")
        && !privileged
        && let Some(node) = mount.get("mountPropagation")
    {
        let path = path.field("mountPropagation");
        let message = format!("{path} Bidirectional needs a privileged container");
        report.error(node.mark, path, message, "HostToContainer, or securityContext: {privileged: true}");
    }
    if mount.text_of("recursiveReadOnly").is_some_and(|word| word != "Disabled")
        && let Some(node) = mount.get("recursiveReadOnly")
    {
        let path = path.field("recursiveReadOnly");
        if mount.bool_of("readOnly") != Some(true) {
            report.error(node.mark, path, format!("{path} needs readOnly: true"), "add readOnly: true");
        }
        if propagation.is_some_and(|word| word != "None") {
            report.error(
                node.mark,
                path,
                format!("{path} does not go with mountPropagation"),
                "remove mountPropagation",
            );
        }
    }
}
