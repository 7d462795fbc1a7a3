//! Where results go, whether in colour, and how progress is told.

use std::fmt;
use std::io::{self, IsTerminal, Write};

use crate::cli::failure::Failure;

/// How results are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    Text,
    Json,
}

/// Writes a whole result to standard output. A reader that has gone is not an error of ours.
pub fn print(result: impl fmt::Display) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(result.to_string().as_bytes())?;
    out.flush()?;
    Ok(())
}

/// Colours, or none: only for a terminal, and never with `NO_COLOR` (no-color.org).
#[derive(Clone, Copy, Debug)]
pub struct Paint(bool);

/// What a piece of text means.
#[derive(Clone, Copy, Debug)]
pub enum Ink {
    Add,
    Change,
    Remove,
    Faint,
    Strong,
}

impl Paint {
    pub fn for_stdout() -> Self {
        Paint(io::stdout().is_terminal() && colour_is_wanted())
    }

    /// The text in its colour. Padding is the caller's: colours would be counted as text.
    pub fn ink(self, ink: Ink, text: impl fmt::Display) -> String {
        if !self.0 {
            return text.to_string();
        }
        let code = match ink {
            Ink::Add => 32,
            Ink::Change => 33,
            Ink::Remove => 31,
            Ink::Faint => 2,
            Ink::Strong => 1,
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}

fn colour_is_wanted() -> bool {
    let given = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    given("NO_COLOR").is_none() && given("TERM").is_none_or(|term| term != "dumb")
}

/// Progress on standard error: one line that is overwritten on a terminal, quiet lines elsewhere.
pub struct Progress {
    terminal: bool,
    last: String,
}

impl Progress {
    pub fn new() -> Self {
        Progress { terminal: io::stderr().is_terminal(), last: String::new() }
    }

    /// Something is going on. Said once, however often it is told.
    pub fn status(&mut self, text: &str) {
        if text == self.last {
            return;
        }
        self.last = text.into();
        let mut err = io::stderr().lock();
        let _ = match self.terminal {
            true => write!(err, "\r\u{1b}[K{text}"),
            false => writeln!(err, "{text}"),
        };
        let _ = err.flush();
    }

    /// So many calls are under way. Nothing to say where lines stay.
    pub fn busy(&mut self, calls: usize) {
        if self.terminal {
            self.status(&format!("{calls} call{} under way", if calls == 1 { "" } else { "s" }));
        }
    }

    /// Something is done: a line that stays.
    pub fn line(&mut self, text: &str) {
        let mut err = io::stderr().lock();
        let _ = match self.terminal {
            true => writeln!(err, "\r\u{1b}[K{text}"),
            false => writeln!(err, "{text}"),
        };
        self.last.clear();
    }

    /// Takes the line away that was overwritten so far.
    pub fn clear(&mut self) {
        if self.terminal && !self.last.is_empty() {
            let mut err = io::stderr().lock();
            let _ = write!(err, "\r\u{1b}[K");
            let _ = err.flush();
        }
        self.last.clear();
    }
}
