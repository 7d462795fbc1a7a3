//! What there is: the answers by which a client learns which kinds it can ask for.

use serde_json::{Value, json};

use super::accept::Aggregated;

/// Plural, kind, short name, in a namespace, verbs.
struct Resource(&'static str, &'static str, &'static str, bool, &'static [&'static str]);

const LOOK: &[&str] = &["get", "list"];
const RESOURCES: [Resource; 4] = [
    Resource("events", "Event", "ev", true, &["get", "list", "watch"]),
    Resource("namespaces", "Namespace", "ns", false, LOOK),
    Resource("nodes", "Node", "no", false, LOOK),
    Resource(
        "pods",
        "Pod",
        "po",
        true,
        &["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
    ),
];

/// `/version`. Clients look at the two numbers: this is the API that the reader knows.
pub fn version() -> Value {
    let own = env!("CARGO_PKG_VERSION");
    json!({
        "major": "1",
        "minor": "33",
        "gitVersion": format!("v1.33.0+podkeeper-{own}"),
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "rustc",
        "platform": format!("linux/{}", std::env::consts::ARCH),
    })
}

/// `/api` as clients before 1.26 read it.
pub fn versions() -> Value {
    json!({ "kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": [] })
}

/// `/apis`: there is no other group.
pub fn groups() -> Value {
    json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": [] })
}

/// `/api/v1`.
pub fn resources() -> Value {
    let mut all = Vec::new();
    for Resource(name, kind, short, namespaced, verbs) in &RESOURCES {
        all.push(json!({
            "name": name,
            "singularName": kind.to_lowercase(),
            "namespaced": namespaced,
            "kind": kind,
            "verbs": verbs,
            "shortNames": [short],
            "categories": if *name == "pods" { json!(["all"]) } else { json!([]) },
        }));
    }
    for (name, verb) in [("pods/log", "get"), ("pods/status", "get")] {
        all.push(
            json!({ "name": name, "singularName": "", "namespaced": true, "kind": "Pod", "verbs": [verb] }),
        );
    }
    json!({ "kind": "APIResourceList", "groupVersion": "v1", "resources": all })
}

/// `/api` and `/apis` in one answer, as clients since 1.26 ask for it.
pub fn aggregated(version: Aggregated, core: bool) -> Value {
    let resources: Vec<Value> = RESOURCES
        .iter()
        .map(|Resource(name, kind, short, namespaced, verbs)| {
            let kind_of = json!({ "group": "", "version": "v1", "kind": kind });
            let mut resource = json!({
                "resource": name,
                "responseKind": kind_of,
                "scope": if *namespaced { "Namespaced" } else { "Cluster" },
                "singularResource": kind.to_lowercase(),
                "verbs": verbs,
                "shortNames": [short],
            });
            if *name == "pods" {
                resource["categories"] = json!(["all"]);
                resource["subresources"] = json!([
                    { "subresource": "log", "responseKind": kind_of, "verbs": ["get"] },
                    { "subresource": "status", "responseKind": kind_of, "verbs": ["get"] },
                ]);
            }
            resource
        })
        .collect();
    let group = json!({
        "metadata": { "creationTimestamp": null },
        "versions": [{ "version": "v1", "resources": resources, "freshness": "Current" }],
    });
    let items = if core { vec![group] } else { Vec::new() };
    json!({
        "kind": "APIGroupDiscoveryList",
        "apiVersion": format!("apidiscovery.k8s.io/{}", version.version()),
        "metadata": {},
        "items": items,
    })
}
