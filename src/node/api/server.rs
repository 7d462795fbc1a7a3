//! The accept loops. Each door has places of its own; whoever finds none waits outside.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpStream, UnixListener};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use crate::node::api::Api;
use crate::node::api::access::{Peer, Way};
use crate::node::api::connection::{Stream, serve_one};
use crate::node::api::stall::Stalling;
use crate::node::api::stop::Stop;
use crate::node::api::tcp::Tcp;

/// After an accept that failed: without file descriptors it would fail again at once.
const PAUSE: Duration = Duration::from_millis(200);
/// The first byte of every TLS connection: a record that holds a handshake (RFC 8446, 5.1). No method of
/// HTTP begins with it.
const HANDSHAKE: u8 = 0x16;

/// Serves until it is told to stop; then lets what is under way come to its end, for a while.
pub async fn serve(socket: UnixListener, api: Arc<Api>, stop: Stop) {
    let at_socket = Door::new(api.limits.socket_connections);
    let over_tcp = Door::new(api.limits.tcp_connections);
    let accepting = async {
        tokio::join!(socket_loop(&socket, &at_socket, &api, &stop), tcp_loop(&over_tcp, &api, &stop));
    };
    tokio::select! {
        () = stop.clone().told() => {}
        () = accepting => {}
    }
    // Nobody is answered any more who has not come yet.
    drop(socket);
    at_socket.empty().await;
    over_tcp.empty().await;
}

/// How many may be in at once.
struct Door {
    places: Arc<Semaphore>,
    all: usize,
}

impl Door {
    fn new(all: usize) -> Self {
        Self { places: Arc::new(Semaphore::new(all)), all }
    }

    /// `None`: never again.
    async fn place(&self) -> Option<OwnedSemaphorePermit> {
        self.places.clone().acquire_owned().await.ok()
    }

    /// Waits until the last one has left.
    async fn empty(&self) {
        let _ = self.places.acquire_many(u32::try_from(self.all).unwrap_or(u32::MAX)).await;
    }
}

async fn socket_loop(listener: &UnixListener, door: &Door, api: &Arc<Api>, stop: &Stop) {
    while let Some(place) = door.place().await {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let peer = Peer::Socket { uid: stream.peer_cred().ok().map(|peer| peer.uid()) };
        let (api, stop) = (api.clone(), stop.clone());
        tokio::spawn(async move {
            let stream = Stalling::new(stream, api.limits.stall_time);
            serve_one(Box::new(stream), peer, api, stop).await;
            drop(place);
        });
    }
}

async fn tcp_loop(door: &Door, api: &Arc<Api>, stop: &Stop) {
    let Some(tcp) = &api.tcp else { return };
    let listener = tcp.listen().await;
    while let Some(place) = door.place().await {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let (api, stop) = (api.clone(), stop.clone());
        tokio::spawn(async move {
            enter(stream, api, stop).await;
            drop(place);
        });
    }
}

/// Finds out which language is spoken. What a client does wrong is the client's affair.
async fn enter(stream: TcpStream, api: Arc<Api>, stop: Stop) {
    let Some(tcp) = &api.tcp else { return };
    let greeting = timeout(api.limits.head_time, greet(stream, tcp, &api));
    let greeted = tokio::select! {
        greeted = greeting => greeted,
        // It has asked for nothing yet.
        () = stop.clone().told() => return,
    };
    if let Ok(Ok(Some((stream, way)))) = greeted {
        serve_one(stream, Peer::Tcp(way), api.clone(), stop).await;
    }
}

async fn greet(stream: TcpStream, tcp: &Tcp, api: &Api) -> io::Result<Option<(Box<dyn Stream>, Way)>> {
    // Answers are written whole.
    stream.set_nodelay(true)?;
    let mut first = [0];
    if stream.peek(&mut first).await? == 0 {
        return Ok(None);
    }
    let plain = tcp.allows_plain(stream.local_addr()?.ip());
    let stream = Stalling::new(stream, api.limits.stall_time);
    if first[0] != HANDSHAKE {
        let way = if plain { Way::Plain } else { Way::Exposed };
        return Ok(Some((Box::new(stream), way)));
    }
    let acceptor = TlsAcceptor::from(tcp.identity.now().config.clone());
    let stream = acceptor.accept(stream).await?;
    let certificate = stream.get_ref().1.peer_certificates().is_some();
    Ok(Some((Box::new(stream), Way::Tls { certificate })))
}
