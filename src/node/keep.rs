//! A value on disk, in two generations, bound to its node, with a sum over its bytes.
//!
//! One that cannot be read is moved aside and reported, and the one before it is used, or none: an agent
//! always starts.

use std::fs::{self, File};
use std::io::{self, Read};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

mod envelope;
mod steps;

pub use envelope::Owner;
use envelope::Problem;
use steps::{Step, carry_out, replacing};

use crate::node::state::Hold;

/// A place for one value.
pub struct Kept<T> {
    now: PathBuf,
    before: PathBuf,
    owner: Owner,
    /// Whoever writes needs the directory for itself.
    hold: Option<Arc<Hold>>,
    of: PhantomData<fn() -> T>,
}

/// The place, not the value.
impl<T> Clone for Kept<T> {
    fn clone(&self) -> Self {
        Self {
            now: self.now.clone(),
            before: self.before.clone(),
            owner: self.owner.clone(),
            hold: self.hold.clone(),
            of: PhantomData,
        }
    }
}

impl<T: Serialize + DeserializeOwned> Kept<T> {
    /// Nobody's yet; see [`StateDir::kept`](crate::node::state::StateDir::kept).
    pub fn new(dir: &Path, name: &str) -> Self {
        Self {
            now: dir.join(format!("{name}.json")),
            before: dir.join(format!("{name}.json.1")),
            owner: Owner::default(),
            hold: None,
            of: PhantomData,
        }
    }

    /// Values of others are refused.
    pub fn owned_by(self, owner: Owner) -> Self {
        Self { owner, ..self }
    }

    /// Written only while the directory is held, and a failure is told as its trouble.
    pub fn held_by(self, hold: Arc<Hold>) -> Self {
        Self { hold: Some(hold), ..self }
    }

    /// For those who only look: nothing is moved or reported.
    pub fn peek(&self) -> Option<T> {
        let read = |path| envelope::open(&fs::read(path).ok()?, &self.owner).ok();
        newest(read(&self.now), read(&self.before))
    }

    /// The newest generation that can be read.
    pub fn load(&self) -> Option<T> {
        self.load_and_tell().map(|(value, _)| value)
    }

    /// The same, and whether it may be older than what was saved last: that one is damaged, of another node, or
    /// somebody put an old file in its place.
    pub fn load_and_tell(&self) -> Option<(T, bool)> {
        let there = self.now.exists();
        let (now, before) = (self.read(&self.now), self.read(&self.before));
        let generation = |read: &Option<(u64, T)>| read.as_ref().map(|(generation, _)| *generation);
        // A crash between the two renames of a save leaves no file of this name, and the one before is whole.
        let is_older = there && generation(&now) < generation(&before);
        newest(now, before).map(|value| (value, is_older))
    }

    /// Writes a new generation; the one before stays beside it.
    ///
    /// # Errors
    /// As the file system has them; what was there can still be read then.
    pub fn save(&self, value: &T) -> io::Result<()> {
        let write = || carry_out(&self.saving(value)?);
        match &self.hold {
            None => write(),
            Some(hold) => hold.write(&self.now, write),
        }
    }

    /// Between the two renames the value has no file of its own name; [`Kept::load`] takes the one before
    /// then. A link in place of the first would close that gap, and not every file system has links.
    fn saving(&self, value: &T) -> io::Result<Vec<Step>> {
        let known = generation(&self.now).max(generation(&self.before));
        let bytes = envelope::seal(&self.owner, known.unwrap_or(0).saturating_add(1), value)?;
        let before = self.now.exists().then_some(&*self.before);
        Ok(replacing(&self.now, before, bytes))
    }

    fn read(&self, path: &Path) -> Option<(u64, T)> {
        let problem = match fs::read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => Problem::Damaged(error.to_string()),
            Ok(bytes) => match envelope::open(&bytes, &self.owner) {
                Ok(read) => return Some(read),
                Err(problem) => problem,
            },
        };
        let (ending, why) = match problem {
            Problem::Damaged(why) => (".damaged", format!("cannot be read ({why})")),
            Problem::Foreign(why) => (".foreign", format!("is not of this node ({why})")),
        };
        let mut aside = path.as_os_str().to_owned();
        aside.push(ending);
        let (path, moved, aside) =
            (path.display(), fs::rename(path, &aside).is_ok(), Path::new(&aside).display());
        tracing::error!(%path, moved, %aside, "what was remembered {why}: going on without it");
        None
    }
}

/// Of two that can be read, the later generation: somebody may have put an old file in place of the new one.
fn newest<T>(now: Option<(u64, T)>, before: Option<(u64, T)>) -> Option<T> {
    match (now, before) {
        (Some((now, _)), Some((before, value))) if before > now => {
            tracing::warn!(now, before, "an older state was put in place of a newer one: the newer is used");
            Some(value)
        }
        (now, before) => now.or(before).map(|(_, value)| value),
    }
}

fn generation(path: &Path) -> Option<u64> {
    let mut head = Vec::with_capacity(envelope::HEAD_LENGTH);
    File::open(path).ok()?.take(envelope::HEAD_LENGTH as u64).read_to_end(&mut head).ok()?;
    envelope::generation(&head)
}

/// Writes a whole file, so that it is either the old one or the new one, whenever power goes.
///
/// # Errors
/// As the file system has them.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    carry_out(&replacing(path, None, bytes.to_vec()))
}

#[cfg(test)]
mod tests;
