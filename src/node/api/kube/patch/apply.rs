//! Server-side apply, as far as one node needs it.
//!
//! Of each field manager the configuration is kept that it applied last. What it applied before and does not any
//! more is taken away, unless another manager applied it too; what another manager applied with another value is a
//! conflict, which `force` decides for the one who asks. Changes by other means (edit, patch, replace) belong to
//! nobody and never conflict. `metadata.managedFields` is not shown.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::keys::{self, List, protocol};
use super::strategic;

/// Managers of one pod at most: what each applied is kept.
const MANAGERS: usize = 16;
/// Bytes that the paths of all leaves of a configuration take: each is kept whole, so deep maps of many fields with
/// long names would take far more than was sent.
const PATHS: usize = 8 << 20;

/// One step into an object: a field, or the item of a list with its key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Field(String),
    Item(String),
}

type Path = Vec<Step>;

/// Why a configuration is not applied.
#[derive(Debug, PartialEq, Eq)]
pub enum Unapplied {
    /// It makes no sense as it is.
    Wrong(String),
    /// Fields that another manager applied: each with a sentence.
    Conflicts(Vec<(String, String)>),
}

/// Applies `config` to `object` in the name of `manager`.
///
/// # Errors
/// See [`Unapplied`]; `object` is not to be used then.
pub fn apply(
    object: &mut Map<String, Value>,
    applied: &mut BTreeMap<String, Value>,
    manager: &str,
    config: &Map<String, Value>,
    force: bool,
) -> Result<(), Unapplied> {
    if !applied.contains_key(manager) && applied.len() >= MANAGERS {
        let names: Vec<&str> = applied.keys().map(String::as_str).collect();
        let why = format!(
            "{MANAGERS} field managers have applied it already, the most there may be: {}",
            names.join(", ")
        );
        return Err(Unapplied::Wrong(why));
    }
    let mut config = config.clone();
    config.remove("status");
    if let Some(metadata) = config.get_mut("metadata").and_then(Value::as_object_mut) {
        for name in ["uid", "resourceVersion", "creationTimestamp", "generation", "managedFields"] {
            metadata.remove(name);
        }
    }
    let mut config: Value = config.into();
    with_protocols(&mut config);
    let wanted = leaves(&config)?;
    let mut conflicts = Vec::new();
    let mut of_others: BTreeSet<Path> = BTreeSet::new();
    for (other, theirs) in applied.iter_mut().filter(|(other, _)| *other != manager) {
        let mut lost: Vec<Path> = Vec::new();
        for (path, value) in leaves(theirs)? {
            match wanted.get(&path) {
                Some(ours) if *ours != value && force => lost.push(path),
                Some(ours) if *ours != value => {
                    conflicts.push((shown(&path), format!("conflict with \"{other}\": {}", shown(&path))));
                }
                Some(_) | None => {
                    of_others.insert(path);
                }
            }
        }
        remove(theirs, lost.iter());
    }
    if !conflicts.is_empty() {
        return Err(Unapplied::Conflicts(conflicts));
    }
    let before = applied.get(manager).map(leaves).transpose()?.unwrap_or_default();
    let mut whole: Value = std::mem::take(object).into();
    remove(
        &mut whole,
        before.keys().filter(|path| !wanted.contains_key(*path) && !of_others.contains(*path)),
    );
    if let Value::Object(fields) = whole {
        *object = fields;
    }
    if let Value::Object(config) = &config {
        strategic::merge(object, config).map_err(Unapplied::Wrong)?;
    }
    applied.insert(manager.to_owned(), config);
    Ok(())
}

/// A port without a protocol is TCP: by both together it is known.
fn with_protocols(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                if keys::list(name) == List::Ports {
                    let ports = value.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut);
                    ports.for_each(|port| {
                        port.entry("protocol").or_insert_with(|| "TCP".into());
                    });
                }
                with_protocols(value);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(with_protocols),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Every value that is no map and no list of known items, by its path.
fn leaves(value: &Value) -> Result<BTreeMap<Path, Value>, Unapplied> {
    let (mut all, mut left) = (BTreeMap::new(), PATHS);
    walk(value, List::Whole, &mut Vec::new(), &mut all, &mut left)?;
    Ok(all)
}

fn walk(
    value: &Value,
    kind: List,
    path: &mut Path,
    all: &mut BTreeMap<Path, Value>,
    left: &mut usize,
) -> Result<(), Unapplied> {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (name, value) in fields {
                path.push(Step::Field(name.clone()));
                walk(value, keys::list(name), path, all, left)?;
                path.pop();
            }
        }
        Value::Array(items) if kind.key().is_some() => {
            for item in items {
                path.push(Step::Item(key(kind, item)));
                walk(item, List::Whole, path, all, left)?;
                path.pop();
            }
        }
        leaf => {
            let bytes: usize = path.iter().map(|(Step::Field(text) | Step::Item(text))| text.len()).sum();
            *left = left.checked_sub(bytes).ok_or_else(|| {
                Unapplied::Wrong(format!(
                    "its fields are too many and too deep: their paths take more than {PATHS} bytes"
                ))
            })?;
            all.insert(path.clone(), leaf.clone());
        }
    }
    Ok(())
}

fn key(kind: List, item: &Value) -> String {
    let written = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let own = kind.key().and_then(|key| item.get(key)).map(written).unwrap_or_default();
    if kind == List::Ports { format!("{own}/{}", protocol(item)) } else { own }
}

/// Takes leaves away, and with them every map and list that held nothing else. An item that loses its key is gone.
/// The paths are in their order.
fn remove<'p>(value: &mut Value, paths: impl Iterator<Item = &'p Path>) {
    let paths: Vec<&[Step]> = paths.map(Vec::as_slice).collect();
    take(value, List::Whole, &paths);
}

fn rest<'p>(paths: &[&'p [Step]]) -> Vec<&'p [Step]> {
    paths.iter().map(|path| &path[1..]).collect()
}

/// True when nothing is left.
fn take(value: &mut Value, kind: List, paths: &[&[Step]]) -> bool {
    // The one that ends here comes first.
    if paths.first().is_some_and(|path| path.is_empty()) {
        return true;
    }
    let groups = paths.chunk_by(|a, b| a.first() == b.first());
    match value {
        Value::Object(fields) => {
            let before = fields.len();
            for group in groups {
                let Some(Step::Field(name)) = group[0].first() else { continue };
                let inner = fields.get_mut(name);
                if inner.is_some_and(|inner| take(inner, keys::list(name), &rest(group))) {
                    fields.remove(name);
                }
            }
            before > 0 && fields.is_empty()
        }
        Value::Array(items) => {
            let named = groups.filter_map(|group| match group[0].first() {
                Some(Step::Item(name)) => Some((name.clone(), rest(group))),
                Some(Step::Field(_)) | None => None,
            });
            let mut named: BTreeMap<String, Vec<&[Step]>> = named.collect();
            let before = items.len();
            items.retain_mut(|item| {
                // Of two with one key it is the first.
                let Some(paths) = named.remove(&key(kind, item)) else { return true };
                let is_key =
                    |path: &&[Step]| matches!(path, [Step::Field(name)] if Some(name.as_str()) == kind.key());
                !(paths.iter().any(is_key) || take(item, List::Whole, &paths))
            });
            before > 0 && items.is_empty()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// As Kubernetes writes it: `.spec.containers[name="app"].image`.
fn shown(path: &[Step]) -> String {
    let mut text = String::new();
    let mut list = "";
    for step in path {
        match step {
            Step::Field(name) => {
                list = name;
                text += &format!(".{name}");
            }
            Step::Item(key) => text += &format!("[{}=\"{key}\"]", keys::list(list).key().unwrap_or_default()),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    struct Pod {
        object: Map<String, Value>,
        applied: BTreeMap<String, Value>,
    }

    impl Pod {
        fn apply(&mut self, manager: &str, config: Value, force: bool) -> Result<Value, Unapplied> {
            let Value::Object(config) = config else { panic!("an object") };
            let mut object = self.object.clone();
            let mut applied = self.applied.clone();
            apply(&mut object, &mut applied, manager, &config, force)?;
            (self.object, self.applied) = (object.clone(), applied);
            Ok(object.into())
        }
    }

    #[test]
    fn what_a_manager_no_longer_applies_is_taken_away_and_nothing_else() {
        let mut pod = Pod {
            object: json!({"spec": {"containers": [{"name": "a", "image": "x", "tty": true}]}})
                .as_object()
                .unwrap()
                .clone(),
            applied: BTreeMap::new(),
        };
        let first = json!({"metadata": {"labels": {"l": "1", "m": "2"}}, "spec": {"containers": [
            {"name": "a", "image": "y", "env": [{"name": "A", "value": "1"}], "args": ["1"]}, {"name": "b", "image": "z"}]}});
        let expected = json!({"metadata": {"labels": {"l": "1", "m": "2"}}, "spec": {"containers": [
            {"name": "a", "image": "y", "tty": true, "env": [{"name": "A", "value": "1"}], "args": ["1"]}, {"name": "b", "image": "z"}]}});
        assert_eq!(pod.apply("one", first, false), Ok(expected));
        let second = json!({"metadata": {"labels": {"l": "1"}}, "spec": {"containers": [{"name": "a", "image": "y"}]}});
        let expected = json!({"metadata": {"labels": {"l": "1"}}, "spec": {"containers": [{"name": "a", "image": "y", "tty": true}]}});
        assert_eq!(pod.apply("one", second, false), Ok(expected));
    }

    #[test]
    fn ports_of_one_number_are_applied_by_their_protocol() {
        let mut pod = Pod { object: Map::new(), applied: BTreeMap::new() };
        let ports = |ports: Value| json!({"spec": {"containers": [{"name": "a", "ports": ports}]}});
        let (tcp, udp) = (
            json!({"containerPort": 53, "protocol": "TCP"}),
            json!({"containerPort": 53, "protocol": "UDP"}),
        );
        assert_eq!(
            pod.apply("one", ports(json!([{"containerPort": 53}, udp])), false),
            Ok(ports(json!([tcp, udp])))
        );
        let host = json!({"containerPort": 53, "protocol": "TCP", "hostPort": 5353});
        let config = ports(json!([{"containerPort": 53, "hostPort": 5353}, udp]));
        assert_eq!(pod.apply("one", config, false), Ok(ports(json!([host, udp]))));
        assert_eq!(pod.apply("one", ports(json!([udp])), false), Ok(ports(json!([udp]))));
    }

    #[test]
    fn what_another_manager_applied_is_a_conflict_unless_it_is_forced() {
        let mut pod = Pod { object: Map::new(), applied: BTreeMap::new() };
        let image = |image: &str| json!({"spec": {"containers": [{"name": "a", "image": image}]}});
        pod.apply("one", image("x"), false).unwrap();
        assert_eq!(pod.apply("two", image("x"), false), Ok(image("x")), "the same value is shared");
        let path = ".spec.containers[name=\"a\"].image";
        let expected = vec![(path.to_owned(), format!("conflict with \"two\": {path}"))];
        assert_eq!(pod.apply("one", image("y"), false), Err(Unapplied::Conflicts(expected)));
        assert_eq!(pod.apply("one", image("y"), true), Ok(image("y")));
        for n in 2..MANAGERS {
            pod.apply(&n.to_string(), image("y"), false).unwrap();
        }
        assert!(matches!(pod.apply("more", image("y"), false), Err(Unapplied::Wrong(_))));
        // It was taken from the other, who no longer holds it.
        let without = json!({"spec": {"containers": [{"name": "a"}]}});
        assert_eq!(pod.apply("two", without, false), Ok(image("y")));
    }

    /// A8, of what is not applied any more.
    #[test]
    fn long_lists_are_taken_away_item_by_item() {
        let (done, wait) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let mut pod = Pod { object: Map::new(), applied: BTreeMap::new() };
            let ports: Vec<Value> = (0..30_000).map(|port| json!({ "containerPort": port })).collect();
            pod.apply("one", json!({ "ports": ports }), false).unwrap();
            pod.apply("two", json!({ "ports": ports[1..] }), false).unwrap();
            pod.apply("one", json!({ "tty": true }), false).unwrap();
            done.send(pod.apply("two", json!({ "ports": ports[..1] }), false)).unwrap();
        });
        let found = wait.recv_timeout(std::time::Duration::from_secs(60)).expect("it takes for ever");
        assert_eq!(found, Ok(json!({"tty": true, "ports": [{"containerPort": 0, "protocol": "TCP"}]})));
    }

    /// The path of each field is kept, with the names of all that it stands in.
    #[test]
    fn many_fields_deep_below_long_names_are_refused() {
        let many: Map<String, Value> = (0..1000).map(|n| (n.to_string(), json!(n))).collect();
        let deep = (0..20).fold(json!(many), |inner, _| json!({ "x".repeat(1000): inner }));
        let mut pod = Pod { object: Map::new(), applied: BTreeMap::new() };
        let found = pod.apply("one", deep, false);
        assert!(matches!(&found, Err(Unapplied::Wrong(why)) if why.contains("too deep")), "{found:?}");
    }
}
