//! The senders' counts.

use fairlane_qdisc::Duration;

use crate::hosts::tcp_info::TcpInfo;

/// The counts of one flow, in packets unless stated otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FlowSent {
    /// Packets with data, including retransmissions.
    pub(crate) packets: u64,
    /// Retransmissions.
    pub(crate) again: u64,
    /// Retransmission timeouts.
    pub(crate) timeouts: u64,
    /// The time in which TCP had data to send.
    pub(crate) busy: Duration,
    /// The part of `busy` in which the send buffer limited TCP.
    pub(crate) short_of_buffer: Duration,
}

/// The state of a flow at one sample time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SenderSample {
    pub(crate) sent: FlowSent,
    pub(crate) cwnd: Option<f64>,
    pub(crate) srtt: Option<Duration>,
}

/// The senders' results for the measurement. Flows that send from the other side have counts of zero.
#[derive(Debug)]
pub(crate) struct SenderResults {
    /// By sample, the state of each flow.
    pub(crate) samples: Vec<Vec<SenderSample>>,
    pub(crate) flows: Vec<FlowSent>,
    /// By flow, the bytes of data in a full packet.
    pub(crate) payloads: Vec<u64>,
    /// UDP packets that should have been sent according to the clock.
    pub(crate) udp_due: u64,
    /// Connections that were opened during the run, for transfers and phases.
    pub(crate) transfers: u64,
    /// The maximum number of bytes of a connection that had left but still counted against its send buffer.
    pub(crate) unsent_bytes: u32,
    /// The shortest round trip of TCP since the handshakes; `None` without TCP.
    pub(crate) round_trip: Option<Duration>,
}

impl SenderResults {
    /// Adds the results of the other side.
    pub(crate) fn join(mut self, other: &Self) -> Self {
        for (samples, others) in self.samples.iter_mut().zip(&other.samples) {
            for (sample, other) in samples.iter_mut().zip(others) {
                sample.sent = sample.sent.plus(&other.sent);
                (sample.cwnd, sample.srtt) = (sample.cwnd.or(other.cwnd), sample.srtt.or(other.srtt));
            }
        }
        for (flow, other) in self.flows.iter_mut().zip(&other.flows) {
            *flow = flow.plus(other);
        }
        for (payload, other) in self.payloads.iter_mut().zip(&other.payloads) {
            *payload += other;
        }
        self.udp_due += other.udp_due;
        self.transfers += other.transfers;
        self.unsent_bytes = self.unsent_bytes.max(other.unsent_bytes);
        self.round_trip = [self.round_trip, other.round_trip].into_iter().flatten().min();
        self
    }
}

impl FlowSent {
    pub(super) fn of(info: &TcpInfo) -> Self {
        Self {
            packets: info.sent,
            again: info.sent_again,
            timeouts: info.timeouts,
            busy: info.busy,
            short_of_buffer: info.short_of_buffer,
        }
    }

    pub(super) fn plus(&self, other: &Self) -> Self {
        Self {
            packets: self.packets + other.packets,
            again: self.again + other.again,
            timeouts: self.timeouts + other.timeouts,
            busy: self.busy + other.busy,
            short_of_buffer: self.short_of_buffer + other.short_of_buffer,
        }
    }

    pub(super) fn since(&self, before: &Self) -> Self {
        let less = |after: Duration, before: Duration| {
            Duration::from_nanos(after.as_nanos().saturating_sub(before.as_nanos()))
        };
        Self {
            packets: self.packets.saturating_sub(before.packets),
            again: self.again.saturating_sub(before.again),
            timeouts: self.timeouts.saturating_sub(before.timeouts),
            busy: less(self.busy, before.busy),
            short_of_buffer: less(self.short_of_buffer, before.short_of_buffer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand. Would catch counts of one side that are left out, and a shortest round trip that is not the shorter
    /// one.
    #[test]
    fn the_results_of_both_sides_are_joined() {
        let results = |packets, cwnd, round_trip| {
            let sent = FlowSent { packets, busy: Duration::from_millis(packets), ..FlowSent::default() };
            SenderResults {
                samples: vec![vec![SenderSample { sent, cwnd, srtt: None }]],
                flows: vec![sent],
                payloads: vec![packets],
                udp_due: packets,
                transfers: packets,
                unsent_bytes: packets as u32,
                round_trip,
            }
        };
        let ms = |millis| Some(Duration::from_millis(millis));
        let both = results(3, None, ms(20)).join(&results(4, Some(2.0), ms(10)));
        let expected = FlowSent { packets: 7, busy: Duration::from_millis(7), ..FlowSent::default() };
        assert_eq!((both.flows[0], both.samples[0][0].sent, both.samples[0][0].cwnd), (expected, expected, Some(2.0)));
        assert_eq!((both.payloads[0], both.udp_due, both.transfers, both.unsent_bytes), (7, 7, 7, 4));
        assert_eq!(
            (both.round_trip, results(1, None, None).join(&results(1, None, ms(5))).round_trip),
            (ms(10), ms(5))
        );
    }
}
