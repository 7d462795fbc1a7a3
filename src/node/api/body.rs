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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::{StreamExt, stream};
    use http_body_util::StreamBody;
    use hyper::body::Frame;

    use super::*;
    use crate::node::api::answer::{BoxError, whole};

    /// A body of unknown length: these pieces, and then its end, an error, or nothing ever.
    fn pieces(pieces: &'static [&'static str], end: Option<Option<&'static str>>) -> Body {
        let pieces = stream::iter(pieces).map(|piece| Ok(Frame::data(Bytes::from_static(piece.as_bytes()))));
        let end = async move {
            match end {
                Some(error) => error.map(|error| Err(BoxError::from(error))),
                None => std::future::pending().await,
            }
        };
        StreamBody::new(pieces.chain(stream::once(end).filter_map(std::future::ready))).boxed_unsync()
    }

    #[tokio::test(flavor = "current_thread")]
    async fn w3_w4_a_body_is_read_within_its_limits() {
        let limits = Limits { body_size: 8, body_time: Duration::from_millis(50), ..Limits::default() };
        for (name, body, expected) in [
            ("none", whole(""), Ok("")),
            ("at the limit", whole("12345678"), Ok("12345678")),
            ("announced and too large", whole("123456789"), Err(413)),
            ("in pieces", pieces(&["1234", "5678"], Some(None)), Ok("12345678")),
            ("in pieces and too large", pieces(&["1234", "5678", "9"], None), Err(413)),
            ("broken off", pieces(&["1234"], Some(Some("reset"))), Err(400)),
            ("slow", pieces(&["1234"], None), Err(408)),
        ] {
            let read = read(body, &limits).await.map_err(|refusal| refusal.code.as_u16());
            assert_eq!(read, expected.map(|text| Bytes::from_static(str::as_bytes(text))), "{name}");
        }
    }
}
