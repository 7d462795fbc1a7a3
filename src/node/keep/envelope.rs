//! How a kept value looks on disk: one JSON object that says whose it is, which generation, and what its
//! bytes must add up to.
//!
//! Pure: bytes in, a value or a problem out. The sum covers every byte behind it and is compared as text, so no
//! single bit can change and no byte can be missing without notice.

use std::fmt::Write;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The version that is written. Version 1 had neither sum nor owner, and is still read.
const VERSION: u32 = 2;
/// What stands before the sum. Everything behind the sum is what it covers.
const HEAD: &str = r#"{"version":2,"sum":""#;
const SUM_LENGTH: usize = 64;

/// Whose values these are: a node on a machine. Either may be unknown, and then it contradicts nobody.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Owner {
    node: String,
    machine: String,
}

/// Why bytes are not taken.
#[derive(Debug, PartialEq, Eq)]
pub enum Problem {
    /// They are not what was written, or nothing that this version reads.
    Damaged(String),
    /// They are whole, and another node's.
    Foreign(String),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sealed<T> {
    generation: u64,
    node: String,
    machine: String,
    value: T,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct First<T> {
    version: u32,
    value: T,
}

impl Owner {
    /// `machine_id` as `/etc/machine-id` has it. Its manual page asks not to show it, so a digest stands for it.
    pub fn new(node: &str, machine_id: Option<&str>) -> Self {
        let id = machine_id.map(str::trim).filter(|id| id.len() == 32 && id.bytes().all(is_hex));
        let machine =
            id.map_or_else(String::new, |id| sum(format!("podkeeper\0{id}").as_bytes())[..16].into());
        Self { node: node.to_owned(), machine }
    }

    /// What speaks against values of `other` being ours.
    fn contradicts(&self, other: &Owner) -> Option<String> {
        let differ = |ours: &str, theirs: &str| !ours.is_empty() && !theirs.is_empty() && ours != theirs;
        if differ(&self.node, &other.node) {
            return Some(format!("it belongs to node {}, and this is node {}", other.node, self.node));
        }
        differ(&self.machine, &other.machine).then(|| "it was written on another machine".to_owned())
    }
}

/// # Errors
/// When the value has no form in JSON.
pub fn seal<T: Serialize>(owner: &Owner, generation: u64, value: &T) -> serde_json::Result<Vec<u8>> {
    let Owner { node, machine } = owner.clone();
    let body = serde_json::to_vec(&Sealed { generation, node, machine, value })?;
    // Without its brace: it goes on in the object that the head has opened.
    let body = &body[1..];
    let head = format!("{HEAD}{}\",", sum(body));
    Ok([head.as_bytes(), body].concat())
}

/// The generation and the value.
///
/// # Errors
/// [`Problem`], in words for a person.
pub fn open<T: DeserializeOwned>(bytes: &[u8], owner: &Owner) -> Result<(u64, T), Problem> {
    let damaged = |error: serde_json::Error| Problem::Damaged(error.to_string());
    let Some(rest) = bytes.strip_prefix(HEAD.as_bytes()) else {
        let first: First<T> = serde_json::from_slice(bytes).map_err(damaged)?;
        if first.version != 1 {
            let version = first.version;
            return Err(Problem::Damaged(format!(
                "it is of version {version}, and {VERSION} is the last that is known"
            )));
        }
        return Ok((0, first.value));
    };
    let changed = || Problem::Damaged("its bytes are not those that were written".to_owned());
    let (written, rest) = rest.split_at_checked(SUM_LENGTH).ok_or_else(changed)?;
    let body = rest.strip_prefix(b"\",").ok_or_else(changed)?;
    if written != sum(body).as_bytes() {
        return Err(changed());
    }
    let sealed: Sealed<T> = serde_json::from_slice(&[b"{", body].concat()).map_err(damaged)?;
    let theirs = Owner { node: sealed.node, machine: sealed.machine };
    match owner.contradicts(&theirs) {
        None => Ok((sealed.generation, sealed.value)),
        Some(why) => Err(Problem::Foreign(why)),
    }
}

/// How many bytes [`generation`] needs at most.
pub const HEAD_LENGTH: usize = 128;

/// The generation, from the first bytes alone and unproven: good enough to count on from.
pub fn generation(head: &[u8]) -> Option<u64> {
    let rest = head.strip_prefix(HEAD.as_bytes())?.get(SUM_LENGTH..)?;
    let digits = rest.strip_prefix(br#"","generation":"#)?;
    let end = digits.iter().position(|byte| !byte.is_ascii_digit())?;
    std::str::from_utf8(&digits[..end]).ok()?.parse().ok()
}

fn is_hex(byte: u8) -> bool {
    byte.is_ascii_hexdigit()
}

fn sum(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::with_capacity(SUM_LENGTH), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0123456789abcdef0123456789abcdef\n";

    #[test]
    fn a_value_of_another_node_or_machine_is_foreign_and_an_unknown_one_is_not() {
        let ours = Owner::new("a", Some(ID));
        let other_machine = ID.replace('0', "1");
        for (theirs, expected) in [
            (Owner::new("a", Some(ID)), None),
            (Owner::new("b", Some(ID)), Some("it belongs to node b, and this is node a")),
            (Owner::new("a", Some(&other_machine)), Some("it was written on another machine")),
            (Owner::new("a", None), None),
            (Owner::new("a", Some("uninitialized")), None),
            (Owner::default(), None),
        ] {
            let bytes = seal(&theirs, 7, &"value").unwrap();
            let expected = match expected {
                None => Ok((7, "value".to_owned())),
                Some(why) => Err(Problem::Foreign(why.to_owned())),
            };
            assert_eq!(open::<String>(&bytes, &ours), expected, "{theirs:?}");
        }
    }

    #[test]
    fn the_machine_is_told_apart_and_not_told() {
        let bytes = seal(&Owner::new("a", Some(ID)), 1, &0).unwrap();
        assert!(!String::from_utf8(bytes).unwrap().contains(ID.trim()));
    }

    #[test]
    fn the_generation_is_in_the_head() {
        for number in [0, 1, u64::MAX] {
            let bytes = seal(&Owner::new("a", Some(ID)), number, &0).unwrap();
            assert_eq!(generation(&bytes[..HEAD_LENGTH]), Some(number));
        }
        assert_eq!(generation(br#"{"version":1,"value":0}"#), None);
    }

    #[test]
    fn a_value_of_a_later_version_is_not_guessed_at() {
        let problem = open::<String>(br#"{"version":3,"value":"later"}"#, &Owner::default()).unwrap_err();
        let Problem::Damaged(why) = problem else { panic!("{problem:?}") };
        assert_eq!(why, "it is of version 3, and 2 is the last that is known");
    }
}
