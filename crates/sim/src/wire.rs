//! What a link does to packets beyond sending them at a rate and delaying them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use fairlane_qdisc::{Duration, Seed, Stream, Time};
use fairlane_scenario::{LinkSide, Loss, RateSteps};

use crate::packet::Packet;

/// Loss, jitter and a rate that varies: links without any of these have none of this.
#[derive(Debug)]
pub(crate) struct Wire {
    loss: Option<Losses>,
    jitter: Option<Jitter>,
    rates: Option<Rates>,
    /// The packets under way where they may overtake each other; `None` where they may not.
    overtaking: Option<BinaryHeap<Reverse<Underway>>>,
    /// Numbers those packets, so that of two that arrive at the same time the first to go comes first.
    sent: u64,
}

/// What becomes of a packet that the link begins to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Carried {
    /// When the link has sent it.
    pub(crate) sent: Time,
    /// When it reaches the other end; `None`: it is lost.
    pub(crate) arrival: Option<Time>,
}

impl Wire {
    /// The wire of `side`, if it does anything; `seed` is asked for then.
    pub(crate) fn new(side: &LinkSide, seed: impl FnOnce() -> Seed) -> Option<Self> {
        let wire = &side.wire;
        if wire.loss.is_none() && wire.jitter == Duration::ZERO && wire.rates.is_none() {
            return None;
        }
        let seed = seed();
        Some(Self {
            loss: wire.loss.map(|law| Losses { law, bad: false, random: seed.stream("loss") }),
            jitter: (wire.jitter > Duration::ZERO).then(|| Jitter::new(wire.jitter, wire.reorder, seed)),
            rates: wire.rates.as_ref().map(Rates::new),
            overtaking: wire.reorder.then(BinaryHeap::new),
            sent: 0,
        })
    }

    /// Sends a packet of `bytes` bytes at `now`, over a link with `delay`; where the rate does not vary this takes what
    /// `transmission` says.
    pub(crate) fn carry(
        &mut self,
        now: Time,
        bytes: u32,
        transmission: impl FnOnce() -> Duration,
        delay: Duration,
    ) -> Carried {
        let sent = match &mut self.rates {
            Some(rates) => rates.finish(now, bytes),
            None => now + transmission(),
        };
        let lost = self.loss.as_mut().is_some_and(Losses::next);
        let arrival = match &mut self.jitter {
            Some(jitter) => jitter.arrival(sent, delay),
            None => sent + delay,
        };
        Carried { sent, arrival: (!lost).then_some(arrival) }
    }

    /// Whether packets may overtake each other.
    pub(crate) const fn overtakes(&self) -> bool {
        self.overtaking.is_some()
    }

    /// Keeps `packet`, which stands at `route` when it arrives, at `arrival`, among those that may overtake each other.
    pub(crate) fn keep(&mut self, packet: &Packet, arrival: Time, route: u32) {
        if let Some(underway) = &mut self.overtaking {
            let packet = Packet { at: arrival, route, ..*packet };
            underway.push(Reverse(Underway { order: (arrival, self.sent), packet }));
            self.sent += 1;
        }
    }

    /// Takes the one of them that arrives next.
    pub(crate) fn take(&mut self) -> Option<Packet> {
        self.overtaking.as_mut()?.pop().map(|Reverse(underway)| underway.packet)
    }

    /// How many of them there are.
    pub(crate) fn underway(&self) -> usize {
        self.overtaking.as_ref().map_or(0, BinaryHeap::len)
    }

    /// The rate in bit/s, averaged from `from` to `to`; `None` where it does not vary or no time has passed.
    pub(crate) fn mean_rate(&self, from: Time, to: Time) -> Option<f64> {
        let (rates, time) = (self.rates.as_ref()?, to.since(from).as_nanos());
        (time > 0).then(|| (rates.capacity(to.as_nanos()) - rates.capacity(from.as_nanos())) as f64 / time as f64)
    }
}

/// A packet among those that may overtake each other.
#[derive(Debug)]
struct Underway {
    order: (Time, u64),
    packet: Packet,
}

impl PartialEq for Underway {
    fn eq(&self, other: &Self) -> bool {
        self.order == other.order
    }
}

impl Eq for Underway {}

impl PartialOrd for Underway {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Underway {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.order.cmp(&other.order)
    }
}

/// The chain of Gilbert and Elliott.
#[derive(Debug)]
struct Losses {
    law: Loss,
    bad: bool,
    random: Stream,
}

impl Losses {
    /// Whether the next packet is lost. It takes two draws whatever comes out, so that the losses of two laws with the same seed
    /// can be compared.
    fn next(&mut self) -> bool {
        let Loss { to_bad, to_good, in_bad, in_good } = self.law;
        let (lost, change) = if self.bad { (in_bad, to_good) } else { (in_good, to_bad) };
        let lost = self.random.unit() < lost;
        self.bad ^= self.random.unit() < change;
        lost
    }
}

/// Delays that differ from packet to packet.
#[derive(Debug)]
struct Jitter {
    nanos: u64,
    reorder: bool,
    /// The last arrival so far.
    last: Time,
    random: Stream,
}

impl Jitter {
    fn new(jitter: Duration, reorder: bool, seed: Seed) -> Self {
        Self { nanos: jitter.as_nanos(), reorder, last: Time::ZERO, random: seed.stream("jitter") }
    }

    fn arrival(&mut self, sent: Time, delay: Duration) -> Time {
        let drawn = (self.random.unit() * (2.0 * self.nanos as f64)) as u64;
        let arrival = sent + Duration::from_nanos(delay.as_nanos().saturating_sub(self.nanos) + drawn);
        if self.reorder {
            return arrival;
        }
        self.last = self.last.max(arrival);
        self.last
    }
}

/// A rate in steps. Work is counted in bit-nanoseconds per second, that is, in nanoseconds times bit/s.
#[derive(Debug)]
struct Rates {
    /// From when on, in nanoseconds of the cycle, which rate in bit/s.
    steps: Vec<(u64, u64)>,
    /// The length of the cycle; longer than any run where nothing is repeated.
    cycle: u64,
    /// The work of a whole cycle.
    cycle_work: u128,
    /// What the last nanosecond of the packet before had left of work.
    spare: u128,
}

const NANOS: u128 = 1_000_000_000;

impl Rates {
    fn new(rates: &RateSteps) -> Self {
        let steps = rates.steps().iter().map(|(at, rate)| (at.as_nanos(), rate.bits_per_second())).collect();
        let cycle = rates.every().map_or(u64::MAX, Duration::as_nanos);
        let mut rates = Self { steps, cycle, cycle_work: 0, spare: 0 };
        rates.cycle_work = rates.within(cycle);
        rates
    }

    /// When a packet of `bytes` bytes is sent that begins at `now`. Rounded up to whole nanoseconds; what that leaves is the next
    /// packet's, so that the rates are exact in the long run.
    fn finish(&mut self, now: Time, bytes: u32) -> Time {
        let mut work = (u128::from(bytes) * 8 * NANOS).saturating_sub(self.spare);
        self.spare = 0;
        if work == 0 {
            return now;
        }
        // Whole cycles at once, but never so many that the packet would end in an outage of the last one.
        let cycles = (work - 1) / self.cycle_work.max(1);
        work -= cycles * self.cycle_work;
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

    /// The rate at `at`, and until when it holds.
    fn step(&self, at: u64) -> (u64, u64) {
        let (begin, within) = (at - at % self.cycle, at % self.cycle);
        let next = self.steps.partition_point(|(from, _)| *from <= within);
        let rate = next.checked_sub(1).map_or(0, |step| self.steps[step].1);
        let end = self.steps.get(next).map_or(self.cycle, |(from, _)| *from);
        (rate, begin.saturating_add(end))
    }

    /// The work that is possible from time zero to `at`.
    fn capacity(&self, at: u64) -> u128 {
        u128::from(at / self.cycle) * self.cycle_work + self.within(at % self.cycle)
    }

    /// The work that is possible in the first `nanos` of a cycle.
    fn within(&self, nanos: u64) -> u128 {
        let ends = self.steps.iter().skip(1).map(|(from, _)| *from).chain([u64::MAX]);
        let work = |((from, rate), end): (&(u64, u64), u64)| {
            u128::from(end.min(nanos).saturating_sub(*from)) * u128::from(*rate)
        };
        self.steps.iter().zip(ends).map(work).sum()
    }
}

#[cfg(test)]
mod tests {
    use fairlane_scenario::Document;

    use super::*;

    fn rates(text: &str) -> Rates {
        let file = format!("duration = \"1s\"\n[bottleneck]\nrate = {text}\n[[flows]]\nname = \"a\"\nkind = \"tcp\"\n");
        let scenario = Document::parse("rates.toml", &file).and_then(|document| document.scenario());
        let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
        scenario.links[0].forward.wire.rates.as_ref().map(Rates::new).expect("the rate varies")
    }

    fn ms(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    /// 1000 bytes take 8 ms at 1 Mbit/s and 2 ms at 4 Mbit/s; half of each is half the packet.
    #[test]
    fn a_packet_that_meets_a_step_takes_part_of_each_rate() {
        let mut rates = rates(r#"{ steps = [["0s", "1mbit"], ["10ms", "4mbit"], ["20ms", "0bit"]], every = "30ms" }"#);
        assert_eq!(rates.finish(ms(0), 1000), ms(8));
        assert_eq!(rates.finish(ms(6), 1000), ms(11));
        assert_eq!(rates.finish(ms(12), 1000), ms(14));
        // 1 ms at 4 Mbit/s is half of it; then nothing for 10 ms, then 4 ms at 1 Mbit/s.
        assert_eq!(rates.finish(ms(19), 1000), ms(34));
        assert_eq!(rates.finish(ms(25), 1000), ms(38));
        // A cycle carries 10 kbit + 40 kbit, 6250 bytes. The last bit goes before the outage, not after it.
        assert_eq!(rates.finish(ms(0), 6250), ms(20));
        assert_eq!(rates.finish(ms(30), 3 * 6250), ms(110));
        assert_eq!(rates.finish(ms(30), 3 * 6250 + 125), ms(121));
        assert_eq!(rates.capacity(ms(95).as_nanos()), (3 * 50_000 + 5_000) * NANOS);
    }

    /// Would catch a rate that is lost to rounding: a million packets of 1 byte at 3 Mbit/s take 8/3 s.
    #[test]
    fn rates_are_exact_in_the_long_run() {
        let mut rates = rates(r#"{ steps = [["0s", "3mbit"], ["1s", "3mbit"]] }"#);
        let end = (0..1_000_000).fold(Time::ZERO, |now, _| rates.finish(now, 1));
        assert_eq!(end.as_nanos(), 2_666_666_667);
    }
}
