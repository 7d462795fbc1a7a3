//! The hold on a state directory: one process has it, and knows whether it can write there.
//!
//! A disk that is full or read-only stops no pod. The agent goes on in memory, says so wherever a person looks,
//! and writes again once it can.

use std::collections::BTreeMap;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::FlockOperation;
use rustix::io::Errno;

const LOCK: &str = "lock";

pub struct Hold {
    dir: PathBuf,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    lock: Option<File>,
    /// What could not be written when it was last tried, and why.
    troubles: BTreeMap<PathBuf, String>,
}

/// Why a directory is not held.
pub(super) enum Refusal {
    /// One line that names who has it.
    InUse(String),
    Fails(io::Error),
}

impl Hold {
    /// Nothing is held yet.
    pub(super) fn new(dir: &Path) -> Self {
        Self { dir: dir.to_owned(), inner: Mutex::default() }
    }

    /// Makes the directory when it is missing, and takes hold of it. One that can only be read is held too.
    pub(super) fn take(&self) -> Result<(), Refusal> {
        let mut inner = self.inner();
        if inner.lock.is_none() {
            inner.lock = Some(lock(&self.dir)?);
        }
        Ok(())
    }

    /// Tells whoever comes second which process was first. Proves that this disk can be written, too.
    pub(super) fn sign(&self) -> io::Result<()> {
        let path = self.dir.join(LOCK);
        self.write(&path, || {
            let line = format!("{}\n", std::process::id());
            let mut file = OpenOptions::new().write(true).open(&path)?;
            file.write_all(line.as_bytes())?;
            file.set_len(line.len() as u64)
        })
    }

    /// Writes something, if the directory is ours, and remembers whether that went well.
    ///
    /// # Errors
    /// As `write` has them, or because another process has the directory.
    pub fn write(&self, path: &Path, write: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        let held = self.take().map_err(|refusal| match refusal {
            Refusal::InUse(who) => io::Error::new(io::ErrorKind::ResourceBusy, who),
            Refusal::Fails(error) => error,
        });
        let done = held.and_then(|()| write());
        self.note(path, done.as_ref().err());
        done
    }

    /// Said once when it begins and once when it ends, whoever tries how often.
    pub(super) fn note(&self, path: &Path, error: Option<&io::Error>) {
        let mut inner = self.inner();
        let before = !inner.troubles.is_empty();
        match error {
            Some(error) => drop(inner.troubles.insert(path.to_owned(), error.to_string())),
            None => drop(inner.troubles.remove(path)),
        }
        let now = !inner.troubles.is_empty();
        drop(inner);
        match (before, now, self.trouble()) {
            (false, true, Some(trouble)) => tracing::error!("{trouble}"),
            (true, false, _) => tracing::info!("state directory {} can be written again", self.dir.display()),
            _ => {}
        }
    }

    /// What a person should know of this disk, in one line.
    pub fn trouble(&self) -> Option<String> {
        let inner = self.inner();
        let (path, why) = inner.troubles.first_key_value()?;
        Some(format!(
            "{} cannot be written ({why}): what is learnt is kept in memory only and would be lost with this \
             process; free space in --state-dir, or make it writable",
            path.display()
        ))
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn lock(dir: &Path) -> Result<File, Refusal> {
    let path = dir.join(LOCK);
    let made = DirBuilder::new().recursive(true).mode(0o700).create(dir);
    let writable =
        OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(&path);
    // `flock` asks for no right to write.
    let file = match writable {
        Ok(file) => Ok(file),
        Err(error) => File::open(&path).map_err(|_| made.err().unwrap_or(error)),
    };
    let mut file = file.map_err(Refusal::Fails)?;
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(Errno::WOULDBLOCK) => {
            let mut holder = String::new();
            let _ = file.read_to_string(&mut holder);
            Err(Refusal::InUse(format!(
                "state directory {} is in use by process {}: stop that agent, or give this one another --state-dir",
                dir.display(),
                holder.trim(),
            )))
        }
        Err(error) => Err(Refusal::Fails(error.into())),
    }
}
