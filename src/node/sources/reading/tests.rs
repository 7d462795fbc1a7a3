//! Tables and small plots: a set of files over several looks.

use super::*;
use crate::model::pod::{Metadata, Pod};
use crate::model::read::ReadPod;
use crate::model::{Place, Places};
use crate::node::sources::brake::SECOND_LOOK;

/// A moment like any other.
const NOW: Duration = Duration::from_secs(1000);

/// What a file holds: a name is a good pod, `!name` a bad one whose name can be read, `!` one that cannot.
fn reading(file: &str, documents: &[&str]) -> Reading {
    let mut reading = Reading { listed: documents.is_empty(), ..Reading::default() };
    for (line, document) in (1..).zip(documents) {
        let place = Place { file: file.into(), line, column: 1 };
        let (bad, name) = (document.starts_with('!'), document.trim_start_matches('!'));
        let (name, image) = name.split_once('=').unwrap_or((name, ""));
        let metadata = Metadata { name: name.into(), namespace: "default".into(), ..Metadata::default() };
        let mut pod = Pod { metadata, ..Pod::default() };
        pod.spec.hostname = Some(image.to_owned()).filter(|image| !image.is_empty());
        reading.pods.push(ReadPod {
            key: (!name.is_empty()).then(|| PodKey::new("default", name)),
            pod: (!bad).then_some(pod),
            places: Places { file: file.into(), fields: BTreeMap::from([("".into(), (line, 1))]) },
        });
        if bad {
            reading.diagnoses.push(Diagnosis {
                severity: Severity::Error,
                place,
                field: String::new(),
                message: "it is bad".into(),
                fix: None,
                source_line: String::new(),
            });
        }
    }
    reading
}

fn read(file: &str, documents: &[&str]) -> (Arc<str>, Seen) {
    let digest =
        documents.iter().flat_map(|d| d.bytes()).fold(7u128, |sum, byte| sum * 31 + u128::from(byte));
    (file.into(), Seen::Read { digest, reading: reading(file, documents) })
}

fn same(file: &str) -> (Arc<str>, Seen) {
    (file.into(), Seen::Same)
}

fn manifests() -> Manifests {
    let node = Node { name: "n".into(), key: [0; 16], sandbox_image: "pause".into() };
    Manifests::new(SourceKind::File, node, false)
}

/// The pods that are said, with the place of each, and whether others may be removed.
fn said(said: &Said) -> (char, String) {
    let (letter, pods) = match &said.slot {
        Slot::Unknown => ('u', None),
        Slot::Known(pods) => ('k', Some(pods)),
        Slot::Stale(pods) => ('s', Some(pods)),
    };
    let list =
        pods.into_iter().flatten().map(|(key, pod)| format!("{}@{}", key.name, pod.places.of("").file));
    (letter, list.collect::<Vec<_>>().join(" "))
}

/// Folds one look and tells what is said after it.
fn look(manifests: &mut Manifests, files: Vec<(Arc<str>, Seen)>) -> (char, String) {
    said(&manifests.fold(Look::Files(files), NOW))
}

#[test]
fn a_bad_document_keeps_its_last_good_version_and_costs_the_others_nothing() {
    let mut m = manifests();
    look(&mut m, vec![read("f", &["a=1", "b=1", "c=1"])]);
    let now = m.fold(Look::Files(vec![read("f", &["a=2", "!b", "d"])]), NOW);
    let half_written = "c may not have been written yet, so it stays while b is bad";
    assert_eq!(said(&now), ('k', "a@f b@f c@f d@f".into()), "{half_written}");
    let Slot::Known(pods) = &now.slot else { panic!() };
    let host = |name: &str| pods[&PodKey::new("default", name)].pod.spec.hostname.clone().unwrap();
    assert_eq!((host("a"), host("b")), ("2".into(), "1".into()));
    assert_eq!(now.diagnoses.len(), 1);
    let whole = look(&mut m, vec![read("f", &["a=2", "b=1", "d"])]);
    assert_eq!(whole, ('k', "a@f b@f d@f".into()), "the file is whole, and c is not in it");
}

#[test]
fn a_bad_document_without_a_name_may_be_any_that_is_missing() {
    let mut m = manifests();
    look(&mut m, vec![read("f", &["a", "b", "c"])]);
    assert_eq!(look(&mut m, vec![read("f", &["a", "!"])]), ('k', "a@f b@f c@f".into()));
    assert_eq!(look(&mut m, vec![read("f", &["a", "b"])]), ('k', "a@f b@f".into()), "and then it was c");
}

#[test]
fn a_name_that_is_new_and_bad_may_be_a_renamed_pod() {
    let mut m = manifests();
    look(&mut m, vec![read("f", &["web"])]);
    assert_eq!(look(&mut m, vec![read("f", &["!web2"])]), ('k', "web@f".into()));
    assert_eq!(look(&mut m, vec![read("f", &["web2"])]), ('k', "web2@f".into()));
}

#[test]
fn an_emptied_file_keeps_its_pods_and_a_deleted_one_does_not() {
    let mut m = manifests();
    let blank = || ("f".into(), Seen::Blank);
    assert_eq!(look(&mut m, vec![blank()]), ('k', String::new()), "a file of comments is nobody's pod");
    look(&mut m, vec![read("f", &["a"]), read("g", &["b"])]);
    let now = m.fold(Look::Files(vec![blank(), same("g")]), NOW);
    assert_eq!((said(&now), now.diagnoses.len()), (('k', "a@f b@g".into()), 1));
    assert_eq!(look(&mut m, vec![same("f"), same("g")]), ('k', "a@f b@g".into()));
    assert_eq!(look(&mut m, vec![same("g")]), ('k', "b@g".into()));
    assert_eq!(
        look(&mut m, vec![read("g", &[])]),
        ('k', String::new()),
        "an empty list is an explicit nothing"
    );
    look(&mut m, vec![read("g", &["b"])]);
    assert_eq!(look(&mut m, vec![]), ('k', String::new()), "and so is an empty directory");
}

#[test]
fn a_file_or_a_path_that_cannot_be_read_keeps_what_it_said() {
    let mut m = manifests();
    look(&mut m, vec![read("f", &["a"])]);
    let unreadable = || ("f".into(), Seen::Unreadable("permission denied".into()));
    assert_eq!(look(&mut m, vec![unreadable()]), ('k', "a@f".into()));
    let gone = m.fold(Look::Unavailable("/etc/pods is not there".into()), NOW);
    assert_eq!(said(&gone), ('s', "a@f".into()));
    assert!(gone.error.is_some());
    assert_eq!(look(&mut m, vec![read("f", &["b"])]), ('k', "b@f".into()), "and it comes back");
}

#[test]
fn nothing_is_removed_until_everything_was_readable_once() {
    let mut m = manifests();
    assert_eq!(said(&m.fold(Look::Unavailable("not mounted yet".into()), NOW)), ('s', String::new()));
    assert_eq!(look(&mut m, vec![read("f", &["a", "!b"])]), ('s', "a@f".into()), "b may be running");
    assert_eq!(look(&mut m, vec![same("f"), same("g")]), ('s', "a@f".into()), "g is still being written");
    assert_eq!(look(&mut m, vec![read("f", &["a", "b"]), same("g")]), ('s', "a@f b@f".into()));
    assert_eq!(look(&mut m, vec![same("f"), read("g", &["c"])]), ('k', "a@f b@f c@g".into()));
    assert_eq!(look(&mut m, vec![read("f", &["a", "!"]), same("g")]), ('k', "a@f b@f c@g".into()));
}

#[test]
fn the_first_file_in_order_wins_a_name_and_the_one_that_has_it_keeps_it() {
    let mut m = manifests();
    let now = m.fold(Look::Files(vec![read("b", &["web"]), read("c", &["web"])]), NOW);
    assert_eq!(said(&now), ('k', "web@b".into()));
    assert_eq!(now.diagnoses.len(), 1);
    let text = format!("{}: {}", now.diagnoses[0].place, now.diagnoses[0].message);
    assert_eq!(text, "c:1:1: pod default/web is declared twice; the one at b:1:1 is used");
    assert_eq!(
        look(&mut m, vec![read("a", &["web"]), same("b"), same("c")]),
        ('k', "web@b".into()),
        "a newcomer does not take it although it sorts first"
    );
    assert_eq!(look(&mut m, vec![same("a"), same("c")]), ('k', "web@a".into()));
}

#[test]
fn a_pod_that_moves_to_another_file_is_never_gone() {
    let mut m = manifests();
    look(&mut m, vec![read("a", &["web"]), read("b", &["db"])]);
    assert_eq!(look(&mut m, vec![read("b", &["db", "web"])]), ('k', "db@b web@b".into()));
}

#[test]
fn most_pods_vanish_only_after_a_second_equal_look() {
    let mut m = manifests();
    let all = ["a", "b", "c", "d", "e"];
    look(&mut m, vec![read("f", &all)]);
    let first = m.fold(Look::Files(vec![read("f", &["a", "new"])]), NOW);
    assert_eq!(said(&first), ('k', "a@f b@f c@f d@f e@f new@f".into()));
    assert!(first.again && first.held.is_some());
    let soon = m.fold(Look::Files(vec![same("f")]), NOW + SECOND_LOOK - Duration::from_millis(1));
    assert_eq!(said(&soon).1, "a@f b@f c@f d@f e@f new@f", "the same look, and too soon");
    let second = m.fold(Look::Files(vec![same("f")]), NOW + SECOND_LOOK);
    assert_eq!(said(&second), ('k', "a@f new@f".into()));
    assert!(!second.again && second.held.is_none());
}

#[test]
fn a_file_that_moves_is_not_declared_twice() {
    let mut m = manifests();
    look(&mut m, vec![read("a", &["web"])]);
    let both = m.fold(Look::Files(vec![("a".into(), Seen::Leaving), read("b", &["web"])]), NOW);
    assert_eq!((said(&both), both.diagnoses.len()), (('k', "web@a".into()), 0));
    let moved = m.fold(Look::Files(vec![same("b")]), NOW);
    assert_eq!((said(&moved), moved.diagnoses.len()), (('k', "web@b".into()), 0));
    let copied = m.fold(Look::Files(vec![read("a", &["web"]), same("b")]), NOW);
    assert_eq!(copied.diagnoses.len(), 1, "and one that is really there twice is told of");
}

#[test]
fn the_same_bytes_are_not_judged_again() {
    let mut m = manifests();
    look(&mut m, vec![read("f", &["a"])]);
    let digest = m.digest("f").unwrap();
    // Whatever the reading says: the digest decides.
    let other = Seen::Read { digest, reading: reading("f", &["b"]) };
    assert_eq!(look(&mut m, vec![("f".into(), other)]), ('k', "a@f".into()));
}

#[test]
fn what_was_said_survives_the_agent() {
    let mut first = manifests();
    look(&mut first, vec![read("f", &["a", "b"]), read("g", &["a", "c"])]);
    let text = serde_json::to_string(&first.remember("/pods")).unwrap();
    let recalled = || {
        let mut second = manifests();
        second.recall("/pods", serde_json::from_str(&text).unwrap(), |_| false);
        second
    };
    let gone = recalled().fold(Look::Unavailable("not mounted".into()), NOW);
    assert_eq!(said(&gone), ('s', "a@f b@f c@g".into()));
    let mut wrong = recalled();
    assert_eq!(look(&mut wrong, vec![read("f", &["!a", "!"]), same("g")]), ('k', "a@f b@f c@g".into()));
    let mut moved = recalled();
    assert_eq!(look(&mut moved, vec![read("e", &["a"]), same("f"), same("g")]), ('k', "a@f b@f c@g".into()));
    let mut removed = recalled();
    assert_eq!(look(&mut removed, vec![same("g")]), ('k', "a@g c@g".into()));
}

/// What is remembered of one pod each of f and g, recalled where `is_read` are read.
fn elsewhere(is_read: &[&str]) -> Manifests {
    let mut first = manifests();
    look(&mut first, vec![read("f", &["a"]), read("g", &["b"])]);
    let text = serde_json::to_string(&first.remember("/pods")).unwrap();
    let mut second = manifests();
    second.recall("/other", serde_json::from_str(&text).unwrap(), |name| is_read.contains(&name));
    second
}

#[test]
fn a_path_that_is_another_one_and_declares_nothing_takes_no_pod_away() {
    let mut mistyped = elsewhere(&[]);
    for look in 0..3 {
        let now = mistyped.fold(Look::Files(vec![]), NOW + SECOND_LOOK * look);
        assert_eq!(said(&now).1, "a@f b@g");
        assert!(now.held.is_some_and(|held| held.contains("mistyped")));
    }
    // Nor for the agent after this one, for which the path is the same.
    let text = serde_json::to_string(&mistyped.remember("/other")).unwrap();
    let mut third = manifests();
    third.recall("/other", serde_json::from_str(&text).unwrap(), |_| false);
    assert_eq!(look(&mut third, vec![]).1, "a@f b@g");
}

#[test]
fn pods_of_another_path_go_after_a_second_look_at_one_that_declares_some() {
    let mut moved = elsewhere(&[]);
    assert_eq!(look(&mut moved, vec![read("h", &["b", "c"])]).1, "a@f b@h c@h");
    let second = moved.fold(Look::Files(vec![same("h")]), NOW + SECOND_LOOK);
    assert_eq!((said(&second), second.held), (('k', "b@h c@h".into()), None));
}

#[test]
fn what_is_still_read_keeps_its_last_good_version_whatever_else_is_read() {
    let mut other = elsewhere(&["f"]);
    let now = look(&mut other, vec![read("e", &["c"]), ("f".into(), Seen::Unasked)]);
    assert_eq!(now.1, "a@f b@g c@e", "b is held");
    let second = other.fold(Look::Files(vec![same("e"), ("f".into(), Seen::Unasked)]), NOW + SECOND_LOOK);
    assert_eq!(said(&second).1, "a@f c@e");
}

#[test]
fn a_document_that_declares_nothing_and_does_not_say_so_is_no_deletion() {
    let mut m = manifests();
    let nothing = || ("f".into(), Seen::Read { digest: 9, reading: Reading::default() });
    assert_eq!(look(&mut m, vec![nothing()]), ('k', String::new()), "it never had any");
    look(&mut m, vec![read("f", &["a"])]);
    let now = m.fold(Look::Files(vec![nothing()]), NOW);
    assert_eq!((said(&now), now.diagnoses.len()), (('k', "a@f".into()), 1));
    assert_eq!(look(&mut m, vec![read("f", &[])]), ('k', String::new()), "this one says so");
}

#[test]
fn e10_what_a_database_made_anew_does_not_have_was_not_deleted() {
    let mut m = manifests();
    told(&mut m, Look::Listed(vec![read("k1", &["a"]), read("k2", &["b"]), read("k3", &["c"])]));
    m.begin_anew();
    let all = |held| ('k', "a@k1 b@k2 c@k3".to_owned(), held);
    assert_eq!(told(&mut m, Look::Listed(vec![same("k1")])), all(true));
    assert_eq!(told(&mut m, Look::Listed(vec![same("k1")])), all(true), "and every list after it");
    let text = serde_json::to_string(&m.remember("/p")).unwrap();
    let mut m = manifests();
    m.recall("/p", serde_json::from_str(&text).unwrap(), |_| true);
    assert_eq!(told(&mut m, Look::Listed(vec![same("k1")])), all(true), "also for the next agent");
    told(&mut m, Look::Changes(vec![("k2".into(), Some(read("k2", &["b"]).1))]));
    let now = told(&mut m, Look::Changes(vec![("k2".into(), None)]));
    assert_eq!(now, ('k', "a@k1 c@k3".into(), true), "what was put and deleted was deleted");
    told(&mut m, Look::Changes(vec![("k3".into(), Some(read("k3", &["c"]).1))]));
    assert_eq!(told(&mut m, Look::Listed(vec![same("k1")])), ('k', "a@k1".into(), false));
}

#[test]
fn pods_of_files_that_are_no_longer_named_are_held_until_the_new_ones_were_read() {
    let mut first = manifests();
    look(&mut first, vec![read("f", &["a", "b"]), read("g", &["c", "d"])]);
    let mut second = manifests();
    second.recall("f new", first.remember("f g"), |name| ["f", "new"].contains(&name));
    let unasked = |file: &str| (Arc::from(file), Seen::Unasked);
    let so_far = look(&mut second, vec![read("f", &["a", "b"]), unasked("new")]);
    assert_eq!(so_far, ('s', "a@f b@f c@g d@g".into()), "what another file declared may be in the new one");
    let new = || vec![same("f"), read("new", &["c"])];
    assert_eq!(look(&mut second, new()), ('k', "a@f b@f c@new d@g".into()));
    let later = second.fold(Look::Files(new()), NOW + SECOND_LOOK);
    assert_eq!(said(&later), ('k', "a@f b@f c@new".into()));
}

#[test]
fn a_removal_that_was_not_believed_is_not_believed_by_the_next_agent_either() {
    let mut first = manifests();
    look(&mut first, vec![read("f", &["a", "b", "c", "d", "e"])]);
    let everything = ('k', "a@f b@f c@f d@f e@f".to_owned());
    assert_eq!(look(&mut first, vec![read("f", &["a"])]), everything);
    let mut second = manifests();
    let text = serde_json::to_string(&first.remember("/pods")).unwrap();
    second.recall("/pods", serde_json::from_str(&text).unwrap(), |_| false);
    assert_eq!(look(&mut second, vec![read("f", &["a"])]), everything, "it has seen that once");
    let later = second.fold(Look::Files(vec![same("f")]), NOW + SECOND_LOOK);
    assert_eq!(said(&later), ('k', "a@f".into()));
}

/// Folds a list or changes of a database.
fn told(manifests: &mut Manifests, look: Look) -> (char, String, bool) {
    told_at(manifests, look, NOW)
}

fn told_at(manifests: &mut Manifests, look: Look, elapsed: Duration) -> (char, String, bool) {
    let now = manifests.fold(look, elapsed);
    let (letter, pods) = said(&now);
    (letter, pods, now.held.is_some())
}

#[test]
fn changes_leave_the_rest_as_it_was_and_say_nothing_of_what_was_never_listed() {
    let mut m = manifests();
    let put = |(name, seen)| (name, Some(seen));
    let before = Look::Changes(vec![put(read("k1", &["a"]))]);
    assert_eq!(told(&mut m, before), ('s', "a@k1".into(), false), "others may be there that nobody read yet");
    told(&mut m, Look::Listed(vec![same("k1"), read("k2", &["b"])]));
    let now = told(&mut m, Look::Changes(vec![put(read("k3", &["c"])), ("k1".into(), None)]));
    assert_eq!(now, ('k', "b@k2 c@k3".into(), false));
}

#[test]
fn all_may_go_when_each_deletion_was_seen_but_not_when_a_list_lacks_them() {
    let names = ["a", "b", "c", "d"];
    let all = || names.iter().map(|name| read(name, &[name])).collect::<Vec<_>>();
    let listed = || {
        let mut m = manifests();
        told(&mut m, Look::Listed(all()));
        m
    };
    let everything = || ('k', "a@a b@b c@c d@d".to_owned(), true);
    let nothing = || ('k', String::new(), false);
    let mut lost = listed();
    for look in 0..3 {
        let again = told_at(&mut lost, Look::Listed(vec![]), NOW + SECOND_LOOK * look);
        assert_eq!(again, everything(), "as after an old backup");
    }
    let mut deleted = listed();
    let deletions = names.iter().map(|name| ((*name).into(), None)).collect();
    assert_eq!(told(&mut deleted, Look::Changes(deletions)), everything(), "until it is read once more");
    assert_eq!(told_at(&mut deleted, Look::Listed(vec![]), NOW + SECOND_LOOK), nothing());
    let mut emptied = listed();
    let nothings = || names.iter().map(|name| read(name, &[])).collect();
    told(&mut emptied, Look::Listed(nothings()));
    let second = told_at(&mut emptied, Look::Listed(nothings()), NOW + SECOND_LOOK);
    assert_eq!(second, nothing(), "an empty list is explicit");
    let mut back = listed();
    told(&mut back, Look::Changes(vec![("a".into(), None), ("a".into(), Some(read("a", &["a"]).1))]));
    let second = told_at(&mut back, Look::Listed(vec![]), NOW + SECOND_LOOK);
    assert_eq!(second, everything(), "a key that came back is not deleted");
}
