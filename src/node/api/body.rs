//! Reading what a client sends, within the limits.

use http_body_util::BodyExt;
use hyper::StatusCode;
use hyper::body::{Body as _, Bytes};

use crate::node::api::answer::Body;
use crate::node::api::limits::Limits;
use crate::node::api::refusal::Refusal;

/// The whole body of a request.
///
/// # Errors
/// Too large, too slow, or broken off.
pub async fn read(mut body: Body, limits: &Limits) -> Result<Bytes, Refusal> {
    let most = limits.body_size;
    let too_large = || {
        let message = format!("the body is larger than {most} bytes");
        Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, "RequestEntityTooLarge", message)
    };
    // One that announces too much need not send it.
    if body.size_hint().lower() > most as u64 {
        return Err(too_large());
    }
    let reading = async {
        let mut bytes = Vec::new();
        while let Some(frame) = body.frame().await {
            let frame =
                frame.map_err(|error| Refusal::bad_request(format!("the body breaks off: {error}")))?;
            bytes.extend_from_slice(frame.data_ref().unwrap_or(&Bytes::new()));
            if bytes.len() > most {
                return Err(too_large());
            }
        }
        Ok(bytes.into())
    };
    tokio::time::timeout(limits.body_time, reading).await.unwrap_or_else(|_| {
        let message = format!("the body did not come within {:?}", limits.body_time);
        Err(Refusal::new(StatusCode::REQUEST_TIMEOUT, "Timeout", message))
    })
}
