//! Values of env in an engine's words.
//!
//! `$(NAME)` is expanded in a container's command, and an engine that cannot run a command repeats it. What it
//! says is logged, kept and shown to whoever may ask for a status, and a value may be a secret.

use std::cmp::Reverse;

/// Stands for a value.
pub const HIDDEN: &str = "<hidden>";

/// Shorter values are no secrets, and hiding them would tear up words that have nothing to do with them.
const SHORTEST: usize = 4;

/// The text without the values of these `NAME=value`.
pub fn without_values(text: &str, env: &[String]) -> String {
    let values = env.iter().filter_map(|variable| Some(variable.split_once('=')?.1));
    let mut values: Vec<&str> = values.filter(|value| value.chars().count() >= SHORTEST).collect();
    // One that is part of another must not leave the rest of it behind.
    values.sort_by_key(|value| Reverse(value.len()));
    values
        .iter()
        .fold(text.to_owned(), |text, value| text.replace(value, HIDDEN).replace(&quoted(value), HIDDEN))
}

/// As Go's `%q` writes it, which is how Docker and runc quote a command.
fn quoted(value: &str) -> String {
    value.chars().fold(String::with_capacity(value.len()), |mut out, c| {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c => out.push(c),
        }
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_hidden_however_they_are_quoted_and_other_words_stay() {
        for (text, env, expected) in [
            (r#"exec: "hunter2": not found"#, &["P=hunter2"][..], r#"exec: "<hidden>": not found"#),
            (r#"exec: "--p=a\"b\\c": no"#, &[r#"P=a"b\c"#], r#"exec: "--p=<hidden>": no"#),
            (r#"exec: "one\ntwo": no"#, &["P=one\ntwo"], r#"exec: "<hidden>": no"#),
            ("a hunter2hunter2", &["A=hunter2", "B=hunter2hunter2"], "a <hidden>"),
            ("cannot run it", &["A=run", "B=", "C", "D=it"], "cannot run it"),
        ] {
            let env: Vec<String> = env.iter().map(|&variable| variable.to_owned()).collect();
            assert_eq!(without_values(text, &env), expected);
        }
    }
}
