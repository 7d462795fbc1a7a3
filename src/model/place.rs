//! Where something was written: every cause and every diagnosis can point at it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A position in a manifest, shown as `file:line:column`; both count from 1.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Place {
    pub file: Arc<str>,
    pub line: u32,
    pub column: u32,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// Where each field of one document was written.
///
/// Keys are field paths as people write them: `spec.containers[0].image`; the empty path is the
/// document itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Places {
    pub file: Arc<str>,
    pub fields: BTreeMap<Box<str>, (u32, u32)>,
}

impl Places {
    /// The place of a field, or of its nearest ancestor that was written.
    pub fn of(&self, path: &str) -> Place {
        let mut path = path;
        loop {
            if let Some(&(line, column)) = self.fields.get(path) {
                return Place { file: self.file.clone(), line, column };
            }
            if path.is_empty() {
                return Place { file: self.file.clone(), line: 1, column: 1 };
            }
            path = &path[..path.rfind(['.', '[']).unwrap_or(0)];
        }
    }
}
