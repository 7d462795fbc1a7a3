//! What the agent keeps on disk: the node's key, the ledger and what sources said last, in a directory that
//! one agent holds.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;

use crate::node::keep::{Kept, replace};
use crate::plan::Ledger;

const KEY: &str = "node.key";
const LOCK: &str = "lock";
const LEDGER: &str = "ledger";

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
    Kept::new(dir, LEDGER).peek().unwrap_or_default()
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
    /// A damaged one is moved aside: labels that another key made are compared field by field, so nothing is
    /// replaced for it.
    ///
    /// # Errors
    /// When it can neither be read nor made.
    pub fn key(&self) -> Result<[u8; 16], String> {
        let path = self.path.join(KEY);
        let fails = |error: io::Error| format!("{} cannot be used: {error}", path.display());
        match fs::read(&path) {
            Ok(bytes) => match bytes.try_into() {
                Ok(key) => return Ok(key),
                Err(_) => {
                    let aside = path.with_extension("key.damaged");
                    fs::rename(&path, &aside).map_err(fails)?;
                    tracing::warn!("{} was damaged: it is now {}", path.display(), aside.display());
                }
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(fails(error)),
        }
        let mut key = [0; 16];
        rustix::rand::getrandom(&mut key, rustix::rand::GetRandomFlags::empty())
            .map_err(io::Error::from)
            .and_then(|_| replace(&path, &key))
            .map_err(fails)?;
        Ok(key)
    }

    /// What was remembered, as far as it can be read.
    pub fn ledger(&self) -> Ledger {
        self.kept(LEDGER).load().unwrap_or_default()
    }

    /// # Errors
    /// As the file system has them; the old ledger is whole then.
    pub fn write_ledger(&self, ledger: &Ledger) -> io::Result<()> {
        self.kept(LEDGER).save(ledger)
    }

    /// A place for a value of that name.
    pub fn kept<T: serde::Serialize + serde::de::DeserializeOwned>(&self, name: &str) -> Kept<T> {
        Kept::new(&self.path, name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn the_key_is_made_once_and_a_damaged_one_is_moved_aside() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(dir.path()).unwrap();
        assert_eq!(known_key(dir.path()), None);
        let key = state.key().unwrap();
        assert_eq!((state.key().unwrap(), known_key(dir.path())), (key, Some(key)));
        fs::write(dir.path().join(KEY), b"short").unwrap();
        let another = state.key().unwrap();
        assert_ne!(another, key);
        assert_eq!(fs::read(dir.path().join("node.key.damaged")).unwrap(), b"short");
    }

    #[test]
    fn the_ledger_comes_back() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(dir.path()).unwrap();
        assert_eq!((state.ledger(), known_ledger(dir.path())), (Ledger::default(), Ledger::default()));
        let pod = im::OrdMap::unit(crate::model::Uid("u".into()), Default::default());
        let ledger = Ledger { pods: pod, ..Ledger::default() };
        state.write_ledger(&ledger).unwrap();
        assert_eq!((state.ledger(), known_ledger(dir.path())), (ledger.clone(), ledger));
    }
}
