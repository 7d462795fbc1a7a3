//! Events: what happened to pods in the last hour, to list, to watch, and for `kubectl describe`.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::accept::Form;
use super::object::time;
use super::query::Query;
use super::selectors::{OF_EVENTS, Selector};
use super::table::{self, Include};
use crate::model::{Time, age};
use crate::node::api::Api;
use crate::node::api::answer::{Answer, ok, respond};
use crate::node::api::refusal::Refusal;
use crate::node::events::Told;

#[cfg(test)]
mod tests;
mod watch;

/// As `kubectl get events` of Kubernetes has them (`pkg/printers/internalversion`).
const COLUMNS: [(&str, &str, u8); 10] = [
    ("Last Seen", "string", 0),
    ("Type", "string", 0),
    ("Reason", "string", 0),
    ("Object", "string", 0),
    ("Subobject", "string", 1),
    ("Source", "string", 1),
    ("Message", "string", 0),
    ("First Seen", "string", 1),
    ("Count", "string", 1),
    ("Name", "string", 1),
];

/// Which events a client wants, and in which form.
struct Wanted {
    namespace: Option<String>,
    selector: Selector,
    form: Form,
    include: Include,
    node: Arc<str>,
}

impl Wanted {
    fn object(&self, told: &Told) -> Option<Value> {
        if self.namespace.as_deref().is_some_and(|namespace| *told.event.pod.namespace != *namespace) {
            return None;
        }
        Some(told.to_json(&self.node)).filter(|object| self.selector.matches(object))
    }

    fn table(&self, api: &str, metadata: &Value, objects: &[Value], now: Time) -> Value {
        let rows = objects.iter().map(|object| row(api, object, self.include, now)).collect();
        table::of(api, metadata, &COLUMNS, rows)
    }

    fn list(&self, objects: &[Value], version: u64, now: Time) -> Value {
        let head = json!({ "resourceVersion": version.to_string() });
        match self.form {
            Form::Object => {
                json!({ "kind": "EventList", "apiVersion": "v1", "metadata": head, "items": objects })
            }
            Form::Table(api) => self.table(api, &head, objects, now),
            Form::Metadata => {
                let items: Vec<Value> =
                    objects.iter().map(|object| table::metadata("meta.k8s.io/v1", object)).collect();
                json!({ "kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": head, "items": items })
            }
        }
    }

    /// One event as a client wants to see it.
    fn one(&self, object: Value, now: Time) -> Value {
        match self.form {
            Form::Object => object,
            Form::Table(api) => {
                let head = json!({ "resourceVersion": object["metadata"]["resourceVersion"] });
                self.table(api, &head, &[object], now)
            }
            Form::Metadata => table::metadata("meta.k8s.io/v1", &object),
        }
    }
}

pub async fn many(
    api: &Arc<Api>,
    namespace: Option<String>,
    query: &Query,
    form: Form,
) -> Result<Answer, Refusal> {
    super::read::check_list(query)?;
    let wanted = wanted(api, namespace, query, form)?;
    if !query.flag("watch") {
        let (recent, now) = (api.kube.events.borrow().clone(), api.clock.now());
        let objects: Vec<Value> = recent.at(now).filter_map(|told| wanted.object(told)).collect();
        return Ok(ok(&wanted.list(&objects, recent.version(), now)));
    }
    let since = query.number("resourceVersion").map_err(Refusal::bad_request)?;
    let timeout: Option<u64> = query.number("timeoutSeconds").map_err(Refusal::bad_request)?;
    let initial = query.flag("sendInitialEvents");
    let body = watch::body(api, wanted, since, initial, timeout.map(Duration::from_secs))?;
    let mut answer = respond(hyper::StatusCode::OK, "application/json", "");
    *answer.body_mut() = body;
    Ok(answer)
}

pub fn one(api: &Api, namespace: &str, name: &str, query: &Query, form: Form) -> Result<Answer, Refusal> {
    let wanted = wanted(api, Some(namespace.to_owned()), &Query::default(), form)?;
    let wanted = Wanted { include: super::read::include(query)?, ..wanted };
    let (recent, now) = (api.kube.events.borrow().clone(), api.clock.now());
    let found =
        recent.at(now).filter_map(|told| wanted.object(told)).find(|it| it["metadata"]["name"] == *name);
    let absent = || Refusal::not_found(format!("events \"{name}\" not found"));
    Ok(ok(&wanted.one(found.ok_or_else(absent)?, now)))
}

fn wanted(api: &Api, namespace: Option<String>, query: &Query, form: Form) -> Result<Wanted, Refusal> {
    let (selector, include) = (Selector::of(query, OF_EVENTS)?, super::read::include(query)?);
    let node = api.snapshots.latest().1.node.name;
    Ok(Wanted { namespace, selector, form, include, node })
}

fn row(api: &str, object: &Value, include: Include, now: Time) -> Value {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let ago =
        |pointer: &str| time(object, pointer).map_or("<unknown>".to_owned(), |at| age::short(now.since(at)));
    let count = object["count"].as_u64().unwrap_or(1);
    let (first, last) = (ago("/firstTimestamp"), ago("/lastTimestamp"));
    let cells = json!([
        if count > 1 { format!("{last} (x{count} over {first})") } else { last },
        text("/type"),
        text("/reason"),
        format!("pod/{}", text("/involvedObject/name")),
        text("/involvedObject/fieldPath"),
        format!("{}, {}", text("/source/component"), text("/source/host")),
        text("/message"),
        first,
        count.to_string(),
        text("/metadata/name"),
    ]);
    match include {
        Include::Nothing => json!({ "cells": cells }),
        Include::Metadata => json!({ "cells": cells, "object": table::metadata(api, object) }),
        Include::Object => json!({ "cells": cells, "object": object }),
    }
}
