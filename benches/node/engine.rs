//! The engine's side of each pair: the same creates, starts, stops and removes, by nobody's rules.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::http::Client;

/// As many as the agent has on two cores.
pub const IN_FLIGHT: usize = 4;
/// The sandbox image that the binary carries; the agent has loaded it in the warm-up.
const PAUSE: &str = "podkeeper/pause:1";
pub const IMAGE: &str = "podkeeper/demo:1";
pub const COMMAND: [&str; 3] = ["sh", "-c", "trap 'exit 0' TERM; while true; do sleep 3600 & wait $!; done"];

/// One pod made by hand.
#[derive(Clone, Default)]
pub struct Made {
    pub sandbox: String,
    pub container: String,
}

fn id(answer: Vec<u8>) -> Result<String, String> {
    let value: Value = serde_json::from_slice(&answer).map_err(|error| error.to_string())?;
    Ok(value["Id"].as_str().unwrap_or_default().to_owned())
}

/// Creates and starts one container that joins a sandbox.
pub fn container(client: &Client, name: &str, sandbox: &str) -> Result<String, String> {
    let joined = format!("container:{sandbox}");
    let body = json!({
        "Image": IMAGE, "Entrypoint": COMMAND, "StopTimeout": 30,
        "Labels": labels(name, "container"),
        "HostConfig": {"NetworkMode": joined, "IpcMode": joined, "CpuShares": 2, "OomScoreAdj": 1000,
                       "RestartPolicy": {"Name": "no"}},
    });
    let made = id(client.call("POST", &format!("/containers/create?name={name}"), &body.to_string())?)?;
    client.call("POST", &format!("/containers/{made}/start"), "")?;
    Ok(made)
}

pub fn pod(client: &Client, name: &str) -> Result<Made, String> {
    let body = json!({
        "Image": PAUSE, "Hostname": name, "Labels": labels(name, "podsandbox"),
        "HostConfig": {"NetworkMode": "default", "IpcMode": "shareable", "CpuShares": 2,
                       "SecurityOpt": ["no-new-privileges"], "RestartPolicy": {"Name": "no"}},
    });
    let path = format!("/containers/create?name={name}-sandbox");
    let sandbox = id(client.call("POST", &path, &body.to_string())?)?;
    client.call("POST", &format!("/containers/{sandbox}/start"), "")?;
    let container = container(client, name, &sandbox)?;
    Ok(Made { sandbox, container })
}

/// Four labels of the lengths that the agent's have.
fn labels(name: &str, kind: &str) -> Value {
    json!({
        "io.podkeeper-bench": "raw", "io.kubernetes.pod.name": name, "io.kubernetes.docker.type": kind,
        "io.podkeeper-bench.fingerprint": "1 image=9f86d081884c command=2c26b46b68ff",
    })
}

pub fn remove(client: &Client, made: &Made) -> Result<(), String> {
    for id in [&made.container, &made.sandbox] {
        client.call("POST", &format!("/containers/{id}/stop?t=30"), "")?;
    }
    for id in [&made.container, &made.sandbox] {
        client.call("DELETE", &format!("/containers/{id}?v=1"), "")?;
    }
    Ok(())
}

/// Does `count` things, [`IN_FLIGHT`] at a time.
pub fn parallel<T: Send>(
    count: usize,
    task: impl Fn(usize) -> Result<T, String> + Sync,
) -> Result<Vec<T>, String> {
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<(usize, Result<T, String>)>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..IN_FLIGHT.min(count) {
            scope.spawn(|| {
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    if i >= count {
                        return;
                    }
                    let result = task(i);
                    results.lock().unwrap().push((i, result));
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap();
    results.sort_by_key(|(i, _)| *i);
    results.into_iter().map(|(_, result)| result).collect()
}
