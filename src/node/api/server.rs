//! The accept loops, and what every connection goes through.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::Semaphore;

use crate::node::api::access::{self, Peer};
use crate::node::api::{Api, routes};

/// After an accept that failed: without file descriptors it would fail again at once.
const PAUSE: Duration = Duration::from_millis(200);

/// Serves until the task is dropped.
pub async fn serve(socket: UnixListener, tcp: Option<SocketAddr>, api: Arc<Api>) {
    let over_tcp = async {
        if let Some(address) = tcp {
            tcp_loop(address, &api).await;
        }
    };
    tokio::join!(socket_loop(socket, &api), over_tcp);
}

async fn socket_loop(listener: UnixListener, api: &Arc<Api>) {
    let places = Arc::new(Semaphore::new(api.limits.socket_connections));
    loop {
        let Ok(place) = places.clone().acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let peer = Peer::Socket { uid: stream.peer_cred().ok().map(|peer| peer.uid()) };
        let api = api.clone();
        tokio::spawn(async move {
            connection(stream, peer, api).await;
            drop(place);
        });
    }
}

async fn tcp_loop(address: SocketAddr, api: &Arc<Api>) {
    let listener = match TcpListener::bind(address).await {
        Ok(listener) => listener,
        Err(error) => return tracing::error!("the API cannot listen at {address}: {error}"),
    };
    let places = Arc::new(Semaphore::new(api.limits.tcp_connections));
    loop {
        let Ok(place) = places.clone().acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let api = api.clone();
        tokio::spawn(async move {
            connection(stream, Peer::Tcp, api).await;
            drop(place);
        });
    }
}

async fn connection(stream: impl AsyncRead + AsyncWrite + Unpin, peer: Peer, api: Arc<Api>) {
    let limits = api.limits;
    let answer = service_fn(move |request: Request<Incoming>| {
        let (api, peer) = (api.clone(), peer.clone());
        async move {
            let request = request.map(|body| body.map_err(Into::into).boxed_unsync());
            Ok::<_, Infallible>(match access::admit(&request, &peer) {
                Ok(()) => routes::handle(request, &api).await,
                Err(refusal) => refusal.into(),
            })
        }
    });
    // What a client does wrong is the client's affair.
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head_time)
        .max_buf_size(limits.head_size)
        .serve_connection(TokioIo::new(stream), answer)
        .await;
}
