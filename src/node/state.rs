//! What the agent keeps on disk: the node's key and the ledger, in a directory that one agent holds.
//!
//! Every file is written beside its place, synced, and moved over; two generations are kept. A ledger that
//! cannot be read is moved aside and reported, and the agent starts without it.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};

use crate::plan::Ledger;

const KEY: &str = "node.key";
const LOCK: &str = "lock";
const LEDGER: &str = "ledger.json";
const LEDGER_BEFORE: &str = "ledger.json.1";

/// The version of the file's shape.
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Checkpoint {
    version: u32,
    ledger: Ledger,
}

/// The directory, held until this is dropped.
pub struct StateDir {
    path: PathBuf,
    _lock: File,
}

/// The key of a node that has run before. For those who only look.
pub fn known_key(dir: &Path) -> Option<[u8; 16]> {
    fs::read(dir.join(KEY)).ok()?.try_into().ok()
}

/// What a node remembers that has run before. For those who only look: nothing is moved or reported.
pub fn known_ledger(dir: &Path) -> Ledger {
    let read = |name| parse(&fs::read(dir.join(name)).ok()?).ok();
    [LEDGER, LEDGER_BEFORE].into_iter().find_map(read).unwrap_or_default()
}

fn parse(bytes: &[u8]) -> Result<Ledger, String> {
    let checkpoint: Checkpoint = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    if checkpoint.version == VERSION {
        return Ok(checkpoint.ledger);
    }
    Err(format!("it is of version {}, and {VERSION} is known", checkpoint.version))
}

impl StateDir {
    /// Makes the directory when it is missing, and takes hold of it.
    ///
    /// # Errors
    /// One line for a person: another agent has it, or it cannot be written.
    pub fn open(path: &Path) -> Result<Self, String> {
        let fails = |error: io::Error| format!("state directory {} cannot be used: {error}", path.display());
        DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(fails)?;
        let mut lock = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path.join(LOCK))
            .map_err(fails)?;
        if let Err(error) = rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            if error != rustix::io::Errno::WOULDBLOCK {
                return Err(fails(error.into()));
            }
            let mut holder = String::new();
            let _ = lock.read_to_string(&mut holder);
            return Err(format!(
                "state directory {} is in use by process {}: stop that agent, or give this one another --state-dir",
                path.display(),
                holder.trim(),
            ));
        }
        lock.set_len(0).and_then(|()| writeln!(lock, "{}", std::process::id())).map_err(fails)?;
        Ok(Self { path: path.to_owned(), _lock: lock })
    }

    /// The node's key, made on the first start.
    ///
    /// # Errors
    /// When it cannot be made, or is damaged: without it every digest in every label would differ, and so
    /// every pod be replaced. That is for a person to decide.
    pub fn key(&self) -> Result<[u8; 16], String> {
        let path = self.path.join(KEY);
        match fs::read(&path) {
            Ok(bytes) => bytes.try_into().map_err(|_| {
                format!("{} is damaged: restore it, or delete it and have every pod replaced", path.display())
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let mut key = [0; 16];
                rustix::rand::getrandom(&mut key, rustix::rand::GetRandomFlags::empty())
                    .map_err(io::Error::from)
                    .and_then(|_| self.write(KEY, &key))
                    .map_err(|error| format!("{} cannot be written: {error}", path.display()))?;
                Ok(key)
            }
            Err(error) => Err(format!("{} cannot be read: {error}", path.display())),
        }
    }

    /// What was remembered, as far as it can be read.
    pub fn ledger(&self) -> Ledger {
        [LEDGER, LEDGER_BEFORE].into_iter().find_map(|name| self.read_ledger(name)).unwrap_or_default()
    }

    fn read_ledger(&self, name: &str) -> Option<Ledger> {
        let path = self.path.join(name);
        let problem = match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => error.to_string(),
            Ok(bytes) => match parse(&bytes) {
                Ok(ledger) => return Some(ledger),
                Err(problem) => problem,
            },
        };
        let aside = self.path.join(format!("{name}.damaged"));
        let moved = fs::rename(&path, &aside);
        tracing::error!(
            path = %path.display(), moved = moved.is_ok(), aside = %aside.display(),
            "what was remembered of past runs cannot be read ({problem}): starting without it"
        );
        None
    }

    /// Writes a new generation; the one before stays beside it.
    ///
    /// # Errors
    /// As the file system has them; the old generation is whole then.
    pub fn write_ledger(&self, ledger: &Ledger) -> io::Result<()> {
        let checkpoint = Checkpoint { version: VERSION, ledger: ledger.clone() };
        let bytes = serde_json::to_vec(&checkpoint)?;
        match fs::rename(self.path.join(LEDGER), self.path.join(LEDGER_BEFORE)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        self.write(LEDGER, &bytes)
    }

    fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(&self.path)?;
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        file.persist(self.path.join(name)).map_err(|error| error.error)?;
        // The new name is only safe once the directory is.
        File::open(&self.path)?.sync_all()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Time;
    use crate::plan::ledger::Failure;

    fn ledger(count: u32) -> Ledger {
        let failure = Failure {
            count,
            at: Time(1),
            word: "ErrImagePull".into(),
            message: "no".into(),
            fingerprint: None,
        };
        Ledger { pulls: im::OrdMap::unit("a:1".into(), failure), ..Ledger::default() }
    }

    #[test]
    fn a_second_agent_is_refused_with_the_pid_of_the_first() {
        let dir = tempfile::tempdir().unwrap();
        let first = StateDir::open(dir.path()).unwrap();
        let refusal = StateDir::open(dir.path()).err().unwrap();
        assert!(refusal.contains(&format!("process {}:", std::process::id())), "{refusal}");
        drop(first);
        assert!(StateDir::open(dir.path()).is_ok());
    }

    #[test]
    fn the_key_is_made_once_and_a_damaged_one_is_not_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(dir.path()).unwrap();
        assert_eq!(known_key(dir.path()), None);
        let key = state.key().unwrap();
        assert_eq!((state.key().unwrap(), known_key(dir.path())), (key, Some(key)));
        fs::write(dir.path().join(KEY), b"short").unwrap();
        assert!(state.key().unwrap_err().contains("is damaged"));
    }

    #[test]
    fn a_damaged_ledger_is_moved_aside_and_the_one_before_it_is_used() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(dir.path()).unwrap();
        assert_eq!(state.ledger(), Ledger::default());
        state.write_ledger(&ledger(1)).unwrap();
        state.write_ledger(&ledger(2)).unwrap();
        assert_eq!(state.ledger(), ledger(2));
        fs::write(dir.path().join(LEDGER), b"{\"version\":1,").unwrap();
        assert_eq!(state.ledger(), ledger(1));
        assert!(dir.path().join("ledger.json.damaged").exists());
        // As a crash between the two renames leaves it.
        assert!(!dir.path().join(LEDGER).exists());
        assert_eq!(state.ledger(), ledger(1));
    }
}
