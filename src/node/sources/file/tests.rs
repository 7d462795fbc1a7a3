//! Real files in a directory of their own. Time is given, so nothing sleeps: a file that was written now is
//! looked at "a second later".

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;
use crate::node::clock;
use crate::plan::Slot;

struct Folder {
    dir: tempfile::TempDir,
    scanner: Scanner,
    elapsed: Duration,
}

impl Folder {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let scanner = Self::scanner(dir.path().to_owned());
        Self { dir, scanner, elapsed: Duration::ZERO }
    }

    fn scanner(path: PathBuf) -> Scanner {
        Scanner::new(path, Node { name: "n".into(), key: [0; 16], sandbox_image: "pause".into() }, false)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn write(&self, name: &str, pods: &[&str]) {
        fs::write(self.path(name), manifest(pods)).unwrap();
    }

    /// Looks as if `millis` had passed since the last look, and since anything was written.
    fn look_after(&mut self, millis: u64) -> Scan {
        self.elapsed += Duration::from_millis(millis);
        let wall = clock::wall() + Duration::from_millis(millis);
        self.scanner.scan(Now { wall, elapsed: self.elapsed })
    }

    fn pods_after(&mut self, millis: u64) -> String {
        pods(&self.look_after(millis))
    }
}

fn manifest(pods: &[&str]) -> String {
    pods.iter()
        .map(|name| {
            format!(
                "---\napiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\nspec: {{containers: [{{name: app, image: \"a:1\"}}]}}\n"
            )
        })
        .collect()
}

fn pods(scan: &Scan) -> String {
    let (letter, pods) = match &scan.said.slot {
        Slot::Unknown => ("unknown", None),
        Slot::Known(pods) => ("known", Some(pods)),
        Slot::Stale(pods) => ("stale", Some(pods)),
    };
    pods.into_iter().flatten().fold(letter.to_owned(), |list, (key, _)| list + " " + &key.name)
}

#[test]
fn a_fresh_file_waits_until_it_has_settled() {
    let mut f = Folder::new();
    f.write("web.yaml", &["web"]);
    let scan = f.look_after(0);
    assert_eq!(pods(&scan), "stale", "it may be half-written, and so nothing is complete");
    assert!(scan.next.is_some_and(|next| next <= SETTLE) && scan.said.error.is_none());
    assert_eq!(f.pods_after(1000), "known web");
}

#[test]
fn a_half_written_file_keeps_its_pods() {
    let mut f = Folder::new();
    f.write("all.yaml", &["a", "b"]);
    assert_eq!(f.pods_after(1000), "known a b");
    let whole = manifest(&["a", "b", "c"]);
    for end in [0, 1, whole.len() / 3, whole.len() / 2, whole.len() - 1] {
        fs::write(f.path("all.yaml"), &whole[..end]).unwrap();
        assert_eq!(f.pods_after(0), "known a b", "{end} bytes, not settled");
    }
    fs::write(f.path("all.yaml"), &whole).unwrap();
    assert_eq!(f.pods_after(1000), "known a b c");
}

#[test]
fn a_rename_over_is_one_update_and_an_editors_swap_is_no_deletion() {
    let mut f = Folder::new();
    f.write("web.yaml", &["web"]);
    assert_eq!(f.pods_after(1000), "known web");
    f.write("web.yaml.tmp", &["web", "more"]);
    fs::rename(f.path("web.yaml.tmp"), f.path("web.yaml")).unwrap();
    assert_eq!(f.pods_after(1000), "known more web");
    fs::rename(f.path("web.yaml"), f.path("web.yaml~")).unwrap();
    assert_eq!(f.pods_after(100), "known more web", "as vim leaves it between two writes");
    f.write("web.yaml", &["web"]);
    assert_eq!(f.pods_after(1000), "known web");
    fs::remove_file(f.path("web.yaml")).unwrap();
    assert_eq!(f.pods_after(100), "known web");
    assert_eq!(f.pods_after(1000), "known");
}

#[test]
fn a_config_map_swap_is_seen() {
    let mut f = Folder::new();
    for version in ["..1", "..2"] {
        fs::create_dir(f.path(version)).unwrap();
        fs::write(f.path(version).join("web.yaml"), manifest(&[&format!("web{}", &version[2..])])).unwrap();
    }
    symlink("..1", f.path("..data")).unwrap();
    symlink("..data/web.yaml", f.path("web.yaml")).unwrap();
    assert_eq!(f.pods_after(1000), "known web1");
    symlink("..2", f.path("..new")).unwrap();
    fs::rename(f.path("..new"), f.path("..data")).unwrap();
    assert_eq!(f.pods_after(1000), "known web2");
}

#[test]
fn a_missing_directory_keeps_its_pods_and_an_emptied_one_does_not() {
    let mut f = Folder::new();
    f.write("web.yaml", &["web"]);
    assert_eq!(f.pods_after(1000), "known web");
    let away = f.dir.path().with_extension("away");
    fs::rename(f.dir.path(), &away).unwrap();
    let scan = f.look_after(1000);
    assert_eq!(pods(&scan), "stale web");
    assert!(scan.said.error.unwrap().contains("No such file"));
    fs::rename(&away, f.dir.path()).unwrap();
    assert_eq!(f.pods_after(1000), "known web");
    fs::remove_file(f.path("web.yaml")).unwrap();
    f.look_after(1000);
    assert_eq!(f.pods_after(1000), "known");
}

/// F5. A mount point shows what is under it when it is unmounted, and when it is not mounted yet.
#[test]
fn f5_an_empty_directory_that_is_not_the_one_that_was_read_takes_no_pod_away() {
    let mut f = Folder::new();
    f.write("web.yaml", &["web"]);
    assert_eq!(f.pods_after(1000), "known web");
    let away = f.dir.path().with_extension("away");
    fs::rename(f.dir.path(), &away).unwrap();
    fs::create_dir(f.dir.path()).unwrap();
    f.look_after(1000);
    for _ in 0..3 {
        let scan = f.look_after(10_000);
        assert_eq!(pods(&scan), "known web");
        assert!(scan.said.held.is_some_and(|held| held.contains("not mounted")));
    }
    // A later agent knows which directory it was, and that it holds pods of it.
    let remembered = f.scanner.remember();
    f.scanner = Folder::scanner(f.dir.path().to_owned());
    f.scanner.recall(remembered);
    f.look_after(1000);
    assert_eq!(f.pods_after(10_000), "known web");
    fs::remove_dir(f.dir.path()).unwrap();
    fs::rename(&away, f.dir.path()).unwrap();
    f.look_after(1000);
    let scan = f.look_after(1000);
    assert_eq!((pods(&scan), scan.said.held), ("known web".to_owned(), None), "and mounted again");
}

#[test]
fn a_single_file_that_goes_missing_keeps_its_pods() {
    let mut f = Folder::new();
    f.write("web.yaml", &["web"]);
    f.scanner = Folder::scanner(f.path("web.yaml"));
    assert_eq!(f.pods_after(1000), "known web");
    fs::remove_file(f.path("web.yaml")).unwrap();
    assert_eq!(f.pods_after(1000), "stale web");
    f.write("web.yaml", &["other"]);
    assert_eq!(f.pods_after(1000), "known other");
}

#[test]
fn what_is_no_manifest_is_not_looked_at() {
    let mut f = Folder::new();
    f.write("web.yaml", &["web"]);
    for name in [".web.yaml.swp", ".hidden.yaml", "web.yaml~", "web.yaml.bak", "4913", "README"] {
        fs::write(f.path(name), "not: [yaml").unwrap();
    }
    fs::create_dir(f.path("sub.yaml")).unwrap();
    let scan = f.look_after(1000);
    assert_eq!((pods(&scan), scan.said.diagnoses.len()), ("known web".to_owned(), 0));
}

#[test]
fn pipes_devices_and_giants_are_refused_without_blocking() {
    let mut f = Folder::new();
    f.write("web.yaml", &["web"]);
    rustix::fs::mknodat(rustix::fs::CWD, f.path("pipe.yaml"), rustix::fs::FileType::Fifo, 0o600.into(), 0)
        .unwrap();
    symlink("/dev/zero", f.path("zero.yaml")).unwrap();
    File::create(f.path("giant.yaml")).unwrap().set_len(1 << 30).unwrap();
    let scan = f.look_after(1000);
    let said: Vec<String> = scan.said.diagnoses.iter().map(|d| d.message.clone()).collect();
    assert_eq!(
        said,
        [
            "it cannot be read: it has 1073741824 bytes, and 1048576 (1 MiB) are read at most: split it",
            "it is not a regular file",
            "it is not a regular file"
        ]
    );
    assert_eq!(pods(&scan), "stale web");
}

#[test]
fn a_path_that_is_not_there_is_said_with_what_to_do() {
    let mut f = Folder::new();
    f.write("web.yaml", &["web"]);
    std::fs::remove_dir_all(f.path("")).unwrap();
    let error = f.look_after(1000).said.error.unwrap();
    assert!(error.ends_with("create it, or name another with --config"), "{error}");
}

#[test]
fn an_edit_that_hides_its_time_is_seen_and_a_touch_is_not_parsed() {
    let mut f = Folder::new();
    f.write("web.yaml", &["aaa"]);
    assert_eq!(f.pods_after(1000), "known aaa");
    f.write("web.yaml", &["bbb"]);
    let old = std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
    File::options().write(true).open(f.path("web.yaml")).unwrap().set_modified(old).unwrap();
    assert_eq!(f.pods_after(1000), "known bbb");
    let Slot::Known(before) = f.look_after(1000).said.slot else { panic!() };
    File::options().write(true).open(f.path("web.yaml")).unwrap().set_modified(old).unwrap();
    let Slot::Known(after) = f.look_after(1000).said.slot else { panic!() };
    assert!(before.values().zip(after.values()).all(|(a, b)| Arc::ptr_eq(a, b)));
}

#[test]
fn an_emptied_file_keeps_its_pods_and_an_empty_list_does_not() {
    let mut f = Folder::new();
    f.write("web.yaml", &["web"]);
    assert_eq!(f.pods_after(1000), "known web");
    for blank in ["", "\u{feff}\n", "# nothing\r\n---\n"] {
        fs::write(f.path("web.yaml"), blank).unwrap();
        assert_eq!(f.pods_after(1000), "known web", "{blank:?}");
    }
    fs::write(f.path("web.yaml"), "apiVersion: v1\nkind: List\nitems: []\n").unwrap();
    assert_eq!(f.pods_after(1000), "known");
}

#[test]
fn names_cannot_paint_on_a_terminal() {
    assert_eq!(printable(Path::new("/etc/a\x1b[2J\nb.yaml")), "/etc/a\\u{1b}[2J\\nb.yaml");
}

#[test]
fn a_file_that_may_not_be_read_keeps_its_pods() {
    let mut f = Folder::new();
    f.write("web.yaml", &["web"]);
    f.write("db.yaml", &["db"]);
    assert_eq!(f.pods_after(1000), "known db web");
    // Root may read anything, so a link that leads nowhere stands for what may not be read.
    fs::set_permissions(f.path("db.yaml"), fs::Permissions::from_mode(0o000)).unwrap();
    fs::remove_file(f.path("web.yaml")).unwrap();
    symlink("/nonexistent/web.yaml", f.path("web.yaml")).unwrap();
    assert_eq!(f.pods_after(1000), "known db web");
}
