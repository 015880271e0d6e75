#![no_main]

#[path = "../entries/config.rs"]
mod config;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| config::run(bytes));
