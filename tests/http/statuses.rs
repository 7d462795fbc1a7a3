//! What the server says before the body: H1 to H3, H9, H13.

use std::net::TcpListener;
use std::sync::Arc;

use podkeeper::node::sources::http::Access;
use podkeeper::plan::Slot;

use crate::rig::{Rig, manifests};
use crate::server::{Answer, Server, response};

#[test]
fn h1_a_304_is_a_success_and_changes_nothing() {
    let server = Server::start();
    let pods = manifests(&["web"]);
    server.script(move |asked| match asked.contains("if-none-match: \"v1\"") {
        true => response(304, &[], b""),
        false => {
            response(200, &[("ETag", "\"v1\""), ("Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT")], &pods)
        }
    });
    let rig = Rig::start(&[server.url("/pods")]);
    let first = rig.begins();
    assert_eq!((first.revision.as_deref(), first.pods), (Some("\"v1\""), 1));
    let before = rig.pods();
    let second = rig.reads();
    assert_eq!((second.revision, second.error), (first.revision, None));
    assert!(Arc::ptr_eq(&before["web"], &rig.pods()["web"]), "it is not even read again");
    let asked = server.asked();
    assert!(!asked[0].contains("if-"), "{}", asked[0]);
    assert!(asked[1].contains("if-modified-since: Sun, 06 Nov 1994 08:49:37 GMT"), "{}", asked[1]);
}

#[test]
fn h1_a_304_that_nobody_asked_for_is_an_error() {
    let server = Server::start();
    server.answer(response(304, &[], b""));
    let rig = Rig::start(&[server.url("/pods")]);
    rig.until(|report| report.error.as_ref().is_some_and(|error| error.contains("304")));
    assert!(matches!(rig.slot(), Slot::Unknown));
}

#[test]
fn h2_h3_no_status_but_200_takes_a_pod_away() {
    let server = Server::start();
    server.answer(response(200, &[], &manifests(&["web", "db"])));
    let rig = Rig::start(&[server.url("/pods")]);
    rig.begins();
    for (status, words) in [
        (404, "404 Not Found: it is gone at the server"),
        (410, "410 Gone: it is gone at the server"),
        (204, "204 No Content"),
        (206, "206 Partial Content"),
        (401, "401 Unauthorized: look at the credentials"),
        (429, "429 Too Many Requests"),
        (500, "500 Internal Server Error"),
        (502, "502 Bad Gateway"),
        (503, "503 Service Unavailable"),
    ] {
        // An error page that happens to be a manifest is none.
        let body = if status == 204 { Vec::new() } else { manifests(&["other"]) };
        server.answer(response(status, &[("Retry-After", "1")], &body));
        let report = rig.fails(words);
        assert_eq!((report.pods, rig.pods().len()), (2, 2));
        assert!(matches!(rig.slot(), Slot::Stale(_)), "nothing of it may be removed");
    }
    server.answer(response(200, &[], &manifests(&["web"])));
    assert_eq!(rig.reads().error, None);
    assert_eq!(rig.images(), ["web=x:1"]);
}

#[test]
fn h9_a_redirect_on_the_same_server_is_followed() {
    let server = Server::start();
    let pods = manifests(&["web"]);
    server.script(move |asked| match asked.split(' ').nth(1) {
        Some("/a/pods") => response(302, &[("Location", "../b/pods?x=1")], b""),
        Some("/b/pods?x=1") => response(308, &[("Location", "/c")], b""),
        Some("/c") => response(301, &[("Location", "d")], b""),
        Some("/d") => response(200, &[], &pods),
        _ => response(404, &[], b""),
    });
    let rig = Rig::start(&[server.url("/a/pods")]);
    assert_eq!(rig.begins().pods, 1);
}

#[test]
fn h9_no_redirect_leads_in_circles_or_elsewhere() {
    let (server, elsewhere) = (Server::start(), Server::start());
    server.answer(response(200, &[], &manifests(&["web"])));
    let rig = Rig::start(&[server.url("/pods").replace("//", "//me:hush@")]);
    rig.begins();
    let target = elsewhere.url("/pods");
    for (location, words) in [
        ("/pods", "redirects more than 3 times"),
        (target.as_str(), "another place than the one that was named"),
        ("http://169.254.169.254/latest/meta-data", "http://169.254.169.254/latest/meta-data"),
        ("file:///etc/shadow", "a file: address"),
        ("", "redirects more than 3 times"),
    ] {
        server.answer(response(302, &[("Location", location)], b""));
        rig.fails(words);
    }
    server.answer(response(302, &[], b""));
    rig.fails("does not say where to");
    assert_eq!(elsewhere.connections(), 0, "nothing was sent to another place, no credentials either");
}

#[test]
fn h9_a_link_local_address_is_not_asked_unless_that_is_allowed() {
    let url = |host: &str| format!("http://{host}:1/latest");
    for host in ["169.254.169.254", "[::ffff:169.254.169.254]", "[fe80::1]", "2852039166"] {
        let rig = Rig::start(&[url(host)]);
        rig.until(|report| report.error.as_ref().is_some_and(|error| error.contains("a link-local address")));
    }
    let allowed = Access { allow_link_local: true, limits: crate::rig::SHORT, ..Access::default() };
    let rig = Rig::with(&[url("[fe80::1]")], allowed);
    rig.until(|report| report.error.as_ref().is_some_and(|error| !error.contains("a link-local address")));
}

#[test]
fn h13_a_name_that_does_not_resolve_is_an_error_that_names_it() {
    let rig = Rig::start(&["http://pods.invalid/x".to_owned()]);
    rig.until(|report| {
        report.error.as_ref().is_some_and(|error| error.contains("the name pods.invalid cannot be resolved"))
    });
    assert!(matches!(rig.slot(), Slot::Unknown));
}

#[test]
fn h13_each_poll_resolves_and_connects_anew() {
    let server = Server::start();
    server.answer(response(200, &[], &manifests(&["web"])));
    let rig = Rig::start(&[server.url("/pods").replace("127.0.0.1", "localhost")]);
    rig.begins();
    rig.reads();
    rig.reads();
    assert_eq!((server.connections(), server.asked().len()), (3, 3));
    assert!(server.asked()[0].contains(&format!("host: localhost:{}", server.address.port())));
}

#[test]
fn a_server_that_is_away_takes_nothing_along_and_is_read_when_it_is_back() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = port.local_addr().unwrap();
    drop(port);
    let rig = Rig::start(&[format!("http://{address}/pods")]);
    let report = rig.until(|report| report.error.is_some());
    assert!(report.error.unwrap().contains("nobody listens there"));
    let server = Server::listen_at(address);
    server.answer(response(200, &[], &manifests(&["web"])));
    assert_eq!(rig.reads().pods, 1);
}

#[test]
fn a_server_that_speaks_something_else_is_an_error() {
    let server = Server::start();
    server.answer(response(200, &[], &manifests(&["web"])));
    let rig = Rig::start(&[server.url("/pods")]);
    rig.begins();
    let endless = [b"HTTP/1.1 200 OK\r\nX: ".to_vec(), vec![b'a'; 1 << 20]].concat();
    for (said, words) in [
        (b"SSH-2.0-OpenSSH_9.2\r\n".to_vec(), "the server broke off"),
        (Vec::new(), "the server broke off"),
        (endless, "the server broke off"),
    ] {
        server.answer(Answer::Bytes(said));
        rig.fails(words);
        server.answer(response(200, &[], &manifests(&["web"])));
        rig.reads();
    }
}
