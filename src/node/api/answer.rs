//! What the API answers with: values, text, and errors in Kubernetes' shape.

use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use serde_json::{Value, json};

/// A body, of requests and answers alike: it may be a stream without an end, and may break off.
pub type Body = http_body_util::combinators::UnsyncBoxBody<Bytes, BoxError>;
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;
pub type Answer = Response<Body>;

/// A body that is all here.
pub fn whole(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed_unsync()
}

pub fn ok(content: &Value) -> Answer {
    respond(StatusCode::OK, "application/json", content.to_string())
}

pub fn text(code: StatusCode, text: &str) -> Answer {
    respond(code, "text/plain; charset=utf-8", format!("{text}\n"))
}

/// An error in Kubernetes' shape; `reason` is one of its words (`NotFound`, `Invalid`, …).
pub fn status(code: StatusCode, reason: &str, message: &str) -> Answer {
    status_with(code, reason, message, &json!({}))
}

/// The same with `details`: `name`, `kind`, and `causes`, each with a `field`.
pub fn status_with(code: StatusCode, reason: &str, message: &str, details: &Value) -> Answer {
    let status = json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "details": details,
        "code": code.as_u16(),
    });
    respond(code, "application/json", status.to_string())
}

/// There is something at this path, and this is not what one can do with it. RFC 9110 wants `Allow`.
pub fn not_allowed(path: &str, allowed: &'static str) -> Answer {
    let message = format!("{path} knows {allowed} only");
    let mut answer = status(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", &message);
    answer.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    answer
}

pub fn respond(code: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> Answer {
    let mut response = Response::new(whole(body));
    *response.status_mut() = code;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}
