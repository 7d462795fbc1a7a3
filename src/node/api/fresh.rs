//! A value that is read from files, and read again when they change: a token, a certificate.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Reads the contents of the files, in their order.
type Read<T> = fn(&[Vec<u8>]) -> Result<T, String>;

pub struct Fresh<T> {
    paths: Vec<PathBuf>,
    read: Read<T>,
    last: Mutex<Last<T>>,
}

struct Last<T> {
    stamps: Vec<Option<Stamp>>,
    value: Arc<T>,
}

/// What differs when a file was written anew or replaced: inode, size, time.
type Stamp = (u64, u64, i64, i64);

impl<T> Fresh<T> {
    /// # Errors
    /// One line for a person, with the file in it.
    pub fn open(paths: Vec<PathBuf>, read: Read<T>) -> Result<Self, String> {
        let stamps = stamps(&paths);
        let value = Arc::new(load(&paths, read)?);
        Ok(Self { paths, read, last: Mutex::new(Last { stamps, value }) })
    }

    /// The value as the files have it now. As long as they cannot be read (one of two files that belong
    /// together is always written first) the last good one is used.
    pub fn now(&self) -> Arc<T> {
        let stamps = stamps(&self.paths);
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if stamps != last.stamps {
            last.stamps = stamps;
            match load(&self.paths, self.read) {
                Ok(value) => {
                    tracing::info!("{} has changed and was read again", self.paths[0].display());
                    last.value = Arc::new(value);
                }
                Err(error) => tracing::error!("{error}; what was read before goes on being used"),
            }
        }
        last.value.clone()
    }
}

fn stamps(paths: &[PathBuf]) -> Vec<Option<Stamp>> {
    let stamp = |path: &PathBuf| {
        let meta = fs::metadata(path).ok()?;
        Some((meta.ino(), meta.size(), meta.mtime(), meta.mtime_nsec()))
    };
    paths.iter().map(stamp).collect()
}

fn load<T>(paths: &[PathBuf], read: Read<T>) -> Result<T, String> {
    let content = |path: &PathBuf| {
        fs::read(path).map_err(|error| format!("{} cannot be read: {error}", path.display()))
    };
    let contents: Vec<Vec<u8>> = paths.iter().map(content).collect::<Result<_, _>>()?;
    let names = || paths.iter().map(|path| Path::display(path).to_string()).collect::<Vec<_>>().join(", ");
    read(&contents).map_err(|error| format!("{}: {error}", names()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_file_is_read_again_and_a_bad_one_changes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("number");
        fs::write(&path, "one").unwrap();
        let number = |contents: &[Vec<u8>]| match &contents[0][..] {
            b"one" => Ok(1),
            b"three" => Ok(3),
            _ => Err("not a number".to_owned()),
        };
        let fresh = Fresh::open(vec![path.clone()], number).unwrap();
        assert_eq!(*fresh.now(), 1);
        fs::write(&path, "nonsense").unwrap();
        assert_eq!(*fresh.now(), 1);
        fs::remove_file(&path).unwrap();
        assert_eq!(*fresh.now(), 1);
        fs::write(&path, "three").unwrap();
        assert_eq!(*fresh.now(), 3);
        fs::write(&path, "four").unwrap();
        let refusal = Fresh::open(vec![path.clone()], number).err().unwrap();
        assert_eq!(refusal, format!("{}: not a number", path.display()));
    }
}
