//! Who may come in.

use hyper::{Request, StatusCode};

use crate::node::api::refusal::Refusal;

/// Who is at the other end of a connection.
#[derive(Clone, Debug)]
pub enum Peer {
    /// As the kernel says; `None` when it cannot.
    Socket {
        uid: Option<u32>,
    },
    Tcp,
}

/// # Errors
/// For those who may not.
pub fn admit<B>(_request: &Request<B>, peer: &Peer) -> Result<(), Refusal> {
    match peer {
        Peer::Socket { uid } => {
            let own = rustix::process::geteuid().as_raw();
            if uid.is_some_and(|uid| uid == 0 || uid == own) {
                return Ok(());
            }
            let message = "only root and the agent's own user are served";
            Err(Refusal::new(StatusCode::FORBIDDEN, "Forbidden", message))
        }
        Peer::Tcp => Ok(()),
    }
}
