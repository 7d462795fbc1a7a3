//! What is at which path. Whoever comes here may come in: see `access`.

use std::sync::Arc;

use hyper::{Method, Request, StatusCode};

use crate::node::api::access::Caller;
use crate::node::api::answer::{Answer, Body, ok, text};
use crate::node::api::refusal::Refusal;
use crate::node::api::{Api, configz, overview, pods, sources};
use crate::node::snapshot::Snapshot;

/// Answers one request, from the unix socket and from TCP alike.
pub(super) async fn handle(request: Request<Body>, caller: Caller, api: &Arc<Api>) -> Answer {
    let path = request.uri().path();
    let Some(content) = reading(path) else {
        return Refusal::not_found(format!("there is nothing at {path}")).into();
    };
    match *request.method() {
        // hyper leaves the body of an answer to HEAD away.
        Method::GET | Method::HEAD => content(api, &api.snapshots.now(), caller),
        _ => Refusal::not_allowed(path, "GET, HEAD").into(),
    }
}

type Content = fn(&Api, &Snapshot, Caller) -> Answer;

/// What can only be read, from the last round, without asking the engine.
fn reading(path: &str) -> Option<Content> {
    Some(match path {
        "/healthz" | "/livez" => |_, _, _| text(StatusCode::OK, "ok"),
        "/readyz" => |_, now, caller| overview::readiness(now, caller),
        "/pods" => |_, now, _| ok(&pods::list(now)),
        "/plan" => |_, now, _| ok(&overview::plan(now)),
        "/sources" => |api, now, _| ok(&sources::list(now, api.clock.now())),
        "/configz" => |api, now, _| ok(&configz::tell(api, &now.desired.node.name)),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use hyper::header::ALLOW;

    use super::*;
    use crate::node::api::answer::whole;
    use crate::node::snapshot::EngineStatus;

    async fn ask(method: Method, path: &str) -> (u16, String) {
        let request = Request::builder().method(method).uri(path).body(whole("")).unwrap();
        let api = Api::of_a_node(EngineStatus::Down("the engine is away: start it".into()));
        let answer = handle(request, Caller::Token, &Arc::new(api)).await;
        let allow = answer.headers().get(ALLOW).map(|allow| allow.to_str().unwrap().to_owned());
        (answer.status().as_u16(), allow.unwrap_or_default())
    }

    #[tokio::test(flavor = "current_thread")]
    async fn only_known_paths_are_answered_and_only_reading() {
        for (method, path, code, allow) in [
            (Method::GET, "/healthz", 200, ""),
            (Method::HEAD, "/healthz", 200, ""),
            (Method::GET, "/livez", 200, ""),
            (Method::GET, "/readyz", 503, ""),
            (Method::GET, "/pods", 200, ""),
            (Method::GET, "/plan", 200, ""),
            (Method::GET, "/sources", 200, ""),
            (Method::GET, "/configz", 200, ""),
            (Method::GET, "/", 404, ""),
            (Method::GET, "/pods/", 404, ""),
            (Method::POST, "/pods", 405, "GET, HEAD"),
            (Method::DELETE, "/healthz", 405, "GET, HEAD"),
        ] {
            assert_eq!(ask(method.clone(), path).await, (code, allow.to_owned()), "{method} {path}");
        }
    }
}
