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

    /// True when both are about the same item. A port without a protocol is TCP.
    pub fn same(self, a: &Value, b: &Value) -> bool {
        let Some(key) = self.key() else { return a == b };
        let equal = a.get(key).is_some() && a.get(key) == b.get(key);
        equal && (self != List::Ports || protocol(a) == protocol(b))
    }
}

pub fn protocol(port: &Value) -> &str {
    port.get("protocol").and_then(Value::as_str).unwrap_or("TCP")
}
