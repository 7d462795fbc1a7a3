//! Status: the judgement on a pod in Kubernetes' words.

use serde::Serialize;

use crate::model::{PodKey, Time};
use crate::plan::conditions;
use crate::plan::ledger::Ended;
use crate::plan::observed::Probed;
use crate::plan::phase::{End, Seen, phase};
use crate::plan::scene::{Part, Scene, Status, Verdict};
use crate::plan::{Declared, Desired, Instance, Observed, PodObserved, State, Wait};

/// What is reported of one pod. Shapes follow Kubernetes' `PodStatus`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PodStatus {
    pub key: PodKey,
    pub phase: Phase,
    /// One word for the table: `Running`, `CrashLoopBackOff`, `Init:0/2`, `Completed`, `Terminating`, …
    pub word: String,
    /// The sentence behind the word; empty when there is nothing to explain.
    pub message: String,
    pub conditions: Vec<Condition>,
    pub init_containers: Vec<ContainerStatus>,
    pub containers: Vec<ContainerStatus>,
    pub pod_ip: Option<String>,
    pub started_at: Option<Time>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Phase {
    Pending,
    Running,
    Succeeded,
    Failed,
    Unknown,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub status: bool,
    pub reason: &'static str,
    pub message: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ContainerStatus {
    pub name: String,
    pub image: String,
    pub ready: bool,
    pub restart_count: u32,
    pub container_id: Option<String>,
    pub state: ContainerState,
    pub last_state: Option<ContainerState>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ContainerState {
    Waiting { reason: String, message: String },
    Running { started_at: Option<Time> },
    Terminated { exit_code: i64, reason: String, started_at: Option<Time>, finished_at: Option<Time> },
}

/// Reports one pod: what is desired and observed of it, and what was decided.
pub fn of_pod(
    desired: &Desired,
    observed: &Observed,
    key: &PodKey,
    declared: Option<&Declared>,
    pod: &PodObserved,
    verdict: &Verdict,
) -> PodStatus {
    let scene = Scene { desired, observed, key, pod, verdict: Verdict::default() };
    let Some(declared) = declared else { return leaving(&scene, verdict) };
    let parts: Vec<Part> = Part::all(declared).collect();
    let reports: Vec<Report> = parts.iter().map(|part| Report::of(&scene, part, verdict)).collect();
    let (init, regular) = reports.split_at(declared.pod.spec.init_containers.len());
    let begun =
        regular.iter().any(|report| !matches!(report.seen, Seen::Nothing | Seen::Waiting { ended: None }));
    let kinds: Vec<_> = init.iter().map(|report| (report.is_sidecar, report.seen)).collect();
    let seen: Vec<_> = regular.iter().map(|report| report.seen).collect();
    let phase = phase(declared.pod.spec.restart_policy, &kinds, &seen, begun);
    let sandbox = scene.sandboxes(&declared.uid).next();
    // Somebody's hand on one container is news of the whole pod.
    let of_pod = verdict.waits.iter().find(|wait| wait.container.is_none() || wait.reason.word == "Paused");
    let statuses = |reports: &[Report]| reports.iter().map(|report| report.status.clone()).collect();
    PodStatus {
        key: key.clone(),
        phase,
        word: of_pod.map_or_else(|| word(phase, init, regular), |wait| wait.reason.word.to_owned()),
        message: message(verdict),
        conditions: conditions::all(phase, sandbox, init, regular),
        init_containers: statuses(init),
        containers: statuses(regular),
        pod_ip: sandbox.and_then(|sandbox| Some(sandbox.ip?.to_string())),
        started_at: sandbox.and_then(|sandbox| sandbox.created_at),
    }
}

/// A pod that nobody declares: it is on its way out, or kept because its source is silent.
fn leaving(scene: &Scene, verdict: &Verdict) -> PodStatus {
    let kept = verdict.waits.iter().find(|wait| wait.container.is_none());
    let alive = scene.pod.instances.iter().any(|instance| instance.is_alive());
    PodStatus {
        key: scene.key.clone(),
        phase: if alive { Phase::Running } else { Phase::Unknown },
        word: kept.map_or("Terminating", |wait| wait.reason.word).to_owned(),
        message: message(verdict),
        conditions: Vec::new(),
        init_containers: Vec::new(),
        containers: Vec::new(),
        pod_ip: scene.pod.sandboxes().find_map(|sandbox| Some(sandbox.ip?.to_string())),
        started_at: None,
    }
}

fn message(verdict: &Verdict) -> String {
    let sentence = |wait: &Wait| match &wait.container {
        Some(container) => format!("{container}: {}", wait.reason.message),
        None => wait.reason.message.clone(),
    };
    verdict.waits.iter().map(sentence).collect::<Vec<_>>().join("; ")
}

/// What the table shows, as `kubectl` puts it together from the containers.
fn word(phase: Phase, init: &[Report], regular: &[Report]) -> String {
    let unfinished = init.iter().position(|report| !report.is_past());
    if let Some(at) = unfinished.filter(|_| phase != Phase::Running && phase != Phase::Succeeded) {
        return match &init[at].status.state {
            ContainerState::Waiting { reason, .. } if reason != "PodInitializing" => format!("Init:{reason}"),
            ContainerState::Terminated { reason, .. } => format!("Init:{reason}"),
            ContainerState::Waiting { .. } | ContainerState::Running { .. } => {
                format!("Init:{at}/{}", init.len())
            }
        };
    }
    let running = regular.iter().any(|report| matches!(report.status.state, ContainerState::Running { .. }));
    let reason = regular.iter().find_map(|report| match &report.status.state {
        ContainerState::Waiting { reason, .. } => Some(reason.clone()),
        ContainerState::Terminated { reason, .. } if reason != "Completed" || !running => {
            Some(reason.clone())
        }
        ContainerState::Terminated { .. } | ContainerState::Running { .. } => None,
    });
    reason.unwrap_or_else(|| format!("{phase:?}"))
}

/// What is reported of one container, and what the phase and the conditions make of it.
pub(super) struct Report {
    pub is_sidecar: bool,
    pub seen: Seen,
    pub status: ContainerStatus,
}

impl Report {
    fn of(scene: &Scene, part: &Part, verdict: &Verdict) -> Self {
        let uid = &part.declared.uid;
        let known = scene.status(part);
        let newest = scene.instances(uid, part.name()).next();
        let remembered = scene.memo(uid, part.name()).and_then(|memo| memo.ended.as_ref());
        let waits = verdict.waits.iter().find(|wait| wait.container.as_deref() == Some(part.name()));
        let (seen, state) = state(part, &known, waits, remembered);
        let is_ended = matches!(state, ContainerState::Terminated { .. });
        let status = ContainerStatus {
            name: part.name().to_owned(),
            image: part.container.image.clone(),
            ready: is_ready(part, &known),
            restart_count: newest
                .map(|instance| instance.attempt)
                .max(scene.memo(uid, part.name()).and_then(|memo| memo.attempt))
                .unwrap_or(0),
            container_id: newest.map(|instance| format!("docker://{}", instance.id)),
            state,
            last_state: remembered.filter(|_| !is_ended).map(terminated),
        };
        Self { is_sidecar: part.container.is_sidecar(), seen, status }
    }

    /// An init container that does not hold the others up any more.
    fn is_past(&self) -> bool {
        match self.seen {
            Seen::Ended(End::Succeeded) => true,
            Seen::Running { started } => self.is_sidecar && started,
            Seen::Nothing | Seen::Waiting { .. } | Seen::Ended(End::Failed) => false,
        }
    }
}

fn state(
    part: &Part,
    known: &Status,
    waits: Option<&Wait>,
    remembered: Option<&Ended>,
) -> (Seen, ContainerState) {
    let ended = |end: &Ended| if end.failed() { End::Failed } else { End::Succeeded };
    let waiting = |default: &str| match waits {
        Some(wait) => ContainerState::Waiting {
            reason: wait.reason.word.to_owned(),
            message: wait.reason.message.clone(),
        },
        None => ContainerState::Waiting { reason: default.to_owned(), message: String::new() },
    };
    let first = match (part.is_init(), part.declared.pod.spec.init_containers.is_empty()) {
        (false, false) => "PodInitializing",
        (true, _) | (false, true) => "ContainerCreating",
    };
    match known {
        Status::Running(instance) => (
            Seen::Running { started: has_started(part, instance) },
            ContainerState::Running {
                started_at: match instance.state {
                    State::Running { started_at } => started_at,
                    _ => None,
                },
            },
        ),
        Status::Ended(end) if waits.is_some() => (Seen::Waiting { ended: Some(ended(end)) }, waiting(first)),
        Status::Ended(end) => (Seen::Ended(ended(end)), terminated(end)),
        Status::None if waits.is_none() => (Seen::Nothing, waiting(first)),
        Status::None
        | Status::Created(_)
        | Status::Leaving(_)
        | Status::EndedSomehow(_)
        | Status::Unknown(..) => (Seen::Waiting { ended: remembered.map(ended) }, waiting(first)),
    }
}

/// A sidecar with a startup probe has started when that probe has succeeded.
fn has_started(part: &Part, instance: &Instance) -> bool {
    part.container.startup_probe.is_none() || instance.probes.startup == Some(Probed::Success)
}

fn is_ready(part: &Part, known: &Status) -> bool {
    match known {
        Status::Running(instance) => {
            let probed = part.container.readiness_probe.is_none()
                || instance.probes.readiness == Some(Probed::Success);
            instance.is_running() && has_started(part, instance) && probed
        }
        // A regular init container is ready when it has done its work.
        Status::Ended(end) => part.is_init() && !part.container.is_sidecar() && !end.failed(),
        Status::None
        | Status::Created(_)
        | Status::EndedSomehow(_)
        | Status::Unknown(..)
        | Status::Leaving(_) => false,
    }
}

fn terminated(end: &Ended) -> ContainerState {
    let reason = match (end.oom, end.code) {
        (true, _) => "OOMKilled",
        (false, 0) => "Completed",
        (false, _) if !end.error.is_empty() => "ContainerCannotRun",
        (false, _) => "Error",
    };
    ContainerState::Terminated {
        exit_code: end.code,
        reason: reason.to_owned(),
        started_at: end.started_at,
        finished_at: Some(end.at),
    }
}
