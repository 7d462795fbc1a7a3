//! The raw engine client: one request over the engine's socket, nothing between.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;

pub struct Client {
    pub socket: String,
}

impl Client {
    /// Sends one request and returns the body of a good answer.
    pub fn call(&self, method: &str, path: &str, body: &str) -> Result<Vec<u8>, String> {
        let fails = |error: std::io::Error| format!("{method} {path}: {error}");
        let mut reader = self.open(method, path, body).map_err(fails)?;
        let (status, chunked, length) = head(&mut reader).map_err(fails)?;
        let mut answer = Vec::new();
        if chunked {
            while let Some(chunk) = chunk(&mut reader).map_err(fails)? {
                answer.extend(chunk);
            }
        } else {
            reader.take(length).read_to_end(&mut answer).map_err(fails)?;
        }
        match status {
            200..=299 | 304 => Ok(answer),
            _ => Err(format!("{method} {path}: {status} {}", String::from_utf8_lossy(&answer).trim())),
        }
    }

    /// Sends a request whose answer is a stream, and returns the stream after its head.
    pub fn stream(&self, path: &str) -> std::io::Result<BufReader<UnixStream>> {
        let mut reader = self.open("GET", path, "")?;
        head(&mut reader)?;
        Ok(reader)
    }

    fn open(&self, method: &str, path: &str, body: &str) -> std::io::Result<BufReader<UnixStream>> {
        let mut stream = UnixStream::connect(&self.socket)?;
        let head = format!(
            "{method} /v1.41{path} HTTP/1.1\r\nHost: docker\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(head.as_bytes())?;
        Ok(BufReader::new(stream))
    }
}

/// Status, whether chunked, length (to the end of the stream when none is given).
fn head(reader: &mut impl BufRead) -> std::io::Result<(u16, bool, u64)> {
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let status = line.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
    let (mut chunked, mut length) = (false, u64::MAX);
    loop {
        line.clear();
        if reader.read_line(&mut line)? <= 2 {
            return Ok((status, chunked, if status == 204 || status == 304 { 0 } else { length }));
        }
        let header = line.trim().to_ascii_lowercase();
        chunked |= header == "transfer-encoding: chunked";
        if let Some(value) = header.strip_prefix("content-length: ") {
            length = value.parse().unwrap_or(u64::MAX);
        }
    }
}

/// One chunk of a chunked body; `None` at its end.
pub fn chunk(reader: &mut impl BufRead) -> std::io::Result<Option<Vec<u8>>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let size = usize::from_str_radix(line.trim(), 16).unwrap_or(0);
    let mut bytes = vec![0; size + 2];
    reader.read_exact(&mut bytes)?;
    bytes.truncate(size);
    Ok((size > 0).then_some(bytes))
}
