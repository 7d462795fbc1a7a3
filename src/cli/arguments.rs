//! The flags of 2014: Go's single dash and underscores, rewritten to what the parser knows.
//!
//! The kubelet of 2014 read its flags with Go's `flag` package, where `-name`, `--name` and `name=value`
//! are all the same, and spelt them with underscores. Unit files from then still start the agent.

use std::ffi::OsString;

/// The eight flags of the 2014 kubelet, as they are spelt today.
const FLAGS: [&str; 8] = [
    "config",
    "manifest-url",
    "etcd-servers",
    "sync-frequency",
    "file-check-frequency",
    "http-check-frequency",
    "address",
    "port",
];

/// Rewrites every spelling of the eight flags to `--name`; leaves everything else, and everything after
/// `--`, as it is.
pub fn normalise(arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut literal = false;
    let rewrite = |argument: OsString| {
        literal |= argument == "--";
        if literal { argument } else { modern(&argument).unwrap_or(argument) }
    };
    arguments.into_iter().map(rewrite).collect()
}

fn modern(argument: &OsString) -> Option<OsString> {
    let text = argument.to_str()?;
    let flag = text.strip_prefix("--").or_else(|| text.strip_prefix('-'))?;
    let (name, value) = match flag.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (flag, None),
    };
    let name = name.replace('_', "-");
    let name = FLAGS.into_iter().find(|known| *known == name)?;
    Some(match value {
        Some(value) => format!("--{name}={value}").into(),
        None => format!("--{name}").into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normalised(line: &str) -> String {
        let words = normalise(line.split(' ').map(OsString::from));
        words.iter().map(|word| word.to_str().unwrap_or("?")).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn every_spelling_of_2014_becomes_todays() {
        for (given, expected) in [
            ("run -config=/etc/pods", "run --config=/etc/pods"),
            ("run -config /etc/pods", "run --config /etc/pods"),
            ("run --sync_frequency=10s", "run --sync-frequency=10s"),
            ("run -sync_frequency=10s", "run --sync-frequency=10s"),
            ("run -sync-frequency 10s", "run --sync-frequency 10s"),
            ("run -manifest_url=http://h/a_b?c=d_e", "run --manifest-url=http://h/a_b?c=d_e"),
            ("run -etcd_servers=http://a:1,http://b:2", "run --etcd-servers=http://a:1,http://b:2"),
            ("run -file_check_frequency=1m30s", "run --file-check-frequency=1m30s"),
            ("run -http_check_frequency=5s", "run --http-check-frequency=5s"),
            ("run -address=::1 -port=0", "run --address=::1 --port=0"),
        ] {
            assert_eq!(normalised(given), expected);
        }
    }

    #[test]
    fn nothing_else_is_rewritten() {
        for line in [
            "run --config=/etc/pods",
            "run -o json",
            "run --node_name=a",
            "run -configs=a",
            "run config",
            "plan -",
            "plan -- -config=a",
            "run --state-dir -port_",
        ] {
            assert_eq!(normalised(line), line);
        }
    }
}
