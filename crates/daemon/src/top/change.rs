//! The change between two states of a router.

use std::collections::HashMap;

use crate::state::{Count, Delays, Reasons, State, TopFlow, quantile};

/// Packets and bits a second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Pace {
    pub(super) packets: f64,
    pub(super) bits: f64,
}

/// The change per second.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Change {
    pub(super) arrived: Pace,
    pub(super) departed: Pace,
    pub(super) dropped: Pace,
    pub(super) marked: Pace,
    /// Packets a second by reason: only reasons that have occurred, with their count since the start.
    pub(super) drops: Vec<ByReason>,
    pub(super) marks: Vec<ByReason>,
    pub(super) lost_elsewhere: f64,
    /// The 50th, 95th and 99th percentile of the sojourn time of packets that left, in seconds.
    pub(super) sojourn: [Option<f64>; 3],
    pub(super) flows: Vec<FlowChange>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct ByReason {
    pub(super) reason: String,
    pub(super) packets: f64,
    pub(super) since_start: u64,
}

/// A flow's packets a second, and its share of the link's rate.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FlowChange {
    pub(super) flow: String,
    pub(super) matched: f64,
    pub(super) lost: f64,
    pub(super) share: f64,
    /// Since it became one of the heaviest.
    pub(super) lost_in_all: u64,
}

impl Change {
    /// Returns the change from `before` to `after`; `None` if `after` has no newer counts, or if the router was
    /// restarted.
    pub(super) fn between(before: &State, after: &State) -> Option<Self> {
        let seconds = after.at_s - before.at_s;
        let same = after.arrived.packets >= before.arrived.packets && after.uptime_s >= before.uptime_s;
        if seconds <= 0.0 || !same {
            return None;
        }
        let pace = |before: Count, after: Count| Pace {
            packets: grown(before.packets, after.packets) / seconds,
            bits: 8.0 * grown(before.bytes, after.bytes) / seconds,
        };
        let elsewhere = |state: &State| state.lost_elsewhere().unwrap_or(0);
        Some(Self {
            arrived: pace(before.arrived, after.arrived),
            departed: pace(before.departed, after.departed),
            dropped: pace(total(&before.dropped), total(&after.dropped)),
            marked: pace(total(&before.marked), total(&after.marked)),
            drops: by_reason(&before.dropped, &after.dropped, seconds),
            marks: by_reason(&before.marked, &after.marked, seconds),
            lost_elsewhere: grown(elsewhere(before), elsewhere(after)) / seconds,
            sojourn: [0.5, 0.95, 0.99].map(|share| quantile(&anew(&before.sojourn_s, &after.sojourn_s), share)),
            flows: flows(before, after, seconds),
        })
    }
}

fn grown(before: u64, after: u64) -> f64 {
    after.saturating_sub(before) as f64
}

/// Returns the sum of packets and bytes over all reasons.
fn total(reasons: &Reasons) -> Count {
    let add = |sum: Count, count: &Count| Count {
        packets: sum.packets.saturating_add(count.packets),
        bytes: sum.bytes.saturating_add(count.bytes),
    };
    reasons.values().fold(Count::default(), add)
}

fn by_reason(before: &Reasons, after: &Reasons, seconds: f64) -> Vec<ByReason> {
    let packets = |reason: &str| before.get(reason).map_or(0, |count| count.packets);
    let occurred = after.iter().filter(|(_, count)| count.packets > 0);
    let mut changes: Vec<ByReason> = occurred
        .map(|(reason, count)| ByReason {
            reason: reason.clone(),
            packets: grown(packets(reason), count.packets) / seconds,
            since_start: count.packets,
        })
        .collect();
    changes.sort_by_key(|change| std::cmp::Reverse(change.since_start));
    changes
}

/// Returns the increase of each class.
fn anew(before: &Delays, after: &Delays) -> Vec<(Option<f64>, u64)> {
    let earlier = before.classes.iter().map(|(_, count)| *count).chain(std::iter::repeat(0));
    after.classes.iter().zip(earlier).map(|((bound, count), earlier)| (*bound, count.saturating_sub(earlier))).collect()
}

fn flows(before: &State, after: &State, seconds: f64) -> Vec<FlowChange> {
    let known: HashMap<&str, &TopFlow> = before.top_flows.iter().map(|flow| (flow.flow.as_str(), flow)).collect();
    let change = |flow: &TopFlow| {
        let earlier = known.get(flow.flow.as_str());
        let a_second = |of: fn(&TopFlow) -> u64| grown(earlier.map_or(0, |flow| of(flow)), of(flow)) / seconds;
        FlowChange {
            flow: flow.flow.clone(),
            matched: a_second(|flow| flow.matched_packets),
            lost: a_second(|flow| flow.lost_packets),
            share: 8.0 * a_second(|flow| flow.departed.bytes) / (after.link.rate_bps.max(1) as f64),
            lost_in_all: flow.lost_packets,
        }
    };
    after.top_flows.iter().map(change).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::top::samples::{later, state};

    /// By hand from the two samples, which are two seconds apart.
    #[test]
    fn rates_are_by_the_routers_own_clock() {
        let change = Change::between(&state(), &later()).unwrap();
        assert_eq!(change.arrived, Pace { packets: 3000.0, bits: 24e6 });
        assert_eq!(change.departed, Pace { packets: 1187.5, bits: 9.5e6 });
        assert_eq!(change.dropped.packets, 1800.0);
        let drops: Vec<(&str, f64)> = change.drops.iter().map(|drop| (&*drop.reason, drop.packets)).collect();
        assert_eq!(drops, [("match_arrival", 890.0), ("match_victim", 890.0), ("early", 20.0)]);
        assert_eq!(change.lost_elsewhere, 3.5);
        let flood = &change.flows[0];
        assert_eq!((flood.matched, flood.lost, flood.lost_in_all), (1780.0, 1780.0, 40_000));
        assert_eq!(flood.share, 0.25);
        // This flow is new.
        assert_eq!((change.flows[2].lost, change.flows[2].lost_in_all), (0.5, 1));
        // 2375 packets more, all between 40 and 50 ms.
        let expected = [0.5, 0.95, 0.99].map(|share| 0.04 + 0.01 * share);
        for (found, expected) in change.sojourn.iter().zip(expected) {
            assert!((found.unwrap() - expected).abs() < 1e-9, "{found:?} {expected}");
        }
    }

    /// Would catch rates across a restart of the router, and a division by zero.
    #[test]
    fn another_router_has_no_rates_yet() {
        assert_eq!(Change::between(&later(), &later()), None);
        let restarted = State { at_s: later().at_s + 1.0, ..state() };
        assert_eq!(Change::between(&later(), &restarted), None);
        // On a busy link the restarted router may already have higher counts.
        let busy = State { at_s: later().at_s + 1.0, uptime_s: 60.0, arrived: later().arrived, ..later() };
        assert_eq!(Change::between(&later(), &busy), None);
    }
}
