//! What is wrong with a body is told as a `Status` over the real routes that write, whatever it is; and it is never
//! waited for.

use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;

use podkeeper::node::api::Limits;
use serde_json::Value;

use crate::client::{Reply, ask, assert_ended, bearer, connect, connect_socket, reply};
use crate::server::{Server, Setup, until};

const PODS: &str = "/api/v1/namespaces/default/pods";
const POD: &str = "/api/v1/namespaces/default/pods/api";

/// Every way to write, with the content type that its clients send.
const WAYS: [(&str, &str, &str); 8] = [
    ("POST", PODS, "application/json"),
    ("PUT", POD, "application/json"),
    ("PATCH", POD, "application/merge-patch+json"),
    ("PATCH", POD, "application/strategic-merge-patch+json"),
    ("PATCH", POD, "application/json-patch+json"),
    ("PATCH", "/api/v1/namespaces/default/pods/api?fieldManager=x", "application/apply-patch+yaml"),
    ("POST", "/container", "application/json"),
    ("POST", "/containers", "application/json"),
];

/// A request, without the line that says how long its body is.
fn head(server: &Server, (method, path, kind): (&str, &str, &str)) -> String {
    let token = bearer(&server.token());
    format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\n{token}Content-Type: {kind}\r\n")
}

#[track_caller]
fn send(server: &Server, way: (&str, &str, &str), body: &[u8]) -> Reply {
    let length = format!("Content-Length: {}\r\n\r\n", body.len());
    ask(&mut connect(server.address), [head(server, way).as_bytes(), length.as_bytes(), body].concat())
}

fn limited() -> Server {
    let limits = Limits { body_time: Duration::from_millis(300), ..Limits::default() };
    let server = Setup::limited(limits).start();
    declare(&server);
    server
}

/// The pod that is changed.
fn declare(server: &Server) {
    let pod = br#"{"metadata": {"name": "api"}, "spec": {"containers": [{"name": "app", "image": "a:1"}]}}"#;
    assert_eq!(send(server, WAYS[0], pod).code, 201);
}

#[test]
fn w3_a_body_that_does_not_come_is_given_up_on_every_route() {
    let server = limited();
    for way in WAYS {
        let mut silent = connect(server.address);
        let reply = ask(&mut silent, head(&server, way) + "Content-Length: 100\r\n\r\n{\"");
        reply.assert_status(408, "Timeout");
        assert_ended(&mut silent);
    }
}

#[test]
fn w3_a_body_that_drips_has_no_more_time_than_others() {
    let server = limited();
    for way in WAYS {
        for length in ["Content-Length: 1000000\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n"] {
            let mut stream = connect(server.address);
            stream.write_all((head(&server, way) + length).as_bytes()).unwrap();
            // One byte is a chunk of one byte, or one and five of what was announced.
            until("a dripping body is given up", || stream.write_all(b"1\r\n \r\n").is_err());
        }
    }
    assert_eq!(send(&server, WAYS[2], b"{}").code, 200, "others are served");
}

#[test]
fn w4_a_body_that_is_too_large_is_refused_on_every_route() {
    let server = limited();
    let refused = |stream: &mut TcpStream| reply(stream).expect("an answer").assert_status(413, TOO_LARGE);
    for way in WAYS {
        // One that is announced need not come.
        let mut announced = connect(server.address);
        let head = head(&server, way);
        announced.write_all(format!("{head}Content-Length: 1048577\r\n\r\n").as_bytes()).unwrap();
        refused(&mut announced);
        let mut chunked = connect(server.address);
        chunked.write_all(format!("{head}Transfer-Encoding: chunked\r\n\r\n").as_bytes()).unwrap();
        let chunk = [b"10000\r\n", &[b' '; 0x10000][..], b"\r\n"].concat();
        // Sixteen are a mebibyte. The seventeenth is too much, and whoever has said so need not read on.
        for _ in 0..17 {
            let _ = chunked.write_all(&chunk);
        }
        refused(&mut chunked);
    }
}

#[test]
fn a_client_that_is_still_sending_hears_that_it_is_too_much_at_the_socket_too() {
    let server = Server::start();
    let much = "Content-Length: 4194304\r\n\r\n".to_owned() + &" ".repeat(4 << 20);
    let chunk = format!("10000\r\n{}\r\n", " ".repeat(0x10000));
    let chunks = format!("Transfer-Encoding: chunked\r\n\r\n{}0\r\n\r\n", chunk.repeat(64));
    for way in WAYS {
        for body in [&much, &chunks] {
            let mut stream = connect_socket(&server.socket());
            stream.write_all((head(&server, way) + body).as_bytes()).expect("all of it is taken");
            reply(&mut stream).expect("an answer").assert_status(413, TOO_LARGE);
        }
    }
}

#[test]
fn a_client_that_never_stops_sending_is_let_go_at_the_socket_too() {
    let server = Server::start();
    let chunk = format!("10000\r\n{}\r\n", " ".repeat(0x10000));
    let mut stream = connect_socket(&server.socket());
    stream.write_all((head(&server, WAYS[0]) + "Transfer-Encoding: chunked\r\n\r\n").as_bytes()).unwrap();
    until("it is let go", || stream.write_all(chunk.as_bytes()).is_err());
}

const TOO_LARGE: &str = "RequestEntityTooLarge";

#[test]
fn w5_a_body_that_is_not_what_it_should_be_is_a_400_on_every_route() {
    let server = limited();
    let (deep, wide) = ("[".repeat(200_000), format!("{{\"a\":{}1{}}}", "[".repeat(5000), "]".repeat(5000)));
    let bodies: [&[u8]; 12] = [
        b"",
        b" ",
        b"{",
        b"}",
        b"{\"a\": 1, \"a\": 2}",
        b"{\"a\": 1} {\"b\": 2}",
        b"\"text\"",
        b"17",
        b"{\"a\": \"\\ud800\"}",
        b"\xff\xfe{\x00}\x00",
        deep.as_bytes(),
        wide.as_bytes(),
    ];
    for way in WAYS {
        for body in bodies {
            let reply = send(&server, way, body);
            // The two of 2014 read manifests, and a manifest that is wrong is invalid.
            let is_2014 = way.1.starts_with("/container");
            let expected = if is_2014 && reply.code == 422 { (422, "Invalid") } else { (400, "BadRequest") };
            reply.assert_status(expected.0, expected.1);
        }
    }
}

#[test]
fn w5_a_content_type_that_is_not_understood_is_a_415() {
    let server = limited();
    for (method, path) in [("POST", PODS), ("PUT", POD), ("PATCH", POD)] {
        for kind in
            ["application/vnd.kubernetes.protobuf", "text/plain", "multipart/form-data; boundary=x", "/"]
        {
            send(&server, (method, path, kind), b"{}").assert_status(415, "UnsupportedMediaType");
        }
    }
    send(&server, ("PATCH", POD, "application/json"), b"{}").assert_status(415, "UnsupportedMediaType");
}

#[test]
fn w5_a_pod_that_is_invalid_is_a_422_that_names_each_field() {
    let server = limited();
    let pod = |containers: &str| {
        format!(
            r#"{{"apiVersion": "v1", "kind": "Pod", "metadata": {{"name": "api"}}, "spec": {{"containers": {containers}}}}}"#
        )
    };
    let wrong = r#"[{"name": "app", "image": "a:1", "imgae": "b", "ports": [{"containerPort": 99999}]}]"#;
    let fields = ["spec.containers[0].imgae", "spec.containers[0].ports[0].containerPort"];
    let patch = format!(r#"{{"spec": {{"containers": {wrong}}}}}"#);
    let json_patch = format!(r#"[{{"op": "replace", "path": "/spec/containers", "value": {wrong}}}]"#);
    for (way, body, fields) in [
        (WAYS[0], pod(wrong).replace(r#""api""#, r#""new""#), &fields[..]),
        (WAYS[1], pod(wrong), &fields),
        (WAYS[2], patch.clone(), &fields),
        (WAYS[3], patch, &fields),
        (WAYS[4], json_patch, &fields),
        (WAYS[5], pod(wrong), &fields),
        (WAYS[6], pod(wrong), &fields),
        (WAYS[7], pod(wrong), &fields),
        (WAYS[0], r#"{"kind": "Pod"}"#.into(), &["metadata.name"]),
        (WAYS[0], pod(r#""none""#).replace(r#""api""#, r#""new""#), &["spec.containers"]),
        (WAYS[1], pod("[]"), &["spec.containers"]),
        (WAYS[2], r#"{"metadata": 7}"#.into(), &["metadata"]),
        (WAYS[3], r#"{"spec": {"containers": [{"image": "x"}]}}"#.into(), &["patch"]),
        (WAYS[4], r#"[{"op": "remove", "path": "/spec/none"}]"#.into(), &["patch"]),
        (WAYS[4], r#"[{"op": "test", "path": "/spec/containers/0/image", "value": "b"}]"#.into(), &["patch"]),
    ] {
        let reply = send(&server, way, body.as_bytes());
        reply.assert_status(422, "Invalid");
        let status: Value = serde_json::from_str(&reply.body).unwrap();
        let causes =
            status["details"]["causes"].as_array().unwrap_or_else(|| panic!("{way:?}: {}", reply.body));
        for field in fields {
            assert!(causes.iter().any(|cause| cause["field"] == *field), "{way:?} {field}: {causes:#?}");
        }
        assert!(causes.iter().all(|cause| cause["message"].as_str().is_some_and(|said| !said.is_empty())));
    }
}

#[test]
fn w5_a_grace_period_that_is_no_number_of_seconds_is_a_400_and_deletes_nothing() {
    let server = limited();
    let delete = |query: &str, body: &str| {
        send(&server, ("DELETE", &format!("{POD}{query}"), "application/json"), body.as_bytes())
    };
    for (query, body) in [
        ("?gracePeriodSeconds=soon", ""),
        ("?gracePeriodSeconds=1.5", "{}"),
        ("", r#"{"gracePeriodSeconds": "5"}"#),
        ("", r#"{"gracePeriodSeconds": 0.5}"#),
        ("", r#"{"gracePeriodSeconds": 1e30}"#),
        ("", "[]"),
    ] {
        delete(query, body).assert_status(400, "BadRequest");
    }
    // One that is deleted cannot be changed.
    assert_eq!(send(&server, WAYS[2], b"{}").code, 200);
    for (query, body, seconds) in [
        ("?gracePeriodSeconds=20", "", 20),
        ("?gracePeriodSeconds=3", r#"{"gracePeriodSeconds": 10}"#, 10),
        ("", r#"{"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": -5}"#, 1),
        ("", r#"{"gracePeriodSeconds": 0}"#, 0),
    ] {
        let gone: Value = serde_json::from_str(&delete(query, body).body).unwrap();
        assert_eq!(gone["metadata"]["deletionGracePeriodSeconds"], seconds, "{query} {body}: {gone}");
    }
}
