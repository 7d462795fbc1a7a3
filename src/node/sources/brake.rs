//! The deletion brake: a change that would remove most of a source's pods is not believed at once.
//!
//! More than half of them, and more than three, has to be seen twice, the same both times. All of them has to be
//! said explicitly too (an empty directory), or allowed by `--allow-mass-delete`.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::PodKey;

/// A change that removes no more than so many is a day's work.
const ALWAYS: usize = 3;

/// What is remembered between two readings.
#[derive(Default)]
pub struct Brake {
    /// How often each pod was seen to be no longer declared, where it was declared.
    seen: BTreeMap<PodKey, u8>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Go,
    /// Keep the pods and read again after the settle time.
    Again(String),
    /// Keep the pods until a person says otherwise.
    Held(String),
}

impl Brake {
    /// `before`: how many pods there were; `removed`: which of them are no longer declared; `looked`: was the place
    /// that declared a pod looked at this time? Of several URLs each has its own time.
    pub fn judge(
        &mut self,
        before: usize,
        removed: &BTreeSet<PodKey>,
        looked: impl Fn(&PodKey) -> bool,
        explicit: bool,
        allowed: bool,
    ) -> Verdict {
        let count = removed.len();
        if allowed || count <= ALWAYS || count * 2 <= before {
            self.seen.clear();
            return Verdict::Go;
        }
        if count == before && !explicit {
            self.seen.clear();
            return Verdict::Held(format!(
                "all {count} pods would be removed although the source is not empty: they are kept; \
                 start with --allow-mass-delete if that is meant"
            ));
        }
        let times =
            |key: &PodKey| self.seen.get(key).copied().unwrap_or(0).saturating_add(looked(key).into());
        let seen: BTreeMap<PodKey, u8> = removed.iter().map(|key| (key.clone(), times(key))).collect();
        if seen.values().all(|times| *times >= 2) {
            self.seen.clear();
            return Verdict::Go;
        }
        self.seen = seen;
        Verdict::Again(format!(
            "{count} of {before} pods would be removed: waiting for a second, equal reading"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pods(names: &[&str]) -> BTreeSet<PodKey> {
        names.iter().map(|name| PodKey::new("default", name)).collect()
    }

    fn goes(verdict: &Verdict) -> char {
        match verdict {
            Verdict::Go => 'g',
            Verdict::Again(_) => 'a',
            Verdict::Held(_) => 'h',
        }
    }

    #[test]
    fn few_or_less_than_half_go_at_once() {
        for (before, removed) in [(3, &["a", "b", "c"][..]), (8, &["a", "b", "c", "d"]), (1, &["a"])] {
            assert_eq!(
                Brake::default().judge(before, &pods(removed), |_| true, false, false),
                Verdict::Go,
                "{before}"
            );
        }
    }

    #[test]
    fn most_go_after_a_second_equal_reading_only() {
        let mut brake = Brake::default();
        let mut judge = |removed: &[&str]| goes(&brake.judge(5, &pods(removed), |_| true, false, false));
        assert_eq!(judge(&["a", "b", "c", "d"]), 'a');
        assert_eq!(judge(&["a", "b", "c", "e"]), 'a', "another set starts over");
        assert_eq!(judge(&["a", "b", "c", "e"]), 'g');
        assert_eq!(judge(&["a", "b", "c", "e"]), 'a', "and is forgotten once it went");
        assert_eq!(judge(&[]), 'g', "a reading without removals ends it");
        assert_eq!(judge(&["a", "b", "c", "e"]), 'a');
    }

    #[test]
    fn a_second_reading_is_one_of_the_place_that_declared_them() {
        let (removed, mut brake) = (pods(&["a", "b", "c", "d"]), Brake::default());
        let mut judge = |looked: &[&str]| {
            let looked = pods(looked);
            goes(&brake.judge(5, &removed, |key| looked.contains(key), false, false))
        };
        assert_eq!(judge(&["a", "b"]), 'a');
        assert_eq!(judge(&["x"]), 'a', "another place says nothing of them");
        assert_eq!(judge(&["c", "d"]), 'a');
        assert_eq!(judge(&["a", "b"]), 'a');
        assert_eq!(judge(&["c", "d"]), 'g');
    }

    #[test]
    fn all_must_be_explicit_or_allowed() {
        let all = pods(&["a", "b", "c", "d"]);
        let mut brake = Brake::default();
        for _ in 0..3 {
            assert_eq!(goes(&brake.judge(4, &all, |_| true, false, false)), 'h');
        }
        assert_eq!(goes(&brake.judge(4, &all, |_| true, true, false)), 'a');
        assert_eq!(goes(&brake.judge(4, &all, |_| true, true, false)), 'g');
        assert_eq!(goes(&brake.judge(4, &all, |_| true, false, true)), 'g');
    }
}
