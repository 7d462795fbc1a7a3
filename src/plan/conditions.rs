//! Conditions of a pod: has it a sandbox, is it initialised, is it ready? Source: decision table §14.

use crate::plan::Instance;
use crate::plan::phase::{End, Seen};
use crate::plan::status::{Condition, Phase, Report};

/// All five, in the order in which `kubectl describe` shows them.
pub(super) fn all(
    phase: Phase,
    sandbox: Option<&Instance>,
    init: &[Report],
    regular: &[Report],
) -> Vec<Condition> {
    let ready_parts = init.iter().filter(|report| report.is_sidecar).chain(regular);
    let ready_parts: Vec<_> = ready_parts
        .map(|report| (report.status.name.as_str(), report.seen != Seen::Nothing, report.status.ready))
        .collect();
    let containers = containers_ready(phase, &ready_parts);
    let ready = Condition { kind: "Ready", ..containers.clone() };
    let has_sandbox = sandbox.is_some_and(Instance::is_running);
    vec![
        plain("PodReadyToStartContainers", has_sandbox),
        initialized(phase, init, regular),
        ready,
        containers,
        plain("PodScheduled", true),
    ]
}

fn plain(kind: &'static str, status: bool) -> Condition {
    Condition { kind, status, reason: "", message: String::new() }
}

fn initialized(phase: Phase, init: &[Report], regular: &[Report]) -> Condition {
    let kind = "Initialized";
    let begun =
        regular.iter().any(|report| !matches!(report.seen, Seen::Nothing | Seen::Waiting { ended: None }));
    if begun || init.is_empty() {
        let reason = if phase == Phase::Succeeded { "PodCompleted" } else { "" };
        return Condition { kind, status: true, reason, message: String::new() };
    }
    let names = |which: fn(&Report) -> bool| -> Vec<&str> {
        init.iter().filter(|report| which(report)).map(|report| report.status.name.as_str()).collect()
    };
    let unknown = names(|report| report.seen == Seen::Nothing);
    let incomplete = names(|report| match report.seen {
        Seen::Nothing | Seen::Ended(End::Succeeded) => false,
        Seen::Running { started } => !(report.is_sidecar && started),
        Seen::Waiting { .. } | Seen::Ended(End::Failed) => true,
    });
    not_all(kind, "ContainersNotInitialized", "incomplete", &unknown, &incomplete)
}

/// `parts` are the regular containers and the sidecars: name, whether anything is known of it, ready.
fn containers_ready(phase: Phase, parts: &[(&str, bool, bool)]) -> Condition {
    let kind = "ContainersReady";
    let over = match phase {
        Phase::Succeeded => Some("PodCompleted"),
        Phase::Failed => Some("PodFailed"),
        Phase::Pending | Phase::Running | Phase::Unknown => None,
    };
    if let Some(reason) = over {
        return Condition { kind, status: false, reason, message: String::new() };
    }
    let names = |which: fn(bool, bool) -> bool| -> Vec<&str> {
        parts.iter().filter(|(_, known, ready)| which(*known, *ready)).map(|(name, _, _)| *name).collect()
    };
    let unknown = names(|known, _| !known);
    let unready = names(|known, ready| known && !ready);
    not_all(kind, "ContainersNotReady", "unready", &unknown, &unready)
}

fn not_all(
    kind: &'static str,
    reason: &'static str,
    word: &str,
    unknown: &[&str],
    others: &[&str],
) -> Condition {
    let list = |word: &str, names: &[&str]| {
        (!names.is_empty()).then(|| format!("containers with {word} status: [{}]", names.join(" ")))
    };
    let parts: Vec<String> = [list("unknown", unknown), list(word, others)].into_iter().flatten().collect();
    if parts.is_empty() {
        return Condition { kind, status: true, reason: "", message: String::new() };
    }
    Condition { kind, status: false, reason, message: parts.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn containers_are_ready_when_the_kubelet_says_so() {
        let row = |phase, parts: &[(&str, bool, bool)]| {
            let found = containers_ready(phase, parts);
            format!("{} {} {}", found.status, found.reason, found.message)
        };
        let running = Phase::Running;
        for (found, expected) in [
            (row(running, &[]), "true  "),
            (
                row(running, &[("1234", false, false)]),
                "false ContainersNotReady containers with unknown status: [1234]",
            ),
            (row(running, &[("1234", true, true), ("5678", true, true)]), "true  "),
            (
                row(running, &[("1234", true, true), ("5678", false, false)]),
                "false ContainersNotReady containers with unknown status: [5678]",
            ),
            (
                row(running, &[("1234", true, true), ("5678", true, false)]),
                "false ContainersNotReady containers with unready status: [5678]",
            ),
            (
                row(running, &[("1234", false, false), ("5678", true, false)]),
                "false ContainersNotReady containers with unknown status: [1234], containers with unready status: [5678]",
            ),
            (row(Phase::Succeeded, &[("1234", true, false)]), "false PodCompleted "),
            (row(Phase::Failed, &[("1234", true, false)]), "false PodFailed "),
        ] {
            assert_eq!(found, expected);
        }
    }
}
