//! Reading all keys of a range, page by page, all as they were at one revision.

use etcd_client::{Client, GetOptions, KvClient};

use crate::node::sources::etcd::connect::call;
use crate::node::sources::etcd::history::Header;
use crate::node::sources::etcd::keys::Range;
use crate::node::sources::etcd::trouble::{Kind, Trouble};
use crate::node::sources::etcd::values::Entry;

/// Keys on a page, as the API server of Kubernetes asks for them.
const PAGE: i64 = 500;
/// The library refuses answers above 4 MiB, and a page of larger values would never be read. One value has
/// 1.5 MiB at most, unless the server was told otherwise.
pub const LARGEST: usize = 16 << 20;

pub struct Page {
    pub header: Header,
    pub entries: Vec<Entry>,
}

/// The pages of one range.
pub struct Pages {
    kv: KvClient,
    range: Range,
    /// Where the next page begins.
    from: Option<Vec<u8>>,
    /// The revision of all pages: that of the first one.
    revision: i64,
    size: i64,
}

impl Pages {
    /// As the keys were at a revision; at 0, as they are now, with a quorum behind it.
    pub fn new(client: &Client, range: &Range, revision: i64) -> Self {
        let kv = client.kv_client().max_decoding_message_size(LARGEST);
        let from = Some(range.key.clone().into_bytes());
        Self { kv, range: range.clone(), from, revision, size: PAGE }
    }

    /// There is more to read.
    pub fn more(&self) -> bool {
        self.from.is_some()
    }

    /// # Errors
    /// Also when the revision was compacted meanwhile: then all is to be read again.
    pub async fn next(&mut self) -> Result<Option<Page>, Trouble> {
        let Some(from) = self.from.clone() else { return Ok(None) };
        let page = loop {
            let mut options = GetOptions::new().with_limit(self.size).with_revision(self.revision);
            if self.range.is_prefix {
                options = options.with_range(after(self.range.key.as_bytes()));
            }
            match call(self.kv.get(from.clone(), Some(options))).await {
                // A page of large values: half of it, down to one.
                Err(trouble) if trouble.kind == Kind::TooLarge && self.size > 1 => self.size /= 2,
                answer => break answer.map_err(|trouble| trouble.at(&self.range.key))?,
            }
        };
        let header = header(page.header())?;
        self.revision = if self.revision == 0 { header.revision } else { self.revision };
        let entry = |kv: &etcd_client::KeyValue| Entry {
            key: kv.key().to_vec(),
            value: kv.value().to_vec(),
            created: kv.create_revision(),
        };
        let entries: Vec<Entry> = page.kvs().iter().map(entry).collect();
        // The smallest key behind a key is the same with a zero byte.
        let last = entries.last().filter(|_| page.more());
        self.from = last.map(|last| [&last.key[..], b"\0"].concat());
        Ok(Some(Page { header, entries }))
    }
}

/// Asks for nothing but the header, with a quorum behind it.
///
/// # Errors
/// As the call has them.
pub async fn peek(client: &Client, range: &Range) -> Result<Header, Trouble> {
    let options = GetOptions::new().with_count_only();
    let answer = call(client.kv_client().get(range.key.clone(), Some(options))).await;
    header(answer.map_err(|trouble| trouble.at(&range.key))?.header())
}

fn header(header: Option<&etcd_client::ResponseHeader>) -> Result<Header, Trouble> {
    let missing = || Trouble::new(Kind::Away, "its answer has no header: is this etcd?");
    let header = header.ok_or_else(missing)?;
    Ok(Header { cluster: header.cluster_id(), revision: header.revision() })
}

/// The first key behind all that begin with a prefix of ASCII: the last byte counted up.
fn after(prefix: &[u8]) -> Vec<u8> {
    let mut end = prefix.to_vec();
    if let Some(last) = end.last_mut() {
        *last += 1;
    }
    end
}
