//! What a path of Kubernetes' API names.

use super::query::decoded;
use crate::model::PodKey;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    Version,
    /// `/api`.
    Core,
    /// `/apis`.
    Groups,
    /// `/api/v1`.
    Resources,
    OpenApiOld,
    OpenApiIndex,
    OpenApiCore,
    /// Of one namespace, or of all.
    Pods(Option<String>),
    Pod(PodKey),
    PodStatus(PodKey),
    PodLog(PodKey),
    Namespaces,
    Namespace(String),
    Nodes,
    Node(String),
    Events,
}

/// `None`: there is nothing at that path.
pub fn parse(path: &str) -> Option<Target> {
    let parts: Vec<String> = path.trim_matches('/').split('/').map(decoded).collect();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let pod = |namespace: &str, name: &str| PodKey::new(namespace, name);
    Some(match parts[..] {
        ["version"] => Target::Version,
        ["api"] => Target::Core,
        ["apis"] => Target::Groups,
        ["openapi", "v2"] => Target::OpenApiOld,
        ["openapi", "v3"] => Target::OpenApiIndex,
        ["openapi", "v3", "api", "v1"] => Target::OpenApiCore,
        ["api", "v1"] => Target::Resources,
        ["api", "v1", "pods"] => Target::Pods(None),
        ["api", "v1", "events"] | ["api", "v1", "namespaces", _, "events"] => Target::Events,
        ["api", "v1", "namespaces"] => Target::Namespaces,
        ["api", "v1", "namespaces", name] => Target::Namespace(name.to_owned()),
        ["api", "v1", "nodes"] => Target::Nodes,
        ["api", "v1", "nodes", name] => Target::Node(name.to_owned()),
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
            ("/version", Some(Target::Version)),
            ("/api/", Some(Target::Core)),
            ("/api/v1", Some(Target::Resources)),
            ("/openapi/v3/api/v1", Some(Target::OpenApiCore)),
            ("/api/v1/pods", Some(Target::Pods(None))),
            ("/api/v1/namespaces/default/pods", Some(Target::Pods(Some("default".into())))),
            ("/api/v1/namespaces/default/pods/web", Some(Target::Pod(web.clone()))),
            ("/api/v1/namespaces/default/pods/w%65b", Some(Target::Pod(web.clone()))),
            ("/api/v1/namespaces/default/pods/web/log", Some(Target::PodLog(web))),
            ("/api/v1/namespaces/default/events", Some(Target::Events)),
            ("/api/v1/namespaces/default/pods/web/exec", None),
            ("/api/v1/services", None),
            ("/apis/apps/v1", None),
        ] {
            assert_eq!(parse(path), expected, "{path}");
        }
    }
}
