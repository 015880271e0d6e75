//! How long things took, in classes of a fixed set.

use fairlane_qdisc::Duration;

/// The steps of a decade, the series R10 of ISO 3: each is 10^(1/10) times the one before, within one percent and rounded to words
/// that people know.
const STEPS: [u64; 10] = [100, 125, 160, 200, 250, 315, 400, 500, 630, 800];

/// Those of them where the coarse classes end: 1, 2 and 5.
const COARSE: [usize; 3] = [0, 3, 7];

/// The upper bounds of the classes in nanoseconds: 10 us to 10 s. What takes longer is in one more class.
const BOUNDS: [u64; 61] = {
    let mut bounds = [0; 61];
    let (mut at, mut unit) = (0, 100);
    while at < bounds.len() {
        bounds[at] = unit * STEPS[at % STEPS.len()];
        at += 1;
        if at % STEPS.len() == 0 {
            unit *= 10;
        }
    }
    bounds
};

/// A histogram of durations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delays {
    classes: [u64; BOUNDS.len() + 1],
    count: u64,
    sum_ns: u128,
    most: Duration,
}

impl Default for Delays {
    fn default() -> Self {
        Self { classes: [0; BOUNDS.len() + 1], count: 0, sum_ns: 0, most: Duration::ZERO }
    }
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

    /// The classes: the upper bound in seconds, infinite for the last, and how many were in the class alone. There are ten to a
    /// decade.
    pub fn classes(&self) -> impl Iterator<Item = (f64, u64)> {
        let bounds = BOUNDS.iter().map(|bound| *bound as f64 / 1e9).chain([f64::INFINITY]);
        bounds.zip(self.classes)
    }

    /// The same in fewer classes, which end at 1, 2 and 5 in each decade.
    #[must_use]
    pub fn coarse_classes(&self) -> Vec<(f64, u64)> {
        let (mut coarse, mut within) = (Vec::new(), 0);
        for (index, (bound, count)) in self.classes().enumerate() {
            within += count;
            if COARSE.contains(&(index % STEPS.len())) || bound.is_infinite() {
                coarse.push((bound, within));
                within = 0;
            }
        }
        coarse
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
        assert_eq!((classes[0], classes[1]), ((10e-6, 2), (12.5e-6, 1)));
        assert_eq!((classes[60], classes[61]), ((10.0, 1), (f64::INFINITY, 1)));
        assert_eq!((classes.len(), delays.count(), delays.most().as_nanos()), (62, 5, 10_000_000_001));
        assert!((delays.sum_s() - 20.000_020_002).abs() < 1e-12);
    }

    /// One delay in each class, at its bound. Would catch a coarse class that ends elsewhere than at 1, 2 and 5, and one that forgets.
    #[test]
    fn coarse_classes_hold_the_fine_ones() {
        let mut delays = Delays::default();
        BOUNDS.iter().for_each(|bound| delays.add(Duration::from_nanos(*bound)));
        let coarse = delays.coarse_classes();
        // 10 us alone; up to 20, 50, 100 us: 12.5 16 20, 25 31.5 40 50, 63 80 100.
        assert_eq!(coarse[..4], [(10e-6, 1), (20e-6, 3), (50e-6, 4), (100e-6, 3)]);
        assert_eq!((coarse.len(), coarse[18], coarse[19]), (20, (10.0, 3), (f64::INFINITY, 0)));
        assert_eq!(coarse.iter().map(|(_, count)| count).sum::<u64>(), 61);
    }
}
