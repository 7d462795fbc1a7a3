//! Bytes of a file → text → documents.
//!
//! The text is split at `---` lines here and not by the YAML parser, so that a syntax error in one document leaves the
//! others. A line that begins with `---` is never content: YAML ends every scalar there.

use super::tree::Mark;

/// Why a file is no text at all.
#[derive(Debug, PartialEq, Eq)]
pub struct NotText {
    pub message: String,
    pub fix: &'static str,
}

/// Checks that the bytes are UTF-8 text without NUL, and takes the byte order mark off.
pub fn decode(bytes: &[u8]) -> Result<&str, NotText> {
    let utf16 = match bytes {
        [0xff, 0xfe, ..] => Some("little-endian"),
        [0xfe, 0xff, ..] => Some("big-endian"),
        _ => None,
    };
    if let Some(order) = utf16 {
        let message = format!("the file is UTF-16 ({order}, byte order mark at byte 0)");
        return Err(NotText { message, fix: "save it as UTF-8 (in PowerShell: Out-File -Encoding utf8)" });
    }
    if let Some(at) = bytes.iter().position(|&byte| byte == 0) {
        let vim = if bytes.starts_with(b"b0VIM") || bytes.windows(5).any(|w| w == b"b0VIM") {
            ", a vim swap file"
        } else {
            ""
        };
        let message = format!("the file is binary{vim}: NUL at byte {at}");
        return Err(NotText { message, fix: "remove it, or give the text file it was made from" });
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    std::str::from_utf8(bytes).map_err(|error| NotText {
        message: format!("the file is not UTF-8: invalid bytes at byte {}", error.valid_up_to()),
        fix: "save it as UTF-8",
    })
}

/// One document of a file.
#[derive(Debug, PartialEq, Eq)]
pub struct Document<'a> {
    pub text: &'a str,
    /// Lines of the file before it.
    pub lines_before: u32,
}

/// The lines of a text with their ends. YAML ends a line at LF, CR LF, and at CR alone.
pub fn lines(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = match rest.find(['\n', '\r']) {
            Some(at) if rest[at..].starts_with("\r\n") => at + 2,
            Some(at) => at + 1,
            None => rest.len(),
        };
        let (line, tail) = rest.split_at(end);
        rest = tail;
        Some(line)
    })
}

/// Splits at `---` and `...` lines. What stands before a `---` and is no content (comments, `%YAML`) stays with what
/// follows.
pub fn split(text: &str) -> Vec<Document<'_>> {
    let mut documents = Vec::new();
    let (mut start, mut start_line) = (0, 0);
    let (mut offset, mut empty) = (0, true);
    for (number, line) in (0..).zip(lines(text)) {
        let end = offset + line.len();
        if is_marker(line, "---") {
            if !empty {
                documents.push(Document { text: &text[start..offset], lines_before: start_line });
            }
            // An empty document is dropped; what may stand before a separator stays with it.
            if !empty || !is_prefix(&text[start..offset]) {
                (start, start_line) = (offset, number);
            }
            let rest = line[3..].trim();
            empty = rest.is_empty() || rest.starts_with('#');
        } else if is_marker(line, "...") {
            if !empty {
                documents.push(Document { text: &text[start..end], lines_before: start_line });
            }
            (start, start_line, empty) = (end, number + 1, true);
        } else if empty {
            let line = line.trim();
            empty = line.is_empty() || line.starts_with(['#', '%']);
        }
        offset = end;
    }
    if !empty {
        documents.push(Document { text: &text[start..], lines_before: start_line });
    }
    documents
}

fn is_marker(line: &str, marker: &str) -> bool {
    line.strip_prefix(marker).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']))
}

/// Only directives and comments: YAML wants them in one piece with the `---` after them.
fn is_prefix(text: &str) -> bool {
    lines(text).all(|line| line.trim().is_empty() || line.starts_with(['#', '%']))
}

/// The lines of a file, to show them beside a diagnosis.
#[derive(Debug)]
pub struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

/// Characters of a source line that are kept: a file may be one line of a megabyte.
pub const SHOWN: usize = 240;

impl<'a> Lines<'a> {
    pub fn new(text: &'a str) -> Self {
        let mut starts = vec![0];
        starts.extend(lines(text).scan(0, |end, line| {
            *end += line.len();
            Some(*end)
        }));
        // After the last line's end no further line begins.
        if starts.len() > 1 {
            starts.pop();
        }
        Self { text, starts }
    }

    /// The line without its end.
    pub fn get(&self, line: u32) -> &'a str {
        let index = (line as usize).saturating_sub(1);
        let Some(&start) = self.starts.get(index) else { return "" };
        let end = self.starts.get(index + 1).copied().unwrap_or(self.text.len());
        self.text[start..end].trim_end_matches(['\n', '\r'])
    }

    pub fn shown(&self, line: u32) -> String {
        let line = self.get(line);
        line.char_indices().nth(SHOWN).map_or(line, |(end, _)| &line[..end]).to_owned()
    }

    /// The mark, or the end of the last line when it lies beyond the text (as the end of the input does).
    pub fn within(&self, mark: Mark) -> Mark {
        let last = u32::try_from(self.starts.len()).unwrap_or(u32::MAX);
        if mark.line >= 1 && mark.line <= last {
            return Mark { column: mark.column.max(1), ..mark };
        }
        let column = u32::try_from(self.get(last).chars().count()).unwrap_or(u32::MAX).saturating_add(1);
        Mark { line: last, column }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_no_text_are_refused_with_their_offset() {
        for (bytes, expected) in [
            (&b"a: 1"[..], Ok("a: 1")),
            (b"\xef\xbb\xbfa: 1", Ok("a: 1")),
            (b"\xff\xfea\0", Err("the file is UTF-16 (little-endian, byte order mark at byte 0)")),
            (b"\xfe\xff\0a", Err("the file is UTF-16 (big-endian, byte order mark at byte 0)")),
            (b"abc\0", Err("the file is binary: NUL at byte 3")),
            (b"ab\xe9", Err("the file is not UTF-8: invalid bytes at byte 2")),
        ] {
            let got = decode(bytes);
            assert_eq!(got.as_ref().map(|t| *t).map_err(|e| e.message.as_str()), expected);
        }
    }

    #[test]
    fn documents_are_split_at_separators_only() {
        let cases: [(&str, &[(&str, u32)]); 10] = [
            ("a: 1\n...\nb: 2\n...\n# end\n", &[("a: 1\n...\n", 0), ("b: 2\n...\n", 2)]),
            ("a: 1\r---\rb: 2", &[("a: 1\r", 0), ("---\rb: 2", 1)]),
            ("a: 1\n", &[("a: 1\n", 0)]),
            ("a: 1\n---\nb: 2\n", &[("a: 1\n", 0), ("---\nb: 2\n", 1)]),
            ("---\n---\n# x\n---\nb: 2", &[("---\nb: 2", 3)]),
            ("%YAML 1.2\n---\na: 1\n", &[("%YAML 1.2\n---\na: 1\n", 0)]),
            ("a: |\n  ---\n  x\n---- y\n", &[("a: |\n  ---\n  x\n---- y\n", 0)]),
            ("--- {a: 1}\n--- {b: 2}\n", &[("--- {a: 1}\n", 0), ("--- {b: 2}\n", 1)]),
            ("a: 1\r\n---\r\nb: 2\r\n", &[("a: 1\r\n", 0), ("---\r\nb: 2\r\n", 1)]),
            ("# nothing\n\n", &[]),
        ];
        for (text, expected) in cases {
            let got: Vec<_> = split(text).into_iter().map(|d| (d.text, d.lines_before)).collect();
            assert_eq!(got, expected, "{text:?}");
        }
    }

    #[test]
    fn a_place_beyond_the_text_is_its_end() {
        let lines = Lines::new("ab\ncde\n");
        for (line, expected) in [(1, (1, 1)), (2, (2, 1)), (3, (2, 4)), (99, (2, 4))] {
            let mark = lines.within(Mark { line, column: 1 });
            assert_eq!((mark.line, mark.column), expected);
        }
        assert_eq!((lines.get(2), lines.get(3), lines.get(9)), ("cde", "", ""));
        assert_eq!(Lines::new("").within(Mark { line: 7, column: 3 }), Mark { line: 1, column: 1 });
    }
}
