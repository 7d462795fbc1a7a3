//! Which key means what. Pure.
//!
//! One key a pod, `<prefix>/nodes/<node>/pods/<namespace>/<name>`, and the key of the 2014 kubelet, which holds
//! one list. What is written back lies beside the pods, so that a role for a node needs one prefix.

use crate::model::PodKey;

/// The keys of one node.
#[derive(Clone, Debug)]
pub struct Keys {
    prefix: String,
    node: String,
}

/// What a key holds.
#[derive(Debug, PartialEq, Eq)]
pub enum Meaning {
    /// The manifest of this pod.
    Pod(PodKey),
    /// A list of manifests.
    List,
    /// Nothing that can be told from its name.
    Stray,
}

/// What is read: one key, or all keys that begin with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    pub key: String,
    pub is_prefix: bool,
}

impl Keys {
    /// `prefix` begins with `/` and does not end with it.
    pub fn new(prefix: &str, node: &str) -> Self {
        Self { prefix: prefix.to_owned(), node: node.to_owned() }
    }

    /// All that the node's pods are read from.
    pub fn ranges(&self) -> [Range; 2] {
        [
            // `pkg/kubelet/config/etcd.go` of 2014 read it, by the name that `hostname -f` printed. It comes
            // first, so that too many pods do not push it out.
            Range { key: self.list(), is_prefix: false },
            Range { key: self.pods(), is_prefix: true },
        ]
    }

    pub fn meaning(&self, key: &[u8]) -> Meaning {
        if key == self.list().as_bytes() {
            return Meaning::List;
        }
        let path = std::str::from_utf8(key).ok().and_then(|key| key.strip_prefix(&self.pods()));
        match path.and_then(|path| path.split_once('/')) {
            Some((namespace, name)) if !namespace.is_empty() && !name.is_empty() && !name.contains('/') => {
                Meaning::Pod(PodKey::new(namespace, name))
            }
            Some(_) | None => Meaning::Stray,
        }
    }

    /// Where the status of a pod is written.
    pub fn status(&self, pod: &PodKey) -> String {
        format!("{}/nodes/{}/status/{}/{}", self.prefix, self.node, pod.namespace, pod.name)
    }

    /// Where an event of a pod is written. `id` sorts by time.
    pub fn event(&self, pod: &PodKey, id: &str) -> String {
        format!("{}/nodes/{}/events/{}/{}/{id}", self.prefix, self.node, pod.namespace, pod.name)
    }

    fn pods(&self) -> String {
        format!("{}/nodes/{}/pods/", self.prefix, self.node)
    }

    fn list(&self) -> String {
        format!("/registry/hosts/{}/kubelet", self.node)
    }
}

/// A key as the name of a text, for people and in places: control characters escaped, so that a key cannot paint
/// on a terminal.
pub fn name(key: &[u8]) -> String {
    let text = String::from_utf8_lossy(key);
    let escaped =
        text.chars().flat_map(|c| if c.is_control() { c.escape_default().collect() } else { vec![c] });
    format!("etcd:{}", escaped.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_names_its_pod_or_the_list_of_2014_or_nothing() {
        let keys = Keys::new("/podkeeper", "n1");
        let pod = |namespace, name| Meaning::Pod(PodKey::new(namespace, name));
        for (key, meaning) in [
            ("/podkeeper/nodes/n1/pods/default/web", pod("default", "web")),
            ("/registry/hosts/n1/kubelet", Meaning::List),
            ("/registry/hosts/n1/kubelet2", Meaning::Stray),
            ("/podkeeper/nodes/n1/pods/web", Meaning::Stray),
            ("/podkeeper/nodes/n1/pods/default/", Meaning::Stray),
            ("/podkeeper/nodes/n1/pods//web", Meaning::Stray),
            ("/podkeeper/nodes/n1/pods/default/web/more", Meaning::Stray),
            ("/podkeeper/nodes/n12/pods/default/web", Meaning::Stray),
        ] {
            assert_eq!(keys.meaning(key.as_bytes()), meaning, "{key}");
        }
        assert_eq!(keys.meaning(b"/podkeeper/nodes/n1/pods/default/\xff"), Meaning::Stray);
    }

    #[test]
    fn a_key_cannot_paint_on_a_terminal() {
        assert_eq!(name(b"/a\x1b[2J\xff"), "etcd:/a\\u{1b}[2J\u{fffd}");
    }
}
