//! A patch that is small and means something huge is refused with words, and costs nobody else anything.

use super::*;

const JSON_PATCH: &str = "application/json-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";

async fn refused(kind: &str, body: impl ToString, code: u16, words: &str) {
    let node = Node::new();
    let made = node.ask("POST", PODS, web()).await.1;
    for path in [&format!("{WEB}?dryRun=All"), WEB] {
        let (found, said) = read(node.send("PATCH", path, kind, body.to_string()).await).await;
        assert_eq!(found, code, "{said:.500}");
        let message = said["message"].as_str().unwrap();
        assert!(message.contains(words) && message.len() < 4000, "{message:.500}");
    }
    assert_eq!(node.ask("GET", WEB, "").await.1, made, "nothing has changed");
}

fn nested(levels: usize) -> Value {
    (0..levels).fold(json!({}), |inner, _| json!({ "x": inner }))
}

/// A1: values of a hundred levels, each moved into the next, were ten thousand deep and more than a stack.
#[tokio::test(flavor = "current_thread")]
async fn a_json_patch_cannot_nest_a_document_ever_deeper() {
    let mut operations = vec![json!({"op": "add", "path": "/a", "value": {}})];
    for n in 0..400 {
        let (from, to) = if n % 2 == 0 { ("/a", "/b") } else { ("/b", "/a") };
        operations.push(json!({"op": "add", "path": to, "value": nested(30)}));
        operations.push(json!({"op": "move", "from": from, "path": format!("{to}{}/y", "/x".repeat(30))}));
    }
    refused(JSON_PATCH, json!(operations), 422, "levels").await;
    let deep = json!([{"op": "add", "path": "/spec/x", "value": nested(100)}]);
    refused(JSON_PATCH, deep, 422, "levels").await;
    refused(MERGE, json!({"spec": {"x": nested(100)}}), 422, "levels").await;
    refused(STRATEGIC, json!({"spec": {"x": nested(100)}}), 422, "levels").await;
}

/// A2, as CVE-2019-1002100: each copy doubles.
#[tokio::test(flavor = "current_thread")]
async fn a_json_patch_cannot_double_a_document_again_and_again() {
    let at = "/metadata/annotations";
    let mut copies = vec![json!({"op": "add", "path": at, "value": {"x": "y".repeat(1000)}})];
    let mut moves = copies.clone();
    copies.extend((0..15).map(|n| json!({"op": "copy", "from": at, "path": format!("{at}/{n}")})));
    refused(JSON_PATCH, json!(copies), 413, "copies and moves").await;
    moves.push(json!({"op": "add", "path": "/large", "value": "z".repeat(600_000)}));
    for n in 0..20 {
        let (from, to) = if n % 2 == 0 { ("/large", "/small") } else { ("/small", "/large") };
        moves.push(json!({"op": "move", "from": from, "path": to}));
    }
    refused(JSON_PATCH, json!(moves), 413, "copies and moves").await;
}

#[tokio::test(flavor = "current_thread")]
async fn a_json_patch_has_as_many_operations_as_kubernetes_lets_it_have() {
    let operation = json!({"op": "test", "path": "/kind", "value": "Pod"});
    refused(JSON_PATCH, json!(vec![operation.clone(); 10_001]), 413, "10000").await;
    let node = Node::new();
    node.ask("POST", PODS, web()).await;
    assert_eq!(node.patch(JSON_PATCH, json!(vec![operation; 10_000])).await.0, 200);
}

/// The name of a field comes in the place of everything that is under it.
#[tokio::test(flavor = "current_thread")]
async fn a_name_that_is_as_long_as_a_document_is_no_name() {
    let many: serde_json::Map<String, Value> = (0..40_000).map(|n| (n.to_string(), json!(n))).collect();
    let spec = json!({ "x".repeat(400_000): many });
    for kind in [MERGE, STRATEGIC] {
        refused(kind, json!({ "spec": spec }), 422, "the name of a field").await;
    }
    refused(JSON_PATCH, json!([{"op": "add", "path": "/spec", "value": spec}]), 422, "the name of a field")
        .await;
}
