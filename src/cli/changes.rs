//! A rehearsal, sorted for people: what changes in which pod, by which steps, for which reason.

use std::collections::BTreeMap;

use crate::model::{Place, PodKey};
use crate::plan::{Action, Call, Cause, Change, Desired, Observed, SourceKind, Wait};
use crate::sim::Rehearsal;

/// Everything that a plan says, pod by pod.
#[derive(Debug)]
pub struct Changes {
    pub pods: Vec<PodChange>,
    /// What waits although nothing is to be done about it.
    pub waits: Vec<Wait>,
    /// Pods of sources that are not planned for: they stay as they are.
    pub others: Vec<(SourceKind, Wait)>,
    pub settled: bool,
}

/// What happens to one pod.
#[derive(Debug)]
pub struct PodChange {
    pub key: PodKey,
    pub kind: Kind,
    /// What of it changes, and why: empty for pods that come or go as a whole.
    pub parts: Vec<Part>,
    /// Where the pod is declared.
    pub place: Option<Place>,
    pub steps: Vec<Step>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Add,
    Change,
    Remove,
}

/// One thing in a pod that changes.
#[derive(Debug)]
pub struct Part {
    /// As in the manifest: `containers[app]`; `pod` for the sandbox and what hangs on it.
    pub target: String,
    pub verb: &'static str,
    pub place: Option<Place>,
    pub fields: Vec<Change>,
}

/// One engine call, numbered through the whole plan.
#[derive(Debug)]
pub struct Step {
    pub number: usize,
    pub action: Action,
}

impl Changes {
    pub fn new(desired: &Desired, observed: &Observed, rehearsal: Rehearsal) -> Self {
        let mut steps: BTreeMap<PodKey, Vec<Action>> = BTreeMap::new();
        for action in rehearsal.steps {
            steps.entry(action.pod.clone()).or_default().push(action);
        }
        let mut number = 0;
        let pods = steps.into_iter().map(|(key, actions)| {
            let kind = kind(desired, observed, &key);
            let parts = if kind == Kind::Change { parts(desired, &key, &actions) } else { Vec::new() };
            let place = desired.get(&key).map(|declared| declared.places.of(""));
            let steps = actions.into_iter().map(|action| {
                number += 1;
                Step { number, action }
            });
            PodChange { key, kind, parts, place, steps: steps.collect() }
        });
        let pods = pods.collect();
        let (mut waits, mut others) = (Vec::new(), Vec::new());
        for wait in rehearsal.waits {
            match of_another(desired, observed, &wait.pod) {
                Some(source) => others.push((source, wait)),
                None => waits.push(wait),
            }
        }
        Changes { pods, waits, others, settled: rehearsal.settled }
    }

    pub fn count(&self, kind: Kind) -> usize {
        self.pods.iter().filter(|pod| pod.kind == kind).count()
    }

    pub fn actions(&self) -> usize {
        self.pods.iter().map(|pod| pod.steps.len()).sum()
    }
}

/// The source of a pod that nobody declares here, when that is none of those that are planned for.
fn of_another(desired: &Desired, observed: &Observed, key: &PodKey) -> Option<SourceKind> {
    let pod = observed.pods.get(key).filter(|_| desired.get(key).is_none())?;
    observed.source(pod).filter(|source| !desired.reads(*source))
}

fn kind(desired: &Desired, observed: &Observed, key: &PodKey) -> Kind {
    let runs = observed.pods.get(key).is_some_and(|pod| !pod.instances.is_empty());
    match (desired.get(key).is_some(), runs) {
        (false, _) => Kind::Remove,
        (true, false) => Kind::Add,
        (true, true) => Kind::Change,
    }
}

/// One part for each container that something happens to by itself. What follows from a change of the
/// sandbox is told by the sandbox.
fn parts(desired: &Desired, key: &PodKey, actions: &[Action]) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for action in actions {
        let Some(verb) = verb(action) else { continue };
        let target = target(desired, key, action.container.as_deref());
        if parts.iter().any(|part| part.target == target) {
            continue;
        }
        let fields = match &action.cause {
            Cause::Changed { changes } => changes.clone(),
            _ => Vec::new(),
        };
        let place = fields.iter().find_map(|field| field.place.clone());
        parts.push(Part { target, verb, place, fields });
    }
    if let Some(sandbox) = parts.iter().find(|part| part.target == "pod") {
        let told = sandbox.fields.clone();
        parts.retain(|part| part.target == "pod" || part.fields.iter().any(|field| !told.contains(field)));
    }
    if parts.is_empty() {
        parts.push(Part { target: "pod".into(), verb: "go on", place: None, fields: Vec::new() });
    }
    parts
}

/// What the first step of a chain makes of its container; `None` for steps that only follow from others.
fn verb(action: &Action) -> Option<&'static str> {
    match (&action.cause, &action.call) {
        (Cause::Changed { .. }, Call::UpdateContainer { .. }) => Some("update"),
        (Cause::Changed { .. } | Cause::Outdated, _) => Some("replace"),
        (Cause::Ended { .. } | Cause::ProbeFailed { .. }, _) => Some("restart"),
        (Cause::SandboxLost { .. }, _) => Some("start over"),
        (Cause::NotStarted, _) => Some("start"),
        (Cause::Finished { .. }, _) => Some("finish"),
        (Cause::Superseded { .. } | Cause::StateUnknown { .. }, _) => Some("clean up"),
        (Cause::Removed { .. } | Cause::NotInManifest, _) => Some("remove"),
        (Cause::Missing { .. }, _) => Some("create"),
        (Cause::NeededBy { .. } | Cause::Unknown { .. }, _) => None,
    }
}

fn target(desired: &Desired, key: &PodKey, container: Option<&str>) -> String {
    let Some(name) = container else { return "pod".into() };
    let init = desired
        .get(key)
        .is_some_and(|declared| declared.pod.spec.init_containers.iter().any(|init| init.name == name));
    if init { format!("initContainers[{name}]") } else { format!("containers[{name}]") }
}
