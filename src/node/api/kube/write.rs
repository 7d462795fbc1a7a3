//! What a write does to the set of pods that were written through the API. Pure: no disk, no engine, no clock.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::{bounds, object, refuse};
use crate::model::read::{self, Options};
use crate::model::{Pod, PodKey, Time};
use crate::node::api::refusal::Refusal;
use crate::node::sources::api::{Set, Versions, Written};
use crate::plan::{Desired, SourceKind};

mod known;

pub use known::Preconditions;
use known::same_pod;

/// Pods at most, those that still stop among them: each costs two containers and half a second of the engine's time.
const MOST: usize = 1000;
/// What all of them take at most: every write puts all of it on disk anew.
const LARGEST: usize = 16 << 20;

/// What a write is judged by.
#[derive(Clone)]
pub struct Context {
    pub desired: Desired,
    pub now: Time,
    pub versions: Versions,
    pub validation: Validation,
    /// Deleted pods of which nothing is left, with their uid.
    pub gone: BTreeMap<PodKey, String>,
}

/// `fieldValidation`: what an unknown field is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Validation {
    /// An error. Without a word, as everywhere in podkeeper.
    Strict,
    Warn,
    Ignore,
}

/// What has been done.
#[derive(Clone, Debug)]
pub struct Done {
    pub key: PodKey,
    pub uid: String,
    /// As it is written now; of a deleted one as it was.
    pub object: Value,
    pub warnings: Vec<String>,
    pub created: bool,
}

pub fn create(
    set: &mut Set,
    key: &PodKey,
    object: Value,
    legacy: bool,
    context: &Context,
) -> Result<Done, Refusal> {
    purge(set, context);
    if set.pods.contains_key(key) {
        return Err(refuse::exists(&key.name, ""));
    }
    if let Some(place) = elsewhere(key, context) {
        return Err(refuse::exists(&key.name, &format!(": {place}")));
    }
    if set.leaving.contains_key(key) {
        return Err(refuse::exists(&key.name, ": it is being deleted and still stops"));
    }
    if set.pods.len() + set.leaving.len() >= MOST {
        return Err(refuse::forbidden(
            &key.name,
            &format!("there are {MOST} pods already, the most there may be"),
        ));
    }
    put(set, key, object, None, legacy, context)
}

/// Changes a pod that is there. `change` gets the object and gives the new one.
pub fn update(
    set: &mut Set,
    key: &PodKey,
    context: &Context,
    change: impl FnOnce(&Written) -> Result<Written, Refusal>,
) -> Result<Done, Refusal> {
    purge(set, context);
    let Some(old) = set.pods.get(key).cloned() else {
        return Err(match elsewhere(key, context) {
            Some(place) => refuse::forbidden(&key.name, &place),
            None if set.leaving.contains_key(key) => {
                refuse::conflict(&key.name, "it is being deleted: write it again when it is gone")
            }
            None => refuse::not_found(&key.name),
        });
    };
    let new = change(&old)?;
    same_pod(key, &new.object)?.check(key, &old, context)?;
    let legacy = new.legacy;
    let applied = new.applied.clone();
    let done = put(set, key, new.object, Some(&old), legacy, context)?;
    remember(set, key, applied);
    Ok(done)
}

/// Keeps what managers applied to a pod.
pub fn remember(set: &mut Set, key: &PodKey, applied: BTreeMap<String, Value>) {
    if let Some(written) = set.pods.get(key).filter(|written| written.applied != applied) {
        let size = (written.size + of_managers(&applied)).saturating_sub(of_managers(&written.applied));
        let written = Written { applied, size, ..Written::clone(written) };
        set.pods.insert(key.clone(), Arc::new(written));
    }
}

fn of_managers(applied: &BTreeMap<String, Value>) -> usize {
    applied.iter().map(|(manager, config)| manager.len() + config.to_string().len()).sum()
}

/// Lets go of a pod, which may take `grace` seconds to stop, or as long as its manifest says.
pub fn delete(
    set: &mut Set,
    key: &PodKey,
    known: &Preconditions,
    grace: Option<u32>,
    context: &Context,
) -> Result<Done, Refusal> {
    purge(set, context);
    if let Some(left) = set.leaving.get(key).filter(|_| !set.pods.contains_key(key)).cloned() {
        known.check(key, &left, context)?;
        let until_now = left.object["metadata"]["deletionGracePeriodSeconds"].as_u64();
        // As in Kubernetes, a second word may only shorten it.
        let shorter = grace.filter(|grace| until_now.is_none_or(|now| u64::from(*grace) < now));
        let left = shorter.map_or(left.clone(), |grace| Arc::new(leaving(&left, grace, context)));
        set.leaving.insert(key.clone(), left.clone());
        return Ok(done(key, left.object.clone(), Vec::new(), false));
    }
    let Some(written) = set.pods.get(key).cloned() else {
        return Err(match elsewhere(key, context) {
            Some(place) => refuse::forbidden(&key.name, &place),
            None => refuse::not_found(&key.name),
        });
    };
    known.check(key, &written, context)?;
    set.pods.remove(key);
    let left = leaving(&written, grace.unwrap_or(written.pod.spec.termination_grace_period_seconds), context);
    let object = left.object.clone();
    set.leaving.insert(key.clone(), Arc::new(left));
    let warning = elsewhere(key, context).map(|place| format!("pod {} runs on: it is {place}", key.name));
    Ok(done(key, object, warning.into_iter().collect(), false))
}

fn leaving(written: &Written, grace: u32, context: &Context) -> Written {
    let mut left = written.clone();
    let metadata = &mut left.object["metadata"];
    // Kubernetes' meaning of it: when the grace period will be over.
    metadata["deletionTimestamp"] = json!((context.now + Duration::from_secs(grace.into())).to_string());
    metadata["deletionGracePeriodSeconds"] = json!(grace);
    left.version = context.versions.next();
    left
}

/// What the endpoints of 2014 do: these are all the pods that they declare. Others are not touched.
pub fn replace_legacy(
    set: &mut Set,
    objects: Vec<(PodKey, Value)>,
    context: &Context,
) -> Result<Vec<Done>, Refusal> {
    let wanted: BTreeSet<PodKey> = objects.iter().map(|(key, _)| key.clone()).collect();
    let old = set.pods.iter().filter(|(key, written)| written.legacy && !wanted.contains(*key));
    let old: Vec<PodKey> = old.map(|(key, _)| key.clone()).collect();
    for key in old {
        delete(set, &key, &Preconditions::default(), None, context)?;
    }
    let mut all = Vec::new();
    for (key, object) in objects {
        let is_ours = set.pods.get(&key).is_some_and(|written| written.legacy);
        all.push(if is_ours {
            update(set, &key, context, |old| Ok(Written { object, ..old.clone() }))?
        } else {
            create(set, &key, object, true, context)?
        });
    }
    Ok(all)
}

/// Reads, fills in defaults, and writes.
fn put(
    set: &mut Set,
    key: &PodKey,
    mut object: Value,
    old: Option<&Written>,
    legacy: bool,
    context: &Context,
) -> Result<Done, Refusal> {
    // Before anything walks over it.
    bounds::check(&object, 0).map_err(|why| refuse::invalid_because(&key.name, "", &why))?;
    clean(&mut object);
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else {
        return Err(refuse::invalid_because(&key.name, "metadata", "it is not an object"));
    };
    metadata.insert("name".to_owned(), json!(key.name));
    metadata.insert("namespace".to_owned(), json!(key.namespace));
    let (mut pod, warnings) = read(key, &object, context)?;
    defaults(&mut object, &pod, &context.desired.node.name);
    let system = |object: &Value, name: &str| object["metadata"][name].clone();
    let (uid, created, generation) = match old {
        Some(old) => {
            let generation = system(&old.object, "generation").as_u64().unwrap_or(1);
            let generation = generation + u64::from(old.object["spec"] != object["spec"]);
            (system(&old.object, "uid"), system(&old.object, "creationTimestamp"), generation)
        }
        None => (json!(new_uid()?), json!(context.now.to_string()), 1),
    };
    pod.metadata.uid = uid.as_str().unwrap_or_default().to_owned();
    for (name, value) in [("uid", uid), ("creationTimestamp", created), ("generation", json!(generation))] {
        object["metadata"][name] = value;
    }
    if let Some(old) = old.filter(|old| old.object == object && old.pod == pod) {
        return Ok(done(key, old.object.clone(), warnings, false));
    }
    let applied = old.map(|old| old.applied.clone()).unwrap_or_default();
    let size = object.to_string().len() + of_managers(&applied);
    let others: usize = set.pods.values().map(|written| written.size).sum();
    if others + size > LARGEST + old.map_or(0, |old| old.size) {
        let why = format!("all pods together take {others} bytes, {LARGEST} at most: delete some");
        return Err(refuse::forbidden(&key.name, &why));
    }
    let version = context.versions.next();
    let written = Written { object: object.clone(), pod, version, size, legacy, applied };
    set.pods.insert(key.clone(), Arc::new(written));
    Ok(done(key, object, warnings, old.is_none()))
}

fn done(key: &PodKey, object: Value, warnings: Vec<String>, created: bool) -> Done {
    Done { key: key.clone(), uid: object::uid(&object).to_owned(), object, warnings, created }
}

fn purge(set: &mut Set, context: &Context) {
    for (key, uid) in &context.gone {
        if set.leaving.get(key).is_some_and(|left| object::uid(&left.object) == uid) {
            set.leaving.remove(key);
        }
    }
}

/// Where another source declares it.
fn elsewhere(key: &PodKey, context: &Context) -> Option<String> {
    let declared = context.desired.get(key).filter(|declared| declared.source != SourceKind::Api)?;
    let place = declared.places.of("");
    Some(format!("declared in {}:{}: edit it there", place.file, place.line))
}

/// Takes away what the API alone may write, and what is not there although it is named.
fn clean(object: &mut Value) {
    prune(object);
    let Some(fields) = object.as_object_mut() else { return };
    fields.remove("status");
    fields.insert("apiVersion".into(), json!("v1"));
    fields.insert("kind".into(), json!("Pod"));
    let metadata = fields.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
    let Some(metadata) = metadata.as_object_mut() else { return };
    for name in [
        "creationTimestamp",
        "deletionGracePeriodSeconds",
        "deletionTimestamp",
        "generateName",
        "generation",
        "managedFields",
        "resourceVersion",
        "selfLink",
        "uid",
    ] {
        metadata.remove(name);
    }
    if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
        annotations.remove("kubernetes.io/config.source");
        if annotations.is_empty() {
            metadata.remove("annotations");
        }
    }
}

/// `null` is the same as not given.
fn prune(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            fields.values_mut().for_each(prune);
        }
        Value::Array(items) => items.iter_mut().for_each(prune),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The same reader as for files, with the same diagnoses.
fn read(key: &PodKey, object: &Value, context: &Context) -> Result<(Pod, Vec<String>), Refusal> {
    let options = Options {
        lenient: context.validation != Validation::Strict,
        node_name: Some(context.desired.node.name.to_string()),
    };
    let mut reading = read::read("body", object.to_string().as_bytes(), &options);
    let pod = reading.pods.pop().and_then(|read| read.pod);
    let Some(pod) = pod.filter(|_| !reading.diagnoses.iter().any(|d| d.is_error())) else {
        return Err(refuse::invalid(&key.name, reading.diagnoses.iter().filter(|d| d.is_error())));
    };
    let warnings = match context.validation {
        Validation::Ignore => Vec::new(),
        Validation::Strict | Validation::Warn => {
            reading.diagnoses.into_iter().map(|diagnosis| diagnosis.message).collect()
        }
    };
    Ok((pod, warnings))
}

/// What Kubernetes fills in and people see: the rest has the same default everywhere.
fn defaults(object: &mut Value, pod: &Pod, node: &str) {
    let spec = &mut object["spec"];
    let filled = json!(pod.spec);
    let mut fill = |name: &str, value: Value| {
        if spec.get(name).is_none_or(|given| given == "") {
            spec[name] = value;
        }
    };
    for name in ["restartPolicy", "dnsPolicy", "terminationGracePeriodSeconds"] {
        fill(name, filled[name].clone());
    }
    spec["nodeName"] = json!(node);
    let lists = [("initContainers", &pod.spec.init_containers), ("containers", &pod.spec.containers)];
    for (name, containers) in lists {
        let Some(items) = spec.get_mut(name).and_then(Value::as_array_mut) else { continue };
        for (item, container) in items.iter_mut().zip(containers) {
            if item.get("imagePullPolicy").is_none_or(|given| given == "") {
                item["imagePullPolicy"] = json!(container.image_pull_policy);
            }
            let ports = item.get_mut("ports").and_then(Value::as_array_mut);
            for port in ports.into_iter().flatten().filter(|port| port.get("protocol").is_none()) {
                port["protocol"] = json!("TCP");
            }
        }
    }
}

/// A random one (RFC 9562, version 4): a pod that is deleted and written again is another pod.
fn new_uid() -> Result<String, Refusal> {
    let mut bytes = [0u8; 16];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())
        .map_err(|error| Refusal::bad_request(format!("the machine gives no random numbers: {error}")))?;
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok([&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-"))
}

#[cfg(test)]
mod tests;
