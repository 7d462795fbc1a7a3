//! What the API answers with: values and text. Errors are a `Refusal`.

use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use serde_json::Value;

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

pub fn respond(code: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> Answer {
    let mut response = Response::new(whole(body));
    *response.status_mut() = code;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}
