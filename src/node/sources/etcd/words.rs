//! What the gRPC library says of a connection, in words that a person can act on. Pure.
//!
//! It names layers ("h2 protocol error: http2 error: transport error"), and one cause has several texts by chance:
//! a trouble that is told when it is new would be told again and again.

/// Parts of a text, of which one is enough, and what that means. The first that fits wins.
const WORDS: [(&[&str], &str); 11] = [
    (
        &["connection refused"],
        "nobody listens there (connection refused): start etcd, or correct the host and port in --etcd-servers",
    ),
    (
        &["dns error", "failed to lookup address"],
        "its name cannot be resolved: correct it in --etcd-servers, or see to this machine's DNS",
    ),
    (
        &["unreachable", "no route to host"],
        "no network leads there: see to this machine's network, or correct --etcd-servers",
    ),
    (
        &["invalidcontenttype", "wrong version number"],
        "what answers there does not speak TLS: write http:// in --etcd-servers, or correct the port",
    ),
    (
        &["certificaterequired", "certificate required", "handshakefailure"],
        "it wants a certificate of this node: give --etcd-cert-file and --etcd-key-file",
    ),
    (
        &["unknownissuer", "unknown issuer"],
        "nobody that is trusted here has signed its certificate: give --etcd-ca-file",
    ),
    (
        &["certificate: expired", "certificate expired", "notvalidyet", "not valid yet"],
        "its certificate is not valid now: renew it, and see to the clocks of both machines",
    ),
    (
        &["notvalidforname", "not valid for name"],
        "its certificate is for other names: write one of those in --etcd-servers, or have it made for this one",
    ),
    (
        // What an HTTP/1 server sends, or a TLS server to plain text, is no frame; it may close before that is read.
        &["frame with invalid size", "broken pipe", "frame_size_error", "invalid preface"],
        "what answers there is not etcd, or wants TLS: write https:// in --etcd-servers, or correct the port",
    ),
    (
        &["keepalivetimedout", "keep-alive timed out"],
        "it stopped answering: it hangs, or the network lost it",
    ),
    (
        &["connection reset", "reading a body from connection", "unexpected eof", "connection closed"],
        "the connection broke off: etcd was stopped, or the network lost it",
    ),
];

/// A text as it stands when nothing better is known.
pub fn plain(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let known = WORDS.iter().find(|(parts, _)| parts.iter().any(|part| lower.contains(part)));
    if let Some((_, words)) = known {
        return (*words).to_owned();
    }
    // The library's own limits, in its several ways of saying so.
    if ["deadline", "timed out", "timeout"].iter().any(|part| lower.contains(part))
        && !lower.contains("etcdserver")
    {
        return "it does not answer: it hangs, or a firewall drops what is sent to it".to_owned();
    }
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_library_says_is_told_in_plain_words() {
        for (text, expected) in [
            ("tcp connect error: transport error: Connection refused (os error 111)", "nobody listens there"),
            (
                "dns error: transport error: failed to lookup address information: Name or service not known",
                "its name cannot be resolved",
            ),
            (
                "tcp connect error: transport error: Network is unreachable (os error 101)",
                "no network leads there",
            ),
            (
                "transport error: connection error: stream closed because of a broken pipe",
                "is not etcd, or wants TLS",
            ),
            (
                "h2 protocol error: http2 error: transport error: connection error detected: frame with invalid size",
                "is not etcd, or wants TLS",
            ),
            ("received corrupt message of type InvalidContentType: transport error", "does not speak TLS"),
            (
                "h2 protocol error: error reading a body from connection: connection reset",
                "the connection broke off",
            ),
            ("invalid peer certificate: UnknownIssuer: transport error", "give --etcd-ca-file"),
            ("operation timed out: transport error", "it does not answer"),
            ("transport error: keep-alive timed out", "it stopped answering"),
            ("etcdserver: request timed out", "etcdserver: request timed out"),
            ("something new", "something new"),
        ] {
            let said = plain(text);
            assert!(said.contains(expected), "{text}: {said}");
        }
    }
}
