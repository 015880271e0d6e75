#![no_main]

#[path = "../entries/capi.rs"]
mod capi;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| capi::run(bytes));
