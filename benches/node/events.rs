//! What the engine says happened, and when, in the engine's own clock.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::http::{Client, chunk};

#[derive(Clone, Debug)]
pub struct Event {
    pub action: String,
    /// `podsandbox` or `container`.
    pub kind: String,
    /// Nanoseconds since 1970.
    pub at: i64,
}

/// Everything since the recorder was made.
#[derive(Clone)]
pub struct Events(Arc<Mutex<Vec<Event>>>);

impl Events {
    pub fn record(client: &Client) -> Result<Self, String> {
        // {"type":["container"],"event":["start","die","destroy"]}
        let filters = "%7B%22type%22%3A%5B%22container%22%5D%2C%22event%22%3A%5B%22start%22%2C%22die%22%2C%22destroy%22%5D%7D";
        let mut stream =
            client.stream(&format!("/events?filters={filters}")).map_err(|error| error.to_string())?;
        let events = Events(Arc::default());
        let list = events.0.clone();
        std::thread::spawn(move || {
            let mut text = Vec::new();
            while let Ok(Some(bytes)) = chunk(&mut stream) {
                text.extend(bytes);
                while let Some(end) = text.iter().position(|&byte| byte == b'\n') {
                    let line: Vec<u8> = text.drain(..=end).collect();
                    let Ok(value) = serde_json::from_slice::<Value>(&line) else { continue };
                    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                    list.lock().unwrap().push(Event {
                        action: word(&value["Action"]),
                        kind: word(&value["Actor"]["Attributes"]["io.kubernetes.docker.type"]),
                        at: value["timeNano"].as_i64().unwrap_or_default(),
                    });
                }
            }
        });
        Ok(events)
    }

    pub fn clear(&self) {
        self.0.lock().unwrap().clear();
    }

    /// Waits for the n-th event of a kind, and returns it.
    pub fn nth(&self, n: usize, action: &str, kind: Option<&str>) -> Result<Event, String> {
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(120) {
            let list = self.0.lock().unwrap();
            let mut matching =
                list.iter().filter(|e| e.action == action && kind.is_none_or(|kind| e.kind == kind));
            if let Some(event) = matching.nth(n - 1) {
                return Ok(event.clone());
            }
            drop(list);
            std::thread::sleep(Duration::from_millis(2));
        }
        Err(format!("the engine did not tell of {n} × {action} within two minutes"))
    }
}

/// Nanoseconds since 1970, in the clock that the engine uses too.
pub fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    i64::try_from(since.unwrap_or_default().as_nanos()).unwrap_or_default()
}
