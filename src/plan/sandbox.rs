//! The sandbox: is the pod's still good, and when does it get a new one? Decision table §1 and §3.
//!
//! **Invariant:** whether a pod needs a sandbox is decided here and nowhere else.

use crate::model::RestartPolicy;
use crate::plan::changes::{self, Difference};
use crate::plan::scene::{Part, Scene, Status};
use crate::plan::teardown::SANDBOX_GRACE;
use crate::plan::{Call, Cause, Declared, Instance, Role, State, backoff, images, regular, render, teardown};

/// What the pod's sandbox is good for.
pub enum Judged<'a> {
    /// Containers may run in it.
    Good(&'a Instance),
    /// It has to go, or is not there; whatever lives in it goes first.
    Lost { cause: Cause, changed: bool },
    /// It is being brought up, or looked at: nothing else can be decided.
    Busy,
}

/// Rules SB-1 to SB-6.
pub fn judge<'a>(scene: &mut Scene<'a>, declared: &'a Declared) -> Judged<'a> {
    let lost = |why: &str| Judged::Lost { cause: Cause::SandboxLost { why: why.into() }, changed: false };
    let mut sandboxes = scene.sandboxes(&declared.uid);
    let Some(newest) = sandboxes.next() else {
        return match scene.of_life(&declared.uid).next() {
            Some(_) => lost("is gone"),
            None => Judged::Lost { cause: Cause::Missing { what: "sandbox" }, changed: false },
        };
    };
    // Somebody may have started an older one by hand. The kubelet gives both up (SB-2); one is enough.
    for older in sandboxes.filter(|older| older.is_alive()) {
        teardown::stop(scene, older, Some(SANDBOX_GRACE), &Cause::Superseded { by: newest.attempt });
    }
    match &newest.state {
        State::Created if newest.fingerprint == declared.fingerprint => {
            return start(scene, declared, newest);
        }
        State::Created => return lost("was made from another definition"),
        State::Paused => {
            let message = "somebody has paused the sandbox; podkeeper leaves it alone until it is resumed";
            scene.wait(None, None, "Paused", message.into());
            return Judged::Busy;
        }
        State::Exited(_) | State::Dead | State::Removing => return lost("is not running"),
        State::Unknown(state) => return lost(&format!("is in state '{state}'")),
        State::Running { .. } => {}
    }
    match changes::of_sandbox(declared, newest) {
        Difference::NeedsLook => {
            scene.look(newest, "configuration");
            return Judged::Busy;
        }
        Difference::Update(changes) | Difference::Replace(changes) => {
            return Judged::Lost { cause: Cause::Changed { changes }, changed: true };
        }
        Difference::Same => {}
    }
    let host = &*newest.network_mode == "host";
    if host != declared.pod.spec.host_network {
        return lost("has another kind of network than the pod asks for");
    }
    // Only a bridge has to give an address; podman's rootless networks never show one.
    if newest.ip.is_none() && matches!(&*newest.network_mode, "bridge" | "default") {
        return lost("has no address");
    }
    Judged::Good(newest)
}

fn start<'a>(scene: &mut Scene<'a>, declared: &'a Declared, sandbox: &'a Instance) -> Judged<'a> {
    let failure = scene.failure(&declared.uid, Role::Sandbox.name(), &declared.fingerprint);
    if failure.is_some_and(|failure| failure.is_hopeless(sandbox)) {
        let why = "could not be started again and again".into();
        teardown::remove(scene, sandbox, &Cause::SandboxLost { why });
    } else if !scene.holds_back(None, failure) {
        scene.act_on(sandbox, Call::StartContainer { id: sandbox.id.clone() }, Cause::NotStarted);
    }
    Judged::Busy
}

/// Everything in the pod goes, and a new sandbox comes, if anything is to run in it.
pub fn start_over<'a>(
    scene: &mut Scene<'a>,
    declared: &'a Declared,
    parts: &[Part<'a>],
    cause: Cause,
    changed: bool,
) {
    let instances: Vec<_> = scene.of_life(&declared.uid).collect();
    let alive = instances.iter().any(|instance| instance.is_alive());
    let again = needs_new(scene, declared, parts);
    // Nothing that still runs is stopped before what replaces it can be made.
    if changed && alive && again && !all_images_are_ready(scene, parts) {
        return;
    }
    let grace = declared.pod.spec.termination_grace_period_seconds;
    if teardown::stop_all(scene, &instances, Some(grace), &cause) {
        return;
    }
    let leaving = instances.iter().find(|i| i.role == Role::Sandbox && i.state == State::Removing);
    if let Some(leaving) = leaving {
        return teardown::remove(scene, leaving, &cause);
    }
    if let Some(created) = scene.sandboxes(&declared.uid).find(|i| i.state == State::Created) {
        return teardown::remove(scene, created, &cause);
    }
    if again {
        create(scene, declared, cause);
        pull_early(scene, parts);
    }
}

/// Decision table §3: a pod that is over gets no new sandbox.
fn needs_new<'a>(scene: &Scene<'a>, declared: &'a Declared, parts: &[Part<'a>]) -> bool {
    let changed =
        |part: &Part<'a>| matches!(scene.status(part), Status::Ended(end) if !part.made(&end.fingerprint));
    if parts.iter().any(changed) {
        return true;
    }
    let has_had_one = scene.sandboxes(&declared.uid).next().is_some()
        || scene.memo(&declared.uid, Role::Sandbox.name()).is_some_and(|memo| memo.attempt.is_some());
    let any_ran = parts.iter().any(|part| regular::has_run(scene, part));
    if has_had_one && any_ran && declared.pod.spec.restart_policy == RestartPolicy::Never {
        return false;
    }
    let regulars = || parts.iter().filter(|part| !part.is_init());
    let wanted = |part: &Part<'a>| match scene.status(part) {
        Status::Ended(end) => end.failed() || scene.policy(part) != RestartPolicy::OnFailure,
        // It is being asked how it ended; until that is known nothing is made for it.
        Status::EndedSomehow(_) => scene.policy(part) != RestartPolicy::OnFailure,
        Status::None | Status::Created(_) | Status::Running(_) | Status::Unknown(..) | Status::Leaving(_) => {
            true
        }
    };
    regulars().any(wanted) || !regulars().any(|part| regular::has_run(scene, part))
}

fn create(scene: &mut Scene, declared: &Declared, cause: Cause) {
    let memo = scene.memo(&declared.uid, Role::Sandbox.name());
    let failure = scene.failure(&declared.uid, Role::Sandbox.name(), &declared.fingerprint);
    if scene.holds_back(None, failure) {
        return;
    }
    let same = memo.filter(|memo| memo.made.as_ref() == Some(&declared.fingerprint));
    if let Some((memo, created)) = same.and_then(|memo| Some((memo, memo.created_at?))) {
        let until = created + backoff::sandbox_delay(memo.streak);
        if scene.at() < until {
            let message = "the sandbox was lost again right after it was made".into();
            return scene.wait(None, Some(until), "SandboxBackOff", message);
        }
    }
    if !images::sandbox_is_ready(scene) {
        return;
    }
    let attempt = scene.next_attempt(&declared.uid, &Role::Sandbox);
    let config = render::sandbox(&scene.desired.node, declared, attempt);
    scene.act(None, Call::CreateSandbox { config: Box::new(config) }, cause);
}

fn all_images_are_ready(scene: &mut Scene, parts: &[Part]) -> bool {
    // Every one is asked for, so that all pulls begin in the same round.
    parts.iter().filter(|part| !images::is_ready(scene, part)).count() == 0
}

/// Pulls commute with everything else: the first containers' images come while the sandbox is made.
fn pull_early(scene: &mut Scene, parts: &[Part]) {
    let has_init = parts.iter().any(Part::is_init);
    for part in parts.iter().filter(|part| part.is_init() == has_init) {
        images::is_ready(scene, part);
    }
}
