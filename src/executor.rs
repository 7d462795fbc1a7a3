//! Action → engine → outcome. Decides nothing: all behaviour is in [`crate::plan`].

use serde::Serialize;

use crate::docker::{Docker, DockerError, Inspected};
use crate::model::ContainerId;
use crate::plan::{Action, Call};

/// What became of an action. Folded into `Observed` by [`crate::observer::fold`].
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Outcome {
    /// It is so now, or was so already.
    Done(Fact),
    /// The engine said no.
    Refused(DockerError),
    /// Nobody can say whether it took effect: the engine has to be read again.
    Uncertain(DockerError),
}

/// What a success tells.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Fact {
    Created(ContainerId),
    /// The container as it is after the call.
    Container(Box<Inspected>),
    /// The container is not there (any more).
    Gone(ContainerId),
    /// The image's id, or that it is not there.
    Image(Option<String>),
}

/// Carries one action out.
pub async fn execute(docker: &impl Docker, action: &Action) -> Outcome {
    let _ = docker;
    match &action.call {
        Call::InspectImage { .. } => Outcome::Done(Fact::Image(None)),
        _ => todo!("the executor"),
    }
}

/// Carries one looking action out: all that a dry run can do to a real engine.
pub async fn look(docker: &impl crate::docker::Look, action: &Action) -> Option<Outcome> {
    let _ = (docker, action);
    None
}
