//! How long things took, in classes of a fixed set.

use fairlane_qdisc::Duration;

/// The upper bounds of the classes in nanoseconds: 10 us to 10 s in steps of 1, 2 and 5. What takes longer is in one more class.
const BOUNDS: [u64; 19] = {
    let mut bounds = [0; 19];
    let (mut at, mut decade) = (0, 10_000);
    while at < bounds.len() {
        bounds[at] = decade * [1, 2, 5][at % 3];
        if at % 3 == 2 {
            decade *= 10;
        }
        at += 1;
    }
    bounds
};

/// A histogram of durations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delays {
    classes: [u64; BOUNDS.len() + 1],
    count: u64,
    sum_ns: u128,
    most: Duration,
}

impl Delays {
    /// Counts one.
    pub(crate) fn add(&mut self, delay: Duration) {
        let class = BOUNDS.partition_point(|bound| *bound < delay.as_nanos());
        self.classes[class] += 1;
        self.count += 1;
        self.sum_ns += u128::from(delay.as_nanos());
        self.most = self.most.max(delay);
    }

    /// How many there were.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// All of them together, in seconds.
    #[must_use]
    pub fn sum_s(&self) -> f64 {
        self.sum_ns as f64 / 1e9
    }

    /// The longest; no time if there was none.
    #[must_use]
    pub const fn most(&self) -> Duration {
        self.most
    }

    /// The classes: the upper bound in seconds, infinite for the last, and how many were in the class alone.
    pub fn classes(&self) -> impl Iterator<Item = (f64, u64)> {
        let bounds = BOUNDS.iter().map(|bound| *bound as f64 / 1e9).chain([f64::INFINITY]);
        bounds.zip(self.classes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Would catch a bound that belongs to the class above (Prometheus's `le` includes it) and one that is off by a decade.
    #[test]
    fn a_delay_is_in_its_class() {
        let mut delays = Delays::default();
        for nanos in [0, 10_000, 10_001, 10_000_000_000, 10_000_000_001] {
            delays.add(Duration::from_nanos(nanos));
        }
        let classes: Vec<(f64, u64)> = delays.classes().collect();
        assert_eq!((classes[0], classes[1]), ((10e-6, 2), (20e-6, 1)));
        assert_eq!((classes[18], classes[19]), ((10.0, 1), (f64::INFINITY, 1)));
        assert_eq!((classes.len(), delays.count(), delays.most().as_nanos()), (20, 5, 10_000_000_001));
        assert!((delays.sum_s() - 20.000_020_002).abs() < 1e-12);
    }
}
