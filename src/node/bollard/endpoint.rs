//! Where the engine listens, and one HTTP request to it.
//!
//! A connection serves one request, as the `docker` command does it: a socket that the engine made anew
//! is found at the next call, and one hanging call never holds up another.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;

use http_body_util::BodyExt;
use hyper::body::{Body, Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::header::{HOST, HeaderValue};
use hyper::{Request, Response, Uri};
use hyper_util::rt::TokioIo;
use rustix::fs::Access;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};

/// The engine's address, as `--engine` and `DOCKER_HOST` write it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    Unix(PathBuf),
    /// `host:port`, without TLS.
    Tcp(String),
}

/// Docker's own default.
pub const DEFAULT: &str = "unix:///var/run/docker.sock";

impl Endpoint {
    /// Reads `unix:///path`, `tcp://host:port`, `http://host:port` or a bare absolute path.
    ///
    /// # Errors
    /// One sentence for the person who wrote it.
    pub fn parse(text: &str) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix("unix://").or(text.starts_with('/').then_some(text)) {
            if !path.starts_with('/') {
                return Err(format!("engine '{text}': write an absolute path, as in {DEFAULT}"));
            }
            return Ok(Endpoint::Unix(path.into()));
        }
        if let Some(rest) = text.strip_prefix("tcp://").or_else(|| text.strip_prefix("http://")) {
            let host = rest.trim_end_matches('/');
            if host.is_empty() || host.contains('/') {
                return Err(format!("engine '{text}': write tcp://host:port"));
            }
            let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
            // 2375 is the port that Docker registered for its API without TLS.
            return Ok(Endpoint::Tcp(if has_port { host.into() } else { format!("{host}:2375") }));
        }
        Err(format!("engine '{text}': only unix:///path and tcp://host:port are understood"))
    }

    async fn open(&self) -> Result<Box<dyn Wire>, NotConnected> {
        let opened: io::Result<Box<dyn Wire>> = match self {
            Endpoint::Unix(path) => UnixStream::connect(path).await.map(|s| Box::new(s) as _),
            Endpoint::Tcp(host) => TcpStream::connect(host.as_str()).await.map(|s| Box::new(s) as _),
        };
        opened.map_err(|error| NotConnected { kind: error.kind(), advice: self.advice(&error) })
    }

    /// Sends one request and returns when the head of the answer is there.
    pub(super) async fn send<B>(&self, request: Request<B>) -> Result<Response<Incoming>, SendError>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let io = TokioIo::new(Pin::from(self.open().await.map_err(SendError::NotConnected)?));
        let (mut sender, connection) = http1::handshake(io).await.map_err(SendError::Broken)?;
        tokio::spawn(connection);
        sender.send_request(self.addressed(request)).await.map_err(SendError::Broken)
    }

    /// The path alone in the request line, and a `Host`, without which Go's server refuses.
    fn addressed<B>(&self, mut request: Request<B>) -> Request<B> {
        if let Some(path) = request.uri().path_and_query().cloned() {
            *request.uri_mut() = Uri::from(path);
        }
        let host = match self {
            Endpoint::Unix(_) => HeaderValue::from_static("docker"),
            Endpoint::Tcp(host) => {
                HeaderValue::from_str(host).unwrap_or_else(|_| HeaderValue::from_static("docker"))
            }
        };
        request.headers_mut().insert(HOST, host);
        request
    }

    /// One line that says what is wrong with this endpoint and what to do.
    fn advice(&self, error: &io::Error) -> String {
        let Endpoint::Unix(path) = self else {
            return format!(
                "engine {self} cannot be reached ({error}): is it running, and is this its address?"
            );
        };
        match error.kind() {
            io::ErrorKind::NotFound => format!(
                "engine {self} is not there: start it (systemctl start docker), or name another with --engine"
            ),
            io::ErrorKind::ConnectionRefused => {
                format!("engine {self} has no process behind its socket: start it (systemctl start docker)")
            }
            io::ErrorKind::PermissionDenied => {
                format!("engine {self} may not be opened: {}", permission(path))
            }
            _ => format!("engine {self} cannot be reached: {error}"),
        }
    }
}

/// Which group would help.
fn permission(path: &Path) -> String {
    use std::os::unix::fs::MetadataExt;
    let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    match std::fs::metadata(path) {
        Ok(meta) => {
            let group = group_name(meta.gid()).unwrap_or_else(|| meta.gid().to_string());
            format!(
                "this is user {uid}, group {gid}; add the user to group {group} (usermod -aG {group} USER) and start again"
            )
        }
        Err(_) if rustix::fs::access(path, Access::EXISTS).is_err() => {
            format!(
                "user {uid}, group {gid} may not even look into its directory; run as root or fix the directory"
            )
        }
        Err(error) => error.to_string(),
    }
}

fn group_name(gid: u32) -> Option<String> {
    let groups = std::fs::read_to_string("/etc/group").ok()?;
    groups.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(gid)).then(|| name.to_owned())
    })
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Endpoint::Unix(path) => write!(f, "unix://{}", path.display()),
            Endpoint::Tcp(host) => write!(f, "tcp://{host}"),
        }
    }
}

trait Wire: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Wire for T {}

/// Nothing was sent.
#[derive(Clone, Debug)]
pub struct NotConnected {
    pub kind: io::ErrorKind,
    /// What is wrong and what to do, in one line.
    pub advice: String,
}

impl fmt::Display for NotConnected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.advice)
    }
}

impl std::error::Error for NotConnected {}

/// Why a request has no answer.
#[derive(Debug)]
pub(super) enum SendError {
    NotConnected(NotConnected),
    /// It may have arrived.
    Broken(hyper::Error),
}

/// Reads a whole answer.
pub(super) async fn whole(response: Response<Incoming>) -> Result<Bytes, hyper::Error> {
    Ok(response.into_body().collect().await?.to_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_addresses_that_docker_host_may_hold() {
        for (text, expected) in [
            (DEFAULT, Some(Endpoint::Unix("/var/run/docker.sock".into()))),
            ("/run/podman/podman.sock", Some(Endpoint::Unix("/run/podman/podman.sock".into()))),
            ("tcp://[::1]:2376", Some(Endpoint::Tcp("[::1]:2376".into()))),
            ("tcp://10.0.0.7", Some(Endpoint::Tcp("10.0.0.7:2375".into()))),
            ("http://localhost:80/", Some(Endpoint::Tcp("localhost:80".into()))),
            ("unix://docker.sock", None),
            ("ssh://me@there", None),
            ("tcp://", None),
            ("", None),
        ] {
            assert_eq!(Endpoint::parse(text).ok(), expected, "{text}");
        }
    }
}
