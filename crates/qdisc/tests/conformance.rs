//! The vectors in `conformance/vectors`, for implementations in other languages: the library agrees with each of them,
//! they agree with the slow references, and they are up to date.
//!
//! `UPDATE_VECTORS=1 cargo test -p fairlane-qdisc --test conformance` writes them again.

#[path = "conformance/adaptive.rs"]
#[allow(dead_code, reason = "the references can do more than the vectors ask")]
mod adaptive;
#[path = "conformance/cases.rs"]
mod cases;
#[path = "conformance/file.rs"]
mod file;
#[path = "conformance/slow.rs"]
mod slow;

#[path = "reference"]
#[allow(dead_code, reason = "the references can do more than the vectors ask")]
mod accounting_references {
    pub(crate) mod afd;
    pub(crate) mod csfq;
    pub(crate) mod echo;
    pub(crate) mod fred;
    pub(crate) mod line;
    pub(crate) mod sred;
}
#[allow(dead_code, reason = "the references can do more than the vectors ask")]
mod reference;
#[path = "reference"]
#[allow(dead_code, reason = "the references can do more than the vectors ask")]
mod fair_references {
    pub(crate) mod cbq;
    pub(crate) mod drr;
    pub(crate) mod fair;
    pub(crate) mod ties;
}
#[path = "reference"]
#[allow(dead_code, reason = "the references can do more than the vectors ask")]
mod other_references {
    pub(crate) mod acks;
    pub(crate) mod bare;
    pub(crate) mod cake;
    pub(crate) mod choke_auto;
    pub(crate) mod cobalt;
    pub(crate) mod codel;
    pub(crate) mod delay;
    pub(crate) mod fq;
    pub(crate) mod pi2;
    pub(crate) mod pie;
    pub(crate) use super::fair_references::ties;
}

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{env, fs};

use accounting_references::line;
use fairlane_qdisc::testing::{Event, Vector, replay};
use fairlane_qdisc::{Kind, Seed};

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/vectors")
}

/// Would catch a library that differs from the reference for these operations, a file that was not updated when a
/// discipline, its parameters or the operations changed, and an incomplete file.
#[test]
fn the_vectors_are_what_the_references_say_and_the_library_does() -> Outcome {
    compare_with_the_references()?;
    // Only after the check above, which may have written the files.
    replay_the_files()
}

fn compare_with_the_references() -> Outcome {
    let operations = cases::operations();
    for case in cases::cases()? {
        let library = replay(&mut case.config.build(&case.host())?, &operations);
        let (expected, from) = file::expected(&case, &library, &operations);
        for ((operation, expected), got) in operations.iter().zip(&expected).zip(&library) {
            assert!(got.agrees(expected), "{}: {operation:?}: {got:?} instead of {expected:?}", case.name);
        }
        let path = folder().join(format!("{}.jsonl", case.name));
        let text = file::write(&case, from, &operations, &expected);
        if env::var_os("UPDATE_VECTORS").is_some() {
            fs::write(&path, &text)?;
        }
        assert!(fs::read_to_string(&path).is_ok_and(|old| old == text), "{}: run with UPDATE_VECTORS=1", case.name);
    }
    Ok(())
}

/// Replays the files as another implementation would, with nothing but the files.
fn replay_the_files() -> Outcome {
    let mut kinds = BTreeSet::new();
    for entry in fs::read_dir(folder())? {
        let path = entry?.path();
        let text = fs::read_to_string(&path)?;
        if path.file_name().is_some_and(|name| name == "streams.jsonl") {
            continue;
        }
        let vector = Vector::parse(&text)?;
        assert!(vector.operations.len() > 300, "{}", path.display());
        let got = vector.replay()?;
        let differs = (0..got.len()).find(|&line| !got[line].agrees(&vector.expected[line]));
        assert_eq!(differs, None, "{}, line {:?}", path.display(), differs.map(|line| line + 2));
        let drops = got.iter().flat_map(|after| &after.events).any(|event| matches!(event, Event::Dropped(..)));
        assert!(drops, "{} shows no drop", path.display());
        kinds.insert(
            serde_json::from_str::<serde_json::Value>(text.lines().next().unwrap_or("{}"))?["kind"].to_string(),
        );
    }
    assert_eq!(kinds.len(), Kind::ALL.len(), "{kinds:?}");
    Ok(())
}

/// The random numbers, once more and straight from their definitions: SplitMix64's finalizer (Steele, Lea, Flood 2014),
/// FNV-1a, PCG XSL RR 128/64 MCG (O'Neill 2014).
fn words(seed: u64, name: &str, count: usize) -> Vec<u64> {
    const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |z: u64| {
        let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    let seed = mix(seed.wrapping_add(GOLDEN));
    let fnv = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    let named = mix(name.bytes().fold(seed ^ 0xcbf2_9ce4_8422_2325, fnv));
    let mut state = (u128::from(mix(named)) << 64 | u128::from(mix(named.wrapping_add(GOLDEN)))) | 1;
    let mut word = || {
        state = state.wrapping_mul(0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645);
        ((state >> 64) as u64 ^ state as u64).rotate_right((state >> 122) as u32)
    };
    (0..count).map(|_| word()).collect()
}

/// Implementations that replay a randomised discipline need the same random numbers. Would catch a generator that
/// differs from the one that `conformance/README.md` describes.
#[test]
fn the_streams_are_as_described() -> Outcome {
    let mut text = String::new();
    for (seed, name) in [(0, "red"), (7, "red"), (7, "choke"), (u64::MAX, "drop")] {
        let described = words(seed, name, 4);
        let mut stream = Seed::new(seed).stream(name);
        assert_eq!(described, (0..4).map(|_| stream.bits()).collect::<Vec<_>>());
        let mut units = Seed::new(seed).stream(name);
        let units: Vec<f64> = (0..4).map(|_| units.unit()).collect();
        let expected: Vec<f64> = described.iter().map(|word| (word >> 11) as f64 / 9_007_199_254_740_992.0).collect();
        assert_eq!(units, expected);
        let words: Vec<_> = described.iter().map(|word| format!("\"{word:016x}\"")).collect();
        text += &format!("{{\"seed\": {seed}, \"stream\": \"{name}\", \"words\": [{}]}}\n", words.join(", "));
    }
    let path = folder().join("streams.jsonl");
    if env::var_os("UPDATE_VECTORS").is_some() {
        fs::write(&path, &text)?;
    }
    assert_eq!(fs::read_to_string(path)?, text);
    Ok(())
}
