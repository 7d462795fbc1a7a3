//! The phase of a pod, from what is known of its containers. Source: the kubelet's `getPhase`, table §13.

use crate::model::RestartPolicy;
use crate::plan::status::Phase;

/// What is known of one container, as far as a phase asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    Nothing,
    /// It has never run; or it has, and its end is remembered.
    Waiting {
        ended: Option<End>,
    },
    Running {
        started: bool,
    },
    Ended(End),
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Succeeded,
    Failed,
}

/// The phase. `init` says of each init container whether it is a sidecar; `begun` is true once a regular
/// container has started in the current sandbox.
pub fn phase(policy: RestartPolicy, init: &[(bool, Seen)], regular: &[Seen], begun: bool) -> Phase {
    let failed_init = init.iter().any(|(sidecar, seen)| {
        let failed = matches!(seen, Seen::Ended(End::Failed) | Seen::Waiting { ended: Some(End::Failed) });
        !sidecar && failed
    });
    if failed_init && policy == RestartPolicy::Never {
        return Phase::Failed;
    }
    let pending = init.iter().any(|(sidecar, seen)| match (sidecar, seen) {
        (false, Seen::Nothing | Seen::Waiting { ended: None } | Seen::Running { .. }) => true,
        (true, Seen::Nothing | Seen::Waiting { ended: None } | Seen::Running { started: false }) => !begun,
        (_, Seen::Waiting { ended: Some(_) } | Seen::Ended(_) | Seen::Running { started: true }) => false,
    });
    let waiting = regular.iter().any(|seen| matches!(seen, Seen::Waiting { ended: None }));
    let unknown = regular.contains(&Seen::Nothing);
    if pending || waiting || unknown {
        return Phase::Pending;
    }
    let sidecars = init.iter().filter(|(sidecar, _)| *sidecar).map(|(_, seen)| seen);
    if regular.iter().chain(sidecars).any(|seen| matches!(seen, Seen::Running { .. })) {
        return Phase::Running;
    }
    let succeeded = |seen: &Seen| {
        matches!(seen, Seen::Ended(End::Succeeded) | Seen::Waiting { ended: Some(End::Succeeded) })
    };
    match policy {
        RestartPolicy::Always => Phase::Running,
        RestartPolicy::Never | RestartPolicy::OnFailure if regular.iter().all(succeeded) => Phase::Succeeded,
        RestartPolicy::Never => Phase::Failed,
        RestartPolicy::OnFailure => Phase::Running,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use RestartPolicy::{Always, Never, OnFailure};

    /// The table's letters: r running, S started (of a sidecar), s succeeded, f failed, w waiting, wl and
    /// wf waiting after a success and a failure, - nothing.
    fn seen(letters: &str) -> Seen {
        match letters {
            "-" => Seen::Nothing,
            "r" => Seen::Running { started: false },
            "S" => Seen::Running { started: true },
            "s" => Seen::Ended(End::Succeeded),
            "f" => Seen::Ended(End::Failed),
            "w" => Seen::Waiting { ended: None },
            "wl" => Seen::Waiting { ended: Some(End::Succeeded) },
            "wf" => Seen::Waiting { ended: Some(End::Failed) },
            other => panic!("no such letter: {other}"),
        }
    }

    fn rows(policy: RestartPolicy, sidecars: &[bool], rows: &[(bool, &str, &str, Phase)]) {
        for (begun, init, regular, expected) in rows {
            let init: Vec<_> = sidecars.iter().copied().zip(init.split_whitespace().map(seen)).collect();
            let regular: Vec<_> = regular.split_whitespace().map(seen).collect();
            let found = phase(policy, &init, &regular, *begun);
            assert_eq!(found, *expected, "{policy:?}, begun {begun}: init {init:?}, regular {regular:?}");
        }
    }

    #[test]
    fn the_phase_of_a_pod_that_always_runs_is_the_kubelets() {
        use Phase::{Pending, Running};
        rows(
            Always,
            &[],
            &[
                (false, "", "- -", Pending),
                (true, "", "r r", Running),
                (true, "", "s s", Running),
                (true, "", "r s", Running),
                (true, "", "r -", Pending),
                (true, "", "r w", Pending),
                (true, "", "r wl", Running),
            ],
        );
        let before = |expected| ["-", "r", "f", "wl", "wf", "w"].map(|x| (false, x, "- -", expected));
        rows(Always, &[false], &before(Pending));
        rows(Always, &[false], &[(true, "s", "r r", Running)]);
        rows(Always, &[true], &["-", "r", "s", "wl", "wf", "w"].map(|x| (false, x, "- -", Pending)));
        rows(
            Always,
            &[true],
            &[
                (true, "S", "r -", Pending),
                (true, "S", "r r", Running),
                (true, "r", "r r", Running),
                (true, "s", "r r", Running),
                (true, "wl", "r r", Running),
                // Initialising anew after a new sandbox.
                (false, "r", "r r", Pending),
            ],
        );
        rows(
            Always,
            &[false, true],
            &[
                (false, "r r", "r", Pending),
                (false, "r r", "s", Pending),
                (false, "s r", "s", Pending),
                (true, "s r", "s", Running),
                (true, "s r", "r", Running),
            ],
        );
    }

    #[test]
    fn the_phase_of_a_pod_that_may_end_is_the_kubelets() {
        use Phase::{Failed, Pending, Running, Succeeded};
        rows(
            Never,
            &[],
            &[
                (false, "", "- -", Pending),
                (true, "", "r r", Running),
                (true, "", "s s", Succeeded),
                (true, "", "f f", Failed),
                (true, "", "r s", Running),
                (true, "", "r -", Pending),
                (true, "", "r w", Pending),
            ],
        );
        rows(
            Never,
            &[false],
            &[
                (false, "-", "- -", Pending),
                (false, "r", "- -", Pending),
                (false, "f", "- -", Failed),
                (false, "wl", "- -", Pending),
                (false, "wf", "- -", Failed),
                (false, "w", "- -", Pending),
                (true, "s", "r r", Running),
            ],
        );
        rows(Never, &[true], &["-", "r", "s", "wl", "wf", "w"].map(|x| (false, x, "- -", Pending)));
        rows(
            Never,
            &[true],
            &[(true, "S", "r -", Pending), (true, "S", "s s", Running), (true, "r", "s s", Running)],
        );
        rows(Never, &[true], &["s", "f", "wl", "wf"].map(|x| (true, x, "s s", Succeeded)));
        rows(
            OnFailure,
            &[],
            &[
                (false, "", "- -", Pending),
                (true, "", "r r", Running),
                (true, "", "s s", Succeeded),
                (true, "", "f f", Running),
                (true, "", "r s", Running),
                (true, "", "r -", Pending),
                (true, "", "r w", Pending),
                (true, "", "r wl", Running),
            ],
        );
    }
}
