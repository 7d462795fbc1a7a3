//! `$(VAR)` in commands, arguments and values. Source: Kubernetes, `third_party/forked/golang/expansion`.

use super::pod::EnvVar;

/// Replaces `$(NAME)` by what `lookup` knows. `$$` is a dollar sign; an unknown name, and everything that is no reference,
/// stays as it was written, so that a shell's `$(date)` survives.
pub fn expand<'v>(text: &str, lookup: impl Fn(&str) -> Option<&'v str>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        if let Some(after) = after.strip_prefix('$') {
            out.push('$');
            rest = after;
        } else if let Some((name, tail)) = after.strip_prefix('(').and_then(|inner| inner.split_once(')')) {
            match lookup(name) {
                Some(value) => out.push_str(value),
                None => out.push_str(&rest[at..at + name.len() + 3]),
            }
            rest = tail;
        } else {
            out.push('$');
            rest = after;
        }
    }
    out.push_str(rest);
    out
}

/// The environment that a list of variables means: each may refer to those before it; a later one of the same name wins
/// and keeps the first one's place.
pub fn environment(env: &[EnvVar]) -> Vec<(String, String)> {
    let mut known: Vec<(String, String)> = Vec::with_capacity(env.len());
    for EnvVar { name, value } in env {
        let value = expand(value, |wanted| {
            known.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str())
        });
        match known.iter_mut().find(|(known, _)| known == name) {
            Some((_, old)) => *old = value,
            None => known.push((name.clone(), value)),
        }
    }
    known
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lookup(name: &str) -> Option<&'static str> {
        Some(match name {
            "VAR_A" => "A",
            "VAR_B" => "B",
            "VAR_C" => "C",
            "VAR_REF" => "$(VAR_A)",
            "VAR_EMPTY" => "",
            _ => return None,
        })
    }

    #[test]
    fn expands_references_and_nothing_else() {
        for (text, expected) in [
            ("$(VAR_A)", "A"),
            ("$(VAR_A)-$(VAR_A)", "A-A"),
            ("$(VAR_A)-1", "A-1"),
            ("___$(VAR_B)___", "___B___"),
            ("___$(VAR_C)", "___C"),
            ("$(VAR_A)_$(VAR_B)_$(VAR_C)", "A_B_C"),
            ("$$(VAR_B)_$(VAR_A)", "$(VAR_B)_A"),
            ("$$(VAR_A)_$$(VAR_B)", "$(VAR_A)_$(VAR_B)"),
            ("f000-$$VAR_A", "f000-$VAR_A"),
            ("foo\\$(VAR_C)bar", "foo\\Cbar"),
            ("foo\\\\$(VAR_C)bar", "foo\\\\Cbar"),
            ("foo\\\\\\\\$(VAR_A)bar", "foo\\\\\\\\Abar"),
            ("$(VAR_REF)", "$(VAR_A)"),
            ("%%$(VAR_REF)--$(VAR_REF)%%", "%%$(VAR_A)--$(VAR_A)%%"),
            ("foo$(VAR_EMPTY)bar", "foobar"),
            ("$$$$$$(BIG_MONEY)", "$$$(BIG_MONEY)"),
            ("$$$$$$(VAR_A)", "$$$(VAR_A)"),
            ("$$$$$$$(GOOD_ODDS)", "$$$$(GOOD_ODDS)"),
            ("$$$$$$$(VAR_A)", "$$$A"),
            ("$(VAR_B)_______$(A", "B_______$(A"),
            ("$(VAR_C)_______$(", "C_______$("),
            ("$(VAR_A)foobarzab$", "Afoobarzab$"),
        ] {
            assert_eq!(expand(text, lookup), expected, "{text}");
        }
    }

    #[test]
    fn leaves_what_is_no_reference_as_it_was_written() {
        for text in [
            "$(VAR_A$(VAR_B))",
            "$(VAR_A$(VAR_B)",
            "foo$(VAR_Awhoops!",
            "f00__(VAR_A)__",
            "$?_boo_$!",
            "$VAR_A",
            "$(VAR_DNE)",
            "$VAR_A)",
            "${VAR_A}",
            "foo-\\$(VAR_A",
            "--$($($($($--",
            "$($($($($--foo$(",
            "foo0--$($($($(",
            "$(foo$$var)",
            "\n",
            "$£FOO",
            "prefix-$€-suffix",
            "$中文",
            "",
        ] {
            assert_eq!(expand(text, lookup), text);
        }
    }

    #[test]
    fn a_variable_sees_those_before_it_and_a_later_one_wins() {
        let env = |pairs: &[(&str, &str)]| {
            let env: Vec<EnvVar> =
                pairs.iter().map(|(n, v)| EnvVar { name: (*n).into(), value: (*v).into() }).collect();
            environment(&env).into_iter().map(|(n, v)| format!("{n}={v}")).collect::<Vec<_>>()
        };
        assert_eq!(
            env(&[("FOO", "bar"), ("ZOO", "$(FOO)-1"), ("BLU", "$(ZOO)-2")]),
            ["FOO=bar", "ZOO=bar-1", "BLU=bar-1-2"]
        );
        assert_eq!(env(&[("A", "$(B)"), ("B", "1"), ("A", "$(B)2")]), ["A=12", "B=1"]);
    }
}
