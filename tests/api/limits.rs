//! Nobody has more of the server than the limits say, and nobody else is worse for it.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use podkeeper::node::api::Limits;

use crate::client::{ask, assert_ended, bearer, connect, connect_socket, get, read_to_end, reply};
use crate::server::{PATIENCE, Server, Setup, until};

const SOON: Duration = Duration::from_millis(300);

#[test]
fn w1_whoever_does_not_finish_a_head_is_let_go_and_others_are_served() {
    let server = Setup::limited(Limits { head_time: SOON, ..Limits::default() }).start();
    let beginnings = ["", "G", "GET / HTTP/1.1\r\nHost: localhost\r\nX-A: ", "\u{16}", "\u{16}\u{3}\u{1}"];
    let mut slow: Vec<TcpStream> = (0..60)
        .map(|i| {
            let mut stream = connect(server.address);
            stream.write_all(beginnings[i % beginnings.len()].as_bytes()).unwrap();
            stream
        })
        .collect();
    assert_eq!(ask(&mut connect(server.address), get("/healthz", "")).code, 200);
    for stream in &mut slow {
        // It may be told why, or nothing at all; either way it is over.
        read_to_end(stream);
    }
    let mut socket = connect_socket(&server.socket());
    socket.write_all(b"GET /").unwrap();
    assert_ended(&mut socket);
}

#[test]
fn w1_a_head_that_drips_has_no_more_time_than_others() {
    let server = Setup::limited(Limits { head_time: SOON, ..Limits::default() }).start();
    let mut stream = connect(server.address);
    stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n").unwrap();
    until("a dripping head is let go", || stream.write_all(b"x: y\r\n").is_err());
}

#[test]
fn a_connection_is_kept_between_requests_but_not_for_ever() {
    let server = Setup::limited(Limits { head_time: SOON, ..Limits::default() }).start();
    let mut stream = connect(server.address);
    for _ in 0..3 {
        assert_eq!(ask(&mut stream, get("/healthz", "")).code, 200);
    }
    assert_ended(&mut stream);
}

#[test]
fn w2_a_flood_takes_no_place_at_the_socket_and_whoever_waits_gets_the_next_place() {
    let limits = Limits { tcp_connections: 4, head_time: PATIENCE, ..Limits::default() };
    let server = Setup::limited(limits).start();
    let mut flood: Vec<TcpStream> = (0..4)
        .map(|_| {
            let mut stream = connect(server.address);
            // Served once, so it is inside.
            assert_eq!(ask(&mut stream, get("/healthz", "")).code, 200);
            stream
        })
        .collect();
    let mut waiting = connect(server.address);
    waiting.write_all(get("/healthz", "").as_bytes()).unwrap();
    let operator = ask(&mut connect_socket(&server.socket()), get("/pods", ""));
    assert_eq!(operator.code, 200);
    waiting.set_nonblocking(true).unwrap();
    assert_eq!(waiting.read(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock, "there was no place");
    waiting.set_nonblocking(false).unwrap();
    flood.pop();
    assert_eq!(reply(&mut waiting).unwrap().code, 200);
}

#[test]
fn w3_whoever_does_not_read_what_it_asked_for_loses_its_place() {
    let limits = Limits { tcp_connections: 1, stall_time: SOON, ..Limits::default() };
    let server = Setup::bulky(limits).start();
    let mut stalled = connect(server.address);
    stalled.write_all(get("/pods", &bearer(&server.token())).as_bytes()).unwrap();
    // There is one place only.
    assert_eq!(ask(&mut connect(server.address), get("/healthz", "")).code, 200);
    let mut stalled_socket = connect_socket(&server.socket());
    stalled_socket.write_all(get("/pods", "").as_bytes()).unwrap();
    assert_eq!(ask(&mut connect_socket(&server.socket()), get("/healthz", "")).code, 200);
}

#[test]
fn w3_a_body_that_nobody_wants_is_not_waited_for() {
    let server = Server::start();
    let mut stream = connect(server.address);
    let head = format!(
        "POST /pods HTTP/1.1\r\nHost: localhost\r\n{}Content-Length: 100\r\n\r\nsome",
        bearer(&server.token())
    );
    let reply = ask(&mut stream, head);
    reply.assert_status(405, "MethodNotAllowed");
    assert_eq!(reply.header("allow"), Some("GET, HEAD"));
    assert_ended(&mut stream);
}

#[test]
fn w4_heads_and_uris_have_their_sizes() {
    let server = Server::start();
    let header = |bytes: usize| get("/healthz", &format!("X-A: {}\r\n", "a".repeat(bytes)));
    let uri = |bytes: usize| get(&format!("/healthz?{}", "a".repeat(bytes)), "");
    for (name, request, code) in [
        ("a header of 60 kB", header(60_000), 200),
        ("a header of 66 kB", header(66_000), 431),
        ("a header of 1 MiB", header(1 << 20), 431),
        ("500 headers", get("/healthz", &"X-A: a\r\n".repeat(500)), 431),
        ("a URI of 8 kB", uri(8_000), 200),
        ("a URI of 9 kB", uri(9_000), 414),
        ("a URI of 1 MiB", uri(1 << 20), 431),
    ] {
        let reply = ask(&mut connect(server.address), request);
        assert_eq!(reply.code, code, "{name}");
    }
    assert_eq!(ask(&mut connect(server.address), get("/healthz", "")).code, 200);
}

#[test]
fn w5_nonsense_ends_the_connection_and_nothing_else() {
    let server = Setup::limited(Limits { head_time: SOON, ..Limits::default() }).start();
    for nonsense in [
        &b"\r\n\r\n\r\n\r\nnonsense\r\n\r\n"[..],
        b"GET\r\n\r\n",
        b"GET /healthz\r\n\r\n",
        b"GET /healthz HTTP/9.9\r\n\r\n",
        b"GET /health\x00z HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: \xff\xfe\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\n: empty\r\n\r\n",
        b"\xff\xff\xff\xff\xff\xff\xff\xff",
        // The begin of HTTP/2, which is not spoken here.
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        // A TLS record that holds no handshake worth the name.
        b"\x16\x03\x01\x00\x05hello",
        b"\x16\xff\xff\xff\xff\xff\xff",
    ] {
        let mut stream = connect(server.address);
        stream.write_all(nonsense).unwrap();
        let said = read_to_end(&mut stream);
        assert!(!said.contains("200 OK") && !said.contains(" 500 "), "{}: {said}", nonsense.escape_ascii());
    }
    assert_eq!(ask(&mut connect(server.address), get("/healthz", "")).code, 200);
}
