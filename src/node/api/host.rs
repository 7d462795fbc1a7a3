//! Which requests were meant for this node: the Host header, and Origin.
//!
//! A page that a browser shows can make it ask this node under a name of the page's own, once its name server
//! says that the name is 127.0.0.1 (DNS rebinding, CVE-2018-1002103). The browser then sends that name.

use std::net::IpAddr;

use hyper::header::{HOST, HeaderName, ORIGIN};
use hyper::http::request::Parts;
use hyper::http::uri::Authority;
use hyper::{StatusCode, Version};

use crate::node::api::refusal::Refusal;

/// # Errors
/// For a request that was made for another host, or by a page of another origin.
pub fn check(request: &Parts, is_own_name: impl Fn(&str) -> bool) -> Result<(), Refusal> {
    let given = single(request, &HOST)?;
    let header = given.map(authority).transpose()?;
    // In absolute form the target says it too, and RFC 9112 lets it win.
    for authority in header.iter().chain(request.uri.authority()) {
        let host = bare(authority);
        // An address cannot be another's: a browser that was told it has connected to it.
        if host.parse::<IpAddr>().is_err() && host != "localhost" && !is_own_name(&host) {
            let message = format!(
                "this node is not called {host}: ask it by its address, as localhost or by its name, or give it \
                 a certificate for that name (--tls-cert-file)"
            );
            return Err(Refusal::new(StatusCode::MISDIRECTED_REQUEST, "Misdirected", message));
        }
    }
    // HTTP/1.0 may leave it away, as simple health checks do; no browser does.
    if header.is_none() && request.version != Version::HTTP_10 {
        return Err(Refusal::bad_request("the request has no Host header"));
    }
    let Some(origin) = single(request, &ORIGIN)? else { return Ok(()) };
    let from = origin.strip_prefix("https://").or_else(|| origin.strip_prefix("http://"));
    if from.is_some_and(|from| header.as_ref().is_some_and(|own| own.as_str().eq_ignore_ascii_case(from))) {
        return Ok(());
    }
    let message = format!("a page from {origin} may not talk to this node: leave the Origin header away");
    Err(Refusal::new(StatusCode::FORBIDDEN, "Forbidden", message))
}

/// A header that makes no sense twice: two of them are how one hides from the next.
fn single<'a>(request: &'a Parts, name: &HeaderName) -> Result<Option<&'a str>, Refusal> {
    let mut given = request.headers.get_all(name).iter();
    let (first, second) = (given.next(), given.next());
    if second.is_some() {
        return Err(Refusal::bad_request(format!("the request has more than one {name} header")));
    }
    let text = first.map(|value| value.to_str());
    text.transpose().map_err(|_| Refusal::bad_request(format!("the {name} header is not text")))
}

fn authority(text: &str) -> Result<Authority, Refusal> {
    let parsed = text.parse().ok().filter(|_| !text.contains('@'));
    parsed.ok_or_else(|| Refusal::bad_request(format!("the Host header is not a host: {text}")))
}

/// Without port, brackets and the dot of a full name.
fn bare(authority: &Authority) -> String {
    let host = authority.host();
    let inside = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    inside.strip_suffix('.').unwrap_or(inside).to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use hyper::Request;

    use super::*;

    /// `0`: nothing is wrong.
    fn code(target: &str, headers: &[(&str, &str)], version: Version) -> u16 {
        let mut request = Request::get(target).version(version);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (parts, ()) = request.body(()).unwrap().into_parts();
        check(&parts, |name| name == "node-1").err().map_or(0, |refusal| refusal.code.as_u16())
    }

    #[test]
    fn only_hosts_that_are_this_node_are_served() {
        for (host, expected) in [
            ("localhost", 0),
            ("localhost:10250", 0),
            ("LocalHost.:80", 0),
            ("127.0.0.1:10250", 0),
            ("[::1]:10250", 0),
            ("[::1]", 0),
            ("node-1:10250", 0),
            ("evil.example", 421),
            ("localhost.evil.example", 421),
            ("evil.localhost", 421),
            ("127.0.0.1.nip.io:10250", 421),
            // Other ways to write addresses, which only resolvers understand.
            ("2130706433", 421),
            ("0x7f.1", 421),
            ("localhost@evil.example", 400),
            ("", 400),
            ("a b", 400),
        ] {
            assert_eq!(code("/pods", &[("host", host)], Version::HTTP_11), expected, "{host}");
        }
    }

    #[test]
    fn a_host_is_given_once_and_the_target_counts_too() {
        let twice = [("host", "localhost"), ("host", "evil.example")];
        assert_eq!(code("/pods", &twice, Version::HTTP_11), 400);
        assert_eq!(code("/pods", &[], Version::HTTP_11), 400);
        assert_eq!(code("/pods", &[], Version::HTTP_10), 0);
        let host = [("host", "localhost")];
        assert_eq!(code("http://evil.example/pods", &host, Version::HTTP_11), 421);
        assert_eq!(code("http://localhost/pods", &host, Version::HTTP_11), 0);
    }

    #[test]
    fn a_page_of_another_origin_is_refused() {
        for (origin, expected) in [
            ("http://localhost:10250", 0),
            ("https://localhost:10250", 0),
            ("http://localhost:8080", 403),
            ("https://evil.example", 403),
            ("null", 403),
            ("", 403),
        ] {
            let headers = [("host", "localhost:10250"), ("origin", origin)];
            assert_eq!(code("/pods", &headers, Version::HTTP_11), expected, "{origin}");
        }
    }
}
