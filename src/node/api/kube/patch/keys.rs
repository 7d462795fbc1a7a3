//! How the lists of a pod are told apart: by which fields two items are the same item.
//!
//! Source: the tags `patchMergeKey` and `listMapKey` of Kubernetes' `core/v1` types. A list that is not named
//! here is one value, replaced as a whole: `args`, `command`, `envFrom`, `tolerations`.

use serde_json::Value;

/// What a list is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum List {
    /// Of objects, each known by this field.
    By(&'static str),
    /// Of ports: two may have the same number and differ in their protocol.
    Ports,
    /// Of words, each there once.
    Set,
    /// One value.
    Whole,
}

/// The list under a field of that name, anywhere in a pod.
pub fn list(field: &str) -> List {
    match field {
        "containers"
        | "initContainers"
        | "ephemeralContainers"
        | "env"
        | "volumes"
        | "imagePullSecrets"
        | "resourceClaims"
        | "schedulingGates" => List::By("name"),
        "volumeMounts" => List::By("mountPath"),
        "volumeDevices" => List::By("devicePath"),
        "hostAliases" => List::By("ip"),
        "topologySpreadConstraints" => List::By("topologyKey"),
        "ownerReferences" => List::By("uid"),
        "conditions" => List::By("type"),
        "ports" => List::Ports,
        "finalizers" => List::Set,
        _ => List::Whole,
    }
}

impl List {
    /// The field that has to be there.
    pub fn key(self) -> Option<&'static str> {
        match self {
            List::By(key) => Some(key),
            List::Ports => Some("containerPort"),
            List::Set | List::Whole => None,
        }
    }

    /// `None` for an item that has no key.
    pub fn identity(self, item: &Value) -> Option<Identity> {
        let Some(key) = self.key() else {
            return Some(Identity { key: item.to_string(), protocol: String::new() });
        };
        let protocol = if self == List::Ports { protocol(item) } else { "" };
        Some(Identity { key: item.get(key)?.to_string(), protocol: protocol.to_owned() })
    }
}

/// Two items of one list that have the same are the same item.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Identity {
    /// As JSON: a number and a text are two keys.
    pub key: String,
    /// Of ports alone. One without a protocol is TCP.
    pub protocol: String,
}

pub fn protocol(port: &Value) -> &str {
    port.get("protocol").and_then(Value::as_str).unwrap_or("TCP")
}
