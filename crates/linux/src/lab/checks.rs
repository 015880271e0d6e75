//! How the lab makes sure that it measured its queue and nothing else.

use std::fmt;

use super::plan::Plan;
use super::receiver::AllReceived;
use super::router::Routed;
use super::sender::AllSent;
use fairlane_outcome::QueueRun;

/// What must hold for the numbers to be those of the queue, and what was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checks(Vec<Check>);

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// What was looked at.
    pub what: &'static str,
    /// What was found.
    pub found: String,
    /// What it must be.
    pub needed: String,
    /// Whether it is.
    pub holds: bool,
}

impl Checks {
    /// All of them, in the order of a packet's way.
    #[must_use]
    pub fn all(&self) -> &[Check] {
        &self.0
    }

    /// Whether all hold.
    #[must_use]
    pub fn hold(&self) -> bool {
        self.0.iter().all(|check| check.holds)
    }

    /// Those that do not, in words.
    #[must_use]
    pub fn failed(&self) -> String {
        self.0.iter().filter(|check| !check.holds).map(Check::to_string).collect::<Vec<_>>().join("; ")
    }

    fn add(&mut self, what: &'static str, holds: bool, found: impl fmt::Display, needed: impl fmt::Display) {
        self.0.push(Check { what, found: found.to_string(), needed: needed.to_string(), holds });
    }

    /// Exactly none.
    fn none(&mut self, what: &'static str, found: u64) {
        self.add(what, found == 0, found, "none");
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, found, needed, .. } = self;
        write!(f, "{what}: {found} (needed: {needed})")
    }
}

/// What a run gave, for its checks.
pub(super) struct Results<'r> {
    pub(super) plan: &'r Plan,
    pub(super) sent: &'r AllSent,
    pub(super) routed: &'r Routed,
    pub(super) received: &'r AllReceived,
    /// Packets that interfaces dropped.
    pub(super) interface_drops: u64,
}

/// TCP may be kept by its send buffer for this part of the time in which it has something to send.
const SHORT_OF_BUFFER: f64 = 0.05;

/// What the kernel needs beside a packet's own bytes, and a packet or two that are just leaving.
const JUST_LEAVING: u64 = 8 << 10;

/// Packets may be late by this many seconds in the mean, however short the way is.
const LATE: f64 = 1e-3;

/// The shortest round trip may take so many seconds more than the links say: two hosts and a router are woken one after the other.
const WAKING: f64 = 5e-3;

impl Results<'_> {
    /// Looks at everything.
    pub(super) fn checks(&self) -> Checks {
        let mut checks = Checks::default();
        self.senders(&mut checks);
        self.packets(&mut checks);
        self.times(&mut checks);
        checks
    }

    fn senders(&self, checks: &mut Checks) {
        let AllSent { flows, udp_due, not_gone, .. } = self.sent;
        if *udp_due > 0 {
            let udp = |flow: &u32| self.plan.is_udp(*flow);
            let sent: u64 = self.numbers().filter(udp).map(|flow| flows[flow as usize].packets).sum();
            let part = sent as f64 / *udp_due as f64;
            checks.add("UDP sent at its rate", part >= 0.98, percent(part), "98 % at least");
        }
        let short = |flow: &super::sender::Sent| flow.short_of_buffer.as_secs() / flow.busy.as_secs().max(1e-9);
        let short = flows.iter().map(short).fold(0.0, f64::max);
        checks.add("TCP short of send buffer", short <= SHORT_OF_BUFFER, percent(short), "5 % of the time at most");
        let most = JUST_LEAVING + 2 * u64::from(self.plan.mtu);
        checks.add(
            "bytes in the queue that count against their sender (TSQ)",
            u64::from(*not_gone) <= most,
            not_gone,
            format!("{most} at most"),
        );
    }

    fn packets(&self, checks: &mut Checks) {
        let largest = self.plan.largest();
        let Routed { largest: found, lost_in_kernel, strangers, .. } = *self.routed;
        checks.add("largest packet", found <= largest, format!("{found} bytes"), format!("{largest} at most"));
        checks.none("packets dropped before the queue saw them", lost_in_kernel);
        checks.none("packets of no flow", strangers);
        checks.none("packets dropped by interfaces", self.interface_drops);
        checks.none("datagrams without a receive buffer", self.received.udp_overflow);
        checks.none("datagrams out of order", self.received.flows.iter().map(|flow| flow.disordered).sum());
        let departed = departed_bytes(&self.routed.queue) as f64;
        let arrived = |flow: u32| self.received.flows[flow as usize].packets * self.plan.group(flow).packet.get();
        let arrived: u64 = self.numbers().map(arrived).sum();
        let link = &self.plan.link.forward;
        // What is on its way at one edge of the window need not be at the other.
        let under_way =
            link.rate.bits_per_second() as f64 / 8.0 * (link.delay.as_secs() + 0.01) + 2.0 * f64::from(largest);
        let off = (arrived as f64 - departed).abs();
        checks.add(
            "bytes that left the queue and arrived",
            off <= 0.01 * departed + under_way,
            percent(arrived as f64 / departed.max(1.0)),
            "100 % but for 1 % and what is under way",
        );
    }

    fn times(&self, checks: &mut Checks) {
        let lateness = &self.routed.lateness;
        let mean = lateness.sum_s() / (lateness.count().max(1) as f64);
        let round_trip = self.plan.round_trip();
        let queued = self.routed.queue.delay_ns.mean() / 1e9;
        // A tenth of what a packet takes there and back cannot be told from it.
        let most = (0.1 * (round_trip.as_secs() + queued)).max(LATE);
        let found = format!("{} in the mean, {} at most", millis(mean), millis(lateness.most().as_secs()));
        checks.add("packets late by", mean <= most, found, format!("{} in the mean at most", millis(most)));
        if let Some(shortest) = self.sent.round_trip {
            let most = round_trip.as_secs() + most.max(WAKING);
            let fits = round_trip <= shortest && shortest.as_secs() <= most;
            let needed = format!("{} to {}", millis(round_trip.as_secs()), millis(most));
            checks.add("shortest round trip", fits, millis(shortest.as_secs()), needed);
        }
    }

    fn numbers(&self) -> impl Iterator<Item = u32> {
        0..self.plan.flows.len() as u32
    }
}

fn departed_bytes(queue: &QueueRun) -> u64 {
    queue.flows.iter().map(|flow| flow.departed_bytes).sum()
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

    use super::super::receiver::Received;
    use super::super::sender::Sent;
    use super::*;
    use crate::delays::Delays;

    /// One second of a TCP and a UDP flow, 500 packets of 1000 bytes each, over links of 2 + 1 + 1 ms each way.
    struct Measurement {
        plan: Plan,
        sent: AllSent,
        routed: Routed,
        received: AllReceived,
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

    fn measurement() -> Measurement {
        let scenario = Document::parse("checks.toml", SCENARIO).unwrap().scenario().unwrap();
        let flow = |flow| QueueFlowRun { flow, departed: 500, departed_bytes: 500_000, ..QueueFlowRun::default() };
        let mut delay_ns = Histogram::new(3).unwrap();
        delay_ns.record(10_000_000).unwrap();
        let queue = QueueRun {
            name: "bottleneck".to_owned(),
            kind: "droptail",
            rate_bps: 10e6,
            mean_packets: 5.0,
            mean_avg: None,
            delay_ns,
            flows: vec![flow(0), flow(1)],
        };
        let sent = Sent { packets: 500, busy: Duration::from_millis(1000), ..Sent::default() };
        let came = Received { packets: 500, bytes: 474_000, disordered: 0 };
        Measurement {
            plan: Plan::new(&scenario).unwrap(),
            sent: AllSent {
                moments: Vec::new(),
                flows: vec![sent, sent],
                payloads: vec![948, 972],
                udp_due: 500,
                not_gone: 0,
                round_trip: Some(Duration::from_millis(9)),
            },
            routed: Routed {
                moments: Vec::new(),
                queue,
                dropped_at_hosts: vec![0, 0],
                lateness: Delays::default(),
                largest: 1000,
                lost_in_kernel: 0,
                strangers: 0,
                packets: 1500,
            },
            received: AllReceived { moments: Vec::new(), flows: vec![came, came], udp_overflow: 0 },
            interface_drops: 0,
        }
    }

    fn checks(of: &Measurement) -> Checks {
        let Measurement { plan, sent, routed, received, interface_drops } = of;
        Results { plan, sent, routed, received, interface_drops: *interface_drops }.checks()
    }

    /// Each thing that would make the numbers those of something else is found, and is the only one that is named.
    #[test]
    fn what_does_not_hold_is_named() {
        let good = checks(&measurement());
        assert!(good.hold() && good.failed().is_empty(), "{good:?}");
        type Spoil = fn(&mut Measurement);
        let late = |of: &mut Measurement| of.routed.lateness.add(Duration::from_millis(4));
        let cases: [(&str, Spoil); 14] = [
            ("UDP sent at its rate", |of| of.sent.flows[1].packets = 480),
            ("TCP short of send buffer", |of| of.sent.flows[0].short_of_buffer = Duration::from_millis(60)),
            ("(TSQ)", |of| of.sent.not_gone = 20_000),
            // A packet of 64 KiB that segmentation offload has joined.
            ("largest packet", |of| of.routed.largest = 65_160),
            ("before the queue saw them", |of| of.routed.lost_in_kernel = 1),
            ("packets of no flow", |of| of.routed.strangers = 1),
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
