//! Who we are: passwords, tokens, headers. They reach the server that was named, and nothing else.

use hyper::header::{HeaderName, HeaderValue};
use podkeeper::node::sources::http::Access;

use crate::rig::{Rig, manifests};
use crate::server::{Server, response};

#[test]
fn user_and_password_of_a_url_are_sent_and_never_shown() {
    let server = Server::start();
    server.answer(response(200, &[], &manifests(&["web"])));
    let url = server.url("/pods?v=1&token=canary").replace("//", "//me:can%61ry@");
    let rig = Rig::start(&[url]);
    let report = rig.begins();
    let asked = server.asked();
    assert!(asked[0].starts_with("GET /pods?v=1&token=canary HTTP/1.1\r\n"), "{}", asked[0]);
    assert!(asked[0].contains("authorization: Basic bWU6Y2FuYXJ5\r\n"), "{}", asked[0]);
    assert_eq!(report.origin, server.url("/pods?v=1&token=…"));
    server.answer(response(500, &[], b""));
    let report = rig.fails("500");
    assert!(!format!("{report:?} {:?}", rig.pods()).contains("canary"));
}

#[test]
fn a_token_is_read_anew_for_each_request() {
    let (server, dir) = (Server::start(), tempfile::tempdir().unwrap());
    let token = dir.path().join("token");
    std::fs::write(&token, "first\n").unwrap();
    server.answer(response(200, &[], &manifests(&["web"])));
    let access = Access { token_file: Some(token.clone()), ..Access::default() };
    let rig = Rig::with(&[server.url("/pods")], access);
    rig.begins();
    std::fs::write(&token, "second").unwrap();
    rig.reads();
    for (asked, expected) in server.asked().iter().zip(["Bearer first", "Bearer second"]) {
        assert!(asked.contains(&format!("authorization: {expected}\r\n")), "{asked}");
    }
    std::fs::write(&token, "canary\nand more").unwrap();
    let report = rig.fails("the token file holds more than a token");
    assert!(!format!("{report:?}").contains("canary"));
    std::fs::remove_file(&token).unwrap();
    rig.fails("token cannot be read: No such file");
    std::fs::write(&token, "third").unwrap();
    rig.reads();
}

#[test]
fn headers_of_ones_own_are_sent() {
    let server = Server::start();
    server.answer(response(200, &[], &manifests(&["web"])));
    let header = |name, value| (HeaderName::from_static(name), HeaderValue::from_static(value));
    let headers = vec![header("x-node", "n1"), header("accept", "text/plain"), header("x-node", "n2")];
    let rig = Rig::with(&[server.url("/pods")], Access { headers, ..Access::default() });
    rig.begins();
    let asked = server.asked();
    assert!(asked[0].contains("x-node: n1\r\n") && asked[0].contains("x-node: n2\r\n"), "{}", asked[0]);
    assert!(asked[0].contains("user-agent: podkeeper/"), "{}", asked[0]);
}
