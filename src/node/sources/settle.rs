//! When has a file settled? A writer that is half-way must not be read, an editor that swaps files must not
//! look like a deletion.
//!
//! Pure: stamps and times in, verdicts out. A file counts once nothing about it has changed for [`SETTLE`];
//! its disappearance counts after the same time.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::model::Time;

/// Longer than an editor's or a copy's pause between two writes, shorter than a person's patience.
pub const SETTLE: Duration = Duration::from_millis(500);

/// What `stat` says of a file: any write changes it. The change time cannot be set by hand, so an edit that
/// keeps size and modification time is seen too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    pub inode: (u64, u64),
    pub size: u64,
    pub modified: Time,
    pub changed: Time,
}

/// Now, by the wall clock (to compare with stamps) and by the monotonic one (to measure).
#[derive(Clone, Copy, Debug)]
pub struct Now {
    pub wall: Time,
    pub elapsed: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// As it was when it was last accepted.
    Same,
    /// It changed and has settled.
    Read,
    /// It is still changing; look again after this time.
    Wait(Duration),
    /// It is gone for good.
    Gone,
}

/// What is remembered of each file.
#[derive(Default)]
pub struct Settling {
    files: BTreeMap<Arc<str>, Track>,
}

#[derive(Default)]
struct Track {
    accepted: Option<Stamp>,
    /// A stamp that is not accepted yet, and since when it has been the same.
    candidate: Option<(Stamp, Duration)>,
    gone_since: Option<Duration>,
}

impl Settling {
    /// A file that is there.
    pub fn present(&mut self, file: &Arc<str>, stamp: Stamp, now: Now) -> Verdict {
        let track = self.files.entry(file.clone()).or_default();
        track.gone_since = None;
        if track.accepted == Some(stamp) {
            track.candidate = None;
            return Verdict::Same;
        }
        let since = match track.candidate {
            Some((candidate, since)) if candidate == stamp => since,
            _ => now.elapsed,
        };
        track.candidate = Some((stamp, since));
        // An old stamp needs no second look, unless a clock that went back makes it seem to be of the future.
        let by_stamp = now.wall.since(stamp.changed).min(now.wall.since(stamp.modified));
        let unchanged_for = by_stamp.max(now.elapsed.saturating_sub(since));
        match SETTLE.checked_sub(unchanged_for) {
            None | Some(Duration::ZERO) => Verdict::Read,
            Some(left) => Verdict::Wait(left),
        }
    }

    /// A file that is known and not there now.
    pub fn absent(&mut self, file: &Arc<str>, now: Now) -> Verdict {
        let Some(track) = self.files.get_mut(file) else { return Verdict::Gone };
        let since = *track.gone_since.get_or_insert(now.elapsed);
        match SETTLE.checked_sub(now.elapsed.saturating_sub(since)) {
            None | Some(Duration::ZERO) => {
                self.files.remove(file);
                Verdict::Gone
            }
            Some(left) => Verdict::Wait(left),
        }
    }

    /// This version was read.
    pub fn accept(&mut self, file: &Arc<str>, stamp: Stamp) {
        let track = self.files.entry(file.clone()).or_default();
        track.accepted = Some(stamp);
        track.candidate = None;
    }

    /// The files that were seen and are not known to be gone.
    pub fn files(&self) -> Vec<Arc<str>> {
        self.files.keys().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(size: u64, changed: i64) -> Stamp {
        Stamp { inode: (1, 1), size, modified: Time(changed), changed: Time(changed) }
    }

    fn at(millis: i64) -> Now {
        Now { wall: Time(1_000_000 + millis), elapsed: Duration::from_millis(millis.try_into().unwrap()) }
    }

    fn wait(millis: u64) -> Verdict {
        Verdict::Wait(Duration::from_millis(millis))
    }

    #[test]
    fn a_file_that_grows_is_read_once_it_has_stopped() {
        let (mut files, web) = (Settling::default(), Arc::from("web.yaml"));
        assert_eq!(files.present(&web, stamp(10, 1_000_000), at(0)), wait(500));
        assert_eq!(files.present(&web, stamp(20, 1_000_300), at(300)), wait(500));
        assert_eq!(files.present(&web, stamp(20, 1_000_300), at(500)), wait(300));
        assert_eq!(files.present(&web, stamp(20, 1_000_300), at(800)), Verdict::Read);
        files.accept(&web, stamp(20, 1_000_300));
        assert_eq!(files.present(&web, stamp(20, 1_000_300), at(900)), Verdict::Same);
    }

    #[test]
    fn an_old_file_is_read_at_once() {
        assert_eq!(
            Settling::default().present(&Arc::from("web.yaml"), stamp(10, 5_000), at(0)),
            Verdict::Read
        );
    }

    #[test]
    fn a_stamp_from_the_future_is_believed_after_half_a_second_of_ours() {
        let (mut files, web) = (Settling::default(), Arc::from("web.yaml"));
        assert_eq!(files.present(&web, stamp(10, 9_000_000), at(0)), wait(500));
        assert_eq!(files.present(&web, stamp(10, 9_000_000), at(500)), Verdict::Read);
    }

    #[test]
    fn a_swap_of_files_is_not_a_deletion() {
        let (mut files, web) = (Settling::default(), Arc::from("web.yaml"));
        files.accept(&web, stamp(10, 5_000));
        assert_eq!(files.absent(&web, at(1000)), wait(500));
        assert_eq!(files.present(&web, stamp(11, 6_000), at(1200)), Verdict::Read);
        files.accept(&web, stamp(11, 6_000));
        assert_eq!(files.absent(&web, at(2000)), wait(500), "the first absence is forgotten");
        assert_eq!(files.absent(&web, at(2500)), Verdict::Gone);
        assert!(files.files().is_empty());
    }
}
