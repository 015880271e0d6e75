//! A build with only the default features: errors name the missing feature and a command that has it.
#![cfg(not(any(
    feature = "html",
    feature = "lab",
    feature = "manual",
    feature = "papers",
    feature = "parquet",
    feature = "playground",
    feature = "router",
    feature = "top"
)))]

mod common;

use assert_cmd::Command;
use common::{Place, fairlane};

/// Runs the program, which must refuse with the remedy `--features feature`; `cargo` as if under `cargo run`.
fn refused(args: &[&str], feature: &str, cargo: bool) -> String {
    let mut command = Command::cargo_bin("fairlane").unwrap();
    let command = if cargo { command.env("CARGO", "cargo") } else { command.env_remove("CARGO") };
    let output = command.args(args).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{args:?}: {stderr}");
    assert!(stderr.contains(&format!("needs the feature {feature}")), "{args:?}: {stderr}");
    stderr
}

/// Would catch a verb whose options are checked before the missing feature is reported, and a remedy without the given
/// arguments.
#[test]
fn a_verb_that_is_left_out_names_its_feature() {
    for (args, feature) in [
        (&["paper", "run", "choke-fig3", "--short"][..], "papers"),
        (&["router", "--queue-num", "0", "--rate", "10mbit", "choke"], "router"),
        (&["router", "--help"], "router"),
        (&["top", "--once"], "top"),
        (&["lab", "my file.toml", "--against-sim"], "lab"),
        (&["man", "folder"], "manual"),
        (&["playground"], "playground"),
        (&["completions", "bash"], "manual"),
        (&["plot", "saved.json", "--svg", "figure.svg"], "html"),
    ] {
        let message = refused(args, feature, true);
        let arguments = args.join(" ").replace("my file.toml", "'my file.toml'");
        let remedy = format!("run: cargo run --release --features {feature} -- {arguments}\n");
        assert!(message.ends_with(&remedy), "{message}");
        let message = refused(args, feature, false);
        assert!(
            message.contains(&format!("cargo install --profile dist --path crates/cli --features {feature}")),
            "{message}"
        );
    }
}

/// Would catch a check of the output format that comes only after the work, and a file that is left behind.
#[test]
fn an_output_that_is_left_out_is_refused_before_the_work() {
    let (place, file) = Place::with_small();
    let [page, table] = [place.name("page.html"), place.name("out.parquet")];
    for args in [
        &["compare", "--html", &page][..],
        &["run", &file, "--html", &page],
        &["sweep", &file, "--vary", "seed=1,2", "--html", &page],
        &["theory", "choke", "--load", "2", "--svg", &page],
        &["compare", "--svg", &page],
        &["sweep", &file, "--vary", "seed=1,2", "--svg", &page],
    ] {
        refused(args, "html", true);
    }
    for args in [
        &["sweep", &file, "--vary", "seed=1,2", "--table", &table][..],
        &["run", &file, "--trace", &table],
        &["run", &file, "--series", &table],
    ] {
        refused(args, "parquet", true);
    }
    refused(&["compare", "--pdf", &page], "pdf", true);
    assert_eq!(std::fs::read_dir(place.path("")).unwrap().count(), 1);
}

/// Would catch Parquet tables that are left out without a note, and CSV tables that are not written.
#[test]
fn a_folder_of_tables_has_those_in_csv_and_says_so() {
    let (place, file) = Place::with_small();
    let output = fairlane(&["run", &file, "--out", &place.name("results")]);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    assert!(stderr.contains("CSV alone") && stderr.contains("--features parquet"), "{stderr}");
    assert!(place.path("results/flows.csv").exists() && !place.path("results/flows.parquet").exists());
}
