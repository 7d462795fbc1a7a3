//! Versions that come and go, several URLs, and an agent that starts again: H14, and the rules of all sources.

use podkeeper::node::sources::http::Access;
use podkeeper::node::store::SourceState;
use podkeeper::plan::Slot;

use crate::rig::{Rig, manifests};
use crate::server::{Answer, Server, response};

#[test]
fn h14_two_versions_in_turn_change_the_pods_once() {
    let server = Server::start();
    let mut turn = 0;
    server.script(move |_| {
        turn += 1;
        let (pod, tag) = if turn % 2 == 1 { ("web=x:1", "\"1\"") } else { ("web=x:2", "\"2\"") };
        response(200, &[("ETag", tag)], &manifests(&[pod]))
    });
    let rig = Rig::start(&[server.url("/pods")]);
    rig.begins();
    for _ in 0..4 {
        rig.reads();
        assert_eq!(rig.images(), ["web=x:2"]);
        rig.ask();
        let report = rig.until(|report| report.held.is_some());
        assert!(report.held.unwrap().contains("as if two servers took turns"));
        assert_eq!(rig.images(), ["web=x:2"], "the version before does not come back so soon");
    }
    let conditions: Vec<bool> =
        server.asked().iter().map(|asked| asked.contains("if-none-match: \"1\"")).collect();
    assert_eq!(conditions.iter().filter(|is_set| **is_set).count(), 1, "only what counts is asked about");
}

#[test]
fn a_new_version_counts_at_once() {
    let server = Server::start();
    server.answer(response(200, &[], &manifests(&["web=x:1"])));
    let rig = Rig::start(&[server.url("/pods")]);
    let first = rig.begins();
    server.answer(response(200, &[], &manifests(&["web=x:2", "db"])));
    let second = rig.reads();
    assert_eq!(rig.images(), ["db=x:1", "web=x:2"]);
    assert_ne!(first.revision, second.revision, "without a tag the content has a name of its own");
}

#[test]
fn every_shape_of_manifests_is_read() {
    let server = Server::start();
    let rig = Rig::start(&[server.url("/pods")]);
    for (body, name) in [
        (
            "apiVersion: v1\nkind: Pod\nmetadata: {name: pod}\nspec: {containers: [{name: c, image: x}]}",
            "pod",
        ),
        (
            r#"{"apiVersion":"v1","kind":"PodList","items":[{"metadata":{"name":"list"},"spec":{"containers":[{"name":"c","image":"x"}]}}]}"#,
            "list",
        ),
        ("version: v1beta1\nid: old\ncontainers:\n- name: c\n  image: x\n", "old"),
        ("- version: v1beta1\n  id: older\n  containers:\n  - name: c\n    image: x\n", "older"),
    ] {
        server.answer(response(200, &[], body.as_bytes()));
        rig.reads();
        assert_eq!(rig.pods().keys().collect::<Vec<_>>(), [name], "names are as they were given");
    }
}

#[test]
fn a_url_that_hangs_or_fails_holds_up_no_other() {
    let (good, bad) = (Server::start(), Server::start());
    good.answer(response(200, &[], &manifests(&["web=x:1"])));
    bad.answer(Answer::Hang(Vec::new()));
    let rig = Rig::start(&[good.url("/pods"), bad.url("/pods")]);
    rig.begins();
    assert!(matches!(rig.slot(), Slot::Stale(_)), "what the other one declares is not known yet");
    assert_eq!(rig.until_of(1, |_| true).state, SourceState::Unknown);
    good.answer(response(200, &[], &manifests(&["web=x:2"])));
    rig.reads();
    assert_eq!(rig.images(), ["web=x:2"]);
}

#[test]
fn a_url_that_failed_keeps_its_pods_while_another_changes() {
    let (a, b) = (Server::start(), Server::start());
    a.answer(response(200, &[], &manifests(&["a=x:1"])));
    b.answer(response(200, &[], &manifests(&["b=x:1", "c=x:1"])));
    let rig = Rig::start(&[a.url("/a"), b.url("/b")]);
    rig.begins();
    rig.until_of(1, |report| report.state == SourceState::Known);
    a.answer(response(404, &[], b""));
    b.answer(response(200, &[], &manifests(&["b=x:2"])));
    rig.ask();
    rig.until(|report| report.state == SourceState::Stale);
    rig.until_of(1, |report| report.pods == 1);
    assert_eq!(rig.images(), ["a=x:1", "b=x:2"]);
    assert!(matches!(rig.slot(), Slot::Known(_)), "c was taken back by the one that declared it");
}

#[test]
fn h5_the_answer_of_one_url_does_not_confirm_what_another_takes_back() {
    let (a, b) = (Server::start(), Server::start());
    a.answer(response(200, &[], &manifests(&["a", "b", "c", "d", "e"])));
    b.answer(response(200, &[], &manifests(&["web=x:1"])));
    let rig = Rig::start(&[a.url("/a"), b.url("/b")]);
    rig.begins();
    rig.until_of(1, |report| report.state == SourceState::Known);
    let mut turns = [response(200, &[], b"{apiVersion: v1, kind: List, items: []}")].into_iter();
    a.script(move |_| turns.next().unwrap_or(Answer::Hang(Vec::new())));
    rig.ask();
    rig.until(|report| report.held.is_some());
    for image in ["web=x:2", "web=x:3"] {
        b.answer(response(200, &[], &manifests(&[image])));
        rig.ask();
        rig.until_of(1, |_| rig.images().contains(&image.to_owned()));
        assert_eq!(rig.pods().len(), 6, "nobody has said a second time that they are gone");
    }
}

#[test]
fn one_name_at_two_urls_is_reported_and_swaps_nothing() {
    let (a, b) = (Server::start(), Server::start());
    a.answer(response(200, &[], &manifests(&["web=x:1"])));
    b.answer(response(200, &[], &manifests(&["db=x:1"])));
    let rig = Rig::start(&[a.url("/a"), b.url("/b")]);
    rig.begins();
    rig.until_of(1, |report| report.state == SourceState::Known);
    a.answer(response(200, &[], &manifests(&["web=x:1", "db=x:2"])));
    rig.ask();
    let report = rig.until(|report| !report.diagnoses.is_empty());
    assert!(report.diagnoses[0].message.contains("is declared twice"), "{}", report.diagnoses[0]);
    assert_eq!(rig.images(), ["db=x:1", "web=x:1"]);
}

#[test]
fn an_agent_that_starts_while_the_server_is_away_goes_on_with_what_it_knew() {
    let (server, state) = (Server::start(), tempfile::tempdir().unwrap());
    let urls = [server.url("/pods")];
    server.answer(response(200, &[], &manifests(&["web"])));
    Rig::keeping(&urls, Access::default(), state.path()).begins();
    server.answer(Answer::Hang(Vec::new()));
    let rig = Rig::keeping(&urls, Access::default(), state.path());
    let report = rig.until(|report| report.pods == 1);
    assert_eq!((report.state, report.read_at), (SourceState::Stale, None));
    assert!(matches!(rig.slot(), Slot::Stale(_)), "it removes nothing before it has read");

    server.answer(response(200, &[], &manifests(&["other"])));
    let elsewhere = Rig::keeping(&[server.url("/others")], Access::default(), state.path());
    elsewhere.begins();
    let held = elsewhere.until(|report| report.held.is_some());
    assert_eq!(elsewhere.images(), ["other=x:1", "web=x:1"], "{held:?}");
    elsewhere.until(|report| report.held.is_none());
    assert_eq!(elsewhere.images(), ["other=x:1"], "what another URL said goes after a second look");
}

#[test]
fn an_agent_that_is_given_another_url_goes_on_with_what_the_one_that_stays_said_last() {
    let (stays, goes, comes) = (Server::start(), Server::start(), Server::start());
    stays.answer(response(200, &[], &manifests(&["web=x:1"])));
    goes.answer(response(200, &[], &manifests(&["old=x:1"])));
    let state = tempfile::tempdir().unwrap();
    let keeping = |urls: &[String]| Rig::keeping(urls, Access::default(), state.path());
    let rig = keeping(&[stays.url("/pods"), goes.url("/pods")]);
    rig.begins();
    rig.until_of(1, |report| report.state == SourceState::Known);
    drop(rig);
    stays.answer(response(500, &[], b"no"));
    comes.answer(Answer::Hang(Vec::new()));
    let rig = keeping(&[comes.url("/pods"), stays.url("/pods")]);
    rig.until_of(1, |report| report.error.is_some());
    assert_eq!(rig.images(), ["old=x:1", "web=x:1"]);
    assert!(matches!(rig.slot(), Slot::Stale(_)), "the new one may declare what the old one did");
    comes.answer(response(200, &[], &manifests(&["old=x:1"])));
    stays.answer(response(200, &[], &manifests(&["web=x:1"])));
    rig.ask();
    rig.until(|report| report.state == SourceState::Known);
    rig.until_of(1, |report| report.state == SourceState::Known);
    assert_eq!(rig.images(), ["old=x:1", "web=x:1"]);
}
