//! A server that answers with two versions in turn must not restart pods at every poll.
//!
//! Pure. Two servers behind one name, one of them behind the other, do that. A version that was never seen counts at
//! once; one that was replaced counts again only when it has been gone for a while.

use std::collections::BTreeMap;
use std::time::Duration;

/// No pod is restarted more often than this because a server cannot decide.
pub const GONE_FOR: Duration = Duration::from_secs(60);

/// What one URL said, by the digest of its content.
#[derive(Default)]
pub struct Flapping {
    current: Option<u128>,
    /// When each was replaced. Older than [`GONE_FOR`] is forgotten.
    replaced: BTreeMap<u128, Duration>,
}

impl Flapping {
    /// May this version be taken now? Otherwise how long it was gone. `now` is of a clock that only goes on.
    pub fn judge(&mut self, version: u128, now: Duration) -> Result<(), Duration> {
        self.replaced.retain(|_, replaced| now.saturating_sub(*replaced) < GONE_FOR);
        if self.current == Some(version) {
            return Ok(());
        }
        if let Some(replaced) = self.replaced.get(&version) {
            return Err(now.saturating_sub(*replaced));
        }
        if let Some(before) = self.current.replace(version) {
            self.replaced.insert(before, now);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which version is in force at each poll.
    fn in_force(polls: &[(u64, u128)]) -> Vec<u128> {
        let mut flapping = Flapping::default();
        let mut judge = |&(second, version): &(u64, u128)| {
            let _ = flapping.judge(version, Duration::from_secs(second));
            flapping.current.unwrap()
        };
        polls.iter().map(&mut judge).collect()
    }

    #[test]
    fn h14_two_versions_in_turn_change_at_most_once_a_minute() {
        let polls: Vec<(u64, u128)> = (0..10).map(|poll| (poll * 20, (poll % 2).into())).collect();
        assert_eq!(in_force(&polls), [0, 1, 1, 1, 0, 0, 0, 1, 1, 1]);
    }

    #[test]
    fn new_versions_count_at_once_and_a_step_back_after_a_minute() {
        assert_eq!(in_force(&[(0, 1), (1, 2), (2, 3), (3, 3)]), [1, 2, 3, 3]);
        assert_eq!(in_force(&[(0, 1), (10, 2), (30, 1), (50, 1), (70, 1)]), [1, 2, 2, 2, 1]);
    }
}
