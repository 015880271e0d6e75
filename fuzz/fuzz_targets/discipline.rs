#![no_main]

#[path = "../entries/discipline.rs"]
mod discipline;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| discipline::run(bytes));
