//! W17: no request hides inside another; hyper sees to it, and this to hyper. Each of these is something that a proxy and a server may read
//! differently; whatever is made of the first request, the second is never answered.

use std::io::Write;
use std::time::Duration;

use podkeeper::node::api::Limits;

use crate::client::{bearer, connect, read_to_end};
use crate::server::{Server, Setup};

/// Lets go of a client that says nothing more: that is how a test knows that nothing more comes.
fn server() -> Server {
    Setup::limited(Limits { head_time: Duration::from_millis(300), ..Limits::default() }).start()
}

/// What comes back, all of it.
fn said(server: &Server, head: &str, body: &str) -> String {
    let smuggled = format!("GET /smuggled HTTP/1.1\r\nHost: localhost\r\n{}\r\n", bearer(&server.token()));
    let token = bearer(&server.token());
    let mut stream = connect(server.address);
    let request = format!("POST /pods HTTP/1.1\r\nHost: localhost\r\n{token}{head}\r\n{body}{smuggled}");
    let _ = stream.write_all(request.as_bytes());
    read_to_end(&mut stream)
}

#[test]
fn w17_a_request_with_two_lengths_ends_the_connection() {
    let server = server();
    for (head, body) in [
        ("Content-Length: 3\r\nContent-Length: 0\r\n", "abc"),
        ("Content-Length: 0\r\nContent-Length: 3\r\n", ""),
        ("Content-Length: 3, 0\r\n", "abc"),
        ("Content-Length: +3\r\n", "abc"),
        ("Content-Length: -1\r\n", ""),
        ("Content-Length: 0x3\r\n", "abc"),
        ("Content-Length: 3 3\r\n", "abc"),
        ("Content-Length: 99999999999999999999\r\n", "abc"),
        ("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"),
        ("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "0\r\n\r\n"),
        ("Transfer-Encoding: chunked, identity\r\n", "0\r\n\r\n"),
        ("Transfer-Encoding: identity\r\nContent-Length: 0\r\n", ""),
        ("Transfer-Encoding: xchunked\r\nContent-Length: 0\r\n", ""),
        ("Transfer-Encoding : chunked\r\n", "0\r\n\r\n"),
        ("Content-Length : 3\r\n", "abc"),
        ("X-A: b\r\n Content-Length: 3\r\n", "abc"),
        ("Transfer-Encoding: chunked\r\n", "ffffffffffffffff1\r\nabc\r\n0\r\n\r\n"),
        ("Transfer-Encoding: chunked\r\n", "3;\nx\r\nabc\r\n0\r\n\r\n"),
        ("Transfer-Encoding: chunked\r\n", "-3\r\nabc\r\n0\r\n\r\n"),
    ] {
        let said = said(&server, head, body);
        assert!(said.matches("HTTP/1.1 ").count() <= 1, "{head:?}: {said}");
        assert!(!said.contains("smuggled"), "{head:?}: {said}");
    }
}

/// What the table above would see if the second request were answered.
#[test]
fn two_requests_that_follow_each_other_are_two() {
    let said = said(&server(), "Content-Length: 0\r\n", "");
    assert_eq!(said.matches("HTTP/1.1 ").count(), 2, "{said}");
    assert!(said.contains("405") && said.contains("/smuggled"), "{said}");
}
