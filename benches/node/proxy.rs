//! A socket between agent and engine that writes down what passes, to count calls and to time them.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::{Arc, Mutex};

use crate::events::now;

/// One thing that passed.
#[derive(Clone, Debug)]
pub struct Passed {
    pub at: i64,
    /// The request line without its version; or `event <text>` for what came down an event stream.
    pub what: String,
}

#[derive(Clone)]
pub struct Proxy(Arc<Mutex<Vec<Passed>>>);

impl Proxy {
    pub fn listen(path: &str, engine: &str) -> Result<Self, String> {
        let _ = std::fs::remove_file(path);
        let listener = UnixListener::bind(path).map_err(|error| format!("{path}: {error}"))?;
        let (proxy, engine) = (Proxy(Arc::default()), engine.to_owned());
        let log = proxy.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (log, engine) = (log.clone(), engine.clone());
                std::thread::spawn(move || log.serve(stream, &engine));
            }
        });
        Ok(proxy)
    }

    fn note(&self, what: String) {
        self.0.lock().unwrap().push(Passed { at: now(), what });
    }

    pub fn clear(&self) {
        self.0.lock().unwrap().clear();
    }

    pub fn passed(&self) -> Vec<Passed> {
        self.0.lock().unwrap().clone()
    }

    /// The agent opens one connection for each request, so the first bytes are the request line.
    fn serve(&self, agent: UnixStream, engine: &str) {
        let Ok(engine) = UnixStream::connect(engine) else { return };
        let (Ok(mut from_agent), Ok(mut to_engine)) = (agent.try_clone(), engine.try_clone()) else { return };
        let log = self.clone();
        let events = Arc::new(Mutex::new(false));
        let is_events = events.clone();
        let up = std::thread::spawn(move || {
            let mut bytes = vec![0; 64 * 1024];
            let mut first = true;
            while let Ok(count @ 1..) = from_agent.read(&mut bytes) {
                if std::mem::take(&mut first) {
                    let text = String::from_utf8_lossy(&bytes[..count]);
                    let line = text.lines().next().unwrap_or_default().trim_end_matches(" HTTP/1.1");
                    *is_events.lock().unwrap() = line.contains("/events");
                    log.note(line.to_owned());
                }
                if to_engine.write_all(&bytes[..count]).is_err() {
                    break;
                }
            }
            let _ = to_engine.shutdown(Shutdown::Write);
        });
        let (mut from_engine, mut to_agent) = (engine, agent);
        let mut bytes = vec![0; 64 * 1024];
        while let Ok(count @ 1..) = from_engine.read(&mut bytes) {
            if *events.lock().unwrap() {
                self.note(format!("event {}", String::from_utf8_lossy(&bytes[..count])));
            }
            if to_agent.write_all(&bytes[..count]).is_err() {
                break;
            }
        }
        self.note("answered".into());
        let _ = to_agent.shutdown(Shutdown::Both);
        let _ = up.join();
    }
}
