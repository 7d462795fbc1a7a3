//! Images: what must be on the engine before a container can be made from it.

use std::time::Duration;

use crate::model::Time;
use crate::model::pod::PullPolicy;
use crate::plan::ledger::Trouble;
use crate::plan::scene::{Part, Scene};
use crate::plan::{Call, Cause, Image};

/// The sandbox image that the binary carries and loads itself.
pub const BUILTIN_SANDBOX_IMAGE: &str = "podkeeper/pause:1";

/// With the policy `Always` an image counts as pulled for this long: pods that start together share a pull.
const FRESH: Duration = Duration::from_secs(60);

/// How long an absent image is believed to be absent: somebody may load it by hand.
const LOOK_AGAIN: Duration = Duration::from_secs(10);

/// True when a container can be made from its image now; otherwise the next step to it, or the wait for it.
pub fn is_ready(scene: &mut Scene, part: &Part) -> bool {
    let policy = part.container.image_pull_policy;
    has(scene, Some(part.name()), &part.container.image, policy)
}

/// The same for the sandbox.
pub fn sandbox_is_ready(scene: &mut Scene) -> bool {
    let image = scene.desired.node.sandbox_image.clone();
    has(scene, None, &image, PullPolicy::IfNotPresent)
}

fn has(scene: &mut Scene, container: Option<&str>, image: &str, policy: PullPolicy) -> bool {
    let at = scene.at();
    if scene.observed.pulling.contains(image) {
        let message = format!("pulling image \"{image}\"");
        scene.wait(container, None, "ContainerCreating", message);
        return false;
    }
    match scene.observed.images.get(image) {
        Some(Image::Present { pulled_at, .. }) => {
            let fresh = pulled_at.is_some_and(|pulled| at.since(pulled) < FRESH);
            if policy != PullPolicy::Always || fresh {
                return true;
            }
            if !is_held_back(scene, container, image, None) {
                pull(scene, container, image);
            }
        }
        Some(Image::Absent { at: seen }) if at < *seen + LOOK_AGAIN => {
            let look_at = *seen + LOOK_AGAIN;
            if policy == PullPolicy::Never {
                let message = format!(
                    "image \"{image}\" is not on the engine and imagePullPolicy is Never: load it, or allow pulling"
                );
                scene.wait(container, Some(look_at), "ErrImageNeverPull", message);
            } else if !is_held_back(scene, container, image, Some(look_at)) {
                pull(scene, container, image);
            }
        }
        None if policy == PullPolicy::Always => {
            if !is_held_back(scene, container, image, None) {
                pull(scene, container, image);
            }
        }
        Some(Image::Absent { .. }) | None => look(scene, container, image),
    }
    false
}

/// A look costs nothing, so only a look that failed holds the next one back.
fn look(scene: &mut Scene, container: Option<&str>, image: &str) {
    let failure = scene.observed.ledger.pulls.get(image);
    if !scene.holds_back(container, failure.filter(|failure| failure.trouble == Trouble::ErrImageInspect)) {
        scene.act(container, Call::InspectImage { image: image.into() }, Cause::Unknown { fact: "image" });
    }
}

fn pull(scene: &mut Scene, container: Option<&str>, image: &str) {
    let image = image.to_owned();
    let cause = Cause::NeededBy { what: container.unwrap_or("the sandbox").to_owned() };
    if image == BUILTIN_SANDBOX_IMAGE && container.is_none() {
        scene.act(container, Call::LoadSandboxImage { image }, cause);
    } else {
        scene.act(container, Call::PullImage { image }, cause);
    }
}

/// True, and a wait, while the last pull is too young to be repeated. Kubernetes keeps the last error in the
/// message: it is what people need. Somebody may load the image by hand meanwhile, so at `look_at` it is
/// looked for again.
fn is_held_back(scene: &mut Scene, container: Option<&str>, image: &str, look_at: Option<Time>) -> bool {
    let failure = scene.observed.ledger.pulls.get(image);
    let Some(failure) = failure.filter(|failure| scene.at() < failure.retry_at()) else { return false };
    let until = look_at.map_or(failure.retry_at(), |look_at| look_at.min(failure.retry_at()));
    let message = format!("Back-off pulling image \"{image}\": {}", failure.message);
    scene.wait(container, Some(until), "ImagePullBackOff", message);
    true
}
