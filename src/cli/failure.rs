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
