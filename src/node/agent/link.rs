//! The connection to the engine: down, being made, or up.
//!
//! Whatever breaks, the way back is the same: connect (which agrees on an API version anew), open the event
//! stream, list. Only then is anything planned again.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use tokio::time::Instant;

use crate::docker::{DockerError, EngineVersion, Look};
use crate::model::ContainerId;
use crate::node::bollard::{Engine, Events, Trouble};
use crate::node::chance;
use crate::node::sources::backoff::BackOff;
use crate::observer::Hint;
use crate::plan::Instance;

/// The longest first pause between two tries, doubled up to the longest of all.
const FIRST_RETRY: Duration = Duration::from_secs(1);
const LONGEST_RETRY: Duration = Duration::from_secs(30);
/// A connection that lasted so long was a good one: the next try is made at once.
const GOOD: Duration = Duration::from_secs(10);

type Connecting = Pin<Box<dyn Future<Output = Result<(Connected, Events), Trouble>>>>;

/// What a new connection brings.
pub(super) struct Connected {
    pub version: EngineVersion,
    pub instances: Vec<Instance>,
}

pub(super) enum Change {
    Up(Box<Connected>),
    /// With the pause until the next try.
    Down(Trouble, Duration),
    Event(ContainerId, Hint),
}

enum State {
    Down { due: Instant },
    Connecting(Connecting),
    Up { events: Events, since: Instant },
}

pub(super) struct Link {
    engine: Engine,
    node: String,
    state: State,
    retry: BackOff,
}

impl Link {
    pub fn new(engine: Engine, node: String) -> Self {
        let retry = BackOff::new(FIRST_RETRY, LONGEST_RETRY);
        Self { engine, node, state: State::Down { due: Instant::now() }, retry }
    }

    pub fn is_up(&self) -> bool {
        matches!(self.state, State::Up { .. })
    }

    /// The next thing that happens to the connection. May be dropped while it waits.
    pub async fn next(&mut self) -> Change {
        loop {
            match &mut self.state {
                State::Down { due } => {
                    tokio::time::sleep_until(*due).await;
                    self.state = State::Connecting(Box::pin(connect(self.engine.clone(), self.node.clone())));
                }
                State::Connecting(connecting) => match connecting.await {
                    Ok((connected, events)) => {
                        self.state = State::Up { events, since: Instant::now() };
                        return Change::Up(Box::new(connected));
                    }
                    Err(trouble) => return self.down(trouble),
                },
                State::Up { events, .. } => match events.next().await {
                    Ok((id, hint)) => return Change::Event(id, hint),
                    Err(error) => return self.lost(error),
                },
            }
        }
    }

    /// A call found the engine gone, or its answer made no sense.
    pub fn lost(&mut self, error: DockerError) -> Change {
        self.down(Trouble::Away(error.to_string()))
    }

    fn down(&mut self, trouble: Trouble) -> Change {
        let was_good = matches!(&self.state, State::Up { since, .. } if since.elapsed() > GOOD);
        let pause = match &trouble {
            _ if was_good => {
                self.retry.succeeded();
                Duration::ZERO
            }
            Trouble::Away(_) => self.retry.failed(chance::fraction()),
            // Only a person can change it, so nothing is gained by asking often.
            Trouble::Denied(_) | Trouble::Stranger(_) => LONGEST_RETRY,
        };
        self.state = State::Down { due: Instant::now() + pause };
        Change::Down(trouble, pause)
    }
}

async fn connect(engine: Engine, node: String) -> Result<(Connected, Events), Trouble> {
    let away = |error: DockerError| Trouble::Away(error.to_string());
    let version = engine.connect().await?;
    let events = engine.events(&node).await.map_err(away)?;
    let instances = engine.list(&node).await.map_err(away)?;
    Ok((Connected { version, instances }, events))
}
