//! What a caller is told when something is not done: Kubernetes' `Status`, with its reasons and causes.

use hyper::StatusCode;
use hyper::header::{HeaderValue, RETRY_AFTER};
use serde_json::{Map, Value, json};

use crate::model::read::Diagnosis;
use crate::node::api::answer::{Answer, status_with};
use crate::node::sources::api::Unwritten;

/// Causes in one answer at most.
const CAUSES: usize = 50;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub code: StatusCode,
    /// One of Kubernetes' words.
    pub reason: &'static str,
    pub message: String,
    /// The pod it is about.
    pub name: Option<String>,
    /// Reason, field, message.
    pub causes: Vec<(&'static str, String, String)>,
}

impl Refusal {
    fn new(code: StatusCode, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into(), name: None, causes: Vec::new() }
    }

    fn of(mut self, name: &str) -> Self {
        self.name = Some(name.to_owned());
        self
    }

    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "BadRequest", message)
    }

    pub fn not_found(name: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, "NotFound", format!("pods \"{name}\" not found")).of(name)
    }

    pub fn exists(name: &str, more: &str) -> Self {
        let message = format!("pods \"{name}\" already exists{more}");
        Self::new(StatusCode::CONFLICT, "AlreadyExists", message).of(name)
    }

    pub fn conflict(name: &str, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on pods \"{name}\": {why}");
        Self::new(StatusCode::CONFLICT, "Conflict", message).of(name)
    }

    pub fn forbidden(name: &str, why: &str) -> Self {
        let message = format!("pods \"{name}\" is forbidden: {why}");
        Self::new(StatusCode::FORBIDDEN, "Forbidden", message).of(name)
    }

    /// The object is wrong: every mistake with its field.
    pub fn invalid<'a>(name: &str, diagnoses: impl Iterator<Item = &'a Diagnosis>) -> Self {
        let causes: Vec<_> = diagnoses
            .map(|diagnosis| {
                let fix = diagnosis.fix.as_ref().map(|fix| format!(" (fix: {fix})")).unwrap_or_default();
                ("FieldValueInvalid", diagnosis.field.clone(), diagnosis.message.clone() + &fix)
            })
            .collect();
        let said: Vec<&str> = causes.iter().take(CAUSES).map(|(_, _, message)| message.as_str()).collect();
        let message = format!("Pod \"{name}\" is invalid: {}", said.join("; "));
        Self { causes, ..Self::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", message).of(name) }
    }

    pub fn method_not_allowed(message: impl Into<String>) -> Self {
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", message)
    }

    pub fn not_acceptable(accept: &str) -> Self {
        let message = format!("only application/json can be had here, not {accept}");
        Self::new(StatusCode::NOT_ACCEPTABLE, "NotAcceptable", message)
    }

    pub fn unsupported_media_type(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "UnsupportedMediaType", message)
    }

    /// A watch that asks for what is forgotten: list again.
    pub fn expired(asked: u64, oldest: u64) -> Self {
        let message = format!("too old resource version: {asked} ({oldest})");
        Self::new(StatusCode::GONE, "Expired", message)
    }

    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable", message)
    }

    /// The `Status` object.
    pub fn details(&self) -> Value {
        let mut details = Map::new();
        if let Some(name) = &self.name {
            details.insert("name".into(), json!(name));
            details.insert("kind".into(), json!("pods"));
        }
        let causes: Vec<Value> = self
            .causes
            .iter()
            .take(CAUSES)
            .map(|(reason, field, message)| json!({ "reason": reason, "field": field, "message": message }))
            .collect();
        if !causes.is_empty() {
            details.insert("causes".into(), json!(causes));
        }
        if self.code == StatusCode::TOO_MANY_REQUESTS {
            details.insert("retryAfterSeconds".into(), json!(1));
        }
        Value::Object(details)
    }
}

impl From<Refusal> for Answer {
    fn from(refusal: Refusal) -> Answer {
        let mut answer = status_with(refusal.code, refusal.reason, &refusal.message, &refusal.details());
        if refusal.code == StatusCode::TOO_MANY_REQUESTS {
            answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        answer
    }
}

impl From<Unwritten> for Refusal {
    fn from(unwritten: Unwritten) -> Self {
        match unwritten {
            Unwritten::Busy => Self::new(
                StatusCode::TOO_MANY_REQUESTS,
                "TooManyRequests",
                "too many writes are waiting: try again in a second",
            ),
            Unwritten::Full(why) => {
                Self::new(StatusCode::INSUFFICIENT_STORAGE, "InsufficientStorage", why)
            }
            Unwritten::Failed(why) => Self::unavailable(why),
        }
    }
}
