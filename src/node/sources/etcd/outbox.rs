//! What is to be written to etcd: what differs from what was written, and what happened meanwhile. Pure.

use std::collections::{BTreeMap, VecDeque};

/// So many events wait for etcd; older ones are dropped.
const MOST_EVENTS: usize = 256;
/// Of one transaction: etcd takes 128 operations and 1.5 MiB (`--max-txn-ops`, `--max-request-bytes`).
const OPERATIONS: usize = 100;
const BYTES: usize = 512 << 10;

/// Values that are written as long as they hold, by key; and events, each written once.
#[derive(Default)]
pub struct Outbox {
    wanted: BTreeMap<String, String>,
    /// As etcd has them, under the present lease.
    written: BTreeMap<String, String>,
    events: VecDeque<(String, String)>,
}

/// One thing to write: a value, or that a key is gone.
pub type Write = (String, Option<String>);

impl Outbox {
    /// What holds now, in place of what held before. What was not written in between is never written.
    pub fn want(&mut self, wanted: BTreeMap<String, String>) {
        self.wanted = wanted;
    }

    pub fn add_event(&mut self, key: String, value: String) {
        if self.events.len() == MOST_EVENTS {
            self.events.pop_front();
        }
        self.events.push_back((key, value));
    }

    /// The lease is gone, and all that was written under it.
    pub fn lost(&mut self) {
        self.written.clear();
    }

    /// The next transaction of values; nothing when all is as it should be.
    pub fn values(&self) -> Vec<Write> {
        let new = self.wanted.iter().filter(|(key, value)| self.written.get(*key) != Some(value));
        let new = new.map(|(key, value)| (key.clone(), Some(value.clone())));
        let gone = self.written.keys().filter(|key| !self.wanted.contains_key(*key));
        limited(new.chain(gone.map(|key| (key.clone(), None))))
    }

    /// The next transaction of events, the oldest first.
    pub fn events(&self) -> Vec<Write> {
        limited(self.events.iter().map(|(key, value)| (key.clone(), Some(value.clone()))))
    }

    pub fn wrote_values(&mut self, writes: Vec<Write>) {
        for (key, value) in writes {
            match value {
                Some(value) => self.written.insert(key, value),
                None => self.written.remove(&key),
            };
        }
    }

    pub fn wrote_events(&mut self, writes: &[Write]) {
        self.events.retain(|(key, _)| !writes.iter().any(|(written, _)| written == key));
    }
}

/// As many as fit, one at least.
fn limited(writes: impl Iterator<Item = Write>) -> Vec<Write> {
    let mut bytes = 0;
    let fits = |(at, (key, value)): &(usize, Write)| {
        bytes += key.len() + value.as_ref().map_or(0, String::len);
        *at == 0 || (*at < OPERATIONS && bytes <= BYTES)
    };
    writes.enumerate().take_while(fits).map(|(_, write)| write).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(list: &[(&str, &str)]) -> BTreeMap<String, String> {
        list.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    fn shown(writes: &[Write]) -> String {
        let one = |(key, value): &Write| format!("{key}={}", value.as_deref().unwrap_or("-"));
        writes.iter().map(one).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_value_is_written_when_it_changed_and_all_are_under_a_new_lease() {
        let mut outbox = Outbox::default();
        outbox.want(values(&[("a", "1"), ("b", "1")]));
        let writes = outbox.values();
        assert_eq!(shown(&writes), "a=1 b=1");
        assert_eq!(shown(&outbox.values()), "a=1 b=1", "until it is said to be written");
        outbox.wrote_values(writes);
        assert_eq!(shown(&outbox.values()), "");
        outbox.want(values(&[("a", "2"), ("c", "1")]));
        outbox.want(values(&[("a", "3"), ("c", "1")]));
        let writes = outbox.values();
        assert_eq!(shown(&writes), "a=3 c=1 b=-");
        outbox.wrote_values(writes);
        assert_eq!(shown(&outbox.values()), "");
        outbox.lost();
        assert_eq!(shown(&outbox.values()), "a=3 c=1");
    }

    #[test]
    fn a_transaction_has_so_many_operations_and_bytes_and_one_at_least() {
        let mut outbox = Outbox::default();
        let many: BTreeMap<String, String> = (0..250).map(|i| (format!("{i:03}"), "x".into())).collect();
        outbox.want(many);
        let mut sizes = Vec::new();
        loop {
            let writes = outbox.values();
            if writes.is_empty() {
                break;
            }
            sizes.push(writes.len());
            outbox.wrote_values(writes);
        }
        assert_eq!(sizes, [100, 100, 50]);
        let large = "x".repeat(300 << 10);
        outbox.want(values(&[("a", &large), ("b", &large.repeat(3)), ("c", &large)]));
        outbox.lost();
        assert_eq!(outbox.values().len(), 1);
    }

    #[test]
    fn events_wait_in_order_and_the_oldest_are_dropped() {
        let mut outbox = Outbox::default();
        for i in 0..300 {
            outbox.add_event(format!("{i:03}"), "x".into());
        }
        let writes = outbox.events();
        assert_eq!((writes.len(), writes[0].0.as_str()), (100, "044"));
        outbox.wrote_events(&writes);
        assert_eq!(outbox.events()[0].0, "144");
    }
}
