//! The loss history compared with a slow reference that keeps all arrivals and searches them each time.

use std::collections::BTreeMap;

use fairlane_qdisc::{Duration, Time};
use fairlane_sim::tfrc::LossHistory;
use proptest::prelude::*;

use crate::close;

/// The round-trip time in nanoseconds: not a whole number of milliseconds, so that no loss is exactly at the end of an
/// event.
const RTT: u64 = 5_000_123;
const FIRST: f64 = 25.0;
const WEIGHTS: [f64; 8] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];

/// The reference.
#[derive(Default)]
struct Slow {
    arrived: BTreeMap<u32, u64>,
    lost: Vec<u32>,
    /// The number and the time of the first loss of each event.
    events: Vec<(u32, u64)>,
    /// The closed intervals, the latest first, each with the product of its discounts.
    closed: Vec<(f64, f64)>,
}

impl Slow {
    fn arrive(&mut self, now: u64, seq: u32, marked: bool) {
        if self.arrived.contains_key(&seq) || self.lost.contains(&seq) {
            return;
        }
        self.arrived.insert(seq, now);
        let highest = self.highest();
        for missing in 0..highest {
            let known = self.arrived.contains_key(&missing) || self.lost.contains(&missing);
            if !known && self.arrived.range(missing + 1..).count() >= 3 {
                self.lost.push(missing);
                let moment = self.moment(missing);
                self.lose(missing, moment);
            }
        }
        if marked {
            self.lose(seq, now);
        }
    }

    fn highest(&self) -> u32 {
        self.arrived.last_key_value().map_or(0, |(seq, _)| *seq)
    }

    /// Returns the time of a loss, interpolated between the arrivals of its neighbours.
    fn moment(&self, missing: u32) -> u64 {
        let (after, then) = self.arrived.range(missing + 1..).next().expect("three have arrived");
        let Some((before, earlier)) = self.arrived.range(..missing).next_back() else { return *then };
        earlier + then.saturating_sub(*earlier) * u64::from(missing - before) / u64::from(after - before)
    }

    fn lose(&mut self, seq: u32, moment: u64) {
        match self.events.last() {
            Some((_, start)) if moment <= start + RTT => return,
            Some((start, _)) => {
                let length = f64::from(seq.saturating_sub(*start).max(1));
                let discount = self.discount(length);
                self.closed.iter_mut().for_each(|(_, product)| *product *= discount);
                self.closed.insert(0, (length, 1.0));
            }
            None => self.closed.push((FIRST, 1.0)),
        }
        self.closed.truncate(8);
        self.events.push((seq, moment));
    }

    /// Returns the weighted mean of the closed intervals.
    fn mean(&self) -> f64 {
        let part = |of: fn(&(f64, f64)) -> f64| {
            self.closed.iter().zip(WEIGHTS).map(|(entry, weight)| of(entry) * weight).sum::<f64>()
        };
        part(|(interval, discount)| interval * discount) / part(|(_, discount)| *discount)
    }

    fn discount(&self, open: f64) -> f64 {
        if open > 2.0 * self.mean() { (2.0 * self.mean() / open).max(0.5) } else { 1.0 }
    }

    fn loss_event_rate(&self) -> f64 {
        let Some((start, _)) = self.events.last() else { return 0.0 };
        let open = f64::from((self.highest() + 1).saturating_sub(*start).max(1));
        let discount = self.discount(open);
        // The open interval first, without the oldest one.
        let mut all = vec![(open, 1.0)];
        all.extend(self.closed.iter().map(|(interval, product)| (*interval, product * discount)));
        all.pop();
        let total: f64 = all.iter().zip(WEIGHTS).map(|((interval, part), weight)| interval * part * weight).sum();
        let weights: f64 = all.iter().zip(WEIGHTS).map(|((_, part), weight)| part * weight).sum();
        (1.0 / self.mean()).min(weights / total).min(1.0)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// Would catch any difference after any arrival, with losses, bursts of losses, copies, marks and reordered
    /// packets.
    #[test]
    fn equals_the_reference(steps in prop::collection::vec((0..20_u32, 0..30_u32, 0..4_u64), 1..300)) {
        let (mut fast, mut slow) = (LossHistory::default(), Slow::default());
        let (mut next, mut now) = (0_u32, 0_u64);
        for (kind, more, millis) in steps {
            now += millis * 1_000_000;
            let seq = match kind {
                // A gap of up to 30 packets.
                0 => next + more,
                // One packet is missing.
                1 | 2 => next + 1,
                // A late packet or a copy.
                3..=5 => next.saturating_sub(1 + more % 6),
                _ => next,
            };
            next = next.max(seq + 1);
            let marked = kind == 6;
            let rtt = Duration::from_nanos(RTT);
            fast.on_packet(Time::from_nanos(now), seq, marked, rtt, || FIRST);
            slow.arrive(now, seq, marked);
            let (fast, slow) = (fast.loss_event_rate(), slow.loss_event_rate());
            prop_assert!(fast == slow || close(fast, slow, 1e-12), "{fast} and {slow} after {seq} at {now}");
        }
        let intervals: Vec<f64> = slow.closed.iter().map(|(interval, _)| *interval).collect();
        let all = fast.intervals();
        prop_assert_eq!(all.get(1..).unwrap_or_default(), &intervals[..]);
    }
}
