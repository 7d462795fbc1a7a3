//! What a person or an init system tells the agent: to end, or to read its sources again.

use tokio::signal::unix::{Signal, SignalKind, signal};

pub(super) enum Told {
    /// SIGTERM, SIGINT.
    Stop,
    /// SIGHUP.
    Reread,
}

pub(super) struct Signals {
    term: Signal,
    int: Signal,
    hup: Signal,
}

impl Signals {
    pub fn listen() -> Result<Self, String> {
        let listen = |kind| signal(kind).map_err(|error| format!("signals cannot be received: {error}"));
        Ok(Self {
            term: listen(SignalKind::terminate())?,
            int: listen(SignalKind::interrupt())?,
            hup: listen(SignalKind::hangup())?,
        })
    }

    /// The next one. May be dropped while it waits.
    pub async fn next(&mut self) -> Told {
        tokio::select! {
            _ = self.term.recv() => Told::Stop,
            _ = self.int.recv() => Told::Stop,
            _ = self.hup.recv() => Told::Reread,
        }
    }
}
