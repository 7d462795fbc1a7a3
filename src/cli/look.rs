//! Reading an engine as far as a plan needs it.
//!
//! **Invariant:** everything here is generic over [`Look`] alone, so it cannot change an engine: a dry run
//! is dry because nothing else is in its hands.

use crate::cli::escape::Safe;
use crate::cli::failure::Failure;
use crate::docker::{DockerError, Look};
use crate::executor::{self, Outcome};
use crate::model::Time;
use crate::observer;
use crate::plan::{Action, Call, Cause, Desired, Ledger, Observed, plan};

/// One look answers what the one before it asked; nothing needs more than a handful in a row.
const MOST_ROUNDS: usize = 16;

/// One list of the node's containers.
pub async fn list(
    engine: &impl Look,
    node: &str,
    ledger: Ledger,
    memory_bytes: i64,
    at: Time,
) -> Result<Observed, DockerError> {
    let mut observed = Observed { ledger, memory_bytes, ..Observed::default() };
    observer::relist(&mut observed, at, engine.list(node).await?);
    Ok(observed)
}

/// Tells of containers that only look like ours.
pub fn tell_lookalikes(observed: &Observed) {
    for why in observed.lookalikes.values() {
        eprintln!("note: {}: it is left alone", Safe(why));
    }
}

/// Answers every question that the planner asks before it can say what to do.
pub async fn answer(engine: &impl Look, desired: &Desired, observed: &mut Observed) -> Result<(), Failure> {
    for _ in 0..MOST_ROUNDS {
        let looks: Vec<Action> =
            plan(desired, observed).into_iter().filter(|action| action.call.is_look()).collect();
        if looks.is_empty() {
            return Ok(());
        }
        for look in &looks {
            carry_out(engine, observed, look).await?;
        }
    }
    Err(Failure::error("the engine answers the same questions again and again: try once more"))
}

/// Looks at everything: each container, and each image that one was made from.
pub async fn inspect_all(engine: &impl Look, observed: &mut Observed) -> Result<(), Failure> {
    let instances: Vec<_> = observed.pods.values().flat_map(|pod| pod.instances.clone()).collect();
    for instance in instances {
        let call = Call::InspectContainer { id: instance.id.clone() };
        carry_out(engine, observed, &question(&instance.pod, call)).await?;
    }
    let instances: Vec<_> = observed.pods.values().flat_map(|pod| pod.instances.clone()).collect();
    for instance in instances {
        let Some(config) = &instance.config else { continue };
        if !observed.images.contains_key(config.image.as_str()) {
            let call = Call::InspectImage { image: config.image.clone() };
            carry_out(engine, observed, &question(&instance.pod, call)).await?;
        }
    }
    Ok(())
}

/// Looks for every image that the declared pods need: what a rehearsal does not know to be there, it pulls.
pub async fn images(engine: &impl Look, desired: &Desired, observed: &mut Observed) -> Result<(), Failure> {
    let of_pods = desired.pods().values().flat_map(|declared| {
        declared.containers().map(|(container, _)| (declared.key.clone(), container.image.clone()))
    });
    let of_sandboxes =
        desired.pods().keys().take(1).map(|key| (key.clone(), desired.node.sandbox_image.to_string()));
    for (pod, image) in of_pods.chain(of_sandboxes).collect::<Vec<_>>() {
        if !observed.images.contains_key(image.as_str()) {
            carry_out(engine, observed, &question(&pod, Call::InspectImage { image })).await?;
        }
    }
    Ok(())
}

fn question(pod: &crate::model::PodKey, call: Call) -> Action {
    Action { pod: pod.clone(), container: None, call, cause: Cause::Unknown { fact: "state" }, seen: None }
}

async fn carry_out(engine: &impl Look, observed: &mut Observed, look: &Action) -> Result<(), Failure> {
    observer::begin(observed, look);
    let Some(outcome) = executor::look(engine, look).await else { return Ok(()) };
    let at = observed.at;
    match &outcome {
        Outcome::Refused(error) | Outcome::Uncertain(error) => {
            return Err(Failure::error(format!("the engine does not say what runs: {error}")));
        }
        Outcome::Done(_) => {}
    }
    // A container that went away meanwhile is simply no longer there.
    let _ = observer::fold(observed, at, look, &outcome);
    Ok(())
}
