//! Events as clients ask for them.

use http_body_util::BodyExt;
use hyper::Request;
use hyper::header::ACCEPT;

use super::*;
use crate::model::{PodKey, Uid};
use crate::node::api::answer::whole;
use crate::node::api::kube::handle;
use crate::node::events::{Event, Events, Kind};
use crate::node::snapshot::EngineStatus;

async fn read(answer: Answer) -> (u16, Value) {
    let code = answer.status().as_u16();
    let bytes = answer.into_body().collect().await.unwrap().to_bytes();
    (code, serde_json::from_slice(&bytes).unwrap_or(Value::Null))
}

#[tokio::test(flavor = "current_thread")]
async fn events_are_listed_selected_counted_and_watched() {
    let (mut api, _store) = Api::kept_in(tempfile::tempdir().unwrap().path(), EngineStatus::Connecting);
    let events = Events::new(Time(1000));
    api.kube.events = events.recent();
    let at = api.clock.now();
    let tell = |pod: &str, message: &str| {
        events.tell(Event {
            at,
            pod: PodKey::new("default", pod),
            uid: Some(Uid(format!("uid-of-{pod}").into())),
            container: Some("app".into()),
            kind: Kind::Warning,
            reason: "Failed",
            message: message.into(),
        });
    };
    for pod in ["web", "db", "web"] {
        tell(pod, "no such image");
    }
    let api = Arc::new(api);
    let get = |path: &str, accept: &str| {
        let request = Request::builder().uri(path).header(ACCEPT, accept).body(whole("")).unwrap();
        let api = api.clone();
        async move { handle(request, &api).await }
    };
    let (code, all) = read(get("/api/v1/events", "").await).await;
    assert_eq!((code, &all["kind"], all["items"].as_array().unwrap().len()), (200, &json!("EventList"), 2));
    let of_web = "/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3Dweb%2C\
                  involvedObject.namespace%3Ddefault%2CinvolvedObject.kind%3DPod%2CinvolvedObject.uid%3Duid-of-web";
    let (_, found) = read(get(of_web, "").await).await;
    assert_eq!((&found["items"][0]["count"], &found["items"][1]), (&json!(2), &Value::Null));
    let (_, none) = read(get("/api/v1/namespaces/other/events", "").await).await;
    assert_eq!(none["items"], json!([]));
    let (_, table) = read(get(of_web, "application/json;as=Table;v=v1;g=meta.k8s.io").await).await;
    let cells = table["rows"][0]["cells"].as_array().unwrap();
    assert!(cells[0].as_str().unwrap().contains("(x2 over "), "{cells:?}");
    assert_eq!(cells[1..5], ["Warning", "Failed", "pod/web", "spec.containers{app}"]);
    let name = all["items"][0]["metadata"]["name"].as_str().unwrap();
    let (code, one) = read(get(&format!("/api/v1/namespaces/default/events/{name}"), "").await).await;
    assert_eq!((code, &one), (200, &all["items"][0]));
    assert_eq!(get("/api/v1/namespaces/other/events/x", "").await.status(), 404);

    let since = all["metadata"]["resourceVersion"].as_str().unwrap();
    let watch = format!("{of_web}&watch=1&resourceVersion={since}");
    let mut lines = get(&watch, "").await.into_body();
    tell("db", "no such image");
    tell("web", "no such image");
    tell("web", "out of disk");
    let mut told = Vec::new();
    for _ in 0..2 {
        let line = lines.frame().await.unwrap().unwrap().into_data().unwrap();
        let line: Value = serde_json::from_slice(&line).unwrap();
        told.push((line["type"].clone(), line["object"]["count"].clone()));
    }
    assert_eq!(told, [(json!("MODIFIED"), json!(3)), (json!("ADDED"), json!(1))]);
    assert_eq!(get("/api/v1/events?watch=1&resourceVersion=999", "").await.status(), 410);
}
