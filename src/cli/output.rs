//! Where results go, whether in colour, and how progress is told.

use std::fmt;
use std::io::{self, IsTerminal, Write};

use crate::cli::failure::Failure;

/// How results are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    Text,
    Json,
    Yaml,
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

/// Progress: one line that is overwritten on a terminal, quiet lines elsewhere.
pub struct Progress {
    out: Box<dyn Write>,
    terminal: bool,
    last: String,
}

impl Progress {
    pub fn on_stderr() -> Self {
        Self::new(Box::new(io::stderr()), io::stderr().is_terminal())
    }

    pub fn new(out: Box<dyn Write>, terminal: bool) -> Self {
        Progress { out, terminal, last: String::new() }
    }

    /// Something is going on. Said once, however often it is told.
    pub fn status(&mut self, text: &str) {
        if text == self.last {
            return;
        }
        self.last = text.into();
        match self.terminal {
            true => self.write(&format!("\r\u{1b}[K{text}")),
            false => self.write(&format!("{text}\n")),
        }
    }

    /// So many calls are under way. Nothing to say where lines stay.
    pub fn busy(&mut self, calls: usize) {
        if self.terminal {
            self.status(&format!("{calls} call{} under way", if calls == 1 { "" } else { "s" }));
        }
    }

    /// Something is done: a line that stays.
    pub fn line(&mut self, text: &str) {
        self.clear();
        self.write(&format!("{text}\n"));
    }

    /// Takes the line away that was overwritten so far.
    pub fn clear(&mut self) {
        if self.terminal && !self.last.is_empty() {
            self.write("\r\u{1b}[K");
        }
        self.last.clear();
    }

    /// Nobody has to listen.
    fn write(&mut self, text: &str) {
        let _ = self.out.write_all(text.as_bytes());
        let _ = self.out.flush();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Heard(Arc<Mutex<Vec<u8>>>);

    impl Write for Heard {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn told(terminal: bool) -> String {
        let heard = Heard::default();
        let mut progress = Progress::new(Box::new(heard.clone()), terminal);
        progress.busy(1);
        progress.status("web waits");
        progress.status("web waits");
        progress.line("web runs");
        progress.status("db waits");
        progress.clear();
        let heard = heard.0.lock().unwrap().clone();
        String::from_utf8(heard).unwrap()
    }

    #[test]
    fn a_terminal_sees_one_line_change_and_a_file_gets_lines() {
        assert_eq!(told(false), "web waits\nweb runs\ndb waits\n");
        let screen = "\r<1 call under way\r<web waits\r<web runs\n\r<db waits\r<";
        assert_eq!(told(true), screen.replace('<', "\u{1b}[K"));
    }
}
