//! The rate of a link that varies.

use fairlane_qdisc::{Duration, Rate, Time};
use fairlane_scenario::RateSteps;

/// A rate in steps. Capacity is counted in nanoseconds times bit/s.
#[derive(Clone, Debug)]
pub struct VaryingRate {
    /// The start of each step in nanoseconds of the cycle, and its rate in bit/s.
    steps: Vec<(u64, u64)>,
    /// The length of the cycle in nanoseconds; `u64::MAX` if the steps do not repeat.
    cycle: u64,
    /// The capacity of a whole cycle.
    cycle_capacity: u128,
    /// The capacity left of the last nanosecond of the packet before.
    spare: u128,
}

const NANOS: u128 = 1_000_000_000;

impl VaryingRate {
    /// Returns the rate of these steps.
    #[must_use]
    pub fn new(rates: &RateSteps) -> Self {
        let steps = rates.steps().iter().map(|(at, rate)| (at.as_nanos(), rate.bits_per_second())).collect();
        let cycle = rates.every().map_or(u64::MAX, Duration::as_nanos);
        let mut rates = Self { steps, cycle, cycle_capacity: 0, spare: 0 };
        rates.cycle_capacity = rates.within(cycle);
        rates
    }

    /// Returns the end of the transmission of `bytes` bytes that begins at `now`, rounded up to whole nanoseconds. The
    /// capacity left over goes to the next packet, so that the rates are exact in the long run.
    pub fn finish(&mut self, now: Time, bytes: u32) -> Time {
        let mut work = (u128::from(bytes) * 8 * NANOS).saturating_sub(self.spare);
        self.spare = 0;
        if work == 0 {
            return now;
        }
        // Skips whole cycles, but not so many that the packet would end in an outage of the last one.
        let cycles = (work - 1) / self.cycle_capacity.max(1);
        work -= cycles * self.cycle_capacity;
        let whole = u64::try_from(cycles * u128::from(self.cycle)).unwrap_or(u64::MAX);
        let mut at = now + Duration::from_nanos(whole);
        while at < Time::MAX {
            let (rate, end) = self.step(at.as_nanos());
            let room = u128::from(rate) * u128::from(end - at.as_nanos());
            if room >= work {
                let nanos = work.div_ceil(u128::from(rate));
                self.spare = nanos * u128::from(rate) - work;
                return at + Duration::from_nanos(nanos as u64);
            }
            work -= room;
            at = Time::from_nanos(end);
        }
        at
    }

    /// Returns the rate at `at`.
    #[must_use]
    pub fn at(&self, at: Time) -> Rate {
        Rate::from_bits_per_second(self.step(at.as_nanos()).0)
    }

    /// Returns the mean rate in bit/s from `from` to `to`; `None` if no time has passed.
    #[must_use]
    pub fn mean(&self, from: Time, to: Time) -> Option<f64> {
        let time = to.since(from).as_nanos();
        (time > 0).then(|| (self.capacity(to.as_nanos()) - self.capacity(from.as_nanos())) as f64 / time as f64)
    }

    /// Returns the rate at `at` and the end of its step.
    fn step(&self, at: u64) -> (u64, u64) {
        let (begin, within) = (at - at % self.cycle, at % self.cycle);
        let next = self.steps.partition_point(|(from, _)| *from <= within);
        let rate = next.checked_sub(1).map_or(0, |step| self.steps[step].1);
        let end = self.steps.get(next).map_or(self.cycle, |(from, _)| *from);
        (rate, begin.saturating_add(end))
    }

    /// Returns the capacity from time zero to `at`.
    fn capacity(&self, at: u64) -> u128 {
        u128::from(at / self.cycle) * self.cycle_capacity + self.within(at % self.cycle)
    }

    /// Returns the capacity of the first `nanos` nanoseconds of a cycle.
    fn within(&self, nanos: u64) -> u128 {
        let ends = self.steps.iter().skip(1).map(|(from, _)| *from).chain([u64::MAX]);
        let capacity = |((from, rate), end): (&(u64, u64), u64)| {
            u128::from(end.min(nanos).saturating_sub(*from)) * u128::from(*rate)
        };
        self.steps.iter().zip(ends).map(capacity).sum()
    }
}

#[cfg(test)]
mod tests {
    use fairlane_scenario::Document;

    use super::*;

    fn rates(text: &str) -> VaryingRate {
        let file = format!("duration = \"1s\"\n[bottleneck]\nrate = {text}\n[[flows]]\nname = \"a\"\nkind = \"tcp\"\n");
        let scenario = Document::parse("rates.toml", &file).and_then(|document| document.scenario());
        let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
        scenario.links[0].forward.wire.rates.as_ref().map(VaryingRate::new).expect("the rate varies")
    }

    fn ms(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    /// Would catch a packet that keeps the rate at which it began. 1000 bytes take 8 ms at 1 Mbit/s and 2 ms at 4
    /// Mbit/s, so half of either time is half of the packet.
    #[test]
    fn a_packet_that_meets_a_step_takes_part_of_each_rate() {
        let mut rates = rates(r#"{ steps = [["0s", "1mbit"], ["10ms", "4mbit"], ["20ms", "0bit"]], every = "30ms" }"#);
        assert_eq!(rates.finish(ms(0), 1000), ms(8));
        assert_eq!(rates.finish(ms(6), 1000), ms(11));
        assert_eq!(rates.finish(ms(12), 1000), ms(14));
        // 1 ms at 4 Mbit/s for the first half, an outage of 10 ms, then 4 ms at 1 Mbit/s.
        assert_eq!(rates.finish(ms(19), 1000), ms(34));
        assert_eq!(rates.finish(ms(25), 1000), ms(38));
        // A cycle carries 10 kbit + 40 kbit, 6250 bytes. The last bit is sent before the outage, not after it.
        assert_eq!(rates.finish(ms(0), 6250), ms(20));
        assert_eq!(rates.finish(ms(30), 3 * 6250), ms(110));
        assert_eq!(rates.finish(ms(30), 3 * 6250 + 125), ms(121));
        assert_eq!(rates.capacity(ms(95).as_nanos()), (3 * 50_000 + 5_000) * NANOS);
    }

    /// Would catch capacity that is lost to rounding: a million packets of 1 byte at 3 Mbit/s take 8/3 s.
    #[test]
    fn rates_are_exact_in_the_long_run() {
        let mut rates = rates(r#"{ steps = [["0s", "3mbit"], ["1s", "3mbit"]] }"#);
        let end = (0..1_000_000).fold(Time::ZERO, |now, _| rates.finish(now, 1));
        assert_eq!(end.as_nanos(), 2_666_666_667);
    }
}
