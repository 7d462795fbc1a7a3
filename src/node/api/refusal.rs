//! An answer that is an error, in Kubernetes' shape: a `Status`.

use hyper::StatusCode;
use hyper::header::{ALLOW, CONNECTION, HeaderValue, WWW_AUTHENTICATE};
use serde_json::{Value, json};

use crate::node::api::answer::{Answer, respond};

/// Why a request is not answered as it wishes.
#[derive(Debug)]
pub struct Refusal {
    pub code: StatusCode,
    /// One of Kubernetes' words, for programs: `NotFound`, `Invalid`, …
    pub reason: &'static str,
    /// For people: what, and what to do.
    pub message: String,
    /// `name`, `kind`, and `causes`, each with a `field`; `null` when there is nothing more to say.
    pub details: Value,
    /// What one may do there, of a method that one may not.
    allow: Option<&'static str>,
    /// Whoever has no business here keeps no place.
    closes: bool,
}

impl Refusal {
    pub fn new(code: StatusCode, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into(), details: Value::Null, allow: None, closes: false }
    }

    #[must_use]
    pub fn details(self, details: Value) -> Self {
        Self { details, ..self }
    }

    /// The connection ends with this answer.
    #[must_use]
    pub fn closing(self) -> Self {
        Self { closes: true, ..self }
    }

    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "BadRequest", message)
    }

    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "NotFound", message)
    }

    /// There is something at this path, and this is not what one can do with it.
    pub fn not_allowed(path: &str, allowed: &'static str) -> Self {
        let message = format!("{path} takes {allowed} only");
        let refusal = Self::new(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", message);
        Self { allow: Some(allowed), ..refusal }
    }
}

impl From<Refusal> for Answer {
    fn from(refusal: Refusal) -> Self {
        let mut status = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": refusal.message,
            "reason": refusal.reason,
            "code": refusal.code.as_u16(),
        });
        if !refusal.details.is_null() {
            status["details"] = refusal.details;
        }
        let mut answer = respond(refusal.code, "application/json", status.to_string());
        let headers = answer.headers_mut();
        // RFC 9110 wants `Allow` with every 405, and `WWW-Authenticate` with every 401.
        if let Some(allow) = refusal.allow {
            headers.insert(ALLOW, HeaderValue::from_static(allow));
        }
        if refusal.code == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"podkeeper\""));
        }
        if refusal.closes {
            headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        answer
    }
}
