//! D45: what carries all of our labels and is not ours.
//!
//! Labels are copied more easily than one thinks: an image that `docker commit` makes of one of our containers
//! hands all of them to whatever is run from it. Our own also differ from their labels at times, because a
//! person may `docker rename` them. So the name decides, and where that is another, the pod that it is part of:
//!
//! * the engine gives a name to one container only, and ours have the one that follows from their labels;
//! * one that begins like ours and contradicts its labels was never made by us;
//! * one of any other name is ours when it shares the network of its pod's sandbox, which a copy does not, and
//!   when nobody else has its name and number.
//!
//! What cannot be told apart, on purpose: whoever may use the engine's socket may also make a container of our
//! name, with our labels, on our sandbox's network. No label, signed or not, keeps that from being copied; and who
//! has that socket is root on the machine. Nor can a sandbox that was renamed be told from a copy while nothing
//! of its pod has joined it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use im::OrdMap;

use crate::model::ContainerId;
use crate::plan::{Instance, Role};

/// Parts a list into what is ours, and why the rest is not.
pub(super) fn part(list: Vec<Instance>) -> (Vec<Instance>, OrdMap<ContainerId, Arc<str>>) {
    if list.iter().all(Instance::is_named_by_its_labels) {
        return (list, OrdMap::new());
    }
    let verdicts: Vec<Option<&str>> = {
        let pods = Pods::new(&list);
        list.iter().map(|instance| pods.why_not_ours(instance)).collect()
    };
    let (mut ours, mut others) = (Vec::new(), OrdMap::new());
    for (instance, verdict) in list.into_iter().zip(verdicts) {
        match verdict {
            None => ours.push(instance),
            Some(why) => {
                let container = instance.role.name();
                let why =
                    format!("{} carries the labels of {}[{container}]: {why}", instance.name, instance.pod);
                others.insert(instance.id, why.into());
            }
        }
    }
    (ours, others)
}

/// What in a list speaks for a container of another name.
#[derive(Default)]
struct Pods<'a> {
    /// Names that are carried by the container that they follow from.
    named: BTreeSet<&'a str>,
    /// Sandboxes, with the pod's life that they are labelled for.
    sandboxes: BTreeSet<(&'a str, &'a str)>,
    /// Sandboxes that a container of the right name has joined, likewise.
    joined: BTreeSet<(&'a str, &'a str)>,
    /// How many of another name are part of their pod, by the name that follows from their labels.
    renamed: BTreeMap<String, usize>,
}

impl<'a> Pods<'a> {
    fn new(list: &'a [Instance]) -> Self {
        let mut pods = Self::default();
        for instance in list {
            let is_named = instance.is_named_by_its_labels();
            pods.named.extend(is_named.then_some(&*instance.name));
            match (&instance.role, joins(instance)) {
                (Role::Sandbox, _) => drop(pods.sandboxes.insert((&instance.uid.0, &instance.id.0))),
                (Role::Container(_), Some(sandbox)) if is_named => {
                    pods.joined.insert((&instance.uid.0, sandbox));
                }
                (Role::Container(_), _) => {}
            }
        }
        for instance in list.iter().filter(|instance| !instance.is_named_by_its_labels()) {
            if pods.has_place_for(instance) {
                *pods.renamed.entry(instance.labelled_name()).or_default() += 1;
            }
        }
        pods
    }

    fn has_place_for(&self, instance: &Instance) -> bool {
        let uid = &*instance.uid.0;
        match (&instance.role, joins(instance)) {
            (Role::Sandbox, _) => self.joined.contains(&(uid, &*instance.id.0)),
            (Role::Container(_), Some(sandbox)) => self.sandboxes.contains(&(uid, sandbox)),
            (Role::Container(_), None) => false,
        }
    }

    fn why_not_ours(&self, instance: &Instance) -> Option<&'static str> {
        let labelled = instance.labelled_name();
        if *instance.name == *labelled {
            None
        } else if instance.name.starts_with("k8s_") {
            Some("its name says something else")
        } else if self.named.contains(&*labelled) {
            Some("the container that they name is another one")
        } else if !self.has_place_for(instance) {
            Some("it has another name and is not part of that pod")
        } else if self.renamed.get(&labelled).is_some_and(|renamed| *renamed > 1) {
            Some("so does another, and nobody can say which is which")
        } else {
            None
        }
    }
}

/// The sandbox whose network it shares.
fn joins(instance: &Instance) -> Option<&str> {
    instance.network_mode.strip_prefix("container:")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{PodKey, Uid};
    use crate::plan::{State, labels};

    /// `name` of `None` is the right one; `on` is the id of the sandbox that it joins.
    fn container(id: &str, name: Option<&str>, container: &str, attempt: u32, on: &str) -> Instance {
        let pod = PodKey::new("default", "web");
        let role = if container == "POD" { Role::Sandbox } else { Role::Container(container.into()) };
        let right = labels::container_name(&role, &pod, &Uid("u1".into()), attempt);
        let attempt = attempt.to_string();
        let label = |key: &str| match key {
            labels::NODE => Some("n"),
            labels::CONTAINER_NAME => Some(container),
            labels::TYPE => Some(if container == "POD" { "podsandbox" } else { "container" }),
            labels::POD_NAMESPACE => Some("default"),
            labels::POD_NAME => Some("web"),
            labels::POD_UID => Some("u1"),
            labels::ATTEMPT => Some(attempt.as_str()),
            labels::FINGERPRINT => Some("1.x"),
            _ => None,
        };
        let mut instance = Instance::from_labels(id, name.unwrap_or(&right), label, State::Created).unwrap();
        instance.network_mode =
            if on.is_empty() { "bridge".into() } else { format!("container:{on}").into() };
        instance
    }

    /// The ids of those that are ours, and each other's reason.
    fn parted(list: Vec<Instance>) -> (String, Vec<String>) {
        let (ours, others) = part(list);
        let ids: Vec<String> = ours.iter().map(|instance| instance.id.0.to_string()).collect();
        let others = others.iter().map(|(id, why)| format!("{}: {}", id.0, why.split(": ").nth(1).unwrap()));
        (ids.join(" "), others.collect())
    }

    fn sandbox() -> Instance {
        container("s", None, "POD", 0, "")
    }

    #[test]
    fn what_an_image_made_of_one_of_ours_hands_on_is_not_ours() {
        let copy = || container("copy", Some("adoring_turing"), "app", 0, "");
        let another = "copy: the container that they name is another one";
        let (ours, others) = parted(vec![sandbox(), container("a", None, "app", 0, "s"), copy()]);
        assert_eq!((ours.as_str(), others), ("s a", vec![another.to_owned()]));
        let no_part = "copy: it has another name and is not part of that pod";
        // The one that it was made of is gone; its next attempt runs, or nothing at all.
        let (ours, others) = parted(vec![sandbox(), container("a", None, "app", 1, "s"), copy()]);
        assert_eq!((ours.as_str(), others), ("s a", vec![no_part.to_owned()]));
        assert_eq!(parted(vec![copy()]), (String::new(), vec![no_part.to_owned()]));
        assert_eq!(parted(vec![container("copy", Some("x"), "POD", 0, "")]).1, [no_part]);
    }

    #[test]
    fn a_name_like_ours_that_says_something_else_is_not_ours() {
        for name in
            ["k8s_app_web_default_u1_1", "k8s_app_web_default_u2_0", "k8s_db_web_default_u1_0", "k8s_"]
        {
            let (ours, others) = parted(vec![sandbox(), container("f", Some(name), "app", 0, "s")]);
            assert_eq!(
                (ours.as_str(), others),
                ("s", vec!["f: its name says something else".to_owned()]),
                "{name}"
            );
        }
    }

    #[test]
    fn one_of_ours_that_a_person_renamed_stays_ours() {
        let renamed = || container("a", Some("keep-me"), "app", 0, "s");
        assert_eq!(parted(vec![renamed(), sandbox()]), ("a s".into(), vec![]));
        let renamed_sandbox = container("s", Some("net"), "POD", 0, "");
        assert_eq!(
            parted(vec![renamed_sandbox, container("a", None, "app", 0, "s")]),
            ("s a".into(), vec![])
        );
        let copy = container("copy", Some("copy"), "app", 0, "");
        assert_eq!(parted(vec![copy, renamed(), sandbox()]).0, "a s", "a copy elsewhere changes nothing");
        // Two of them, and one must be a copy: neither is touched.
        let (ours, others) = parted(vec![renamed(), container("b", Some("b"), "app", 0, "s"), sandbox()]);
        assert_eq!((ours.as_str(), others.len()), ("s", 2));
        // The network of some other pod's sandbox says nothing.
        assert_eq!(parted(vec![container("a", Some("a"), "app", 0, "elsewhere"), sandbox()]).0, "s");
    }
}
