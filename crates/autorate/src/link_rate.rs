//! The rate of a busy link, from the spacing of answers.

use std::collections::VecDeque;

/// The time over which the rate is measured, in seconds: long enough for four probes, short enough to follow the link.
const SPAN: f64 = 0.2;

/// The moment at which a probe had passed the link's queue.
#[derive(Clone, Copy, Debug)]
struct Passage {
    /// Seconds, up to a constant.
    at: f64,
    /// The bytes that had passed before it.
    bytes: u64,
}

/// Measures the rate of a link while it has a queue: between two probes it sends the bytes that entered its queue
/// between them.
#[derive(Clone, Debug, Default)]
pub(crate) struct LinkRate {
    passages: VecDeque<Passage>,
}

impl LinkRate {
    /// Adds a probe that passed at `at` seconds behind `bytes` bytes; `busy` if the link had a queue then.
    pub(crate) fn passed(&mut self, at: f64, bytes: u64, busy: bool) {
        let passage = Passage { at, bytes };
        // A probe that overtook another, since their reflectors' baselines are not exact, starts a new measurement.
        if !busy || self.passages.back().is_some_and(|last| last.at > at || last.bytes > bytes) {
            self.passages.clear();
        }
        self.passages.push_back(passage);
        while self.passages.len() > 2 && at - self.passages[1].at >= SPAN {
            self.passages.pop_front();
        }
    }

    /// Returns the rate in bit/s; `None` if the link has not had a queue for at least half of the time that it takes.
    pub(crate) fn bits_per_second(&self) -> Option<f64> {
        let (first, last) = (self.passages.front()?, self.passages.back()?);
        let span = last.at - first.at;
        (span >= SPAN / 2.0).then(|| (last.bytes - first.bytes) as f64 * 8.0 / span)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Would catch a rate over more than the last 200 ms, over probes without a queue between them, or over too little
    /// time: 62,500 bytes in 50 ms are 10 Mbit/s, and in 100 ms they are 5.
    #[test]
    fn the_rate_is_that_of_the_last_passages() {
        let mut link = LinkRate::default();
        link.passed(0.0, 0, false);
        link.passed(0.05, 62_500, true);
        assert_eq!(link.bits_per_second(), None);
        link.passed(0.1, 125_000, true);
        assert!((link.bits_per_second().unwrap_or(0.0) - 10e6).abs() < 1.0);
        for passage in 1..=4_u32 {
            link.passed(0.1 + 0.1 * f64::from(passage), 125_000 + 62_500 * u64::from(passage), true);
        }
        assert!((link.bits_per_second().unwrap_or(0.0) - 5e6).abs() < 1.0);
        link.passed(0.6, 500_000, false);
        assert_eq!(link.bits_per_second(), None);
        link.passed(0.55, 510_000, true);
        assert_eq!(link.passages.len(), 1);
    }
}
