//! How a story is told: one line for each thing that was observed, planned, failed or waited for.
//!
//! Nothing that differs from run to run is told: no ids, no wall time.

use std::fmt::Write;

use crate::executor::Outcome;
use crate::model::{PodKey, Time};
use crate::plan::{Action, Call, Instance, Observed, Role, State, Wait};
use crate::sim::event::{member, short};
use crate::sim::world::START;

/// What is on the engine, one line for each pod.
pub(crate) fn observed(out: &mut String, observed: &Observed) {
    let mut word = "observed";
    for (key, pod) in &observed.pods {
        let instances: Vec<String> = pod.instances.iter().map(|instance| one(instance)).collect();
        line(out, word, &format!("{}: {}", short(key), instances.join(" · ")));
        word = "";
    }
    if !word.is_empty() {
        line(out, word, if observed.listed { "(nothing)" } else { "(not read yet)" });
    }
}

fn one(instance: &Instance) -> String {
    let name = match &instance.role {
        Role::Sandbox => "sandbox",
        Role::Container(name) => name,
    };
    let attempt = if instance.attempt == 0 { String::new() } else { format!("#{}", instance.attempt) };
    let state = match &instance.state {
        State::Created => "created".into(),
        State::Running { .. } => "running".into(),
        State::Paused => "paused".into(),
        State::Exited(Some(exit)) if exit.oom => format!("exited({}, out of memory)", exit.code),
        State::Exited(Some(exit)) => format!("exited({})", exit.code),
        State::Exited(None) => "exited".into(),
        State::Removing => "being removed".into(),
        State::Dead => "dead".into(),
        State::Unknown(word) => word.to_string(),
    };
    format!("{name}{attempt} {state}")
}

/// What is planned, looks left out. Says so when there is nothing.
pub(crate) fn plan(out: &mut String, actions: &[Action]) {
    let mut word = "plan";
    for action in actions.iter().filter(|action| !action.call.is_look()) {
        let subject = of(action);
        let (verb, detail) = told(action);
        let cause = without_ids(&action.cause.to_string());
        line(out, word, &format!("{verb:<17} {subject:<14} {detail}{cause}"));
        word = "";
    }
    if !word.is_empty() {
        line(out, word, "(nothing)");
    }
}

/// What did not go well.
pub(crate) fn failures(out: &mut String, done: &[(Action, Outcome)]) {
    for (action, outcome) in done {
        let (word, error) = match outcome {
            Outcome::Done(_) => continue,
            Outcome::Refused(error) => ("refused", error),
            Outcome::Uncertain(error) => ("uncertain", error),
        };
        let (verb, _) = told(action);
        line(out, word, &format!("{verb:<17} {:<14} {}", of(action), without_ids(&error.to_string())));
    }
}

/// What waits, for what, until when.
pub(crate) fn waits(out: &mut String, waits: &[Wait]) {
    let mut word = "waits";
    for wait in waits {
        let subject = subject(&wait.pod, wait.container.as_deref());
        let until = wait.until.map_or(String::new(), |until| format!(" until {}", seconds(until)));
        let message = without_ids(&wait.reason.message);
        line(out, word, &format!("{subject:<14} {}{until}: {message}", wait.reason.word));
        word = "";
    }
}

/// Seconds since the story began: `0s`, `12.5s`.
pub(crate) fn seconds(at: Time) -> String {
    let millis = at.0 - START.0;
    if millis % 1000 == 0 { format!("{}s", millis / 1000) } else { format!("{:.1}s", millis as f64 / 1000.0) }
}

fn of(action: &Action) -> String {
    subject(&action.pod, action.container.as_deref())
}

fn subject(pod: &PodKey, container: Option<&str>) -> String {
    match container {
        None => short(pod),
        Some(name) => member(pod, name),
    }
}

/// The call in words, and what it says beyond its subject.
fn told(action: &Action) -> (String, String) {
    let what = if action.container.is_some() { "container" } else { "sandbox" };
    let (verb, detail) = match &action.call {
        Call::InspectImage { image } => return ("look for image".into(), format!("{image}: ")),
        Call::PullImage { image } => return ("pull image".into(), format!("{image}: ")),
        Call::LoadSandboxImage { .. } => return ("load image".into(), String::new()),
        Call::InspectContainer { .. } => ("look at", String::new()),
        Call::CreateSandbox { .. } | Call::CreateContainer { .. } => ("create", String::new()),
        Call::StartContainer { .. } => ("start", String::new()),
        Call::StopContainer { grace: Some(grace), .. } => ("stop", format!("(grace {grace} s) ")),
        Call::StopContainer { grace: None, .. } => ("stop", String::new()),
        Call::UnpauseContainer { .. } => ("resume", String::new()),
        Call::RemoveContainer { .. } => ("remove", String::new()),
        Call::UpdateContainer { .. } => ("update", String::new()),
    };
    (format!("{verb} {what}"), detail)
}

pub(crate) fn line(out: &mut String, word: &str, text: &str) {
    // Writing to a String cannot fail.
    let _ = writeln!(out, "{}", format!("{word:<9} {text}").trim_end());
}

/// Takes container ids and uids out of a text: they are long and tell a reader nothing.
fn without_ids(text: &str) -> String {
    let mut out = String::new();
    let mut digits = String::new();
    for c in text.chars().chain(['\n']) {
        if c.is_ascii_digit() || ('a'..='f').contains(&c) {
            digits.push(c);
            continue;
        }
        match digits.len() {
            64 => out.push_str("<id>"),
            32 => out.push_str("<uid>"),
            _ => out.push_str(&digits),
        }
        digits.clear();
        out.push(c);
    }
    out.pop();
    out
}
