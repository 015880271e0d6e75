//! The line of a scenario behind the queue, in real time.

use fairlane_link::{FrameLimits, Line};
use fairlane_qdisc::{Seed, Time};
use fairlane_scenario::LinkSide;
use fairlane_traffic::ScenarioLine;

/// The line of one direction, by a clock on which the scenario begins at some time.
#[derive(Debug)]
pub(crate) struct Wire {
    line: ScenarioLine,
    /// Time zero of the line.
    zero: Time,
    /// The line from the start of the scenario on.
    at_start: Option<ScenarioLine>,
}

impl Wire {
    /// Creates the wire of `side`, with time zero at `zero`. With the simulator's seed it loses the same packets by
    /// their number.
    pub(crate) fn new(side: &LinkSide, seed: Seed, zero: Time) -> Self {
        let line = || ScenarioLine::new(side, seed);
        Self { line: line(), zero, at_start: Some(line()) }
    }

    /// Starts the scenario at `now`: packets before, which open connections, have had no part in it.
    pub(crate) fn start(&mut self, now: Time) {
        if let Some(line) = self.at_start.take() {
            (self.line, self.zero) = (line, now);
        }
    }

    /// Returns the mean rate in bit/s from `from` to `to`.
    pub(crate) fn mean_rate(&self, from: Time, to: Time) -> f64 {
        self.line.mean_rate(self.of_line(from), self.of_line(to))
    }

    fn of_line(&self, at: Time) -> Time {
        Time::ZERO + at.since(self.zero)
    }

    fn of_clock(&self, at: Time) -> Time {
        self.zero + at.since(Time::ZERO)
    }
}

impl Line for Wire {
    fn admits(&mut self, now: Time, bytes: u32) -> bool {
        self.line.admits(self.of_line(now), bytes)
    }

    fn hold(&mut self, now: Time, queued: bool) -> Option<Time> {
        self.line.hold(self.of_line(now), queued).map(|until| self.of_clock(until))
    }

    fn frame(&self) -> Option<FrameLimits> {
        self.line.frame()
    }

    fn finish(&mut self, now: Time, bytes: u32) -> Time {
        let end = self.line.finish(self.of_line(now), bytes);
        self.of_clock(end)
    }

    fn arrival(&mut self, sent: Time) -> Option<Time> {
        self.line.arrival(self.of_line(sent)).map(|arrival| self.of_clock(arrival))
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
        Wire::new(&scenario.unwrap_or_else(|error| panic!("{error}")).links[0].forward, Seed::new(1), Time::ZERO)
    }

    /// By hand: 1000 bytes take 8 ms, and then 10 ms of delay. A quarter of 4000 packets is lost, with a standard error
    /// of 27.
    #[test]
    fn a_packet_takes_its_time_or_is_lost() {
        let ms = |millis: u64| Time::from_nanos(millis * 1_000_000);
        let mut even = wire("");
        let sent = even.finish(ms(5), 1000);
        assert_eq!((sent, even.arrival(sent)), (ms(13), Some(ms(23))));
        let mut lossy = wire("loss = 0.25");
        let lost = (0..4000).filter(|_| lossy.arrival(ms(0)).is_none()).count();
        assert!((900..1100).contains(&lost), "{lost}");
    }

    /// By hand: the delay is 10 ms, and 30 ms from 2 s after the start on. Would catch steps from another time than the
    /// start, and a packet that overtakes another when the delay falls.
    #[test]
    fn delays_vary_from_the_start_on() {
        let ms = |millis: u64| Time::from_nanos(millis * 1_000_000);
        let text = "[bottleneck]\nrate = \"1mbit\"\ndelay = { steps = [[\"0s\", \"10ms\"], [\"2s\", \"30ms\"]], every = \"4s\" }\n";
        let text = format!("duration = \"9s\"\n{text}[[flows]]\nname = \"a\"\nkind = \"tcp\"\n");
        let scenario = Document::parse("wire.toml", &text).and_then(|document| document.scenario());
        let side = &scenario.unwrap_or_else(|error| panic!("{error}")).links[0].forward;
        let mut wire = Wire::new(side, Seed::new(1), ms(0));
        assert_eq!(wire.arrival(ms(500)), Some(ms(510)), "before the start");
        wire.start(ms(1000));
        let arrivals = [1000, 2999, 3000, 4990, 5000].map(|sent| wire.arrival(ms(sent)));
        assert_eq!(arrivals, [1010, 3009, 3030, 5020, 5020].map(|at| Some(ms(at))));
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
