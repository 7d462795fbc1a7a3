//! What happens to the keys of a range, from a revision on.
//!
//! One watch a stream: with several, a slow one starves the progress of the others (etcd#20242).

use std::collections::BTreeMap;
use std::time::Duration;

use etcd_client::{Client, EventType, WatchOptions, WatchResponse, WatchStream};

use crate::node::sources::etcd::connect::call;
use crate::node::sources::etcd::keys::Range;
use crate::node::sources::etcd::list::LARGEST;
use crate::node::sources::etcd::trouble::{Kind, Trouble};
use crate::node::sources::etcd::values::Entry;

/// A server that has lost many watches at once may take a new one and never begin it (etcd#18879).
const CREATED: Duration = Duration::from_secs(10);

pub struct Watch {
    range: Range,
    stream: WatchStream,
}

/// What a message says: what became of some keys (`None`: deleted), and how far the watch is.
pub struct News {
    pub changes: BTreeMap<Vec<u8>, Option<Entry>>,
    /// Where a later watch goes on.
    pub next: i64,
}

impl Watch {
    /// Begins, and waits until the server has begun.
    ///
    /// # Errors
    /// As the call has them. A revision that was compacted shows with the first message.
    pub async fn open(client: &Client, range: &Range, from: i64) -> Result<Self, Trouble> {
        // Large transactions come in pieces: `News::next` sees to it that none is lost. Progress tells that
        // there was nothing, every ten minutes by default; it is never asked for by hand, since servers of
        // old answer that ahead of the events (etcd#15220).
        let options = WatchOptions::new().with_start_revision(from).with_progress_notify().with_fragment();
        let options = if range.is_prefix { options.with_prefix() } else { options };
        let mut watcher = client.watch_client().max_decoding_message_size(LARGEST);
        let at = |trouble: Trouble| trouble.at(&range.key);
        let stream = call(watcher.watch(range.key.clone(), Some(options))).await.map_err(at)?;
        let mut watch = Self { range: range.clone(), stream };
        match tokio::time::timeout(CREATED, watch.message()).await {
            Ok(message) => {
                message?;
                Ok(watch)
            }
            Err(_) => Err(at(Trouble::new(
                Kind::Away,
                "it takes a watch and does not begin it: it may be overloaded",
            ))),
        }
    }

    /// Waits for the next message. May be dropped while it waits.
    ///
    /// # Errors
    /// The watch is over then.
    pub async fn next(&mut self) -> Result<News, Trouble> {
        let message = self.message().await?;
        let mut news = News { changes: BTreeMap::new(), next: 0 };
        for event in message.events() {
            let Some(kv) = event.kv() else { continue };
            let entry = match event.event_type() {
                EventType::Put => Some(Entry {
                    key: kv.key().to_vec(),
                    value: kv.value().to_vec(),
                    created: kv.create_revision(),
                }),
                EventType::Delete => None,
            };
            // More of the same revision may follow in another piece, so a later watch begins with it again:
            // what it has said already changes nothing.
            news.next = news.next.max(kv.mod_revision());
            news.changes.insert(kv.key().to_vec(), entry);
        }
        if news.changes.is_empty() {
            // All that comes is newer than this (`client/v3/watch.go` goes on from there too).
            news.next = message.header().map_or(0, |header| header.revision() + 1);
        }
        Ok(news)
    }

    async fn message(&mut self) -> Result<WatchResponse, Trouble> {
        let message = match self.stream.message().await {
            Ok(Some(message)) => message,
            Ok(None) => return Err(self.over(Trouble::new(Kind::Away, "it ended the watch"))),
            Err(error) => return Err(self.over(error.into())),
        };
        if message.compact_revision() > 0 {
            return Err(self.over(Trouble::of(0, "required revision has been compacted")));
        }
        // The stream stays open behind it, silent for ever.
        if message.canceled() {
            return Err(self.over(Trouble::of(0, message.cancel_reason())));
        }
        Ok(message)
    }

    fn over(&self, trouble: Trouble) -> Trouble {
        trouble.at(&self.range.key)
    }
}
