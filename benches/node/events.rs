//! What the engine says happened, and when, in the engine's own clock.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::agent::NODE;
use crate::http::{Client, chunk};

#[derive(Clone, Debug)]
pub struct Event {
    pub action: String,
    /// `podsandbox` or `container`.
    pub kind: String,
    pub pod: String,
    /// Nanoseconds since 1970.
    pub at: i64,
}

/// Everything since the recorder was made.
#[derive(Clone)]
pub struct Events(Arc<Mutex<Vec<Event>>>);

impl Events {
    pub fn record(client: &Client) -> Result<Self, String> {
        // {"type":["container"],"event":["create","start","die","destroy"]}
        let filters = "%7B%22type%22%3A%5B%22container%22%5D%2C%22event%22%3A%5B%22create%22%2C%22start%22%2C%22die%22%2C%22destroy%22%5D%7D";
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
                    let label = |name: &str| word(&value["Actor"]["Attributes"][name]);
                    // Others may use the engine too.
                    if label("io.podkeeper.node") != NODE && label("io.podkeeper-bench") != "raw" {
                        continue;
                    }
                    list.lock().unwrap().push(Event {
                        action: word(&value["Action"]),
                        kind: label("io.kubernetes.docker.type"),
                        pod: label("io.kubernetes.pod.name"),
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
        let is_it = |event: &Event| event.action == action && kind.is_none_or(|kind| event.kind == kind);
        self.wait(&format!("{n} × {action}"), n, is_it)
    }

    /// Waits for the first event of its kind of one pod, and returns it.
    pub fn of(&self, pod: &str, action: &str, kind: &str) -> Result<Event, String> {
        let is_it = |event: &Event| event.pod == pod && event.action == action && event.kind == kind;
        self.wait(&format!("{action} of {pod}"), 1, is_it)
    }

    fn wait(&self, what: &str, n: usize, is_it: impl Fn(&Event) -> bool) -> Result<Event, String> {
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(120) {
            if let Some(event) = self.0.lock().unwrap().iter().filter(|event| is_it(event)).nth(n - 1) {
                return Ok(event.clone());
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        Err(format!("the engine did not tell of {what} within two minutes"))
    }
}

/// Nanoseconds since 1970, in the clock that the engine uses too.
pub fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    i64::try_from(since.unwrap_or_default().as_nanos()).unwrap_or_default()
}
