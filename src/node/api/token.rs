//! The bearer token of the API over TCP: made on the first start, kept in the state directory.

use std::fmt;
use std::fs;
use std::hint::black_box;
use std::io;
use std::path::{Path, PathBuf};

use crate::node::api::fresh::Fresh;
use crate::node::keep::replace;

const FILE: &str = "token";
/// 256 bits.
const BYTES: usize = 32;
/// Of a token that somebody wrote there by hand: less can be guessed.
const SHORTEST: usize = 16;

/// A secret: it is neither shown nor logged.
pub struct Token(String);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

impl Token {
    fn read(contents: &[Vec<u8>]) -> Result<Self, String> {
        let text = contents.first().map(|bytes| str::from_utf8(bytes)).and_then(Result::ok).unwrap_or("");
        let text = text.trim();
        if text.len() < SHORTEST || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(format!(
                "this is no token: it needs at least {SHORTEST} letters and digits in one line; remove the file, \
                 and the next start makes a good one"
            ));
        }
        Ok(Self(text.to_owned()))
    }

    pub fn secret(&self) -> &str {
        &self.0
    }

    /// Compares in a time that says nothing of where the two differ.
    pub fn is(&self, given: &str) -> bool {
        let (own, given) = (self.0.as_bytes(), given.as_bytes());
        let differing = own.iter().zip(given).fold(0, |differing, (a, b)| black_box(differing | (a ^ b)));
        own.len() == given.len() && differing == 0
    }
}

/// The token of a node, made when there is none.
///
/// # Errors
/// One line for a person.
pub fn open(dir: &Path) -> Result<Fresh<Token>, String> {
    let path = path(dir);
    if !path.exists() {
        make(&path).map_err(|error| format!("{} cannot be made: {error}", path.display()))?;
    }
    Fresh::open(vec![path], Token::read)
}

/// Where a node's token lies.
pub fn path(dir: &Path) -> PathBuf {
    dir.join(FILE)
}

/// For those who only look: the token of a node that has run.
///
/// # Errors
/// As the file system has them.
pub fn known(path: &Path) -> Result<Token, String> {
    let bytes = fs::read(path).map_err(|error| error.to_string())?;
    Token::read(&[bytes])
}

fn make(path: &Path) -> io::Result<()> {
    let mut bytes = [0; BYTES];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    let mut text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    text.push('\n');
    // For its owner alone: that is how temporary files are made.
    replace(path, text.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_token_is_made_once_for_its_owner_alone_and_can_be_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let fresh = open(dir.path()).unwrap();
        let first = fresh.now().secret().to_owned();
        assert_eq!(first.len(), 64);
        assert_eq!(fs::metadata(path(dir.path())).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(open(dir.path()).unwrap().now().secret(), first);
        fs::write(path(dir.path()), "another-token-of-mine\n").unwrap();
        assert!(fresh.now().is("another-token-of-mine"));
        assert!(!fresh.now().is(&first));
    }

    #[test]
    fn only_the_whole_token_is_the_token() {
        let token = Token("0123456789abcdef".into());
        assert!(token.is("0123456789abcdef"));
        for given in ["", "0123456789abcde", "0123456789abcdef0", "0123456789abcdeF", "1123456789abcdef"] {
            assert!(!token.is(given), "{given}");
        }
    }

    #[test]
    fn nothing_and_next_to_nothing_are_no_tokens() {
        for content in ["", "\n", "short", "two words of some length", "zero\u{0}zero\u{0}zero\u{0}zero"] {
            assert!(Token::read(&[content.as_bytes().to_vec()]).is_err(), "{content:?}");
        }
    }
}
