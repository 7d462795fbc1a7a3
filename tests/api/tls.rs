//! TLS beside plain HTTP at one port, client certificates, files that are replaced.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::ClientConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::client::{ask, bearer, believing, connect, get, roots, secure};
use crate::server::{Server, Setup};

#[test]
fn the_made_certificate_is_good_for_every_name_of_the_node() {
    let server = Server::start();
    let token = bearer(&server.token());
    for name in ["localhost", "127.0.0.1", "::1", "node-1"] {
        let mut stream = secure(server.address, name, believing(&server.dir.join("api.crt")));
        assert_eq!(ask(&mut stream, get("/pods", &token)).code, 200, "{name}");
        assert_eq!(ask(&mut stream, get("/pods", "")).code, 401, "{name}");
    }
    // The same port, without.
    assert_eq!(ask(&mut connect(server.address), get("/pods", &token)).code, 200);
}

#[test]
fn another_nodes_certificate_is_not_this_nodes() {
    let (server, other) = (Server::start(), Server::start());
    let mut stream = secure(server.address, "localhost", believing(&other.dir.join("api.crt")));
    assert!(stream.conn.complete_io(&mut stream.sock).is_err());
}

#[test]
fn a_replaced_certificate_is_shown_at_once_and_half_a_replacement_never() {
    let mut setup = Setup::new();
    let (certificate, key) = (setup.dir().join("own.crt"), setup.dir().join("own.key"));
    let write = |name: &str| {
        let made = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
        (made.cert.pem(), made.signing_key.serialize_pem())
    };
    let (first, first_key) = write("first.example");
    fs::write(&certificate, &first).unwrap();
    fs::write(&key, first_key).unwrap();
    setup.tcp.certificate = Some((certificate.clone(), key.clone()));
    let server = setup.start();
    let first_alone = server.dir.join("first.crt");
    fs::write(&first_alone, first).unwrap();
    let answer = |name: &str, trusted: &Path| {
        let request = format!("GET /healthz HTTP/1.1\r\nHost: {name}\r\n\r\n");
        ask(&mut secure(server.address, name, believing(trusted)), request).code
    };
    assert_eq!(answer("first.example", &first_alone), 200);
    let (second, second_key) = write("second.example");
    fs::write(&certificate, second).unwrap();
    assert_eq!(answer("first.example", &first_alone), 200);
    fs::write(&key, second_key).unwrap();
    assert_eq!(answer("second.example", &certificate), 200);
    // By the new certificate, the old name is not the node's any more.
    let mut plain = connect(server.address);
    let request = "GET /healthz HTTP/1.1\r\nHost: first.example\r\n\r\n";
    ask(&mut plain, request).assert_status(421, "Misdirected");
}

#[test]
fn a_client_certificate_stands_for_the_token_when_the_right_one_signed_it() {
    let mut setup = Setup::new();
    let (own, foreign) = (authority(), authority());
    let client_ca = setup.dir().join("clients.crt");
    fs::write(&client_ca, own.pem()).unwrap();
    setup.tcp.client_ca = Some(client_ca);
    let server = setup.start();
    let trusted = server.dir.join("api.crt");
    let mut known = secure(server.address, "localhost", showing(&trusted, &own));
    assert_eq!(ask(&mut known, get("/pods", "")).code, 200);
    let mut without = secure(server.address, "localhost", believing(&trusted));
    assert_eq!(ask(&mut without, get("/pods", "")).code, 401);
    assert_eq!(ask(&mut connect(server.address), get("/pods", &bearer(&server.token()))).code, 200);
    let mut unknown = secure(server.address, "localhost", showing(&trusted, &foreign));
    let request = get("/pods", &bearer(&server.token()));
    let written = std::io::Write::write_all(&mut unknown, request.as_bytes());
    assert!(written.is_err() || std::io::Read::read(&mut unknown, &mut [0]).is_err());
}

type Authority = CertifiedIssuer<'static, KeyPair>;

fn authority() -> Authority {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// A client with a certificate that this authority has signed.
fn showing(trusted: &Path, signer: &Authority) -> ClientConfig {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(["client".to_owned()]).unwrap();
    let certificate = params.signed_by(&key, signer).unwrap();
    let chain = vec![CertificateDer::from(certificate.der().to_vec())];
    let key = PrivateKeyDer::from_pem_slice(key.serialize_pem().as_bytes()).unwrap();
    ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots(trusted))
        .with_client_auth_cert(chain, key)
        .unwrap()
}
