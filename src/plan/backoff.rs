//! Back-off: how long after a failure or an exit the next try may come.
//!
//! Delays are capped, the number of tries never is.

use std::time::Duration;

use crate::model::Time;
use crate::plan::ledger::{Ended, Failure, Memo, Trouble};
use crate::plan::{Instance, Observed, Role};

/// Source: the kubelet's `MaxContainerBackOff` and its initial 10 s (`pkg/kubelet/kubelet.go`).
const CAP: Duration = Duration::from_secs(300);

/// A run of this length clears the count of restarts, as in the kubelet (2 × the cap).
const GOOD_RUN: Duration = Duration::from_secs(600);

/// Doubles from `first`, never above `cap`; nothing before the first try.
fn doubled(first: Duration, tries: u32, cap: Duration) -> Duration {
    match tries {
        0 => Duration::ZERO,
        n => first.saturating_mul(1_u32.checked_shl(n - 1).unwrap_or(u32::MAX)).min(cap),
    }
}

/// From the exit to the restart of a container: 0, 10 s, 20 s, 40 s … 300 s.
pub fn restart_delay(streak: u32) -> Duration {
    doubled(Duration::from_secs(10), streak, CAP)
}

/// From one sandbox to the next: gentle, because an engine restart takes all sandboxes with it and is not
/// the pod's fault.
pub fn sandbox_delay(streak: u32) -> Duration {
    doubled(Duration::from_secs(1), streak, CAP)
}

/// An engine that was killed in the middle of a start can refuse that container for ever ("task already
/// exists"): after so many tries another is made.
const TRIES: u32 = 3;

impl Failure {
    /// True when this very container is not worth another try.
    pub fn is_hopeless(&self, instance: &Instance) -> bool {
        let is_of_it = instance.created_at.is_some_and(|created| self.at > created);
        is_of_it && self.trouble == Trouble::EngineError && self.count >= TRIES
    }

    /// When the same may be tried again.
    pub fn retry_at(&self) -> Time {
        let (first, cap) = match self.trouble {
            // Soon, and seldom for long.
            Trouble::EngineError | Trouble::ErrImageInspect => (1, 30),
            // A port or a name is freed by somebody else at any moment.
            Trouble::PortConflict | Trouble::NameConflict | Trouble::NameStuck => (1, 300),
            Trouble::CreatePodSandboxError
            | Trouble::CreateContainerError
            | Trouble::RunContainerError
            | Trouble::StopContainerError
            | Trouble::RemoveContainerError
            | Trouble::UpdateContainerError
            | Trouble::InspectContainerError
            | Trouble::ErrImagePull => (10, 300),
        };
        self.at + doubled(Duration::from_secs(first), self.count, Duration::from_secs(cap))
    }
}

/// Did this run last long enough to be no part of a crash loop?
pub fn was_good(started_at: Option<Time>, finished_at: Time) -> bool {
    started_at.is_some_and(|started| finished_at.since(started) >= GOOD_RUN)
}

/// Restarts in a row, counting the one that makes `next`. Called when `next` has just been created, before
/// it is among the observed.
pub fn streak_of_next(observed: &Observed, next: &Instance) -> u32 {
    let memo = observed.ledger.memo(&next.uid, next.role.name());
    match &next.role {
        Role::Sandbox => sandbox_streak(memo, next, observed.at),
        Role::Container(_) => container_streak(observed, memo, next),
    }
}

fn sandbox_streak(memo: Option<&Memo>, next: &Instance, at: Time) -> u32 {
    match memo {
        Some(Memo { created_at: Some(created), made: Some(made), streak, .. })
            if *made == next.fingerprint =>
        {
            if at.since(*created) >= GOOD_RUN {
                1
            } else {
                streak + 1
            }
        }
        Some(_) | None => 0,
    }
}

fn container_streak(observed: &Observed, memo: Option<&Memo>, next: &Instance) -> u32 {
    let Some(Memo { ended: Some(ended), streak, .. }) = memo else { return 0 };
    let pod = observed.pods.get(&next.pod);
    let last = pod.and_then(|pod| pod.instances.iter().find(|known| known.role == next.role));
    match last {
        _ if ended.fingerprint != next.fingerprint => 0,
        // It ended because its sandbox did: no crash.
        Some(last) if last.network_mode != next.network_mode => *streak,
        Some(_) | None => streak_after(ended, *streak) + 1,
    }
}

/// The restarts in a row that still count after this end.
pub fn streak_after(ended: &Ended, streak: u32) -> u32 {
    if was_good(ended.started_at, ended.at) { 0 } else { streak }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn restarts_wait_longer_and_longer_and_never_above_five_minutes() {
        let waits: Vec<u64> = (0..10).map(|streak| restart_delay(streak).as_secs()).collect();
        assert_eq!(waits, [0, 10, 20, 40, 80, 160, 300, 300, 300, 300]);
        assert_eq!(restart_delay(u32::MAX), CAP);
    }
}
