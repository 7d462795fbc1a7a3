//! The judgement on one pod: which rules apply, in which order.

use crate::model::RestartPolicy;
use crate::plan::init::{self, Progress};
use crate::plan::sandbox::{self, Judged};
use crate::plan::scene::{Part, Scene, Status, Verdict};
use crate::plan::{
    Call, Cause, Change, Declared, Desired, Instance, Observed, PodObserved, Role, State, garbage, ports,
    regular, teardown,
};

/// What is to be done, and what is waited for, for one pod. Reads nothing that is in flight: that is held
/// against the result by [`crate::plan::plan`].
pub fn judge<'a>(
    desired: &'a Desired,
    observed: &'a Observed,
    key: &'a crate::model::PodKey,
    declared: Option<&'a Declared>,
    pod: &'a PodObserved,
) -> Verdict {
    let is_settled = match declared {
        Some(declared) => is_settled(declared, pod) && !was_updated(observed, pod),
        // It was there a moment ago.
        None => pod.instances.is_empty(),
    };
    if is_settled {
        return Verdict::default();
    }
    let mut scene = Scene { desired, observed, key, pod, verdict: Verdict::default() };
    match declared {
        Some(declared) => declared_pod(&mut scene, declared),
        None => orphan(&mut scene),
    }
    scene.verdict
}

/// The short way for the common case: everything runs, once, as it was declared.
fn is_settled(declared: &Declared, pod: &PodObserved) -> bool {
    let spec = &declared.pod.spec;
    let Some((sandbox, rest)) = pod.instances.split_first() else { return false };
    let quiet = |instance: &Instance| {
        matches!(instance.state, State::Running { started_at: _ }) && instance.uid == declared.uid
    };
    spec.init_containers.is_empty()
        && rest.len() == spec.containers.len()
        && sandbox.role == Role::Sandbox
        && quiet(sandbox)
        && sandbox.fingerprint == declared.fingerprint
        && (sandbox.ip.is_some() || spec.host_network && &*sandbox.network_mode == "host")
        && rest.iter().all(|instance| {
            let Role::Container(name) = &instance.role else { return false };
            let found = declared.containers().find(|(container, _)| *container.name == **name);
            found.is_some_and(|(container, fingerprint)| {
                instance.fingerprint == *fingerprint
                    && container.liveness_probe.is_none()
                    && container.startup_probe.is_none()
            }) && quiet(instance)
                && instance.joins(sandbox)
                && !regular::outlived(instance, sandbox)
        })
}

/// Limits that were changed in place are in no label: the short way cannot judge them.
fn was_updated(observed: &Observed, pod: &PodObserved) -> bool {
    let updated = &observed.ledger.updated;
    !updated.is_empty() && pod.instances.iter().any(|instance| updated.contains(&instance.id))
}

fn declared_pod<'a>(scene: &mut Scene<'a>, declared: &'a Declared) {
    let others: Vec<_> =
        scene.pod.instances.iter().map(|i| &**i).filter(|instance| instance.uid != declared.uid).collect();
    if let Some(other) = others.first() {
        // Another life of the same pod: its containers have other names, but the same ports and purpose.
        let change = Change {
            field: "metadata.uid".into(),
            old: Some(other.uid.to_string()),
            new: declared.uid.to_string(),
            place: Some(declared.places.of("metadata.uid")),
        };
        return teardown::remove_all(scene, &others, None, &Cause::Changed { changes: vec![change] });
    }
    if ports::are_taken(scene, declared) {
        return;
    }
    let parts: Vec<Part> = Part::all(declared).collect();
    // How a container ended is worth knowing even when nothing follows from it: people ask.
    for part in &parts {
        if let Status::EndedSomehow(instance) = scene.status(part) {
            scene.look(instance, "exit code");
        }
    }
    match sandbox::judge(scene, declared) {
        Judged::Busy => {}
        Judged::Lost { cause, changed } => sandbox::start_over(scene, declared, &parts, cause, changed),
        Judged::Good(sandbox) => {
            undeclared_containers(scene, declared);
            match regular::all_over(scene, &parts) {
                // Decision table §4e: no sidecar is started, or started again, for a pod that has finished.
                Some(how) => finish(scene, declared, how),
                None => in_sandbox(scene, declared, &parts, sandbox),
            }
        }
    }
    garbage::collect(scene, declared);
}

/// The containers of a pod whose sandbox is good and that has not finished.
fn in_sandbox<'a>(scene: &mut Scene<'a>, declared: &'a Declared, parts: &[Part<'a>], sandbox: &'a Instance) {
    match init::judge(scene, parts, sandbox) {
        Progress::Going => {}
        Progress::Failed { how } => finish(scene, declared, how),
        Progress::Done => regular::judge(scene, parts, sandbox),
    }
}

/// Containers that the manifest no longer names.
fn undeclared_containers<'a>(scene: &mut Scene<'a>, declared: &'a Declared) {
    let grace = declared.pod.spec.termination_grace_period_seconds;
    let extra: Vec<_> = scene
        .of_life(&declared.uid)
        .filter(|instance| match &instance.role {
            Role::Sandbox => false,
            Role::Container(name) => !declared.containers().any(|(c, _)| *c.name == **name),
        })
        .filter(|instance| instance.is_alive())
        .collect();
    for instance in extra {
        teardown::stop(scene, instance, Some(grace), &Cause::NotInManifest);
    }
}

/// Nothing in the pod will run again: sidecars must not keep it alive, and its sandbox goes to rest.
fn finish<'a>(scene: &mut Scene<'a>, declared: &'a Declared, how: String) {
    let instances: Vec<_> = scene.of_life(&declared.uid).collect();
    let grace = declared.pod.spec.termination_grace_period_seconds;
    teardown::stop_all(scene, &instances, Some(grace), &Cause::Finished { how });
}

/// Nobody declares the pod. It goes only when its source was read and does not have it.
fn orphan(scene: &mut Scene) {
    let instances: Vec<_> = scene.pod.instances.iter().map(|instance| &**instance).collect();
    let Some(source) = scene.observed.source(scene.pod) else {
        let message = "it carries no source that this podkeeper knows, so it is left alone".into();
        return scene.wait(None, None, "UnknownSource", message);
    };
    if !scene.desired.knows(source) {
        let message = if scene.desired.reads(source) {
            format!("source {source} is not read now, so its pods are kept")
        } else {
            format!(
                "it came from source {source}, which is not read here, so it is left as it is; an agent without that \
                 source removes it with --allow-mass-delete"
            )
        };
        return scene.wait(None, None, "SourceUnknown", message);
    }
    teardown::remove_all(scene, &instances, None, &Cause::Removed { source: source.to_string() });
}

impl Scene<'_> {
    /// The restart policy that holds for a container: that of the pod. A regular init container that has
    /// succeeded is never run again, so `Always` means `OnFailure` for it.
    pub fn policy(&self, part: &Part) -> RestartPolicy {
        part.declared.pod.spec.restart_policy
    }

    /// Changes limits in place.
    pub fn update(&mut self, part: &Part, instance: &Instance, changes: Vec<Change>) {
        let failure = self.failure(&part.declared.uid, part.name(), &instance.fingerprint);
        if !self.holds_back(Some(part.name()), failure) {
            let resources = crate::plan::render::comparable(part).resources;
            let call = Call::UpdateContainer { id: instance.id.clone(), resources };
            self.act_on(instance, call, Cause::Changed { changes });
        }
    }
}
