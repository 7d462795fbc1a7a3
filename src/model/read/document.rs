//! One document: which kind it is, and what becomes of it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::report::{ROOT, Report, key_of, write_field};
use super::rules::{self, names};
use super::schema::other::LIST;
use super::schema::pod::POD;
use super::schema::{nearest, walk};
use super::text::Document;
use super::tree::{Entry, Mark, Node, Value, shortened};
use super::{Options, ReadPod, Reading, build, json, legacy, load, secret, syntax};
use crate::model::{Places, PodKey};

/// Kinds that later versions bring.
const COMING: [&str; 8] = [
    "ConfigMap",
    "PersistentVolumeClaim",
    "Deployment",
    "ReplicaSet",
    "StatefulSet",
    "DaemonSet",
    "Job",
    "CronJob",
];

/// Reads one document and adds its pods.
pub fn read(
    document: &Document<'_>,
    strict_json: bool,
    report: &mut Report<'_>,
    options: &Options,
    reading: &mut Reading,
) {
    let (errors, said) = (report.errors, report.diagnoses.len());
    let is_json = json::check(document, strict_json, report);
    let loaded = load::load(document.text, document.lines_before);
    if let Some(error) = &loaded.syntax
        && is_json
    {
        syntax::explain(error, document, report);
    }
    for fault in loaded.faults {
        // An unrendered '{{ … }}' is also a strange key: said once.
        if loaded.syntax.is_none() || !report.has_error_on_line(fault.mark.line) {
            report.error(fault.mark, ROOT, fault.message, fault.fix.as_deref().unwrap_or(""));
        }
    }
    let mut reader = Reader { report, options, reading, spoilt: false, secret: false, errors };
    if loaded.syntax.is_some() || loaded.abandoned {
        // What could be read still tells which pod this is, so that its last good version is kept.
        reader.give_up(loaded.root.as_ref());
    } else if let Some(root) = loaded.root {
        reader.spoilt = reader.report.errors > errors;
        reader.value(root, None);
    }
    if reader.secret {
        secret::hide(&mut report.diagnoses[said..]);
    }
}

/// The first document of a name wins; every further one is refused, with both places named.
pub fn refuse_duplicates(pods: &mut [ReadPod], report: &mut Report<'_>) {
    let mut seen: BTreeMap<PodKey, u32> = BTreeMap::new();
    for read in pods {
        let Some(key) = &read.key else { continue };
        let place = read.places.of("metadata.name");
        let Some(first) = seen.get(key) else {
            seen.insert(key.clone(), place.line);
            continue;
        };
        let mark = Mark { line: place.line, column: place.column };
        let message = format!("pod {key} is declared twice (first at line {first})");
        report.error(mark, "metadata.name", message, "rename or remove one of them");
        read.pod = None;
    }
}

struct Reader<'r, 'a, 'o> {
    report: &'r mut Report<'a>,
    options: &'o Options,
    reading: &'r mut Reading,
    /// The document is wrong as YAML already: its pods are judged but not used.
    spoilt: bool,
    /// It is or holds a Secret, whose values must not be shown.
    secret: bool,
    /// Errors before the object that is being read.
    errors: usize,
}

impl Reader<'_, '_, '_> {
    /// A whole document, or one item of a list. `kind` is what the list says its items are.
    fn value(&mut self, node: Node<'_>, kind: Option<&str>) {
        match &node.value {
            Value::Scalar(_) if node.is_null() => {}
            Value::Scalar(_) => {
                let message = format!("this is {}, not a manifest", node.described());
                self.report.error(
                    node.mark,
                    ROOT,
                    message,
                    "apiVersion: v1, kind: Pod, metadata: …, spec: …",
                );
                self.give_up(None);
            }
            Value::List(_) => {
                let Value::List(items) = node.value else { return };
                self.reading.listed = true;
                for item in items {
                    self.value(item, kind);
                }
            }
            Value::Map(_) => self.object(node, kind),
        }
    }

    fn object(&mut self, node: Node<'_>, inherited: Option<&str>) {
        self.errors = self.report.errors;
        let version = node.get("version").filter(|_| node.get("apiVersion").is_none());
        let kind = node.get("kind").and_then(Node::written).or(inherited).map(str::to_owned);
        if kind.is_none()
            && let Some((mark, field, message, fix)) = of_another_tool(&node)
        {
            self.report.error(mark, field, message, fix);
            return self.give_up(None);
        }
        match (version, kind) {
            (Some(version), None) => match version.written() {
                Some("v1beta1" | "v1beta2") => self.container_manifest(node),
                _ => {
                    let text = version.written().unwrap_or("");
                    let message = format!(
                        "version '{}' is unknown; supported: v1beta1, v1beta2 (or apiVersion: v1)",
                        shortened(text)
                    );
                    self.report.error(version.mark, "version", message, "version: v1beta2");
                    self.give_up(Some(&node));
                }
            },
            (Some(version), Some(kind)) => {
                let message =
                    "'version:' should be 'apiVersion:', because kind and spec are those of a v1 object";
                self.report.warn(version.mark, "version", message, "apiVersion: v1");
                let node = renamed(node, "version", "apiVersion");
                self.kind(node, &kind);
            }
            (None, Some(kind)) => {
                if node.get("apiVersion").is_none() && inherited.is_none() {
                    self.report.error(node.mark, "apiVersion", "apiVersion is missing", "apiVersion: v1");
                }
                self.kind(node, &kind);
            }
            (None, None) => self.nameless(node),
        }
    }

    /// Neither kind nor version: a konlet declaration, or a mistake.
    fn nameless(&mut self, node: Node<'_>) {
        let bare = node.entries().iter().all(|entry| entry.key == "spec" || entry.key.starts_with("x-"));
        if node.get("spec").is_some() && bare {
            let name = derived_name(node.get("spec"), &self.report.file);
            let message =
                format!("no apiVersion, kind and metadata: read as a konlet declaration of pod '{name}'");
            self.report.note(node.mark, ROOT, message, "");
            let node = with_name(node, name);
            return self.pod(&node);
        }
        let like_a_pod = node.get("spec").is_some() || node.get("containers").is_some();
        if node.get("apiVersion").is_none() {
            self.report.error(node.mark, "apiVersion", "apiVersion is missing", "apiVersion: v1");
        }
        self.report.error(node.mark, "kind", "kind is missing", "kind: Pod");
        if like_a_pod { self.pod(&node) } else { self.give_up(None) }
    }

    fn kind(&mut self, node: Node<'_>, kind: &str) {
        let mark = node.get("kind").map_or(node.mark, |node| node.mark);
        match kind {
            "Pod" => {
                self.api_version(&node);
                self.pod(&node);
            }
            "PodList" | "List" => {
                self.api_version(&node);
                walk::check(&node, &LIST, &ROOT, self.report, self.options);
                let inherited = (kind == "PodList").then_some("Pod");
                let Value::Map(entries) = node.value else { return };
                for items in entries.into_iter().filter(|entry| entry.key == "items") {
                    let Value::List(items) = items.value.value else { continue };
                    self.reading.listed = true;
                    for item in items {
                        self.value(item, inherited);
                    }
                }
            }
            "Secret" => {
                self.secret = true;
                secret::check(&node, self.report, self.options);
                self.coming(mark, kind);
            }
            _ if COMING.contains(&kind) => self.coming(mark, kind),
            _ => self.other(mark, kind),
        }
    }

    fn coming(&mut self, mark: Mark, kind: &str) {
        let fix = "declare a Pod, or wait for a version that has it";
        self.report.error(mark, "kind", format!("not supported yet: kind {kind}"), fix);
    }

    fn other(&mut self, mark: Mark, kind: &str) {
        let known = ["Pod", "PodList", "List", "Secret"].into_iter().chain(COMING);
        match nearest(kind, known) {
            Some(near) => {
                let message = format!("kind '{}' is unknown; did you mean {near}?", shortened(kind));
                self.report.error(mark, "kind", message, &format!("kind: {near}"));
                self.give_up(None);
            }
            None => {
                let message = format!("kind {} is not something this agent runs: skipped", shortened(kind));
                self.report.note(mark, "kind", message, "");
            }
        }
    }

    fn api_version(&mut self, node: &Node<'_>) {
        let Some(version) = node.get("apiVersion") else { return };
        match version.written() {
            Some("v1") => {}
            Some("v1beta3") => {
                let message = "apiVersion v1beta3 is of 2015 and read as v1";
                self.report.note(version.mark, "apiVersion", message, "apiVersion: v1");
            }
            text => {
                let message =
                    format!("apiVersion '{}' is unknown for this kind", shortened(text.unwrap_or("")));
                self.report.error(version.mark, "apiVersion", message, "apiVersion: v1");
            }
        }
    }

    fn container_manifest(&mut self, node: Node<'_>) {
        let old = self.report.diagnoses.len();
        legacy::check(&node, self.report, self.options);
        let new = self.report.diagnoses.len();
        let name = derived_name(Some(&node), &self.report.file);
        let pod = legacy::into_pod(node, name);
        self.pod(&pod);
        // What was said in the old words is not said again in the new ones.
        let again = self.report.diagnoses.split_off(new);
        let said: Vec<_> = self.report.diagnoses[old..].iter().map(|said| said.place.clone()).collect();
        self.report.diagnoses.extend(again.into_iter().filter(|again| !said.contains(&again.place)));
    }

    fn pod(&mut self, node: &Node<'_>) {
        walk::check(node, &POD, &ROOT, self.report, self.options);
        rules::check(node, self.report, self.options);
        let good = self.report.errors == self.errors && !self.spoilt;
        let mut places = Places { file: self.report.file.clone(), fields: BTreeMap::new() };
        note_places(node, &mut String::new(), &mut places);
        self.reading.pods.push(ReadPod { key: key_of(node), pod: good.then(|| build::pod(node)), places });
    }

    /// Adds a document of which no pod can be made.
    fn give_up(&mut self, root: Option<&Node<'_>>) {
        self.secret |= root.and_then(|root| root.text_of("kind")) == Some("Secret");
        let mut places = Places { file: self.report.file.clone(), fields: BTreeMap::new() };
        if let Some(root) = root {
            note_places(root, &mut String::new(), &mut places);
        }
        self.reading.pods.push(ReadPod { key: root.and_then(key_of), pod: None, places });
    }
}

/// `path` is the node's own, and is given back as it was: one text is used for all of them.
fn note_places(node: &Node<'_>, path: &mut String, places: &mut Places) {
    places.fields.insert(path.as_str().into(), (node.mark.line, node.mark.column));
    let own = path.len();
    // No field of a pod lies that deep; long keys over many items must not multiply.
    if own > 1000 {
        return;
    }
    for Entry { key, value } in node.entries() {
        // Writing to a String cannot fail.
        let _ = write_field(path, own == 0, key);
        note_places(value, path, places);
        path.truncate(own);
    }
    for (index, item) in node.items().iter().enumerate() {
        let _ = write!(path, "[{index}]");
        note_places(item, path, places);
        path.truncate(own);
    }
}

fn renamed<'a>(mut node: Node<'a>, old: &str, new: &'static str) -> Node<'a> {
    if let Value::Map(entries) = &mut node.value {
        for entry in entries.iter_mut().filter(|entry| entry.key == old) {
            entry.key = Cow::Borrowed(new);
        }
    }
    node
}

/// The name of a pod that was given none: that of its first container, otherwise that of the file.
fn derived_name(spec: Option<&Node<'_>>, file: &str) -> String {
    let container = spec.and_then(|spec| spec.list("containers").first()?.text_of("name"));
    let stem = file.rsplit('/').next().unwrap_or(file).split('.').next().unwrap_or("");
    let names = [container.unwrap_or(""), stem, "pod"];
    names
        .into_iter()
        .map(|name| names::proposal(name, 63, ""))
        .find(|name| !name.is_empty())
        .unwrap_or_default()
}

fn with_name(mut node: Node<'_>, name: String) -> Node<'_> {
    let mark = node.mark;
    let name = Entry { key: Cow::Borrowed("name"), value: Node::text(mark, name) };
    let metadata = Entry { key: Cow::Borrowed("metadata"), value: Node::map(mark, vec![name]) };
    if let Value::Map(entries) = &mut node.value {
        entries.insert(0, metadata);
    }
    node
}

/// Files that people put beside manifests, told by the key that only they have.
fn of_another_tool(node: &Node<'_>) -> Option<(Mark, &'static str, &'static str, &'static str)> {
    let others = [
        (
            "workloads",
            "this is an Ankaios state file (workloads), not a manifest",
            "give the inner text of runtimeConfig.manifest as a file of its own",
        ),
        (
            "services",
            "this is a compose file (services), not a Kubernetes manifest",
            "write each service as a Pod: kind: Pod, spec.containers with image, command, env and ports",
        ),
    ];
    others.into_iter().find_map(|(key, message, fix)| Some((node.get(key)?.mark, key, message, fix)))
}
