//! Any byte string is a file. Reading it must end, and every diagnosis must point into it.
//!
//! `cargo +nightly fuzz run manifests ../tests/corpus`

#![no_main]

use libfuzzer_sys::fuzz_target;
use podkeeper::model::read::{Options, read};

fuzz_target!(|data: &[u8]| {
    let lines = data.iter().filter(|byte| **byte == b'\n').count() + 1;
    for file in ["a.yaml", "a.json"] {
        let reading = read(file, data, &Options::default());
        for diagnosis in &reading.diagnoses {
            let line = diagnosis.place.line as usize;
            assert!((1..=lines + 1).contains(&line), "{diagnosis:?} points outside of {lines} lines");
        }
    }
});
