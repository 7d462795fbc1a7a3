//! Volumes: each has a name of its own and exactly one source that this node has.

use super::metadata::name;
use super::{names, one_of, unique};
use crate::model::quantity::Quantity;
use crate::model::read::report::{Path, Report};
use crate::model::read::schema::volume::VOLUME;
use crate::model::read::schema::{Standing, nearest};
use crate::model::read::tree::{Mark, Node, shortened};

/// Checks the volumes and returns their names, those of wrong ones too: a mount of one is not a second mistake.
pub fn check<'n>(spec: &'n Node<'_>, path: &Path<'_>, report: &mut Report<'_>) -> Vec<&'n str> {
    let path = path.field("volumes");
    let mut seen = Vec::new();
    let mut foreign = Vec::new();
    for (index, volume) in spec.list("volumes").iter().enumerate() {
        let path = path.item(index);
        name(volume, "name", names::label, &path, report);
        unique(volume, "name", &path, &mut seen, report);
        let sources: Vec<_> = VOLUME.names().filter(|name| *name != "name").collect();
        let unreadable = volume.entries().iter().any(|entry| VOLUME.field(&entry.key).is_none());
        if volume.entries().iter().all(|entry| entry.key == "name") || unreadable {
            // No source at all is an emptyDir to Kubernetes; an unknown one is spoken of already.
            continue;
        }
        for (source, node) in one_of(volume, &sources, "source", &path, report) {
            if VOLUME.field(source).is_some_and(|field| field.standing == Standing::ByRule) {
                foreign.push((volume.text_of("name").unwrap_or("?"), source, node.mark));
            }
            of_source(source, node, &path.field(source), report);
        }
    }
    foreign_sources(spec, &foreign, &path, report);
    seen.into_iter().map(|(name, _)| name).collect()
}

/// All sources that this node does not have in one message; a volume that nobody mounts only gets a warning.
fn foreign_sources(
    spec: &Node<'_>,
    foreign: &[(&str, &str, Mark)],
    path: &Path<'_>,
    report: &mut Report<'_>,
) {
    let mounts = |volume: &str| {
        let mut containers = spec.list("containers").iter().chain(spec.list("initContainers"));
        containers.any(|c| c.list("volumeMounts").iter().any(|mount| mount.text_of("name") == Some(volume)))
    };
    let fix = "use hostPath, emptyDir or another source that a lone node has";
    let (used, unused): (Vec<_>, Vec<_>) = foreign.iter().partition(|(volume, _, _)| mounts(volume));
    if let Some((_, source, mark)) = used.first() {
        let message = match used[..] {
            [(volume, source, _)] => {
                format!("volume source {source} is not supported here (volume {volume})")
            }
            _ => {
                let list: Vec<_> =
                    used.iter().map(|(volume, source, _)| format!("{source} ({volume})")).collect();
                format!("volume sources that are not supported here: {}", list.join(", "))
            }
        };
        report.error(*mark, path.field(source), message, fix);
    }
    for (volume, source, mark) in unused {
        let message =
            format!("volume source {source} is not supported here; no container mounts volume {volume}");
        report.warn(mark, path.field(source), message, "remove the volume");
    }
}

fn of_source(source: &str, node: &Node<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    match source {
        "hostPath" => host_path(node, path, report),
        "emptyDir" => empty_dir(node, path, report),
        "projected" => {
            let path = path.field("sources");
            let known = [
                "configMap",
                "secret",
                "downwardAPI",
                "serviceAccountToken",
                "clusterTrustBundle",
                "podCertificate",
            ];
            for (index, source) in node.list("sources").iter().enumerate() {
                one_of(source, &known, "source", &path.item(index), report);
            }
        }
        _ => {}
    }
}

fn host_path(node: &Node<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    let (Some(at), Some(text)) = (node.get("path"), node.text_of("path")) else { return };
    let path = path.field("path");
    if !text.starts_with('/') {
        let message = format!("{path} '{}' is not absolute", shortened(text));
        report.error(at.mark, path, message, "give the absolute path: it is not relative to this file");
    } else if text.split('/').any(|part| part == "..") {
        report.error(
            at.mark,
            path,
            format!("{path} '{text}' must not contain '..'"),
            "name the folder itself",
        );
    }
}

fn empty_dir(node: &Node<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    if let (Some(at), Some(medium)) = (node.get("medium"), node.text_of("medium"))
        && medium != "Memory"
        && !medium.starts_with("HugePages")
    {
        let path = path.field("medium");
        let hint = nearest(medium, ["Memory"].into_iter()).map_or("", |_| "; did you mean Memory?");
        let message = format!("{path} '{medium}' is unknown; use '' (the disk) or Memory{hint}");
        report.error(at.mark, path, message, "medium: Memory");
    }
    if let Some(at) = node.get("sizeLimit")
        && at.written().and_then(Quantity::parse).is_some_and(Quantity::is_negative)
    {
        let path = path.field("sizeLimit");
        report.error(at.mark, path, format!("{path} is less than nothing"), "write a positive number");
    }
}
