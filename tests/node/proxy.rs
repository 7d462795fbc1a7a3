//! A socket between the agent and the engine that can be cut and mended, and that remembers what was asked.

use std::fs;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

const ENGINE: &str = "/var/run/docker.sock";

pub struct Proxy {
    path: PathBuf,
    shared: Arc<Mutex<Shared>>,
}

#[derive(Default)]
struct Shared {
    open: bool,
    connections: Vec<UnixStream>,
    /// The first line of every connection, which serves one request.
    requests: Vec<String>,
}

impl Proxy {
    pub fn start(path: PathBuf) -> Self {
        let proxy = Self { path, shared: Arc::default() };
        proxy.mend();
        proxy
    }

    /// Ends every connection and takes the socket away.
    pub fn cut(&self) {
        let mut shared = self.shared.lock().unwrap();
        shared.open = false;
        for connection in shared.connections.drain(..) {
            let _ = connection.shutdown(Shutdown::Both);
        }
        fs::remove_file(&self.path).unwrap();
    }

    pub fn mend(&self) {
        let listener = UnixListener::bind(&self.path).unwrap();
        self.shared.lock().unwrap().open = true;
        let shared = self.shared.clone();
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if !shared.lock().unwrap().open {
                    return;
                }
                let shared = shared.clone();
                std::thread::spawn(move || serve(client, &shared));
            }
        });
    }

    /// What was asked since this was called last, without the API version and the query.
    pub fn requests(&self) -> Vec<String> {
        let lines = std::mem::take(&mut self.shared.lock().unwrap().requests);
        let short = |line: &String| {
            let (method, path) = line.split_once(' ')?;
            let path = path.split([' ', '?']).next()?;
            Some(format!("{method} {}", path.trim_start_matches("/v1.41")))
        };
        lines.iter().filter_map(short).collect()
    }
}

fn serve(mut client: UnixStream, shared: &Mutex<Shared>) {
    let Ok(mut engine) = UnixStream::connect(ENGINE) else { return };
    let (Ok(mut from_engine), Ok(mut to_client)) = (engine.try_clone(), client.try_clone()) else { return };
    {
        let mut shared = shared.lock().unwrap();
        shared.connections.extend([client.try_clone(), engine.try_clone()].into_iter().flatten());
    }
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut from_engine, &mut to_client);
        let _ = to_client.shutdown(Shutdown::Both);
    });
    let mut buffer = [0; 16384];
    let mut is_first = true;
    while let Ok(length @ 1..) = client.read(&mut buffer) {
        if std::mem::take(&mut is_first) {
            let head = String::from_utf8_lossy(&buffer[..length]);
            shared.lock().unwrap().requests.extend(head.lines().next().map(str::to_owned));
        }
        if engine.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    let _ = engine.shutdown(Shutdown::Both);
}
