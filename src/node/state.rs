//! What the agent keeps on disk: the node's key, the ledger and what sources said last, in a directory that
//! one agent holds.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

mod hold;

pub use hold::Hold;
use hold::Refusal;

use crate::node::keep::{Kept, Owner, replace};
use crate::plan::Ledger;

const KEY: &str = "node.key";
const LEDGER: &str = "ledger";
/// systemd's name for the machine: made at its first start, and another one on every copy of it.
const MACHINE_ID: &str = "/etc/machine-id";

/// The directory, held until this is dropped. One that cannot be written is held as far as that goes: then
/// [`StateDir::trouble`] says so, and whatever is saved fails.
pub struct StateDir {
    path: PathBuf,
    owner: Owner,
    hold: Arc<Hold>,
    /// A key that is not on disk yet.
    unkept: Mutex<Option<[u8; 16]>>,
}

/// The key of a node that has run before. For those who only look.
pub fn known_key(dir: &Path) -> Option<[u8; 16]> {
    fs::read(dir.join(KEY)).ok()?.try_into().ok()
}

/// What a node remembers that has run before. For those who only look: nothing is moved or reported.
pub fn known_ledger(dir: &Path, node: &str) -> Ledger {
    Kept::new(dir, LEDGER).owned_by(owner(node)).peek().unwrap_or_default()
}

fn owner(node: &str) -> Owner {
    Owner::new(node, fs::read_to_string(MACHINE_ID).ok().as_deref())
}

impl StateDir {
    /// Makes the directory when it is missing, and takes hold of it for this node.
    ///
    /// # Errors
    /// One line for a person: another agent has it, or there can be no directory of that name.
    pub fn open(path: &Path, node: &str) -> Result<Self, String> {
        let hold = Arc::new(Hold::new(path));
        match hold.take() {
            // Told as its trouble, too.
            Ok(()) => drop(hold.sign()),
            Err(Refusal::InUse(who)) => return Err(who),
            Err(Refusal::Fails(error)) if is_no_directory(&error) => {
                return Err(format!("state directory {} cannot be used: {error}", path.display()));
            }
            Err(Refusal::Fails(error)) => hold.note(path, Some(&error)),
        }
        Ok(Self { path: path.to_owned(), owner: owner(node), hold, unkept: Mutex::default() })
    }

    /// Why nothing can be written now, in one line for a person.
    pub fn trouble(&self) -> Option<String> {
        self.hold.trouble()
    }

    /// Tries again what could not be written, as far as nobody else does. To be called now and then.
    pub fn settle(&self) {
        if self.trouble().is_none() {
            return;
        }
        if self.hold.sign().is_ok() {
            self.hold.note(&self.path, None);
        }
        let mut unkept = self.unkept.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(key) = *unkept else { return };
        let path = self.path.join(KEY);
        // One that was there all the time, behind a disk that came late, is the right one for the next start.
        let is_missing = fs::symlink_metadata(&path).is_err_and(|e| e.kind() == io::ErrorKind::NotFound);
        if !is_missing {
            self.hold.note(&path, None);
        } else if self.hold.write(&path, || replace(&path, &key)).is_err() {
            return;
        }
        *unkept = None;
    }

    /// The node's key, made on the first start.
    ///
    /// A damaged one is moved aside, and without a disk one lives in memory: labels that another key made are
    /// compared field by field, so nothing is replaced for it.
    ///
    /// # Errors
    /// When the kernel gives no random bytes.
    pub fn key(&self) -> Result<[u8; 16], String> {
        let path = self.path.join(KEY);
        let mut unkept = self.unkept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(key) = *unkept {
            return Ok(key);
        }
        match fs::read(&path) {
            Ok(bytes) => match bytes.try_into() {
                Ok(key) => return Ok(key),
                Err(_) => {
                    let aside = path.with_extension("key.damaged");
                    let moved = fs::rename(&path, &aside).is_ok();
                    tracing::warn!(moved, aside = %aside.display(), "{} was damaged: another key is made", path.display());
                }
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => tracing::error!("{} cannot be read ({error}): another key is used", path.display()),
        }
        let mut key = [0; 16];
        rustix::rand::getrandom(&mut key, rustix::rand::GetRandomFlags::empty())
            .map_err(|error| format!("the node's key cannot be made: {}", io::Error::from(error)))?;
        let is_free = fs::symlink_metadata(&path).is_err();
        let is_kept = is_free && self.hold.write(&path, || replace(&path, &key)).is_ok();
        *unkept = (!is_kept).then_some(key);
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
        Kept::new(&self.path, name).owned_by(self.owner.clone()).held_by(self.hold.clone())
    }
}

/// A mistake in the name, which no other day mends.
fn is_no_directory(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotADirectory
            | io::ErrorKind::AlreadyExists
            | io::ErrorKind::IsADirectory
            | io::ErrorKind::InvalidInput
            | io::ErrorKind::InvalidFilename
    )
}

#[cfg(test)]
mod tests;
