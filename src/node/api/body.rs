//! Reading what a client sends, within the limits.

use http_body_util::BodyExt;
use hyper::StatusCode;
use hyper::body::{Body as _, Bytes};

use crate::node::api::answer::Body;
use crate::node::api::limits::Limits;
use crate::node::api::refusal::Refusal;

/// What a client may still send after its refusal. One that is still writing reads only then, and over a unix socket
/// it would see nothing but a broken connection.
const DRAINED: usize = 16 << 20;

/// The whole body of a request.
///
/// # Errors
/// Too large, too slow, or broken off.
pub async fn read(mut body: Body, limits: &Limits) -> Result<Bytes, Refusal> {
    let most = limits.body_size;
    // One that announces too much need not send it.
    if body.size_hint().lower() <= most as u64 {
        let reading = tokio::time::timeout(limits.body_time, within(&mut body, most));
        match reading.await {
            Ok(Ok(Some(bytes))) => return Ok(bytes),
            Ok(Ok(None)) => {}
            Ok(Err(refusal)) => return Err(refusal),
            Err(_) => {
                let message = format!("the body did not come within {:?}", limits.body_time);
                return Err(Refusal::new(StatusCode::REQUEST_TIMEOUT, "Timeout", message));
            }
        }
    }
    // It is answered at once, and hyper reads on for as long as somebody takes the body.
    tokio::spawn(tokio::time::timeout(limits.body_time, drain(body)));
    let message = format!("the body is larger than {most} bytes");
    Err(Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, "RequestEntityTooLarge", message))
}

/// `None`: it is larger.
async fn within(body: &mut Body, most: usize) -> Result<Option<Bytes>, Refusal> {
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| Refusal::bad_request(format!("the body breaks off: {error}")))?;
        bytes.extend_from_slice(frame.data_ref().unwrap_or(&Bytes::new()));
        if bytes.len() > most {
            return Ok(None);
        }
    }
    Ok(Some(bytes.into()))
}

async fn drain(mut body: Body) {
    let mut drained = 0;
    while let Some(Ok(frame)) = body.frame().await {
        drained += frame.data_ref().map_or(0, Bytes::len);
        if drained > DRAINED {
            return;
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
