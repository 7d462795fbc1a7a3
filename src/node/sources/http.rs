//! The HTTP source: manifests behind URLs, asked for again and again.
//!
//! ```text
//! schedule ─▶ fetch (connect, tls, redirects, response) ─▶ answers (decode, flapping, reading) ─▶ store
//! ```
//!
//! Each URL has a round of its own, so one that is slow or away holds up no other; what they say is put together in one
//! place. An answer that cannot be used never takes a pod away: the last good one holds.

mod address;
mod answers;
mod connect;
mod decode;
mod fetch;
mod flapping;
mod redirects;
mod response;
mod schedule;
mod tls;
mod url;

use std::convert::Infallible;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use tokio::sync::Notify;
use tokio::task::spawn_blocking;

use crate::node::chance;
use crate::node::clock::Clock;
use crate::node::keep::Kept;
use crate::node::sources::brake::SECOND_LOOK;
use crate::node::sources::publish::Publisher;
use crate::node::sources::reading::Remembered;
use crate::node::sources::supervise::supervise;
use crate::node::sources::wake::Waker;
use crate::node::store::Writer;
use crate::plan::{Node, SourceKind};

pub use fetch::{Access, Client, Limits};
pub use tls::Files;
pub use url::ManifestUrl;

use answers::{Answers, next_validators};
use fetch::Fetched;
use response::Validators;
use schedule::Schedule;

/// What the HTTP source needs to know.
pub struct Settings {
    pub urls: Vec<ManifestUrl>,
    pub access: Access,
    pub node: Node,
    /// How often to ask while all is well.
    pub check: Duration,
    pub allow_mass_delete: bool,
    /// Where what was said last is kept.
    pub kept: Kept<Remembered>,
}

/// Starts the source on the runtime that calls. It ends with it.
pub fn spawn(settings: Settings, writer: Writer, clock: Clock) -> Waker {
    for url in settings.urls.iter().filter(|url| settings.access.tells_secrets_to_all(url)) {
        tracing::warn!(
            source = "http",
            "{url}: credentials are sent unencrypted, and so are the manifests: use https"
        );
    }
    let wakes: Vec<Arc<Notify>> = settings.urls.iter().map(|_| Arc::default()).collect();
    let waker = Waker::new({
        let wakes = wakes.clone();
        // One that is asking already asks once more: the answer under way may be of before.
        move || wakes.iter().for_each(|wake| wake.notify_one())
    });
    tokio::spawn(supervise(SourceKind::Http, "source", move || {
        let publisher = Publisher::new(writer.clone(), settings.kept.clone(), clock);
        let Settings { urls, node, allow_mass_delete, .. } = &settings;
        let answers = Answers::new(urls, node.clone(), *allow_mass_delete, publisher, clock);
        let (answers, client) =
            (Arc::new(Mutex::new(answers)), Arc::new(Client::new(settings.access.clone())));
        let rounds = urls.iter().zip(&wakes).enumerate().map(|(at, (url, wake))| Rounds {
            at,
            url: url.clone(),
            client: client.clone(),
            answers: answers.clone(),
            schedule: Schedule::new(settings.check),
            validators: Validators::default(),
            wake: wake.clone(),
        });
        let rounds = rounds.map(Rounds::run).collect::<Vec<_>>();
        async {
            join_all(rounds).await;
            // Without a URL there is nothing to do.
            std::future::pending().await
        }
    }));
    waker
}

/// Asks for one URL once.
///
/// # Errors
/// One line for a person that names the URL without its credentials.
pub async fn read_once(client: &Client, url: &ManifestUrl) -> Result<Vec<u8>, String> {
    match client.get(url, &Validators::default()).await {
        Ok(Fetched::Body(fresh)) => {
            decode::text(fresh.encoding, &fresh.bytes).map_err(|why| format!("{url} cannot be used: {why}"))
        }
        Ok(Fetched::NotModified) => Err(format!("{url} cannot be read: it answers with nothing")),
        Err(trouble) => Err(trouble.message),
    }
}

/// One URL, again and again.
struct Rounds {
    at: usize,
    url: ManifestUrl,
    client: Arc<Client>,
    answers: Arc<Mutex<Answers>>,
    schedule: Schedule,
    /// Of the version that was taken last.
    validators: Validators,
    wake: Arc<Notify>,
}

impl Rounds {
    async fn run(mut self) -> Infallible {
        loop {
            let pause = self.round().await;
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.wake.notified() => {}
            }
        }
    }

    /// Asks once; returns how long to wait.
    async fn round(&mut self) -> Duration {
        let answer = self.client.get(&self.url, &self.validators).await;
        let (at, answers, fraction) = (self.at, self.answers.clone(), chance::fraction());
        let retry_after = answer.as_ref().err().and_then(|trouble| trouble.retry_after);
        // Whether the answer is of any use shows when it is heard, and with that goes when it is asked for again.
        let pause = self.schedule.clone().failed(retry_after, fraction);
        // A megabyte of YAML takes a while, and so may the disk.
        let heard = spawn_blocking(move || {
            let next =
                answers.lock().unwrap_or_else(PoisonError::into_inner).hear(at, answer.as_ref(), pause);
            (answer, next)
        });
        let (answer, next) = match heard.await {
            Ok(heard) => heard,
            // The whole source starts anew.
            Err(error) => match error.try_into_panic() {
                Ok(panic) => resume_unwind(panic),
                Err(_) => return std::future::pending().await,
            },
        };
        let validators = std::mem::take(&mut self.validators);
        self.validators = next_validators(validators, &answer, &next);
        match next {
            answers::Next { again: true, .. } => SECOND_LOOK,
            answers::Next { good: true, .. } => self.schedule.succeeded(fraction),
            answers::Next { good: false, .. } => self.schedule.failed(retry_after, fraction),
        }
    }
}
