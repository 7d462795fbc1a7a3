//! What a source says goes to the store, what is new about it to the log, and its last good state to the disk.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::model::Place;
use crate::model::read::Diagnosis;
use crate::node::keep::Kept;
use crate::node::sources::reading::Remembered;
use crate::node::store::{SourceReport, Writer};
use crate::plan::Slot;

/// So many diagnoses of one reading are logged: thousands of wrong keys must not drown everything else.
const AT_ONCE: usize = 10;

/// Says what one source says, and says it once.
pub struct Publisher {
    writer: Writer,
    kept: Kept<Remembered>,
    /// What was said last.
    slot: Option<Slot>,
    reports: Vec<SourceReport>,
    /// What was said last is not on disk.
    unkept: bool,
}

impl Publisher {
    pub fn new(writer: Writer, kept: Kept<Remembered>) -> Self {
        Self { writer, kept, slot: None, reports: Vec::new(), unkept: false }
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
        for report in &mut reports {
            let old = self.reports.iter().find(|old| old.origin == report.origin);
            self.log(old.unwrap_or(&SourceReport::default()), report);
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

    /// Says what is new, once.
    fn log(&self, old: &SourceReport, new: &SourceReport) {
        let (source, origin) = (self.writer.kind().as_str(), &new.origin);
        if let Some(error) = new.error.as_ref().filter(|_| new.error != old.error) {
            tracing::warn!(source, "{error}; its pods are kept as they are");
        }
        if let Some(held) = new.held.as_ref().filter(|_| new.held != old.held) {
            tracing::warn!(source, "{held}");
        }
        if old.error.is_some() && new.error.is_none() {
            tracing::info!(source, %origin, "read again");
        }
        let known: BTreeSet<_> = old.diagnoses.iter().map(told).collect();
        let news: Vec<_> =
            new.diagnoses.iter().filter(|diagnosis| !known.contains(&told(diagnosis))).collect();
        for diagnosis in news.iter().take(AT_ONCE) {
            let Diagnosis { severity, place, field, message, fix, .. } = diagnosis;
            let fix = fix.as_deref().unwrap_or_default();
            tracing::warn!(source, %place, field, fix, "{severity}: {message}");
        }
        if let Some(more) = news.len().checked_sub(AT_ONCE).filter(|more| *more > 0) {
            tracing::warn!(source, %origin, more, "and there is more wrong: see `podkeeper get sources`");
        }
    }
}

/// What makes one diagnosis another than a second one.
fn told(diagnosis: &Diagnosis) -> (&Place, &str, &str) {
    (&diagnosis.place, &diagnosis.field, &diagnosis.message)
}

fn timeless(reports: &[SourceReport]) -> Vec<SourceReport> {
    reports.iter().map(|report| SourceReport { read_at: None, ..report.clone() }).collect()
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
