//! Why something is not done to a pod, in the words and reasons of Kubernetes.

use hyper::StatusCode;
use serde_json::{Value, json};

use crate::model::read::Diagnosis;
use crate::node::api::refusal::Refusal;
use crate::node::sources::api::Unwritten;

/// Causes in one answer at most.
const CAUSES: usize = 50;

fn about(name: &str, code: StatusCode, reason: &'static str, message: String) -> Refusal {
    Refusal::new(code, reason, message).details(json!({ "name": name, "kind": "pods" }))
}

pub fn not_found(name: &str) -> Refusal {
    about(name, StatusCode::NOT_FOUND, "NotFound", format!("pods \"{name}\" not found"))
}

pub fn exists(name: &str, more: &str) -> Refusal {
    let message = format!("pods \"{name}\" already exists{more}");
    about(name, StatusCode::CONFLICT, "AlreadyExists", message)
}

pub fn conflict(name: &str, why: &str) -> Refusal {
    let message = format!("Operation cannot be fulfilled on pods \"{name}\": {why}");
    about(name, StatusCode::CONFLICT, "Conflict", message)
}

pub fn forbidden(name: &str, why: &str) -> Refusal {
    about(name, StatusCode::FORBIDDEN, "Forbidden", format!("pods \"{name}\" is forbidden: {why}"))
}

/// The object is wrong: every mistake with its field.
pub fn invalid<'a>(name: &str, diagnoses: impl Iterator<Item = &'a Diagnosis>) -> Refusal {
    let causes = diagnoses.map(|diagnosis| {
        let fix = diagnosis.fix.as_ref().map(|fix| format!(" (fix: {fix})")).unwrap_or_default();
        (diagnosis.field.clone(), diagnosis.message.clone() + &fix)
    });
    with_causes(name, StatusCode::UNPROCESSABLE_ENTITY, "Invalid", "FieldValueInvalid", "is invalid", causes)
}

/// The object cannot be made as it was asked for, because of one field.
pub fn invalid_because(name: &str, field: &str, why: &str) -> Refusal {
    let causes = [(field.to_owned(), format!("{field}: {why}"))].into_iter();
    with_causes(name, StatusCode::UNPROCESSABLE_ENTITY, "Invalid", "FieldValueInvalid", "is invalid", causes)
}

/// Another field manager has set what this one wants otherwise.
pub fn managed(name: &str, conflicts: Vec<(String, String)>) -> Refusal {
    let (code, causes) = (StatusCode::CONFLICT, conflicts.into_iter());
    with_causes(name, code, "Conflict", "FieldManagerConflict", "cannot be applied", causes)
}

fn with_causes(
    name: &str,
    code: StatusCode,
    reason: &'static str,
    word: &str,
    what: &str,
    causes: impl Iterator<Item = (String, String)>,
) -> Refusal {
    let causes: Vec<(String, String)> = causes.take(CAUSES).collect();
    let said: Vec<&str> = causes.iter().map(|(_, message)| message.as_str()).collect();
    let message = format!("Pod \"{name}\" {what}: {}", said.join("; "));
    let causes: Vec<Value> = causes
        .iter()
        .map(|(field, message)| json!({ "reason": word, "field": field, "message": message }))
        .collect();
    Refusal::new(code, reason, message).details(json!({ "name": name, "kind": "Pod", "causes": causes }))
}

/// Small as it was sent, and too much all the same.
pub fn too_large(message: impl Into<String>) -> Refusal {
    Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, "RequestEntityTooLarge", message)
}

pub fn media_type(message: impl Into<String>) -> Refusal {
    Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "UnsupportedMediaType", message)
}

/// A watch that asks for what is forgotten: list again.
pub fn expired(asked: u64, oldest: u64) -> Refusal {
    let message = format!("too old resource version: {asked} ({oldest})");
    Refusal::new(StatusCode::GONE, "Expired", message)
}

impl From<Unwritten> for Refusal {
    fn from(unwritten: Unwritten) -> Self {
        let unavailable = |why| Self::new(StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable", why);
        match unwritten {
            Unwritten::Busy => {
                let message = "too many writes are waiting: try again in a second";
                Self::new(StatusCode::TOO_MANY_REQUESTS, "TooManyRequests", message)
                    .details(json!({ "retryAfterSeconds": 1 }))
            }
            Unwritten::Full(why) => Self::new(StatusCode::INSUFFICIENT_STORAGE, "InsufficientStorage", why),
            Unwritten::Failed(why) => unavailable(why),
        }
    }
}
