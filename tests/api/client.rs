//! A client that says exactly what a test wants, byte for byte.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::server::PATIENCE;

pub struct Reply {
    pub code: u16,
    pub head: String,
    pub body: String,
}

impl Reply {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (given, value) = line.split_once(':')?;
            given.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    /// Is it an error as Kubernetes tells them, of the code that the status line has?
    #[track_caller]
    pub fn assert_status(&self, code: u16, reason: &str) {
        let status: serde_json::Value = serde_json::from_str(&self.body).expect(&self.body);
        assert_eq!((self.code, status["code"].as_u64()), (code, Some(u64::from(code))), "{}", self.body);
        assert_eq!((&status["kind"], &status["reason"]), (&"Status".into(), &reason.into()));
        assert!(status["message"].as_str().is_some_and(|message| !message.is_empty()));
    }
}

pub fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect_timeout(&address, PATIENCE).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream
}

pub fn connect_socket(path: &Path) -> UnixStream {
    let stream = UnixStream::connect(path).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// A request without a body. `more` are header lines.
pub fn get(path: &str, more: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{more}\r\n")
}

pub fn bearer(token: &str) -> String {
    format!("Authorization: Bearer {token}\r\n")
}

/// Sends all of it, as far as the server takes it, and reads one reply.
#[track_caller]
pub fn ask(stream: &mut (impl Read + Write), request: impl AsRef<[u8]>) -> Reply {
    // A server that has refused already reads no further.
    let _ = stream.write_all(request.as_ref()).and_then(|()| stream.flush());
    reply(stream).expect("the connection was closed without a reply")
}

/// The next reply; `None` when the connection has ended instead.
#[track_caller]
pub fn reply(stream: &mut impl Read) -> Option<Reply> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if !more(stream, &mut byte) {
            assert!(head.is_empty(), "a head without an end: {}", String::from_utf8_lossy(&head));
            return None;
        }
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let code = head.split(' ').nth(1).unwrap().parse().unwrap();
    let mut reply = Reply { code, head, body: String::new() };
    let mut body = vec![0; reply.header("content-length").map_or(0, |length| length.parse().unwrap())];
    stream.read_exact(&mut body).expect("a body without its end");
    reply.body = String::from_utf8(body).unwrap();
    Some(reply)
}

/// False when the server has ended the connection, politely or not.
#[track_caller]
fn more(stream: &mut impl Read, byte: &mut [u8; 1]) -> bool {
    match stream.read(byte) {
        Ok(read) => read > 0,
        Err(error) => match error.kind() {
            ErrorKind::ConnectionReset | ErrorKind::BrokenPipe | ErrorKind::UnexpectedEof => false,
            _ => panic!("the server neither answers nor ends the connection: {error}"),
        },
    }
}

/// All that comes until the server ends the connection, which it has to.
#[track_caller]
pub fn read_to_end(stream: &mut impl Read) -> String {
    let mut said = Vec::new();
    let mut byte = [0];
    while more(stream, &mut byte) {
        said.push(byte[0]);
    }
    String::from_utf8(said).unwrap()
}

/// Fails when it goes on, or says anything more.
#[track_caller]
pub fn assert_ended(stream: &mut impl Read) {
    assert!(!more(stream, &mut [0]), "the connection goes on");
}

pub fn roots(pem: &Path) -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(pem).unwrap()).unwrap();
    roots
}

/// A client that believes this certificate alone.
pub fn believing(pem: &Path) -> ClientConfig {
    ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots(pem))
        .with_no_client_auth()
}

pub fn secure(
    address: SocketAddr,
    name: &str,
    config: ClientConfig,
) -> StreamOwned<ClientConnection, TcpStream> {
    let name = ServerName::try_from(name.to_owned()).unwrap();
    StreamOwned::new(ClientConnection::new(Arc::new(config), name).unwrap(), connect(address))
}
