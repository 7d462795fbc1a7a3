//! When the ledger goes to disk: soon after it changed, never in the way of an action.

use std::time::Duration;

use tokio::time::Instant;

use crate::node::state::StateDir;
use crate::plan::Ledger;

/// A changed ledger is on disk after this time at the latest.
const DELAY: Duration = Duration::from_secs(1);
/// While the disk cannot be written.
const RETRY: Duration = Duration::from_secs(10);

pub(super) struct Checkpoint {
    saved: Ledger,
    due: Option<Instant>,
}

impl Checkpoint {
    /// `saved` is what the disk holds.
    pub fn new(saved: Ledger) -> Self {
        Self { saved, due: None }
    }

    /// When [`Checkpoint::tend`] wants to be called at the latest.
    pub fn due(&self) -> Option<Instant> {
        self.due
    }

    pub fn tend(&mut self, state: &StateDir, ledger: &Ledger) {
        match self.due {
            Some(due) if due > Instant::now() => {}
            Some(_) => {
                self.due = None;
                self.finish(state, ledger);
            }
            None if !same(&self.saved, ledger) => self.due = Some(Instant::now() + DELAY),
            None if state.trouble().is_some() => self.due = Some(Instant::now() + RETRY),
            None => {}
        }
    }

    /// Writes what is not written yet. A failure is told by the state directory, once.
    pub fn finish(&mut self, state: &StateDir, ledger: &Ledger) {
        state.settle();
        if same(&self.saved, ledger) {
            return;
        }
        match state.write_ledger(ledger) {
            Ok(()) => self.saved = ledger.clone(),
            Err(_) => self.due = Some(Instant::now() + RETRY),
        }
    }
}

/// By identity first: most rounds change nothing in it.
fn same(old: &Ledger, new: &Ledger) -> bool {
    old.pods.ptr_eq(&new.pods) && old.pulls.ptr_eq(&new.pulls) || old == new
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Uid;

    #[tokio::test(flavor = "current_thread")]
    async fn a_change_is_written_when_it_is_due_and_at_the_end() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(dir.path(), "n").unwrap();
        let ledger = |uid: &str| Ledger {
            pods: im::OrdMap::unit(Uid(uid.into()), Default::default()),
            ..Ledger::default()
        };
        let mut checkpoint = Checkpoint::new(Ledger::default());
        checkpoint.tend(&state, &Ledger::default());
        assert_eq!(checkpoint.due(), None);
        checkpoint.tend(&state, &ledger("a"));
        assert!(checkpoint.due().is_some_and(|due| due <= Instant::now() + DELAY));
        assert_eq!(state.ledger(), Ledger::default(), "not yet");
        checkpoint.due = Some(Instant::now());
        checkpoint.tend(&state, &ledger("a"));
        assert_eq!((state.ledger(), checkpoint.due()), (ledger("a"), None));
        checkpoint.finish(&state, &ledger("b"));
        assert_eq!(state.ledger(), ledger("b"));
    }
}
