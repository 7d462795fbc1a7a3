//! Changing pods: the requests that write, and what they answer.

use std::sync::Arc;

use hyper::StatusCode;
use hyper::body::Bytes;
use hyper::header::{HeaderName, HeaderValue};
use serde_json::{Map, Value, json};

use super::accept::Form;
use super::patch::Patch;
use super::query::Query;
use super::selectors::Selector;
use super::write::{self, Context, Done, Preconditions, Validation};
use super::{body, object, read, refuse, view};
use crate::model::PodKey;
use crate::node::api::Api;
use crate::node::api::answer::{Answer, respond};
use crate::node::api::refusal::Refusal;
use crate::node::sources::api::{Set, Written};

/// Warnings in one answer at most, and how long each may be.
const WARNINGS: (usize, usize) = (20, 500);

/// A request that writes.
pub struct Call {
    pub api: Arc<Api>,
    pub query: Query,
    pub form: Form,
    pub content_type: Option<String>,
    pub bytes: Bytes,
}

impl Call {
    pub async fn create(&self, namespace: &str) -> Result<Answer, Refusal> {
        let namespace = namespace.to_owned();
        let (key, pod) = self
            .parsed(move |kind, bytes| {
                let mut pod = body::object(kind, bytes)?;
                Ok((named(&mut pod, &namespace, None)?, pod))
            })
            .await?;
        let context = self.context()?;
        let is_dry = self.is_dry()?;
        let done = self.write(is_dry, move |set| write::create(set, &key, pod, false, &context)).await?;
        self.answer(StatusCode::CREATED, done, is_dry).await
    }

    pub async fn replace(&self, key: &PodKey) -> Result<Answer, Refusal> {
        let key = key.clone();
        let (key, pod) = self
            .parsed(move |kind, bytes| {
                let mut pod = body::object(kind, bytes)?;
                Ok((named(&mut pod, &key.namespace, Some(&key.name))?, pod))
            })
            .await?;
        let context = self.context()?;
        let change = move |old: &Written| Ok(Written { object: pod, ..old.clone() });
        let is_dry = self.is_dry()?;
        let done = self.write(is_dry, move |set| write::update(set, &key, &context, change)).await?;
        self.answer(StatusCode::OK, done, is_dry).await
    }

    pub async fn patch(&self, key: &PodKey) -> Result<Answer, Refusal> {
        let (manager, force) = (self.query.get("fieldManager").map(str::to_owned), self.query.flag("force"));
        let parse =
            move |kind: Option<&str>, bytes: &[u8]| Patch::parse(kind, bytes, manager.as_deref(), force);
        let patch = self.parsed(parse).await?;
        let (context, key, is_dry) = (self.context()?, key.clone(), self.is_dry()?);
        let done = self
            .write(is_dry, move |set| {
                if set.pods.contains_key(&key) || !patch.creates() {
                    return write::update(set, &key, &context, |old| patch.change(&key, old));
                }
                apply_anew(set, &key, &patch, &context)
            })
            .await?;
        let code = if done.created { StatusCode::CREATED } else { StatusCode::OK };
        self.answer(code, done, is_dry).await
    }

    pub async fn delete(&self, key: &PodKey) -> Result<Answer, Refusal> {
        let Asked { known, grace, is_dry } = self.options().await?;
        let (context, key) = (self.context()?, key.clone());
        let done = self.write(is_dry, move |set| write::delete(set, &key, &known, grace, &context)).await?;
        self.answer(StatusCode::OK, done, is_dry).await
    }

    /// Everything in a namespace that a selector takes, as far as it was written through the API.
    pub async fn delete_many(&self, namespace: &str) -> Result<Answer, Refusal> {
        let Asked { known, grace, is_dry } = self.options().await?;
        let selector = Selector::to_delete(&self.query)?;
        read::check_list(&self.query)?;
        if self.query.get("limit").is_some() {
            return Err(Refusal::bad_request("limit: all that is selected is deleted at once"));
        }
        let context = self.context()?;
        let current = self.api.kube.view.now().await;
        let selected = read::selected(&current, Some(namespace), &selector);
        let wanted: Vec<String> = selected.iter().map(|pod| object::uid(&pod.object).to_owned()).collect();
        let list = self
            .write(is_dry, move |set: &mut Set| {
                let of_those =
                    |written: &&Arc<Written>| wanted.iter().any(|uid| uid == object::uid(&written.object));
                let keys = set.pods.iter().filter(|(_, written)| of_those(written));
                let keys: Vec<PodKey> = keys.map(|(key, _)| key.clone()).collect();
                let delete = |key| write::delete(set, key, &known, grace, &context);
                let done = keys.iter().map(delete).collect::<Result<Vec<Done>, Refusal>>()?;
                let items: Vec<Value> = done.into_iter().map(|done| done.object).collect();
                let list = json!({ "kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": items });
                // All pods as text take a while, too.
                Ok(list.to_string())
            })
            .await?;
        Ok(respond(StatusCode::OK, "application/json", list))
    }

    /// Carries an edit out, or only finds out what it would do.
    pub async fn write<T: Send + 'static>(
        &self,
        is_dry: bool,
        edit: impl FnOnce(&mut Set) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        if !is_dry {
            return self.api.kube.pods.write(edit).await;
        }
        let mut set = self.api.kube.pods.now();
        self.api.kube.beside(move || edit(&mut set)).await
    }

    /// Makes something of the body.
    async fn parsed<T: Send + 'static>(
        &self,
        parse: impl FnOnce(Option<&str>, &[u8]) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let (kind, bytes) = (self.content_type.clone(), self.bytes.clone());
        self.api.kube.beside(move || parse(kind.as_deref(), &bytes)).await
    }

    /// What the query says of it. One value that is not understood is an error: what was meant as a dry run would
    /// be done.
    pub fn is_dry(&self) -> Result<bool, Refusal> {
        let mut given = self.query.all("dryRun").peekable();
        let is_dry = given.peek().is_some();
        match given.find(|value| *value != "All") {
            None => Ok(is_dry),
            Some(other) => Err(Refusal::bad_request(format!("dryRun '{other}' is not All"))),
        }
    }

    /// What a write is judged by, as it is now.
    pub fn context(&self) -> Result<Context, Refusal> {
        let validation = match self.query.get("fieldValidation") {
            None | Some("Strict") => Validation::Strict,
            Some("Warn") => Validation::Warn,
            Some("Ignore") => Validation::Ignore,
            Some(other) => {
                let message = format!("fieldValidation '{other}' is not one of Strict, Warn, Ignore");
                return Err(Refusal::bad_request(message));
            }
        };
        let (snapshot, desired) = self.api.snapshots.latest();
        let gone = view::gone(&snapshot, &self.api.kube.pods.now());
        let (now, versions) = (self.api.clock.now(), self.api.kube.pods.versions().clone());
        Ok(Context { desired, now, versions, validation, gone })
    }

    /// The pod as it is shown now: with its status and its resource version.
    async fn answer(&self, code: StatusCode, done: Done, is_dry: bool) -> Result<Answer, Refusal> {
        let current = self.api.kube.view.now().await;
        let shown = current.pods.get(&done.key).filter(|shown| object::uid(&shown.object) == done.uid);
        let answer = match shown.filter(|_| !is_dry) {
            Some(shown) => read::shown(&self.api, code, shown, &self.query, self.form)?,
            // One that is not shown is gone already, or never came.
            None => {
                let mut pod = done.object;
                object::mark(&mut pod);
                if let Some(shown) = shown {
                    pod["status"] = shown.object["status"].clone();
                    pod["metadata"]["resourceVersion"] = json!(shown.version.to_string());
                }
                respond(code, "application/json", pod.to_string())
            }
        };
        Ok(warned(answer, &done.warnings))
    }

    /// What a delete may say in its body and its query. `kubectl delete --dry-run=server` says it in the body.
    async fn options(&self) -> Result<Asked, Refusal> {
        let options = match self.bytes.is_empty() {
            true => json!({}),
            false => self.parsed(body::object).await?,
        };
        let wrong = |field: &str, what: &str| Refusal::bad_request(format!("DeleteOptions: {field} {what}"));
        // What is not understood may have been meant to spare the pod.
        let preconditions = match &options["preconditions"] {
            Value::Null => Map::new(),
            Value::Object(fields) => fields.clone(),
            _ => return Err(wrong("preconditions", "is not an object")),
        };
        let text = |name: &str| match preconditions.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(wrong(&format!("preconditions.{name}"), "is not text")),
        };
        let known = Preconditions { uid: text("uid")?, version: text("resourceVersion")? };
        let dry_in_body = match &options["dryRun"] {
            Value::Null => false,
            Value::Array(all) if all.iter().all(|value| value == "All") => !all.is_empty(),
            _ => return Err(wrong("dryRun", "is [\"All\"] or not given")),
        };
        let is_dry = self.is_dry()? || dry_in_body;
        let in_query = self.query.number::<i64>("gracePeriodSeconds").map_err(Refusal::bad_request)?;
        let in_body = match &options["gracePeriodSeconds"] {
            Value::Null => in_query,
            given => Some(
                given.as_i64().ok_or_else(|| wrong("gracePeriodSeconds", "is not a number of seconds"))?,
            ),
        };
        // 0 is no time at all; Kubernetes makes a second of what is less than that.
        let seconds = |given: i64| u32::try_from(if given < 0 { 1 } else { given }).unwrap_or(u32::MAX);
        Ok(Asked { known, grace: in_body.map(seconds), is_dry })
    }
}

/// How something is to be deleted.
struct Asked {
    known: Preconditions,
    /// How long it may take to stop, in seconds.
    grace: Option<u32>,
    is_dry: bool,
}

/// Server-side apply of a pod that is not there.
fn apply_anew(set: &mut Set, key: &PodKey, patch: &Patch, context: &Context) -> Result<Done, Refusal> {
    let (mut pod, mut applied) = (json!({}), Default::default());
    patch.edit(key, &mut pod, &mut applied)?;
    let key = named(&mut pod, &key.namespace, Some(&key.name))?;
    let done = write::create(set, &key, pod, false, context)?;
    write::remember(set, &key, applied);
    Ok(done)
}

/// Which pod an object is, when it is sent to that namespace, under that name.
fn named(pod: &mut Value, namespace: &str, name: Option<&str>) -> Result<PodKey, Refusal> {
    let text = |value: Option<&Value>, name: &str| match value.and_then(|value| value.get(name)) {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(_) => Err(Refusal::bad_request(format!("{name} of the object is not text"))),
    };
    let (version, kind) = (text(Some(&*pod), "apiVersion")?, text(Some(&*pod), "kind")?);
    if !matches!((&*version, &*kind), ("v1" | "", "Pod" | "")) {
        let message = format!("the body is {version} {kind}, and this path takes v1 Pod");
        return Err(Refusal::bad_request(message));
    }
    if pod.get("metadata").is_some_and(|metadata| !metadata.is_null() && !metadata.is_object()) {
        return Err(refuse::invalid_because("", "metadata", "it is not an object"));
    }
    let given = |name: &str| text(pod.get("metadata"), name);
    let own = given("namespace")?;
    if !own.is_empty() && own != namespace {
        let message = format!(
            "the namespace of the provided object does not match the namespace sent on the request: {own}, {namespace}"
        );
        return Err(Refusal::bad_request(message));
    }
    let own = match (given("name")?, given("generateName")?) {
        (own, _) if !own.is_empty() => own,
        (_, prefix) if prefix.is_empty() => name.unwrap_or_default().to_owned(),
        (_, prefix) => format!("{prefix}{}", suffix()?),
    };
    if name.is_some_and(|name| name != own) {
        let message = format!("the name of the object ({own}) does not match the name on the URL");
        return Err(Refusal::bad_request(message));
    }
    if own.is_empty() {
        return Err(refuse::invalid_because(
            "",
            "metadata.name",
            "Required value: name or generateName is required",
        ));
    }
    if !pod["metadata"].is_object() {
        pod["metadata"] = json!({});
    }
    pod["metadata"]["name"] = json!(own);
    Ok(PodKey::new(namespace, &own))
}

/// Five letters and digits from which no word can be made, as Kubernetes adds them to a `generateName`.
fn suffix() -> Result<String, Refusal> {
    const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let mut bytes = [0u8; 5];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())
        .map_err(|error| Refusal::bad_request(format!("the machine gives no random numbers: {error}")))?;
    Ok(bytes.iter().map(|byte| char::from(LETTERS[usize::from(*byte) % LETTERS.len()])).collect())
}

/// Adds what is worth knowing although it is done. `kubectl` shows each of them.
pub fn warned(mut answer: Answer, warnings: &[String]) -> Answer {
    for warning in warnings.iter().take(WARNINGS.0) {
        // RFC 9111's quoted text: 299 is a warning that stays.
        let plain = |c: char| if c.is_ascii_graphic() || c == ' ' { c } else { '?' };
        let text: String = warning.chars().take(WARNINGS.1).map(plain).collect();
        let quoted = text.replace('\\', "\\\\").replace('"', "\\\"");
        if let Ok(value) = HeaderValue::from_str(&format!("299 - \"{quoted}\"")) {
            answer.headers_mut().append(HeaderName::from_static("warning"), value);
        }
    }
    answer
}
