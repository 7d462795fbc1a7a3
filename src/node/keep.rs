//! A value on disk: written beside its place, synced and moved over, in two generations.
//!
//! One that cannot be read is moved aside and reported, and the one before it is used, or none: an agent
//! always starts.

use std::fs::{self, File};
use std::io::{self, Write};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The version of the shape of every kept value.
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Versioned<T> {
    version: u32,
    value: T,
}

/// A place for one value.
pub struct Kept<T> {
    now: PathBuf,
    before: PathBuf,
    of: PhantomData<fn() -> T>,
}

/// The place, not the value.
impl<T> Clone for Kept<T> {
    fn clone(&self) -> Self {
        Self { now: self.now.clone(), before: self.before.clone(), of: PhantomData }
    }
}

impl<T: Serialize + DeserializeOwned> Kept<T> {
    pub fn new(dir: &Path, name: &str) -> Self {
        Self {
            now: dir.join(format!("{name}.json")),
            before: dir.join(format!("{name}.json.1")),
            of: PhantomData,
        }
    }

    /// For those who only look: nothing is moved or reported.
    pub fn peek(&self) -> Option<T> {
        [&self.now, &self.before].into_iter().find_map(|path| parse(&fs::read(path).ok()?).ok())
    }

    /// The newest generation that can be read.
    pub fn load(&self) -> Option<T> {
        [&self.now, &self.before].into_iter().find_map(|path| read(path))
    }

    /// Writes a new generation; the one before stays beside it.
    ///
    /// # Errors
    /// As the file system has them; an old generation is whole then.
    pub fn save(&self, value: &T) -> io::Result<()> {
        let bytes = serde_json::to_vec(&Versioned { version: VERSION, value })?;
        if let Err(error) = fs::rename(&self.now, &self.before)
            && error.kind() != io::ErrorKind::NotFound
        {
            return Err(error);
        }
        replace(&self.now, &bytes)
    }
}

/// Writes a whole file, so that it is either the old one or the new one, whenever power goes.
///
/// # Errors
/// As the file system has them.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let dir = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(dir)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    // The new name is only safe once the directory is.
    File::open(dir)?.sync_all()
}

fn read<T: DeserializeOwned>(path: &Path) -> Option<T> {
    let problem = match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => error.to_string(),
        Ok(bytes) => match parse(&bytes) {
            Ok(value) => return Some(value),
            Err(problem) => problem,
        },
    };
    let mut aside = path.as_os_str().to_owned();
    aside.push(".damaged");
    let (path, moved, aside) =
        (path.display(), fs::rename(path, &aside).is_ok(), Path::new(&aside).display());
    tracing::error!(%path, moved, %aside, "what was remembered cannot be read ({problem}): starting without it");
    None
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    let read: Versioned<T> = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    if read.version == VERSION {
        return Ok(read.value);
    }
    Err(format!("it is of version {}, and {VERSION} is known", read.version))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_value_is_moved_aside_and_the_one_before_it_is_used() {
        let dir = tempfile::tempdir().unwrap();
        let kept: Kept<String> = Kept::new(dir.path(), "ledger");
        assert_eq!(kept.load(), None);
        kept.save(&"first".into()).unwrap();
        kept.save(&"second".into()).unwrap();
        assert_eq!(kept.load().as_deref(), Some("second"));
        let path = dir.path().join("ledger.json");
        fs::write(&path, b"{\"version\":1,").unwrap();
        assert_eq!(kept.peek().as_deref(), Some("first"));
        assert!(path.exists(), "a look moves nothing");
        assert_eq!(kept.load().as_deref(), Some("first"));
        assert!(dir.path().join("ledger.json.damaged").exists());
        // As a crash between the two renames leaves it.
        assert!(!path.exists());
        assert_eq!(kept.load().as_deref(), Some("first"));
    }

    #[test]
    fn a_value_of_a_later_version_is_not_guessed_at() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("x.json"), br#"{"version":2,"value":"later"}"#).unwrap();
        assert_eq!(Kept::<String>::new(dir.path(), "x").load(), None);
    }
}
