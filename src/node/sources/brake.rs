//! The deletion brake: a change that would remove most of a source's pods is not believed at once.
//!
//! More than half of them, and more than three, has to be seen twice, the same both times. All of them has to be
//! said explicitly too (an empty directory), or allowed by `--allow-mass-delete`.

use std::collections::BTreeSet;
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
    /// What would have been removed, and since when that has been the same.
    seen_once: Option<(BTreeSet<PodKey>, Duration)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Go,
    /// Keep the pods and read again after [`SECOND_LOOK`].
    Again(String),
    /// Keep the pods until a person says otherwise.
    Held(String),
}

impl Brake {
    /// `before`: how many pods there were; `removed`: which of them are no longer declared;
    /// `elapsed`: now, by a clock that never jumps.
    pub fn judge(
        &mut self,
        before: usize,
        removed: BTreeSet<PodKey>,
        explicit: bool,
        allowed: bool,
        elapsed: Duration,
    ) -> Verdict {
        let count = removed.len();
        if allowed || count <= ALWAYS || count * 2 <= before {
            self.seen_once = None;
            return Verdict::Go;
        }
        if count == before && !explicit {
            self.seen_once = None;
            return Verdict::Held(format!(
                "all {count} pods would be removed although the source is not empty: they are kept; \
                 start with --allow-mass-delete if that is meant"
            ));
        }
        let since = match self.seen_once.take() {
            Some((same, since)) if same == removed => since,
            Some(_) | None => elapsed,
        };
        if elapsed.saturating_sub(since) >= SECOND_LOOK {
            return Verdict::Go;
        }
        self.seen_once = Some((removed, since));
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
                Brake::default().judge(before, pods(removed), false, false, Duration::ZERO),
                Verdict::Go,
                "{before}"
            );
        }
    }

    #[test]
    fn most_go_after_a_second_equal_reading_only() {
        let mut brake = Brake::default();
        let mut judge = |second: u64, removed: &[&str]| {
            goes(&brake.judge(5, pods(removed), false, false, Duration::from_secs(second)))
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
    fn all_must_be_explicit_or_allowed() {
        let all = pods(&["a", "b", "c", "d"]);
        let mut brake = Brake::default();
        let mut judge = |second: u64, explicit: bool, allowed: bool| {
            goes(&brake.judge(4, all.clone(), explicit, allowed, Duration::from_secs(second)))
        };
        for hour in 0..3 {
            assert_eq!(judge(hour * 3600, false, false), 'h');
        }
        assert_eq!(judge(9000, true, false), 'a');
        assert_eq!(judge(9005, true, false), 'g');
        assert_eq!(judge(9005, false, true), 'g');
    }
}
