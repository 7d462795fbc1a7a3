//! What a source says goes to the store, what is new about it to the log, and its last good state to the disk.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::model::read::{Diagnosis, Severity};
use crate::model::{Place, Time, age};
use crate::node::clock::Clock;
use crate::node::keep::Kept;
use crate::node::sources::reading::Remembered;
use crate::node::store::{SourceReport, Writer};
use crate::plan::{Slot, SourceKind};

/// So many diagnoses of one reading are logged: thousands of wrong keys must not drown everything else.
const AT_ONCE: usize = 10;

/// Says what one source says, and says it once.
pub struct Publisher {
    writer: Writer,
    clock: Clock,
    kept: Kept<Remembered>,
    /// What was said last.
    slot: Option<Slot>,
    reports: Vec<SourceReport>,
    /// What was said last is not on disk.
    unkept: bool,
    /// Since when an origin cannot be read.
    away: BTreeMap<String, Time>,
}

impl Publisher {
    pub fn new(writer: Writer, kept: Kept<Remembered>, clock: Clock) -> Self {
        Self { writer, clock, kept, slot: None, reports: Vec::new(), unkept: false, away: BTreeMap::new() }
    }

    /// What an earlier agent kept, to go on from.
    pub fn recall(&self) -> Option<Remembered> {
        self.kept.load()
    }

    /// Tells the store, and wakes the agent when anything but the time of reading is new. The disk comes
    /// after the agent was told: one that is slow or full holds up no pod.
    pub fn publish(
        &mut self,
        slot: Slot,
        mut reports: Vec<SourceReport>,
        remember: impl FnOnce() -> Remembered,
    ) {
        let now = self.clock.now();
        for report in &mut reports {
            let old = self.reports.iter().find(|old| old.origin == report.origin);
            log(self.writer.kind(), old.unwrap_or(&SourceReport::default()), report, &mut self.away, now);
            // Whoever holds the old list holds the same one.
            if let Some(old) = old.filter(|old| old.diagnoses == report.diagnoses) {
                report.diagnoses = old.diagnoses.clone();
            }
        }
        let same_slot = self.slot.as_ref().is_some_and(|old| equal(old, &slot));
        if same_slot && timeless(&self.reports) == timeless(&reports) {
            self.writer.report(reports.clone());
        } else {
            self.writer.write(slot.clone(), reports.clone());
        }
        self.unkept |= !same_slot;
        self.slot = Some(slot);
        self.reports = reports;
        self.keep(remember);
    }

    /// What is on disk no longer holds, whatever the pods are: the next word is kept.
    pub fn outdate(&mut self) {
        self.unkept = true;
    }

    fn keep(&mut self, remember: impl FnOnce() -> Remembered) {
        if !self.unkept {
            return;
        }
        // A failure is told by the state directory, once for all who write there.
        self.unkept = self.kept.save(&remember()).is_err();
    }
}

/// Says what is new, once.
fn log(
    kind: SourceKind,
    old: &SourceReport,
    new: &SourceReport,
    away: &mut BTreeMap<String, Time>,
    now: Time,
) {
    let (source, origin) = (kind.as_str(), &new.origin);
    if let Some(error) = new.error.as_ref().filter(|error| !error.is_empty()) {
        away.entry(origin.clone()).or_insert(now);
        if new.error != old.error {
            tracing::warn!(source, "{error}; {}", kept(new, now));
        }
    }
    if let Some(held) = new.held.as_ref().filter(|_| new.held != old.held) {
        tracing::warn!(source, "{held}");
    }
    if new.error.is_none()
        && let Some(since) = away.remove(origin)
    {
        tracing::info!(source, "{origin} is read again after {}", age::short(now.since(since)));
    }
    let known: BTreeSet<_> = old.diagnoses.iter().map(told).collect();
    let news: Vec<_> = new.diagnoses.iter().filter(|diagnosis| !known.contains(&told(diagnosis))).collect();
    for diagnosis in news.iter().take(AT_ONCE) {
        let Diagnosis { severity, place, field, message, fix, .. } = diagnosis;
        let field = Some(field.as_str()).filter(|field| !field.is_empty());
        let fix = fix.as_deref();
        match severity {
            Severity::Error => tracing::error!(source, %place, field, fix, "{message}"),
            Severity::Warning => tracing::warn!(source, %place, field, fix, "{message}"),
            Severity::Note => tracing::info!(source, %place, field, fix, "{message}"),
        }
    }
    if let Some(more) = news.len().checked_sub(AT_ONCE).filter(|more| *more > 0) {
        tracing::warn!(source, %origin, more, "and there is more wrong: see `podkeeper get sources`");
    }
}

/// What makes one diagnosis another than a second one.
fn told(diagnosis: &Diagnosis) -> (&Place, &str, &str) {
    (&diagnosis.place, &diagnosis.field, &diagnosis.message)
}

/// What an error means for the pods, and when the next try is.
fn kept(report: &SourceReport, now: Time) -> String {
    let pods = match report.pods {
        0 => "what runs of it is kept".to_owned(),
        1 => "its pod is kept as it was read last".to_owned(),
        pods => format!("its {pods} pods are kept as they were read last"),
    };
    match report.next_try {
        Some(next) => format!("{pods}; next try in {}", age::short(next.since(now))),
        None => pods,
    }
}

fn timeless(reports: &[SourceReport]) -> Vec<SourceReport> {
    reports.iter().map(|report| SourceReport { read_at: None, next_try: None, ..report.clone() }).collect()
}

/// The same pods, by identity: the reader keeps what did not change.
fn equal(old: &Slot, new: &Slot) -> bool {
    match (old, new) {
        (Slot::Unknown, Slot::Unknown) => true,
        (Slot::Known(old), Slot::Known(new)) | (Slot::Stale(old), Slot::Stale(new)) => {
            old.len() == new.len() && old.values().zip(new.values()).all(|(old, new)| Arc::ptr_eq(old, new))
        }
        (Slot::Unknown | Slot::Known(_) | Slot::Stale(_), _) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_error_means_and_when_it_is_tried_again_is_said() {
        for (pods, next, expected) in [
            (0, None, "what runs of it is kept"),
            (1, Some(4), "its pod is kept as it was read last; next try in 4s"),
            (12, Some(200), "its 12 pods are kept as they were read last; next try in 3m20s"),
        ] {
            let next_try = next.map(|seconds: i64| Time(seconds * 1000 + 500));
            let report = SourceReport { pods, next_try, ..SourceReport::default() };
            assert_eq!(kept(&report, Time(0)), expected);
        }
    }
}
