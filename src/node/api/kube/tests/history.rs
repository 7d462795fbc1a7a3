//! What is remembered for watches takes a bounded part of memory, however large pods are.

use super::*;

/// B2.
#[tokio::test(flavor = "current_thread")]
async fn large_changes_are_forgotten_sooner_than_small_ones() {
    let node = Node::new();
    node.ask("POST", PODS, web()).await;
    let version = |list: &Value| list["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
    let first = version(&node.ask("GET", PODS, "").await.1);
    let mut last = first.clone();
    for n in 0..45 {
        let large = format!("{n}{}", "x".repeat(250_000));
        last = version(&node.ask("GET", PODS, "").await.1);
        assert_eq!(node.patch(MERGE, json!({"metadata": {"annotations": {"large": large}}})).await.0, 200);
    }
    let since = |version: &str| format!("{PODS}?watch=1&timeoutSeconds=0&resourceVersion={version}");
    let (code, said) = node.ask("GET", &since(&first), "").await;
    assert_eq!((code, &said["reason"]), (410, &json!("Expired")));
    let (code, told) = node.ask("GET", &since(&last), "").await;
    assert_eq!((code, &told["type"]), (200, &json!("MODIFIED")), "what was told last is still there");
    let current = node.api.kube.view.now().await;
    let held: usize = current
        .events
        .values()
        .flat_map(|event| [&event.before, &event.after])
        .flatten()
        .map(|shown| shown.json.len())
        .sum();
    assert!(held <= 16 << 20, "{held} bytes");
}
