//! Manifests that a command line names: files, directories, standard input.

use std::io::Read;
use std::path::{Path, PathBuf};

use crate::cli::failure::Failure;
use crate::model::read::{self, Options, Reading};

/// Reads everything that the paths name, one reading for each file, in the order given.
pub fn read(paths: &[PathBuf], options: &Options) -> Result<Vec<Reading>, Failure> {
    let mut readings = Vec::new();
    for path in paths {
        if path.as_os_str() == "-" {
            let mut bytes = Vec::new();
            std::io::stdin().read_to_end(&mut bytes).map_err(|e| Failure::error(format!("-: {e}")))?;
            readings.push(read::read("-", &bytes, options));
        } else if path.is_dir() {
            let entries = std::fs::read_dir(path).map_err(|e| fail(path, e))?;
            let mut files: Vec<_> = entries.filter_map(|e| Some(e.ok()?.path())).collect();
            files.sort();
            for file in files.iter().filter(|file| is_manifest(file)) {
                readings.push(read_file(file, options)?);
            }
        } else {
            readings.push(read_file(path, options)?);
        }
    }
    Ok(readings)
}

fn is_manifest(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "yaml" || e == "yml" || e == "json")
}

fn read_file(path: &Path, options: &Options) -> Result<Reading, Failure> {
    let bytes = std::fs::read(path).map_err(|e| fail(path, e))?;
    Ok(read::read(&path.display().to_string(), &bytes, options))
}

fn fail(path: &Path, error: std::io::Error) -> Failure {
    Failure::error(format!("{}: {error}", path.display()))
}
