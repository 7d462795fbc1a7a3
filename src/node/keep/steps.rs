//! How a file is replaced, as a list of what is asked of the file system, so that a test can stop after each.
//!
//! The new bytes are whole and synced under another name before any name that counts is touched. So a full disk
//! costs nothing that was there, and power that goes at any moment leaves an old generation or the new one.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    Write(PathBuf, Vec<u8>),
    /// Bytes may lie in memory until they are synced, and a name may reach the disk before them.
    Sync(PathBuf),
    Rename(PathBuf, PathBuf),
    /// A new name is only safe once its directory is.
    SyncDir(PathBuf),
}

/// Replaces `path`; what it was until now is kept as `before`, if that is given.
pub fn replacing(path: &Path, before: Option<&Path>, bytes: Vec<u8>) -> Vec<Step> {
    // A name of its own for each file: what a crash leaves of it is written over by the next try.
    let mut new = path.as_os_str().to_owned();
    new.push(".new");
    let new = PathBuf::from(new);
    let mut steps = vec![Step::Write(new.clone(), bytes), Step::Sync(new.clone())];
    steps.extend(before.map(|before| Step::Rename(path.to_owned(), before.to_owned())));
    steps.push(Step::Rename(new, path.to_owned()));
    steps.push(Step::SyncDir(path.parent().unwrap_or(Path::new(".")).to_owned()));
    steps
}

/// Carries all of them out.
///
/// # Errors
/// As the file system has them. What was written is taken away again: a full disk needs the room.
pub fn carry_out(steps: &[Step]) -> io::Result<()> {
    let done = steps.iter().try_for_each(one);
    if let (Err(_), Some(Step::Write(new, _))) = (&done, steps.first()) {
        let _ = fs::remove_file(new);
    }
    done
}

fn one(step: &Step) -> io::Result<()> {
    match step {
        Step::Write(path, bytes) => {
            // Values of env are among what is kept: nobody else may read it.
            let mut file =
                OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
            file.write_all(bytes)
        }
        Step::Sync(path) => File::open(path)?.sync_all(),
        Step::Rename(from, to) => fs::rename(from, to),
        Step::SyncDir(dir) => File::open(dir)?.sync_all(),
    }
}
