//! A plan takes its paths for all that there is of their sources. When the agent reads something else, a plan that
//! removes pods says so first.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::cli::ask::ask;
use crate::cli::changes::{Changes, Kind};
use crate::cli::escape::safe;
use crate::cli::manifests::is_url;
use crate::model::PodKey;
use crate::plan::{Observed, SourceKind};

/// Where the agent of this node reads, by source; `None` when it does not run or may not be asked.
pub async fn origins(socket: &Path, node: &str) -> Option<Vec<(SourceKind, String)>> {
    let config = ask(socket, "/configz").await.ok()?;
    if config["podkeeper"]["node"] != *node {
        return None;
    }
    let sources = ask(socket, "/sources").await.ok()?;
    let origin = |item: &Value| {
        Some((SourceKind::parse(item["kind"].as_str()?)?, item["origin"].as_str()?.to_owned()))
    };
    Some(sources["items"].as_array()?.iter().filter_map(origin).collect())
}

/// How many pods each source loses.
pub fn removed(changes: &Changes, observed: &Observed) -> Vec<(SourceKind, usize)> {
    let source = |key: &PodKey| observed.pods.get(key).and_then(|pod| observed.source(pod));
    let lost: Vec<_> = changes
        .pods
        .iter()
        .filter(|pod| pod.kind == Kind::Remove)
        .filter_map(|pod| source(&pod.key))
        .collect();
    let count = |kind: SourceKind| (kind, lost.iter().filter(|lost| **lost == kind).count());
    SourceKind::ALL.map(count).into_iter().filter(|(_, count)| *count > 0).collect()
}

/// What to say before a plan that removes so many pods, when the paths are not all that its source reads.
pub fn note(
    paths: &[PathBuf],
    origins: Option<&[(SourceKind, String)]>,
    (source, removed): (SourceKind, usize),
) -> Option<String> {
    let named: Vec<String> = paths
        .iter()
        .map(|path| path.to_string_lossy().into_owned())
        .filter(|path| is_url(path) == (source == SourceKind::Http))
        .collect();
    let pods = if removed == 1 { "1 pod".to_owned() } else { format!("{removed} pods") };
    let given = named.join(", ");
    let said = match origins {
        Some(origins) => {
            let theirs = origins.iter().filter(|(kind, _)| *kind == source).map(|(_, origin)| origin);
            let theirs: Vec<&String> =
                theirs.filter(|origin| !named.iter().any(|path| is(path, origin))).collect();
            let (first, rest) = theirs.split_first()?;
            let theirs = rest.iter().fold((*first).clone(), |list, origin| format!("{list}, {origin}"));
            format!(
                "the running agent reads {theirs}, and this plan puts {given} in its place: {pods} that {given} does not \
                 declare would go. To see it added, name both"
            )
        }
        // A directory is likely what the agent reads; a file of it is the likely mistake.
        None if named.iter().any(|path| is_url(path) || Path::new(path).is_dir()) => return None,
        None => format!(
            "{given} stands for all files of this node here: {pods} of other files would go. To see it added, name \
             their directory too"
        ),
    };
    Some(safe(&said))
}

/// Two names of one place.
fn is(path: &str, origin: &str) -> bool {
    let real = |path: &str| std::fs::canonicalize(path).ok();
    path == origin || (!is_url(path) && real(path).is_some_and(|path| real(origin) == Some(path)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_of_less_than_the_agent_reads_says_what_it_replaces() {
        let dir = tempfile::tempdir().unwrap();
        let (all, one) =
            (dir.path().display().to_string(), dir.path().join("one.yaml").display().to_string());
        std::fs::write(&one, "").unwrap();
        let link = dir.path().join("link").display().to_string();
        std::os::unix::fs::symlink(dir.path(), &link).unwrap();
        let (etcd, url) = ("http://10.0.0.1:2379/podkeeper".to_owned(), "https://h/n1.yaml".to_owned());
        let agent =
            [(SourceKind::File, all.clone()), (SourceKind::Http, url.clone()), (SourceKind::Etcd, etcd)];
        let said = |paths: &[&String], known: bool, source| {
            let paths: Vec<PathBuf> = paths.iter().map(PathBuf::from).collect();
            note(&paths, known.then_some(&agent), (source, 4)).unwrap_or_default()
        };
        let other = "https://h/n2.yaml".to_owned();
        for (paths, known, source, expected) in [
            (
                &[&one][..],
                true,
                SourceKind::File,
                format!("reads {all}, and this plan puts {one} in its place: 4 pods"),
            ),
            (&[&all], true, SourceKind::File, String::new()),
            (&[&link], true, SourceKind::File, String::new()),
            (&[&one, &all], true, SourceKind::File, String::new()),
            (
                &[&all, &other],
                true,
                SourceKind::Http,
                format!("reads {url}, and this plan puts {other} in its place"),
            ),
            (&[&url], true, SourceKind::Http, String::new()),
            (
                &[&one],
                false,
                SourceKind::File,
                format!("{one} stands for all files of this node here: 4 pods"),
            ),
            (&[&all], false, SourceKind::File, String::new()),
            (&[&other], false, SourceKind::Http, String::new()),
        ] {
            let said = said(paths, known, source);
            assert!(said.contains(&expected) && said.is_empty() == expected.is_empty(), "{paths:?}: {said}");
        }
    }
}
