//! The events of the last hour, for whoever asks later: the API.
//!
//! What happens again is counted, not told again: a pod that restarts all night is one line, with a count and
//! the time of the last. Nothing here outlives the agent.

use std::sync::Arc;
use std::time::Duration;

use im::OrdMap;
use serde_json::{Value, json};

use super::Event;
use crate::model::Time;

/// So many are kept; older ones are dropped. Each holds a kilobyte of message at most.
const MOST: usize = 1000;
/// As long as Kubernetes keeps them (`kube-apiserver --event-ttl`).
const LIFETIME: Duration = Duration::from_secs(3600);

/// An event and how often it happened.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    /// As it happened last.
    pub event: Event,
    pub first: Time,
    pub count: u32,
    /// Of the first time: part of its name.
    born: u64,
    pub version: u64,
}

/// Those of the last hour. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Recent {
    /// In the order in which they last happened.
    told: OrdMap<u64, Arc<Told>>,
    version: u64,
    /// Of what came before this one, not all is known.
    oldest: u64,
}

impl Recent {
    /// Of an agent that begins at that time.
    pub(super) fn new(at: Time) -> Self {
        // No agent tells a thousand a second for long, so one that starts again gives no version twice. 0 has a
        // meaning of its own to clients.
        let version = u64::try_from(at.0).unwrap_or_default().max(1);
        Self { told: OrdMap::new(), version, oldest: version }
    }

    pub(super) fn add(&mut self, event: Event) {
        let at = event.at;
        let version = self.version + 1;
        self.version = version;
        let before = self.told.iter().rev().find(|(_, told)| told.event.is_like(&event));
        let (first, count, born) = match before.map(|(at, told)| (*at, told.clone())) {
            Some((place, told)) if at.since(told.event.at) < LIFETIME => {
                self.told.remove(&place);
                (told.first, told.count.saturating_add(1), told.born)
            }
            Some(_) | None => (at, 1, version),
        };
        self.told.insert(version, Arc::new(Told { event, first, count, born, version }));
        while let Some((place, told)) = self.told.get_min().cloned()
            && (self.told.len() > MOST || at.since(told.event.at) >= LIFETIME)
        {
            self.told.remove(&place);
            self.oldest = self.oldest.max(place);
        }
    }

    /// The oldest first.
    pub fn at(&self, now: Time) -> impl Iterator<Item = &Arc<Told>> {
        self.told.values().filter(move |told| now.since(told.event.at) < LIFETIME)
    }

    /// What happened after a version; `None` when some of it is forgotten already.
    pub fn since(&self, version: u64) -> Option<impl Iterator<Item = &Arc<Told>>> {
        let known = self.oldest <= version && version <= self.version;
        known.then(|| self.told.range(version + 1..).map(|(_, told)| told))
    }

    /// Of the last that was told.
    pub fn version(&self) -> u64 {
        self.version
    }

    pub fn oldest(&self) -> u64 {
        self.oldest
    }
}

impl Told {
    /// As a Kubernetes `v1` `Event`.
    pub fn to_json(&self, node: &str) -> Value {
        let mut object = self.event.to_json(node, &format!("{}.{:x}", self.event.pod.name, self.born));
        object["count"] = json!(self.count);
        object["firstTimestamp"] = json!(self.first.to_string());
        object["metadata"]["creationTimestamp"] = json!(self.first.to_string());
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        object
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{PodKey, Uid};
    use crate::node::events::Kind;

    fn event(seconds: i64, pod: &str, message: &str) -> Event {
        Event {
            at: Time(seconds * 1000),
            pod: PodKey::new("default", pod),
            uid: Some(Uid("u".into())),
            container: Some("app".into()),
            kind: Kind::Warning,
            reason: "Failed",
            message: message.into(),
        }
    }

    fn shown(recent: &Recent, seconds: i64) -> Vec<String> {
        let one =
            |told: &Arc<Told>| format!("{} {} x{}", told.event.pod.name, told.event.message, told.count);
        recent.at(Time(seconds * 1000)).map(one).collect()
    }

    #[test]
    fn what_happens_again_is_counted_and_comes_last() {
        let mut recent = Recent::new(Time(0));
        for (seconds, pod, message) in
            [(10, "web", "a"), (11, "db", "a"), (12, "web", "b"), (70, "web", "a"), (71, "web", "a")]
        {
            recent.add(event(seconds, pod, message));
        }
        assert_eq!(shown(&recent, 80), ["db a x1", "web b x1", "web a x3"]);
        let last = recent.at(Time(80_000)).last().unwrap().to_json("n");
        assert_eq!(
            (&last["firstTimestamp"], &last["lastTimestamp"], &last["involvedObject"]["uid"]),
            (&json!("1970-01-01T00:00:10Z"), &json!("1970-01-01T00:01:11Z"), &json!("u"))
        );
        let mut other = event(72, "web", "a");
        other.uid = Some(Uid("v".into()));
        recent.add(other);
        assert_eq!(shown(&recent, 80).last().unwrap(), "web a x1", "another pod of the same name");
    }

    #[test]
    fn the_last_thousand_of_the_last_hour_are_kept() {
        let mut recent = Recent::new(Time(0));
        for n in 0..1500 {
            recent.add(event(n, "web", &n.to_string()));
        }
        let all = shown(&recent, 1500);
        assert_eq!((all.len(), &*all[0]), (1000, "web 500 x1"));
        assert_eq!(shown(&recent, 1499 + 3600).len(), 0);
        assert_eq!(shown(&recent, 1498 + 3600).len(), 1, "though nothing was told since");
        recent.add(event(5000, "web", "1499"));
        assert_eq!(shown(&recent, 5000).last().unwrap(), "web 1499 x2");
        recent.add(event(9000, "web", "1499"));
        assert_eq!(shown(&recent, 9000), ["web 1499 x1"], "an hour without it, and it is new");
    }

    #[test]
    fn whoever_is_too_far_behind_is_told_so() {
        let mut recent = Recent::new(Time(9));
        assert_eq!(recent.since(9).map(Iterator::count), Some(0), "nothing has happened yet");
        assert!(recent.since(8).is_none(), "of an agent before this one");
        recent.add(event(1, "web", "a"));
        let first = recent.version();
        recent.add(event(2, "web", "b"));
        recent.add(event(3, "web", "a"));
        let since = |recent: &Recent, version: u64| recent.since(version).map(Iterator::count);
        assert_eq!((since(&recent, first), since(&recent, recent.version())), (Some(2), Some(0)));
        assert_eq!((since(&recent, first - 2), since(&recent, recent.version() + 1)), (None, None));
        recent.add(event(4000, "web", "c"));
        assert_eq!(since(&recent, first), None, "what came then is forgotten");
    }
}
