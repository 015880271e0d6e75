//! Runs the function that `fuzz/run capi` fuzzes over the committed corpus and, for a few seconds, over random bytes.

#[path = "../../../fuzz/entries/capi.rs"]
mod capi;

use std::path::Path;

use fairlane_qdisc::Seed;

/// Would catch a handle that comes back twice or never, counts that do not agree with it, and a queue that dies.
#[test]
fn any_calls_give_each_handle_back_once() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/capi");
    let scripts = std::fs::read_dir(folder).unwrap().map(|entry| std::fs::read(entry.unwrap().path()).unwrap());
    let scripts: Vec<Vec<u8>> = scripts.collect();
    assert!(!scripts.is_empty());
    scripts.iter().for_each(|script| capi::run(script));
    let mut random = Seed::new(1).stream("fuzz");
    // Miri takes seconds for a short one.
    let (count, most) = if cfg!(miri) { (30, 300) } else { (6000, 1500) };
    for _ in 0..count {
        let script: Vec<u8> = (0..random.below(most)).map(|_| random.bits() as u8).collect();
        capi::run(&script);
    }
}
