//! How the node is doing: readiness, and what is due, under way or waiting.

use hyper::StatusCode;
use serde_json::{Value, json};

use crate::node::api::access::Caller;
use crate::node::api::answer::{Answer, text};
use crate::node::snapshot::{EngineStatus, Snapshot};
use crate::node::store::SourceState;
use crate::plan;

/// Ready: the engine has been read, and so have the sources. Why not is not for everybody: it names addresses.
pub(super) fn readiness(now: &Snapshot, caller: Caller) -> Answer {
    match missing(now) {
        None => text(StatusCode::OK, "ok"),
        Some(_) if caller == Caller::Anyone => text(StatusCode::SERVICE_UNAVAILABLE, "not ready"),
        Some(why) => text(StatusCode::SERVICE_UNAVAILABLE, &why),
    }
}

fn missing(now: &Snapshot) -> Option<String> {
    match &now.engine {
        EngineStatus::Connecting => Some("the engine has not answered yet".to_owned()),
        EngineStatus::Down(why) => Some(why.to_string()),
        EngineStatus::Up(_) => now
            .sources
            .iter()
            .flat_map(|(kind, reports)| reports.iter().map(move |report| (kind, report)))
            .find(|(_, report)| report.state == SourceState::Unknown)
            .map(|(kind, report)| format!("source {kind} ({}) has not been read yet", report.origin)),
    }
}

/// What is due, what is under way, what waits.
pub(super) fn plan(now: &Snapshot) -> Value {
    let mut actions = json!(plan::plan(&now.desired, &now.observed));
    for action in actions.as_array_mut().into_iter().flatten() {
        if let Some(env) = action.pointer_mut("/call/config/env") {
            hide_values(env);
        }
    }
    let under_way: Vec<Value> = now
        .observed
        .in_flight
        .iter()
        .map(|(pod, busy)| json!({ "pod": pod, "busy": busy.keys().collect::<Vec<_>>() }))
        .collect();
    json!({
        "at": now.at.to_string(),
        "actions": actions,
        "underWay": under_way,
        "waits": plan::waits(&now.desired, &now.observed),
    })
}

/// Names stay; a value may be a secret.
fn hide_values(env: &mut Value) {
    for entry in env.as_array_mut().into_iter().flatten() {
        if let Some((name, _)) = entry.as_str().and_then(|entry| entry.split_once('=')) {
            *entry = json!(format!("{name}=…"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_for_others_names_variables_and_hides_their_values() {
        let mut env = json!(["PASSWORD=hunter2", "A=b=c", "EMPTY"]);
        hide_values(&mut env);
        assert_eq!(env, json!(["PASSWORD=…", "A=…", "EMPTY"]));
    }
}
