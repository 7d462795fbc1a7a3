//! Requests without an engine: what is answered to what, with an agent that never gets to its next round.

use http_body_util::BodyExt;
use hyper::header::RETRY_AFTER;
use serde_json::json;

use super::*;
use crate::model::{Places, Pod};
use crate::node::api::answer::whole;
use crate::node::snapshot::EngineStatus;
use crate::node::store::Store;
use crate::plan::{Declared, Slot, SourceKind};

mod bounds;
mod dry;
mod history;
mod identity;
mod nothing;
mod selecting;

const PODS: &str = "/api/v1/namespaces/default/pods";
const WEB: &str = "/api/v1/namespaces/default/pods/web";
const JSON: &str = "application/json";
const MERGE: &str = "application/merge-patch+json";

/// Two mistakes: a field that is not one, and one that is missing.
const BAD: &str = r#"{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "b"},
    "spec": {"containers": [{"name": "a", "imgae": "x"}]}}"#;

struct Node {
    api: Arc<Api>,
    store: Store,
    dir: tempfile::TempDir,
}

impl Node {
    fn new() -> Self {
        Self::on(tempfile::tempdir().unwrap())
    }

    fn on(dir: tempfile::TempDir) -> Self {
        let (api, store) = Api::kept_in(dir.path(), EngineStatus::Connecting);
        Self { api: Arc::new(api), store, dir }
    }

    /// The agent is killed and comes back.
    fn again(self) -> Self {
        Self::on(self.dir)
    }

    async fn send(&self, method: &str, path: &str, kind: &str, body: impl Into<String>) -> Answer {
        let body: String = body.into();
        let request = Request::builder().method(method).uri(path).header(CONTENT_TYPE, kind);
        handle(request.body(whole(body)).unwrap(), &self.api).await
    }

    async fn ask(&self, method: &str, path: &str, body: impl ToString) -> (u16, Value) {
        read(self.send(method, path, JSON, body.to_string()).await).await
    }

    async fn patch(&self, kind: &str, body: impl ToString) -> (u16, Value) {
        read(self.send("PATCH", WEB, kind, body.to_string()).await).await
    }
}

async fn read(answer: Answer) -> (u16, Value) {
    let code = answer.status().as_u16();
    let bytes = answer.into_body().collect().await.unwrap().to_bytes();
    (code, serde_json::from_slice(&bytes).unwrap_or(Value::Null))
}

fn web() -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "labels": {"app": "web"}},
           "spec": {"containers": [{"name": "app", "image": "nginx:1"}]}})
}

#[tokio::test(flavor = "current_thread")]
async fn a_pod_is_created_read_changed_and_deleted() {
    let node = Node::new();
    let (code, made) = node.ask("POST", PODS, web()).await;
    assert_eq!(code, 201, "{made}");
    let expected = json!({"containers": [{"name": "app", "image": "nginx:1", "imagePullPolicy": "IfNotPresent"}],
        "dnsPolicy": "ClusterFirst", "nodeName": "n", "restartPolicy": "Always", "terminationGracePeriodSeconds": 30});
    assert_eq!((&made["spec"], &made["metadata"]["generation"]), (&expected, &json!(1)));
    assert_eq!(node.ask("GET", WEB, "").await, (200, made.clone()));

    let (code, changed) =
        node.patch(MERGE, json!({"metadata": {"labels": {"app": null, "tier": "a"}}})).await;
    assert_eq!((code, &changed["metadata"]["labels"]), (200, &json!({"tier": "a"})));
    assert_eq!(changed["metadata"]["generation"], 1, "its labels are no part of its spec");
    let version = |pod: &Value| pod["metadata"]["resourceVersion"].as_str().unwrap().parse::<u64>().unwrap();
    assert!(version(&changed) > version(&made));
    let image = json!([{"op": "replace", "path": "/spec/containers/0/image", "value": "nginx:2"}]);
    let (code, changed) = node.patch("application/json-patch+json", image).await;
    assert_eq!((code, &changed["metadata"]["generation"]), (200, &json!(2)));
    assert_eq!(changed["metadata"]["uid"], made["metadata"]["uid"]);

    let (code, left) = node.ask("DELETE", WEB, json!({"propagationPolicy": "Background"})).await;
    assert_eq!(code, 200);
    assert!(left["metadata"]["deletionTimestamp"].is_string(), "{left}");
    // The agent has not come to its next round: nobody knows that nothing of it is left.
    assert_eq!(node.ask("GET", WEB, "").await.0, 200);
    let (code, refused) = node.ask("POST", PODS, web()).await;
    assert_eq!((code, &refused["reason"]), (409, &json!("AlreadyExists")));
}

#[tokio::test(flavor = "current_thread")]
async fn what_was_answered_with_success_is_there_after_a_kill_w8() {
    let node = Node::new();
    let made = node.ask("POST", PODS, web()).await.1;
    let node = node.again();
    let (code, found) = node.ask("GET", WEB, "").await;
    assert_eq!(
        (code, &found["metadata"]["uid"], &found["spec"]),
        (200, &made["metadata"]["uid"], &made["spec"])
    );
    let version = |pod: &Value| pod["metadata"]["resourceVersion"].as_str().unwrap().parse::<u64>().unwrap();
    assert!(version(&found) > version(&made), "a version never comes back with another meaning");
}

#[tokio::test(flavor = "current_thread")]
async fn a_disk_that_refuses_is_told_and_nothing_has_changed() {
    let node = Node::new();
    std::fs::remove_dir_all(node.dir.path()).unwrap();
    let (code, refused) = node.ask("POST", PODS, web()).await;
    assert_eq!((code, &refused["reason"]), (503, &json!("ServiceUnavailable")), "{refused}");
    assert_eq!(node.ask("GET", WEB, "").await.0, 404);
    std::fs::create_dir(node.dir.path()).unwrap();
    assert_eq!(node.ask("POST", PODS, web()).await.0, 201);
}

#[tokio::test(flavor = "current_thread")]
async fn more_writes_than_can_wait_are_told_to_come_back_w6() {
    let node = Node::new();
    let label = |n: usize| json!({"metadata": {"labels": {"n": n.to_string()}}}).to_string();
    assert_eq!(node.ask("POST", PODS, web()).await.0, 201);
    let writes = (0..1000).map(|n| node.send("PATCH", WEB, MERGE, label(n)));
    let answers = futures_util::future::join_all(writes).await;
    let of = |code: u16| answers.iter().filter(|answer| answer.status() == code).count();
    assert!(of(200) >= 256 && of(429) > 0, "{} and {}", of(200), of(429));
    assert_eq!(of(200) + of(429), 1000);
    let busy = answers.iter().find(|answer| answer.status() == 429).unwrap();
    assert_eq!(busy.headers().get(RETRY_AFTER).unwrap(), "1");
}

#[tokio::test(flavor = "current_thread")]
async fn an_older_declaration_never_replaces_a_newer_one_w7() {
    let node = Node::new();
    let first = node.ask("POST", PODS, web()).await.1;
    let mut second = first.clone();
    second["spec"]["containers"][0]["image"] = json!("nginx:2");
    assert_eq!(node.ask("PUT", WEB, &second).await.0, 200);
    let mut third = first;
    third["spec"]["containers"][0]["image"] = json!("nginx:3");
    let (code, refused) = node.ask("PUT", WEB, &third).await;
    assert_eq!(
        (code, &refused["reason"], &refused["details"]["name"]),
        (409, &json!("Conflict"), &json!("web"))
    );
    // Without a version it is meant as it is.
    third["metadata"]["resourceVersion"] = Value::Null;
    assert_eq!(node.ask("PUT", WEB, &third).await.0, 200);
    third["metadata"]["uid"] = json!("another");
    assert_eq!(node.ask("PUT", WEB, &third).await.0, 409);
}

type Row<'a> = (&'a str, &'a str, &'a str, &'a str, u16, &'a str);

/// Method, path, content type, body; code and reason of the answer.
async fn assert_said(rows: &[Row<'_>]) {
    let node = Node::new();
    node.ask("POST", PODS, web()).await;
    for &(method, path, kind, body, code, reason) in rows {
        let (found, said) = read(node.send(method, path, kind, body).await).await;
        let found = (found, said["reason"].as_str().unwrap_or_default());
        assert_eq!(found, (code, reason), "{method} {path} {body}: {said}");
    }
}

#[tokio::test(flavor = "current_thread")]
async fn an_object_that_is_wrong_is_refused_with_the_reason_w5() {
    let elsewhere = r#"{"metadata": {"name": "b", "namespace": "other"}}"#;
    let service = r#"{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "b"}}"#;
    let no_image = r#"{"version": "v1beta1", "id": "x", "containers": [{"name": "a"}]}"#;
    let nix = &format!("{PODS}/nix");
    assert_said(&[
        ("POST", PODS, JSON, "{", 400, "BadRequest"),
        ("POST", PODS, JSON, r#"{"a": 1, "a": 2}"#, 400, "BadRequest"),
        ("POST", PODS, JSON, "[]", 400, "BadRequest"),
        ("POST", PODS, JSON, service, 400, "BadRequest"),
        ("POST", PODS, JSON, elsewhere, 400, "BadRequest"),
        ("POST", PODS, JSON, BAD, 422, "Invalid"),
        ("POST", PODS, JSON, "{}", 422, "Invalid"),
        ("POST", PODS, JSON, r#"{"metadata": "x"}"#, 422, "Invalid"),
        ("POST", PODS, JSON, r#"{"metadata": {"name": "b"}, "spec": [1]}"#, 422, "Invalid"),
        ("POST", PODS, "application/vnd.kubernetes.protobuf", "k8s", 415, "UnsupportedMediaType"),
        ("PUT", WEB, JSON, r#"{"metadata": {"name": "other"}}"#, 400, "BadRequest"),
        ("PUT", nix, JSON, r#"{"metadata": {"name": "nix"}}"#, 404, "NotFound"),
        ("DELETE", WEB, JSON, r#"{"preconditions": {"uid": "x"}}"#, 409, "Conflict"),
        ("DELETE", nix, JSON, "", 404, "NotFound"),
        ("POST", "/container", JSON, "", 400, "BadRequest"),
        ("POST", "/container", JSON, "[]", 400, "BadRequest"),
        ("POST", "/container", JSON, no_image, 422, "Invalid"),
    ])
    .await;
    let (_, said) = Node::new().ask("POST", PODS, BAD).await;
    let fields: Vec<&Value> =
        said["details"]["causes"].as_array().unwrap().iter().map(|cause| &cause["field"]).collect();
    assert_eq!(fields, ["spec.containers[0].image", "spec.containers[0].imgae"]);
}

#[tokio::test(flavor = "current_thread")]
async fn a_patch_that_is_wrong_is_refused_with_the_reason_w5() {
    let json_patch = "application/json-patch+json";
    let strategic = "application/strategic-merge-patch+json";
    assert_said(&[
        ("PATCH", WEB, JSON, "{}", 415, "UnsupportedMediaType"),
        ("PATCH", WEB, MERGE, "[1]", 400, "BadRequest"),
        ("PATCH", WEB, MERGE, r#"{"spec": 7}"#, 422, "Invalid"),
        ("PATCH", WEB, MERGE, r#"{"metadata": "x"}"#, 422, "Invalid"),
        ("PATCH", WEB, MERGE, r#"{"spec": {"containers": [{"name": 1}]}}"#, 422, "Invalid"),
        ("PATCH", WEB, MERGE, r#"{"metadata": {"resourceVersion": "1"}}"#, 409, "Conflict"),
        ("PATCH", WEB, json_patch, r#"[{"op": "remove", "path": "/nix"}]"#, 422, "Invalid"),
        ("PATCH", WEB, json_patch, r#"[{"op": "replace", "path": "", "value": 1}]"#, 422, "Invalid"),
        ("PATCH", WEB, json_patch, r#"[{"op": "explode"}]"#, 400, "BadRequest"),
        ("PATCH", WEB, strategic, r#"{"spec": {"containers": [{"image": "x"}]}}"#, 422, "Invalid"),
        ("PATCH", WEB, "application/apply-patch+yaml", "{}", 400, "BadRequest"),
        ("PATCH", &format!("{PODS}/nix"), MERGE, "{}", 404, "NotFound"),
    ])
    .await;
}

#[tokio::test(flavor = "current_thread")]
async fn a_request_that_makes_no_sense_is_refused_with_the_reason() {
    let at = |more: &str| format!("{WEB}{more}");
    let pods = |more: &str| format!("{PODS}{more}");
    assert_said(&[
        ("POST", &pods("?dryRun=Some"), JSON, BAD, 400, "BadRequest"),
        ("POST", &pods("?fieldValidation=No"), JSON, BAD, 400, "BadRequest"),
        ("POST", "/api/v1/pods", JSON, BAD, 405, "MethodNotAllowed"),
        ("POST", "/api/v1/namespaces", JSON, BAD, 405, "MethodNotAllowed"),
        ("GET", &pods("/nix"), JSON, "", 404, "NotFound"),
        ("GET", &pods("/nix/log"), JSON, "", 404, "NotFound"),
        ("GET", &at("/log?container=nix"), JSON, "", 400, "BadRequest"),
        ("GET", &at("/log"), JSON, "", 400, "BadRequest"),
        ("GET", &pods("?fieldSelector=spec.x=1"), JSON, "", 400, "BadRequest"),
        ("GET", &pods("?watch=1&resourceVersion=x"), JSON, "", 400, "BadRequest"),
        ("GET", &pods("?watch=1&resourceVersion=1"), JSON, "", 410, "Expired"),
        ("GET", "/api/v1/services", JSON, "", 404, "NotFound"),
        ("GET", "/container", JSON, "", 405, "MethodNotAllowed"),
        ("GET", "/containerInfo", JSON, "", 400, "BadRequest"),
        ("GET", "/containerInfo?container=x", JSON, "", 404, "NotFound"),
        ("GET", "/podInfo", JSON, "", 400, "BadRequest"),
        ("GET", "/podInfo?podID=x", JSON, "", 404, "NotFound"),
    ])
    .await;
}

#[tokio::test(flavor = "current_thread")]
async fn a_dry_run_says_what_would_be_and_writes_nothing() {
    let node = Node::new();
    let (code, made) = node.ask("POST", &format!("{PODS}?dryRun=All"), web()).await;
    assert_eq!((code, &made["spec"]["restartPolicy"]), (201, &json!("Always")));
    assert_eq!(node.ask("GET", WEB, "").await.0, 404);
    node.ask("POST", PODS, web()).await;
    assert_eq!(node.ask("DELETE", &format!("{WEB}?dryRun=All"), "").await.0, 200);
    assert_eq!(node.ask("GET", WEB, "").await.1["metadata"]["deletionTimestamp"], Value::Null);
}

#[tokio::test(flavor = "current_thread")]
async fn the_endpoints_of_2014_replace_what_they_declared_and_nothing_else() {
    let node = Node::new();
    node.ask("POST", PODS, web()).await;
    let old = |id: &str| json!({"version": "v1beta1", "id": id, "containers": [{"name": "a", "image": "x:1", "cpu": 100}]});
    assert_eq!(node.ask("POST", "/container", old("one")).await.0, 200);
    assert_eq!(node.ask("POST", "/containers", json!([old("two"), old("three")])).await.0, 200);
    let leaves = |pod: &Value| pod["metadata"].get("deletionTimestamp").is_some();
    let names = |list: &Value| -> Vec<String> {
        let stay = list["items"].as_array().unwrap().iter().filter(|pod| !leaves(pod));
        stay.map(|pod| pod["metadata"]["name"].as_str().unwrap().to_owned()).collect()
    };
    let list = node.ask("GET", PODS, "").await.1;
    assert_eq!(names(&list), ["three", "two", "web"]);
    let (code, refused) = node.ask("POST", "/containers", json!([old("web")])).await;
    assert_eq!((code, &refused["reason"]), (409, &json!("AlreadyExists")));
    assert_eq!(names(&node.ask("GET", PODS, "").await.1), ["three", "two", "web"], "all or nothing");
    assert_eq!(node.ask("POST", "/containers", json!([])).await.0, 200);
    assert_eq!(names(&node.ask("GET", PODS, "").await.1), ["web"]);
}

#[tokio::test(flavor = "current_thread")]
async fn a_watch_tells_what_changes_to_whom_it_concerns() {
    let node = Node::new();
    node.ask("POST", PODS, web()).await;
    let list = node.ask("GET", PODS, "").await.1;
    let since = list["metadata"]["resourceVersion"].as_str().unwrap();
    let path = format!("{PODS}?watch=1&labelSelector=seen&resourceVersion={since}");
    let mut lines = node.send("GET", &path, JSON, "").await.into_body();
    for patch in [json!({"seen": "1"}), json!({"seen": "2"}), json!({"seen": null})] {
        node.patch(MERGE, json!({"metadata": {"labels": patch}})).await;
    }
    let mut told = Vec::new();
    while told.len() < 3 {
        let line = lines.frame().await.unwrap().unwrap().into_data().unwrap();
        let event: Value = serde_json::from_slice(&line).unwrap();
        told.push((event["type"].clone(), event["object"]["metadata"]["labels"]["seen"].clone()));
    }
    assert_eq!(
        told,
        [(json!("ADDED"), json!("1")), (json!("MODIFIED"), json!("2")), (json!("DELETED"), Value::Null)]
    );
}

#[tokio::test(flavor = "current_thread")]
async fn a_pod_that_a_file_declares_too_is_the_files_and_comes_back_when_that_lets_go() {
    let node = Node::new();
    let made = node.ask("POST", PODS, web()).await.1;
    let source = |pod: &Value| pod["metadata"]["annotations"]["kubernetes.io/config.source"].clone();
    assert_eq!(source(&made), "api");
    let mut pod = Pod::default();
    (pod.metadata.namespace, pod.metadata.name) = ("default".into(), "web".into());
    let places = Places { file: "web.yaml".into(), fields: [("".into(), (7, 1))].into() };
    let declared = Declared::new(&node.api.snapshots.now().desired.node, SourceKind::File, pod, places);
    let writer = node.store.writer(SourceKind::File);
    writer.write(Slot::Known(im::OrdMap::unit(declared.key.clone(), Arc::new(declared))), Vec::new());
    let shown = node.ask("GET", WEB, "").await.1;
    assert_eq!(source(&shown), "file");
    assert_ne!(shown["metadata"]["uid"], made["metadata"]["uid"]);
    // What is written is still there, and can be taken back.
    let (code, patched) = node.patch(MERGE, json!({"metadata": {"labels": {"a": "b"}}})).await;
    assert_eq!((code, &patched["metadata"]["labels"]["a"]), (200, &json!("b")));
    writer.write(Slot::Known(im::OrdMap::new()), Vec::new());
    let shown = node.ask("GET", WEB, "").await.1;
    assert_eq!((source(&shown), &shown["metadata"]["uid"]), (json!("api"), &made["metadata"]["uid"]));
}

#[tokio::test(flavor = "current_thread")]
async fn a_watch_begins_with_all_there_is_says_so_and_ends_in_time() {
    let node = Node::new();
    node.ask("POST", PODS, web()).await;
    let accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
    for (accept, kind) in [(JSON, "Pod"), (accept, "Table")] {
        let path = format!("{PODS}?watch=1&sendInitialEvents=true&allowWatchBookmarks=true&timeoutSeconds=0");
        let request = Request::builder().uri(path).header(ACCEPT, accept).body(whole("")).unwrap();
        let body = handle(request, &node.api).await.into_body().collect().await.unwrap().to_bytes();
        let events: Vec<Value> =
            serde_json::Deserializer::from_slice(&body).into_iter().map(Result::unwrap).collect();
        let told: Vec<(&Value, &Value)> =
            events.iter().map(|event| (&event["type"], &event["object"]["kind"])).collect();
        assert_eq!(told, [(&json!("ADDED"), &json!(kind)), (&json!("BOOKMARK"), &json!(kind))]);
        assert_eq!(events[1]["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"], "true");
    }
}

#[tokio::test(flavor = "current_thread")]
async fn a_watch_that_is_too_far_behind_is_told_to_list_again() {
    let node = Node::new();
    node.ask("POST", PODS, web()).await;
    let since = node.ask("GET", PODS, "").await.1["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
    for n in 0..600 {
        assert_eq!(node.patch(MERGE, json!({"metadata": {"labels": {"n": n.to_string()}}})).await.0, 200);
    }
    let (code, said) = node.ask("GET", &format!("{PODS}?watch=1&resourceVersion={since}"), "").await;
    assert_eq!((code, &said["reason"]), (410, &json!("Expired")));
}

#[tokio::test(flavor = "current_thread")]
async fn who_hangs_up_while_pods_are_rendered_leaves_the_next_one_no_old_view() {
    use futures_util::FutureExt;
    let node = Node::new();
    assert_eq!(node.ask("GET", PODS, "").await.1["items"], json!([]));
    let body = whole(web().to_string());
    let request = Request::post(PODS).header(CONTENT_TYPE, JSON).body(body).unwrap();
    let mut asking = Box::pin(handle(request, &node.api));
    let declared = || !node.api.snapshots.latest().1.pods().is_empty();
    while !declared() {
        assert!(asking.as_mut().now_or_never().is_none());
        tokio::task::yield_now().await;
    }
    // It is written, and its answer is being rendered.
    let _ = asking.as_mut().now_or_never();
    drop(asking);
    assert_eq!(node.ask("GET", WEB, "").await.0, 200);
}
