//! The file source: one manifest file, or a directory of them.
//!
//! [`Scanner`] looks at the path once and tells what follows. It is run on a thread of its own (see
//! [`watch`](super::watch)), because a file system may hang and reading YAML takes time, and neither may hold up
//! the agent.

use std::collections::BTreeSet;
use std::fs::{File, Metadata, OpenOptions};
use std::hash::Hasher;
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use siphasher::sip128::{Hasher128, SipHasher24};

use crate::model::Time;
use crate::model::read::{self, Options};
use crate::node::sources::brake::SECOND_LOOK;
use crate::node::sources::reading::{Look, Manifests, Remembered, Said, Seen};
use crate::node::sources::settle::{Now, SETTLE, Settling, Stamp, Verdict};
use crate::plan::{Node, SourceKind};

/// What the reader takes at most.
const LARGEST: u64 = read::MAX_BYTES as u64;

/// Looks at one path, again and again.
pub struct Scanner {
    path: PathBuf,
    options: Options,
    settling: Settling,
    manifests: Manifests,
    /// Paths that anybody may write, each told once.
    warned: BTreeSet<PathBuf>,
}

/// What a look found.
pub struct Scan {
    pub said: Said,
    /// Look again after this time, whatever the watch says.
    pub next: Option<Duration>,
}

impl Scanner {
    pub fn new(path: PathBuf, node: Node, allow_mass_delete: bool) -> Self {
        Self {
            options: Options { lenient: false, node_name: Some(node.name.to_string()) },
            manifests: Manifests::new(SourceKind::File, node, allow_mass_delete),
            path,
            settling: Settling::default(),
            warned: BTreeSet::new(),
        }
    }

    /// Goes on where an earlier agent ended.
    pub fn recall(&mut self, remembered: Remembered) {
        self.manifests.recall(&self.path.to_string_lossy(), remembered, |_| false);
    }

    /// What a later agent needs to go on.
    pub fn remember(&self) -> Remembered {
        self.manifests.remember(&self.path.to_string_lossy())
    }

    pub fn scan(&mut self, now: Now) -> Scan {
        let mut next = None;
        let look = match self.listing() {
            Ok(files) => Look::Files(self.files(files, now, &mut next)),
            Err(error) => {
                let what_to_do = match error.kind() {
                    io::ErrorKind::NotFound => ": create it, or name another with --config",
                    io::ErrorKind::PermissionDenied => ": let the agent's user read it",
                    _ => "",
                };
                Look::Unavailable(format!("{} cannot be read: {error}{what_to_do}", self.path.display()))
            }
        };
        let said = self.manifests.fold(look, now.elapsed);
        if said.again {
            next = sooner(next, SECOND_LOOK);
        }
        Scan { said, next }
    }

    /// The files that count, by path in order.
    fn listing(&mut self) -> io::Result<Vec<PathBuf>> {
        let meta = std::fs::metadata(&self.path)?;
        self.warn_if_open_to_all(&self.path.clone(), &meta);
        if !meta.is_dir() {
            return Ok(vec![self.path.clone()]);
        }
        let directory = (meta.dev(), meta.ino());
        let mut files = Vec::new();
        for entry in std::fs::read_dir(&self.path)? {
            let name = entry?.file_name();
            if is_manifest(&name.to_string_lossy()) {
                files.push(self.path.join(name));
            }
        }
        self.manifests.looks_at(Some(directory), files.is_empty());
        files.sort();
        Ok(files)
    }

    fn files(&mut self, files: Vec<PathBuf>, now: Now, next: &mut Option<Duration>) -> Vec<(Arc<str>, Seen)> {
        let mut seen: Vec<(Arc<str>, Seen)> = Vec::new();
        for path in files {
            let name: Arc<str> = printable(&path).into();
            match std::fs::metadata(&path) {
                Ok(meta) if meta.is_dir() => {}
                Ok(meta) => {
                    self.warn_if_open_to_all(&path, &meta);
                    let found = self.file(&path, &name, &meta, now, next);
                    seen.push((name, found));
                }
                // Taken away since it was listed; a link that leads nowhere is still there.
                Err(_) if std::fs::symlink_metadata(&path).is_err() => {}
                Err(error) => seen.push((name, Seen::Unreadable(format!("it cannot be read: {error}")))),
            }
        }
        let present: BTreeSet<Arc<str>> = seen.iter().map(|(name, _)| name.clone()).collect();
        for name in self.settling.files().into_iter().filter(|name| !present.contains(name)) {
            if let Verdict::Wait(left) = self.settling.absent(&name, now) {
                *next = sooner(*next, left);
                seen.push((name, Seen::Leaving));
            }
        }
        seen
    }

    fn file(
        &mut self,
        path: &Path,
        name: &Arc<str>,
        meta: &Metadata,
        now: Now,
        next: &mut Option<Duration>,
    ) -> Seen {
        if !meta.is_file() {
            return Seen::Unreadable("it is not a regular file".to_owned());
        }
        let stamp = stamp(meta);
        match self.settling.present(name, stamp, now) {
            Verdict::Same | Verdict::Gone => Seen::Same,
            Verdict::Wait(left) => {
                *next = sooner(*next, left);
                Seen::Same
            }
            Verdict::Read => match content(path, stamp) {
                Ok(Some(bytes)) => {
                    self.settling.accept(name, stamp);
                    self.parse(name, &bytes)
                }
                Ok(None) => {
                    *next = sooner(*next, SETTLE);
                    Seen::Same
                }
                Err(error) => Seen::Unreadable(format!("it cannot be read: {error}")),
            },
        }
    }

    /// YAML is fifty times dearer than planning, so the same bytes are never parsed again.
    fn parse(&self, name: &Arc<str>, bytes: &[u8]) -> Seen {
        if is_blank(bytes) {
            return Seen::Blank;
        }
        let digest = digest(bytes);
        if self.manifests.digest(name) == Some(digest) {
            return Seen::Same;
        }
        match catch_unwind(AssertUnwindSafe(|| read::read(name, bytes, &self.options))) {
            Ok(reading) => Seen::Read { digest, reading },
            Err(_) => Seen::Unreadable("podkeeper failed to read it: please report this file".to_owned()),
        }
    }

    fn warn_if_open_to_all(&mut self, path: &Path, meta: &Metadata) {
        const WRITABLE_BY_ALL: u32 = 0o002;
        const STICKY: u32 = 0o1000;
        let open = meta.mode() & WRITABLE_BY_ALL != 0 && meta.mode() & STICKY == 0;
        if open && self.warned.insert(path.to_owned()) {
            let path = printable(path);
            tracing::warn!(
                path,
                "every user of this machine may write here, and so run containers: chmod o-w"
            );
        }
    }
}

/// The endings that count; never dot files (`..data`, `.web.yaml.swp`) or editors' copies (`web.yaml~`).
pub fn is_manifest(name: &str) -> bool {
    !name.starts_with('.') && [".yaml", ".yml", ".json"].iter().any(|ending| name.ends_with(ending))
}

/// Nothing but space, comments and the marks between documents.
pub fn is_blank(bytes: &[u8]) -> bool {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    bytes
        .split(|byte| *byte == b'\n')
        .map(<[u8]>::trim_ascii)
        .all(|line| matches!(line, b"" | b"---" | b"..." | [b'#', ..]))
}

/// Opens a regular file. Never blocks: a pipe opens at once and is refused.
pub fn open_regular(path: &Path) -> io::Result<(File, Metadata)> {
    let nonblocking = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(nonblocking).open(path)?;
    let meta = file.metadata()?;
    if meta.is_file() { Ok((file, meta)) } else { Err(io::Error::other("it is not a regular file")) }
}

/// Reads a whole file, unless it changed meanwhile (`None`).
fn content(path: &Path, expected: Stamp) -> io::Result<Option<Vec<u8>>> {
    let (mut file, meta) = open_regular(path)?;
    let mut bytes = Vec::with_capacity(meta.len().min(LARGEST) as usize);
    (&mut file).take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST {
        return Err(io::Error::other(too_large(meta.len())));
    }
    let unchanged = stamp(&meta) == expected && stamp(&file.metadata()?) == expected;
    Ok(unchanged.then_some(bytes))
}

/// Of a file of that size.
pub fn too_large(bytes: u64) -> String {
    format!("it has {bytes} bytes, and {LARGEST} (1 MiB) are read at most: split it")
}

fn stamp(meta: &Metadata) -> Stamp {
    let time =
        |seconds: i64, nanos: i64| Time(seconds.saturating_mul(1000).saturating_add(nanos / 1_000_000));
    Stamp {
        inode: (meta.dev(), meta.ino()),
        size: meta.size(),
        modified: time(meta.mtime(), meta.mtime_nsec()),
        changed: time(meta.ctime(), meta.ctime_nsec()),
    }
}

/// Of a content, to know it again.
pub fn digest(bytes: &[u8]) -> u128 {
    let mut hasher = SipHasher24::new();
    hasher.write(bytes);
    hasher.finish128().as_u128()
}

/// A path for people: control characters escaped, so that a name cannot paint on a terminal.
fn printable(path: &Path) -> String {
    path.to_string_lossy()
        .chars()
        .flat_map(|c| if c.is_control() { c.escape_default().collect() } else { vec![c] })
        .collect()
}

fn sooner(next: Option<Duration>, other: Duration) -> Option<Duration> {
    Some(next.map_or(other, |next| next.min(other)))
}

#[cfg(test)]
mod tests;
