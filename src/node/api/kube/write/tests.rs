//! Whatever is sent: a pod or a refusal comes out of it, never a panic (W5).

use proptest::prelude::*;

use super::*;
use crate::node::api::kube::patch::Patch;
use crate::plan::Node;

const KEYS: [&str; 20] = [
    "metadata",
    "spec",
    "name",
    "namespace",
    "labels",
    "annotations",
    "uid",
    "resourceVersion",
    "finalizers",
    "containers",
    "image",
    "env",
    "value",
    "ports",
    "containerPort",
    "protocol",
    "$patch",
    "$retainKeys",
    "$setElementOrder/containers",
    "$deleteFromPrimitiveList/finalizers",
];

/// JSON that looks like a pod here and there.
fn anything() -> impl Strategy<Value = Value> {
    let words = ["web", "default", "x:1", "UDP", "delete", "replace", "merge", ""];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-2i64..70_000).prop_map(Value::from),
        proptest::sample::select(words.to_vec()).prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 4, |inner| {
        let entry = (proptest::sample::select(&KEYS[..]), inner.clone());
        prop_oneof![
            proptest::collection::vec(inner, 0..4).prop_map(Value::from),
            proptest::collection::vec(entry, 0..4).prop_map(|entries| {
                Value::Object(entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
            }),
        ]
    })
}

fn context() -> Context {
    let node = Node { name: "n".into(), key: [0; 16], sandbox_image: "pause".into() };
    Context {
        desired: Desired::new(node),
        now: Time(0),
        versions: Versions::starting_at(1),
        validation: Validation::Strict,
        gone: BTreeMap::new(),
    }
}

#[test]
fn a_second_delete_may_shorten_the_grace_period_and_never_lengthens_it() {
    let (mut set, context, key) = (Set::default(), context(), PodKey::new("default", "web"));
    let web = json!({"spec": {"terminationGracePeriodSeconds": 60, "containers": [{"name": "web", "image": "x:1"}]}});
    create(&mut set, &key, web, false, &context).unwrap();
    for (grace, seconds) in
        [(None, 60), (Some(90), 60), (Some(20), 20), (None, 20), (Some(30), 20), (Some(0), 0)]
    {
        let left = delete(&mut set, &key, &Preconditions::default(), grace, &context).unwrap().object;
        assert_eq!(left["metadata"]["deletionGracePeriodSeconds"], seconds, "{grace:?}");
        let until = format!("1970-01-01T00:{:02}:{:02}Z", seconds / 60, seconds % 60);
        assert_eq!(left["metadata"]["deletionTimestamp"], until);
        assert_eq!(set.leaving[&key].object, left);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_patch_breaks_anything_w5(body in anything(), nested in anything(), kind in 0usize..4) {
        let (mut set, context, key) = (Set::default(), context(), PodKey::new("default", "web"));
        let web = json!({"spec": {"containers": [{"name": "web", "image": "x:1", "ports": [{"containerPort": 53}]}]}});
        let made = create(&mut set, &key, web, false, &context).map_err(|refusal| refusal.message);
        prop_assert_eq!(made.map(|done| done.created), Ok(true));
        let body = match body {
            Value::Object(_) => body,
            other => json!({"metadata": nested, "spec": {"containers": other}}),
        };
        let (kind, body) = match kind {
            0 => ("application/merge-patch+json", body),
            1 => ("application/strategic-merge-patch+json", body),
            2 => ("application/json-patch+json", json!([{"op": "add", "path": "/spec/containers/0", "value": body}])),
            _ => ("application/apply-patch+yaml", body),
        };
        let patch = Patch::parse(Some(kind), body.to_string().as_bytes(), Some("me"), false);
        let Ok(patch) = patch else { return Ok(()) };
        let before = set.pods.clone();
        let found = update(&mut set, &key, &context, |old| patch.change(&key, old));
        match found {
            Ok(done) => {
                let written = &set.pods[&key];
                prop_assert_eq!(&written.object["metadata"]["name"], "web");
                prop_assert_eq!(&written.pod.metadata.uid, &done.uid);
                prop_assert!(!written.object.to_string().contains("\"$"), "{}", written.object);
            }
            Err(refusal) => {
                prop_assert!(refusal.code.is_client_error(), "{}", refusal.message);
                prop_assert!(before.ptr_eq(&set.pods));
            }
        }
    }
}

fn made(set: &mut Set, name: &str) -> Result<(), u16> {
    let pod = json!({"spec": {"containers": [{"name": "web", "image": "x:1"}]}});
    let made = create(set, &PodKey::new("default", name), pod, false, &context());
    made.map(drop).map_err(|refusal| refusal.code.as_u16())
}

#[test]
fn there_is_an_end_to_what_is_kept() {
    let mut set = Set::default();
    assert_eq!(made(&mut set, "a"), Ok(()));
    let one = set.pods.values().next().unwrap().clone();
    let large = Written { size: LARGEST - one.size, ..Written::clone(&one) };
    set.pods.insert(PodKey::new("default", "large"), Arc::new(large));
    assert_eq!(made(&mut set, "b"), Err(403), "too many bytes");
    let many = (0..MOST / 2).map(|n| (PodKey::new("default", &n.to_string()), one.clone()));
    let mut set = Set { pods: many.clone().collect(), leaving: many.skip(1).collect() };
    assert_eq!(made(&mut set, "last"), Ok(()));
    assert_eq!(made(&mut set, "beyond"), Err(403), "too many pods, with those that still stop");
}
