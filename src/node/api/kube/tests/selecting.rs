//! A selector that is malformed selects nothing, and above all not everything.

use super::*;

fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02x}")).collect()
}

const LABELS: [&str; 34] = [
    ",",
    " ",
    "\t",
    ",,",
    "app=web,",
    ",app=web",
    "app=web,,tier",
    "((((",
    "app=b=c",
    "app in ()",
    "app in",
    "!",
    "!!app",
    "=",
    "=web",
    "app>x",
    "app>",
    "app notin (b",
    "in",
    "app in (b))",
    ")",
    "\"app\"=\"web\"",
    "app web",
    "!app=b",
    "app in web",
    "app around (web)",
    "app===web",
    "app=!web",
    "a/b/c",
    "-app",
    "app=-web",
    "app in (web tier)",
    "app in (web),(tier)",
    "app\u{e9}",
];

const FIELDS: [&str; 12] = [
    ",",
    " ",
    "metadata.name=web,",
    ",metadata.name=web",
    "metadata.name",
    "metadata.name=a=b",
    "=",
    "metadata.name in (web)",
    "!metadata.name",
    "metadata.name=a\\,b",
    "spec.color=red",
    "metadata.name!==a",
];

#[tokio::test(flavor = "current_thread")]
async fn a_malformed_selector_is_refused_for_reading_and_for_deleting() {
    let node = Node::new();
    node.ask("POST", PODS, web()).await;
    let labels = LABELS.iter().map(|text| ("labelSelector", text));
    for (name, text) in labels.chain(FIELDS.iter().map(|text| ("fieldSelector", text))) {
        for method in ["GET", "DELETE"] {
            let (code, said) = node.ask(method, &format!("{PODS}?{name}={}", encoded(text)), "").await;
            assert_eq!((code, &said["reason"]), (400, &json!("BadRequest")), "{method} {name} '{text}'");
        }
    }
    let (code, watched) =
        node.ask("GET", &format!("{PODS}?watch=1&timeoutSeconds=0&labelSelector=%2c"), "").await;
    assert_eq!(code, 400, "{watched}");
    assert_eq!(node.ask("GET", WEB, "").await.1["metadata"].get("deletionTimestamp"), None);
}

#[tokio::test(flavor = "current_thread")]
async fn nothing_selects_everything_for_reading_and_is_no_selector_to_delete_by() {
    let node = Node::new();
    node.ask("POST", PODS, web()).await;
    for name in ["labelSelector", "fieldSelector"] {
        let path = format!("{PODS}?{name}=");
        let (code, list) = node.ask("GET", &path, "").await;
        assert_eq!((code, list["items"].as_array().unwrap().len()), (200, 1), "{path}");
        assert_eq!(node.ask("DELETE", &path, "").await.0, 400, "{path}");
    }
    // Kubernetes has no such verb.
    for query in ["", "?labelSelector=app%3Dweb"] {
        let (code, refused) = node.ask("DELETE", &format!("/api/v1/pods{query}"), "").await;
        assert_eq!((code, &refused["reason"]), (405, &json!("MethodNotAllowed")));
    }
    assert_eq!(node.ask("GET", WEB, "").await.1["metadata"].get("deletionTimestamp"), None);
    assert_eq!(node.ask("DELETE", &format!("{PODS}?labelSelector=app%3Dweb"), "").await.0, 200);
    assert!(node.ask("GET", WEB, "").await.1["metadata"].get("deletionTimestamp").is_some());
}
