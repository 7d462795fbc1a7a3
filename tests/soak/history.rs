//! What was declared, one state of each pod after the other. Whatever an agent is told has to be a state of this
//! history, and to come after the one that it was told before.
//!
//! So one rule finds a pod that is missing and was not deleted, one that returns after its deletion, and one that goes
//! back to an older version: every state but "not there" occurs once only.

use std::collections::BTreeMap;

/// The image of a pod; `None` when there is no such pod.
pub type State = Option<String>;

#[derive(Default)]
pub struct Histories(BTreeMap<String, History>);

struct History {
    states: Vec<State>,
    /// The last one that was seen.
    seen: usize,
    /// How many versions of it were seen: it starts so many times.
    versions: usize,
}

impl Histories {
    /// To be called before it is done: nothing is seen before it is declared.
    pub fn declare(&mut self, pod: &str, state: State) {
        let begin = || History { states: vec![None], seen: 0, versions: 0 };
        self.0.entry(pod.to_owned()).or_insert_with(begin).states.push(state);
    }

    /// Takes in everything that an agent is told now, and returns which pods are another version than before.
    ///
    /// # Errors
    /// What cannot be.
    pub fn see(&mut self, told: &BTreeMap<String, String>) -> Result<Vec<String>, String> {
        if let Some(stranger) = told.keys().find(|pod| !self.0.contains_key(*pod)) {
            return Err(format!("{stranger} was never declared"));
        }
        let mut moved = Vec::new();
        for (pod, history) in &mut self.0 {
            let now = told.get(pod).cloned();
            let rest = &history.states[history.seen..];
            let Some(steps) = rest.iter().position(|state| *state == now) else {
                return Err(format!(
                    "{pod} is {now:?} now: it was {:?} before, and since then only {rest:?} were declared",
                    rest[0]
                ));
            };
            if steps > 0 {
                history.seen += steps;
                history.versions += usize::from(now.is_some());
                moved.push(pod.clone());
            }
        }
        Ok(moved)
    }

    /// Pods whose last state was not seen yet.
    pub fn behind(&self) -> Vec<&str> {
        let behind = |history: &History| history.states.last() != Some(&history.states[history.seen]);
        self.0.iter().filter(|(_, history)| behind(history)).map(|(pod, _)| pod.as_str()).collect()
    }

    /// How many versions of each pod were seen.
    pub fn versions(&self) -> impl Iterator<Item = (&str, usize)> {
        self.0.iter().map(|(pod, history)| (pod.as_str(), history.versions))
    }

    pub fn versions_of(&self, pod: &str) -> usize {
        self.0.get(pod).map_or(0, |history| history.versions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether it is right to be told these one after the other, of a pod that was `1`, `2`, away, and `3`.
    fn may_be_told(told: &[&str]) -> bool {
        let mut histories = Histories::default();
        for state in [Some("1"), Some("2"), None, Some("3")] {
            histories.declare("a", state.map(str::to_owned));
        }
        let pods = |image: &&str| match *image {
            "" => BTreeMap::new(),
            image => BTreeMap::from([("a".to_owned(), image.to_owned())]),
        };
        told.iter().all(|image| histories.see(&pods(image)).is_ok())
    }

    #[test]
    fn states_may_be_skipped_and_never_come_again() {
        for told in [&["1", "2", "", "3"][..], &["", "1", "1", "3"], &["2", "", "", "3"], &["", "", "3"]] {
            assert!(may_be_told(told), "{told:?}");
        }
        for told in [&["2", "1"][..], &["1", "", "2"], &["3", ""], &["1", "", "1"], &["4"]] {
            assert!(!may_be_told(told), "{told:?}");
        }
    }
}
