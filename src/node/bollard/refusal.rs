//! Docker's refusals in our words. Engines tell apart by status and, where that is not enough, by text.

use ::bollard::errors::Error;

use super::endpoint::{NotConnected, SendError};
use crate::docker::DockerError;
use crate::model::ContainerId;

/// An answer whose status is not a success. The texts are those of moby 20.10 … 29 and podman 4 … 5.
pub(super) fn of_status(status: u16, message: String) -> DockerError {
    let text = message.to_ascii_lowercase();
    // Podman answers 500 where Docker answers 409.
    if text.contains("is already in use by") && text.contains("name \"")
        || text.contains("name is already in use")
    {
        return DockerError::NameInUse { holder: holder(&message), message };
    }
    if text.contains("removal of container") && text.contains("is already in progress") {
        return DockerError::RemovalInProgress { message };
    }
    if ["port is already allocated", "address already in use"].iter().any(|words| text.contains(words)) {
        return DockerError::PortTaken { message };
    }
    match status {
        404 => DockerError::NotFound { message },
        409 => DockerError::Conflict { message },
        status => DockerError::Refused { status, message },
    }
}

/// `… is already in use by container "<64 hex>"`; podman leaves the quotes out.
fn holder(message: &str) -> Option<ContainerId> {
    message
        .split(|c: char| !c.is_ascii_hexdigit())
        .find(|word| word.len() == 64)
        .map(|id| ContainerId(id.to_ascii_lowercase().into()))
}

pub(super) fn of_send(error: SendError) -> DockerError {
    match error {
        SendError::NotConnected(NotConnected { advice, .. }) => DockerError::Unreachable { message: advice },
        SendError::Broken(error) => uncertain(&error),
    }
}

/// What bollard tells. Whatever happened after the request was sent is uncertain.
pub(super) fn of_bollard(error: Error) -> DockerError {
    match error {
        Error::DockerResponseServerError { status_code, message } => of_status(status_code, message),
        // The engine had begun to answer 200; the operation itself failed.
        Error::DockerStreamError { error } => of_status(500, error),
        Error::IOError { err } => {
            match err.get_ref().and_then(|inner| inner.downcast_ref::<NotConnected>()) {
                Some(not_connected) => DockerError::Unreachable { message: not_connected.advice.clone() },
                None => uncertain(&err),
            }
        }
        other => uncertain(&other),
    }
}

pub(super) fn uncertain(error: &dyn std::error::Error) -> DockerError {
    let mut message = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let text = cause.to_string();
        if !message.contains(&text) {
            message.push_str(": ");
            message.push_str(&text);
        }
        source = cause.source();
    }
    DockerError::Uncertain { message: format!("the engine gave no whole answer ({message})") }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "5e1f2a0c9b8d7e6f5a4b3c2d1e0f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c4d3e2f";

    #[test]
    fn texts_of_docker_and_podman_become_the_same_refusals() {
        let taken = format!(
            "Conflict. The container name \"/x\" is already in use by container \"{ID}\". You have …"
        );
        let podman = format!(
            "creating container storage: the container name \"x\" is already in use by {ID}. You have to remove that container: that name is already in use"
        );
        let in_use =
            |message: &str| DockerError::NameInUse { holder: Some(ID.into()), message: message.into() };
        let plain: &[(u16, &str, DockerError)] = &[
            (409, &taken, in_use(&taken)),
            (500, &podman, in_use(&podman)),
            (404, "No such container: x", DockerError::NotFound { message: "No such container: x".into() }),
            (
                409,
                "removal of container x is already in progress",
                DockerError::RemovalInProgress { message: "removal of container x is already in progress".into() },
            ),
            (
                409,
                "You cannot remove a running container x.",
                DockerError::Conflict { message: "You cannot remove a running container x.".into() },
            ),
            (
                500,
                "driver failed programming external connectivity: Bind for 0.0.0.0:80 failed: port is already allocated",
                DockerError::PortTaken {
                    message: "driver failed programming external connectivity: Bind for 0.0.0.0:80 failed: port is already allocated".into(),
                },
            ),
            (
                500,
                "Error starting userland proxy: listen tcp4 0.0.0.0:80: bind: address already in use",
                DockerError::PortTaken {
                    message: "Error starting userland proxy: listen tcp4 0.0.0.0:80: bind: address already in use".into(),
                },
            ),
            (400, "no command specified", DockerError::Refused { status: 400, message: "no command specified".into() }),
        ];
        for (status, message, expected) in plain {
            assert_eq!(&of_status(*status, (*message).to_owned()), expected);
        }
    }
}
