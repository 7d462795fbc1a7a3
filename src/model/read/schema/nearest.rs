//! The known word that is nearest to a misspelt one.

/// The nearest of `known`: the same but for case, hyphens and underscores, or a few letters away.
pub fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let plain = plain(word);
    if plain.is_empty() || plain.len() > 64 {
        return None;
    }
    let most = (plain.len() / 4).clamp(1, 3);
    known
        .filter(|candidate| !candidate.is_empty())
        .map(|candidate| (distance(&plain, &self::plain(candidate)), candidate))
        .filter(|&(distance, _)| distance <= most)
        .min()
        .map(|(_, candidate)| candidate)
}

fn plain(word: &str) -> Vec<u8> {
    word.bytes()
        .filter(|byte| !matches!(byte, b'-' | b'_' | b' '))
        .map(|byte| byte.to_ascii_lowercase())
        .collect()
}

/// Insertions, deletions, replacements and swaps of neighbours (optimal string alignment).
fn distance(a: &[u8], b: &[u8]) -> usize {
    let mut before: Vec<usize> = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replace = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = replace.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_word_that_was_meant_and_nothing_else() {
        let known = ["imagePullPolicy", "image", "ports", "name", "env", "envFrom", "emptyDir", "tty"];
        for (word, expected) in [
            ("imagePullpolicy", Some("imagePullPolicy")),
            ("image_pull_policy", Some("imagePullPolicy")),
            ("port", Some("ports")),
            ("empty-dir", Some("emptyDir")),
            ("nmae", Some("name")),
            ("envform", Some("envFrom")),
            ("key", None),
            ("replicas", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, known.into_iter()), expected, "{word}");
        }
    }
}
