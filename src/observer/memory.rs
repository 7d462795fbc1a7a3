//! What podkeeper remembers of its own doings: the ledger is written here, and only here.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::docker::DockerError;
use crate::model::{ContainerId, PodKey, Time, Uid};
use crate::plan::ledger::{Ended, Failure, Memo, SANDBOX, Trouble};
use crate::plan::{Action, Call, Desired, Exit, Fingerprint, Instance, Observed, Role, State, labels};

/// The exit code of what could not be started, as containerd reports it to Kubernetes (`StartError`).
const CANNOT_RUN: i64 = 128;

/// A container was created: it is the newest attempt.
pub(super) fn made(observed: &mut Observed, instance: &Instance, streak: u32) {
    let at = observed.at;
    memo(observed, &instance.uid, instance.role.name(), |memo| {
        memo.attempt = memo.attempt.max(Some(instance.attempt));
        memo.created_at = Some(at);
        memo.made = Some(instance.fingerprint.clone());
        memo.streak = streak;
    });
    let pod = observed.ledger.pods.entry(instance.uid.clone()).or_default();
    Arc::make_mut(pod).source = instance.source;
}

/// The end of a run is remembered beyond the container: somebody may remove it (kubernetes#51142).
pub(super) fn ended(observed: &mut Observed, instance: &Instance, exit: &Exit) {
    let ended = Ended::of(instance, exit);
    memo(observed, &instance.uid, instance.role.name(), |memo| {
        if memo.ended.as_ref().is_none_or(|known| known.attempt <= ended.attempt) {
            memo.ended = Some(ended);
        }
    });
}

/// A container is about to be stopped: whatever code it ends with, it has not finished of itself.
pub(super) fn stopping(observed: &mut Observed, pod: &PodKey, id: &ContainerId) {
    let known = known(observed, pod, id).filter(|instance| instance.role != Role::Sandbox);
    if let Some(instance) = known {
        memo(observed, &instance.uid, instance.role.name(), |memo| memo.stopped = Some(instance.attempt));
    }
}

pub(super) fn succeeded(observed: &mut Observed, instance: &Instance, call: &Call) {
    let stops = is_about_what_is_there(call);
    let name = instance.role.name();
    let known = observed.ledger.pods.get(&instance.uid).and_then(|pod| pod.containers.get(name));
    let has_trouble = known.is_some_and(|m| if stops { m.stuck.is_some() } else { m.failure.is_some() });
    if has_trouble {
        memo(
            observed,
            &instance.uid,
            name,
            |memo| {
                if stops { memo.stuck = None } else { memo.failure = None }
            },
        );
    }
}

/// An instance that the engine could not run has ended without ever running.
pub(super) fn could_not_run(observed: &mut Observed, pod: &PodKey, id: &ContainerId, error: &DockerError) {
    let finished_at = observed.at;
    if let Some(instance) = known(observed, pod, id) {
        let error = error.to_string();
        let exit = Exit { code: CANNOT_RUN, oom: false, error, started_at: None, finished_at };
        ended(observed, &instance, &exit);
    }
}

/// An instance is not there any more: nothing of it can be stuck.
pub(super) fn gone(observed: &mut Observed, action: &Action, id: &ContainerId) {
    if let Some(instance) = known(observed, &action.pod, id) {
        succeeded(observed, &instance, &action.call);
    }
}

fn known(observed: &Observed, pod: &PodKey, id: &ContainerId) -> Option<Arc<Instance>> {
    observed.pods.get(pod)?.instances.iter().find(|instance| instance.id == *id).cloned()
}

/// A pull failed, or the engine would not even say whether the image is there.
fn image_failed(observed: &mut Observed, image: &str, call: &Call, error: &DockerError) {
    let trouble = trouble(call, error);
    let before = observed.ledger.pulls.get(image).filter(|known| known.trouble == trouble);
    let failure = counted(before, observed.at, trouble, error, None);
    observed.ledger.pulls.insert(image.into(), failure);
}

/// A failure is remembered for the container (or image) it is about, and counted.
pub(super) fn failed(observed: &mut Observed, action: &Action, error: &DockerError) {
    if let Some(image) = action.call.image() {
        return image_failed(observed, image, &action.call, error);
    }
    let Some((uid, fingerprint)) = about(observed, action) else { return };
    let name = action.container.as_deref().unwrap_or(SANDBOX);
    let at = observed.at;
    let trouble = trouble(&action.call, error);
    let stops = is_about_what_is_there(&action.call);
    memo(observed, &uid, name, |memo| {
        let slot = if stops { &mut memo.stuck } else { &mut memo.failure };
        let before = slot.as_ref().filter(|known| known.fingerprint.as_ref() == fingerprint.as_ref());
        *slot = Some(counted(before, at, trouble, error, fingerprint.clone()));
    });
}

/// The next failure in a row, or the first.
fn counted(
    before: Option<&Failure>,
    at: Time,
    trouble: Trouble,
    error: &DockerError,
    fingerprint: Option<Fingerprint>,
) -> Failure {
    let count = before.map_or(0, |known| known.count).saturating_add(1);
    Failure { count, at, trouble, message: error.to_string().into(), fingerprint }
}

/// What an error of this call is called.
fn trouble(call: &Call, error: &DockerError) -> Trouble {
    let of_call = match call {
        // Whatever the error: an image has a back-off of its own.
        Call::InspectImage { .. } => return Trouble::ErrImageInspect,
        Call::PullImage { .. } | Call::LoadSandboxImage { .. } => return Trouble::ErrImagePull,
        Call::CreateSandbox { .. } => Trouble::CreatePodSandboxError,
        Call::CreateContainer { .. } => Trouble::CreateContainerError,
        Call::StartContainer { .. } => Trouble::RunContainerError,
        Call::StopContainer { .. } | Call::UnpauseContainer { .. } => Trouble::StopContainerError,
        Call::RemoveContainer { .. } => Trouble::RemoveContainerError,
        Call::UpdateContainer { .. } => Trouble::UpdateContainerError,
        Call::InspectContainer { .. } => Trouble::InspectContainerError,
    };
    match error {
        DockerError::NameInUse { holder: Some(_), .. } => Trouble::NameConflict,
        DockerError::NameInUse { holder: None, .. } => Trouble::NameStuck,
        DockerError::PortTaken { .. } => Trouble::PortConflict,
        DockerError::Uncertain { .. }
        | DockerError::Unreachable { .. }
        | DockerError::Conflict { .. }
        | DockerError::Refused { status: 500.., .. } => Trouble::EngineError,
        // The image (or the sandbox to join) went away this very moment: look again soon.
        DockerError::NotFound { .. } if call.id().is_none() => Trouble::EngineError,
        DockerError::NotFound { .. }
        | DockerError::RemovalInProgress { .. }
        | DockerError::Refused { .. }
        | DockerError::Foreign { .. } => of_call,
    }
}

/// Looking at an instance and clearing it away can get stuck; making a new one can fail. Neither holds up
/// the other.
fn is_about_what_is_there(call: &Call) -> bool {
    match call {
        Call::InspectContainer { .. }
        | Call::StopContainer { .. }
        | Call::UnpauseContainer { .. }
        | Call::RemoveContainer { .. } => true,
        Call::InspectImage { .. }
        | Call::PullImage { .. }
        | Call::LoadSandboxImage { .. }
        | Call::CreateSandbox { .. }
        | Call::CreateContainer { .. }
        | Call::StartContainer { .. }
        | Call::UpdateContainer { .. } => false,
    }
}

/// Which life of the pod, and which definition, an action is about.
fn about(observed: &Observed, action: &Action) -> Option<(Uid, Option<Fingerprint>)> {
    match &action.call {
        Call::CreateSandbox { config } | Call::CreateContainer { config } => {
            let instance =
                Instance::from_labels("", &config.name, labels::of(&config.labels), State::Created)?;
            Some((instance.uid, Some(instance.fingerprint)))
        }
        call => {
            let instance = known(observed, &action.pod, call.id()?)?;
            Some((instance.uid.clone(), Some(instance.fingerprint.clone())))
        }
    }
}

/// Remembers who declares what runs: a pod that another source has taken over goes when that one lets go of
/// it, whatever its labels say.
pub fn heirs(observed: &mut Observed, desired: &Desired) {
    for declared in desired.pods().values() {
        let Some(pod) = observed.pods.get(&declared.key) else { continue };
        let ledger = &mut observed.ledger.pods;
        let remembered = ledger.get(&declared.uid).and_then(|pod| pod.source);
        let labelled = || pod.instances.iter().find(|i| i.uid == declared.uid).and_then(|i| i.source);
        let known = remembered.or_else(labelled);
        if known.is_some_and(|source| source != declared.source) {
            Arc::make_mut(ledger.entry(declared.uid.clone()).or_default()).source = Some(declared.source);
        }
    }
}

/// Forgets what concerns nobody any more: memory of pods that no source declares and of which nothing is
/// left on the engine. What an unread source may still declare is kept.
pub fn tidy(observed: &mut Observed, desired: &Desired) {
    heirs(observed, desired);
    let live: BTreeSet<&Uid> = desired
        .pods()
        .values()
        .map(|declared| &declared.uid)
        .chain(observed.pods.values().flat_map(|pod| pod.instances.iter().map(|instance| &instance.uid)))
        .collect();
    let forget: Vec<Uid> = observed
        .ledger
        .pods
        .iter()
        .filter(|(uid, pod)| !live.contains(uid) && pod.source.is_none_or(|source| desired.knows(source)))
        .map(|(uid, _)| uid.clone())
        .collect();
    for uid in forget {
        observed.ledger.pods.remove(&uid);
    }
    if !observed.ledger.updated.is_empty() {
        let instances = observed.pods.values().flat_map(|pod| &pod.instances);
        let here: BTreeSet<&ContainerId> = instances.map(|instance| &instance.id).collect();
        let updated = observed.ledger.updated.iter().filter(|id| here.contains(id)).cloned();
        observed.ledger.updated = updated.collect();
    }
}

fn memo(observed: &mut Observed, uid: &Uid, name: &str, change: impl FnOnce(&mut Memo)) {
    let pod = observed.ledger.pods.entry(uid.clone()).or_default();
    change(Arc::make_mut(pod).containers.entry(name.into()).or_default());
}
