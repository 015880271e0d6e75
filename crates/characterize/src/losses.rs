//! Losses: their synchronisation among flows, and the gaps between them (RFC 7928, sections 2.3 and 2.4).

use std::collections::BTreeMap;

use fairlane_qdisc::{Duration, Time};

/// Finds loss events, and the share of the active flows that lose packets in each.
///
/// A loss event is a series of drops that are less than a round trip apart. A flow is active in an event if packets of
/// it arrive in the event or in the round trip before it.
#[derive(Clone, Debug)]
pub struct LossEvents {
    rtt: Duration,
    /// The last arrival of each flow.
    arrived: BTreeMap<u32, Time>,
    event: Option<OpenEvent>,
    shares: Vec<f64>,
}

/// An event that may go on.
#[derive(Clone, Debug)]
struct OpenEvent {
    first: Time,
    last: Time,
    losers: Vec<u32>,
}

impl LossEvents {
    /// Returns the events of drops that are less than `rtt` apart.
    #[must_use]
    pub const fn new(rtt: Duration) -> Self {
        Self { rtt, arrived: BTreeMap::new(), event: None, shares: Vec::new() }
    }

    /// Notes that a packet of `flow` arrives at the queue.
    pub fn arrival(&mut self, at: Time, flow: u32) {
        self.close_before(at);
        self.arrived.insert(flow, at);
    }

    /// Notes that a packet of `flow` is dropped.
    pub fn drop(&mut self, at: Time, flow: u32) {
        self.close_before(at);
        let event = self.event.get_or_insert_with(|| OpenEvent { first: at, last: at, losers: Vec::new() });
        event.last = at;
        if !event.losers.contains(&flow) {
            event.losers.push(flow);
        }
    }

    /// Closes the event if none of its drops is less than a round trip before `at`.
    fn close_before(&mut self, at: Time) {
        if self.event.as_ref().is_some_and(|event| at.since(event.last) >= self.rtt) {
            self.close();
        }
    }

    fn close(&mut self) {
        let Some(event) = self.event.take() else { return };
        let active = |flow: &u32, last: &Time| event.losers.contains(flow) || *last + self.rtt >= event.first;
        let flows = self.arrived.iter().filter(|(flow, last)| active(flow, last)).count().max(event.losers.len());
        self.shares.push(event.losers.len() as f64 / flows as f64);
    }

    /// Returns the share of each event in its order.
    #[must_use]
    pub fn finish(mut self) -> Vec<f64> {
        self.close();
        self.shares
    }
}

/// The times between consecutive losses of each flow.
#[derive(Clone, Debug, Default)]
pub struct GapStatistics {
    last: BTreeMap<u32, Time>,
    gaps_s: Vec<f64>,
}

impl GapStatistics {
    /// Notes a loss of `flow`.
    pub fn loss(&mut self, at: Time, flow: u32) {
        if let Some(before) = self.last.insert(flow, at) {
            self.gaps_s.push(at.since(before).as_secs());
        }
    }

    /// Returns all gaps in seconds.
    #[must_use]
    pub fn gaps_s(&self) -> &[f64] {
        &self.gaps_s
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(at: u64) -> Time {
        Time::from_nanos(at * 1_000_000)
    }

    /// By hand: with a round trip of 100 ms, the drops at 0, 90 and 180 ms are one event of two of three flows, that at
    /// 300 ms is one of one flow. The third flow has stopped by then, so two are active.
    #[test]
    fn events_end_after_a_round_trip_without_drops() {
        let mut events = LossEvents::new(Duration::from_millis(100));
        for flow in 0..3 {
            events.arrival(ms(0), flow);
        }
        for (at, flow) in [(0, 0), (90, 1), (180, 0)] {
            events.drop(ms(at), flow);
        }
        events.arrival(ms(250), 0);
        events.arrival(ms(260), 1);
        events.drop(ms(300), 1);
        assert_eq!(events.finish(), [2.0 / 3.0, 0.5]);
    }

    /// Would catch gaps between losses of different flows.
    #[test]
    fn gaps_are_those_of_a_flow() {
        let mut gaps = GapStatistics::default();
        for (at, flow) in [(0, 0), (10, 1), (30, 0), (40, 1), (130, 0)] {
            gaps.loss(ms(at), flow);
        }
        assert_eq!(gaps.gaps_s(), [0.03, 0.03, 0.1]);
    }
}
