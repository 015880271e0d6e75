//! The samples of a run over time, taken by all its parts at the same times.

use fairlane_outcome::{FlowSample, QueueSample};
use fairlane_qdisc::Duration;

/// The counts from the start of the run to one sample time, including the warm-up.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LabSample {
    /// The time since time zero of the scenario.
    pub at: Duration,
    /// The state and the counts of each queue that data cross.
    pub queues: Vec<QueueSample>,
    /// The counts of the flows by rising number: of all of the scenario, or of those that have had packets since the
    /// sample before. Timeouts are 0 before Linux 6.7, which does not report them. Delivered bytes count whole packets.
    pub flows: Vec<FlowSample>,
}

/// Returns `now` with no count below that of `before`: for a connection that is closed the kernel may report nothing.
pub(crate) fn monotonic(before: &FlowSample, now: FlowSample) -> FlowSample {
    FlowSample {
        sent: now.sent.max(before.sent),
        retransmitted: now.retransmitted.max(before.retransmitted),
        timeouts: now.timeouts.max(before.timeouts),
        delivered: now.delivered.max(before.delivered),
        delivered_bytes: now.delivered_bytes.max(before.delivered_bytes),
        unique_bytes: now.unique_bytes.max(before.unique_bytes),
        dropped: now.dropped.max(before.dropped),
        lost: now.lost.max(before.lost),
        ..now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Would catch counts that fall to 0 when a connection is closed. Other values are those of now.
    #[test]
    fn no_count_decreases() {
        let before = FlowSample {
            flow: 1,
            sent: 9,
            delivered: 8,
            delivered_bytes: 7,
            unique_bytes: 6,
            dropped: 5,
            lost: 2,
            retransmitted: 4,
            timeouts: 3,
            cwnd: Some(10.0),
            srtt: Some(Duration::from_millis(60)),
        };
        let gone = FlowSample { flow: 1, ..FlowSample::default() };
        assert_eq!(monotonic(&before, gone), FlowSample { cwnd: None, srtt: None, ..before });
        let later = FlowSample { sent: 19, unique_bytes: 16, dropped: 15, ..before };
        assert_eq!(monotonic(&before, later), later);
    }
}
