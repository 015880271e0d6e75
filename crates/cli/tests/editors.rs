//! Scenario files in editors: the schema, and files to start from.

mod common;

use std::fs;
use std::path::Path;

use common::{Place, fairlane, printed};
use fairlane_scenario::BUNDLED;

const SCHEMA: &str = "scenarios/scenario.schema.json";

/// The schema in the repository is what the program prints. `fairlane schema > scenarios/scenario.schema.json` writes
/// it.
#[test]
fn the_schema_is_that_of_this_program() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(SCHEMA);
    let kept = fs::read_to_string(path).unwrap();
    assert!(kept == printed(&["schema"]), "run: fairlane schema > {SCHEMA}");
}

/// Would catch a comment that breaks a file, and a file that is read and not written.
#[test]
fn a_first_file_is_a_built_in_scenario() {
    for bundled in BUNDLED {
        let place = Place::new();
        let file = place.name("my file.toml");
        let said = printed(&["init", "--from", bundled.name, &file]);
        assert_eq!(said, format!("{file} is written; next: fairlane run '{file}'\n"));
        assert_eq!(printed(&["check", &file]), printed(&["check", bundled.name]));
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.starts_with("#:schema scenario.schema.json\n# "), "{text}");
    }
}

#[test]
fn a_first_file_runs_as_it_is() {
    let place = Place::new();
    let file = place.name("first\nfile.toml");
    printed(&["init", &file]);
    let short = ["--set", "duration=2s", "--set", "warmup=1s", "--json"];
    let run = |file: &str| common::json(&[&["run", file][..], &short].concat())["flows"].clone();
    assert_eq!(run(&file), run("choke-fig3"));
}

/// Would catch a file that is overwritten, and one that is left behind when another cannot be written.
#[test]
fn what_is_there_stays() {
    let place = Place::new();
    let file = place.write("scenario.toml", "mine");
    let refused = |args: &[&str], part: &str| {
        let output = fairlane(args);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{args:?}: {stderr}");
        assert!(stderr.contains(part), "{args:?} does not say \"{part}\": {stderr}");
    };
    refused(&["init", &file], "is there already, and is not overwritten");
    refused(&["init", &file, "--from", "cellular"], "is there already, and is not overwritten");
    refused(&["init", &place.name("none/scenario.toml")], "No such file");
    refused(&["init", &place.name("new.toml"), "--from", "cellulra"], "did you mean \"cellular\"?");
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
    assert_eq!(fs::read_dir(place.path("")).unwrap().count(), 1);
}
