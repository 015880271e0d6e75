//! The largest value of recent time, where time is counted in rounds or cycles.

use std::collections::VecDeque;

/// The values that are or may become the largest of recent time, with their times, falling.
#[derive(Clone, Debug, Default)]
pub(super) struct RecentMax(VecDeque<(u32, f64)>);

impl RecentMax {
    /// Returns the largest value; 0 without any.
    pub(super) fn get(&self) -> f64 {
        self.0.front().map_or(0.0, |(_, value)| *value)
    }

    /// Adds `value` at `time`, which does not fall, and forgets those that are `length` old.
    pub(super) fn update(&mut self, time: u32, length: u32, value: f64) {
        // Smaller and older values can no longer become the maximum.
        while self.0.back().is_some_and(|(_, other)| *other <= value) {
            self.0.pop_back();
        }
        self.0.push_back((time, value));
        while self.0.front().is_some_and(|(of, _)| time - of >= length) {
            self.0.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use fairlane_qdisc::Seed;

    use super::*;

    /// Would catch a maximum that expires early or late, or that hides later ones.
    #[test]
    fn is_the_largest_of_recent_time() {
        for length in [1, 2, 10] {
            let mut random = Seed::new(1).stream("rates");
            let (mut max, mut all) = (RecentMax::default(), Vec::new());
            let mut time = 0;
            for _ in 0..2_000 {
                time += random.below(3);
                let value = f64::from(random.below(50));
                max.update(time, length, value);
                all.push((time, value));
                let recent = all.iter().filter(|(of, _)| time - of < length).map(|(_, value)| *value);
                assert_eq!(max.get(), recent.fold(0.0, f64::max));
            }
        }
    }
}
