//! The kubelet's decision table, row by row: what runs and what is declared → what is done.
//!
//! Every row carries the number that it has in the table (CPA: pods, CPI: with init containers, CPS: with
//! sidecars). The kubelet decides a whole sync at once; podkeeper takes one justified step after another.
//! So a row is driven until the plan is empty, with containers that start and then run for ever, and what
//! was done is compared. Ephemeral containers (CPE), container-level restart rules (CPR) and restart-all (RA)
//! are not supported yet.

mod fields;
mod images;
mod row;

use podkeeper::model::RestartPolicy;
use podkeeper::plan::State;
use podkeeper::plan::observed::Probed;
use row::{Row, base, check, exited, running, unknown, with_init, with_sidecars};

use RestartPolicy::{Always, Never, OnFailure};

#[test]
fn pods_of_regular_containers_do_what_the_kubelet_does() {
    let all = "start foo1 foo2 foo3";
    check(vec![
        ("CPA-01", base(), "nothing"),
        ("CPA-02", base().sandbox(None).only(&[]), &format!("new sandbox 0, {all}")),
        ("CPA-03", base().policy(Always).is("foo1", exited(0)).is("foo2", exited(111)), "start foo1 foo2"),
        ("CPA-04", base().policy(OnFailure).is("foo1", exited(0)).is("foo2", exited(111)), "start foo2"),
        ("CPA-05", base().policy(OnFailure).is("foo1", exited(0)).is("foo2", State::Created), "start foo2"),
        ("CPA-06", base().policy(Never).is("foo1", exited(0)).is("foo2", exited(111)), "nothing"),
        (
            "CPA-07",
            base().policy(Always).dead_sandbox(),
            &format!("stop foo1 foo2 foo3, new sandbox 1, {all}"),
        ),
        (
            "CPA-08",
            base().policy(OnFailure).dead_sandbox().is("foo2", exited(0)),
            "stop foo1 foo3, new sandbox 1, start foo1 foo3",
        ),
        (
            "CPA-09",
            Row { sandbox_ip: false, ..base() },
            &format!("stop sandbox foo1 foo2 foo3, new sandbox 1, {all}"),
        ),
        ("CPA-10", base().policy(Always).made_otherwise("foo2"), "stop foo2, start foo2"),
        ("CPA-11", base().policy(Always).liveness("foo2", Some(Probed::Failure)), "stop foo2, start foo2"),
        ("CPA-12", base().policy(Always).startup("foo2", Some(Probed::Failure)), "stop foo2, start foo2"),
        ("CPA-13", finished().policy(Never).sandbox(Some((false, 1))), "nothing"),
        ("CPA-14", finished().policy(OnFailure).sandbox(Some((false, 1))), "nothing"),
        (
            "CPA-15",
            base().policy(Never).sandbox(Some((false, 2))).only(&[]),
            &format!("new sandbox 3, {all}"),
        ),
        // Decided otherwise than the kubelet, by the law "run once means once": once stopped it has ended.
        ("CPA-16", base().policy(Never).is("foo2", unknown()), "stop foo2"),
        ("CPA-17", base().policy(Never).is("foo2", State::Created), "start foo2"),
    ]);
}

/// All three have succeeded.
fn finished() -> Row {
    ["foo1", "foo2", "foo3"].into_iter().fold(base(), |row, name| row.is(name, exited(0)))
}

#[test]
fn init_containers_do_what_the_kubelet_does() {
    check(vec![
        ("CPI-01", with_init(), "start foo1 foo2 foo3"),
        ("CPI-02", with_init().only(&[]), "start init1"),
        ("CPI-03", with_init().policy(Always).is("init3", running()), "nothing"),
        ("CPI-04", with_init().policy(Always).dead_sandbox(), "new sandbox 1, start init1"),
        ("CPI-05", with_init().policy(Always).is("init3", exited(137)), "start init3"),
        ("CPI-06", with_init().policy(OnFailure).is("init3", exited(137)), "start init3"),
        ("CPI-07", with_init().policy(Never).is("init3", exited(137)), "stop sandbox"),
        ("CPI-08", with_init().policy(Always).is("init3", unknown()), "stop init3, start init3"),
        ("CPI-09", with_init().policy(OnFailure).is("init3", unknown()), "stop init3, start init3"),
        ("CPI-10", with_init().policy(Never).is("init3", unknown()), "stop sandbox init3"),
        ("CPI-11", with_init().policy(Never).dead_sandbox(), "nothing"),
        ("CPI-12", with_init().policy(Never).dead_sandbox().only(&[]), "new sandbox 1, start init1"),
        (
            "CPI-13",
            with_init().policy(OnFailure).dead_sandbox().is("init3", exited(137)),
            "new sandbox 1, start init1",
        ),
        ("CPI-14", with_init().policy(Always).is("init3", running()).only(&["init3"]), "nothing"),
        ("CPI-15", with_init().policy(Always).is("init3", State::Created), "start init3"),
        // CPI-16: a wish to resize an init container that does not run yet changes nothing.
        ("CPI-16", with_init().only(&[]), "start init1"),
        // CPI-17, CPI-18: an init container is never resized in place here; changing one starts the pod over.
    ]);
}

#[test]
fn sidecars_do_what_the_kubelet_does() {
    let mains = "start foo1 foo2 foo3";
    check(vec![
        ("CPS-01", with_sidecars(), mains),
        ("CPS-02", with_sidecars().only(&[]), "start sc1 sc2"),
        ("CPS-03", with_sidecars().policy(Always).is("sc3", State::Created), "start sc3"),
        ("CPS-04", with_sidecars().policy(Always).only(&["sc1"]), "start sc2"),
        ("CPS-05", with_sidecars().policy(Always).liveness("sc2", None).only(&["sc1", "sc2"]), "start sc3"),
        (
            "CPS-06",
            with_sidecars().policy(Always).liveness("sc2", Some(Probed::Unknown)).only(&["sc1", "sc2"]),
            "start sc3",
        ),
        ("CPS-07", with_sidecars().policy(Always).only(&["sc1", "sc2"]), "start sc3"),
        (
            "CPS-08",
            with_sidecars().policy(Always).liveness("sc3", Some(Probed::Failure)),
            "stop sc3, start sc3 foo1 foo2 foo3",
        ),
        ("CPS-09", with_sidecars().policy(Always).startup("sc2", None).only(&["sc1", "sc2"]), "nothing"),
        (
            "CPS-10",
            with_sidecars().policy(Always).startup("sc2", Some(Probed::Unknown)).only(&["sc1", "sc2"]),
            "nothing",
        ),
        ("CPS-11", with_sidecars().policy(Always).only(&["sc1", "sc2"]), "start sc3"),
        (
            "CPS-12",
            with_sidecars().policy(Always).startup("sc3", Some(Probed::Failure)),
            "stop sc3, start sc3",
        ),
    ]);
}

#[test]
fn sidecars_that_change_or_end_do_what_the_kubelet_does() {
    let mains = |row: Row, state: State| {
        ["foo1", "foo2", "foo3"].into_iter().fold(row, |row, name| row.is(name, state.clone()))
    };
    check(vec![
        (
            "CPS-13",
            with_sidecars().policy(Always).made_otherwise("sc3"),
            "stop sc3, start sc3 foo1 foo2 foo3",
        ),
        ("CPS-14", with_sidecars().policy(Always).is("sc1", exited(1)).is("sc3", exited(1)), "start sc1 sc3"),
        ("CPS-15", with_sidecars().policy(Always).is("sc1", exited(1)), "start sc1 foo1 foo2 foo3"),
        ("CPS-16", with_sidecars().policy(Never).dead_sandbox().is("sc3", exited(137)), "stop sc1 sc2"),
        ("CPS-17", with_sidecars().policy(Never).dead_sandbox().only(&[]), "new sandbox 1, start sc1 sc2"),
        (
            "CPS-18",
            with_sidecars().policy(OnFailure).dead_sandbox().is("sc3", exited(137)),
            "stop sc1 sc2, new sandbox 1, start sc1 sc2",
        ),
        (
            "CPS-19",
            with_sidecars().policy(Always).dead_sandbox().is("sc3", exited(137)),
            "stop sc1 sc2, new sandbox 1, start sc1 sc2",
        ),
        ("CPS-20", with_sidecars().policy(Never).is("sc3", exited(137)), "start sc3"),
        ("CPS-21", with_sidecars().policy(Never).is("sc3", unknown()), "stop sc3, start sc3"),
        ("CPS-22", mains(with_sidecars().policy(Never).is("sc3", exited(137)), running()), "start sc3"),
        ("CPS-23", mains(with_sidecars().policy(Never), exited(0)), "stop sandbox sc1 sc2 sc3"),
        ("CPS-24", with_sidecars().policy(Always).only(&["sc3"]), "start sc1 sc2 foo1 foo2 foo3"),
    ]);
}
