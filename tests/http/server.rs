//! Our own HTTP server on raw sockets: it answers what it is told to, right or wrong, and remembers what was asked.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::authority::Identity;

/// What the server does with a request.
#[derive(Clone)]
pub enum Answer {
    /// Sends these bytes and closes the connection.
    Bytes(Vec<u8>),
    /// Sends the first bytes, then the second ones again and again with a pause between, as long as somebody reads.
    Repeat(Vec<u8>, Vec<u8>, Duration),
    /// Sends these bytes and goes without a farewell: by TLS nobody can tell that this was all.
    Cut(Vec<u8>),
    /// Sends these bytes, then nothing, and leaves the connection open.
    Hang(Vec<u8>),
}

/// The head of a request: its first line, then the headers in lower case.
pub type Asked = String;

type Script = Box<dyn FnMut(&Asked) -> Answer + Send>;

#[derive(Clone)]
pub struct Server {
    pub address: SocketAddr,
    shared: Arc<Mutex<Shared>>,
}

struct Shared {
    script: Script,
    asked: Vec<Asked>,
    connections: usize,
    identity: Option<Arc<rustls::ServerConfig>>,
}

impl Server {
    /// Answers everything with 404 until it is told otherwise.
    pub fn start() -> Self {
        Self::listen(TcpListener::bind("127.0.0.1:0").unwrap(), None)
    }

    pub fn listen_at(address: SocketAddr) -> Self {
        Self::listen(TcpListener::bind(address).unwrap(), None)
    }

    pub fn with_tls(identity: &Identity) -> Self {
        Self::listen(TcpListener::bind("127.0.0.1:0").unwrap(), Some(identity.server()))
    }

    fn listen(listener: TcpListener, identity: Option<Arc<rustls::ServerConfig>>) -> Self {
        let address = listener.local_addr().unwrap();
        let script: Script = Box::new(|_| response(404, &[], b""));
        let shared = Shared { script, asked: Vec::new(), connections: 0, identity };
        let shared = Arc::new(Mutex::new(shared));
        let server = Self { address, shared: shared.clone() };
        // Lives as long as the test's process.
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let shared = shared.clone();
                std::thread::spawn(move || serve(stream, &shared));
            }
        });
        server
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// By name, for certificates are for names.
    pub fn https(&self, path: &str) -> String {
        format!("https://localhost:{}{path}", self.address.port())
    }

    /// From now on it answers this.
    pub fn answer(&self, answer: Answer) {
        self.script(move |_| answer.clone());
    }

    pub fn script(&self, script: impl FnMut(&Asked) -> Answer + Send + 'static) {
        self.shared.lock().unwrap().script = Box::new(script);
    }

    /// From now on it shows this certificate.
    pub fn renew(&self, identity: &Identity) {
        self.shared.lock().unwrap().identity = Some(identity.server());
    }

    /// The requests so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.shared.lock().unwrap().asked.clone()
    }

    pub fn connections(&self) -> usize {
        self.shared.lock().unwrap().connections
    }
}

/// A response with its length.
pub fn response(status: u16, headers: &[(&str, &str)], body: &[u8]) -> Answer {
    let mut bytes = head(status, headers);
    bytes.truncate(bytes.len() - 2);
    write!(bytes, "Content-Length: {}\r\n\r\n", body.len()).unwrap();
    bytes.extend_from_slice(body);
    Answer::Bytes(bytes)
}

/// A head with no length.
pub fn head(status: u16, headers: &[(&str, &str)]) -> Vec<u8> {
    let mut bytes = format!("HTTP/1.1 {status} Said\r\n").into_bytes();
    for (name, value) in headers {
        write!(bytes, "{name}: {value}\r\n").unwrap();
    }
    bytes.extend_from_slice(b"\r\n");
    bytes
}

fn serve(stream: TcpStream, shared: &Mutex<Shared>) {
    let identity = {
        let mut shared = shared.lock().unwrap();
        shared.connections += 1;
        shared.identity.clone()
    };
    match identity {
        None => drop(converse(stream, shared)),
        Some(identity) => {
            let session = rustls::ServerConnection::new(identity).unwrap();
            let mut stream = rustls::StreamOwned::new(session, stream);
            if !matches!(converse(&mut stream, shared), Some(Answer::Cut(_))) {
                stream.conn.send_close_notify();
                let _ = stream.flush();
            }
        }
    }
}

/// One request, one answer. Whoever goes away in between is none of our business.
fn converse(mut stream: impl Read + Write, shared: &Mutex<Shared>) -> Option<Answer> {
    let mut asked = Vec::new();
    let mut byte = [0];
    while !asked.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte) {
            Ok(1) => asked.push(byte[0]),
            Ok(_) | Err(_) => return None,
        }
    }
    let asked = String::from_utf8(asked).unwrap();
    let answer = {
        let mut shared = shared.lock().unwrap();
        shared.asked.push(asked.clone());
        (shared.script)(&asked)
    };
    match &answer {
        Answer::Bytes(bytes) | Answer::Cut(bytes) => {
            let _ = stream.write_all(bytes).and_then(|()| stream.flush());
        }
        Answer::Repeat(first, again, pause) => {
            let mut sent = stream.write_all(first);
            while sent.and_then(|()| stream.flush()).is_ok() {
                std::thread::sleep(*pause);
                sent = stream.write_all(again);
            }
        }
        Answer::Hang(bytes) => {
            let _ = stream.write_all(bytes).and_then(|()| stream.flush());
            // Until the other side goes.
            let _ = stream.read(&mut byte);
        }
    }
    Some(answer)
}
