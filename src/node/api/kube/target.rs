//! What a path of Kubernetes' API names.

use super::query::decoded;
use crate::model::PodKey;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    Described(Described),
    /// Of one namespace, or of all.
    Pods(Option<String>),
    Pod(PodKey),
    PodStatus(PodKey),
    PodLog(PodKey),
    /// Of one namespace, or of all.
    Events(Option<String>),
    /// Its namespace and its name.
    Event(String, String),
    /// All of them, or the one of that name.
    OfCluster(OfCluster, Option<String>),
}

/// What a client asks before it does anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Described {
    Version,
    /// `/api`.
    Core,
    /// `/apis`.
    Groups,
    /// `/api/v1`.
    Resources,
    OpenApiV2,
    OpenApiIndex,
    OpenApiCore,
}

/// What is there beside pods, to be read alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfCluster {
    Namespace,
    Node,
}

impl OfCluster {
    /// Kubernetes' name of the kind.
    pub fn name(self) -> &'static str {
        match self {
            OfCluster::Namespace => "Namespace",
            OfCluster::Node => "Node",
        }
    }
}

/// `None`: there is nothing at that path.
pub fn parse(path: &str) -> Option<Target> {
    let parts: Vec<String> = path.trim_matches('/').split('/').map(decoded).collect();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let pod = |namespace: &str, name: &str| PodKey::new(namespace, name);
    Some(match parts[..] {
        ["version"] => Target::Described(Described::Version),
        ["api"] => Target::Described(Described::Core),
        ["apis"] => Target::Described(Described::Groups),
        ["openapi", "v2"] => Target::Described(Described::OpenApiV2),
        ["openapi", "v3"] => Target::Described(Described::OpenApiIndex),
        ["openapi", "v3", "api", "v1"] => Target::Described(Described::OpenApiCore),
        ["api", "v1"] => Target::Described(Described::Resources),
        ["api", "v1", "pods"] => Target::Pods(None),
        ["api", "v1", "events"] => Target::Events(None),
        ["api", "v1", "namespaces", namespace, "events"] => Target::Events(Some(namespace.to_owned())),
        ["api", "v1", "namespaces", namespace, "events", name] => {
            Target::Event(namespace.to_owned(), name.to_owned())
        }
        ["api", "v1", "namespaces"] => Target::OfCluster(OfCluster::Namespace, None),
        ["api", "v1", "namespaces", name] => Target::OfCluster(OfCluster::Namespace, Some(name.to_owned())),
        ["api", "v1", "nodes"] => Target::OfCluster(OfCluster::Node, None),
        ["api", "v1", "nodes", name] => Target::OfCluster(OfCluster::Node, Some(name.to_owned())),
        ["api", "v1", "namespaces", namespace, "pods"] => Target::Pods(Some(namespace.to_owned())),
        ["api", "v1", "namespaces", namespace, "pods", name] => Target::Pod(pod(namespace, name)),
        ["api", "v1", "namespaces", namespace, "pods", name, "status"] => {
            Target::PodStatus(pod(namespace, name))
        }
        ["api", "v1", "namespaces", namespace, "pods", name, "log"] => Target::PodLog(pod(namespace, name)),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_name_what_kubernetes_has_there() {
        let web = PodKey::new("default", "web");
        for (path, expected) in [
            ("/version", Some(Target::Described(Described::Version))),
            ("/api/", Some(Target::Described(Described::Core))),
            ("/api/v1", Some(Target::Described(Described::Resources))),
            ("/openapi/v3/api/v1", Some(Target::Described(Described::OpenApiCore))),
            ("/api/v1/pods", Some(Target::Pods(None))),
            ("/api/v1/namespaces/default/pods", Some(Target::Pods(Some("default".into())))),
            ("/api/v1/namespaces/default/pods/web", Some(Target::Pod(web.clone()))),
            ("/api/v1/namespaces/default/pods/w%65b", Some(Target::Pod(web.clone()))),
            ("/api/v1/namespaces/default/pods/web/log", Some(Target::PodLog(web))),
            ("/api/v1/events", Some(Target::Events(None))),
            ("/api/v1/namespaces/default/events", Some(Target::Events(Some("default".into())))),
            (
                "/api/v1/namespaces/default/events/web.1",
                Some(Target::Event("default".into(), "web.1".into())),
            ),
            ("/api/v1/namespaces/default/pods/web/exec", None),
            ("/api/v1/services", None),
            ("/apis/apps/v1", None),
        ] {
            assert_eq!(parse(path), expected, "{path}");
        }
    }
}
