//! How a command can fail, and what that makes of the exit status.

use std::io;
use std::process::ExitCode;

use crate::cli::escape::Safe;

/// Why a command ends without having done its work.
#[derive(Debug)]
pub enum Failure {
    /// One line for a person: what is wrong, with what, and the way out.
    Error(String),
    /// The arguments contradict each other in a way that the parser cannot see.
    Usage(String),
    /// Whoever read our output has gone (`| head`): nobody is left to tell.
    ClosedPipe,
}

impl Failure {
    pub fn error(message: impl Into<String>) -> Self {
        Failure::Error(message.into())
    }

    /// Says it and turns it into the exit status.
    pub fn report(&self) -> ExitCode {
        match self {
            Failure::Error(message) => {
                complain(message);
                ExitCode::from(1)
            }
            Failure::Usage(message) => {
                complain(message);
                ExitCode::from(2)
            }
            Failure::ClosedPipe => ExitCode::SUCCESS,
        }
    }
}

fn complain(message: &str) {
    use io::Write;
    // Standard error may be closed too; there is nowhere else to complain.
    let _ = writeln!(io::stderr(), "error: {}", Safe(message));
}

/// Prints what the parser says. It repeats what was given, also a URL with a password in it.
///
/// # Errors
/// When nobody listens.
pub fn print_without_passwords(error: &clap::Error) -> io::Result<()> {
    use io::Write;
    let said = error.render().to_string();
    let masked = without_passwords(&said);
    if masked == said { error.print() } else { io::stderr().write_all(masked.as_bytes()) }
}

/// `http://user:password@host` becomes `http://***@host`.
fn without_passwords(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        out.push_str(before);
        let end = after.find(['/', '\'', '"', ' ', '\n']).unwrap_or(after.len());
        rest = match after[..end].rfind('@') {
            Some(user) => {
                out.push_str("***");
                &after[user..]
            }
            None => after,
        };
    }
    out + rest
}

/// Writing results is all the output a command does, so this is about standard output.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Failure::ClosedPipe
        } else {
            Failure::Error(format!("standard output: {error}: free some space, or write elsewhere"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::without_passwords;

    #[test]
    fn what_the_parser_repeats_has_no_password() {
        for (said, shown) in [
            ("invalid value 'http://root:pa@ss@h:1/x' for", "invalid value 'http://***@h:1/x' for"),
            ("'https://a.b/c@d' and http://u@h", "'https://a.b/c@d' and http://***@h"),
            ("nothing of that kind", "nothing of that kind"),
        ] {
            assert_eq!(without_passwords(said), shown);
        }
    }
}
