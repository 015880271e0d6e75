//! Runs the fuzz targets of `fuzz/run` on the committed corpora and, for a few seconds, on random bytes. This needs no
//! nightly toolchain, keeps the targets compiling, and repeats every input that once failed.

#[path = "../../../fuzz/entries/capture.rs"]
mod capture;
#[path = "../../../fuzz/entries/config.rs"]
mod config;
#[path = "../../../fuzz/entries/discipline.rs"]
mod discipline;
#[path = "../../../fuzz/entries/scenario.rs"]
mod scenario;

use std::path::{Path, PathBuf};

use fairlane_qdisc::{Kind, Seed, Stream};

/// Returns the files of a folder of this repository; panics if there are none.
fn files(folder: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let files: Vec<_> = entries
        .map(|entry| entry.expect("a folder that can be listed").path())
        .map(|path| (path.clone(), std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))))
        .collect();
    assert!(!files.is_empty(), "{} is empty", folder.display());
    files
}

/// Runs `target` on every file of `folder`; panics with the name of a file that fails.
fn run_all(folder: &str, target: fn(&[u8])) {
    for (path, bytes) in files(folder) {
        let outcome = std::panic::catch_unwind(|| target(&bytes));
        assert!(outcome.is_ok(), "{} fails", path.display());
    }
}

fn bytes(random: &mut Stream, most: u32) -> Vec<u8> {
    (0..random.below(most)).map(|_| random.bits() as u8).collect()
}

/// Would catch a discipline that loses or doubles a packet for some script. Most random bytes are valid scripts.
#[test]
fn any_discipline_conserves_packets() {
    run_all("fuzz/corpus/discipline", discipline::run);
    let mut random = Seed::new(1).stream("fuzz");
    for _ in 0..6000 {
        discipline::run(&bytes(&mut random, 1500));
    }
}

/// Would catch a panic, or an error without a position, for a scenario file with some bytes changed or for random
/// bytes.
#[test]
fn any_text_is_a_scenario_or_an_error_with_a_place() {
    run_all("fuzz/corpus/scenario", scenario::run);
    run_all("scenarios", scenario::run);
    let mut random = Seed::new(1).stream("fuzz");
    let seeds = [files("fuzz/corpus/scenario"), files("scenarios")].concat();
    for _ in 0..1500 {
        let (_, text) = &seeds[random.below(seeds.len() as u32) as usize];
        scenario::run(&changed(text, &mut random));
        scenario::run(&bytes(&mut random, 200));
    }
}

/// Would catch a panic, or an error without a reason, for any kind and any of its keys with mostly valid values.
#[test]
fn any_text_is_a_configuration_or_an_error_that_says_why() {
    run_all("fuzz/corpus/config", config::run);
    let mut random = Seed::new(1).stream("fuzz");
    let seeds = files("fuzz/corpus/config");
    for round in 0..1500 {
        let (_, text) = &seeds[random.below(seeds.len() as u32) as usize];
        config::run(&changed(text, &mut random));
        let kind = Kind::ALL[round % Kind::ALL.len()];
        let mut text = kind.name().to_owned();
        for parameter in kind.parameters() {
            if random.below(3) == 0 {
                let unit = ["", "p", "b", "kb", "ms", "s", "kbit", ".5"][random.below(8) as usize];
                text += &format!("\n{}={}{unit}", parameter.key, random.below(400));
            }
        }
        config::run(text.as_bytes());
    }
}

/// Returns `text` with a few bytes inserted, removed or replaced.
fn changed(text: &[u8], random: &mut Stream) -> Vec<u8> {
    let mut text = text.to_vec();
    for _ in 0..1 + random.below(4) {
        let start = random.below(text.len() as u32 + 1) as usize;
        let end = (start + random.below(8) as usize).min(text.len());
        let new = bytes(random, 5);
        text.splice(start..end, new.into_iter().map(|byte| byte & 0x7f));
    }
    text
}

/// Would catch a panic, or an error without the packet's number, for a capture that is truncated or has some bytes
/// changed.
#[test]
fn any_bytes_are_a_capture_or_an_error_that_names_the_packet() {
    run_all("crates/capture/tests/data", capture::run);
    run_all("fuzz/corpus/capture", capture::run);
    let mut random = Seed::new(1).stream("fuzz");
    let seeds = [files("crates/capture/tests/data"), files("fuzz/corpus/capture")].concat();
    for _ in 0..3000 {
        let (_, file) = &seeds[random.below(seeds.len() as u32) as usize];
        let cut = &file[..file.len().min(24 + random.below(4000) as usize)];
        capture::run(&changed(cut, &mut random));
        capture::run(&bytes(&mut random, 100));
    }
}
