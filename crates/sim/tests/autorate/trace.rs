//! Traces of a link's rate, by a documented law.

use std::fmt::Write as _;

use fairlane_qdisc::Seed;

/// The length of a trace in milliseconds.
pub(crate) const LENGTH: u64 = 120_000;

/// The number of levels.
const LEVELS: u32 = 8;

/// A Markov chain of rates. The levels are at equal ratios from 2 to 30 Mbit/s, and the first is drawn uniformly. A
/// level lasts an exponential time with this mean, at least 100 ms, in whole milliseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chain {
    pub(crate) dwell_s: f64,
    /// The next level is any other one, uniformly; otherwise one of the two neighbours.
    pub(crate) jumps: bool,
}

impl Chain {
    /// Returns each rate in bit/s with the millisecond from which it holds.
    pub(crate) fn steps(self, seed: u64) -> Vec<(u64, u64)> {
        let mut random = Seed::new(seed).stream("trace");
        let (mut level, mut at, mut steps) = (random.below(LEVELS), 0, Vec::new());
        while at < LENGTH {
            let rate = 2e6 * libm::pow(15.0, f64::from(level) / f64::from(LEVELS - 1));
            steps.push((at, libm::round(rate) as u64));
            let dwell = -libm::log(1.0 - random.unit()) * self.dwell_s;
            at += libm::round(1000.0 * dwell.max(0.1)) as u64;
            level = if self.jumps {
                (level + 1 + random.below(LEVELS - 1)) % LEVELS
            } else if level == 0 || level < LEVELS - 1 && random.chance(0.5) {
                level + 1
            } else {
                level - 1
            };
        }
        steps
    }
}

/// Returns the text of a trace file.
pub(crate) fn csv(steps: &[(u64, u64)]) -> String {
    steps.iter().fold(String::from("time_s,rate_bps\n"), |mut text, (at, rate)| {
        writeln!(text, "{}.{:03},{rate}", at / 1000, at % 1000).expect("writing to a string cannot fail");
        text
    })
}

/// Returns the mean rate in bit/s.
pub(crate) fn mean(steps: &[(u64, u64)]) -> f64 {
    let ends = steps.iter().skip(1).map(|(at, _)| *at).chain([LENGTH]);
    let bits: u64 = steps.iter().zip(ends).map(|((at, rate), end)| rate * (end - at)).sum();
    bits as f64 / LENGTH as f64
}
