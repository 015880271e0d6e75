//! The state of a router, as it is served in JSON at `/state` and read by `fairlane top`. docs/router.md describes the
//! keys.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The state at one moment. Counts are since the router's start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct State {
    /// The version of Fairlane.
    pub(crate) version: String,
    /// `up` or `down` where both directions are shaped.
    pub(crate) direction: Option<String>,
    /// The source of packets, such as `queue 0`.
    pub(crate) path: String,
    /// `None` on an NFQUEUE.
    pub(crate) bridge: Option<Bridge>,
    /// Empty if no rules of Fairlane are installed.
    pub(crate) interfaces: Vec<String>,
    pub(crate) flows_by: String,
    pub(crate) uptime_s: f64,
    /// The time of the counts, by a monotonic clock.
    pub(crate) at_s: f64,
    pub(crate) link: Link,
    /// `None` if the rate stays.
    pub(crate) autorate: Option<AutorateState>,
    pub(crate) discipline: Discipline,
    pub(crate) arrived: Count,
    pub(crate) departed: Count,
    pub(crate) dropped: Reasons,
    pub(crate) marked: Reasons,
    /// Packets dropped with their queue; 0 unless the path is `bpf`.
    pub(crate) flushed: Count,
    pub(crate) backlog: Count,
    /// In the unit of the discipline's thresholds.
    pub(crate) average: Option<f64>,
    pub(crate) sojourn_s: Delays,
    pub(crate) lateness_s: Delays,
    /// The kernel's counts; `None` where it has none.
    pub(crate) kernel: Option<Kernel>,
    pub(crate) overruns: u64,
    pub(crate) unsent_verdicts: u64,
    pub(crate) unknown_verdicts: u64,
    pub(crate) malformed_messages: u64,
    pub(crate) reloads: u64,
    pub(crate) top_flows: Vec<TopFlow>,
}

impl State {
    /// Returns true if the discipline is in the kernel, which knows neither flows nor delays.
    pub(crate) fn is_in_kernel(&self) -> bool {
        self.path == "bpf"
    }

    /// Returns the frames of a bridge that the other interface cannot send.
    pub(crate) fn unfit(&self) -> u64 {
        let ways = self.bridge.iter().flat_map(|bridge| [bridge.out, bridge.back]).flatten();
        ways.fold(0, |sum, way| sum.saturating_add(way.unfit))
    }

    /// Returns the packets lost before or behind the discipline, by the kernel or for lack of room; `None` if unknown.
    pub(crate) fn lost_elsewhere(&self) -> Option<u64> {
        let of = |way: DirectionCounts| [way.kernel_dropped, way.unfit, way.no_memory, way.refused];
        let queue = self.kernel.map(|kernel| vec![kernel.dropped_full_packets, kernel.dropped_unread_packets]);
        let bridge = || {
            self.bridge.as_ref().map(|bridge| [bridge.out, bridge.back].into_iter().flatten().flat_map(of).collect())
        };
        let in_kernel = || self.is_in_kernel().then(|| vec![self.flushed.packets]);
        Some(queue.or_else(bridge).or_else(in_kernel)?.into_iter().fold(0, u64::saturating_add))
    }
}

/// Counts by reason.
pub(crate) type Reasons = BTreeMap<String, Count>;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Link {
    pub(crate) rate_bps: u64,
    pub(crate) layer: String,
}

/// How the rate of the link is adjusted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct AutorateState {
    /// The rate that was decided.
    pub(crate) rate_bps: u64,
    pub(crate) min_bps: u64,
    pub(crate) base_bps: u64,
    pub(crate) max_bps: u64,
    /// Decisions are not carried out.
    pub(crate) dry_run: bool,
    /// The reason of the last decision, and the obstacle to a change.
    pub(crate) reason: String,
    pub(crate) blocker: Option<String>,
    pub(crate) probes_sent: u64,
    pub(crate) probes_answered: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Discipline {
    pub(crate) kind: String,
    /// Each parameter in use, with its unit.
    pub(crate) parameters: BTreeMap<String, String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Count {
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
}

/// A histogram.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Delays {
    pub(crate) count: u64,
    pub(crate) mean: Option<f64>,
    pub(crate) p50: Option<f64>,
    pub(crate) p95: Option<f64>,
    pub(crate) p99: Option<f64>,
    pub(crate) max: Option<f64>,
    /// Each class's upper bound, the last without one, and its own count.
    pub(crate) classes: Vec<(Option<f64>, u64)>,
}

/// Two interfaces and their counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Bridge {
    pub(crate) inside: String,
    pub(crate) outside: String,
    /// `None` in the state of the other direction.
    pub(crate) out: Option<DirectionCounts>,
    /// `None` in the state of the other direction.
    #[serde(rename = "in")]
    pub(crate) back: Option<DirectionCounts>,
}

/// Frames of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DirectionCounts {
    pub(crate) received: u64,
    pub(crate) forwarded: u64,
    pub(crate) exempt: u64,
    pub(crate) kernel_dropped: u64,
    pub(crate) joined: u64,
    pub(crate) unfit: u64,
    pub(crate) no_memory: u64,
    pub(crate) refused: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Kernel {
    pub(crate) waiting_packets: u64,
    pub(crate) dropped_full_packets: u64,
    pub(crate) dropped_unread_packets: u64,
}

/// A flow that lost packets; counts are since it became one of the heaviest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct TopFlow {
    pub(crate) flow: String,
    pub(crate) matched_packets: u64,
    pub(crate) lost_packets: u64,
    /// The maximum number of packets that it may have lost before.
    pub(crate) missed_packets: u64,
    pub(crate) arrived: Count,
    pub(crate) departed: Count,
    /// Only the reasons that occurred.
    pub(crate) dropped: Reasons,
    pub(crate) marked: Reasons,
}

/// Returns the delay that the fraction `share` of those in `classes` does not exceed, as if they were spread evenly
/// over each class; `None` if there are none. Delays above all bounds count as the last bound.
pub(crate) fn quantile(classes: &[(Option<f64>, u64)], share: f64) -> Option<f64> {
    let total: f64 = classes.iter().map(|(_, count)| *count as f64).sum();
    let rank = share * total;
    let (mut below, mut from) = (0.0, 0.0);
    for (bound, count) in classes.iter().filter(|_| total > 0.0) {
        let bound = bound.unwrap_or(from);
        if *count > 0 && below + *count as f64 >= rank {
            return Some(from + (bound - from) * (rank - below) / *count as f64);
        }
        below += *count as f64;
        from = bound;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: 10 below 1 s, 80 from 1 to 2 s, 10 above.
    #[test]
    fn quantiles_lie_evenly_in_their_class() {
        let classes = [(Some(1.0), 10), (Some(2.0), 80), (None, 10)];
        for (share, expected) in [(0.05, 0.5), (0.1, 1.0), (0.5, 1.5), (0.9, 2.0), (0.99, 2.0)] {
            let found = quantile(&classes, share).unwrap();
            assert!((found - expected).abs() < 1e-12, "{share}: {found}");
        }
        assert_eq!((quantile(&[], 0.5), quantile(&[(Some(1.0), 0), (None, 0)], 0.5)), (None, None));
    }
}
