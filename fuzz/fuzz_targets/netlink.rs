#![no_main]

#[path = "../entries/netlink.rs"]
mod netlink;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| netlink::run(bytes));
