//! The directory in good days and in bad ones.

use super::*;

#[test]
fn a_second_agent_is_refused_with_the_pid_of_the_first() {
    let dir = tempfile::tempdir().unwrap();
    let first = StateDir::open(dir.path(), "n").unwrap();
    let refusal = StateDir::open(dir.path(), "n").err().unwrap();
    assert!(refusal.contains(&format!("process {}:", std::process::id())), "{refusal}");
    drop(first);
    assert!(StateDir::open(dir.path(), "n").is_ok());
}

#[test]
fn the_key_is_made_once_and_a_damaged_one_is_moved_aside() {
    let dir = tempfile::tempdir().unwrap();
    let state = StateDir::open(dir.path(), "n").unwrap();
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
    let state = StateDir::open(dir.path(), "n").unwrap();
    assert_eq!((state.ledger(), known_ledger(dir.path(), "n")), (Ledger::default(), Ledger::default()));
    let pod = im::OrdMap::unit(crate::model::Uid("u".into()), Default::default());
    let ledger = Ledger { pods: pod, ..Ledger::default() };
    state.write_ledger(&ledger).unwrap();
    assert_eq!((state.ledger(), known_ledger(dir.path(), "n")), (ledger.clone(), ledger));
}

#[test]
fn without_a_place_to_write_all_goes_on_in_memory_until_there_is_one() {
    let dir = tempfile::tempdir().unwrap();
    let lock = dir.path().join("lock");
    // Nothing can be made here, whoever tries: root may write where modes forbid it.
    std::os::unix::fs::symlink("/nonexistent/lock", &lock).unwrap();
    let state = StateDir::open(dir.path(), "n").unwrap();
    let key = state.key().unwrap();
    assert_eq!((state.key().unwrap(), known_key(dir.path())), (key, None), "one key, in memory");
    assert!(state.write_ledger(&Ledger::default()).is_err());
    let trouble = state.trouble().unwrap();
    assert!(trouble.contains("No such file") && trouble.contains("free space in --state-dir"), "{trouble}");
    state.settle();
    assert!(state.trouble().is_some() && known_key(dir.path()).is_none());

    fs::remove_file(&lock).unwrap();
    state.settle();
    assert_eq!(known_key(dir.path()), Some(key));
    assert!(state.trouble().is_some(), "the ledger is not written yet");
    state.write_ledger(&Ledger::default()).unwrap();
    assert_eq!(state.trouble(), None);
    assert!(StateDir::open(dir.path(), "n").is_err(), "it is held by now");
}

#[test]
fn a_key_that_comes_with_the_disk_is_not_written_over() {
    let dir = tempfile::tempdir().unwrap();
    let lock = dir.path().join("lock");
    std::os::unix::fs::symlink("/nonexistent/lock", &lock).unwrap();
    let state = StateDir::open(dir.path(), "n").unwrap();
    state.key().unwrap();
    fs::remove_file(&lock).unwrap();
    fs::write(dir.path().join(KEY), [7; 16]).unwrap();
    state.settle();
    assert_eq!((known_key(dir.path()), state.trouble()), (Some([7; 16]), None));
}

#[test]
fn a_state_directory_that_is_a_file_is_a_mistake_of_the_command_line() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let refusal = StateDir::open(file.path(), "n").err().unwrap();
    assert!(refusal.contains("cannot be used"), "{refusal}");
}
