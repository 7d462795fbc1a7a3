//! What went wrong with etcd, and what to do about it. Pure.

use std::time::Duration;

use crate::node::sources::etcd::words::plain;

/// A call or a watch that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    pub kind: Kind,
    /// For people: what, and what to do.
    pub message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Not there, not answering, or of one mind with too few others.
    Away,
    /// It does not let us.
    Denied,
    /// It has forgotten the revision that was asked for.
    Compacted,
    /// The answer is larger than is taken.
    TooLarge,
    /// It asks for patience.
    Overloaded,
    /// It takes no writes.
    Full,
}

impl Trouble {
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// From the code and the text of a gRPC status. etcd uses one code for different things, and clients of
    /// the watch get the text alone, so the text goes first (`rpctypes/error.go`).
    pub fn of(code: i32, text: &str) -> Self {
        let has = |part: &str| text.contains(part);
        let told = |kind, words: &str| Self::new(kind, words);
        if has("required revision has been compacted") {
            return Self::new(Kind::Compacted, text);
        }
        if has("message length too large") || has("larger than max") {
            return Self::new(Kind::TooLarge, text);
        }
        if has("too many requests") {
            return told(Kind::Overloaded, "it is overloaded and asks for patience");
        }
        if has("database space exceeded") {
            return told(Kind::Full, "its database is full: compact and defragment it, then clear its alarm");
        }
        if has("permission denied") {
            let words =
                "permission is denied: give the user of --etcd-user a role that may read this node's keys";
            return told(Kind::Denied, words);
        }
        if has("authentication failed") {
            let words = "it does not know this user or password: check --etcd-user and --etcd-password-file";
            return told(Kind::Denied, words);
        }
        if has("user name is empty") {
            return told(Kind::Denied, "etcd wants a user: give --etcd-user and --etcd-password-file");
        }
        if has("authentication is not enabled") {
            return told(Kind::Denied, "it knows no users: leave out --etcd-user, or enable authentication");
        }
        // Both are what a member says that sees too few of the others (`server/etcdserver/errors.go`).
        if has("no leader") || has("etcdserver: request timed out") || has("etcdserver: leader changed") {
            return told(Kind::Away, "it has no leader: most members of its cluster are away, start them");
        }
        match code {
            PERMISSION_DENIED | UNAUTHENTICATED => Self::new(Kind::Denied, text),
            RESOURCE_EXHAUSTED => Self::new(Kind::Overloaded, text),
            _ => Self::new(Kind::Away, plain(text)),
        }
    }

    /// The pause before the next try: some troubles get worse by asking, or do not change by it.
    pub fn patience(&self, pause: Duration) -> Duration {
        match self.kind {
            Kind::Away | Kind::Compacted => pause,
            Kind::Denied | Kind::TooLarge | Kind::Overloaded | Kind::Full => pause.max(PATIENT),
        }
    }

    /// Puts the key before what went wrong, where it has to do with the key.
    pub fn at(mut self, key: &str) -> Self {
        match self.kind {
            Kind::Denied | Kind::TooLarge => self.message = format!("{key}: {}", self.message),
            Kind::Away | Kind::Compacted | Kind::Overloaded | Kind::Full => {}
        }
        self
    }
}

const PATIENT: Duration = Duration::from_secs(5);

// Numbers of gRPC's codes: the library does not show its type of them.
const PERMISSION_DENIED: i32 = 7;
const RESOURCE_EXHAUSTED: i32 = 8;
const UNAUTHENTICATED: i32 = 16;

impl From<etcd_client::Error> for Trouble {
    fn from(error: etcd_client::Error) -> Self {
        match &error {
            etcd_client::Error::GRpcStatus(status) => {
                Self::of(status.code() as i32, &with_causes(status.message(), status))
            }
            _ => Self::new(Kind::Away, plain(&with_causes(&error.to_string(), &error))),
        }
    }
}

/// The text of an error and of what lies below it, each said once.
fn with_causes(text: &str, error: &dyn std::error::Error) -> String {
    let mut said = text.to_owned();
    let mut below = error.source();
    while let Some(cause) = below {
        let text = cause.to_string();
        if !said.contains(&text) {
            said = format!("{said}: {text}");
        }
        below = cause.source();
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_etcd_says_tells_what_to_do() {
        for (code, text, kind) in [
            (11, "etcdserver: mvcc: required revision has been compacted", Kind::Compacted),
            (11, "etcdserver: mvcc: required revision is a future revision", Kind::Away),
            (
                11,
                "Error, decoded message length too large: found 5000000 bytes, the limit is: 4194304 bytes",
                Kind::TooLarge,
            ),
            (7, "etcdserver: permission denied", Kind::Denied),
            // A cancelled watch has a text and no code.
            (2, "rpc error: code = PermissionDenied desc = etcdserver: permission denied", Kind::Denied),
            (2, "etcdserver: no leader", Kind::Away),
            (16, "etcdserver: invalid auth token", Kind::Denied),
            (3, "etcdserver: authentication failed, invalid user ID or password", Kind::Denied),
            (3, "etcdserver: user name is empty", Kind::Denied),
            (8, "etcdserver: too many requests", Kind::Overloaded),
            (8, "etcdserver: mvcc: database space exceeded", Kind::Full),
            (14, "tcp connect error", Kind::Away),
            (14, "etcdserver: request timed out", Kind::Away),
        ] {
            assert_eq!(Trouble::of(code, text).kind, kind, "{text}");
        }
    }
}
