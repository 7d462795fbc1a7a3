//! Init containers: one after another, each to its end; sidecars stay.
//!
//! Source: the kubelet's `computeInitContainerActions`, decision table §4b. The walk goes from the last to
//! the first: the last one of which anything is known says how far the pod has come.

use crate::model::RestartPolicy;
use crate::plan::changes::{self, Difference};
use crate::plan::observed::Probed;
use crate::plan::regular::stop_older;
use crate::plan::scene::{Part, Scene, Status};
use crate::plan::start::{bring_up, replace};
use crate::plan::{Cause, Instance, teardown};

/// How far the init phase has come.
#[derive(Debug, PartialEq, Eq)]
pub enum Progress {
    /// The regular containers may run.
    Done,
    /// They have to wait.
    Going,
    /// An init container has failed for good, and the pod with it.
    Failed { how: String },
}

/// What the walk finds to do for one init container.
enum Step<'a> {
    Start { part: Part<'a>, cause: Cause },
    Replace { part: Part<'a>, instance: &'a Instance, cause: Cause },
}

struct Walk<'a> {
    /// Something is known of a later one, so the earlier regular ones are behind us.
    past: bool,
    done: bool,
    failed: Option<String>,
    undecided: bool,
    steps: Vec<Step<'a>>,
}

/// Decides on all init containers of a pod whose sandbox is fine.
pub fn judge<'a>(scene: &mut Scene<'a>, parts: &[Part<'a>], sandbox: &'a Instance) -> Progress {
    let done = has_begun(scene, parts, sandbox);
    let mut walk = Walk { past: done, done, failed: None, undecided: false, steps: Vec::new() };
    let count = parts.iter().filter(|part| part.is_init()).count();
    for index in (0..count).rev() {
        step(scene, parts, index, count, sandbox, &mut walk);
        if let Some(how) = walk.failed {
            return Progress::Failed { how };
        }
    }
    match parts.first() {
        Some(first) if count > 0 && !walk.past => {
            walk.steps.push(Step::Start { part: *first, cause: Cause::Missing { what: "init container" } });
        }
        Some(_) | None => walk.done |= count == 0,
    }
    for step in walk.steps.into_iter().rev() {
        match step {
            Step::Start { part, cause } => {
                let status = in_sandbox(scene, &part, sandbox);
                bring_up(scene, &part, sandbox, &status, cause);
            }
            Step::Replace { part, instance, cause } => replace(scene, &part, instance, cause),
        }
    }
    if walk.done && !walk.undecided { Progress::Done } else { Progress::Going }
}

/// The regular containers have begun in this sandbox, so the init containers are not run again, even when
/// all trace of them is gone (kubernetes#86531). The kubelet does not count an exited one, because after a
/// reboot all have exited; here the sandbox that it ran in tells the two apart.
fn has_begun<'a>(scene: &Scene<'a>, parts: &[Part<'a>], sandbox: &Instance) -> bool {
    parts.iter().filter(|part| !part.is_init()).any(|part| match scene.status(part) {
        Status::Created(instance) | Status::Running(instance) | Status::EndedSomehow(instance) => {
            instance.joins(sandbox)
        }
        Status::Ended(end) => end.joined(sandbox),
        Status::None | Status::Unknown(..) | Status::Leaving(_) => false,
    })
}

/// What is known of an init container in this sandbox: what ran in an earlier one does not count.
fn in_sandbox<'a>(scene: &Scene<'a>, part: &Part<'a>, sandbox: &Instance) -> Status<'a> {
    match scene.status(part) {
        Status::Ended(end) if !end.joined(sandbox) => Status::None,
        Status::EndedSomehow(instance) if !instance.joins(sandbox) => Status::None,
        status => status,
    }
}

fn step<'a>(
    scene: &mut Scene<'a>,
    parts: &[Part<'a>],
    index: usize,
    count: usize,
    sandbox: &'a Instance,
    walk: &mut Walk<'a>,
) {
    let part = parts[index];
    let sidecar = part.container.is_sidecar();
    stop_older(scene, &part);
    let status = in_sandbox(scene, &part, sandbox);
    if !sidecar && walk.past {
        return;
    }
    match status {
        Status::None => {
            if sidecar && walk.past {
                walk.steps.push(Step::Start { part, cause: Cause::Missing { what: "container" } });
            }
            return;
        }
        Status::Created(_) => walk.steps.push(Step::Start { part, cause: Cause::NotStarted }),
        Status::Leaving(instance) => teardown::remove(scene, instance, &Cause::NotStarted),
        Status::Running(instance) if sidecar => running_sidecar(scene, parts, index, count, instance, walk),
        Status::Running(_) => {
            let message = format!("init container {} is running", part.name());
            scene.wait(Some(part.name()), None, "PodInitializing", message);
        }
        // It is being asked how it ended: see `pod::judge`.
        Status::EndedSomehow(_) => walk.undecided = true,
        Status::Ended(end) if sidecar => {
            let cause = Cause::Ended { how: end.how(), policy: "Always" };
            walk.steps.push(Step::Start { part, cause });
        }
        Status::Ended(end) if end.failed() => match scene.policy(&part) {
            RestartPolicy::Never => {
                walk.failed = Some(format!("init container {} {}", part.name(), end.how()));
            }
            RestartPolicy::Always | RestartPolicy::OnFailure => {
                let cause = Cause::Ended { how: end.how(), policy: "OnFailure" };
                walk.steps.push(Step::Start { part, cause });
            }
        },
        Status::Ended(_) => after(parts, index, count, walk),
        Status::Unknown(_, state) if !sidecar && scene.policy(&part) == RestartPolicy::Never => {
            walk.failed = Some(format!("init container {} is in state '{state}'", part.name()));
        }
        Status::Unknown(instance, state) => {
            let cause = Cause::StateUnknown { state: state.to_owned() };
            walk.steps.push(Step::Replace { part, instance, cause });
        }
    }
    walk.past = true;
}

/// This one is behind us: the next init container's turn has come, or that of the regular ones.
fn after<'a>(parts: &[Part<'a>], index: usize, count: usize, walk: &mut Walk<'a>) {
    if index + 1 == count {
        walk.done = true;
    } else if !walk.past {
        let cause = Cause::Missing { what: "init container" };
        walk.steps.push(Step::Start { part: parts[index + 1], cause });
    }
}

fn running_sidecar<'a>(
    scene: &mut Scene<'a>,
    parts: &[Part<'a>],
    index: usize,
    count: usize,
    instance: &'a Instance,
    walk: &mut Walk<'a>,
) {
    let part = parts[index];
    if part.container.startup_probe.is_some() {
        match instance.probes.startup {
            None | Some(Probed::Unknown) => {
                let message = format!("startup probe of sidecar {} has not succeeded yet", part.name());
                return scene.wait(Some(part.name()), None, "PodInitializing", message);
            }
            Some(Probed::Failure) => {
                let cause = Cause::ProbeFailed { probe: "startup" };
                return walk.steps.push(Step::Replace { part, instance, cause });
            }
            Some(Probed::Success) => {}
        }
    }
    after(parts, index, count, walk);
    let liveness =
        part.container.liveness_probe.is_some() && instance.probes.liveness == Some(Probed::Failure);
    match changes::of_container(&part, instance, scene.was_updated(instance)) {
        Difference::NeedsLook => scene.look(instance, "configuration"),
        Difference::Replace(changes) => {
            walk.steps.push(Step::Replace { part, instance, cause: Cause::Changed { changes } });
        }
        Difference::Update(changes) => scene.update(&part, instance, changes),
        Difference::Same if liveness => {
            walk.steps.push(Step::Replace {
                part,
                instance,
                cause: Cause::ProbeFailed { probe: "liveness" },
            });
        }
        Difference::Same => {}
    }
}
