//! One connection to one endpoint, from the list to the end of the watch.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use etcd_client::Client;
use futures_util::future::select_all;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::node::chance;
use crate::node::sources::backoff::spread;
use crate::node::sources::etcd::book::Then;
use crate::node::sources::etcd::history::{Header, Verdict};
use crate::node::sources::etcd::keys::{self, Keys, Range};
use crate::node::sources::etcd::list::{Pages, peek};
use crate::node::sources::etcd::trouble::{Kind, Trouble};
use crate::node::sources::etcd::watch::{News, Watch};
use crate::node::sources::etcd::{Access, History, Pace, Shared};

/// What is known between one connection and the next.
pub struct Session {
    access: Access,
    pace: Pace,
    book: Shared,
    wake: Arc<Notify>,
    history: History,
    ranges: [Range; 2],
    /// What is watched, and from which revision on; empty before the first list and when it no longer holds.
    followed: Vec<(Range, i64)>,
    relist: Instant,
    watching_since: Option<Instant>,
}

/// Why a watch was left.
enum Left {
    /// It is time to read everything.
    Relist,
    Trouble(Trouble),
}

impl From<Trouble> for Left {
    fn from(trouble: Trouble) -> Self {
        Left::Trouble(trouble)
    }
}

impl Session {
    pub fn new(access: Access, keys: &Keys, pace: Pace, book: Shared, wake: Arc<Notify>) -> Self {
        Self {
            access,
            pace,
            book,
            wake,
            history: History::default(),
            ranges: keys.ranges(),
            followed: Vec::new(),
            relist: Instant::now(),
            watching_since: None,
        }
    }

    /// Since when the last connection watches; `None` when it did not come so far.
    pub fn watching_since(&self) -> Option<Instant> {
        self.watching_since
    }

    /// Reads from one endpoint until something goes wrong.
    pub async fn run(&mut self, endpoint: usize) -> Trouble {
        self.watching_since = None;
        if self.history.revision().is_none() {
            self.history = History::after(self.book.with(|book| book.followed()).await);
        }
        let client = match self.access.connect(endpoint).await {
            Ok(client) => client,
            Err(trouble) => return trouble,
        };
        loop {
            match self.follow(&client, endpoint).await {
                Left::Relist => self.followed.clear(),
                Left::Trouble(trouble) => {
                    if trouble.kind == Kind::Compacted {
                        self.followed.clear();
                    }
                    return trouble;
                }
            }
        }
    }

    /// Reads everything, unless a watch may go on where it was, and watches.
    async fn follow(&mut self, client: &Client, endpoint: usize) -> Left {
        let began = async {
            if self.followed.is_empty() {
                self.list(client, endpoint).await?;
            } else {
                let header = peek(client, &self.followed[0].0).await?;
                self.judge(endpoint, header).await?;
            }
            self.watch(client).await
        };
        let mut watches = match began.await {
            Ok(watches) => watches,
            Err(left) => return left,
        };
        loop {
            if let Err(left) = self.next(&mut watches).await {
                return left;
            }
        }
    }

    /// Believes an answer, or not.
    async fn judge(&mut self, endpoint: usize, header: Header) -> Result<(), Left> {
        match self.history.judge(endpoint, self.access.servers.len(), header) {
            Verdict::Goes => {
                self.book.with(move |book| book.follow(header)).await;
                Ok(())
            }
            Verdict::Stranger(why) => {
                let server = &self.access.servers[endpoint];
                tracing::warn!(source = "etcd", server, "not used: {why}");
                Err(Trouble::new(Kind::Away, why).into())
            }
            Verdict::Reset(why) => {
                tracing::warn!(
                    source = "etcd",
                    reason = "EtcdHistoryReset",
                    "{why}: reading everything again; pods that it does not have any more are kept"
                );
                self.book.with(move |book| book.reset(header)).await;
                Err(Left::Relist)
            }
        }
    }

    async fn list(&mut self, client: &Client, endpoint: usize) -> Result<(), Left> {
        let most = self.book.with(|book| book.most).await;
        let (mut seen, mut revision, mut more) = (Vec::new(), 0, false);
        let mut followed = Vec::new();
        for range in self.ranges.clone() {
            let mut pages = Pages::new(client, &range, revision);
            while pages.more() && seen.len() < most {
                let page = match pages.next().await {
                    Ok(Some(page)) => page,
                    Ok(None) => break,
                    Err(trouble) if self.may_do_without(&range, &trouble).await => break,
                    Err(trouble) => return Err(trouble.into()),
                };
                if revision == 0 {
                    // A history that is another one than before is followed from here on.
                    if let Err(left @ Left::Trouble(_)) = self.judge(endpoint, page.header).await {
                        return Err(left);
                    }
                    revision = page.header.revision;
                }
                if followed.last().is_none_or(|(last, _)| *last != range) {
                    followed.push((range.clone(), revision + 1));
                }
                seen.extend(self.book.with(move |book| book.read(&page.entries)).await);
            }
            more |= pages.more() && seen.len() >= most;
        }
        self.followed = followed;
        self.relist = Instant::now() + spread(self.pace.relist, 1.0 / 3.0, chance::fraction());
        let then = if more {
            self.book.with(move |book| book.listed_in_part(seen, revision)).await
        } else {
            self.book.with(move |book| book.listed(seen, revision)).await
        };
        self.then(&then);
        Ok(())
    }

    /// A role that may read this node's pods need not have the key of 2014, when that never held any.
    async fn may_do_without(&self, range: &Range, trouble: &Trouble) -> bool {
        let name = keys::name(range.key.as_bytes());
        let is_optional = !range.is_prefix && trouble.kind == Kind::Denied;
        is_optional && !self.book.with(move |book| book.manifests.has(&name)).await
    }

    async fn watch(&mut self, client: &Client) -> Result<Vec<Watch>, Left> {
        let mut watches = Vec::new();
        for (range, from) in &self.followed {
            watches.push(Watch::open(client, range, *from).await?);
        }
        self.watching_since = Some(Instant::now());
        // After a trouble, this is known again.
        let revision = self.history.revision().unwrap_or_default();
        let then = self.book.with(move |book| book.changed(Default::default(), revision)).await;
        self.then(&then);
        Ok(watches)
    }

    /// Waits for one thing to happen.
    async fn next(&mut self, watches: &mut [Watch]) -> Result<(), Left> {
        let messages = watches.iter_mut().map(|watch| Box::pin(watch.next()));
        let message = async {
            if messages.len() == 0 {
                return pending().await;
            }
            let (news, at, _) = select_all(messages).await;
            (at, news)
        };
        tokio::select! {
            (at, news) = message => self.told(at, news?).await,
            () = tokio::time::sleep_until(self.relist) => return Err(Left::Relist),
            () = self.wake.notified() => return Err(Left::Relist),
        }
        Ok(())
    }

    async fn told(&mut self, at: usize, news: News) {
        let News { changes, next } = news;
        if let Some((_, from)) = self.followed.get_mut(at) {
            *from = next.max(*from);
        }
        // What a watch told so far is one behind where it goes on, unless more of the same may come.
        let revision = if changes.is_empty() { next - 1 } else { next };
        self.history.advance(revision);
        let then = self.book.with(move |book| book.changed(changes, revision)).await;
        self.then(&then);
    }

    fn then(&mut self, then: &Then) {
        if then.again {
            self.relist = self.relist.min(Instant::now() + jittered(self.pace.second_look));
        }
    }
}

fn jittered(pause: Duration) -> Duration {
    spread(pause, 0.8, chance::fraction())
}
