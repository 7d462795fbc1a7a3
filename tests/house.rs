//! The rules of the house, read from the sources. Each fault is told as `path:line: what is wrong, what to do`.

use std::fs;
use std::path::{Path, PathBuf};

/// The rooms, each with those that it may not name. What is below a room knows nothing of it.
const ROOMS: [(&str, &[&str]); 8] = [
    ("model", &["plan", "docker", "observer", "executor", "sim", "node", "cli"]),
    ("plan", &["docker", "observer", "executor", "sim", "node", "cli"]),
    ("docker", &["observer", "executor", "sim", "node", "cli"]),
    ("observer", &["sim", "node", "cli"]),
    ("executor", &["observer", "sim", "node", "cli"]),
    ("sim", &["node", "cli"]),
    ("node", &["sim", "cli"]),
    ("cli", &[]),
];

/// What would make the pure rooms impure.
const IMPURE: [&str; 12] = [
    "async",
    "SystemTime",
    "Instant",
    "HashMap",
    "HashSet",
    "std::fs",
    "std::env",
    "std::net::TcpStream",
    "rand",
    "tracing",
    "tokio",
    "bollard",
];

/// What needs the feature `node`.
const EFFECTS: [&str; 7] = ["tokio", "bollard", "hyper", "clap", "tracing", "rustix", "notify"];

/// Names that say nothing of what is inside.
const EMPTY_NAMES: [&str; 6] = ["utils.rs", "util.rs", "common.rs", "helpers.rs", "types.rs", "misc.rs"];

const FILE_LINES: usize = 400;
const FUNCTION_LINES: usize = 60;
const SNAPSHOT_LINES: usize = 80;

#[test]
fn every_source_keeps_the_rules() {
    let faults: Vec<String> = files(&["src", "tests", "fuzz/fuzz_targets"], "rs")
        .iter()
        .flat_map(|(path, text)| source_faults(path, text))
        .collect();
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

#[test]
fn every_snapshot_is_short_and_belongs_to_a_test() {
    let tests: String = files(&["src", "tests"], "rs").into_iter().map(|(_, text)| text).collect();
    let faults: Vec<String> = files(&["snapshots"], "snap")
        .iter()
        .flat_map(|(path, text)| snapshot_faults(path, text, &tests))
        .collect();
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

/// Every rule must be able to fail.
#[test]
fn each_rule_finds_its_fault() {
    let long_file = format!("//! x\n{}", "const A: u8 = 0;\n".repeat(400));
    let long_function = format!("//! x\nfn f() {{\n{}}}\n", "    g();\n".repeat(60));
    for (path, text, expected) in [
        ("src/plan/a.rs", "//! x\nuse std::collections::HashMap;\n", "src/plan/a.rs:2: `HashMap`"),
        ("src/model/a.rs", "//! x\nfn a() { std::env::var(\"A\"); }\n", "src/model/a.rs:2: `std::env`"),
        ("src/model/a.rs", "//! x\nuse crate::plan::Action;\n", "src/model/a.rs:2: `crate::plan`"),
        ("src/node/a.rs", "//! x\nuse crate::{docker, sim};\n", "src/node/a.rs:2: `crate::sim`"),
        ("src/sim/a.rs", "//! x\nasync fn a() { tokio::spawn(b) }\n", "src/sim/a.rs:2: `tokio`"),
        ("src/node/a.rs", "//! x\nuse bollard::Docker;\n", "src/node/a.rs:2: `bollard`"),
        ("src/node/a.rs", "use crate::docker;\n", "src/node/a.rs:1: no `//!`"),
        ("src/node/utils.rs", "//! x\n", "src/node/utils.rs:1: the name"),
        ("src/node/a.rs", "//! x\nstruct PodManager;\n", "src/node/a.rs:2: `PodManager`"),
        (
            "src/node/sources/a.rs",
            "//! x\nfn f() { tokio::spawn(b()); }\n",
            "src/node/sources/a.rs:2: a task",
        ),
        ("src/cli/run/a.rs", "//! x\nfn f() { tokio::task::spawn(b()); }\n", "src/cli/run/a.rs:2: a task"),
        ("src/node/a.rs", &long_file, "src/node/a.rs:401: more than 400 lines"),
        ("src/node/a.rs", &long_function, "src/node/a.rs:2: a function of 62 lines"),
    ] {
        let faults = source_faults(path, text);
        assert!(faults.len() == 1 && faults[0].starts_with(expected), "expected {expected}, got {faults:?}");
    }
    for innocent in ["//! HashMap\n/// async, tokio\nfn instantly() {}\n", "//! x\nfn f() {\n    g();\n}\n"] {
        assert_eq!(source_faults("src/plan/a.rs", innocent), [""; 0]);
    }
    let long = format!("---\nsource: x\n---\n{}", "line\n".repeat(81));
    assert_eq!(snapshot_faults("snapshots/a/b.snap", &long, "fn b() {").len(), 1);
    assert_eq!(snapshot_faults("snapshots/a/b.snap", "---\n---\nline\n", "fn bc() {").len(), 1);
    assert_eq!(snapshot_faults("snapshots/a/b.snap", "---\n---\nline\n", "fn b() {"), [""; 0]);
}

fn source_faults(path: &str, text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let file = path.rsplit('/').next().unwrap_or(path);
    if EMPTY_NAMES.contains(&file) {
        faults.push(format!("{path}:1: the name {file} says nothing, name the thing that is inside"));
    }
    if !text.starts_with("//!") {
        faults.push(format!("{path}:1: no `//!` at the top, say in a sentence what the file is for"));
    }
    let code: Vec<&str> = text.lines().map(without_comment).collect();
    for (number, line) in code.iter().enumerate() {
        let line_faults =
            name_faults(path, line).into_iter().chain(type_fault(line)).chain(task_fault(path, line));
        faults.extend(line_faults.map(|fault| format!("{path}:{}: {fault}", number + 1)));
    }
    let untested = text.lines().take_while(|line| *line != "#[cfg(test)]").count();
    if untested > FILE_LINES {
        faults
            .push(format!("{path}:{untested}: more than {FILE_LINES} lines without tests, split it by idea"));
    }
    faults.extend(function_faults(path, &code));
    faults
}

/// Names that the room of this file may not use.
fn name_faults(path: &str, line: &str) -> Vec<String> {
    let Some(inside) = path.strip_prefix("src/") else { return Vec::new() };
    let room = inside.split(['/', '.']).next().unwrap_or("");
    let Some((_, above)) = ROOMS.iter().find(|(name, _)| *name == room) else { return Vec::new() };
    let mut faults = Vec::new();
    for above in *above {
        if crate_names(line).any(|name| name == *above) {
            faults.push(format!("`crate::{above}` is above the room {room}, turn the dependency round"));
        }
    }
    let forbidden: &[&str] = match room {
        "model" | "plan" => &IMPURE,
        "docker" | "observer" | "executor" | "sim" => &EFFECTS,
        _ if path == "src/node/bollard.rs" || path.starts_with("src/node/bollard/") => &[],
        _ => &["bollard"],
    };
    for name in forbidden {
        // The room's own module that speaks bollard may be named.
        let own =
            line.contains("mod bollard") || line.contains("node::bollard") || line.contains("super::bollard");
        if has_word(line, name) && !(*name == "bollard" && own) {
            faults.push(format!("`{name}` has no place in the room {room}, bring what it gives as a value"));
        }
    }
    faults
}

/// Sources' tasks that nobody would start again after a panic. (What is joined, as a `JoinSet` is, belongs to the task
/// that joins it.)
fn task_fault(path: &str, line: &str) -> Option<String> {
    let is_of_sources = ["src/node/sources/", "src/cli/run/"].iter().any(|folder| path.starts_with(folder));
    let spawns = ["tokio::spawn(", "task::spawn("].iter().any(|spawn| line.contains(spawn));
    // The tests of `supervise` start it themselves.
    let is_supervised = line.contains("spawn(supervise(") || path == "src/node/sources/supervise.rs";
    (is_of_sources && spawns && !is_supervised)
        .then(|| "a task that nobody starts again when it panics, spawn it through `supervise`".to_owned())
}

/// The rooms that a line names: `crate::a::b`, `crate::{a, b::c}`.
fn crate_names(line: &str) -> impl Iterator<Item = &str> {
    line.match_indices("crate::").flat_map(|(at, word)| {
        let rest = &line[at + word.len()..];
        let list = rest.strip_prefix('{').map(|inner| inner.split('}').next().unwrap_or(inner));
        let names: Vec<&str> = match list {
            Some(list) => list.split(',').collect(),
            None => vec![rest],
        };
        names.into_iter().map(|name| {
            let name = name.trim();
            &name[..name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len())]
        })
    })
}

fn type_fault(line: &str) -> Option<String> {
    let rest = ["struct ", "enum ", "trait "].iter().find_map(|word| {
        let (before, rest) = line.split_once(word)?;
        before.chars().all(|c| c.is_alphanumeric() || " ()".contains(c)).then_some(rest)
    })?;
    let name = &rest[..rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len())];
    let empty = ["Manager", "Helper", "Handler"].iter().find(|ending| name.ends_with(**ending))?;
    Some(format!("`{name}` is called a {empty}, name what it is"))
}

/// Functions as rustfmt lays them out: they end at the brace under their first word.
fn function_faults(path: &str, code: &[&str]) -> Vec<String> {
    let mut faults = Vec::new();
    for (start, line) in code.iter().enumerate() {
        let indent = line.len() - line.trim_start().len();
        let words: Vec<&str> = line.split_whitespace().take_while(|word| *word != "fn").collect();
        let is_function = words.len() < line.split_whitespace().count()
            && words.iter().all(|w| w.starts_with("pub") || ["const", "async", "unsafe", "in"].contains(w));
        if !is_function {
            continue;
        }
        let end = format!("{}}}", " ".repeat(indent));
        let length =
            code[start..].iter().position(|line| *line == end || is_bodiless(line)).map_or(0, |n| n + 1);
        if length > FUNCTION_LINES {
            faults.push(format!("{path}:{}: a function of {length} lines, split it by step", start + 1));
        }
    }
    faults
}

fn is_bodiless(line: &str) -> bool {
    line.contains("fn ") && (line.ends_with(';') || line.ends_with('}'))
}

fn snapshot_faults(path: &str, text: &str, tests: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let told = text.splitn(3, "---\n").last().unwrap_or(text).lines().count();
    if told > SNAPSHOT_LINES {
        faults.push(format!(
            "{path}:{SNAPSHOT_LINES}: {told} lines, a reader sees a screen: tell less or tell it in two"
        ));
    }
    let name = Path::new(path).file_stem().unwrap_or_default().to_string_lossy();
    let is_named = tests.contains(&format!("fn {name}(")) || tests.contains(&format!("\"{name}\""));
    if !is_named {
        faults.push(format!("{path}:1: no test is called {name}, remove the snapshot or rename it"));
    }
    faults
}

fn without_comment(line: &str) -> &str {
    line.find("//").filter(|&at| !line[..at].contains('"')).map_or(line, |at| line[..at].trim_end())
}

fn has_word(line: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word)
        .any(|(at, _)| !line[..at].ends_with(is_part) && !line[at + word.len()..].starts_with(is_part))
}

/// All files below some folders of the project, by their path in it, with their text.
fn files(folders: &[&str], ending: &str) -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut todo: Vec<PathBuf> = folders.iter().map(|folder| root.join(folder)).collect();
    let mut found = Vec::new();
    while let Some(path) = todo.pop() {
        if let Ok(entries) = fs::read_dir(&path) {
            todo.extend(entries.map(|entry| entry.expect("a folder of the project can be read").path()));
        } else if path.extension().is_some_and(|e| e == ending) {
            let text = fs::read_to_string(&path).expect("a file of the project can be read");
            let name = path.strip_prefix(root).expect("it is below the root").to_string_lossy().into_owned();
            found.push((name, text));
        }
    }
    found.sort();
    found
}
