//! Plain HTTP over connections that are kept: to etcd, to the agent's API; and a server of one document.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};

use crate::events::now;

/// One connection, over which requests go one after the other.
pub struct Line<S: Read + Write>(BufReader<S>);

pub fn free_port() -> Result<u16, String> {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
    Ok(listener.local_addr().map_err(|error| error.to_string())?.port())
}

impl Line<TcpStream> {
    pub fn tcp(port: u16) -> Result<Self, String> {
        let stream = TcpStream::connect(("127.0.0.1", port));
        let stream = stream.and_then(|stream| stream.set_nodelay(true).map(|()| stream));
        stream.map(|stream| Self(BufReader::new(stream))).map_err(|error| format!("port {port}: {error}"))
    }
}

impl Line<UnixStream> {
    pub fn unix(path: &str) -> Result<Self, String> {
        UnixStream::connect(path)
            .map(|stream| Self(BufReader::new(stream)))
            .map_err(|error| format!("{path}: {error}"))
    }
}

impl<S: Read + Write> Line<S> {
    /// Sends a request and reads its answer: the status and the body.
    pub fn ask(
        &mut self,
        method: &str,
        path: &str,
        headers: &str,
        body: &str,
    ) -> Result<(u16, Vec<u8>), String> {
        let fails = |error: std::io::Error| format!("{method} {path}: {error}");
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\n{headers}Content-Type: application/json\r\n\
             Content-Length: {length}\r\n\r\n{body}"
        );
        self.0.get_mut().write_all(request.as_bytes()).map_err(fails)?;
        let (mut line, mut length) = (String::new(), 0);
        self.0.read_line(&mut line).map_err(fails)?;
        let status = line.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
        loop {
            line.clear();
            if self.0.read_line(&mut line).map_err(fails)? <= 2 {
                break;
            }
            if let Some(value) = line.trim().to_ascii_lowercase().strip_prefix("content-length: ") {
                length = value.parse().unwrap_or(0);
            }
        }
        let mut answer = vec![0; length];
        self.0.read_exact(&mut answer).map_err(fails)?;
        Ok((status, answer))
    }
}

/// A server of one document.
#[derive(Clone)]
pub struct Site {
    pub address: SocketAddr,
    shared: Arc<Mutex<Document>>,
}

struct Document {
    text: String,
    /// When this text was asked for first.
    asked: Option<i64>,
}

impl Site {
    pub fn open(text: &str) -> Result<Self, String> {
        let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        let shared = Arc::new(Mutex::new(Document { text: text.to_owned(), asked: None }));
        let site = Self { address, shared: shared.clone() };
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let _ = answer(stream, &shared);
            }
        });
        Ok(site)
    }

    pub fn say(&self, text: String) {
        *self.shared.lock().unwrap() = Document { text, asked: None };
    }

    pub fn asked(&self) -> Option<i64> {
        self.shared.lock().unwrap().asked
    }
}

fn answer(mut stream: TcpStream, shared: &Mutex<Document>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut line = String::new();
    while reader.read_line(&mut line)? > 2 {
        line.clear();
    }
    let text = {
        let mut document = shared.lock().unwrap();
        document.asked.get_or_insert_with(now);
        document.text.clone()
    };
    write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}", text.len())
}
