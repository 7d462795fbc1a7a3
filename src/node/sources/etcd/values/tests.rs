//! Tables: values of keys, and what is made of them.

use std::time::Duration;

use super::*;
use crate::node::sources::reading::Look;
use crate::plan::{Node, SourceKind};

const WEB: &str = "/podkeeper/nodes/n/pods/prod/web";
const LIST: &str = "/registry/hosts/n/kubelet";

/// A source without a network.
struct Reader {
    manifests: Manifests,
    values: Values,
}

impl Reader {
    fn new() -> Self {
        let node = Node { name: "n".into(), key: [0; 16], sandbox_image: "pause".into() };
        let values = Values::new(Keys::new("/podkeeper", "n"), "n".into());
        Self { manifests: Manifests::new(SourceKind::Etcd, node, false), values }
    }

    /// Puts a value; the pods of the key after it, with their uid unless it follows from the name, and the first
    /// diagnosis.
    fn put(&mut self, key: &str, value: &str, created: i64) -> (String, String) {
        let entry = Entry { key: key.into(), value: value.into(), created };
        let (name, seen) = self.values.read(&self.manifests, &entry);
        let said = self.manifests.fold(Look::Changes(vec![(name.clone(), Some(seen))]), Duration::ZERO);
        let pods = self.manifests.pods(&name).iter();
        let pods = pods.map(|pod| match pod.pod.metadata.uid.as_str() {
            "" => pod.key.to_string(),
            uid => format!("{}#{uid}", pod.key),
        });
        let told = said.diagnoses.first().map(|d| d.message.clone()).unwrap_or_default();
        (pods.collect::<Vec<_>>().join(" "), told)
    }
}

fn pod(metadata: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{{metadata}}}\nspec: {{containers: [{{name: a, image: b}}]}}\n"
    )
}

#[test]
fn a_key_holds_the_pod_of_its_name_and_no_other() {
    let two = format!("{}---\n{}", pod("name: web"), pod("name: db"));
    let old = "version: v1beta1\nid: web\ncontainers: [{name: a, image: b}]\n";
    for (value, pods, told) in [
        (pod("name: web"), "prod/web", ""),
        (pod("name: web, namespace: prod"), "prod/web", ""),
        (pod("name: web, uid: u1"), "prod/web#u1", ""),
        (old.to_owned(), "prod/web", ""),
        (pod("name: web, namespace: default"), "", "this is pod default/web under the key of pod prod/web"),
        (pod("name: db"), "", "this is pod prod/db under the key of pod prod/web"),
        (two, "prod/web", "this is pod prod/db under the key of pod prod/web"),
        ("apiVersion: v1\nkind: List\nitems: []\n".to_owned(), "", ""),
        (String::new(), "", ""),
    ] {
        assert_eq!(Reader::new().put(WEB, &value, 5), (pods.into(), told.into()), "{value}");
    }
}

#[test]
fn a_value_that_is_wrong_keeps_the_pod_of_its_key() {
    let mut reader = Reader::new();
    reader.put(WEB, &pod("name: web"), 5);
    for value in ["{", "kind: Pod", "", &pod("name: db"), "\u{0}"] {
        let (pods, told) = reader.put(WEB, value, 5);
        assert_eq!((pods.as_str(), told.is_empty()), ("prod/web", false), "{value:?}");
    }
}

#[test]
fn a_key_that_is_of_no_pod_is_told_and_does_no_harm() {
    let (pods, told) = Reader::new().put("/podkeeper/nodes/n/pods/web", &pod("name: web"), 5);
    assert_eq!((pods.as_str(), told.as_str()), ("", "this key is of no pod and is not read"));
}

#[test]
fn the_list_of_2014_names_its_pods_itself() {
    let list = "- {version: v1beta1, id: a, containers: [{name: a, image: b}]}\n\
                - {version: v1beta1, id: b, containers: [{name: a, image: b}]}\n";
    assert_eq!(Reader::new().put(LIST, list, 5).0, "default/a default/b");
}

#[test]
fn e23_a_second_life_of_a_key_is_another_pod_for_as_long_as_it_lasts() {
    let mut reader = Reader::new();
    let first = reader.put(WEB, &pod("name: web"), 5).0;
    assert_eq!(first, "prod/web", "the first life that is seen is the pod that any source would have");
    let second = reader.put(WEB, &pod("name: web"), 9).0;
    assert!(second.starts_with("prod/web#"), "{second}");
    assert_eq!(reader.put(WEB, &pod("name: web, labels: {a: b}"), 9).0, second, "a change is the same pod");
    let third = reader.put(WEB, &pod("name: web"), 12).0;
    assert!(third != second && third != first, "{third}");
    // An agent that starts again knows the pod and not the revision.
    reader.values.forget();
    assert_eq!(reader.put(WEB, &pod("name: web"), 12).0, third);
    assert_eq!(reader.put(WEB, &pod("name: web, uid: u1"), 20).0, "prod/web#u1", "unless it has its own");
}
