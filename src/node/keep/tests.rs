//! W9, W11, W15: whatever happens to the bytes or to the power, what is read is the value, the one before it, or
//! nothing.

use std::time::Duration;

use super::*;
use crate::model::read::{self, Options};
use crate::node::sources::reading::{Look, Manifests, Remembered, Seen};
use crate::plan::{Ledger, Node, SourceKind};

const NODE: &str = "node-1";
const ID: &str = "0123456789abcdef0123456789abcdef";

/// What the file source keeps of one small pod.
fn checkpoint(image: &str) -> Remembered {
    let node = Node { name: NODE.into(), key: [0; 16], sandbox_image: "pause".into() };
    let mut manifests = Manifests::new(SourceKind::File, node, false);
    let pod = format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: a}}\nspec: {{containers: [{{name: c, image: {image}}}]}}\n"
    );
    let reading = read::read("a.yaml", pod.as_bytes(), &Options::default());
    assert!(reading.pods[0].pod.is_some(), "{:?}", reading.diagnoses);
    manifests.fold(Look::Files(vec![("a.yaml".into(), Seen::Read { digest: 1, reading })]), Duration::ZERO);
    manifests.remember("/pods")
}

fn kept<T: Serialize + DeserializeOwned>(dir: &Path) -> Kept<T> {
    Kept::new(dir, "file").owned_by(Owner::new(NODE, Some(ID)))
}

/// A directory with two generations, and both values.
fn two_generations() -> (tempfile::TempDir, Remembered, Remembered) {
    let dir = tempfile::tempdir().unwrap();
    let (first, second) = (checkpoint("x:1"), checkpoint("x:2"));
    kept(dir.path()).save(&first).unwrap();
    kept(dir.path()).save(&second).unwrap();
    (dir, first, second)
}

#[test]
fn every_flipped_bit_is_noticed_and_leaves_the_generation_before_it() {
    let (dir, first, second) = two_generations();
    let kept = kept::<Remembered>(dir.path());
    assert_eq!(kept.peek().as_ref(), Some(&second));
    let whole = fs::read(&kept.now).unwrap();
    for bit in 0..whole.len() * 8 {
        let mut bytes = whole.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        fs::write(&kept.now, &bytes).unwrap();
        assert_eq!(kept.peek().as_ref(), Some(&first), "bit {bit} of byte {}", bit / 8);
    }
}

#[test]
fn every_shorter_file_is_noticed_and_so_is_a_longer_one() {
    let (dir, first, second) = two_generations();
    let kept = kept::<Remembered>(dir.path());
    let whole = fs::read(&kept.now).unwrap();
    for length in 0..whole.len() {
        fs::write(&kept.now, &whole[..length]).unwrap();
        assert_eq!(kept.load().as_ref(), Some(&first), "{length} bytes");
        assert!(!kept.now.exists() && kept.now.with_extension("json.damaged").exists());
    }
    fs::write(&kept.now, [&whole[..], b"\n"].concat()).unwrap();
    assert_eq!(kept.load().as_ref(), Some(&first), "a byte too many");
    fs::write(&kept.now, &whole).unwrap();
    assert_eq!(kept.load(), Some(second));
}

#[test]
fn two_damaged_generations_are_nothing_and_the_next_save_counts_again() {
    let (dir, ..) = two_generations();
    let kept = kept::<Remembered>(dir.path());
    fs::write(&kept.now, b"").unwrap();
    fs::write(&kept.before, b"{\"version\":2,\"sum\":\"").unwrap();
    assert_eq!(kept.load(), None);
    kept.save(&checkpoint("x:3")).unwrap();
    assert_eq!(kept.load(), Some(checkpoint("x:3")));
}

#[test]
fn a_crash_after_any_step_of_a_save_leaves_the_old_value_or_the_new_one() {
    let (dir, _, second) = two_generations();
    let third = checkpoint("x:3");
    let kept = kept::<Remembered>(dir.path());
    let steps = kept.saving(&third).unwrap();
    let files = [&kept.now, &kept.before].map(|path| fs::read(path).unwrap());
    let restore = || {
        fs::write(&kept.now, &files[0]).unwrap();
        fs::write(&kept.before, &files[1]).unwrap();
    };
    let mut seen = Vec::new();
    for done in 0..=steps.len() {
        restore();
        carry_out(&steps[..done]).unwrap();
        let peeked = kept.peek();
        assert_eq!(kept.load(), peeked);
        let is_new = peeked.as_ref() == Some(&third);
        assert!(is_new || peeked.as_ref() == Some(&second), "after {done} steps");
        seen.push(is_new);
    }
    assert_eq!(seen, [false, false, false, false, true, true], "{steps:?}");
    // Power that goes while the new bytes are written: any part of them may be there.
    let Some(Step::Write(new, bytes)) = steps.first() else { panic!("{steps:?}") };
    restore();
    for length in 0..=bytes.len() {
        fs::write(new, &bytes[..length]).unwrap();
        assert_eq!(kept.peek().as_ref(), Some(&second), "{length} bytes");
    }
    kept.save(&third).unwrap();
    assert_eq!(kept.load(), Some(third), "what a crash left behind is in nobody's way");
}

#[test]
fn a_save_that_fails_costs_nothing_that_was_there_and_leaves_no_rubbish() {
    let (dir, first, second) = two_generations();
    let kept = kept::<Remembered>(dir.path());
    let mut steps = kept.saving(&checkpoint("x:3")).unwrap();
    // As a full disk refuses it: after some bytes.
    steps[1] = Step::Sync(dir.path().join("nowhere"));
    carry_out(&steps).unwrap_err();
    assert_eq!(kept.load(), Some(second));
    fs::remove_file(&kept.now).unwrap();
    assert_eq!(kept.load(), Some(first));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn an_older_file_in_place_of_a_newer_one_does_not_win() {
    let (dir, _, second) = two_generations();
    let kept = kept::<Remembered>(dir.path());
    let old = fs::read(&kept.before).unwrap();
    fs::rename(&kept.now, &kept.before).unwrap();
    fs::write(&kept.now, old).unwrap();
    assert_eq!((kept.peek(), kept.load()), (Some(checkpoint("x:2")), Some(second)));
}

#[test]
fn a_checkpoint_of_another_node_that_was_copied_in_is_moved_aside() {
    let (dir, ..) = two_generations();
    for owner in [Owner::new("node-2", Some(ID)), Owner::new(NODE, Some(&ID.replace('0', "1")))] {
        let (other, ..) = two_generations();
        let kept: Kept<Remembered> = Kept::new(other.path(), "file").owned_by(owner);
        assert_eq!(kept.load(), None);
        assert!(!kept.now.exists() && kept.now.with_extension("json.foreign").exists());
    }
    assert!(kept::<Remembered>(dir.path()).load().is_some());
}

/// Every version that was ever released stays here as files.
#[test]
fn files_of_every_released_version_are_read() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/state");
    let mut versions = 0;
    for version in fs::read_dir(fixtures).unwrap() {
        let dir = version.unwrap().path();
        versions += 1;
        let owner = Owner::new("fixture", None);
        let ledger: Ledger = Kept::new(&dir, "ledger").owned_by(owner.clone()).peek().expect("a ledger");
        let codes: Vec<i64> = ledger
            .pods
            .values()
            .flat_map(|pod| pod.containers.values())
            .filter_map(|memo| memo.ended.as_ref().map(|ended| ended.code))
            .collect();
        assert_eq!(codes, [3], "{}: the container that must not run again", dir.display());
        let remembered: Remembered = Kept::new(&dir, "manifests").owned_by(owner).peek().expect("manifests");
        let node = Node { name: "fixture".into(), key: [0; 16], sandbox_image: "pause".into() };
        let mut manifests = Manifests::new(SourceKind::File, node, false);
        manifests.recall("/etc/podkeeper", remembered, |_| false);
        let said = manifests.fold(Look::Unavailable("not mounted".into()), Duration::ZERO);
        let pods = said.slot.pods().expect("a last good state");
        let images: Vec<&str> = pods.values().map(|pod| &*pod.pod.spec.containers[0].image).collect();
        assert_eq!(images, ["podkeeper-node-test:1"; 2], "{}", dir.display());
    }
    assert_eq!(versions, 2);
}
