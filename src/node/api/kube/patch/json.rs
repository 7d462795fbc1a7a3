//! JSON patch, RFC 6902, within bounds: a few operations can double a document again and again (CVE-2019-1002100),
//! or nest it ever deeper.

use json_patch::PatchOperation;
use serde_json::Value;

use crate::node::api::kube::bounds;

/// The apiserver's own `maxJSONPatchOperations`.
pub const OPERATIONS: usize = 10_000;
/// Bytes that all operations together may copy or move. The apiserver's limit of that size is for copies alone; here
/// a move is measured too, and measuring costs time.
const MOVED: usize = 3 << 20;

/// Why a patch is not carried out. The document is not to be used then.
pub enum Unpatched {
    TooMuch(String),
    Wrong(String),
}

/// Carries out one operation after another.
///
/// # Errors
/// See [`Unpatched`].
pub fn patch(document: &mut Value, operations: &[PatchOperation]) -> Result<(), Unpatched> {
    let mut moved = 0;
    for (at, operation) in operations.iter().enumerate() {
        let path = operation.path().as_str();
        let wrong = |why: String| Unpatched::Wrong(format!("operation {at} at '{path:.200}': {why}"));
        let (value, is_moved) = match operation {
            PatchOperation::Add(add) => (Some(&add.value), false),
            PatchOperation::Replace(replace) => (Some(&replace.value), false),
            PatchOperation::Copy(copy) => (document.pointer(copy.from.as_str()), true),
            PatchOperation::Move(moving) => (document.pointer(moving.from.as_str()), true),
            PatchOperation::Remove(_) | PatchOperation::Test(_) => (None, false),
        };
        if let Some(value) = value {
            let bytes = put_at(path, value).map_err(wrong)?;
            moved += if is_moved { bytes } else { 0 };
        }
        if moved > MOVED {
            return Err(Unpatched::TooMuch(format!(
                "the copies and moves of a JSON patch may take {MOVED} bytes together, and are beyond that at operation {at}"
            )));
        }
        json_patch::patch_unsafe(document, std::slice::from_ref(operation))
            .map_err(|error| wrong(error.kind.to_string()))?;
    }
    Ok(())
}

/// What is put in stays within bounds, so the document does.
fn put_at(path: &str, value: &Value) -> Result<usize, String> {
    bounds::check_name(path.rsplit('/').next().unwrap_or_default())?;
    bounds::check(value, path.matches('/').count())
}
