//! Log lines on standard error: a sentence, then fields as `name=value`, for people and for `grep`.

use std::fmt;
use std::io::{self, IsTerminal};

use tracing::field::{Field, Visit};
use tracing_subscriber::field::RecordFields;
use tracing_subscriber::fmt::FormatFields;
use tracing_subscriber::fmt::format::Writer;

use crate::cli::escape::Safe;

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    Text,
    Json,
}

pub fn to_stderr(format: LogFormat) {
    let colour =
        io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let lines = tracing_subscriber::fmt().with_writer(io::stderr).with_target(false).with_ansi(colour);
    match format {
        LogFormat::Text => lines.fmt_fields(Fields).init(),
        LogFormat::Json => lines.json().flatten_event(true).init(),
    }
}

/// The fields of one line: where a value ends is always plain to see, and what is empty is left out.
struct Fields;

impl<'writer> FormatFields<'writer> for Fields {
    fn format_fields<R: RecordFields>(&self, writer: Writer<'writer>, fields: R) -> fmt::Result {
        let mut line = Line { writer, begun: false, result: Ok(()) };
        fields.record(&mut line);
        line.result
    }
}

struct Line<'writer> {
    writer: Writer<'writer>,
    begun: bool,
    result: fmt::Result,
}

impl Visit for Line<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.write(field, value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.write(field, &format!("{value:?}"));
    }
}

impl Line<'_> {
    fn write(&mut self, field: &Field, value: &str) {
        let (name, gap) = (field.name(), if self.begun { " " } else { "" });
        if value.is_empty() || self.result.is_err() {
            return;
        }
        self.begun = true;
        let has_no_end = |c: char| c.is_whitespace() || matches!(c, '"' | '=');
        self.result = match name {
            "message" => write!(self.writer, "{gap}{}", Safe(value)),
            _ if value.contains(has_no_end) => {
                let quoted = value.replace('\\', "\\\\").replace('"', "\\\"");
                write!(self.writer, "{gap}{name}=\"{}\"", Safe(&quoted))
            }
            _ => write!(self.writer, "{gap}{name}={}", Safe(value)),
        };
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_line_is_a_sentence_and_fields_of_which_each_has_an_end() {
        let lines = Lines::default();
        let writer = lines.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_writer(move || writer.clone())
            .with_target(false)
            .with_ansi(false)
            .without_time()
            .fmt_fields(Fields)
            .finish();
        tracing::subscriber::with_default(subscriber, || {
            let (cause, none) = (format_args!("it exited(1)"), None::<&str>);
            tracing::info!(version = "0.1.0", engine = %"unix:///x", "it starts");
            tracing::warn!(field = "", fix = none, place = %"a b.yaml:1:2", "it \"is\" wrong\u{1b}[2J");
            tracing::info!(pod = %"default/web", action = "start container", %cause, n = 3);
            tracing::info!(said = "say \"a\\b\"\nc");
        });
        let expected = "\
\x20INFO it starts version=0.1.0 engine=unix:///x
 WARN it \"is\" wrong\\u{1b}[2J place=\"a b.yaml:1:2\"
 INFO pod=default/web action=\"start container\" cause=\"it exited(1)\" n=3
 INFO said=\"say \\\"a\\\\b\\\"\\nc\"
";
        assert_eq!(String::from_utf8(lines.0.lock().unwrap().clone()).unwrap(), expected);
    }
}
