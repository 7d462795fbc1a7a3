//! What a person is shown for the invalid files, one snapshot for each kind of mistake.

use std::path::Path;

use super::{files, reading};

/// Groups of invalid files, one snapshot each.
const GROUPS: [(&str, &[&str]); 10] = [
    ("a_value_of_the_wrong_type_is_named_with_what_it_should_be", &["001", "003", "005", "006", "008"]),
    ("lists_and_numbers_are_not_guessed", &["010", "011", "013", "015", "016", "018"]),
    ("quantities_and_modes_say_which_unit_was_meant", &["020", "021", "023", "025", "026"]),
    ("a_misspelt_or_misplaced_field_is_told_its_place", &["028", "030", "031", "033", "035", "036"]),
    (
        "what_is_missing_or_of_another_tool_is_named",
        &["038", "040", "041", "043", "045", "046", "048", "050", "051", "053"],
    ),
    (
        "a_broken_text_is_diagnosed_where_it_broke",
        &["055", "056", "058", "060", "061", "063", "065", "066", "068"],
    ),
    ("nothing_is_given_twice", &["070", "071", "080", "081", "083"]),
    ("names_fit_their_grammar", &["073", "075", "076", "078"]),
    ("one_of_several_is_chosen_and_words_are_words", &["085", "086", "088", "090", "091", "093", "100"]),
    ("a_secret_is_judged_and_never_shown", &["095", "096", "098"]),
];

#[test]
fn every_invalid_file_is_shown_in_one_snapshot() {
    for (name, _) in files("invalid") {
        let groups =
            GROUPS.iter().filter(|(_, prefixes)| prefixes.iter().any(|prefix| name.starts_with(prefix)));
        assert_eq!(groups.count(), 1, "{name} must be in one group");
    }
}

#[test]
fn a_value_of_the_wrong_type_is_named_with_what_it_should_be() {
    shown("a_value_of_the_wrong_type_is_named_with_what_it_should_be");
}

#[test]
fn lists_and_numbers_are_not_guessed() {
    shown("lists_and_numbers_are_not_guessed");
}

#[test]
fn quantities_and_modes_say_which_unit_was_meant() {
    shown("quantities_and_modes_say_which_unit_was_meant");
}

#[test]
fn a_misspelt_or_misplaced_field_is_told_its_place() {
    shown("a_misspelt_or_misplaced_field_is_told_its_place");
}

#[test]
fn what_is_missing_or_of_another_tool_is_named() {
    shown("what_is_missing_or_of_another_tool_is_named");
}

#[test]
fn a_broken_text_is_diagnosed_where_it_broke() {
    shown("a_broken_text_is_diagnosed_where_it_broke");
}

#[test]
fn nothing_is_given_twice() {
    shown("nothing_is_given_twice");
}

#[test]
fn names_fit_their_grammar() {
    shown("names_fit_their_grammar");
}

#[test]
fn one_of_several_is_chosen_and_words_are_words() {
    shown("one_of_several_is_chosen_and_words_are_words");
}

#[test]
fn a_secret_is_judged_and_never_shown() {
    shown("a_secret_is_judged_and_never_shown");
}

/// Compares what a person is shown for a group of files with its snapshot.
fn shown(group: &str) {
    let (_, prefixes) = GROUPS.iter().find(|(name, _)| *name == group).unwrap_or_else(|| panic!("{group}"));
    let mut text = format!("{}.\n", sentence(group));
    for (name, bytes) in
        files("invalid").iter().filter(|(name, _)| prefixes.iter().any(|p| name.starts_with(p)))
    {
        text.push('\n');
        for diagnosis in
            reading(name, bytes).diagnoses.iter().filter(|d| !d.message.starts_with("not supported yet"))
        {
            text.push_str(&diagnosis.to_string());
        }
    }
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(Path::new(env!("CARGO_MANIFEST_DIR")).join("snapshots/read"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(group, text));
}

fn sentence(name: &str) -> String {
    let text = name.replace('_', " ");
    text[..1].to_uppercase() + &text[1..]
}
