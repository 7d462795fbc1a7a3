//! Manifests that a command line names: files, directories, URLs, standard input.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::cli::failure::Failure;
use crate::cli::http_access::{HttpAccess, parse_url};
use crate::cli::live::block_on;
use crate::model::diagnosis::{Diagnosis, Severity};
use crate::model::read::{self, MAX_BYTES, Options, Reading};
use crate::model::{Place, PodKey};
use crate::node::sources::file::{is_manifest, open_regular};
use crate::node::sources::http::{Client, read_once};

/// A file's name and its content.
type Content = (String, Vec<u8>);

/// Reads everything that the paths name, one reading for each file, in the order given. A pod that two files
/// declare is an error of the later one.
pub fn read(paths: &[PathBuf], options: &Options, http: &HttpAccess) -> Result<Vec<Reading>, Failure> {
    let mut contents = Vec::new();
    for path in paths {
        gather(path, http, &mut contents)?;
    }
    let mut readings: Vec<_> =
        contents.iter().map(|(file, bytes)| read::read(file, bytes, options)).collect();
    refuse_duplicates(&mut readings, &contents);
    Ok(readings)
}

fn gather(path: &Path, http: &HttpAccess, contents: &mut Vec<Content>) -> Result<(), Failure> {
    let name = path.to_string_lossy().into_owned();
    if name == "-" {
        let bytes = limited(io::stdin().lock()).map_err(|error| fail("-", &error))?;
        contents.push((name, bytes));
    } else if name.starts_with("http://") || name.starts_with("https://") {
        contents.push(fetched(&name, http)?);
    } else if path.is_dir() {
        let entries = std::fs::read_dir(path).map_err(|error| fail(&name, &error))?;
        let mut files = Vec::new();
        for entry in entries {
            files.push(entry.map_err(|error| fail(&name, &error))?.path());
        }
        files.sort();
        let counts = |file: &&PathBuf| {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            is_manifest(&name) && !file.is_dir()
        };
        for file in files.iter().filter(counts) {
            contents.push(content(file)?);
        }
    } else {
        contents.push(content(path)?);
    }
    Ok(())
}

/// As the agent reads it: with the same limits, and never from where it would not.
fn fetched(text: &str, http: &HttpAccess) -> Result<Content, Failure> {
    let url = parse_url(text).map_err(Failure::Usage)?;
    let client = Client::new(http.access()?);
    let bytes = block_on(async { read_once(&client, &url).await.map_err(Failure::Error) })?;
    Ok((url.to_string(), bytes))
}

fn content(path: &Path) -> Result<Content, Failure> {
    let name = path.to_string_lossy().into_owned();
    let file = open_regular(path).map_err(|error| fail(&name, &error))?.0;
    let bytes = limited(file).map_err(|error| fail(&name, &error))?;
    Ok((name, bytes))
}

/// One byte more than is allowed at most, so that reading refuses what is too large.
fn limited(from: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn fail(name: &str, error: &io::Error) -> Failure {
    Failure::error(format!("{name}: it cannot be read: {error}"))
}

/// Inside one file the reader has seen to it already.
fn refuse_duplicates(readings: &mut [Reading], contents: &[Content]) {
    let mut seen: BTreeMap<PodKey, Place> = BTreeMap::new();
    for (reading, (_, bytes)) in readings.iter_mut().zip(contents) {
        let mut twice = Vec::new();
        for read in &mut reading.pods {
            let Some(key) = &read.key else { continue };
            let place = read.places.of("metadata.name");
            match seen.get(key) {
                Some(first) if first.file != place.file => {
                    twice.push(declared_twice(key, first, place, bytes));
                    read.pod = None;
                }
                Some(_) => {}
                None => drop(seen.insert(key.clone(), place)),
            }
        }
        reading.diagnoses.extend(twice);
        reading.diagnoses.sort_by_key(|diagnosis| (diagnosis.place.line, diagnosis.place.column));
    }
}

fn declared_twice(key: &PodKey, first: &Place, place: Place, bytes: &[u8]) -> Diagnosis {
    let text = String::from_utf8_lossy(bytes);
    let line = text.lines().nth(place.line.saturating_sub(1) as usize).unwrap_or("");
    Diagnosis {
        severity: Severity::Error,
        field: "metadata.name".into(),
        message: format!("pod {key} is declared twice (first at {first})"),
        fix: Some("rename or remove one of them".into()),
        source_line: line.chars().take(read::SHOWN).collect(),
        place,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POD: &str =
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: c, image: x}]}\n";

    fn read_in(dir: &Path) -> Result<Vec<Reading>, Failure> {
        read(&[dir.to_owned()], &Options::default(), &HttpAccess::default())
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
            .expect("readings")
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
        let readings = read_in(dir.path()).expect("readings");
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
        for (path, expected) in [
            (pipe, "not a regular file"),
            (dir.path().join("none.yaml"), "No such file"),
            (PathBuf::from("http://169.254.169.254/pod.yaml"), "a link-local address"),
        ] {
            match read(std::slice::from_ref(&path), &Options::default(), &HttpAccess::default()) {
                Err(Failure::Error(message)) => assert!(message.contains(expected), "{message}"),
                other => panic!("{}: {other:?}", path.display()),
            }
        }
    }

    #[test]
    fn a_file_without_end_is_read_no_further_than_is_allowed() {
        let bytes = limited(io::repeat(b'#')).expect("read");
        assert_eq!(bytes.len(), MAX_BYTES + 1);
    }
}
