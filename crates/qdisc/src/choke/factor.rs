//! CHOKeW's drawing factor: it rises while the queue is long, falls while it is short, and is divided by a packet's
//! weight.

use crate::weight::weight;
use crate::{Seed, Stream};

/// What the drawing factor is told.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct FactorSettings {
    /// At or below this queue nothing is compared.
    pub(crate) threshold: f64,
    /// Below this queue the factor falls.
    pub(crate) min: f64,
    /// Above this queue it rises.
    pub(crate) max: f64,
    /// Whether these are in bytes.
    pub(crate) in_bytes: bool,
    /// By how much it falls with an arrival.
    pub(crate) decrement: f64,
    /// By how much it rises with an arrival.
    pub(crate) increment: f64,
    /// Each further one of these above `max` makes the rise one step steeper; infinite where it is always the same.
    pub(crate) band: f64,
    /// It never exceeds this.
    pub(crate) most: f64,
}

/// How many times as steep the rise becomes.
const STEPS: u32 = 4;

/// The factor as it stands.
#[derive(Debug)]
pub(super) struct Factor {
    settings: FactorSettings,
    factor: f64,
    rolls: Stream,
}

impl Factor {
    pub(super) fn new(settings: FactorSettings, seed: Seed) -> Self {
        Self { settings, factor: 0.0, rolls: seed.stream("factor") }
    }

    /// Follows a queue of `packets` and `bytes`; whether it is long enough for arrivals to be compared.
    pub(super) fn follow(&mut self, packets: usize, bytes: u64) -> bool {
        let FactorSettings { threshold, min, max, in_bytes, decrement, increment, band, most } = self.settings;
        let queue = if in_bytes { bytes as f64 } else { packets as f64 };
        if queue < min {
            self.factor = (self.factor - decrement).max(0.0);
        } else if queue > max {
            let bands = (1..STEPS).filter(|&n| queue > max + f64::from(n) * band).count();
            self.factor = (self.factor + increment * (1 + bands) as f64).min(most);
        }
        queue > threshold
    }

    /// How many candidates an arrival of `class` has: the factor over its weight, rounded at random.
    pub(super) fn candidates(&mut self, class: u8) -> u32 {
        let draws = self.factor * SHARE[(weight(class) - 1) as usize];
        // Not negative and at most `most`: a cast cuts off the fraction.
        let whole = draws as u32;
        whole + u32::from(self.rolls.chance(draws - f64::from(whole)))
    }
}

/// One over each weight.
const SHARE: [f64; 4] = [1.0, 1.0 / 2.0, 1.0 / 3.0, 1.0 / 4.0];
