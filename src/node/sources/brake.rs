//! The deletion brake: a change that would remove most of a source's pods is not believed at once.
//!
//! More than half of them, and more than three, has to be seen twice, the same both times. All of them has to be
//! said explicitly too (an empty directory), or allowed by `--allow-mass-delete`.

use std::collections::BTreeSet;

use crate::model::PodKey;

/// A change that removes no more than so many is a day's work.
const ALWAYS: usize = 3;

/// What is remembered between two readings.
#[derive(Default)]
pub struct Brake {
    seen_once: Option<BTreeSet<PodKey>>,
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
    /// `before`: how many pods there were; `removed`: which of them are no longer declared.
    pub fn judge(
        &mut self,
        before: usize,
        removed: BTreeSet<PodKey>,
        explicit: bool,
        allowed: bool,
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
        if self.seen_once.as_ref() == Some(&removed) {
            self.seen_once = None;
            return Verdict::Go;
        }
        self.seen_once = Some(removed);
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
            assert_eq!(Brake::default().judge(before, pods(removed), false, false), Verdict::Go, "{before}");
        }
    }

    #[test]
    fn most_go_after_a_second_equal_reading_only() {
        let mut brake = Brake::default();
        let mut judge = |removed: &[&str]| goes(&brake.judge(5, pods(removed), false, false));
        assert_eq!(judge(&["a", "b", "c", "d"]), 'a');
        assert_eq!(judge(&["a", "b", "c", "e"]), 'a', "another set starts over");
        assert_eq!(judge(&["a", "b", "c", "e"]), 'g');
        assert_eq!(judge(&["a", "b", "c", "e"]), 'a', "and is forgotten once it went");
        assert_eq!(judge(&[]), 'g', "a reading without removals ends it");
        assert_eq!(judge(&["a", "b", "c", "e"]), 'a');
    }

    #[test]
    fn all_must_be_explicit_or_allowed() {
        let all = pods(&["a", "b", "c", "d"]);
        let mut brake = Brake::default();
        for _ in 0..3 {
            assert_eq!(goes(&brake.judge(4, all.clone(), false, false)), 'h');
        }
        assert_eq!(goes(&brake.judge(4, all.clone(), true, false)), 'a');
        assert_eq!(goes(&brake.judge(4, all.clone(), true, false)), 'g');
        assert_eq!(goes(&brake.judge(4, all, false, true)), 'g');
    }
}
