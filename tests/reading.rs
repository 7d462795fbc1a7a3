//! Reading is total: whatever the bytes are, it returns in time, and every diagnosis stands at a line of the file.

use std::path::Path;
use std::time::{Duration, Instant};

use podkeeper::model::read::{MAX_BYTES, Options, Reading, read};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

const POD: &str =
    "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: c, image: busybox}]}\n";

const POD_B: &str =
    "apiVersion: v1\nkind: Pod\nmetadata: {name: b}\nspec: {containers: [{name: c, image: busybox}]}\n";

#[test]
fn bombs_are_refused_in_time_and_the_other_documents_are_read() {
    let laughs = |levels: usize| {
        let mut text = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
        for level in 1..levels {
            let aliases = vec![format!("*a{}", level - 1); 10].join(", ");
            text.push_str(&format!("a{level}: &a{level} [{aliases}]\n"));
        }
        text
    };
    let bombs = [
        ("aliases of aliases", laughs(9)),
        ("brackets", "[".repeat(100_000)),
        ("braces", "{a: ".repeat(100_000)),
        ("dashes", format!("{}x\n", "- ".repeat(100_000))),
        ("question marks", format!("{}x\n", "? ".repeat(100_000))),
        ("one big map", (0..60_000).map(|n| format!("k{n}: 1\n")).collect()),
        ("one key many times", "key: 1\n".repeat(60_000)),
        (
            "merges",
            format!(
                "m: &m {{{}}}\n<<: [{}]\n",
                (0..2_000).map(|n| format!("k{n}: 1, ")).collect::<String>(),
                vec!["*m"; 99].join(", ")
            ),
        ),
        (
            "wrong fields",
            (0..50_000).map(|n| format!("wrong{n}: 1\n")).collect::<String>()
                + &POD.replace("name: a", "name: b"),
        ),
        ("open quotes", "a: \"\n".repeat(100_000)),
        ("colons", "a: b: \n".repeat(100_000)),
        ("anchors", (0..10_000).map(|n| format!("- &a{n} x\n")).collect()),
        ("nested anchors", format!("{}x", (0..60).map(|n| format!("- &a{n} ")).collect::<String>())),
        (
            "a long key over many items",
            format!("{POD_B}? {}\n: [{}]\n", "k".repeat(300_000), "[x], ".repeat(60_000)),
        ),
        ("a big text", format!("a: |\n{}", "  line\n".repeat(140_000))),
    ];
    for (what, bomb) in bombs {
        let text = format!("{bomb}\n---\n{POD}");
        let begun = Instant::now();
        let reading = read("bomb.yaml", text.as_bytes(), &Options::default());
        let took = begun.elapsed();
        // Generous, because tests run unoptimised and beside others; the square of any of these would take minutes.
        assert!(took < Duration::from_secs(10), "{what} took {took:?}");
        eprintln!("{what}: {took:?} {} diagnoses", reading.diagnoses.len());
        assert!(reading.diagnoses.iter().any(|d| d.is_error()), "{what} is not refused");
        let last = reading.pods.last().expect("the last document");
        assert!(last.pod.is_some(), "{what}: the pod after it is lost: {:?}", reading.diagnoses.first());
        check(&reading, &text);
    }
}

#[test]
fn what_is_no_text_is_refused() {
    for bytes in [&b"a\0b"[..], b"\xff\xfea\0", b"a: \xe9", &vec![b'#'; MAX_BYTES + 1]] {
        let reading = read("x.yaml", bytes, &Options::default());
        assert_eq!((reading.diagnoses.len(), reading.pods.len()), (1, 1));
        assert!(reading.pods[0].key.is_none() && reading.pods[0].pod.is_none());
    }
}

#[test]
fn an_empty_file_has_no_pods_and_nothing_wrong() {
    for text in ["", "\n", "# nothing\n", "---\n", "---\n---\n", "\u{feff}", "null\n", "--- ~\n...\n"] {
        let reading = read("x.yaml", text.as_bytes(), &Options::default());
        assert!(reading.pods.is_empty() && reading.diagnoses.is_empty(), "{text:?}: {:?}", reading.diagnoses);
    }
}

#[test]
fn a_byte_order_mark_and_windows_line_ends_change_nothing() {
    let plain = read("x.yaml", POD.as_bytes(), &Options::default());
    let windows = format!("\u{feff}{}", POD.replace('\n', "\r\n"));
    let windows = read("x.yaml", windows.as_bytes(), &Options::default());
    assert_eq!(windows.pods[0].pod, plain.pods[0].pod);
    assert!(plain.pods[0].pod.is_some());
}

#[test]
fn a_document_that_is_broken_costs_only_itself_and_still_tells_its_name() {
    let broken = "kind: Pod\nmetadata: {name: b}\nspec: [\n";
    let text = format!("{POD}---\n{broken}---\n{}", POD.replace("name: a", "name: c"));
    let reading = read("x.yaml", text.as_bytes(), &Options::default());
    let read: Vec<_> =
        reading.pods.iter().map(|p| (p.key.as_ref().map(ToString::to_string), p.pod.is_some())).collect();
    let expected = [("default/a", true), ("default/b", false), ("default/c", true)];
    assert_eq!(read, expected.map(|(key, good)| (Some(key.to_owned()), good)));
}

#[test]
fn a_pod_that_is_declared_twice_is_refused_the_second_time() {
    let text = format!("{POD}---\n{POD}");
    let reading = read("x.yaml", text.as_bytes(), &Options::default());
    assert!(reading.pods[0].pod.is_some() && reading.pods[1].pod.is_none());
    assert_eq!(reading.diagnoses[0].message, "pod default/a is declared twice (first at line 3)");
    assert_eq!(reading.diagnoses[0].place.line, 8);
}

#[test]
fn unknown_fields_are_warnings_when_that_is_asked_for() {
    let text = POD.replace("image:", "imgae: x, image:");
    for (lenient, good) in [(false, false), (true, true)] {
        let options = Options { lenient, ..Options::default() };
        let reading = read("x.yaml", text.as_bytes(), &options);
        assert_eq!(reading.pods[0].pod.is_some(), good);
        assert!(reading.diagnoses[0].message.contains("did you mean image?"));
    }
}

#[test]
fn no_value_of_a_secret_is_shown_whatever_is_wrong_with_it() {
    let head = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n";
    for data in [
        "data:\n  a: hunter2!\n",
        "data:\n  a: hunter2\n  a: hunter2\n",
        "stringData:\n  a: [hunter2]\n",
        "data: {a: 'hunter2'\n",
        "data:\n  a: \"hunter2\n",
        "dat: {a: hunter2}\n",
    ] {
        let reading = read("x.yaml", format!("{head}{data}").as_bytes(), &Options::default());
        let shown: String = reading.diagnoses.iter().map(ToString::to_string).collect();
        assert!(reading.diagnoses.len() > 1 || shown.contains("file ends"), "{data}");
        assert!(!shown.contains("hunter2"), "{data}\n{shown}");
    }
}

/// Every diagnosis stands at a line of the file, in order, and can be shown.
fn check(reading: &Reading, text: &str) {
    let lines = text.replace("\r\n", "\n").replace('\r', "\n");
    let lines = u32::try_from(lines.lines().count().max(1)).expect("lines");
    let mut last = (0, 0);
    for diagnosis in &reading.diagnoses {
        let place = (diagnosis.place.line, diagnosis.place.column);
        assert!(place.0 >= 1 && place.0 <= lines && place.1 >= 1, "{place:?} of {lines} lines: {diagnosis}");
        assert!(place >= last, "out of order");
        last = place;
        assert!(!diagnosis.to_string().contains('\u{1b}'));
    }
    for read in &reading.pods {
        assert!(read.pod.is_none() || read.key.is_some());
        for &(line, column) in read.places.fields.values() {
            assert!(line >= 1 && line <= lines && column >= 1);
        }
    }
}

/// The corpus, to be mutated.
fn corpus() -> Vec<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let files = ["manifests", "invalid"]
        .into_iter()
        .flat_map(|dir| std::fs::read_dir(root.join(dir)).expect("corpus"));
    let mut files: Vec<_> = files.map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    files.into_iter().map(|path| std::fs::read(path).expect("readable")).collect()
}

/// Pieces that have a meaning to YAML or to us.
const PIECES: [&str; 33] = [
    "\n---\n",
    "\n...\n",
    "- ",
    ": ",
    "? ",
    "{",
    "}",
    "[",
    "]",
    "\"",
    "'",
    "|\n",
    ">-\n",
    "&a ",
    "*a",
    "<<: *a",
    "!!str ",
    "!x ",
    "#",
    "\t",
    "\r",
    "\u{feff}",
    "\u{1b}[31m",
    "%YAML 1.1\n",
    "null",
    "0777",
    "yes",
    ",",
    "\\",
    "é",
    "\u{85}",
    "\u{2028}",
    "\r\n",
];

fn mutation() -> impl Strategy<Value = (usize, Vec<(usize, usize, usize)>)> {
    let edit = (any::<usize>(), 0..PIECES.len() + 3, 0..40_usize);
    (any::<usize>(), proptest::collection::vec(edit, 1..8))
}

fn mutated(original: &[u8], edits: &[(usize, usize, usize)]) -> Vec<u8> {
    let mut bytes = original.to_vec();
    for &(at, what, length) in edits {
        let at = at % (bytes.len() + 1);
        let end = (at + length).min(bytes.len());
        match PIECES.get(what) {
            Some(piece) => drop(bytes.splice(at..at, piece.bytes())),
            None if what == PIECES.len() => drop(bytes.drain(at..end)),
            None if what == PIECES.len() + 1 => bytes.truncate(at),
            None => {
                let copy = bytes[at..end].to_vec();
                drop(bytes.splice(at..at, copy));
            }
        }
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 3_000,
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("regressions"))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn no_mutation_of_a_manifest_makes_reading_fail((which, edits) in mutation()) {
        let corpus = corpus();
        let bytes = mutated(&corpus[which % corpus.len()], &edits);
        for name in ["x.yaml", "x.json"] {
            let reading = read(name, &bytes, &Options::default());
            check(&reading, &String::from_utf8_lossy(&bytes));
        }
    }
}
