//! What every connection goes through, whichever door it came by.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;

use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;

use crate::node::api::access::{self, Peer};
use crate::node::api::answer::Answer;
use crate::node::api::stop::Stop;
use crate::node::api::{Api, ending, routes};

/// A connection, plain or not: one machinery for all of them.
pub trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

/// Serves one connection to its end. When the agent stops, the request under way still gets its answer.
pub async fn serve_one(stream: Box<dyn Stream>, peer: Peer, api: Arc<Api>, stop: Stop) {
    let limits = api.limits;
    let stopping = stop.clone();
    let service = service_fn(move |request: Request<Incoming>| {
        let (api, stop) = (api.clone(), stopping.clone());
        async move {
            let answer = answer(request, peer, &api).await;
            Ok::<_, Infallible>(answer.map(|body| ending::with_the_agent(body, &stop)))
        }
    });
    // Without a timer hyper's time limit for heads does nothing.
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head_time)
        .max_buf_size(limits.head_size)
        .max_header_size(limits.head_size)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    tokio::select! {
        // What a client does wrong is the client's affair.
        _ = connection.as_mut() => {}
        () = stop.told() => {
            connection.as_mut().graceful_shutdown();
            let _ = timeout(limits.farewell, connection).await;
        }
    }
}

async fn answer(request: Request<Incoming>, peer: Peer, api: &Arc<Api>) -> Answer {
    let (head, body) = request.into_parts();
    let caller = match access::admit(&head, peer, api.tcp.as_ref(), &api.limits) {
        Ok(caller) => caller,
        Err(refusal) => return refusal.into(),
    };
    let told = (!matches!(head.method, Method::GET | Method::HEAD))
        .then(|| (head.method.clone(), head.uri.path().to_owned()));
    let request = Request::from_parts(head, body.map_err(Into::into).boxed_unsync());
    let answer = routes::handle(request, caller, api).await;
    if let Some((method, path)) = told {
        tracing::info!(%method, path, by = %caller, status = answer.status().as_u16(), "asked over the API");
    }
    answer
}
