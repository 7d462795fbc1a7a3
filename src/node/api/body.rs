//! Reading what a client sends, within the limits.

use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::StatusCode;
use hyper::body::{Body as _, Bytes};

use crate::node::api::answer::Body;
use crate::node::api::limits::Limits;
use crate::node::api::refusal::Refusal;

/// The whole body of a request.
///
/// # Errors
/// Too large, too slow, or broken off.
pub async fn read(body: Body, limits: &Limits) -> Result<Bytes, Refusal> {
    let most = limits.body_size;
    let too_large = || {
        let message = format!("the body is larger than {most} bytes");
        Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, "RequestEntityTooLarge", message)
    };
    // One that announces too much need not send it.
    if body.size_hint().lower() > most as u64 {
        return Err(too_large());
    }
    let reading = Limited::new(body, most).collect();
    match tokio::time::timeout(limits.body_time, reading).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
        Ok(Err(error)) => Err(Refusal::bad_request(format!("the body breaks off: {error}"))),
        Err(_) => {
            let message = format!("the body did not come within {:?}", limits.body_time);
            Err(Refusal::new(StatusCode::REQUEST_TIMEOUT, "Timeout", message))
        }
    }
}
