//! Cases of the strategic merge patch, most of them from the lists of a pod.

use serde_json::json;

use super::*;

fn merged(target: Value, patch: Value) -> Result<Value, String> {
    let (Value::Object(mut target), Value::Object(patch)) = (target, patch) else { panic!("objects") };
    merge(&mut target, &patch).map(|()| target.into())
}

#[track_caller]
fn rows(rows: &[(&str, Value, Value, Value)]) {
    for (what, target, patch, expected) in rows {
        assert_eq!(merged(target.clone(), patch.clone()).as_ref(), Ok(expected), "{what}");
    }
}

#[test]
fn items_are_known_by_their_key_and_changed_in_place() {
    let two =
        json!({"containers": [{"name": "a", "image": "x:1", "args": ["1"]}, {"name": "b", "image": "y"}]});
    rows(&[
        (
            "a container by its name",
            two.clone(),
            json!({"containers": [{"name": "a", "image": "x:2"}]}),
            json!({"containers": [{"name": "a", "image": "x:2", "args": ["1"]}, {"name": "b", "image": "y"}]}),
        ),
        (
            "a new one comes last, a list without keys is one value",
            two.clone(),
            json!({"containers": [{"name": "c", "image": "z"}, {"name": "a", "args": ["2", "3"]}]}),
            json!({"containers": [{"name": "a", "image": "x:1", "args": ["2", "3"]}, {"name": "b", "image": "y"}, {"name": "c", "image": "z"}]}),
        ),
        (
            "delete one, null a field of another",
            two.clone(),
            json!({"containers": [{"name": "b", "$patch": "delete"}, {"name": "a", "args": null}]}),
            json!({"containers": [{"name": "a", "image": "x:1"}]}),
        ),
        (
            "replace all of them",
            two.clone(),
            json!({"containers": [{"$patch": "replace"}, {"name": "z", "image": "z"}]}),
            json!({"containers": [{"name": "z", "image": "z"}]}),
        ),
        (
            "env by name, mounts by path, volumes by name, aliases by address",
            json!({"env": [{"name": "A", "value": "1"}], "volumeMounts": [{"mountPath": "/a", "name": "v"}],
                   "volumes": [{"name": "v", "emptyDir": {}}], "hostAliases": [{"ip": "1.1.1.1", "hostnames": ["a"]}]}),
            json!({"env": [{"name": "A", "value": "2"}, {"name": "B"}], "volumeMounts": [{"mountPath": "/a", "readOnly": true}],
                   "volumes": [{"name": "v", "$retainKeys": ["name", "hostPath"], "hostPath": {"path": "/x"}}],
                   "hostAliases": [{"ip": "1.1.1.1", "hostnames": ["b"]}]}),
            json!({"env": [{"name": "A", "value": "2"}, {"name": "B"}], "volumeMounts": [{"mountPath": "/a", "name": "v", "readOnly": true}],
                   "volumes": [{"name": "v", "hostPath": {"path": "/x"}}], "hostAliases": [{"ip": "1.1.1.1", "hostnames": ["b"]}]}),
        ),
        (
            "tolerations are one value",
            json!({"tolerations": [{"key": "a"}]}),
            json!({"tolerations": [{"key": "b"}]}),
            json!({"tolerations": [{"key": "b"}]}),
        ),
    ]);
}

#[test]
fn ports_are_known_by_number_and_protocol() {
    let dns = json!({"ports": [{"containerPort": 53, "protocol": "TCP"}, {"containerPort": 53, "protocol": "UDP"}]});
    let tcp = json!({"ports": [{"containerPort": 53, "protocol": "TCP"}]});
    rows(&[
        (
            "one of two",
            dns.clone(),
            json!({"ports": [{"containerPort": 53, "protocol": "UDP", "hostPort": 53}]}),
            json!({"ports": [{"containerPort": 53, "protocol": "TCP"}, {"containerPort": 53, "protocol": "UDP", "hostPort": 53}]}),
        ),
        (
            "by its number alone where there is one",
            json!({"ports": [{"containerPort": 53, "protocol": "UDP"}]}),
            json!({"ports": [{"containerPort": 53, "name": "dns"}]}),
            json!({"ports": [{"containerPort": 53, "protocol": "UDP", "name": "dns"}]}),
        ),
        (
            "another protocol for the only one",
            tcp.clone(),
            json!({"ports": [{"containerPort": 53, "protocol": "UDP"}], "$setElementOrder/ports": [{"containerPort": 53}]}),
            json!({"ports": [{"containerPort": 53, "protocol": "UDP"}]}),
        ),
        (
            "one more of the same number",
            tcp,
            json!({"ports": [{"containerPort": 53, "protocol": "UDP"}],
                   "$setElementOrder/ports": [{"containerPort": 53}, {"containerPort": 53}]}),
            dns.clone(),
        ),
        (
            "both in a new container",
            json!({}),
            json!({"containers": [{"name": "a", "ports": [{"containerPort": 53}, {"containerPort": 53, "protocol": "UDP"}]}]}),
            json!({"containers": [{"name": "a", "ports": [{"containerPort": 53}, {"containerPort": 53, "protocol": "UDP"}]}]}),
        ),
        (
            "deleted by number",
            dns,
            json!({"ports": [{"containerPort": 53, "$patch": "delete"}]}),
            json!({"ports": []}),
        ),
    ]);
}

#[test]
fn of_two_ports_with_one_number_none_is_guessed() {
    let dns = json!({"ports": [{"containerPort": 53, "protocol": "TCP"}, {"containerPort": 53, "protocol": "UDP"}]});
    let order = |count: usize| vec![json!({"containerPort": 53}); count];
    // As kubectl 1.33 sends them: to keep one of the two, and to give one of them a host port.
    for patch in [
        json!({"$setElementOrder/ports": order(1), "ports": [{"$patch": "delete", "containerPort": 53}]}),
        json!({"$setElementOrder/ports": order(1), "ports": [{"$patch": "delete", "containerPort": 53, "protocol": "TCP"}]}),
        json!({"$setElementOrder/ports": order(2), "ports": [{"containerPort": 53, "hostPort": 53}]}),
    ] {
        let why = merged(dns.clone(), patch.clone()).unwrap_err();
        assert!(why.contains("apply --server-side"), "{patch}: {why}");
    }
    // By hand one can say which.
    let by_hand = json!({"ports": [{"$patch": "delete", "containerPort": 53, "protocol": "TCP"}]});
    let expected = json!({"ports": [{"containerPort": 53, "protocol": "UDP"}]});
    assert_eq!(merged(dns, by_hand), Ok(expected));
}

#[test]
fn directives_are_obeyed_and_never_stay() {
    rows(&[
        (
            "order, with one that only the server knows",
            json!({"containers": [{"name": "a"}, {"name": "own"}, {"name": "b"}]}),
            json!({"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}]}),
            json!({"containers": [{"name": "b"}, {"name": "a"}, {"name": "own"}]}),
        ),
        (
            "order and change together",
            json!({"env": [{"name": "A"}, {"name": "B"}]}),
            json!({"$setElementOrder/env": [{"name": "C"}, {"name": "A"}, {"name": "B"}], "env": [{"name": "C", "value": "1"}]}),
            json!({"env": [{"name": "C", "value": "1"}, {"name": "A"}, {"name": "B"}]}),
        ),
        (
            "words are added once and taken out",
            json!({"finalizers": ["a", "b"]}),
            json!({"finalizers": ["b", "c"], "$deleteFromPrimitiveList/finalizers": ["a"]}),
            json!({"finalizers": ["b", "c"]}),
        ),
        (
            "replace a map",
            json!({"metadata": {"labels": {"a": "1", "b": "2"}}}),
            json!({"metadata": {"labels": {"$patch": "replace", "c": "3"}}}),
            json!({"metadata": {"labels": {"c": "3"}}}),
        ),
        (
            "delete a map, and a field by null",
            json!({"a": {"x": 1}, "b": 2, "c": 3}),
            json!({"a": {"$patch": "delete"}, "b": null}),
            json!({"c": 3}),
        ),
        (
            "what is new is taken without its directives",
            json!({}),
            json!({"volumes": [{"name": "v", "$retainKeys": ["name"], "emptyDir": {}}], "spec": {"x": null, "y": {"z": 1}}}),
            json!({"volumes": [{"name": "v", "emptyDir": {}}], "spec": {"y": {"z": 1}}}),
        ),
    ]);
}

#[test]
fn a_patch_that_makes_no_sense_is_refused() {
    for (patch, words) in [
        (json!({"containers": [{"image": "x"}]}), "containers: an item has no name"),
        (json!({"containers": ["x"]}), "is an object"),
        (json!({"spec": {"$patch": "explode"}}), "'explode'"),
        (json!({"$setElementOrder/env": 1}), "is a list"),
        (json!({"$retainKeys": 1}), "is a list"),
    ] {
        let why = merged(json!({"containers": [{"name": "a"}]}), patch.clone()).unwrap_err();
        assert!(why.contains(words), "{patch}: {why}");
    }
}

/// A8: a patch of a mebibyte holds fifty thousand ports. Here nobody waits for ever for what once took the square of it.
#[test]
fn long_lists_are_merged_and_put_into_order_item_by_item() {
    let (done, wait) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let ports: Vec<Value> = (0..40_000).map(|port| json!({ "containerPort": port })).collect();
        let same: Vec<Value> =
            (0..40_000).map(|n| json!({ "containerPort": 53, "protocol": n.to_string() })).collect();
        let env: Vec<Value> = (0..40_000).map(|n| json!({ "name": n.to_string() })).collect();
        let words: Vec<Value> = (0..40_000).map(|n| json!(n.to_string())).collect();
        let gone: Vec<Value> =
            (0..40_000).map(|port| json!({ "containerPort": port, "$patch": "delete" })).collect();
        let keys: Map<String, Value> = (0..40_000).map(|n| (n.to_string(), json!(n))).collect();
        let backwards: Vec<Value> = env.iter().rev().cloned().collect();
        let mut target = json!({ "finalizers": words, "labels": keys, "volumes": env });
        for patch in [
            json!({ "ports": ports }),
            json!({ "ports": ports, "$setElementOrder/ports": ports }),
            json!({ "ports": gone }),
            json!({ "ports": same }),
            json!({ "ports": same, "$setElementOrder/ports": same }),
            json!({ "env": env, "$setElementOrder/env": env }),
            json!({ "$setElementOrder/env": backwards }),
            json!({ "finalizers": words, "$setElementOrder/finalizers": words }),
            json!({ "$deleteFromPrimitiveList/finalizers": words }),
            json!({ "labels": { "$retainKeys": words } }),
        ] {
            target = merged(target, patch).unwrap();
        }
        done.send(target).unwrap();
    });
    let merged = wait.recv_timeout(std::time::Duration::from_secs(60)).expect("it takes for ever");
    assert_eq!(merged["env"][0], json!({"name": "39999"}));
    assert_eq!(merged["ports"].as_array().unwrap().len(), 40_000);
    assert_eq!((&merged["finalizers"], merged["labels"].as_object().unwrap().len()), (&json!([]), 40_000));
}
