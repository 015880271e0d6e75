#![no_main]

#[path = "../entries/capture.rs"]
mod capture;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| capture::run(bytes));
