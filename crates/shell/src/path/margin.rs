//! The time before an event from which the thread polls instead of sleeping.

use fairlane_qdisc::Duration;

/// The bounds of the margin. A machine that wakes the thread later than the largest one is busy, and polling would make
/// it busier.
const LEAST: u64 = 100_000;
const MOST: u64 = 500_000;

/// The part of what is above [`LEAST`] that is given up at each wake-up in time.
const FADE: u64 = 64;

/// How much earlier than an event the thread asks to be woken. The kernel wakes it late, by how much depends on the
/// machine: a virtual one that was idle takes some hundred microseconds.
#[derive(Debug)]
pub(crate) struct Margin(u64);

impl Default for Margin {
    fn default() -> Self {
        Self(LEAST)
    }
}

impl Margin {
    pub(crate) const fn as_nanos(&self) -> u64 {
        self.0
    }

    /// Takes note of a wake-up that came `late` after the time asked for.
    pub(crate) fn learn(&mut self, late: Duration) {
        let needed = late.as_nanos().saturating_add(late.as_nanos() / 4);
        self.0 = if needed > self.0 { needed.min(MOST) } else { self.0 - (self.0 - LEAST) / FADE };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_follows_late_wake_ups_at_once_and_forgets_them_slowly() {
        let mut margin = Margin::default();
        let us = |micros: u64| Duration::from_nanos(micros * 1_000);
        margin.learn(us(60));
        assert_eq!(margin.as_nanos(), 100_000, "the least");
        margin.learn(us(200));
        assert_eq!(margin.as_nanos(), 250_000, "a quarter more than it was late");
        margin.learn(us(100));
        assert_eq!(margin.as_nanos(), 250_000 - 150_000 / 64);
        margin.learn(us(30_000));
        assert_eq!(margin.as_nanos(), 500_000, "the most");
        (0..2_000).for_each(|_| margin.learn(us(10)));
        assert!((100_000..100_100).contains(&margin.as_nanos()), "{margin:?}");
    }
}
