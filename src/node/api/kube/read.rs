//! Reading pods: one, many, or what changes.

use std::sync::Arc;
use std::time::Duration;

use hyper::StatusCode;
use hyper::body::Bytes;
use serde_json::json;

use super::accept::Form;
use super::query::Query;
use super::refuse;
use super::selectors::{OF_PODS, Selector};
use super::table::{self, Include};
use super::view::{Current, Shown};
use super::watch::{self, Wanted};
use crate::model::PodKey;
use crate::node::api::Api;
use crate::node::api::answer::{Answer, ok, respond};
use crate::node::api::refusal::Refusal;

pub async fn one(api: &Arc<Api>, key: &PodKey, query: &Query, form: Form) -> Result<Answer, Refusal> {
    let current = api.kube.view.now().await;
    let pod = current.pods.get(key).ok_or_else(|| refuse::not_found(&key.name))?;
    shown(api, StatusCode::OK, pod, query, form)
}

/// One pod as an answer.
pub fn shown(api: &Api, code: StatusCode, pod: &Shown, query: &Query, form: Form) -> Result<Answer, Refusal> {
    let body = match form {
        Form::Object => pod.json.clone(),
        Form::Table(version) => {
            let now = api.clock.now();
            table::of_pods(version, pod.version, &[pod], include(query)?, now).to_string().into()
        }
        Form::Metadata => table::metadata("meta.k8s.io/v1", &pod.object).to_string().into(),
    };
    Ok(respond(code, "application/json", body))
}

pub async fn many(
    api: &Arc<Api>,
    namespace: Option<String>,
    query: &Query,
    form: Form,
) -> Result<Answer, Refusal> {
    check_list(query)?;
    let selector = Selector::of(query, OF_PODS)?;
    if query.flag("watch") {
        return watched(api, namespace, query, form, selector).await;
    }
    let current = api.kube.view.now().await;
    let pods = selected(&current, namespace.as_deref(), &selector);
    Ok(match form {
        Form::Object => respond(StatusCode::OK, "application/json", list(current.version, &pods)),
        Form::Table(version) => {
            ok(&table::of_pods(version, current.version, &pods, include(query)?, api.clock.now()))
        }
        Form::Metadata => ok(&json!({
            "kind": "PartialObjectMetadataList",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": { "resourceVersion": current.version.to_string() },
            "items": pods.iter().map(|pod| table::metadata("meta.k8s.io/v1", &pod.object)).collect::<Vec<_>>(),
        })),
    })
}

/// What a list may be asked for with. All of it comes at once, whatever the limit, as Kubernetes allows; so no token
/// to go on with was ever given.
pub fn check_list(query: &Query) -> Result<(), Refusal> {
    query.number::<u64>("resourceVersion").map_err(Refusal::bad_request)?;
    query.number::<u64>("timeoutSeconds").map_err(Refusal::bad_request)?;
    if query.number::<i64>("limit").map_err(Refusal::bad_request)?.is_some_and(|limit| limit < 0) {
        return Err(Refusal::bad_request("query parameter limit: it cannot be below 0"));
    }
    match query.get("continue") {
        None => Ok(()),
        Some(_) => {
            Err(Refusal::bad_request("continue key is not valid: this agent gives none, list without it"))
        }
    }
}

pub fn selected<'a>(current: &'a Current, namespace: Option<&str>, selector: &Selector) -> Vec<&'a Shown> {
    current
        .pods
        .iter()
        .filter(|(key, pod)| {
            namespace.is_none_or(|namespace| *key.namespace == *namespace) && selector.matches(&pod.object)
        })
        .map(|(_, pod)| &**pod)
        .collect()
}

/// A list, put together from what is there as text.
pub fn list(version: u64, pods: &[&Shown]) -> Bytes {
    let head = json!({ "resourceVersion": version.to_string() });
    let mut text =
        format!("{{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{head},\"items\":[").into_bytes();
    for (at, pod) in pods.iter().enumerate() {
        if at > 0 {
            text.push(b',');
        }
        text.extend_from_slice(&pod.json);
    }
    text.extend_from_slice(b"]}");
    text.into()
}

async fn watched(
    api: &Arc<Api>,
    namespace: Option<String>,
    query: &Query,
    form: Form,
    selector: Selector,
) -> Result<Answer, Refusal> {
    let timeout: Option<u64> = query.number("timeoutSeconds").map_err(Refusal::bad_request)?;
    let wanted = Wanted {
        namespace,
        selector,
        form,
        include: include(query)?,
        since: query.number("resourceVersion").map_err(Refusal::bad_request)?,
        bookmarks: query.flag("allowWatchBookmarks"),
        initial: query.flag("sendInitialEvents"),
        timeout: timeout.map(Duration::from_secs),
    };
    let mut answer = respond(StatusCode::OK, "application/json", "");
    *answer.body_mut() = watch::body(api, wanted).await?;
    Ok(answer)
}

pub fn include(query: &Query) -> Result<Include, Refusal> {
    let given = query.get("includeObject");
    Include::parse(given)
        .ok_or_else(|| Refusal::bad_request("includeObject is not one of None, Metadata, Object".to_owned()))
}
