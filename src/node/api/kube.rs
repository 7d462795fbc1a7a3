//! Kubernetes' REST paths for pods, so that an unmodified `kubectl` works, and the paths of the kubelet of 2014.
//!
//! Reads come from what was rendered last; writes go to the [API source](crate::node::sources::api) and are
//! answered when the disk has them. Only a log asks the engine.

use std::sync::Arc;

use hyper::header::{ACCEPT, CONTENT_TYPE};
use hyper::{Method, Request, StatusCode};
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::sync::watch::Receiver;

use crate::node::api::answer::{Answer, Body, ok, respond};
use crate::node::api::body::read as read_body;
use crate::node::api::refusal::Refusal;
use crate::node::api::{Api, pods};
use crate::node::bollard::Engine;
use crate::node::events::Recent;
use crate::node::snapshot::Snapshots;
use crate::node::sources::api::{ApiPods, Unwritten};

mod accept;
mod body;
mod bounds;
mod change;
mod cluster;
mod discovery;
mod events;
mod legacy;
mod logs;
mod object;
mod openapi;
mod openapi_v2;
mod patch;
mod query;
mod read;
mod refuse;
mod selectors;
mod table;
mod target;
mod view;
mod watch;
mod write;

use accept::Form;
use change::Call;
use query::Query;
use target::{Described, OfCluster, Target};
use view::View;

#[cfg(test)]
mod tests;

/// What these paths are answered from.
pub struct Kube {
    pods: ApiPods,
    view: View,
    engine: Engine,
    events: Receiver<Recent>,
    kubelets: pods::Rendered,
    /// For what is worked on beside the writes.
    places: Arc<Semaphore>,
}

/// What is worked on at once, beside the writes: more would leave the agent's own thread no core.
const BESIDE: usize = 2;

impl Kube {
    pub fn new(pods: ApiPods, snapshots: Snapshots, engine: Engine, events: Receiver<Recent>) -> Self {
        let (view, places) = (View::new(pods.clone(), snapshots), Arc::new(Semaphore::new(BESIDE)));
        Self { view, pods, engine, events, kubelets: pods::Rendered::default(), places }
    }

    /// Does what a client asked for on a thread of its own: the API has one for all clients, and a body of a mebibyte
    /// keeps that for a while.
    async fn beside<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let place = self.places.clone().acquire_owned().await;
        let work = tokio::task::spawn_blocking(move || {
            // Whoever hangs up leaves the work behind, which keeps its place.
            let _place = place;
            work()
        });
        let fault = || Unwritten::Failed("podkeeper failed to carry it out: please report this".to_owned());
        work.await.unwrap_or_else(|_| Err(fault().into()))
    }

    /// `/pods`, in the shape of the kubelet's.
    pub fn kubelets_list(&self, snapshots: &Snapshots) -> Answer {
        respond(StatusCode::OK, "application/json", self.kubelets.of(&snapshots.latest().0))
    }
}

/// True when a path is answered here, even if by an error.
pub fn owns(path: &str) -> bool {
    matches!(first(path), "api" | "apis" | "openapi" | "version") || legacy::owns(first(path))
}

fn first(path: &str) -> &str {
    path.trim_start_matches('/').split('/').next().unwrap_or_default()
}

pub async fn handle(request: Request<Body>, api: &Arc<Api>) -> Answer {
    let path = request.uri().path().to_owned();
    let answer = match target::parse(&path) {
        Some(target) => answer(request, &path, target, api).await,
        None if legacy::owns(first(&path)) => legacy::handle(request, api).await,
        None => Err(Refusal::not_found(format!(
            "there is nothing at {path}: podkeeper serves pods with their log and status (exec, attach and port-forward are not there yet), \
             namespaces, nodes and events"
        ))),
    };
    answer.unwrap_or_else(Answer::from)
}

async fn answer(
    request: Request<Body>,
    path: &str,
    target: Target,
    api: &Arc<Api>,
) -> Result<Answer, Refusal> {
    let query = Query::parse(request.uri().query());
    let accepted = request.headers().get(ACCEPT).and_then(|accept| accept.to_str().ok()).map(str::to_owned);
    let accept = accepted.as_deref();
    let method = request.method().clone();
    let looks = matches!(method, Method::GET | Method::HEAD);
    match target {
        Target::Pods(namespace) => match (method, namespace) {
            (Method::GET | Method::HEAD, namespace) => {
                read::many(api, namespace, &query, accept::form(accept)?).await
            }
            (Method::POST, Some(namespace)) => {
                call(request, query, accept, api).await?.create(&namespace).await
            }
            (Method::DELETE, Some(namespace)) => {
                call(request, query, accept, api).await?.delete_many(&namespace).await
            }
            // As in Kubernetes, nobody deletes the pods of all namespaces at once.
            (_, None) => Err(Refusal::not_allowed(path, "GET, HEAD")),
            (_, Some(_)) => Err(Refusal::not_allowed(path, "GET, HEAD, POST, DELETE")),
        },
        Target::Pod(key) => match method {
            Method::GET | Method::HEAD => read::one(api, &key, &query, accept::form(accept)?).await,
            Method::PUT => call(request, query, accept, api).await?.replace(&key).await,
            Method::PATCH => call(request, query, accept, api).await?.patch(&key).await,
            Method::DELETE => call(request, query, accept, api).await?.delete(&key).await,
            _ => Err(Refusal::not_allowed(path, "GET, HEAD, PUT, PATCH, DELETE")),
        },
        _ if !looks => Err(Refusal::not_allowed(path, "GET, HEAD")),
        Target::PodStatus(key) => read::one(api, &key, &query, accept::form(accept)?).await,
        Target::PodLog(key) => logs::of_pod(api, &key, &query).await,
        Target::Events(namespace) => events::many(api, namespace, &query, accept::form(accept)?).await,
        Target::Event(namespace, name) => events::one(api, &namespace, &name, &query, accept::form(accept)?),
        Target::OfCluster(kind, name) => {
            of_cluster(api, kind, name.as_deref(), &query, accept::form(accept)?).await
        }
        Target::Described(described) => Ok(self::described(described, accept)),
    }
}

/// Reads the body of a request that writes.
async fn call(
    request: Request<Body>,
    query: Query,
    accept: Option<&str>,
    api: &Arc<Api>,
) -> Result<Call, Refusal> {
    let form = accept::form(accept)?;
    let (head, body) = request.into_parts();
    let content_type = head.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).map(str::to_owned);
    let bytes = read_body(body, &api.limits).await?;
    Ok(Call { api: api.clone(), query, form, content_type, bytes })
}

async fn of_cluster(
    api: &Arc<Api>,
    kind: OfCluster,
    name: Option<&str>,
    query: &Query,
    form: Form,
) -> Result<Answer, Refusal> {
    let current = api.kube.view.now().await;
    let items = match kind {
        OfCluster::Namespace => cluster::namespaces(&current),
        OfCluster::Node => vec![cluster::node(&api.snapshots.now())],
    };
    let Some(name) = name else {
        read::check_list(query)?;
        if query.flag("watch") {
            let message = format!("{}s cannot be watched", kind.name().to_lowercase());
            return Err(Refusal::bad_request(message));
        }
        return Ok(ok(&cluster::listed(kind, &items, form, current.version)));
    };
    let found = items.into_iter().find(|item| item["metadata"]["name"] == *name);
    let absent = || Refusal::not_found(format!("{}s \"{name}\" not found", kind.name().to_lowercase()));
    let found = found.ok_or_else(absent)?;
    Ok(ok(&match form {
        Form::Table(version) => cluster::table(version, kind, &[found], &serde_json::json!({})),
        Form::Object | Form::Metadata => found,
    }))
}

fn described(target: Described, accept: Option<&str>) -> Answer {
    let content: Value = match target {
        Described::Version => discovery::version(),
        Described::Resources => discovery::resources(),
        Described::OpenApiIndex => openapi::index(),
        Described::OpenApiCore => openapi::core(),
        Described::OpenApiV2 if accept.is_some_and(|accept| accept.contains("protobuf")) => {
            // What it is asked by has an '@', which Go's own reader of media types refuses in an answer.
            const KIND: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
            return respond(StatusCode::OK, KIND, openapi_v2::protobuf());
        }
        Described::OpenApiV2 => openapi_v2::json(),
        Described::Core | Described::Groups => {
            let core = target == Described::Core;
            let Some(aggregated) = accept::discovery(accept) else {
                return ok(&if core { discovery::versions() } else { discovery::groups() });
            };
            let content = discovery::aggregated(aggregated, core).to_string();
            return respond(StatusCode::OK, aggregated.media_type(), content);
        }
    };
    ok(&content)
}
