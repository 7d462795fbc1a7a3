//! The agent's API on its unix socket: read only, answered from the last round without asking the engine.
//!
//! Whoever may open the socket is asked for by the kernel: root and the agent's own user are served.

use std::io;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::{Value, json};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;

use crate::node::clock::Clock;
use crate::node::snapshot::{EngineStatus, Snapshot, Snapshots};
use crate::node::store::SourceState;
use crate::plan;

pub mod client;
pub mod pods;

/// How long a client may take for its request's head, and between two requests.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
const HEAD_SIZE: usize = 64 << 10;
const CONNECTIONS: usize = 256;
/// After an accept that failed: without file descriptors it would fail again at once.
const PAUSE: Duration = Duration::from_millis(200);

/// `/run/podkeeper/podkeeper.sock`, and for an ordinary user one of their own.
pub fn default_socket() -> PathBuf {
    let own = || std::env::var_os("XDG_RUNTIME_DIR").filter(|dir| !dir.is_empty()).map(PathBuf::from);
    let dir = if rustix::process::geteuid().is_root() { None } else { own() };
    dir.unwrap_or_else(|| "/run".into()).join("podkeeper/podkeeper.sock")
}

/// Takes the socket. One that a dead agent left behind is replaced; a live one is not.
///
/// # Errors
/// One line for a person.
pub fn bind(path: &Path) -> Result<UnixListener, String> {
    let fails = |error: io::Error| {
        format!("socket {} cannot be made: {error}; name another with --socket", path.display())
    };
    if let Some(dir) = path.parent().filter(|dir| !dir.as_os_str().is_empty()) {
        std::fs::DirBuilder::new().recursive(true).mode(0o755).create(dir).map_err(fails)?;
    }
    match std::fs::symlink_metadata(path) {
        Ok(meta) if !meta.file_type().is_socket() => {
            return Err(format!(
                "{} is there and is not a socket: name another with --socket",
                path.display()
            ));
        }
        Ok(_) if std::os::unix::net::UnixStream::connect(path).is_ok() => {
            return Err(format!(
                "socket {} is served by another process: stop that agent, or name another with --socket",
                path.display()
            ));
        }
        Ok(_) => std::fs::remove_file(path).map_err(fails)?,
        Err(_) => {}
    }
    let listener = UnixListener::bind(path).map_err(fails)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o660)).map_err(fails)?;
    Ok(listener)
}

/// Serves until the task is dropped.
pub async fn serve(listener: UnixListener, snapshots: Snapshots, clock: Clock) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok(place) = places.clone().acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let snapshots = snapshots.clone();
        tokio::spawn(async move {
            connection(stream, snapshots, clock).await;
            drop(place);
        });
    }
}

async fn connection(stream: UnixStream, snapshots: Snapshots, clock: Clock) {
    let allowed = stream
        .peer_cred()
        .is_ok_and(|peer| peer.uid() == 0 || peer.uid() == rustix::process::geteuid().as_raw());
    let answer = service_fn(move |request: Request<Incoming>| {
        let answer = if allowed {
            answer(&request, &snapshots.now(), clock)
        } else {
            status(StatusCode::FORBIDDEN, "Forbidden", "only root and the agent's own user are served")
        };
        async move { Ok::<_, std::convert::Infallible>(answer) }
    });
    // What a client does wrong is the client's affair.
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(HEAD_SIZE)
        .serve_connection(TokioIo::new(stream), answer)
        .await;
}

type Answer = Response<Full<Bytes>>;

fn answer<B>(request: &Request<B>, now: &Snapshot, clock: Clock) -> Answer {
    let path = request.uri().path();
    let content: fn(&Snapshot, Clock) -> Answer = match path {
        "/healthz" | "/livez" => |_, _| text(StatusCode::OK, "ok"),
        "/readyz" => |now, _| readiness(now),
        "/pods" => |now, _| ok(&pods::list(now)),
        "/plan" => |now, _| ok(&plan_of(now)),
        "/sources" => |now, clock| ok(&sources(now, clock)),
        _ => return status(StatusCode::NOT_FOUND, "NotFound", &format!("there is nothing at {path}")),
    };
    if request.method() != Method::GET {
        let message = format!("{path} can only be read (GET)");
        let mut refusal = status(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", &message);
        refusal.headers_mut().insert(ALLOW, HeaderValue::from_static("GET"));
        return refusal;
    }
    content(now, clock)
}

/// Ready: the engine has been read, and so have the sources.
fn readiness(now: &Snapshot) -> Answer {
    let missing = match &now.engine {
        EngineStatus::Connecting => Some("the engine has not answered yet".to_owned()),
        EngineStatus::Down(why) => Some(why.to_string()),
        EngineStatus::Up(_) => now
            .sources
            .iter()
            .flat_map(|(kind, reports)| reports.iter().map(move |report| (kind, report)))
            .find(|(_, report)| report.state == SourceState::Unknown)
            .map(|(kind, report)| format!("source {kind} ({}) has not been read yet", report.origin)),
    };
    match missing {
        None => text(StatusCode::OK, "ok"),
        Some(why) => text(StatusCode::SERVICE_UNAVAILABLE, &why),
    }
}

/// What is due, what is under way, what waits.
fn plan_of(now: &Snapshot) -> Value {
    let mut actions = json!(plan::plan(&now.desired, &now.observed));
    for action in actions.as_array_mut().into_iter().flatten() {
        if let Some(env) = action.pointer_mut("/call/config/env") {
            hide_values(env);
        }
    }
    let under_way: Vec<Value> = now
        .observed
        .in_flight
        .iter()
        .map(|(pod, busy)| json!({ "pod": pod, "busy": busy.keys().collect::<Vec<_>>() }))
        .collect();
    json!({
        "at": now.at.to_string(),
        "actions": actions,
        "underWay": under_way,
        "waits": plan::waits(&now.desired, &now.observed),
    })
}

/// Names stay; a value may be a secret.
fn hide_values(env: &mut Value) {
    for entry in env.as_array_mut().into_iter().flatten() {
        if let Some((name, _)) = entry.as_str().and_then(|entry| entry.split_once('=')) {
            *entry = json!(format!("{name}=…"));
        }
    }
}

fn sources(now: &Snapshot, clock: Clock) -> Value {
    let at = clock.now();
    let items: Vec<Value> = now
        .sources
        .iter()
        .flat_map(|(kind, reports)| reports.iter().map(move |report| (kind, report)))
        .map(|(kind, report)| {
            let mut item = json!(report);
            item["kind"] = json!(kind);
            item["readAt"] = json!(report.read_at.map(|at| at.to_string()));
            item["ageSeconds"] = json!(report.read_at.map(|read| at.since(read).as_secs()));
            item
        })
        .collect();
    json!({ "items": items })
}

fn ok(content: &Value) -> Answer {
    respond(StatusCode::OK, "application/json", content.to_string())
}

fn text(code: StatusCode, text: &str) -> Answer {
    respond(code, "text/plain; charset=utf-8", format!("{text}\n"))
}

/// An error in Kubernetes' shape.
fn status(code: StatusCode, reason: &str, message: &str) -> Answer {
    let status = json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": code.as_u16(),
    });
    respond(code, "application/json", status.to_string())
}

fn respond(code: StatusCode, kind: &'static str, body: String) -> Answer {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = code;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

#[cfg(test)]
mod tests {
    use im::OrdMap;

    use super::*;
    use crate::model::Time;
    use crate::plan::{Desired, Node, Observed};

    fn snapshot(engine: EngineStatus) -> Snapshot {
        let node = Node { name: "n".into(), key: [0; 16], sandbox_image: "pause".into() };
        Snapshot {
            at: Time(0),
            desired: Desired::new(node),
            observed: Observed::default(),
            sources: OrdMap::new(),
            engine,
        }
    }

    fn ask(method: Method, path: &str) -> (u16, String) {
        let request = Request::builder().method(method).uri(path).body(()).unwrap();
        let engine = EngineStatus::Down("the engine is away: start it".into());
        let answer = answer(&request, &snapshot(engine), Clock::start());
        let allow = answer.headers().get(ALLOW).map(|allow| allow.to_str().unwrap().to_owned());
        (answer.status().as_u16(), allow.unwrap_or_default())
    }

    #[test]
    fn only_known_paths_are_answered_and_only_reading() {
        for (method, path, code, allow) in [
            (Method::GET, "/healthz", 200, ""),
            (Method::GET, "/livez", 200, ""),
            (Method::GET, "/readyz", 503, ""),
            (Method::GET, "/pods", 200, ""),
            (Method::GET, "/plan", 200, ""),
            (Method::GET, "/sources", 200, ""),
            (Method::GET, "/", 404, ""),
            (Method::GET, "/pods/", 404, ""),
            (Method::POST, "/pods", 405, "GET"),
            (Method::DELETE, "/healthz", 405, "GET"),
        ] {
            assert_eq!(ask(method.clone(), path), (code, allow.to_owned()), "{method} {path}");
        }
    }

    #[test]
    fn a_plan_for_others_names_variables_and_hides_their_values() {
        let mut env = json!(["PASSWORD=hunter2", "A=b=c", "EMPTY"]);
        hide_values(&mut env);
        assert_eq!(env, json!(["PASSWORD=…", "A=…", "EMPTY"]));
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_dead_agents_socket_is_replaced_and_a_live_ones_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run/podkeeper.sock");
        let first = bind(&path).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o660);
        assert!(bind(&path).unwrap_err().contains("served by another process"));
        drop(first);
        assert!(path.exists(), "as a killed agent leaves it");
        assert!(bind(&path).is_ok());
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, "precious").unwrap();
        assert!(bind(&path).unwrap_err().contains("not a socket"));
    }
}
