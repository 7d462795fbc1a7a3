//! Which pod a change is about, and which state of it its author knew.

use serde_json::Value;

use super::Context;
use crate::model::PodKey;
use crate::node::api::kube::{object, refuse};
use crate::node::api::refusal::Refusal;
use crate::node::sources::api::Written;

/// What a caller knows of the pod that it wants to change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preconditions {
    pub uid: Option<String>,
    pub version: Option<String>,
}

/// A change makes no other object of a pod. Returns what its author knew of it; the codes are Kubernetes'.
pub fn same_pod(key: &PodKey, object: &Value) -> Result<Preconditions, Refusal> {
    let invalid = |field: &str, why: &str| refuse::invalid_because(&key.name, field, why);
    for (field, expected) in [("apiVersion", "v1"), ("kind", "Pod")] {
        if object.get(field).is_some_and(|given| !given.is_null() && *given != expected) {
            return Err(invalid(field, &format!("it is {expected}, and cannot be changed")));
        }
    }
    let metadata = object.get("metadata").filter(|metadata| !metadata.is_null());
    if metadata.is_some_and(|metadata| !metadata.is_object()) {
        return Err(invalid("metadata", "it is not an object"));
    }
    let text = |name: &str| match metadata.and_then(|metadata| metadata.get(name)) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.as_str()).filter(|text| !text.is_empty())),
        Some(_) => Err(invalid(&format!("metadata.{name}"), "it is not text")),
    };
    let differs = |what: &str, given: &str, known: &str| {
        let message =
            format!("the {what} of the object ({given}) does not match the {what} on the URL ({known})");
        Err(Refusal::bad_request(message))
    };
    match (text("name")?.unwrap_or_default(), text("namespace")?) {
        (name, _) if *name != *key.name => differs("name", name, &key.name),
        (_, Some(namespace)) if *namespace != *key.namespace => {
            differs("namespace", namespace, &key.namespace)
        }
        // To Kubernetes, version 0 is whatever it is now.
        _ => Ok(Preconditions {
            uid: text("uid")?.map(str::to_owned),
            version: text("resourceVersion")?.filter(|version| *version != "0").map(str::to_owned),
        }),
    }
}

impl Preconditions {
    pub fn check(&self, key: &PodKey, written: &Written, context: &Context) -> Result<(), Refusal> {
        let uid = object::uid(&written.object);
        if let Some(given) = self.uid.as_deref().filter(|given| *given != uid) {
            return Err(refuse::conflict(
                &key.name,
                &format!("uid {given:.80} is another pod of that name; this one is {uid}"),
            ));
        }
        let Some(given) = &self.version else { return Ok(()) };
        let given: u64 = given.parse().map_err(|_| {
            Refusal::bad_request(format!("resourceVersion '{given:.80}' is not a number it can be"))
        })?;
        // A change of its status alone is nobody's loss, so only an older *declaration* is a conflict; and a version
        // that nobody has seen yet.
        if given >= written.version && given <= context.versions.last() {
            return Ok(());
        }
        let why =
            "the object has been modified; please apply your changes to the latest version and try again";
        Err(refuse::conflict(&key.name, why))
    }
}
