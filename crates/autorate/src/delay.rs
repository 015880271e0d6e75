//! Delays of probes above their baselines.

use std::collections::VecDeque;

/// The weight of a delay above the baseline in the new baseline. Source: cake-autorate 3, `alpha_baseline_increase`.
const UPWARD: f64 = 0.001;
/// The weight of a delay below it. Source: cake-autorate 3, `alpha_baseline_decrease`.
const DOWNWARD: f64 = 0.9;

/// The delay of a probe, as far as its answer tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeDelay {
    /// The time of the round trip, of which half is taken for the delay: an echo does not tell in which direction it
    /// waited.
    RoundTrip,
    /// The nanoseconds in this direction, from a time stamp of the reflector. Its clock need not agree with that of the
    /// user: the difference between them is part of the baseline.
    OneWay(i64),
}

/// The delay of a reflector without queues, in seconds: an exponentially weighted mean that falls fast and rises
/// slowly.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Baseline(Option<f64>);

impl Baseline {
    /// Adds a delay in seconds and returns how far it is above the new baseline, in seconds; negative if it is below.
    pub(crate) fn add(&mut self, delay: f64) -> f64 {
        let before = self.0.unwrap_or(delay);
        let weight = if delay >= before { UPWARD } else { DOWNWARD };
        let now = before + weight * (delay - before);
        self.0 = Some(now);
        delay - now
    }
}

/// The last delays above the baseline.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    /// Seconds above the baseline, and true if that was late.
    samples: VecDeque<(f64, bool)>,
    size: usize,
}

impl Window {
    pub(crate) fn new(size: u32) -> Self {
        Self { samples: VecDeque::with_capacity(size as usize), size: size as usize }
    }

    pub(crate) fn add(&mut self, above: f64, late: bool) {
        if self.samples.len() == self.size {
            self.samples.pop_front();
        }
        self.samples.push_back((above, late));
    }

    pub(crate) fn late(&self) -> usize {
        self.samples.iter().filter(|(_, late)| *late).count()
    }

    /// Returns the mean in seconds; samples that are not there yet count as 0.
    pub(crate) fn mean(&self) -> f64 {
        self.samples.iter().map(|(above, _)| above).sum::<f64>() / self.size as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Would catch weights that are exchanged, and a delay that is compared with the baseline before it: from 20 ms, 30
    /// ms moves it to 20.01 and is 9.99 above; 10 ms moves it by 0.9 · 10.01 to 11.001 and is 1.001 below.
    #[test]
    fn a_baseline_falls_fast_and_rises_slowly() {
        let mut baseline = Baseline::default();
        let above = [0.020, 0.030, 0.010].map(|delay| baseline.add(delay) * 1e3);
        for (above, expected) in above.into_iter().zip([0.0, 9.99, -1.001]) {
            assert!((above - expected).abs() < 1e-9, "{above} {expected}");
        }
    }
}
