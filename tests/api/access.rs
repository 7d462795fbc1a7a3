//! Who comes in, and under which names the node is asked.

use crate::client::{ask, assert_ended, bearer, connect, connect_socket, get};
use crate::server::{Server, Setup};

#[test]
fn without_the_token_only_health_is_told() {
    let server = Server::start();
    for path in ["/healthz", "/livez"] {
        assert_eq!(ask(&mut connect(server.address), get(path, "")).code, 200, "{path}");
    }
    // Why it is not ready names the engine and the sources.
    let readiness = |more: &str| ask(&mut connect(server.address), get("/readyz", more));
    let (anyone, known) = (readiness(""), readiness(&bearer(&server.token())));
    assert_eq!((anyone.code, anyone.body.as_str()), (503, "not ready\n"));
    assert_eq!((known.code, known.body.as_str()), (503, "the engine has not answered yet\n"));
    for path in ["/pods", "/plan", "/sources", "/configz", "/", "/nothing", "/healthz/../pods", "/%70ods"] {
        let mut stream = connect(server.address);
        let reply = ask(&mut stream, get(path, ""));
        reply.assert_status(401, "Unauthorized");
        assert!(reply.header("www-authenticate").unwrap().starts_with("Bearer"), "{path}");
        assert_ended(&mut stream);
    }
    let mut stream = connect(server.address);
    assert_eq!(ask(&mut stream, get("/pods", &bearer(&server.token()))).code, 200);
    ask(&mut stream, get("/nothing", &bearer(&server.token()))).assert_status(404, "NotFound");
    ask(&mut stream, get("/pods", &bearer("wrong"))).assert_status(401, "Unauthorized");
}

#[test]
fn the_socket_needs_no_token() {
    let server = Server::start();
    assert_eq!(ask(&mut connect_socket(&server.socket()), get("/pods", "")).code, 200);
}

#[test]
fn a_new_token_counts_at_once() {
    let server = Server::start();
    let old = server.token();
    let mut stream = connect(server.address);
    assert_eq!(ask(&mut stream, get("/pods", &bearer(&old))).code, 200);
    std::fs::write(server.dir.join("token"), "another token of 32 bytes".replace(' ', "-")).unwrap();
    assert_eq!(ask(&mut stream, get("/pods", &bearer(&server.token()))).code, 200);
    assert_eq!(ask(&mut stream, get("/pods", &bearer(&old))).code, 401);
}

#[test]
fn a_name_that_is_not_the_nodes_is_refused_even_with_the_token() {
    let server = Server::start();
    let host = |host: &str, path: &str| {
        let token = bearer(&server.token());
        ask(&mut connect(server.address), format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n{token}\r\n"))
    };
    for name in ["localhost", "127.0.0.1:10250", "node-1", "[::1]:1"] {
        assert_eq!(host(name, "/pods").code, 200, "{name}");
    }
    for path in ["/pods", "/healthz", "/nothing"] {
        host("rebound.example", path).assert_status(421, "Misdirected");
    }
}

#[test]
fn a_page_from_elsewhere_is_refused_even_with_the_token() {
    let server = Server::start();
    let token = bearer(&server.token());
    for (origin, code) in [("http://localhost", 200), ("https://evil.example", 403), ("null", 403)] {
        let more = format!("{token}Origin: {origin}\r\n");
        assert_eq!(ask(&mut connect(server.address), get("/pods", &more)).code, code, "{origin}");
    }
}

#[test]
fn ipv6_is_served_as_well() {
    for address in ["[::1]:0", "[::]:0"] {
        let mut setup = Setup::new();
        setup.tcp.address = address.parse().unwrap();
        let server = setup.start();
        let at = std::net::SocketAddr::new("::1".parse().unwrap(), server.address.port());
        let request = format!("GET /pods HTTP/1.1\r\nHost: {at}\r\n{}\r\n", bearer(&server.token()));
        assert_eq!(ask(&mut connect(at), request).code, 200, "{address}");
    }
}
