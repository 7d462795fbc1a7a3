//! Asking a running agent over its socket.

use std::io;
use std::path::Path;
use std::time::Duration;

use http_body_util::{BodyExt, Empty};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::HOST;
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::UnixStream;

/// An agent answers from memory.
const PATIENCE: Duration = Duration::from_secs(10);

/// `GET path`.
///
/// # Errors
/// One line for a person: nobody listens, or the answer makes no sense.
pub async fn get(socket: &Path, path: &str) -> Result<(StatusCode, Bytes), String> {
    let stream = UnixStream::connect(socket).await.map_err(|error| absent(socket, &error))?;
    let fails = |error: hyper::Error| format!("the agent at {} broke off: {error}", socket.display());
    let work = async {
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(fails)?;
        tokio::spawn(connection);
        let request = Request::get(path).header(HOST, "podkeeper").body(Empty::<Bytes>::new());
        let request = request.map_err(|error| format!("{path} cannot be asked for: {error}"))?;
        let response = sender.send_request(request).await.map_err(fails)?;
        let code = response.status();
        Ok((code, response.into_body().collect().await.map_err(fails)?.to_bytes()))
    };
    let silent = |_| Err(format!("the agent at {} does not answer", socket.display()));
    tokio::time::timeout(PATIENCE, work).await.unwrap_or_else(silent)
}

fn absent(socket: &Path, error: &io::Error) -> String {
    let socket = socket.display();
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => {
            format!(
                "no agent listens at {socket}: start one (podkeeper run), or name its socket with --socket"
            )
        }
        io::ErrorKind::PermissionDenied => {
            format!("the agent's socket {socket} may not be opened: run this as root or as the agent's user")
        }
        _ => format!("the agent's socket {socket} cannot be reached: {error}"),
    }
}
