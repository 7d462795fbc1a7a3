//! https: whom to trust, and what is said when not. H10.

use std::path::Path;

use podkeeper::node::sources::http::{Access, Files};
use podkeeper::plan::Slot;

use crate::authority::{Authority, Identity};
use crate::rig::{Rig, manifests};
use crate::server::{Answer, Server, head, response};

fn trusting(dir: &Path, authority: &Authority) -> Access {
    let ca = dir.join("ca.pem");
    std::fs::write(&ca, authority.pem()).unwrap();
    Access { files: Files { ca: Some(ca), client: None }, ..Access::default() }
}

#[test]
fn h10_a_certificate_that_is_wrong_in_any_way_is_refused_until_it_is_renewed() {
    let (ours, others, dir) =
        (Authority::new("ours"), Authority::new("others"), tempfile::tempdir().unwrap());
    let server = Server::with_tls(&ours.good());
    server.answer(response(200, &[], &manifests(&["web"])));
    let rig = Rig::with(&[server.https("/pods")], trusting(dir.path(), &ours));
    rig.begins();
    for (identity, words) in [
        (ours.identity("localhost", 2001..2002), "has expired: it was valid until 2002-01-01T00:00:00Z"),
        (ours.identity("localhost", 2190..2200), "is not valid yet: it will be from 2190-01-01T00:00:00Z"),
        (ours.identity("other.example", 2020..2200), "is not for this host but for "),
        (others.good(), "is from an authority that is not trusted here"),
    ] {
        server.renew(&identity);
        rig.fails(words);
        assert!(matches!(rig.slot(), Slot::Stale(_)));
        server.renew(&ours.good());
        rig.reads();
    }
}

#[test]
fn h10_an_authority_that_is_exchanged_on_disk_is_trusted_without_a_restart() {
    let (old, new, dir) = (Authority::new("old"), Authority::new("new"), tempfile::tempdir().unwrap());
    let server = Server::with_tls(&old.good());
    server.answer(response(200, &[], &manifests(&["web"])));
    let rig = Rig::with(&[server.https("/pods")], trusting(dir.path(), &old));
    rig.begins();
    server.renew(&new.good());
    rig.fails("is from an authority that is not trusted here");
    trusting(dir.path(), &new);
    rig.reads();
    std::fs::write(dir.path().join("ca.pem"), "nonsense").unwrap();
    rig.fails("ca.pem holds no certificate in PEM");
}

#[test]
fn whom_the_system_does_not_trust_is_not_trusted() {
    let server = Server::with_tls(&Authority::new("ours").good());
    let rig = Rig::start(&[server.https("/pods")]);
    let report = rig.until(|report| report.error.is_some());
    assert!(report.error.unwrap().contains("trusted"), "unknown, or no list at all");
}

#[test]
fn a_client_certificate_is_shown_and_may_be_exchanged() {
    let (ours, old, new) = (Authority::new("ours"), Authority::new("old"), Authority::new("new"));
    let dir = tempfile::tempdir().unwrap();
    let (cert, key) = (dir.path().join("client.pem"), dir.path().join("client.key"));
    let write = |identity: &Identity| {
        let (cert_pem, key_pem) = identity.pem();
        std::fs::write(&cert, cert_pem).unwrap();
        std::fs::write(&key, key_pem).unwrap();
    };
    write(&old.good());
    let server = Server::with_tls(&ours.good().only_for(&old));
    server.answer(response(200, &[], &manifests(&["web"])));
    let mut access = trusting(dir.path(), &ours);
    access.files.client = Some((cert.clone(), key.clone()));
    let rig = Rig::with(&[server.https("/pods")], access);
    rig.begins();
    server.renew(&ours.good().only_for(&new));
    rig.fails("cannot be read");
    write(&new.good());
    rig.reads();
    std::fs::write(&key, old.good().pem().1).unwrap();
    rig.fails("are no pair");
}

#[test]
fn h6_by_tls_a_body_without_length_counts_only_when_its_end_is_signed() {
    let (ours, dir) = (Authority::new("ours"), tempfile::tempdir().unwrap());
    let server = Server::with_tls(&ours.good());
    let answer = [head(200, &[("Connection", "close")]), manifests(&["web"])].concat();
    server.answer(Answer::Bytes(answer.clone()));
    let rig = Rig::with(&[server.https("/pods")], trusting(dir.path(), &ours));
    rig.begins();
    server.answer(Answer::Cut(answer));
    rig.fails("the server broke off");
}

#[test]
fn h10_a_plain_server_behind_https_and_the_other_way_round_are_errors() {
    let plain = Server::start();
    let rig = Rig::start(&[plain.https("/pods")]);
    rig.until(|report| report.error.is_some());
    let secure = Server::with_tls(&Authority::new("ours").good());
    let rig = Rig::start(&[secure.url("/pods")]);
    rig.until(|report| report.error.as_ref().is_some_and(|error| error.contains("the server broke off")));
}

#[test]
fn h9_https_is_never_left_for_http() {
    let (ours, dir) = (Authority::new("ours"), tempfile::tempdir().unwrap());
    let (server, plain) = (Server::with_tls(&ours.good()), Server::start());
    let target = plain.url("/pods");
    server.answer(response(301, &[("Location", &target)], b""));
    let rig = Rig::with(&[server.https("/pods")], trusting(dir.path(), &ours));
    rig.until(|report| report.error.as_ref().is_some_and(|error| error.contains("another place")));
    assert_eq!(plain.connections(), 0);
}
