//! Bodies that are not what they should be: H4 to H8, H11, H12.

use std::io::Write;
use std::time::Duration;

use podkeeper::node::sources::http::{Access, Limits};
use podkeeper::node::store::SourceState;
use podkeeper::plan::Slot;

use crate::rig::{Rig, SHORT, manifests};
use crate::server::{Answer, Server, head, response};

fn web() -> (Server, Rig) {
    let server = Server::start();
    server.answer(response(200, &[], &manifests(&["web"])));
    let rig = Rig::with(&[server.url("/pods")], Access { limits: SHORT, ..Access::default() });
    rig.begins();
    (server, rig)
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

#[test]
fn h4_an_empty_body_is_an_error_and_no_empty_list() {
    let (server, rig) = web();
    for body in ["", "\n\n", "# nothing yet\n---\n"] {
        server.answer(response(200, &[], body.as_bytes()));
        rig.fails("the answer is empty");
    }
}

#[test]
fn h4_a_body_that_declares_nothing_and_does_not_say_so_is_an_error() {
    let (server, rig) = web();
    for body in ["null", "~", "{apiVersion: v1, kind: Service, metadata: {name: web}}"] {
        server.answer(response(200, &[], body.as_bytes()));
        rig.fails("'items: []' is how to say");
    }
}

#[test]
fn h5_an_explicit_empty_list_removes_the_pods() {
    let (server, rig) = web();
    server.answer(response(200, &[], b"apiVersion: v1\nkind: List\nitems: []\n"));
    assert_eq!(rig.reads().pods, 0);
    assert!(matches!(rig.slot(), Slot::Known(pods) if pods.is_empty()));
}

#[test]
fn h5_many_pods_go_only_after_a_second_equal_answer() {
    let server = Server::start();
    server.answer(response(200, &[], &manifests(&["a", "b", "c", "d", "e"])));
    let rig = Rig::start(&[server.url("/pods")]);
    rig.begins();
    let empty = response(200, &[], b"{apiVersion: v1, kind: List, items: []}");
    // The second request, which comes by itself, fails: it confirms nothing.
    let mut turns = [empty.clone(), response(500, &[], b"")].into_iter();
    server.script(move |_| turns.next().unwrap_or_else(|| response(500, &[], b"")));
    rig.ask();
    let report = rig.until(|report| report.held.is_some());
    assert!(report.held.unwrap().contains("waiting for a second, equal reading"));
    assert_eq!(rig.until(|report| report.error.is_some()).pods, 5);
    server.answer(empty);
    rig.ask();
    let report = rig.until(|report| report.pods == 0);
    assert_eq!((report.state, report.held, report.error), (SourceState::Known, None, None));
}

#[test]
fn h6_a_body_that_is_cut_is_an_error_wherever_it_is_cut() {
    let (server, rig) = web();
    let pods = manifests(&["web", "db"]);
    let whole = head(200, &[("Content-Length", &pods.len().to_string())]);
    // At the end of a document, where what is left would be valid.
    let at = pods.len() - manifests(&["db"]).len();
    server.answer(Answer::Bytes([&whole, &pods[..at]].concat()));
    rig.fails(&format!("after {at} bytes the server broke off"));

    let chunked = head(200, &[("Transfer-Encoding", "chunked")]);
    let chunk = [format!("{at:x}\r\n").as_bytes(), &pods[..at], b"\r\n"].concat();
    server.answer(Answer::Bytes([&chunked, chunk.as_slice()].concat()));
    rig.until(|report| report.error.is_some());
    server.answer(response(500, &[], b""));
    rig.fails("500");
    server.answer(Answer::Bytes([&chunked, chunk.as_slice()].concat()));
    rig.fails("the server broke off");

    server.answer(Answer::Bytes([head(200, &[]), pods[..at].to_vec()].concat()));
    rig.fails("neither a length nor chunks");

    let packed = gzip(&pods);
    server.answer(response(200, &[("Content-Encoding", "gzip")], &packed[..packed.len() - 4]));
    rig.fails("the gzip body is damaged");

    let last = [chunk.as_slice(), b"0\r\n\r\n"].concat();
    server.answer(Answer::Bytes([&chunked, last.as_slice()].concat()));
    rig.reads();
}

#[test]
fn h7_a_server_that_stops_anywhere_is_given_up() {
    let (server, rig) = web();
    let pods = manifests(&["web", "db"]);
    let whole = head(200, &[("Content-Length", &pods.len().to_string())]);
    for (said, words) in [
        (Vec::new(), "no answer within"),
        (b"HTTP/1.1 200 OK\r\nContent-".to_vec(), "no answer within"),
        ([&whole, &pods[..20]].concat(), "the answer stopped after 20 bytes"),
    ] {
        server.answer(response(500, &[], b""));
        rig.fails("500");
        server.answer(Answer::Hang(said));
        rig.fails(words);
    }
}

#[test]
fn h7_a_server_that_sends_a_byte_at_a_time_is_given_up_in_the_end() {
    let server = Server::start();
    let limits = Limits { idle: Duration::from_secs(10), total: Duration::from_millis(500), ..SHORT };
    let first = head(200, &[("Content-Length", "1000000")]);
    server.answer(Answer::Repeat(first, b"#".to_vec(), Duration::from_millis(5)));
    let rig = Rig::with(&[server.url("/pods")], Access { limits, ..Access::default() });
    rig.until(|report| {
        report.error.as_ref().is_some_and(|error| error.contains("not complete within 500ms"))
    });
}

#[test]
fn h8_a_body_without_end_or_that_unpacks_without_end_is_cut_at_a_megabyte() {
    let (server, rig) = web();
    let chunk = [b"10000\r\n".to_vec(), vec![b'#'; 0x10000], b"\r\n".to_vec()].concat();
    let chunked = head(200, &[("Transfer-Encoding", "chunked")]);
    server.answer(Answer::Repeat(chunked, chunk, Duration::ZERO));
    rig.fails("larger than 1 MiB");
    let large = vec![b'#'; 8 << 20];
    let zstd =
        ruzstd::encoding::compress_to_vec(large.as_slice(), ruzstd::encoding::CompressionLevel::Fastest);
    for (encoding, packed) in [("gzip", gzip(&large)), ("zstd", zstd)] {
        server.answer(response(500, &[], b""));
        rig.fails("500");
        server.answer(response(200, &[("Content-Encoding", encoding)], &packed));
        rig.fails("larger than 1 MiB");
    }
    server.answer(Answer::Hang(head(200, &[("Content-Length", "10737418240")])));
    rig.fails("larger than 1 MiB");
}

#[test]
fn packed_bodies_are_read() {
    let (server, rig) = web();
    let pods = manifests(&["db"]);
    server.answer(response(200, &[("Content-Encoding", "gzip")], &gzip(&pods)));
    rig.reads();
    assert_eq!(rig.images(), ["db=x:1"]);
    let pods = manifests(&["cache"]);
    let packed =
        ruzstd::encoding::compress_to_vec(pods.as_slice(), ruzstd::encoding::CompressionLevel::Fastest);
    server.answer(response(200, &[("Content-Encoding", "zstd")], &packed));
    rig.reads();
    assert_eq!(rig.images(), ["cache=x:1"]);
    assert!(server.asked()[0].contains("accept-encoding: gzip, zstd"));
}

#[test]
fn h11_a_login_page_is_one_clear_error_and_nothing_of_it_is_shown() {
    let (server, rig) = web();
    let page = b"<!DOCTYPE html>\n<html><form action=login><input value=canary></form></html>";
    server.answer(response(200, &[("Content-Type", "text/html; charset=utf-8")], page));
    let report = rig.fails("the server answers with a web page, not with manifests");
    assert!(report.diagnoses.is_empty());
    assert!(!format!("{report:?}").contains("canary"));
}

#[test]
fn h12_a_wrong_body_that_stays_wrong_stays_reported() {
    let (server, rig) = web();
    let wrong = String::from_utf8(manifests(&["web"])).unwrap().replace("image:", "imaeg: x, image:");
    server.answer(response(200, &[("ETag", "\"bad\"")], wrong.as_bytes()));
    rig.ask();
    let first = rig.until(|report| !report.diagnoses.is_empty());
    assert_eq!((first.state, first.pods), (SourceState::Stale, 1));
    assert!(first.diagnoses[0].message.contains("imaeg"), "{}", first.diagnoses[0]);
    for answer in [
        response(200, &[("ETag", "\"bad\"")], wrong.as_bytes()),
        response(304, &[], b""),
        response(200, &[], wrong.as_bytes()),
    ] {
        let (asked, read_at) = (server.asked().len(), rig.until(|_| true).read_at);
        server.answer(answer);
        rig.ask();
        let again = rig.until(|report| server.asked().len() > asked && report.read_at > read_at);
        assert_eq!((&again.diagnoses, again.state), (&first.diagnoses, SourceState::Stale));
        assert_eq!(rig.images(), ["web=x:1"], "the last good version holds");
    }
}

#[test]
fn one_wrong_document_keeps_its_last_good_version_and_costs_no_other() {
    let server = Server::start();
    server.answer(response(200, &[], &manifests(&["a=x:1", "b=x:1"])));
    let rig = Rig::start(&[server.url("/pods")]);
    rig.begins();
    let wrong =
        String::from_utf8(manifests(&["a=x:2", "b=x:2"])).unwrap().replacen("image:", "imaeg: x, image:", 1);
    server.answer(response(200, &[], wrong.as_bytes()));
    rig.ask();
    rig.until(|report| !report.diagnoses.is_empty());
    assert_eq!(rig.images(), ["a=x:1", "b=x:2"]);
}
