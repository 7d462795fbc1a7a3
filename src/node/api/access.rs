//! Who may come in: everybody that the kernel vouches for on the unix socket, and over TCP whoever has the
//! token or a client certificate. A container in the host's network reaches loopback, too.

use std::fmt;

use hyper::header::AUTHORIZATION;
use hyper::http::request::Parts;
use hyper::{Method, StatusCode};

use crate::node::api::refusal::Refusal;
use crate::node::api::tcp::Tcp;
use crate::node::api::{Limits, host};

/// Who is at the other end of a connection.
#[derive(Clone, Copy, Debug)]
pub enum Peer {
    /// As the kernel says; `None` when it cannot.
    Socket {
        uid: Option<u32>,
    },
    Tcp(Way),
}

/// How a connection came over TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Tls {
        /// The client has shown a certificate that was signed as it should.
        certificate: bool,
    },
    /// Without TLS, where nobody listens in.
    Plain,
    /// Without TLS, where somebody may.
    Exposed,
}

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caller {
    User(u32),
    Token,
    Certificate,
    /// Whoever: for what everybody may know.
    Anyone,
}

impl fmt::Display for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Caller::User(uid) => write!(f, "user {uid}"),
            Caller::Token => f.write_str("the token"),
            Caller::Certificate => f.write_str("a client certificate"),
            Caller::Anyone => f.write_str("anyone"),
        }
    }
}

/// Lets a request in, or says why not. `tcp` is there for whoever comes over TCP.
///
/// # Errors
/// For those who may not.
pub fn admit(request: &Parts, peer: Peer, tcp: Option<&Tcp>, limits: &Limits) -> Result<Caller, Refusal> {
    if request.uri.path_and_query().is_some_and(|uri| uri.as_str().len() > limits.uri_size) {
        let message = format!("the URI is longer than {} bytes", limits.uri_size);
        return Err(Refusal::new(StatusCode::URI_TOO_LONG, "RequestURITooLong", message));
    }
    match (peer, tcp) {
        (Peer::Socket { uid }, _) => from_socket(uid, rustix::process::geteuid().as_raw()),
        (Peer::Tcp(way), Some(tcp)) => {
            if way == Way::Exposed {
                return Err(Refusal::bad_request(
                    "this address takes TLS only: ask https://, or start the agent with --insecure-bind",
                )
                .closing());
            }
            host::check(request, |name| tcp.is_called(name)).map_err(Refusal::closing)?;
            from_tcp(request, way, |given| tcp.token.now().is(given))
        }
        (Peer::Tcp(_), None) => Err(Refusal::new(StatusCode::FORBIDDEN, "Forbidden", "nobody listens there")),
    }
}

fn from_socket(uid: Option<u32>, own: u32) -> Result<Caller, Refusal> {
    match uid.filter(|&uid| uid == 0 || uid == own) {
        Some(uid) => Ok(Caller::User(uid)),
        None => {
            let message = "only root and the agent's own user are served";
            Err(Refusal::new(StatusCode::FORBIDDEN, "Forbidden", message))
        }
    }
}

fn from_tcp(request: &Parts, way: Way, is_token: impl Fn(&str) -> bool) -> Result<Caller, Refusal> {
    // A wrong token is refused also where none is needed: it tells whoever checks it by such a path.
    let token = bearer(request)?;
    match token {
        Some(token) if is_token(token) => Ok(Caller::Token),
        Some(_) => Err(unauthorized("the token is not this node's: it is in the file token in --state-dir")),
        None if way == (Way::Tls { certificate: true }) => Ok(Caller::Certificate),
        None if is_public(request) => Ok(Caller::Anyone),
        None => Err(unauthorized(
            "a token is needed (Authorization: Bearer …, from the file token in --state-dir), or a client \
             certificate; podkeeper kubeconfig prints what kubectl needs",
        )),
    }
}

fn unauthorized(message: &str) -> Refusal {
    Refusal::new(StatusCode::UNAUTHORIZED, "Unauthorized", message).closing()
}

/// What a load balancer or a watchdog asks, which has no token.
fn is_public(request: &Parts) -> bool {
    matches!(request.method, Method::GET | Method::HEAD)
        && matches!(request.uri.path(), "/healthz" | "/livez" | "/readyz")
}

/// `Authorization: Bearer …`, once.
fn bearer(request: &Parts) -> Result<Option<&str>, Refusal> {
    let mut given = request.headers.get_all(AUTHORIZATION).iter();
    let (Some(first), second) = (given.next(), given.next()) else { return Ok(None) };
    let token = first.to_str().ok().and_then(|text| text.split_once(' '));
    match token {
        Some((scheme, token)) if second.is_none() && scheme.eq_ignore_ascii_case("bearer") => {
            Ok(Some(token.trim()))
        }
        _ => Err(unauthorized("the Authorization header is not one Bearer token")),
    }
}

#[cfg(test)]
mod tests {
    use hyper::Request;
    use hyper::header::HOST;

    use super::*;
    use crate::node::api::tcp::Settings;

    fn over_tcp(path: &str, authorization: &[&str], way: Way) -> Result<Caller, u16> {
        let mut request = Request::get(path);
        for value in authorization {
            request = request.header(AUTHORIZATION, *value);
        }
        let (parts, ()) = request.body(()).unwrap().into_parts();
        from_tcp(&parts, way, |given| given == "secret").map_err(|refusal| refusal.code.as_u16())
    }

    #[test]
    fn the_token_or_a_certificate_opens_what_is_not_for_everybody() {
        let tls = Way::Tls { certificate: false };
        let known = Way::Tls { certificate: true };
        for (path, authorization, way, expected) in [
            ("/pods", &["Bearer secret"][..], tls, Ok(Caller::Token)),
            ("/pods", &["bearer  secret"], Way::Plain, Ok(Caller::Token)),
            ("/pods", &[], known, Ok(Caller::Certificate)),
            ("/pods", &[], tls, Err(401)),
            ("/pods", &["Bearer wrong"], known, Err(401)),
            ("/pods", &["Basic c2VjcmV0"], tls, Err(401)),
            ("/pods", &["secret"], tls, Err(401)),
            ("/pods", &["Bearer secret", "Bearer wrong"], tls, Err(401)),
            ("/healthz", &[], Way::Plain, Ok(Caller::Anyone)),
            ("/readyz", &[], tls, Ok(Caller::Anyone)),
            ("/livez?verbose", &[], tls, Ok(Caller::Anyone)),
            ("/healthz", &["Bearer wrong"], tls, Err(401)),
            ("/healthz/", &[], tls, Err(401)),
            ("//healthz", &[], tls, Err(401)),
            ("/configz", &[], tls, Err(401)),
        ] {
            assert_eq!(over_tcp(path, authorization, way), expected, "{path} {authorization:?} {way:?}");
        }
    }

    #[test]
    fn where_others_may_listen_in_not_even_health_is_told_without_tls() {
        let dir = tempfile::tempdir().unwrap();
        let tcp = Tcp::open(Settings::of_a_node(dir.path())).unwrap();
        let request = Request::get("/healthz").header(HOST, "localhost");
        let (parts, ()) = request.body(()).unwrap().into_parts();
        let admitted = |way| admit(&parts, Peer::Tcp(way), Some(&tcp), &Limits::default());
        assert_eq!(admitted(Way::Tls { certificate: false }).unwrap(), Caller::Anyone);
        let refusal = admitted(Way::Exposed).unwrap_err();
        assert!(
            refusal.code == StatusCode::BAD_REQUEST && refusal.message.contains("https://"),
            "{refusal:?}"
        );
    }

    #[test]
    fn the_socket_is_for_root_and_the_agents_own_user() {
        let own = 1000;
        for (uid, expected) in [(Some(0), true), (Some(1000), true), (Some(1001), false), (None, false)] {
            assert_eq!(from_socket(uid, own).is_ok(), expected, "{uid:?}");
        }
    }
}
