//! Measurements of Fairlane's speed: in time by criterion (`benches/`), and in instructions by callgrind (the program
//! `count`).

pub mod station;

pub use station::{Load, Station};

/// Marks the start and the end of a count: `bench/callgrind.py` tells callgrind to begin a new count at each call.
#[inline(never)]
pub fn begin_count() {
    std::hint::black_box(());
}
