//! The paths of the kubelet: those of 2014, by which a manifest is declared, and those that it still has.

use std::collections::BTreeMap;
use std::sync::Arc;

use hyper::header::CONTENT_TYPE;
use hyper::{Method, Request, StatusCode};
use serde_json::{Value, json};

use super::accept::Form;
use super::change::{Call, warned};
use super::query::{Query, decoded};
use super::{logs, refuse, write};
use crate::model::read::{self, Diagnosis, Options};
use crate::model::{Pod, PodKey};
use crate::node::api::answer::{Answer, Body, ok, text};
use crate::node::api::body::read as read_body;
use crate::node::api::refusal::Refusal;
use crate::node::api::{Api, pods};
use crate::plan::{Instance, Role, State};

/// The first part of a path.
pub fn owns(first: &str) -> bool {
    matches!(first, "container" | "containers" | "containerInfo" | "podInfo" | "containerLogs")
}

pub async fn handle(request: Request<Body>, api: &Arc<Api>) -> Result<Answer, Refusal> {
    let path = request.uri().path().to_owned();
    let query = Query::parse(request.uri().query());
    let parts: Vec<String> = path.trim_matches('/').split('/').map(decoded).collect();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let looks = matches!(*request.method(), Method::GET | Method::HEAD);
    match parts[..] {
        ["container" | "containers"] if *request.method() != Method::POST => {
            Err(Refusal::not_allowed(&path, "POST"))
        }
        ["container"] => declare(request, api, query, true).await,
        ["containers"] => declare(request, api, query, false).await,
        ["containerInfo" | "podInfo"] | ["containerLogs", ..] if !looks => {
            Err(Refusal::not_allowed(&path, "GET, HEAD"))
        }
        ["containerInfo"] => container_info(api, &query),
        ["podInfo"] => pod_info(api, &query),
        ["containerLogs", namespace, pod, container] => {
            let query = query.with("container", container);
            logs::of_pod(api, &PodKey::new(namespace, pod), &query).await
        }
        _ => Err(Refusal::not_found(format!("there is nothing at {path}"))),
    }
}

/// `POST /container` declares one manifest, `POST /containers` all of them. Either replaces what these two
/// declared before, as in 2014, and touches no pod that was declared by other means.
async fn declare(request: Request<Body>, api: &Arc<Api>, query: Query, one: bool) -> Result<Answer, Refusal> {
    let (head, body) = request.into_parts();
    let content_type = head.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).map(str::to_owned);
    let bytes = read_body(body, &api.limits).await?;
    let call = Call { api: api.clone(), query, form: Form::Object, content_type, bytes };
    let (context, is_dry) = (call.context()?, call.is_dry()?);
    let options = Options { lenient: false, node_name: Some(context.desired.node.name.to_string()) };
    let text = call.bytes.clone();
    let reading = api.kube.beside(move || Ok(read::read("body", &text, &options))).await?;
    if reading.diagnoses.iter().any(Diagnosis::is_error) {
        return Err(refuse::invalid("", reading.diagnoses.iter().filter(|diagnosis| diagnosis.is_error())));
    }
    // As a program writes it that found nothing: `null`, or a document of comments. Only a list means none.
    if reading.says_nothing() {
        let message = "the body declares no pod: send a manifest; [] to /containers removes all of them";
        return Err(Refusal::bad_request(message));
    }
    let warnings: Vec<String> = reading.diagnoses.iter().map(|diagnosis| diagnosis.message.clone()).collect();
    let objects: Vec<(PodKey, Value)> =
        reading.pods.into_iter().filter_map(|read| Some((read.key?, object(&read.pod?)))).collect();
    if one && objects.len() != 1 {
        let message =
            format!("this path takes one manifest, and these are {}: use /containers", objects.len());
        return Err(Refusal::bad_request(message));
    }
    call.write(is_dry, move |set| write::replace_legacy(set, objects, &context)).await?;
    // 2014's answer: no words, when all is well.
    Ok(warned(self::text(StatusCode::OK, ""), &warnings))
}

/// A manifest as the v1 Pod that it means.
fn object(pod: &Pod) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": pod.metadata,
        "spec": pods::spec(pod),
    })
}

/// By the whole id, its first twelve digits or more, or the engine's name for it: never by a part of that.
fn container_info(api: &Arc<Api>, query: &Query) -> Result<Answer, Refusal> {
    let asked = query.get("container");
    let asked = asked.ok_or_else(|| Refusal::bad_request("Missing container query arg."))?;
    let now = api.snapshots.now();
    let is_it = |instance: &&Arc<Instance>| {
        *instance.name == *asked || (asked.len() >= 12 && instance.id.0.starts_with(asked))
    };
    let found = now.observed.pods.values().flat_map(|pod| &pod.instances).find(is_it);
    let found =
        found.ok_or_else(|| Refusal::not_found(format!("container {asked} is not one of this node")))?;
    Ok(ok(&inspected(found)))
}

fn pod_info(api: &Arc<Api>, query: &Query) -> Result<Answer, Refusal> {
    let asked = query.get("podID").ok_or_else(|| Refusal::bad_request("Missing 'podID=' query entry."))?;
    let uid = query.get("UUID");
    // A manifest of 2014 may name a namespace as `<name>.<namespace>`.
    let (name, namespace) = asked.rsplit_once('.').unwrap_or((asked, "default"));
    let now = api.snapshots.now();
    let keys = [PodKey::new("default", asked), PodKey::new(namespace, name)];
    let found = keys.iter().find_map(|key| now.observed.pods.get(key));
    let found = found.ok_or_else(|| Refusal::not_found(format!("pod {asked} is not one of this node")))?;
    let mut containers: BTreeMap<&str, Value> = BTreeMap::new();
    for instance in found.instances.iter().filter(|instance| uid.is_none_or(|uid| *instance.uid.0 == *uid)) {
        // The newest attempt comes first.
        let name = if instance.role == Role::Sandbox { "net" } else { instance.role.name() };
        containers.entry(name).or_insert_with(|| inspected(instance));
    }
    Ok(ok(&json!(containers)))
}

/// What the engine's inspect says, as far as it is known here. Nothing is asked of the engine.
fn inspected(instance: &Instance) -> Value {
    let time = |at: Option<crate::model::Time>| at.map(|at| at.to_string());
    let running = matches!(instance.state, State::Running { .. } | State::Paused);
    let (started, exit) = match &instance.state {
        State::Running { started_at } => (*started_at, None),
        State::Exited(Some(exit)) => (exit.started_at, Some(exit)),
        State::Created
        | State::Paused
        | State::Exited(None)
        | State::Removing
        | State::Dead
        | State::Unknown(_) => (None, None),
    };
    json!({
        "Id": instance.id,
        "Name": format!("/{}", instance.name),
        "Created": time(instance.created_at),
        "State": {
            "Running": running,
            "Paused": instance.state == State::Paused,
            "ExitCode": exit.map_or(0, |exit| exit.code),
            "OOMKilled": exit.is_some_and(|exit| exit.oom),
            "Error": exit.map_or("", |exit| &exit.error),
            "StartedAt": time(started),
            "FinishedAt": time(exit.map(|exit| exit.finished_at)),
        },
        "Config": { "Image": instance.config.as_ref().map(|config| &config.image) },
        "NetworkSettings": { "IPAddress": instance.ip },
        "HostConfig": { "NetworkMode": instance.network_mode },
    })
}
