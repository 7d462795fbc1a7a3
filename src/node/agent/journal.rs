//! What the agent logs, and tells as events: one line for each action, and one for each wait that is new.
//!
//! The same trouble of the same container is told once a minute. Values of env are in no line: actions and
//! causes never hold them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use im::OrdMap;

use crate::executor::Outcome;
use crate::model::{ContainerId, PodKey, Time, Uid};
use crate::node::events::{Event, Events, Kind};
use crate::plan::{Action, Call, Desired, Observed, Wait};

/// How long the same trouble stays untold.
const QUIET: Duration = Duration::from_secs(60);

pub(super) struct Journal {
    /// Trouble by what it is about, and when it was last told.
    told: BTreeMap<(PodKey, String), (String, Time)>,
    waits: BTreeMap<(PodKey, Option<String>), (&'static str, String)>,
    lookalikes: OrdMap<ContainerId, Arc<str>>,
    pub events: Events,
}

impl Journal {
    pub fn new(at: Time) -> Self {
        let (told, waits, lookalikes) = (BTreeMap::new(), BTreeMap::new(), OrdMap::new());
        Self { told, waits, lookalikes, events: Events::new(at) }
    }

    /// `uid` is of the pod that it was about.
    pub fn action(&mut self, at: Time, uid: Option<Uid>, action: &Action, took: Duration, outcome: &Outcome) {
        let took = Duration::from_millis(u64::try_from(took.as_millis()).unwrap_or(u64::MAX));
        let (pod, container) = (&action.pod, action.container.as_deref().unwrap_or("POD"));
        let call = match &action.container {
            Some(_) => word(&action.call).to_owned(),
            None => word(&action.call).replace("container", "sandbox"),
        };
        let (call, cause) = (call.as_str(), &action.cause);
        let error = match outcome {
            Outcome::Done(_) if action.call.is_look() => {
                return tracing::debug!(%pod, container, action = call, %cause, ?took);
            }
            Outcome::Done(_) => {
                // The kubelet says nothing of a sandbox that does as it should.
                if let Some(reason) = done(&action.call).filter(|_| action.container.is_some()) {
                    self.events.tell(event(
                        at,
                        uid,
                        action,
                        Kind::Normal,
                        reason,
                        format!("{call}: {cause}"),
                    ));
                }
                return tracing::info!(%pod, container, action = call, %cause, ?took);
            }
            Outcome::Refused(error) | Outcome::Uncertain(error) => error.to_string(),
        };
        let printable = printable(&error);
        let happened = event(at, uid, action, Kind::Warning, failed(action), format!("{call}: {printable}"));
        if self.is_news(at, pod, format!("{container} {call}"), &error) {
            self.events.tell(happened);
            tracing::warn!(%pod, container, action = call, %cause, ?took, error = printable);
        } else {
            self.events.again(happened);
        }
    }

    fn is_news(&mut self, at: Time, pod: &PodKey, about: String, error: &str) -> bool {
        self.told.retain(|_, (_, told_at)| at.since(*told_at) < QUIET);
        let key = (pod.clone(), about);
        if self.told.get(&key).is_some_and(|(told, _)| told == error) {
            return false;
        }
        self.told.insert(key, (error.to_owned(), at));
        true
    }

    /// Tells of containers that only look like ours, each once.
    pub fn lookalikes(&mut self, observed: &Observed) {
        for (id, why) in observed.lookalikes.iter().filter(|(id, _)| !self.lookalikes.contains_key(*id)) {
            let why = printable(why);
            tracing::warn!(
                id = id.short(),
                "{why}: it is left alone; remove it, or run it without those labels"
            );
        }
        self.lookalikes = observed.lookalikes.clone();
    }

    /// Tells the waits that are new since the last round.
    pub fn waits<'a>(&mut self, at: Time, desired: &Desired, waits: impl Iterator<Item = &'a Wait>) {
        let mut now = BTreeMap::new();
        for Wait { pod, container, until, reason } in waits {
            let key = (pod.clone(), container.clone());
            let value = (reason.word, reason.message.clone());
            if self.waits.get(&key) != Some(&value) {
                let (until, why) = (until.map(|until| until.to_string()), printable(&reason.message));
                if !is_a_step(reason.word) {
                    let uid = desired.get(pod).map(|declared| declared.uid.clone());
                    let (pod, container, message) = (pod.clone(), container.clone(), why.clone());
                    let (kind, reason) = (Kind::Warning, reason.word);
                    self.events.tell(Event { at, pod, uid, container, kind, reason, message });
                }
                let container = container.as_deref().unwrap_or("POD");
                if is_a_step(reason.word) {
                    tracing::debug!(%pod, container, reason = reason.word, until, why, "waits");
                } else {
                    tracing::info!(%pod, container, reason = reason.word, until, why, "waits");
                }
            }
            now.insert(key, value);
        }
        self.waits = now;
    }
}

fn event(
    at: Time,
    uid: Option<Uid>,
    action: &Action,
    kind: Kind,
    reason: &'static str,
    message: String,
) -> Event {
    let (pod, container) = (action.pod.clone(), action.container.clone());
    Event { at, pod, uid, container, kind, reason, message }
}

/// Waits that every pod goes through on its way up, and those that its source tells of once for all of them.
fn is_a_step(word: &str) -> bool {
    matches!(word, "ContainerCreating" | "PodInitializing" | "SourceUnknown")
}

/// An engine's text on one line, without control characters.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// The reason of an event in the kubelet's words (`pkg/kubelet/events/event.go`); none for what it tells nobody.
fn done(call: &Call) -> Option<&'static str> {
    match call {
        Call::PullImage { .. } => Some("Pulled"),
        Call::CreateContainer { .. } => Some("Created"),
        Call::StartContainer { .. } => Some("Started"),
        Call::StopContainer { .. } => Some("Killing"),
        Call::UpdateContainer { .. } => Some("ResizeCompleted"),
        Call::InspectImage { .. }
        | Call::InspectContainer { .. }
        | Call::LoadSandboxImage { .. }
        | Call::CreateSandbox { .. }
        | Call::UnpauseContainer { .. }
        | Call::RemoveContainer { .. } => None,
    }
}

fn failed(action: &Action) -> &'static str {
    if matches!(action.call, Call::StopContainer { .. } | Call::UnpauseContainer { .. }) {
        return "FailedKillPod";
    }
    if action.container.is_some() { "Failed" } else { "FailedCreatePodSandBox" }
}

fn word(call: &Call) -> &'static str {
    match call {
        Call::InspectImage { .. } => "inspect image",
        Call::InspectContainer { .. } => "inspect container",
        Call::PullImage { .. } => "pull image",
        Call::LoadSandboxImage { .. } => "load sandbox image",
        Call::CreateSandbox { .. } => "create sandbox",
        Call::CreateContainer { .. } => "create container",
        Call::StartContainer { .. } => "start container",
        Call::StopContainer { .. } => "stop container",
        Call::UnpauseContainer { .. } => "unpause container",
        Call::RemoveContainer { .. } => "remove container",
        Call::UpdateContainer { .. } => "update container",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::Fact;
    use crate::plan::Cause;

    #[test]
    fn the_same_trouble_is_news_once_a_minute() {
        let mut journal = Journal::new(Time(0));
        let pod = PodKey::new("default", "web");
        let mut news = |seconds: i64, error: &str| {
            journal.is_news(Time(seconds * 1000), &pod, "app start".into(), error)
        };
        assert!(news(0, "port taken"));
        assert!(!news(30, "port taken"));
        assert!(news(40, "another"), "a change is news at once");
        assert!(news(45, "port taken"));
        assert!(!news(104, "port taken"));
        assert!(news(106, "port taken"));
    }

    /// Of the defects of the kubelet of 2014 (`tests/traps`).
    #[test]
    fn trap_21_a_start_is_an_event_as_a_stop_is() {
        let mut journal = Journal::new(Time(0));
        let mut events = journal.events.listen();
        let id = ContainerId("c1".into());
        for call in
            [Call::StartContainer { id: id.clone() }, Call::StopContainer { id: id.clone(), grace: None }]
        {
            let (pod, container) = (PodKey::new("default", "web"), Some("app".into()));
            let action = Action { pod, container, call, cause: Cause::NotStarted, seen: None };
            let done = Outcome::Done(Fact::Gone(id.clone()));
            journal.action(Time(0), None, &action, Duration::ZERO, &done);
        }
        let mut told = || events.try_recv().unwrap();
        assert_eq!([told().reason, told().reason], ["Started", "Killing"]);
    }
}
