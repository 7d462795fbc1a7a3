//! Rounds: the judgement remembered, so that a round costs what has changed and not what there is.

use std::sync::Arc;

use im::OrdMap;
use im::ordmap::DiffItem;

use crate::model::{PodKey, Time};
use crate::plan::observed::PodObserved;
use crate::plan::pod::judge;
use crate::plan::scene::{Verdict, is_busy};
use crate::plan::{Action, Declared, Desired, Observed, Wait};

/// The same judgement as [`crate::plan::plan`] and [`crate::plan::wake_at`], one round after another.
///
/// It holds no facts of its own: dropping it and starting anew changes no answer.
#[derive(Default)]
pub struct Rounds {
    before: Option<(Desired, Observed)>,
    /// Pods that are not settled.
    open: OrdMap<PodKey, Arc<Verdict>>,
}

impl Rounds {
    /// The engine calls that are due now.
    pub fn plan(&mut self, desired: &Desired, observed: &Observed) -> Vec<Action> {
        if !observed.listed {
            return Vec::new();
        }
        match self.before.take() {
            Some((known_desired, known_observed)) => {
                self.judge_changed(&known_desired, &known_observed, desired, observed);
            }
            None => self.judge_all(desired, observed),
        }
        self.before = Some((desired.clone(), observed.clone()));
        due(observed, self.open.values().flat_map(|verdict| &verdict.acts))
    }

    /// When to plan again although nothing else has happened.
    pub fn wake_at(&self) -> Option<Time> {
        self.waits().filter_map(|wait| wait.until).min()
    }

    /// Everything that is not done now, and why.
    pub fn waits(&self) -> impl Iterator<Item = &Wait> {
        self.open.values().flat_map(|verdict| &verdict.waits)
    }

    fn judge_all(&mut self, desired: &Desired, observed: &Observed) {
        self.open = OrdMap::new();
        for_each_pod(desired, observed, |key, declared, pod| {
            self.keep(key, judge(desired, observed, key, declared, pod));
        });
    }

    /// A settled pod stays settled until its declaration or what is observed of it changes; one that is open
    /// may wait for a clock, an image, another pod: it is judged anew.
    fn judge_changed(&mut self, was: &Desired, seen: &Observed, desired: &Desired, observed: &Observed) {
        let mut changed: Vec<PodKey> = self.open.keys().cloned().collect();
        changed.extend(changed_keys(was.pods(), desired.pods(), Arc::ptr_eq));
        changed.extend(changed_keys(&seen.pods, &observed.pods, Arc::ptr_eq));
        changed.sort();
        changed.dedup();
        let nothing = PodObserved::default();
        for key in &changed {
            let declared = desired.get(key).map(|declared| &**declared);
            let pod = observed.pods.get(key).map_or(&nothing, |pod| &**pod);
            self.keep(key, judge(desired, observed, key, declared, pod));
        }
    }

    fn keep(&mut self, key: &PodKey, verdict: Verdict) {
        if verdict == Verdict::default() {
            self.open.remove(key);
        } else {
            self.open.insert(key.clone(), Arc::new(verdict));
        }
    }
}

fn changed_keys<V: PartialEq>(
    old: &OrdMap<PodKey, Arc<V>>,
    new: &OrdMap<PodKey, Arc<V>>,
    same: fn(&Arc<V>, &Arc<V>) -> bool,
) -> Vec<PodKey> {
    let changes = old.diff(new).filter_map(|change| match change {
        DiffItem::Add(key, _) | DiffItem::Remove(key, _) => Some(key),
        DiffItem::Update { old: (_, old), new: (key, new) } => (!same(old, new)).then_some(key),
    });
    changes.cloned().collect()
}

/// Every pod that is desired or observed, in order.
pub(super) fn for_each_pod<'a>(
    desired: &'a Desired,
    observed: &'a Observed,
    mut each: impl FnMut(&'a PodKey, Option<&'a Declared>, &PodObserved),
) {
    let nothing = PodObserved::default();
    let mut declared = desired.pods().iter().peekable();
    let mut pods = observed.pods.iter().peekable();
    loop {
        let order = match (declared.peek(), pods.peek()) {
            (Some((d, _)), Some((o, _))) => d.cmp(o),
            (Some(_), None) => std::cmp::Ordering::Less,
            (None, Some(_)) => std::cmp::Ordering::Greater,
            (None, None) => return,
        };
        let left = if order.is_le() { declared.next() } else { None };
        let right = if order.is_ge() { pods.next() } else { None };
        let Some(key) = left.map(|(key, _)| key).or(right.map(|(key, _)| key)) else { return };
        each(key, left.map(|(_, d)| &**d), right.map_or(&nothing, |(_, pod)| &**pod));
    }
}

/// What may be begun now: nothing that an action under way could disturb, and no image twice.
pub(super) fn due<'a>(observed: &Observed, acts: impl Iterator<Item = &'a Action>) -> Vec<Action> {
    let mut images: std::collections::BTreeSet<&str> = std::collections::BTreeSet::new();
    let free = acts.filter(|action| match action.call.image() {
        Some(image) => !observed.pulling.contains(image) && images.insert(image),
        None => !is_busy(observed, action),
    });
    free.cloned().collect()
}
