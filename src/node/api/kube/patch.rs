//! Patches: the four kinds that Kubernetes knows, each told by its content type.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{body, bounds, refuse};
use crate::model::PodKey;
use crate::node::api::refusal::Refusal;
use crate::node::sources::api::Written;

mod apply;
mod json;
mod keys;
mod merge;
mod strategic;

/// A patch as it was sent.
#[derive(Debug)]
pub enum Patch {
    Json(json_patch::Patch),
    Merge(Value),
    Strategic(Map<String, Value>),
    Apply { manager: String, config: Map<String, Value>, force: bool },
}

const KINDS: &str = "application/strategic-merge-patch+json, application/merge-patch+json, \
                     application/json-patch+json or application/apply-patch+yaml";

impl Patch {
    /// # Errors
    /// 400 and 415.
    pub fn parse(
        content_type: Option<&str>,
        bytes: &[u8],
        manager: Option<&str>,
        force: bool,
    ) -> Result<Self, Refusal> {
        let kind = content_type.unwrap_or_default().split(';').next().unwrap_or_default().trim();
        let object = |value: Value| match value {
            Value::Object(fields) => Ok(fields),
            _ => Err(Refusal::bad_request("this patch must be an object")),
        };
        match kind {
            "application/json-patch+json" => {
                let patch = body::json(bytes)?;
                let count = patch.as_array().map_or(0, Vec::len);
                if count > json::OPERATIONS {
                    let most = json::OPERATIONS;
                    return Err(refuse::too_large(format!(
                        "a JSON patch may have {most} operations: this has {count}"
                    )));
                }
                let patch = serde_json::from_value(patch);
                let wrong = |error| Refusal::bad_request(format!("this is no JSON patch: {error}"));
                patch.map(Patch::Json).map_err(wrong)
            }
            "application/merge-patch+json" => Ok(Patch::Merge(object(body::json(bytes)?)?.into())),
            "application/strategic-merge-patch+json" => Ok(Patch::Strategic(object(body::json(bytes)?)?)),
            "application/apply-patch+yaml" => {
                let manager = manager.ok_or_else(|| {
                    Refusal::bad_request(
                        "PatchOptions: fieldManager: Required value: is required for apply patch",
                    )
                })?;
                // Kubernetes' own limit.
                if manager.len() > 128 {
                    return Err(Refusal::bad_request("fieldManager: it may have 128 bytes"));
                }
                let config = object(body::object(content_type, bytes)?)?;
                Ok(Patch::Apply { manager: manager.to_owned(), config, force })
            }
            other => Err(refuse::media_type(format!("a patch is {KINDS}, not '{other}'"))),
        }
    }

    /// A pod that is not there can be applied, and by no other patch made.
    pub fn creates(&self) -> bool {
        matches!(self, Patch::Apply { .. })
    }

    /// What becomes of a pod.
    pub fn change(&self, key: &PodKey, old: &Written) -> Result<Written, Refusal> {
        let mut new = old.clone();
        self.edit(key, &mut new.object, &mut new.applied)?;
        Ok(new)
    }

    /// What becomes of an object, and of what managers applied to it.
    pub fn edit(
        &self,
        key: &PodKey,
        object: &mut Value,
        applied: &mut BTreeMap<String, Value>,
    ) -> Result<(), Refusal> {
        let bounded = |checked: Result<usize, String>| checked.map_err(|why| unprocessable(key, &why));
        match (self, object) {
            (Patch::Json(patch), object) => {
                json::patch(object, patch).map_err(|why| match why {
                    json::Unpatched::TooMuch(why) => refuse::too_large(why),
                    json::Unpatched::Wrong(why) => {
                        unprocessable(key, &format!("the JSON patch does not fit: {why}"))
                    }
                })?;
                if object.is_object() { Ok(()) } else { Err(unprocessable(key, "it leaves no object")) }
            }
            (Patch::Merge(patch), object) => {
                bounded(bounds::check(patch, 0))?;
                merge::merge(object, patch);
                Ok(())
            }
            (Patch::Strategic(patch), Value::Object(object)) => {
                bounded(bounds::check_fields(patch, 0))?;
                strategic::merge(object, patch).map_err(|why| unprocessable(key, &why))
            }
            (Patch::Apply { manager, config, force }, Value::Object(object)) => {
                bounded(bounds::check_fields(config, 0))?;
                apply::apply(object, applied, manager, config, *force).map_err(|why| match why {
                    apply::Unapplied::Wrong(why) => unprocessable(key, &why),
                    apply::Unapplied::Conflicts(conflicts) => refuse::managed(&key.name, conflicts),
                })
            }
            (Patch::Strategic(_) | Patch::Apply { .. }, _) => Err(unprocessable(key, "it is no object")),
        }
    }
}

fn unprocessable(key: &PodKey, why: &str) -> Refusal {
    refuse::invalid_because(&key.name, "patch", why)
}
