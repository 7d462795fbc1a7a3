//! A port that is taken, and the end.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use podkeeper::node::api::Limits;

use crate::client::{ask, assert_ended, bearer, connect, connect_socket, get, reply};
use crate::server::{BULK, PATIENCE, Server, Setup, until};

/// The kubelet of 2014 span when its port was taken (its defect 14).
#[test]
fn a_taken_port_is_told_and_taken_once_it_is_free() {
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut setup = Setup::new();
    setup.tcp.address = other.local_addr().unwrap();
    let server = setup.start();
    let config = ask(&mut connect_socket(&server.socket()), get("/configz", "")).body;
    let config: serde_json::Value = serde_json::from_str(&config).unwrap();
    let api = &config["podkeeper"]["api"];
    assert_eq!(api["listens"], false);
    assert!(api["error"].as_str().unwrap().contains(&server.address.to_string()), "{api}");
    drop(other);
    until("the API listens", || TcpStream::connect(server.address).is_ok());
    assert_eq!(ask(&mut connect(server.address), get("/healthz", "")).code, 200);
}

#[test]
fn at_the_end_what_is_under_way_is_answered_and_nobody_else() {
    // Nobody is let go for another reason.
    let limits = Limits { head_time: 3 * PATIENCE, farewell: 3 * PATIENCE, ..Limits::default() };
    let mut server = Setup::bulky(limits).start();
    let mut idle = connect(server.address);
    assert_eq!(ask(&mut idle, get("/healthz", "")).code, 200);
    let silent = connect(server.address);
    let mut busy = connect(server.address);
    busy.write_all(get("/pods", &bearer(&server.token())).as_bytes()).unwrap();
    let mut begin = [0; 9];
    busy.read_exact(&mut begin).unwrap();
    server.tell_to_stop();
    assert_ended(&mut idle);
    let rest = reply(&mut begin.chain(&mut busy)).unwrap();
    assert_eq!(rest.code, 200);
    assert!(rest.body.len() > BULK);
    assert_ended(&mut busy);
    server.wait_for_end();
    assert!(TcpStream::connect(server.address).is_err());
    drop(silent);
}

#[test]
fn whoever_never_finishes_does_not_hold_up_the_end() {
    let limits = Limits { farewell: std::time::Duration::from_millis(200), ..Limits::default() };
    let mut server = Setup::bulky(limits).start();
    let mut stalled = connect(server.address);
    stalled.write_all(get("/pods", &bearer(&server.token())).as_bytes()).unwrap();
    stalled.read_exact(&mut [0; 9]).unwrap();
    let mut half = connect_socket(&server.socket());
    half.write_all(b"GET /pods HTTP/1.1\r\n").unwrap();
    server.tell_to_stop();
    server.wait_for_end();
}

#[test]
fn the_same_files_serve_again_after_a_restart() {
    let mut server = Server::start();
    let (token, certificate) = (server.token(), std::fs::read(server.dir.join("api.crt")).unwrap());
    server.tell_to_stop();
    server.wait_for_end();
    let mut setup = Setup::new();
    setup.tcp.state_dir = server.dir.clone();
    let again = setup.start();
    assert_eq!(ask(&mut connect(again.address), get("/pods", &bearer(&token))).code, 200);
    assert_eq!(std::fs::read(server.dir.join("api.crt")).unwrap(), certificate);
}
