//! A plan as JSON. Its shape is a promise: `docs/plan-json.md` describes it.
//!
//! Create requests are named, not printed: they hold the values of environment variables.

use serde::Serialize;

use crate::cli::changes::{Changes, Kind, PodChange, Step};
use crate::model::{ContainerId, Place, PodKey, Time};
use crate::plan::config::EngineResources;
use crate::plan::{Call, Cause, Change, Wait};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Plan<'a> {
    /// Grows only when a reader of an older one would be misled.
    version: u32,
    node: &'a str,
    at: String,
    summary: Summary,
    pods: Vec<Pod<'a>>,
    waits: Vec<Waiting<'a>>,
    settled: bool,
}

#[derive(Serialize)]
struct Summary {
    add: usize,
    change: usize,
    remove: usize,
    actions: usize,
}

#[derive(Serialize)]
struct Pod<'a> {
    pod: &'a PodKey,
    change: &'static str,
    place: Option<&'a Place>,
    parts: Vec<Part<'a>>,
    actions: Vec<Act<'a>>,
}

#[derive(Serialize)]
struct Part<'a> {
    target: &'a str,
    verb: &'a str,
    fields: &'a [Change],
}

#[derive(Serialize)]
struct Act<'a> {
    number: usize,
    container: Option<&'a str>,
    call: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    image: Option<&'a str>,
    /// The engine's name of a container that is created.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    /// Of a container that was there when the plan was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a ContainerId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    grace: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resources: Option<&'a EngineResources>,
    cause: &'a Cause,
    /// The cause as a clause that follows "because".
    because: String,
}

#[derive(Serialize)]
struct Waiting<'a> {
    pod: &'a PodKey,
    container: Option<&'a str>,
    until: Option<String>,
    reason: &'static str,
    message: &'a str,
}

/// The whole plan, with a line end. `known` tells which containers were there when the plan was made.
pub fn text(changes: &Changes, node: &str, at: Time, known: impl Fn(&ContainerId) -> bool) -> String {
    let plan = Plan {
        version: 1,
        node,
        at: at.to_string(),
        summary: Summary {
            add: changes.count(Kind::Add),
            change: changes.count(Kind::Change),
            remove: changes.count(Kind::Remove),
            actions: changes.actions(),
        },
        pods: changes.pods.iter().map(|change| pod(change, &known)).collect(),
        waits: changes.waits.iter().chain(changes.others.iter().map(|(_, wait)| wait)).map(waiting).collect(),
        settled: changes.settled,
    };
    // Every key is a string and no number is a NaN: it cannot fail.
    serde_json::to_string_pretty(&plan).unwrap_or_default() + "\n"
}

fn pod<'a>(change: &'a PodChange, known: &impl Fn(&ContainerId) -> bool) -> Pod<'a> {
    Pod {
        pod: &change.key,
        change: match change.kind {
            Kind::Add => "add",
            Kind::Change => "change",
            Kind::Remove => "remove",
        },
        place: change.place.as_ref(),
        parts: change
            .parts
            .iter()
            .map(|part| Part { target: &part.target, verb: part.verb, fields: &part.fields })
            .collect(),
        actions: change.steps.iter().map(|step| act(step, known)).collect(),
    }
}

fn act<'a>(step: &'a Step, known: &impl Fn(&ContainerId) -> bool) -> Act<'a> {
    let action = &step.action;
    let mut act = Act {
        number: step.number,
        container: action.container.as_deref(),
        call: "",
        image: None,
        name: None,
        id: action.call.id().filter(|id| known(id)),
        grace: None,
        resources: None,
        cause: &action.cause,
        because: action.cause.to_string(),
    };
    act.call = match &action.call {
        Call::InspectImage { image } => {
            act.image = Some(image);
            "inspectImage"
        }
        Call::PullImage { image } => {
            act.image = Some(image);
            "pullImage"
        }
        Call::LoadSandboxImage { image } => {
            act.image = Some(image);
            "loadSandboxImage"
        }
        Call::CreateSandbox { config } => {
            (act.name, act.image) = (Some(config.name.as_str()), Some(config.image.as_str()));
            "createSandbox"
        }
        Call::CreateContainer { config } => {
            (act.name, act.image) = (Some(config.name.as_str()), Some(config.image.as_str()));
            "createContainer"
        }
        Call::InspectContainer { .. } => "inspectContainer",
        Call::StartContainer { .. } => "startContainer",
        Call::StopContainer { grace, .. } => {
            act.grace = *grace;
            "stopContainer"
        }
        Call::UnpauseContainer { .. } => "unpauseContainer",
        Call::RemoveContainer { .. } => "removeContainer",
        Call::UpdateContainer { resources, .. } => {
            act.resources = Some(resources);
            "updateContainer"
        }
    };
    act
}

fn waiting(wait: &Wait) -> Waiting<'_> {
    Waiting {
        pod: &wait.pod,
        container: wait.container.as_deref(),
        until: wait.until.map(|until| until.to_string()),
        reason: wait.reason.word,
        message: &wait.reason.message,
    }
}
