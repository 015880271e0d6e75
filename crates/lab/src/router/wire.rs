//! The way from the end of the bottleneck's transmission to the other end: delay, loss and jitter.

use fairlane_qdisc::{Duration, Rate, Seed, Time};
use fairlane_scenario::LinkSide;
use fairlane_traffic::{Propagation, VaryingRate};

/// One direction of the bottleneck behind its queue.
#[derive(Debug)]
pub(crate) struct Wire {
    rate: Rate,
    /// The rate if it varies, from [`start`](Self::start) on; until then it is that of time zero.
    varying: Option<VaryingRate>,
    start: Time,
    delay: Duration,
    propagation: Propagation,
}

impl Wire {
    /// Creates the wire of `side`. With the simulator's seed it loses the same packets by their number.
    pub(crate) fn new(side: &LinkSide, seed: Seed) -> Self {
        let wire = &side.wire;
        Self {
            rate: side.rate,
            varying: wire.rates.as_ref().map(VaryingRate::new),
            start: Time::MAX,
            delay: side.delay,
            propagation: Propagation::new(wire.loss, wire.jitter, wire.reorder, seed),
        }
    }

    /// Notes that time zero of the scenario is at `start`.
    pub(crate) const fn start(&mut self, start: Time) {
        self.start = start;
    }

    /// Returns the end of the transmission of `bytes` bytes that begins at `at`.
    pub(crate) fn sent(&mut self, at: Time, bytes: u32) -> Time {
        match &mut self.varying {
            Some(varying) => {
                let begins = Time::ZERO + at.since(self.start);
                at + varying.finish(begins, bytes).since(begins)
            }
            None => at + self.rate.transmission(bytes.into()),
        }
    }

    /// Returns the time at which a packet that was `sent` at this time reaches the other end; `None` if it is lost.
    pub(crate) fn arrival(&mut self, sent: Time) -> Option<Time> {
        self.propagation.arrival(sent, self.delay)
    }

    /// Returns true if the rate varies.
    pub(crate) const fn varies(&self) -> bool {
        self.varying.is_some()
    }

    /// Returns the mean rate in bit/s from `from` to `to`; `None` if it is constant.
    pub(crate) fn mean_rate(&self, from: Time, to: Time) -> Option<f64> {
        let [from, to] = [from, to].map(|at| Time::ZERO + at.since(self.start));
        self.varying.as_ref()?.mean(from, to)
    }
}

#[cfg(test)]
mod tests {
    use fairlane_scenario::Document;

    use super::*;

    fn wire(keys: &str) -> Wire {
        let text = format!(
            "duration = \"1s\"\n[bottleneck]\nrate = \"1mbit\"\ndelay = \"10ms\"\n{keys}\n[[flows]]\nname = \"a\"\nkind = \"tcp\"\n"
        );
        let scenario = Document::parse("wire.toml", &text).and_then(|document| document.scenario());
        Wire::new(&scenario.unwrap_or_else(|error| panic!("{error}")).links[0].forward, Seed::new(1))
    }

    /// By hand: 1000 bytes take 8 ms, and then 10 ms of delay. A quarter of 4000 packets is lost, with a standard error
    /// of 27.
    #[test]
    fn a_packet_takes_its_time_or_is_lost() {
        let ms = |millis: u64| Time::from_nanos(millis * 1_000_000);
        let mut even = wire("");
        let sent = even.sent(ms(5), 1000);
        assert_eq!((sent, even.arrival(sent)), (ms(13), Some(ms(23))));
        let mut lossy = wire("loss = 0.25");
        let lost = (0..4000).filter(|_| lossy.arrival(ms(0)).is_none()).count();
        assert!((900..1100).contains(&lost), "{lost}");
    }

    /// Would catch jitter that leaves its range, and packets that overtake each other without `reorder`.
    #[test]
    fn jitter_stays_in_its_range() {
        let arrivals = |keys: &str| {
            let mut wire = wire(keys);
            (0..1000)
                .map(|number| wire.arrival(Time::from_nanos(number * 1000 + 1_000_000)).expect("no loss"))
                .collect::<Vec<_>>()
        };
        let (kept, mixed) = (arrivals("jitter = \"4ms\""), arrivals("jitter = \"4ms\"\nreorder = true"));
        assert!(kept.is_sorted() && !mixed.is_sorted());
        for (number, at) in mixed.iter().enumerate() {
            let delay = at.as_nanos() - number as u64 * 1000 - 1_000_000;
            assert!((6_000_000..=14_000_000).contains(&delay), "{delay}");
        }
    }
}
