//! The checks that the queue was the bottleneck and nothing else limited the flows.

use fairlane_scenario::Wire;

use crate::address::Side;
use crate::check::Checks;
use crate::hosts::receiver::ReceiverResults;
use crate::hosts::sender::{FlowSent, SenderResults};
use crate::plan::LabPlan;
use crate::router::{KernelDrops, RouterResults, WayResults};

/// The results of a run that the checks need.
pub(crate) struct CheckInput<'r> {
    pub(crate) plan: &'r LabPlan,
    pub(crate) sent: &'r SenderResults,
    pub(crate) routed: &'r RouterResults,
    pub(crate) received: &'r ReceiverResults,
    /// Packets dropped by interfaces.
    pub(crate) interface_drops: u64,
}

/// The maximum part of its busy time in which the send buffer may limit TCP.
const SHORT_OF_BUFFER: f64 = 0.05;

/// Bytes of the kernel's overhead per packet, and of a packet or two that are just being sent.
const JUST_LEAVING: u64 = 8 << 10;

/// The bytes of packets without data that the sender of a transfer sends at most: those that open and close the
/// connection and some acknowledgements, with a margin for retransmissions.
const OF_A_CONNECTION: f64 = 6.0 * 80.0;

/// The mean lateness in seconds that is always acceptable.
const LATE: f64 = 1e-3;

/// The time in seconds by which the shortest round trip may exceed the delays of the links: two hosts and a router are
/// woken one after the other.
const WAKING: f64 = 5e-3;

impl CheckInput<'_> {
    /// Performs all checks.
    pub(crate) fn checks(&self) -> Checks {
        let mut checks = Checks::default();
        self.senders(&mut checks);
        self.packets(&mut checks);
        self.times(&mut checks);
        checks
    }

    fn senders(&self, checks: &mut Checks) {
        let SenderResults { flows, udp_due, unsent_bytes, .. } = self.sent;
        if *udp_due > 0 {
            let udp = |flow: &u32| self.plan.is_udp(*flow);
            let sent: u64 = self.numbers().filter(udp).map(|flow| flows[flow as usize].packets).sum();
            let part = sent as f64 / *udp_due as f64;
            checks.add("UDP sent at its rate", part >= 0.98, percent(part), "at least 98 %");
        }
        let short = |flow: &FlowSent| flow.short_of_buffer.as_secs() / flow.busy.as_secs().max(1e-9);
        let short = flows.iter().map(short).fold(0.0, f64::max);
        checks.add("TCP short of send buffer", short <= SHORT_OF_BUFFER, percent(short), "at most 5 % of the time");
        let most = JUST_LEAVING + 2 * u64::from(self.plan.mtu);
        checks.add(
            "bytes in the queue that count against their sender (TSQ)",
            u64::from(*unsent_bytes) <= most,
            unsent_bytes,
            format!("at most {most}"),
        );
    }

    fn packets(&self, checks: &mut Checks) {
        let largest = self.plan.largest();
        let RouterResults { largest: found, lost_outside, unclassified, .. } = *self.routed;
        checks.add("largest packet", found <= largest, format!("{found} bytes"), format!("at most {largest}"));
        checks.add_zero("packets dropped outside of the queue", lost_outside);
        checks.add_zero("packets of no flow", unclassified);
        checks.add_zero("packets dropped by interfaces", self.interface_drops);
        checks.add_zero("datagrams without a receive buffer", self.received.udp_overflow);
        if !self.reorders() {
            checks.add_zero("datagrams out of order", self.received.flows.iter().map(|flow| flow.disordered).sum());
        }
        let kernel = self.routed.ways.iter().filter_map(|way| way.counts.kernel);
        for KernelDrops { counted, missed, open: [before, after] } in kernel {
            // A packet whose fate was open may have been dropped on either side of an edge of the measurement.
            checks.add(
                "packets dropped by the kernel's own count",
                missed <= counted + before && counted <= missed + after,
                format!("{counted}, and {missed} did not come out"),
                format!("the same, but for the {before} and {after} in the queue at the start and at the end"),
            );
        }
        self.routed.ways.iter().for_each(|way| self.arrivals(way, checks));
    }

    /// Compares the departures of a queue with the arrivals.
    fn arrivals(&self, way: &WayResults, checks: &mut Checks) {
        let link = match way.from {
            Side::Left => &self.plan.link.forward,
            Side::Right => &self.plan.link.reverse,
        };
        let flows = || self.numbers().filter(|flow| self.plan.side(*flow) == way.from);
        let counts = &way.counts;
        let crossed = |flow: u32| {
            counts.queue.flows[flow as usize].departed_bytes.saturating_sub(counts.lost_bytes[flow as usize])
        };
        let departed = flows().map(crossed).sum::<u64>() as f64;
        let arrived = |flow: u32| self.received.flows[flow as usize].delivered_bytes(self.plan, flow);
        let arrived = flows().map(arrived).sum::<u64>() as f64;
        // Packets in flight at one edge of the measurement need not be in flight at the other.
        let Wire { jitter, .. } = link.wire;
        let time = link.delay.as_secs() + jitter.as_secs() + 0.01;
        let under_way = link.rate.bits_per_second() as f64 / 8.0 * time + 2.0 * f64::from(self.plan.largest());
        // Packets without data, by which a transfer's connection begins and ends.
        let handshakes = self.sent.transfers as f64 * OF_A_CONNECTION;
        let off = (arrived - departed).abs();
        checks.add(
            "bytes that left the queue and arrived",
            off <= 0.01 * departed + under_way + handshakes,
            percent(arrived / departed.max(1.0)),
            "100 %, within 1 % and the packets in flight",
        );
    }

    fn times(&self, checks: &mut Checks) {
        let round_trip = self.plan.round_trip().as_secs();
        let ways = &self.routed.ways;
        let queued = ways.iter().map(|way| way.counts.queue.delay_ns.mean()).fold(0.0, f64::max) / 1e9;
        // A tenth of the loaded round trip is acceptable.
        let most = (0.1 * (round_trip + queued)).max(LATE);
        let mean = ways.iter().map(|way| way.counts.lateness.mean().as_secs()).fold(0.0, f64::max);
        let latest = ways.iter().map(|way| way.counts.lateness.max().as_secs()).fold(0.0, f64::max);
        let found = format!("{} on average, {} at most", millis(mean), millis(latest));
        checks.add("packets late by", mean <= most, found, format!("at most {} on average", millis(most)));
        if let Some(shortest) = self.sent.round_trip {
            let jitter = self.plan.jitter().as_secs();
            let [least, most] = [round_trip - jitter, round_trip + jitter + most.max(WAKING)];
            let fits = (least..=most).contains(&shortest.as_secs());
            let needed = format!("{} to {}", millis(least), millis(most));
            checks.add("shortest round trip", fits, millis(shortest.as_secs()), needed);
        }
    }

    fn reorders(&self) -> bool {
        [&self.plan.link.forward, &self.plan.link.reverse].iter().any(|side| side.wire.reorder)
    }

    fn numbers(&self) -> impl Iterator<Item = u32> {
        0..self.plan.flows.len() as u32
    }
}

fn percent(ratio: f64) -> String {
    format!("{:.1} %", ratio * 100.0)
}

fn millis(seconds: f64) -> String {
    format!("{:.2} ms", seconds * 1e3)
}

#[cfg(test)]
mod tests {
    use fairlane_outcome::{QueueFlowRun, QueueRun};
    use fairlane_qdisc::Duration;
    use fairlane_scenario::Document;
    use hdrhistogram::Histogram;

    use super::*;
    use crate::address::IpVersion;
    use crate::check::Check;
    use crate::hosts::receiver::FlowReceived;
    use crate::path::Lateness;
    use crate::router::WayCounts;

    /// One second of a TCP flow and a UDP flow, 500 packets of 1000 bytes each, over links of 2 + 1 + 1 ms in each
    /// direction.
    struct TestRun {
        plan: LabPlan,
        sent: SenderResults,
        routed: RouterResults,
        received: ReceiverResults,
        interface_drops: u64,
    }

    const SCENARIO: &str = r#"
duration = "1s"
[bottleneck]
rate = "10mbit"
delay = "2ms"
[[flows]]
name = "ftp"
kind = "tcp"
[[flows]]
name = "cbr"
kind = "udp"
rate = "4mbit"
"#;

    fn measurement() -> TestRun {
        let scenario = Document::parse("checks.toml", SCENARIO).unwrap().scenario().unwrap();
        let flow = |flow| QueueFlowRun { flow, departed: 500, departed_bytes: 500_000, ..QueueFlowRun::default() };
        let mut delay_ns = Histogram::new(3).unwrap();
        delay_ns.record(10_000_000).unwrap();
        let queue = QueueRun {
            name: "bottleneck".to_owned(),
            kind: "droptail".into(),
            rate_bps: 10e6,
            edge_bytes: 0.0,
            mean_packets: 5.0,
            mean_avg: None,
            delay_ns,
            flows: vec![flow(0), flow(1)],
        };
        let sent = FlowSent { packets: 500, busy: Duration::from_millis(1000), ..FlowSent::default() };
        let came = FlowReceived { packets: 500, bytes: 474_000, disordered: 0 };
        let udp = FlowReceived { bytes: 500_000, ..came };
        TestRun {
            plan: LabPlan::new(&scenario, IpVersion::V4).unwrap(),
            sent: SenderResults {
                samples: Vec::new(),
                flows: vec![sent, sent],
                payloads: vec![948, 972],
                udp_due: 500,
                transfers: 0,
                unsent_bytes: 0,
                round_trip: Some(Duration::from_millis(9)),
            },
            routed: RouterResults {
                samples: Vec::new(),
                ways: vec![WayResults {
                    from: Side::Left,
                    counts: WayCounts {
                        queue,
                        dropped_at_hosts: vec![0, 0],
                        lost_bytes: vec![0, 0],
                        lateness: Lateness::default(),
                        kernel: Some(KernelDrops { counted: 90, missed: 92, open: [3, 5] }),
                    },
                }],
                largest: 1000,
                lost_outside: 0,
                unclassified: 0,
                packets: 1500,
            },
            received: ReceiverResults {
                samples: Vec::new(),
                flows: vec![came, udp],
                udp_overflow: 0,
                completions: vec![Vec::new(), Vec::new()],
            },
            interface_drops: 0,
        }
    }

    fn checks(of: &TestRun) -> Checks {
        let TestRun { plan, sent, routed, received, interface_drops } = of;
        CheckInput { plan, sent, routed, received, interface_drops: *interface_drops }.checks()
    }

    /// Spoils one result at a time. Would catch a check that does not notice it, and a check that fails without reason.
    #[test]
    fn failed_checks_are_named() {
        let good = checks(&measurement());
        assert!(good.hold() && good.failed().is_empty(), "{good:?}");
        type Spoil = fn(&mut TestRun);
        let late = |of: &mut TestRun| of.routed.ways[0].counts.lateness.add(Duration::from_millis(4));
        let cases: [(&str, Spoil); 16] = [
            ("UDP sent at its rate", |of| of.sent.flows[1].packets = 480),
            ("TCP short of send buffer", |of| of.sent.flows[0].short_of_buffer = Duration::from_millis(60)),
            ("(TSQ)", |of| of.sent.unsent_bytes = 20_000),
            // A GSO packet of 64 KiB.
            ("largest packet", |of| of.routed.largest = 65_160),
            ("dropped outside of the queue", |of| of.routed.lost_outside = 1),
            ("the kernel's own count", |of| of.routed.ways[0].counts.kernel.as_mut().unwrap().counted = 88),
            ("the kernel's own count", |of| of.routed.ways[0].counts.kernel.as_mut().unwrap().counted = 98),
            ("packets of no flow", |of| of.routed.unclassified = 1),
            ("dropped by interfaces", |of| of.interface_drops = 1),
            ("without a receive buffer", |of| of.received.udp_overflow = 1),
            ("out of order", |of| of.received.flows[1].disordered = 1),
            ("left the queue and arrived", |of| of.received.flows[0].packets = 460),
            ("left the queue and arrived", |of| of.received.flows[0].packets = 540),
            ("packets late by", late),
            ("shortest round trip", |of| of.sent.round_trip = Some(Duration::from_millis(7))),
            ("shortest round trip", |of| of.sent.round_trip = Some(Duration::from_millis(14))),
        ];
        for (name, spoil) in cases {
            let mut spoilt = measurement();
            spoil(&mut spoilt);
            let checks = checks(&spoilt);
            let failed: Vec<&Check> = checks.all().iter().filter(|check| !check.holds).collect();
            assert!(matches!(failed[..], [one] if one.what.contains(name)), "{name}: {failed:?}");
            assert!(checks.failed().contains(name));
        }
    }
}
