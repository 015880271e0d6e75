//! Runs the function that `fuzz/run netlink` fuzzes over the committed corpus and over changes of it.
#![cfg(target_os = "linux")]

#[path = "../../../fuzz/entries/netlink.rs"]
mod netlink;

use std::path::Path;

use fairlane_qdisc::{Seed, Stream};

fn changed(bytes: &[u8], random: &mut Stream) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..1 + random.below(4) {
        let start = random.below(bytes.len() as u32 + 1) as usize;
        let end = (start + random.below(8) as usize).min(bytes.len());
        let new: Vec<u8> = (0..random.below(8)).map(|_| random.bits() as u8).collect();
        // Mostly replaces bytes, so that the following ones stay where a length says.
        if random.below(4) > 0 {
            bytes[start..end].iter_mut().for_each(|byte| *byte = random.bits() as u8);
        } else {
            bytes.splice(start..end, new);
        }
    }
    bytes
}

/// Would catch a panic, an endless loop and a verdict that is not a valid message, for all that a socket can return.
#[test]
fn any_bytes_are_messages_or_nothing() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/netlink");
    let read = |entry: std::io::Result<std::fs::DirEntry>| std::fs::read(entry.unwrap().path()).unwrap();
    let seeds: Vec<Vec<u8>> = std::fs::read_dir(folder).unwrap().map(read).collect();
    assert!(!seeds.is_empty());
    seeds.iter().for_each(|seed| netlink::run(seed));
    let mut random = Seed::new(1).stream("fuzz");
    for round in 0..50_000 {
        netlink::run(&changed(&seeds[round % seeds.len()], &mut random));
    }
}
