//! The cost of a bridge: frames through a discipline and frames that are forwarded at once, in turn, in network
//! namespaces.
//!
//! Run by `bench/linux/bridge`. `bench/linux/README.md` explains the numbers.
#![allow(clippy::disallowed_methods, reason = "a benchmark measures real time")]

#[cfg(target_os = "linux")]
#[path = "../../tests/common/mod.rs"]
mod common;
#[cfg(target_os = "linux")]
mod drain;
#[cfg(target_os = "linux")]
mod flood;
#[cfg(target_os = "linux")]
#[path = "../nfqueue/load.rs"]
#[allow(dead_code, reason = "the other benchmark uses all of it")]
mod load;
#[cfg(target_os = "linux")]
mod program;
#[cfg(target_os = "linux")]
mod tcp;

/// The default number of rounds; the first argument overrides it.
const ROUNDS: usize = 5;

fn main() {
    let rounds = std::env::args().nth(1).map_or(Ok(ROUNDS), |rounds| rounds.parse());
    match rounds {
        Ok(rounds @ 1..) => run(rounds),
        _ => {
            eprintln!("usage: bridge [ROUNDS]");
            std::process::exit(2);
        }
    }
}

#[cfg(target_os = "linux")]
fn run(rounds: usize) {
    common::bridged::bridged(false, move |lab| {
        common::bridged::introduce(lab);
        drain::compare(lab, rounds);
        flood::compare(lab, rounds);
        tcp::compare(lab, rounds);
    });
}

#[cfg(not(target_os = "linux"))]
fn run(_rounds: usize) {
    eprintln!("packet sockets are Linux's");
    std::process::exit(2);
}
