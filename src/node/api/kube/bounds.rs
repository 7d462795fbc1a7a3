//! How deep and how wide a document may get, however little was sent to make it so.
//!
//! What walks over a document does so by recursion, and notes the path of everything in it: ten thousand levels are
//! more than a stack holds, and a name of half a mebibyte over fifty thousand fields is more than the memory.

use serde_json::{Map, Value};

/// Levels at most. The reader of manifests takes 40, and says so at the place; here it is only about the stack.
const DEEPEST: usize = 64;
/// Bytes of a field's name: a label's key has 317 at most.
const LONGEST_NAME: usize = 1024;
/// Items of a list: putting one in front moves all the others.
const LONGEST_LIST: usize = 10_000;

/// Looks at a value that stands below so many levels. Returns what it takes as text, about, in bytes.
///
/// # Errors
/// A sentence that says what there is too much of.
pub fn check(value: &Value, above: usize) -> Result<usize, String> {
    match value {
        Value::Null | Value::Bool(_) => Ok(4),
        Value::Number(_) => Ok(8),
        Value::String(text) => Ok(text.len() + 2),
        Value::Object(fields) => check_fields(fields, above),
        Value::Array(items) => {
            deepest(above)?;
            if items.len() > LONGEST_LIST {
                return Err(format!("a list has {} items, and {LONGEST_LIST} are the most", items.len()));
            }
            items.iter().try_fold(2, |bytes, item| Ok(bytes + 1 + check(item, above + 1)?))
        }
    }
}

/// As [`check`], for an object.
///
/// # Errors
/// As there.
pub fn check_fields(fields: &Map<String, Value>, above: usize) -> Result<usize, String> {
    deepest(above)?;
    fields.iter().try_fold(2, |bytes, (name, value)| {
        check_name(name)?;
        Ok(bytes + name.len() + 4 + check(value, above + 1)?)
    })
}

/// # Errors
/// As above.
pub fn check_name(name: &str) -> Result<(), String> {
    if name.len() <= LONGEST_NAME {
        return Ok(());
    }
    Err(format!(
        "the name of a field ({name:.40}…) has {} bytes, and {LONGEST_NAME} are the most",
        name.len()
    ))
}

fn deepest(above: usize) -> Result<(), String> {
    if above < DEEPEST { Ok(()) } else { Err(format!("it is nested deeper than {DEEPEST} levels")) }
}
