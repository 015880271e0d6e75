//! Any text as a scenario: a valid one, or an error with a message and a place.

use fairlane_scenario::{Document, ScenarioError, Vary};

/// Reads the text. If it starts with `#=`, the rest of its first line is an option, as `--set` and `--vary` take it.
pub(crate) fn run(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let document = match Document::parse("fuzz.toml", &text) {
        Ok(document) => document,
        Err(error) => return check_place(&error, &text),
    };
    if let Err(error) = document.scenario() {
        check_place(&error, &text);
    }
    let Some(option) = text.strip_prefix("#=").and_then(|rest| rest.lines().next()) else { return };
    if let Some((key, value)) = option.split_once('=') {
        let mut changed = document.clone();
        if let Err(error) = changed.set(key, value).and_then(|()| changed.scenario().map(|_| ())) {
            check(&error);
        }
    }
    let Ok(vary) = Vary::parse(option) else { return };
    assert!(!vary.values().is_empty());
    // Each point is checked like a scenario; more of them would only take longer.
    if vary.values().len() <= 8 {
        match document.points(&[vary]) {
            Ok(points) => assert!(points.iter().all(|point| document.at(point).is_ok())),
            Err(error) => check(&error),
        }
    }
}

/// An error has a message, and an option or a place in the file.
fn check(error: &ScenarioError) {
    assert!(!error.message().is_empty());
    assert!(error.option().is_some() || error.line_column().is_some(), "no place: {error}");
}

/// An error of a file has its place in `text`.
fn check_place(error: &ScenarioError, text: &str) {
    check(error);
    let shown = error.to_string();
    let (line, column) = error.line_column().unwrap_or((0, 0));
    assert!(line <= text.split('\n').count() && shown.starts_with(&format!("fuzz.toml:{line}:{column}: ")), "{shown}");
    assert!(error.span().is_some_and(|span| text.get(span).is_some()), "not a place in the text: {shown}");
}
