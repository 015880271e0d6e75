//! Every input gives an answer or an error with a place, never a panic.

mod editor;

use std::fs;
use std::path::Path;

use fairlane_scenario::{Document, ScenarioError, Vary};
use proptest::prelude::*;

const FILES: [&str; 8] = [
    include_str!("../../../scenarios/choke-fig3.toml"),
    include_str!("../../../scenarios/choke-table1.toml"),
    include_str!("../../../scenarios/parking-lot.toml"),
    include_str!("../../../scenarios/modern.toml"),
    include_str!("../../../scenarios/two-way.toml"),
    include_str!("../../../scenarios/varying-rate.toml"),
    include_str!("../../../scenarios/sources.toml"),
    include_str!("../../../scenarios/web.toml"),
];

/// Fragments that typing errors are made of.
const PIECES: [&str; 24] = [
    "",
    "\"",
    "'",
    "=",
    "[",
    "]]",
    "{",
    "}",
    ",",
    "\n",
    "#",
    "-1",
    "0",
    "1e999",
    "nan",
    "99999999999999999999",
    "\u{0}",
    "\u{feff}",
    "…",
    "\"0s..1s\"",
    "\"18446744073709551615s\"",
    "\"choke\"",
    "true",
    "\r\n",
];

fn check(text: &str) -> Result<(), ScenarioError> {
    let scenario = Document::parse("test.toml", text)?.scenario()?;
    editor::agrees(text, &Ok(scenario));
    Ok(())
}

/// The error has a place in the text, and says so.
fn is_placed(error: &ScenarioError, text: &str) -> Result<(), TestCaseError> {
    let shown = error.to_string();
    prop_assert!(error.line_column().is_some(), "no place: {shown}");
    if let (Some(span), Some((line, column))) = (error.span(), error.line_column()) {
        prop_assert!(text.get(span).is_some(), "not a place in the text: {shown}");
        prop_assert!(line <= text.split('\n').count(), "{shown}");
        prop_assert!(shown.starts_with(&format!("test.toml:{line}:{column}: ")), "{shown}");
    }
    prop_assert!(!error.message().is_empty());
    Ok(())
}

/// A character boundary of `text`, a part of the way through it.
fn boundary(text: &str, part: f64) -> usize {
    text.floor_char_boundary((text.len() as f64 * part) as usize)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn broken_files_are_refused_at_a_place(
        file in 0..FILES.len(),
        slips in prop::collection::vec((0.0..1.0_f64, 0_usize..12, 0..PIECES.len()), 1..4),
    ) {
        let mut text = FILES[file].to_owned();
        for (part, length, piece) in slips {
            let start = boundary(&text, part);
            let end = text.floor_char_boundary(start + length).max(start);
            text.replace_range(start..end, PIECES[piece]);
        }
        if let Err(error) = check(&text) {
            is_placed(&error, &text)?;
        }
    }

    #[test]
    fn values_of_other_keys_are_refused_at_a_place(file in 0..FILES.len(), from in 0.0..1.0_f64, to in 0.0..1.0_f64) {
        // The text after one "=" is moved behind another one: mostly valid TOML, and seldom a valid scenario.
        let lines = FILES[file].lines().collect::<Vec<_>>();
        let pairs = (0..lines.len()).filter(|line| lines[*line].contains(" = ") && !lines[*line].starts_with('#'));
        let pairs = pairs.collect::<Vec<_>>();
        let pick = |part: f64| pairs[(pairs.len() as f64 * part) as usize];
        let (from, to) = (pick(from), pick(to));
        let value = lines[from].split_once(" = ").map_or("", |(_, value)| value);
        let moved = lines[to].split_once(" = ").map_or(String::new(), |(key, _)| format!("{key} = {value}"));
        let text = [&lines[..to], &[moved.as_str()], &lines[to + 1..]].concat().join("\n");
        if let Err(error) = check(&text) {
            is_placed(&error, &text)?;
        }
    }

    #[test]
    fn options_never_panic(key in "[a-z.=]{0,20}|flows\\.cbr\\.[a-z]{1,8}|bottleneck\\.queue\\.[a-z]{1,8}", value in "\\PC{0,12}") {
        let mut document = Document::builtin();
        let result = document.set(&key, &value).and_then(|()| document.scenario().map(|_| ()));
        if let Err(error) = result {
            prop_assert!(error.option().is_some() || error.line_column().is_some(), "{error}");
        }
    }

    #[test]
    fn ranges_never_panic(text in "[a-z]{0,3}=?[0-9a-z.]{0,8}(\\.\\.[0-9a-z.]{0,8})?(/[0-9]{0,4}(log)?)?") {
        if let Ok(vary) = Vary::parse(&text) {
            prop_assert!(!vary.values().is_empty());
        }
    }
}

fn refused(path: &Path) -> String {
    Document::load(path).expect_err("it cannot be read").to_string()
}

#[test]
fn files_that_cannot_be_read_say_why() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let missing = refused(&folder.join("missing.toml"));
    assert!(missing.contains("missing.toml: ") && missing.contains("cannot be opened"), "{missing}");
    let directory = refused(folder);
    assert!(directory.contains("this is a folder"), "{directory}");

    let large = folder.join("large.toml");
    fs::write(&large, "#".repeat((1 << 20) + 1)).expect("it can be written");
    assert!(refused(&large).contains("larger than 1 MiB"), "{}", refused(&large));
    // The limit may cut a character; the size is the mistake all the same.
    fs::write(&large, format!("#{}", "é".repeat(1 << 20))).expect("it can be written");
    assert!(refused(&large).contains("larger than 1 MiB"), "{}", refused(&large));

    let latin = folder.join("latin.toml");
    fs::write(&latin, b"name = \"x\"\nseed = 1 # caf\xe9\n").expect("it can be written");
    assert!(refused(&latin).contains("latin.toml:2:15: this is not UTF-8 text"), "{}", refused(&latin));
}

#[test]
fn a_file_of_the_largest_size_is_read() {
    let padding = (1 << 20) - FILES[0].len();
    let text = format!("{}{}", FILES[0], "#".repeat(padding));
    assert_eq!(text.len(), 1 << 20);
    check(&text).unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn columns_count_characters_and_lines_may_end_as_on_windows() {
    let text = "# é\r\nname = \"é\"\r\nduration = 1\r\n";
    let error = check(text).expect_err("no unit");
    assert_eq!(error.line_column(), Some((3, 12)));
    let error = check("\u{feff}name = \"é\" # é\n").expect_err("no duration");
    assert!(error.to_string().starts_with("test.toml:1:1: duration: `duration` is missing"), "{error}");
    let error = check("\u{feff}duration = 1\n").expect_err("no unit");
    assert_eq!(error.line_column(), Some((1, 12)));
    let error = check("name = 'é'; duration = 1\n").expect_err("no TOML");
    assert_eq!(error.line_column(), Some((1, 11)));
}

#[test]
fn deep_nesting_is_refused() {
    let error = check(&format!("a = {}", "[".repeat(100_000))).expect_err("too deep");
    assert!(error.message().contains("not TOML"), "{error}");
}
