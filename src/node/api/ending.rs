//! Streams without an end (watches, followed logs) end when the agent does: whole, so that no client takes
//! it for a broken connection.

use std::pin::Pin;
use std::task::{Context, Poll};

use http_body_util::BodyExt;
use hyper::body::{Body as _, Bytes, Frame, SizeHint};

use crate::node::api::answer::{Body, BoxError};
use crate::node::api::stop::Stop;

struct Ending {
    inner: Body,
    stopped: Pin<Box<dyn Future<Output = ()> + Send>>,
}

/// The body, ending early when the agent stops. One whose length is known ends soon by itself.
pub fn with_the_agent(body: Body, stop: &Stop) -> Body {
    if body.size_hint().exact().is_some() {
        return body;
    }
    let stopped = Box::pin(stop.clone().told());
    Ending { inner: body, stopped }.boxed_unsync()
}

impl hyper::body::Body for Ending {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match Pin::new(&mut self.inner).poll_frame(cx) {
            Poll::Pending => self.stopped.as_mut().poll(cx).map(|()| None),
            frame => frame,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::{StreamExt, stream};
    use http_body_util::StreamBody;

    use super::*;
    use crate::node::api::stop::stopping;

    #[tokio::test(flavor = "current_thread")]
    async fn a_stream_ends_whole_when_the_agent_stops_and_not_before() {
        let (stopper, stop) = stopping();
        let first = stream::iter([Ok::<_, BoxError>(Frame::data(Bytes::from_static(b"first")))]);
        let body = StreamBody::new(first.chain(stream::pending())).boxed_unsync();
        let mut body = with_the_agent(body, &stop);
        let frame = body.frame().await.unwrap().unwrap();
        assert_eq!(frame.into_data().unwrap(), "first");
        let next = tokio::time::timeout(Duration::from_millis(20), body.frame()).await;
        assert!(next.is_err(), "nothing has happened");
        stopper.stop();
        assert!(body.frame().await.is_none());
    }
}
