//! The deletion brake: a change that would remove most of a source's pods is not believed at once.
//!
//! More than half of them, and more than three, has to be seen twice, the same both times. All of them has to be
//! said explicitly too (an empty directory), or allowed by `--allow-mass-delete`.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::model::PodKey;

/// A change that removes no more than so many is a day's work.
const ALWAYS: usize = 3;
/// How long after the first reading a second one counts: whoever is rewriting everything is done by then, and
/// whoever has made a mistake may have noticed.
pub const SECOND_LOOK: Duration = Duration::from_secs(5);

/// What is remembered between two readings.
#[derive(Default)]
pub struct Brake {
    /// The pods that were seen to be no longer declared, where they had been declared.
    missed: BTreeMap<PodKey, Missed>,
}

struct Missed {
    /// When that was seen first.
    since: Duration,
    /// It was seen again, long enough after.
    twice: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Go,
    /// Keep the pods and read again after [`SECOND_LOOK`].
    Again(String),
    /// Keep the pods until a person says otherwise.
    Held(String),
}

/// What speaks for a removal of all pods.
#[derive(Clone, Copy, Debug)]
pub struct Permits {
    /// The source says that it is empty.
    pub explicit: bool,
    /// A person allows it.
    pub allowed: bool,
    pub doubt: Doubt,
}

/// What speaks against a removal, however few pods it is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    None,
    /// They were read at another place than is read now.
    Moved,
    /// And that place declares nothing at all: it may be mistyped, or not mounted.
    Nothing,
}

impl Brake {
    /// `before`: how many pods there were; `removed`: which of them are no longer declared; `looked`: was the
    /// place that declared a pod looked at this time? Of several URLs each has its own time. `elapsed`: now,
    /// by a clock that never jumps.
    pub fn judge(
        &mut self,
        before: usize,
        removed: &BTreeSet<PodKey>,
        looked: impl Fn(&PodKey) -> bool,
        permits: Permits,
        elapsed: Duration,
    ) -> Verdict {
        let count = removed.len();
        let is_little = permits.doubt == Doubt::None && (count <= ALWAYS || count * 2 <= before);
        if permits.allowed || count == 0 || is_little {
            self.missed.clear();
            return Verdict::Go;
        }
        if permits.doubt == Doubt::Nothing {
            self.missed.clear();
            return Verdict::Held(format!(
                "{count} pods were read from another place than is read now, and this one declares none: is it mistyped, \
                 or not mounted? They are kept; start with --allow-mass-delete if they are meant to go"
            ));
        }
        if permits.doubt == Doubt::None && count == before && !permits.explicit {
            self.missed.clear();
            return Verdict::Held(format!(
                "all {count} pods would be removed although the source is not empty: they are kept; \
                 start with --allow-mass-delete if that is meant"
            ));
        }
        self.missed.retain(|key, _| removed.contains(key));
        for key in removed.iter().filter(|key| looked(key)) {
            let missed = self.missed.entry(key.clone()).or_insert(Missed { since: elapsed, twice: false });
            missed.twice |= elapsed.saturating_sub(missed.since) >= SECOND_LOOK;
        }
        if removed.iter().all(|key| self.missed.get(key).is_some_and(|missed| missed.twice)) {
            self.missed.clear();
            return Verdict::Go;
        }
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

    fn permits(explicit: bool, allowed: bool) -> Permits {
        Permits { explicit, allowed, doubt: Doubt::None }
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
                Brake::default().judge(
                    before,
                    &pods(removed),
                    |_| true,
                    permits(false, false),
                    Duration::ZERO
                ),
                Verdict::Go,
                "{before}"
            );
        }
    }

    #[test]
    fn most_go_after_a_second_equal_reading_only() {
        let mut brake = Brake::default();
        let mut judge = |second: u64, removed: &[&str]| {
            let elapsed = Duration::from_secs(second);
            goes(&brake.judge(5, &pods(removed), |_| true, permits(false, false), elapsed))
        };
        assert_eq!(judge(10, &["a", "b", "c", "d"]), 'a');
        assert_eq!(judge(15, &["a", "b", "c", "e"]), 'a', "another set starts over");
        assert_eq!(judge(19, &["a", "b", "c", "e"]), 'a', "so soon it may still be half of a change");
        assert_eq!(judge(20, &["a", "b", "c", "e"]), 'g');
        assert_eq!(judge(30, &["a", "b", "c", "e"]), 'a', "and is forgotten once it went");
        assert_eq!(judge(31, &[]), 'g', "a reading without removals ends it");
        assert_eq!(judge(60, &["a", "b", "c", "e"]), 'a');
    }

    #[test]
    fn a_second_reading_is_one_of_the_place_that_declared_them() {
        let (removed, mut brake) = (pods(&["a", "b", "c", "d"]), Brake::default());
        let mut judge = |second: u64, looked: &[&str]| {
            let (looked, elapsed) = (pods(looked), Duration::from_secs(second));
            goes(&brake.judge(5, &removed, |key| looked.contains(key), permits(false, false), elapsed))
        };
        assert_eq!(judge(0, &["a", "b"]), 'a');
        assert_eq!(judge(10, &["x"]), 'a', "another place says nothing of them");
        assert_eq!(judge(12, &["c", "d"]), 'a');
        assert_eq!(judge(20, &["a", "b"]), 'a');
        assert_eq!(judge(32, &["c", "d"]), 'g');
    }

    #[test]
    fn pods_of_another_place_go_after_a_second_reading_and_never_for_nothing() {
        let removed = pods(&["a"]);
        let judge = |brake: &mut Brake, second: u64, doubt: Doubt| {
            let permits = Permits { explicit: true, allowed: false, doubt };
            goes(&brake.judge(9, &removed, |_| true, permits, Duration::from_secs(second)))
        };
        let mut brake = Brake::default();
        assert_eq!(judge(&mut brake, 0, Doubt::Moved), 'a', "though it is but one");
        assert_eq!(judge(&mut brake, 5, Doubt::Moved), 'g');
        for hour in 0..3 {
            assert_eq!(judge(&mut brake, hour * 3600, Doubt::Nothing), 'h');
        }
        assert_eq!(judge(&mut brake, 9999, Doubt::None), 'g');
    }

    #[test]
    fn all_must_be_explicit_or_allowed() {
        let all = pods(&["a", "b", "c", "d"]);
        let mut brake = Brake::default();
        let mut judge = |second: u64, explicit: bool, allowed: bool| {
            let elapsed = Duration::from_secs(second);
            goes(&brake.judge(4, &all, |_| true, permits(explicit, allowed), elapsed))
        };
        for hour in 0..3 {
            assert_eq!(judge(hour * 3600, false, false), 'h');
        }
        assert_eq!(judge(9000, true, false), 'a');
        assert_eq!(judge(9005, true, false), 'g');
        assert_eq!(judge(9005, false, true), 'g');
    }
}
