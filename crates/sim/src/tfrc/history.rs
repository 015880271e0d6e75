//! The loss history of the receiver (RFC 5348, section 5).

use fairlane_qdisc::{Duration, Time};

/// The number of loss intervals in the average, n.
const INTERVALS: usize = 8;
const WEIGHTS: [f64; INTERVALS] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];
/// The number of later packets after whose arrival a missing packet counts as lost.
const NDUPACK: usize = 3;
/// The smallest discount of the old intervals, however long the current one is; as in ns-2.
const MIN_DISCOUNT: f64 = 0.5;

/// The loss events and the intervals between them.
///
/// A packet counts as lost when three packets with higher numbers have arrived. The time of the loss is interpolated
/// between the arrivals of its neighbours. Losses within a round trip of the first one of a loss event belong to that
/// event. A marked packet counts as lost when it arrives.
#[derive(Clone, Debug, Default)]
pub struct LossHistory {
    /// The lowest number that has neither arrived nor been lost.
    expected: u32,
    /// The last packet that arrived before that one and its arrival; `None` before the first.
    before: Option<(u32, Time)>,
    /// The packets that have arrived beyond `expected`, by number, with their arrivals.
    early: Vec<(u32, Time)>,
    /// One past the highest number that has arrived.
    end: u32,
    /// The number and the time of the first loss of the last loss event.
    event: Option<(u32, Time)>,
    /// The closed loss intervals in packets, the latest first, each with its discount.
    closed: Vec<(f64, f64)>,
}

impl LossHistory {
    /// Records the arrival of packet `seq`, `marked` or not. `rtt` is the round-trip time within which losses are one
    /// event. At the first loss event `first` returns the length of the interval before it in packets.
    ///
    /// A packet that has arrived before or that has been counted as lost is ignored.
    pub fn on_packet(&mut self, now: Time, seq: u32, marked: bool, rtt: Duration, first: impl FnOnce() -> f64) {
        let Err(index) = self.early.binary_search_by_key(&seq, |(early, _)| *early) else { return };
        if seq < self.expected || seq == u32::MAX {
            return;
        }
        let mut first = Some(first);
        self.early.insert(index, (seq, now));
        self.end = self.end.max(seq + 1);
        while let Some(&(early, at)) = self.early.first() {
            if early > self.expected {
                if self.early.len() < NDUPACK {
                    break;
                }
                self.lose_below(early, at, rtt, &mut first);
            }
            self.early.remove(0);
            self.before = Some((early, at));
            self.expected = early + 1;
        }
        if marked {
            self.lose(seq, now, rtt, &mut first);
        }
    }

    /// Returns the loss event rate p, from 0 to 1; 0 before the first loss event.
    #[must_use]
    pub fn loss_event_rate(&self) -> f64 {
        let Some(open) = self.open() else { return 0.0 };
        let (mut closed, mut closed_weight) = (0.0, 0.0);
        for ((interval, discount), weight) in self.closed.iter().zip(WEIGHTS) {
            closed += interval * weight * discount;
            closed_weight += weight * discount;
        }
        let discount = self.discount(open);
        let (mut with_open, mut open_weight) = (open * WEIGHTS[0], WEIGHTS[0]);
        // With the open interval, the oldest one does not count.
        let recent = self.closed.iter().take(self.closed.len().saturating_sub(1));
        for ((interval, old), weight) in recent.zip(WEIGHTS.into_iter().skip(1)) {
            with_open += interval * weight * old * discount;
            open_weight += weight * old * discount;
        }
        // The open interval counts only if it raises the mean.
        (closed_weight / closed).min(open_weight / with_open).min(1.0)
    }

    /// Returns the loss intervals in packets, the open one first; none before the first loss event.
    #[must_use]
    pub fn intervals(&self) -> Vec<f64> {
        self.open().into_iter().chain(self.closed.iter().map(|(interval, _)| *interval)).collect()
    }

    /// Returns the number of packets since the last loss event.
    fn open(&self) -> Option<f64> {
        self.event.map(|(seq, _)| f64::from(self.end.saturating_sub(seq).max(1)))
    }

    /// Returns the discount of the old intervals while the open one, of `open` packets, is longer than twice their mean
    /// (RFC 5348, section 5.5).
    fn discount(&self, open: f64) -> f64 {
        let accumulate = |(sum, weights): (f64, f64), ((interval, discount), weight): (&(f64, f64), f64)| {
            (sum + interval * weight * discount, weights + weight * discount)
        };
        let (sum, weights) = self.closed.iter().zip(WEIGHTS).fold((0.0, 0.0), accumulate);
        let mean = sum / weights;
        if open > 2.0 * mean { (2.0 * mean / open).max(MIN_DISCOUNT) } else { 1.0 }
    }

    /// Records the loss of the packets from `expected` to below `after`, which arrived at `at`.
    fn lose_below(&mut self, after: u32, at: Time, rtt: Duration, first: &mut Option<impl FnOnce() -> f64>) {
        for seq in self.expected..after {
            let moment = match self.before {
                Some((before, then)) => {
                    let part = f64::from(seq - before) / f64::from(after - before);
                    then + Duration::from_nanos(((at - then).as_nanos() as f64 * part) as u64)
                }
                None => at,
            };
            self.lose(seq, moment, rtt, first);
        }
    }

    /// Records that packet `seq` was lost or marked at `moment`.
    fn lose(&mut self, seq: u32, moment: Time, rtt: Duration, first: &mut Option<impl FnOnce() -> f64>) {
        match self.event {
            Some((_, start)) if moment <= start + rtt => return,
            Some((start, _)) => {
                let length = f64::from(seq.saturating_sub(start).max(1));
                // The discount due to the interval becomes permanent for the older ones.
                let discount = self.discount(length);
                for (_, old) in &mut self.closed {
                    *old *= discount;
                }
                self.closed.truncate(INTERVALS - 1);
                self.closed.insert(0, (length, 1.0));
            }
            None => self.closed.push((first.take().map_or(1.0, |first| first().max(1.0)), 1.0)),
        }
        self.event = Some((seq, moment));
    }
}
