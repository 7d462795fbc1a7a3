//! Manifests that a command line names: files, directories, URLs, standard input.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::cli::clashes;
use crate::cli::failure::Failure;
use crate::cli::http_access::{HttpAccess, parse_url};
use crate::cli::live::block_on;
use crate::model::diagnosis::{Diagnosis, Severity};
use crate::model::read::{self, MAX_BYTES, Options, Reading};
use crate::model::{Place, PodKey};
use crate::node::sources::file::{is_manifest, open_regular, too_large};
use crate::node::sources::http::{Client, read_once};

/// A file's name and its content, or why that cannot be read.
type Content = (String, Result<Vec<u8>, String>);

/// What the paths of a command line hold.
#[derive(Debug)]
pub struct Manifests {
    /// One for each file, in the order given.
    pub readings: Vec<Reading>,
    /// Paths that cannot be read at all, and why: likely a mistake in the command line.
    pub unreadable: Vec<(String, String)>,
}

/// Reads everything that the paths name. A pod that two files declare is an error of the later one; a file of a
/// directory that cannot be read is one of its own; two pods that want one port of the node are warned of.
pub fn read(paths: &[PathBuf], options: &Options, http: &HttpAccess) -> Result<Manifests, Failure> {
    let client = Client::new(http.access()?);
    let (mut contents, mut unreadable) = (Vec::new(), Vec::new());
    for path in paths {
        if let Err(why) = gather(path, &client, &mut contents) {
            unreadable.push((shown(path), why));
        }
    }
    let mut readings: Vec<_> = contents
        .iter()
        .map(|(file, content)| match content {
            Ok(bytes) => read::read(file, bytes, options),
            Err(why) => Reading { diagnoses: vec![unread(file, why)], ..Reading::default() },
        })
        .collect();
    refuse_duplicates(&mut readings, &contents);
    for (at, mut clash) in clashes::find(&readings) {
        clash.source_line = line_of(&contents[at], clash.place.line);
        readings[at].diagnoses.push(clash);
    }
    for reading in &mut readings {
        reading.diagnoses.sort_by_key(|diagnosis| (diagnosis.place.line, diagnosis.place.column));
    }
    Ok(Manifests { readings, unreadable })
}

/// What cannot be read, as a diagnosis of it as a whole.
pub fn unread(file: &str, why: &str) -> Diagnosis {
    Diagnosis {
        severity: Severity::Error,
        place: Place { file: file.into(), line: 1, column: 1 },
        field: String::new(),
        message: why.to_owned(),
        fix: None,
        source_line: String::new(),
    }
}

/// A path as it was given, a URL without its credentials.
fn shown(path: &Path) -> String {
    let text = path.to_string_lossy();
    match parse_url(&text) {
        Ok(url) => url.to_string(),
        Err(_) if is_url(&text) => text.rsplit('@').next().unwrap_or_default().to_owned(),
        Err(_) => text.into_owned(),
    }
}

/// Anything else is a path.
pub fn is_url(path: &str) -> bool {
    let starts =
        |scheme: &str| path.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme));
    starts("http://") || starts("https://")
}

fn gather(path: &Path, client: &Client, contents: &mut Vec<Content>) -> Result<(), String> {
    let name = path.to_string_lossy().into_owned();
    if name == "-" {
        let bytes = limited(io::stdin().lock()).map_err(|error| unreadable(&error))?;
        contents.push((name, Ok(bytes)));
    } else if is_url(&name) {
        contents.push(fetched(&name, client)?);
    } else if path.is_dir() {
        let entries = std::fs::read_dir(path).map_err(|error| unreadable(&error))?;
        let mut files = Vec::new();
        for entry in entries {
            files.push(entry.map_err(|error| unreadable(&error))?.path());
        }
        files.sort();
        let counts = |file: &&PathBuf| {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            is_manifest(&name) && !file.is_dir()
        };
        for file in files.iter().filter(counts) {
            contents.push((file.to_string_lossy().into_owned(), content(file)));
        }
    } else {
        contents.push((name, Ok(content(path)?)));
    }
    Ok(())
}

/// As the agent reads it: with the same limits, and never from where it would not.
fn fetched(text: &str, client: &Client) -> Result<Content, String> {
    let url = parse_url(text)?;
    let bytes = block_on(async { Ok::<_, Failure>(read_once(client, &url).await) });
    let bytes = bytes.map_err(|_| "no runtime could be started".to_owned())??;
    Ok((url.to_string(), Ok(bytes)))
}

fn content(path: &Path) -> Result<Vec<u8>, String> {
    let (file, meta) = open_regular(path).map_err(|error| unreadable(&error))?;
    if meta.len() > MAX_BYTES as u64 {
        return Err(too_large(meta.len()));
    }
    limited(file).map_err(|error| unreadable(&error))
}

/// One byte more than is allowed at most, so that reading refuses what is too large.
fn limited(from: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn unreadable(error: &io::Error) -> String {
    format!("it cannot be read: {error}")
}

/// Inside one file the reader has seen to it already.
fn refuse_duplicates(readings: &mut [Reading], contents: &[Content]) {
    let mut seen: BTreeMap<PodKey, Place> = BTreeMap::new();
    for (reading, content) in readings.iter_mut().zip(contents) {
        let mut twice = Vec::new();
        for read in &mut reading.pods {
            let Some(key) = &read.key else { continue };
            let place = read.places.of("metadata.name");
            match seen.get(key) {
                Some(first) if first.file != place.file => {
                    twice.push(declared_twice(key, first, place, content));
                    read.pod = None;
                }
                Some(_) => {}
                None => drop(seen.insert(key.clone(), place)),
            }
        }
        reading.diagnoses.extend(twice);
    }
}

fn declared_twice(key: &PodKey, first: &Place, place: Place, content: &Content) -> Diagnosis {
    Diagnosis {
        severity: Severity::Error,
        field: "metadata.name".into(),
        message: format!("pod {key} is declared twice (first at {first})"),
        fix: Some("rename or remove one of them".into()),
        source_line: line_of(content, place.line),
        place,
    }
}

fn line_of((_, content): &Content, line: u32) -> String {
    let text = String::from_utf8_lossy(content.as_deref().unwrap_or_default());
    let line = text.lines().nth(line.saturating_sub(1) as usize).unwrap_or("");
    line.chars().take(read::SHOWN).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const POD: &str =
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: c, image: x}]}\n";

    fn read_in(dir: &Path) -> Vec<Reading> {
        let read = read(&[dir.to_owned()], &Options::default(), &HttpAccess::default()).unwrap();
        assert!(read.unreadable.is_empty(), "{:?}", read.unreadable);
        read.readings
    }

    #[test]
    fn a_directory_is_its_manifests_and_nothing_that_editors_leave() {
        let dir = tempfile::tempdir().expect("a directory");
        for name in ["a.yaml", "b.yml", "c.json", ".a.yaml", "a.yaml~", "a.yaml.swp", "notes.txt", "4913"] {
            std::fs::write(dir.path().join(name), POD.replace("name: a", &format!("name: {}", &name[..1])))
                .expect("written");
        }
        std::fs::create_dir(dir.path().join("d.yaml")).expect("a directory");
        let files: Vec<_> = read_in(dir.path())
            .iter()
            .map(|reading| reading.pods[0].places.file.rsplit('/').next().unwrap_or("").to_owned())
            .collect();
        assert_eq!(files, ["a.yaml", "b.yml", "c.json"]);
    }

    #[test]
    fn a_pod_of_two_files_is_refused_in_the_later_one_with_both_places() {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::write(dir.path().join("1.yaml"), POD).expect("written");
        std::fs::write(dir.path().join("2.yaml"), format!("# again\n{POD}")).expect("written");
        let readings = read_in(dir.path());
        assert!(readings[0].pods[0].pod.is_some() && readings[1].pods[0].pod.is_none());
        let said = &readings[1].diagnoses[0];
        assert!(said.message.starts_with("pod default/a is declared twice (first at "), "{said}");
        assert!(said.message.ends_with("1.yaml:3:12)"), "{said}");
        assert_eq!((said.place.line, said.source_line.as_str()), (4, "metadata: {name: a}"));
    }

    #[test]
    fn a_pipe_a_missing_file_and_a_clouds_metadata_are_refused_at_once() {
        let dir = tempfile::tempdir().expect("a directory");
        let pipe = dir.path().join("x.yaml");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0)
            .expect("a pipe");
        let large = dir.path().join("large.yaml");
        std::fs::write(&large, vec![b'#'; 3 << 20]).expect("written");
        for (path, expected) in [
            (pipe, "not a regular file"),
            (large, "it has 3145728 bytes, and 1048576 (1 MiB) are read at most: split it"),
            (dir.path().join("none.yaml"), "No such file"),
            (PathBuf::from("http://169.254.169.254/pod.yaml"), "a link-local address"),
        ] {
            let read =
                read(std::slice::from_ref(&path), &Options::default(), &HttpAccess::default()).unwrap();
            let [(name, why)] = &read.unreadable[..] else { panic!("{}: {read:?}", path.display()) };
            assert!(*name == path.to_string_lossy() && why.contains(expected), "{name}: {why}");
        }
    }

    #[test]
    fn a_path_that_cannot_be_read_hides_nothing_of_the_others() {
        let dir = tempfile::tempdir().expect("a directory");
        let (good, missing) = (dir.path().join("a.yaml"), dir.path().join("none.yaml"));
        std::fs::write(&good, POD).expect("written");
        std::os::unix::fs::symlink("/nonexistent", dir.path().join("b.yaml")).expect("a link");
        let read =
            read(&[missing, dir.path().to_owned()], &Options::default(), &HttpAccess::default()).unwrap();
        assert_eq!(read.unreadable.len(), 1);
        let told: Vec<_> =
            read.readings.iter().map(|reading| (reading.pods.len(), reading.diagnoses.len())).collect();
        assert_eq!(told, [(1, 0), (0, 1)], "and neither does a file of a directory");
    }

    #[test]
    fn two_pods_that_want_one_port_are_warned_of_with_the_line() {
        let dir = tempfile::tempdir().expect("a directory");
        let ports = "image: x, ports: [{containerPort: 80, hostPort: 80}]";
        let pod = POD.replace("image: x", ports);
        std::fs::write(dir.path().join("1.yaml"), &pod).expect("written");
        std::fs::write(dir.path().join("2.yaml"), pod.replace("name: a", "name: b")).expect("written");
        let readings = read_in(dir.path());
        assert!(readings[0].diagnoses.is_empty());
        let [said] = &readings[1].diagnoses[..] else { panic!("{:?}", readings[1].diagnoses) };
        assert_eq!((said.severity, said.place.line), (Severity::Warning, 4));
        assert!(said.message.contains("1.yaml:4:") && said.source_line.contains("hostPort: 80"), "{said}");
    }

    #[test]
    fn a_file_without_end_is_read_no_further_than_is_allowed() {
        let bytes = limited(io::repeat(b'#')).expect("read");
        assert_eq!(bytes.len(), MAX_BYTES + 1);
    }
}
