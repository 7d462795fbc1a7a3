//! The grammar of label selectors. Source: apimachinery's `labels.Parse`.

use serde_json::Value;

use crate::model::read::names;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    key: String,
    operator: Operator,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Operator {
    Exists,
    Missing,
    In(Vec<String>),
    /// A label that is missing is not in any set.
    NotIn(Vec<String>),
    Above(i64),
    Below(i64),
}

impl Requirement {
    pub fn matches(&self, object: &Value) -> bool {
        let label = object.pointer("/metadata/labels").and_then(|labels| labels.get(&self.key)?.as_str());
        let among = |values: &[String]| label.is_some_and(|label| values.iter().any(|value| value == label));
        let number = || label.and_then(|label| label.parse::<i64>().ok());
        match &self.operator {
            Operator::Exists => label.is_some(),
            Operator::Missing => label.is_none(),
            Operator::In(values) => among(values),
            Operator::NotIn(values) => !among(values),
            Operator::Above(least) => number().is_some_and(|number| number > *least),
            Operator::Below(most) => number().is_some_and(|number| number < *most),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'a> {
    Word(&'a str),
    /// `=`, `==`, `!=`, `!`, `>`, `<`, `(`, `)` and `,`.
    Sign(&'a str),
}

/// # Errors
/// A sentence that names the selector. One of blanks alone is wrong too: it would select everything.
pub fn parse(text: &str) -> Result<Vec<Requirement>, String> {
    let tokens = tokens(text);
    let mut rest = &tokens[..];
    let mut all = Vec::new();
    loop {
        let (requirement, after) = requirement(rest).map_err(|why| {
            format!(
                "label selector '{text}': {why}; write key, !key, key=value, key!=value, key in (a,b), key notin (a,b), \
                 key>1 or key<1, and a comma between two"
            )
        })?;
        all.push(requirement);
        match after {
            [] => return Ok(all),
            [Token::Sign(","), after @ ..] => rest = after,
            [other, ..] => {
                return Err(format!("label selector '{text}': {} does not fit there", shown(*other)));
            }
        }
    }
}

fn tokens(text: &str) -> Vec<Token<'_>> {
    let is_sign = |c: char| "=!(),<>".contains(c);
    let is_blank = |c: char| matches!(c, ' ' | '\t' | '\r' | '\n');
    let (mut all, mut rest) = (Vec::new(), text.trim_start_matches(is_blank));
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '=' | '!' if rest[1..].starts_with('=') => 2,
            sign if is_sign(sign) => 1,
            _ => rest.find(|c| is_sign(c) || is_blank(c)).unwrap_or(rest.len()),
        };
        let (token, after) = rest.split_at(length);
        all.push(if is_sign(first) { Token::Sign(token) } else { Token::Word(token) });
        rest = after.trim_start_matches(is_blank);
    }
    all
}

fn shown(token: Token<'_>) -> String {
    let (Token::Word(text) | Token::Sign(text)) = token;
    format!("'{text}'")
}

type Parsed<'t, 'a, T> = Result<(T, &'t [Token<'a>]), String>;

fn requirement<'t, 'a>(tokens: &'t [Token<'a>]) -> Parsed<'t, 'a, Requirement> {
    let (missing, tokens) = match tokens {
        [Token::Sign("!"), rest @ ..] => (true, rest),
        tokens => (false, tokens),
    };
    let (key, rest) = match tokens {
        [Token::Word(key), rest @ ..] if !matches!(*key, "in" | "notin") => (*key, rest),
        [other, ..] => return Err(format!("{} is where a key should be", shown(*other))),
        [] => return Err("it ends where a key should be".to_owned()),
    };
    if let Some(bad) = names::qualified(key) {
        return Err(format!("the key '{key}' {}", bad.what));
    }
    let (operator, rest) = match rest {
        _ if missing => (Operator::Missing, rest),
        [] | [Token::Sign(","), ..] => (Operator::Exists, rest),
        [Token::Word("in"), rest @ ..] => of_set(rest, Operator::In)?,
        [Token::Word("notin"), rest @ ..] => of_set(rest, Operator::NotIn)?,
        [Token::Sign("=" | "=="), rest @ ..] => of_one(rest, |value| Operator::In(vec![value]))?,
        [Token::Sign("!="), rest @ ..] => of_one(rest, |value| Operator::NotIn(vec![value]))?,
        [Token::Sign(">"), rest @ ..] => of_number(rest, Operator::Above)?,
        [Token::Sign("<"), rest @ ..] => of_number(rest, Operator::Below)?,
        [other, ..] => return Err(format!("{} is no operator", shown(*other))),
    };
    Ok((Requirement { key: key.to_owned(), operator }, rest))
}

/// Nothing is a value too: the empty one.
fn of_one<'t, 'a>(tokens: &'t [Token<'a>], made: impl Fn(String) -> Operator) -> Parsed<'t, 'a, Operator> {
    let (text, rest) = match tokens {
        [Token::Word(text), rest @ ..] => (*text, rest),
        rest => ("", rest),
    };
    Ok((made(value(text)?), rest))
}

fn of_number<'t, 'a>(tokens: &'t [Token<'a>], made: fn(i64) -> Operator) -> Parsed<'t, 'a, Operator> {
    match tokens {
        [Token::Word(text), rest @ ..] => {
            let number = text.parse().map_err(|_| format!("'{text}' is no whole number"))?;
            Ok((made(number), rest))
        }
        _ => Err("a whole number is missing".to_owned()),
    }
}

fn of_set<'t, 'a>(
    tokens: &'t [Token<'a>],
    made: impl Fn(Vec<String>) -> Operator,
) -> Parsed<'t, 'a, Operator> {
    let [Token::Sign("("), rest @ ..] = tokens else { return Err("'(' is missing".to_owned()) };
    let end = rest.iter().position(|token| *token == Token::Sign(")"));
    let end = end.ok_or("')' is missing")?;
    let (inside, rest) = (&rest[..end], &rest[end + 1..]);
    if inside.is_empty() {
        return Err("a set has at least one value".to_owned());
    }
    let values = inside.split(|token| *token == Token::Sign(",")).map(|item| match item {
        [] => Ok(String::new()),
        [Token::Word(text)] => value(text),
        [Token::Sign(other), ..] | [_, Token::Sign(other) | Token::Word(other), ..] => {
            Err(format!("'{other}' does not fit into a set"))
        }
    });
    Ok((made(values.collect::<Result<_, _>>()?), rest))
}

fn value(text: &str) -> Result<String, String> {
    match names::label_value(text) {
        Some(bad) => Err(format!("the value '{text}' {}", bad.what)),
        None => Ok(text.to_owned()),
    }
}
