//! A dry run is one wherever it is asked for: in the query, or in the body of a DELETE.

use super::*;
use crate::node::api::kube::change::Call;

async fn stays(node: &Node) -> bool {
    node.ask("GET", WEB, "").await.1["metadata"].get("deletionTimestamp").is_none()
}

#[tokio::test(flavor = "current_thread")]
async fn a_dry_run_in_the_body_of_a_delete_deletes_nothing() {
    let node = Node::new();
    node.ask("POST", PODS, web()).await;
    for path in [WEB, PODS] {
        for body in [
            json!({"dryRun": ["All"]}),
            json!({"dryRun": ["All", "All"]}),
            json!({"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background", "dryRun": ["All"]}),
        ] {
            let (code, said) = node.ask("DELETE", path, &body).await;
            assert_eq!(code, 200, "{path} {body}: {said}");
            assert!(stays(&node).await, "{path} {body}");
        }
        assert_eq!(node.ask("DELETE", &format!("{path}?dryRun=All"), r#"{"dryRun": ["All"]}"#).await.0, 200);
        assert!(stays(&node).await, "{path}");
    }
    assert_eq!(node.ask("DELETE", WEB, r#"{"dryRun": []}"#).await.0, 200);
    assert!(!stays(&node).await, "an empty list asks for no dry run");
}

#[tokio::test(flavor = "current_thread")]
async fn what_is_no_dry_run_and_no_precondition_is_refused_before_anything_is_deleted() {
    let node = Node::new();
    node.ask("POST", PODS, web()).await;
    for path in [WEB, PODS] {
        for (query, body) in [
            ("", r#"{"dryRun": "All"}"#),
            ("", r#"{"dryRun": true}"#),
            ("", r#"{"dryRun": {}}"#),
            ("", r#"{"dryRun": ["Some"]}"#),
            ("", r#"{"dryRun": ["All", "Some"]}"#),
            ("", r#"{"dryRun": [["All"]]}"#),
            ("", r#"{"preconditions": {"uid": 7}}"#),
            ("", r#"{"preconditions": {"resourceVersion": 7}}"#),
            ("", r#"{"preconditions": "x"}"#),
            ("", r#"{"gracePeriodSeconds": "0"}"#),
            ("?dryRun=", ""),
            ("?dryRun", ""),
            ("?dryRun=all", ""),
            ("?dryRun=All&dryRun=Some", ""),
            ("?dryRun=Some", r#"{"dryRun": ["All"]}"#),
            ("?dryRun=All", r#"{"dryRun": ["Some"]}"#),
        ] {
            let (code, said) = node.ask("DELETE", &format!("{path}{query}"), body).await;
            assert_eq!((code, &said["reason"]), (400, &json!("BadRequest")), "{path}{query} {body}: {said}");
            assert!(stays(&node).await, "{path}{query} {body}");
        }
    }
    let other = r#"{"preconditions": {"uid": "another"}}"#;
    assert_eq!(node.ask("DELETE", PODS, other).await.0, 409);
    assert!(stays(&node).await);
}

/// A8: the runtime has one thread, on which the agent looks after its pods.
#[tokio::test(flavor = "current_thread")]
async fn a_dry_run_is_carried_out_beside_the_runtime_and_may_fail_there() {
    let node = Node::new();
    let query = Query::parse(Some("dryRun=All"));
    let bytes = hyper::body::Bytes::new();
    let call = Call { api: node.api.clone(), query, form: Form::Object, content_type: None, bytes };
    let at = call.write(true, |_| Ok(std::thread::current().id())).await.unwrap();
    assert_ne!(at, std::thread::current().id());
    let failed: Result<(), Refusal> = call.write(true, |_| panic!("a fault")).await;
    assert_eq!(failed.unwrap_err().code, StatusCode::SERVICE_UNAVAILABLE);
}
