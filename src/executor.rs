//! Action → engine → outcome. Decides nothing: all behaviour is in [`crate::plan`].

use serde::Serialize;

use crate::docker::{Docker, DockerError, Inspected, Look};
use crate::model::ContainerId;
use crate::plan::{Action, Call, ContainerConfig, Role};

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

/// Carries one action out. Nothing is tried twice: what to do about a failure is for the next plan.
pub async fn execute(docker: &impl Docker, action: &Action) -> Outcome {
    if let Some(outcome) = look(docker, action).await {
        return outcome;
    }
    let done = match &action.call {
        Call::PullImage { image } => docker.pull(image).await,
        Call::LoadSandboxImage { image } => docker.load_sandbox_image(image).await,
        Call::CreateSandbox { config } | Call::CreateContainer { config } => {
            return create(docker, config).await;
        }
        Call::StartContainer { id } => match docker.start(id).await {
            Ok(()) => Ok(()),
            Err(error) => Err(without_values(docker, id, error).await),
        },
        Call::StopContainer { id, grace } => match expect(docker, action, id).await {
            Ok(()) => docker.stop(id, *grace).await,
            Err(error) => Err(error),
        },
        Call::UnpauseContainer { id } => match expect(docker, action, id).await {
            Ok(()) => docker.unpause(id).await,
            Err(error) => Err(error),
        },
        Call::RemoveContainer { id } => match expect(docker, action, id).await {
            Ok(()) => docker.remove(id).await,
            Err(error) => Err(error),
        },
        Call::UpdateContainer { id, resources } => match expect(docker, action, id).await {
            Ok(()) => docker.update(id, resources).await,
            Err(error) => Err(error),
        },
        Call::InspectImage { .. } | Call::InspectContainer { .. } => unreachable!("looks are done above"),
    };
    match done {
        Ok(()) => after(docker, &action.call).await,
        Err(error) => failed(&action.call, error),
    }
}

/// Carries out an action that only looks; `None` for one that does something. All that a dry run can do
/// to a real engine.
pub async fn look(docker: &impl Look, action: &Action) -> Option<Outcome> {
    match &action.call {
        Call::InspectImage { image } => Some(image_fact(docker, image).await),
        Call::InspectContainer { id } => Some(container_fact(docker, id).await),
        Call::PullImage { .. }
        | Call::LoadSandboxImage { .. }
        | Call::CreateSandbox { .. }
        | Call::CreateContainer { .. }
        | Call::StartContainer { .. }
        | Call::StopContainer { .. }
        | Call::UnpauseContainer { .. }
        | Call::RemoveContainer { .. }
        | Call::UpdateContainer { .. } => None,
    }
}

/// A destroying or changing call goes only to a container that is what the plan took it for.
async fn expect(docker: &impl Docker, action: &Action, id: &ContainerId) -> Result<(), DockerError> {
    let found = docker.inspect(id).await?.instance;
    let container = match &found.role {
        Role::Sandbox => None,
        Role::Container(name) => Some(&**name),
    };
    let same = found.pod == action.pod
        && container == action.container.as_deref()
        && action.seen.as_ref() == Some(&found.fingerprint);
    if same { Ok(()) } else { Err(DockerError::Foreign { id: id.clone() }) }
}

/// Creates a container. When its name is taken, says by whom: ours is news (look again), a stranger's (even
/// with labels of ours, of another container) or nobody's is a refusal. Docker keeps a name after some failed creates (moby#23371).
async fn create(docker: &impl Docker, config: &ContainerConfig) -> Outcome {
    match docker.create(config).await {
        Ok(id) => Outcome::Done(Fact::Created(id)),
        Err(DockerError::NameInUse { holder: Some(holder), message }) => {
            match docker.inspect(&holder).await {
                Ok(found) if found.instance.is_named_by_its_labels() => {
                    Outcome::Uncertain(DockerError::NameInUse { holder: Some(holder), message })
                }
                Err(DockerError::NotFound { .. }) => {
                    Outcome::Refused(DockerError::NameInUse { holder: None, message })
                }
                Ok(_) | Err(_) => Outcome::Refused(DockerError::NameInUse { holder: Some(holder), message }),
            }
        }
        Err(error) => {
            let error = error.without_values(&config.env);
            if error.is_uncertain() { Outcome::Uncertain(error) } else { Outcome::Refused(error) }
        }
    }
}

/// A start that fails repeats the command, into which values of env may have been expanded. What they are,
/// the container itself knows.
async fn without_values(docker: &impl Docker, id: &ContainerId, error: DockerError) -> DockerError {
    let known = docker.inspect(id).await.ok().and_then(|found| found.instance.config);
    match (known, error) {
        (Some(config), error) => error.without_values(&config.env),
        (None, DockerError::Refused { status, .. }) => {
            let message =
                "the engine refused to start it, in words that may hold values of env, and does not say \
                           which those are"
                    .to_owned();
            DockerError::Refused { status, message }
        }
        (None, error) => error,
    }
}

/// Reads back what a successful call led to.
async fn after(docker: &impl Docker, call: &Call) -> Outcome {
    match call {
        Call::PullImage { image } | Call::LoadSandboxImage { image } | Call::InspectImage { image } => {
            image_fact(docker, image).await
        }
        Call::RemoveContainer { id } => Outcome::Done(Fact::Gone(id.clone())),
        Call::InspectContainer { id }
        | Call::StartContainer { id }
        | Call::StopContainer { id, .. }
        | Call::UnpauseContainer { id }
        | Call::UpdateContainer { id, .. } => container_fact(docker, id).await,
        Call::CreateSandbox { config } | Call::CreateContainer { config } => {
            unreachable!("{} has answered with its id", config.name)
        }
    }
}

/// What a failure means. A container that is gone is what a remove wanted; for another call it is news. A
/// start answers 404 for the sandbox that it joins, too, so it proves nothing.
fn failed(call: &Call, error: DockerError) -> Outcome {
    let starts = matches!(call, Call::StartContainer { .. });
    match (error, call.id()) {
        (DockerError::NotFound { .. }, Some(id)) if !starts => Outcome::Done(Fact::Gone(id.clone())),
        (error @ (DockerError::NotFound { .. } | DockerError::RemovalInProgress { .. }), Some(_)) => {
            Outcome::Uncertain(error)
        }
        (error, _) if error.is_uncertain() => Outcome::Uncertain(error),
        (error, _) => Outcome::Refused(error),
    }
}

async fn image_fact(docker: &impl Look, image: &str) -> Outcome {
    match docker.image(image).await {
        Ok(id) => Outcome::Done(Fact::Image(id)),
        Err(error) => Outcome::Refused(error),
    }
}

async fn container_fact(docker: &impl Look, id: &ContainerId) -> Outcome {
    match docker.inspect(id).await {
        Ok(inspected) => Outcome::Done(Fact::Container(Box::new(inspected))),
        Err(DockerError::NotFound { .. }) => Outcome::Done(Fact::Gone(id.clone())),
        Err(error) => Outcome::Uncertain(error),
    }
}
