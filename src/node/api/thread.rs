//! The API's own thread: whoever reads, and however many do, takes no time from the agent's loop.

use std::io;
use std::sync::Arc;

use tokio::net::UnixListener;
use tokio::runtime::Builder;
use tokio::sync::oneshot;

use super::{Api, Stop, serve};

/// Serves until it is told to stop. What is returned is answered, one way or another, when the last client has left.
///
/// # Errors
/// When no thread can be had.
pub fn serve_beside(socket: UnixListener, api: Arc<Api>, stop: Stop) -> io::Result<oneshot::Receiver<()>> {
    // A listener belongs to the runtime that it was made in.
    let socket = socket.into_std()?;
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let (done, ended) = oneshot::channel();
    let work = move || {
        runtime.block_on(async move {
            match UnixListener::from_std(socket) {
                Ok(socket) => serve(socket, api, stop).await,
                Err(error) => tracing::error!("the API cannot be served: {error}"),
            }
        });
        // Whoever waited may have gone.
        let _ = done.send(());
    };
    std::thread::Builder::new().name("api".into()).spawn(work)?;
    Ok(ended)
}
