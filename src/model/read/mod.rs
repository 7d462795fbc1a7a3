//! Reading: bytes of one file → documents → pods, with a diagnosis for everything that is wrong.
//!
//! ```text
//! bytes ─text─▶ documents ─load─▶ trees with places ─document─▶ kinds ─schema, rules─▶ diagnoses
//!                                                        └────────build─▶ pods with their defaults
//! ```
//!
//! **Invariant:** reading is total. Whatever the bytes are, it returns, within its budgets, and every diagnosis stands at
//! a line of the file.

mod build;
mod document;
mod json;
mod legacy;
mod load;
mod report;
mod rules;
mod scalar;
pub mod schema;
mod secret;
mod syntax;
mod text;
mod tree;
mod value;

use crate::model::{Places, Pod, PodKey};

pub use crate::model::diagnosis::{Diagnosis, Severity};
pub use rules::names;
pub use text::SHOWN;
pub use value::value;

use report::Report;
use tree::Mark;

/// Largest file that is read. Kubernetes' own limit for an object in etcd is 1.5 MiB.
pub const MAX_BYTES: usize = 1024 * 1024;

/// How strict to be, and what a node knows of itself.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Unknown fields are warnings, not errors (`--validate=warn`).
    pub lenient: bool,
    /// To warn of a `nodeName` that is somebody else's.
    pub node_name: Option<String>,
}

/// Everything one file holds.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    pub pods: Vec<ReadPod>,
    /// There is a list in it, so that it says "no pods" when there are none: `items: []`. Nothing else says that: `null`
    /// is what programs write that found nothing.
    pub listed: bool,
    /// In the order of the file.
    pub diagnoses: Vec<Diagnosis>,
}

impl Reading {
    /// It declares no pod, and does not say so either.
    pub fn says_nothing(&self) -> bool {
        self.pods.is_empty() && !self.listed
    }
}

/// One pod document. A bad one never costs the others.
#[derive(Clone, Debug)]
pub struct ReadPod {
    /// As far as it could be read; `None` when not even its name can be told.
    pub key: Option<PodKey>,
    /// `None` when the document has an error.
    pub pod: Option<Pod>,
    pub places: Places,
}

/// Reads all documents of one file. `file` is how the file is named in places; one that ends with `.json` is held to
/// JSON, everything else is YAML, of which JSON is a part.
pub fn read(file: &str, bytes: &[u8], options: &Options) -> Reading {
    let checked = if bytes.len() > MAX_BYTES {
        // Whoever reads stops at the limit, so how much there is nobody knows here.
        let message = format!("it has more bytes than the {MAX_BYTES} (1 MiB) that are read");
        Err(text::NotText { message, fix: "split it" })
    } else {
        text::decode(bytes)
    };
    let text = match checked {
        Ok(text) => text,
        Err(text::NotText { message, fix }) => {
            let mut report = Report::new(file, "");
            report.error(Mark { line: 1, column: 1 }, "", message, fix);
            let places = Places { file: report.file, fields: Default::default() };
            let pods = vec![ReadPod { key: None, pod: None, places }];
            return Reading { pods, diagnoses: report.diagnoses, listed: false };
        }
    };
    let mut report = Report::new(file, text);
    let mut reading = Reading::default();
    let documents = text::split(text);
    let strict_json = file.ends_with(".json");
    for document in &documents {
        document::read(document, strict_json, &mut report, options, &mut reading);
    }
    document::refuse_duplicates(&mut reading.pods, &mut report);
    reading.diagnoses = report.diagnoses;
    reading.diagnoses.sort_by_key(|diagnosis| (diagnosis.place.line, diagnosis.place.column));
    reading
}
