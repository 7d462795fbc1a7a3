//! A9: a program that found nothing writes `null`, and no pod is gone for that.

use super::*;

#[tokio::test(flavor = "current_thread")]
async fn a_body_that_says_nothing_takes_no_pod_of_2014_away() {
    let node = Node::new();
    let old = json!({"version": "v1beta1", "id": "old", "containers": [{"name": "a", "image": "x:1"}]});
    assert_eq!(node.ask("POST", "/containers", json!([old])).await.0, 200);
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "x"}}).to_string();
    for path in ["/container", "/containers"] {
        for body in
            ["", " \n", "null", "~", "---\n", "---\n---\n", "# nothing\n", "---\nnull\n---\n~\n", &service]
        {
            let (code, said) = node.ask("POST", path, body).await;
            assert_eq!((code, &said["reason"]), (400, &json!("BadRequest")), "{path} {body}: {said}");
        }
    }
    let pod = node.ask("GET", &format!("{PODS}/old"), "").await.1;
    assert!(
        pod["metadata"]["uid"].is_string() && pod["metadata"].get("deletionTimestamp").is_none(),
        "{pod}"
    );
    assert_eq!(
        node.ask("POST", "/containers", r#"{"apiVersion": "v1", "kind": "PodList", "items": []}"#).await.0,
        200
    );
    assert!(
        node.ask("GET", &format!("{PODS}/old"), "").await.1["metadata"].get("deletionTimestamp").is_some()
    );
}
