//! B4: what says which pod it is, and which state of it, says so rightly or is refused.

use super::*;

const JSON_PATCH: &str = "application/json-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";

#[tokio::test(flavor = "current_thread")]
async fn a_change_cannot_make_another_object_of_a_pod() {
    for kind in [MERGE, STRATEGIC] {
        assert_said(&[
            ("PATCH", WEB, kind, r#"{"metadata": {"namespace": "other"}}"#, 400, "BadRequest"),
            ("PATCH", WEB, kind, r#"{"metadata": {"name": "other"}}"#, 400, "BadRequest"),
            ("PATCH", WEB, kind, r#"{"metadata": {"name": null}}"#, 400, "BadRequest"),
            ("PATCH", WEB, kind, r#"{"metadata": null}"#, 400, "BadRequest"),
            ("PATCH", WEB, kind, r#"{"metadata": {"name": 7}}"#, 422, "Invalid"),
            ("PATCH", WEB, kind, r#"{"metadata": {"namespace": 7}}"#, 422, "Invalid"),
            ("PATCH", WEB, kind, r#"{"metadata": {"uid": 7}}"#, 422, "Invalid"),
            ("PATCH", WEB, kind, r#"{"metadata": {"resourceVersion": 7}}"#, 422, "Invalid"),
            ("PATCH", WEB, kind, r#"{"kind": "Node"}"#, 422, "Invalid"),
            ("PATCH", WEB, kind, r#"{"kind": 7}"#, 422, "Invalid"),
            ("PATCH", WEB, kind, r#"{"apiVersion": "v9"}"#, 422, "Invalid"),
            (
                "PATCH",
                WEB,
                kind,
                r#"{"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "web", "namespace": "default"}}"#,
                200,
                "",
            ),
        ])
        .await;
    }
}

#[tokio::test(flavor = "current_thread")]
async fn neither_can_a_json_patch_an_apply_or_a_new_object() {
    let apply = &format!("{WEB}?fieldManager=m");
    let yaml = "application/apply-patch+yaml";
    assert_said(&[
        (
            "PATCH",
            WEB,
            JSON_PATCH,
            r#"[{"op": "replace", "path": "/metadata/name", "value": 7}]"#,
            422,
            "Invalid",
        ),
        (
            "PATCH",
            WEB,
            JSON_PATCH,
            r#"[{"op": "replace", "path": "/metadata/namespace", "value": "x"}]"#,
            400,
            "BadRequest",
        ),
        ("PATCH", WEB, JSON_PATCH, r#"[{"op": "remove", "path": "/metadata"}]"#, 400, "BadRequest"),
        (
            "PATCH",
            WEB,
            JSON_PATCH,
            r#"[{"op": "replace", "path": "/kind", "value": "Node"}]"#,
            422,
            "Invalid",
        ),
        ("PATCH", apply, yaml, r#"{"apiVersion": "v1", "kind": "Node"}"#, 422, "Invalid"),
        ("PATCH", apply, yaml, r#"{"metadata": {"namespace": "other"}}"#, 400, "BadRequest"),
        ("PUT", WEB, JSON, r#"{"metadata": {"name": "web", "namespace": "other"}}"#, 400, "BadRequest"),
        ("PUT", WEB, JSON, r#"{"metadata": {"name": 7}}"#, 400, "BadRequest"),
        ("PUT", WEB, JSON, r#"{"metadata": {"namespace": 7}}"#, 400, "BadRequest"),
        ("PUT", WEB, JSON, r#"{"kind": 7, "metadata": {"name": "web"}}"#, 400, "BadRequest"),
        ("PUT", WEB, JSON, r#"{"kind": "Node", "metadata": {"name": "web"}}"#, 400, "BadRequest"),
    ])
    .await;
}

#[tokio::test(flavor = "current_thread")]
async fn a_version_that_was_never_given_is_a_conflict_and_one_that_is_none_a_mistake() {
    let with = |version: &str| json!({"metadata": {"resourceVersion": version}}).to_string();
    let pod = |version: &str| {
        let mut pod = web();
        pod["metadata"]["resourceVersion"] = json!(version);
        pod.to_string()
    };
    let known = |version: &str| json!({"preconditions": {"resourceVersion": version}}).to_string();
    let future = "999999999999999999";
    for bad in ["x", "-1", "1.5", "99999999999999999999", " 1"] {
        assert_said(&[
            ("PATCH", WEB, MERGE, &with(bad), 400, "BadRequest"),
            ("PUT", WEB, JSON, &pod(bad), 400, "BadRequest"),
            ("DELETE", WEB, JSON, &known(bad), 400, "BadRequest"),
        ])
        .await;
    }
    assert_said(&[
        ("PATCH", WEB, MERGE, &with(future), 409, "Conflict"),
        ("PUT", WEB, JSON, &pod(future), 409, "Conflict"),
        ("DELETE", WEB, JSON, &known(future), 409, "Conflict"),
        ("PATCH", WEB, MERGE, &with("1"), 409, "Conflict"),
        // Kubernetes' words for "whatever it is now".
        ("PUT", WEB, JSON, &pod("0"), 200, ""),
        ("PUT", WEB, JSON, &pod(""), 200, ""),
    ])
    .await;
}

#[tokio::test(flavor = "current_thread")]
async fn a_list_is_asked_for_with_numbers_and_without_a_token_that_nobody_gave() {
    let node = Node::new();
    for path in [PODS, "/api/v1/pods", "/api/v1/nodes", "/api/v1/namespaces", "/api/v1/events"] {
        for bad in [
            "limit=x",
            "limit=-1",
            "limit=99999999999999999999",
            "continue=zzz",
            "resourceVersion=x",
            "resourceVersion=-1",
            "resourceVersion=99999999999999999999",
            "timeoutSeconds=x",
        ] {
            let (code, said) = node.ask("GET", &format!("{path}?{bad}"), "").await;
            assert_eq!((code, &said["reason"]), (400, &json!("BadRequest")), "{path}?{bad}");
        }
        for good in ["limit=500", "limit=0", "limit=", "continue=", "resourceVersion=0", "timeoutSeconds=10"]
        {
            assert_eq!(node.ask("GET", &format!("{path}?{good}"), "").await.0, 200, "{path}?{good}");
        }
    }
    node.ask("POST", PODS, web()).await;
    for bad in ["limit=1", "limit=x", "continue=x"] {
        assert_eq!(node.ask("DELETE", &format!("{PODS}?{bad}"), "").await.0, 400, "{bad}");
    }
}
