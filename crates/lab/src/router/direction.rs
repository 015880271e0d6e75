//! One direction of the dumbbell: the source host's link, the bottleneck with its queue, and the destination host's
//! link.
//!
//! Times are those of the emulated network: each packet arrives and departs when it would on real links. If the machine
//! is late, a verdict is late, but the times of later packets do not depend on it.

use std::collections::HashMap;

use fairlane_linux::nfqueue::{Decision, Verdict};
use fairlane_linux::{DelayHistogram, Marking, QueuedPacket, Shaper};
use fairlane_outcome::{QueueRun, QueueSample};
use fairlane_qdisc::{Count, Host, Packet, ParameterError, Seed, Time};
use fairlane_scenario::LinkSide;

use crate::plan::fastest;
use crate::router::host_link::{DelayLine, HostLink};
use crate::router::meter::Meter;
use crate::router::wire::Wire;
use crate::router::{WayCounts, WaySample};

/// One direction.
pub(crate) struct Direction {
    /// By flow, the link before the queue; `None` if the flow has no host link.
    first: Vec<Option<HostLink>>,
    before: DelayLine<(u32, QueuedPacket)>,
    shaper: Shaper<Meter>,
    wire: Wire,
    /// Packets on the wire, with their flow and size.
    crossing: DelayLine<(u32, u32, Verdict)>,
    /// By flow, the link behind the bottleneck; `None` if the flow has no host link.
    last: Vec<Option<HostLink>>,
    after: DelayLine<Verdict>,
    /// The flow and the size of each packet that waits before or in the queue, by its number.
    packets: HashMap<u32, (u32, u32)>,
    /// By flow, packets dropped by the hosts' links since the start of the run.
    dropped_at_hosts: Vec<u64>,
    /// The same at the start of the measurement.
    dropped_at_hosts_before: Vec<u64>,
    lateness: DelayHistogram,
    verdicts: Vec<Verdict>,
}

impl Direction {
    /// Creates the direction of `side`, whose link has this name, with the host links of each flow. `seed` is that of
    /// the run.
    pub(crate) fn new(
        side: &LinkSide,
        name: &str,
        marking: Marking,
        seed: Seed,
        hosts: Vec<(Option<HostLink>, Option<HostLink>)>,
    ) -> Result<Self, ParameterError> {
        let discipline = side.queue.build(&Host { rate: side.rate, seed: seed.named("queue").named(name) })?;
        let flows = hosts.len();
        let (first, last) = hosts.into_iter().unzip();
        Ok(Self {
            first,
            before: DelayLine::new(),
            shaper: Shaper::new(discipline, fastest(side), marking, Meter::new(flows)),
            wire: Wire::new(side, seed.named("wire").named(name)),
            crossing: DelayLine::new(),
            last,
            after: DelayLine::new(),
            packets: HashMap::new(),
            dropped_at_hosts: vec![0; flows],
            dropped_at_hosts_before: vec![0; flows],
            lateness: DelayHistogram::default(),
            verdicts: Vec::new(),
        })
    }

    /// Returns the direction with verdicts that repeat the rules with this bit.
    pub(crate) fn repeating(self, bit: Option<u32>) -> Self {
        Self { shaper: self.shaper.repeating(bit), ..self }
    }

    /// Returns `true` if there is a flow of this number.
    pub(crate) fn knows(&self, flow: u32) -> bool {
        (flow as usize) < self.first.len()
    }

    /// Takes a packet of `flow`, which must be [known](Self::knows), that leaves its source at `now`.
    pub(crate) fn arrive(&mut self, now: Time, flow: u32, packet: QueuedPacket) {
        let (id, bytes) = (packet.id, packet.bytes());
        match pass(&mut self.first[flow as usize], now, bytes) {
            Some(at) => {
                self.packets.insert(id, (flow, bytes));
                self.before.push(at, (flow, packet));
            }
            None => self.drop_at_host(id, flow),
        }
    }

    /// Processes all events up to `now` in order.
    pub(crate) fn advance(&mut self, now: Time) {
        loop {
            let coming = self.before.next().unwrap_or(Time::MAX);
            let leaving = self.shaper.due().unwrap_or(Time::MAX);
            let at = coming.min(leaving);
            if at > now || at == Time::MAX {
                break;
            }
            if coming <= leaving
                && let Some((_, (flow, packet))) = self.before.pop(at)
            {
                self.shaper.observer_mut().assign(packet.id, flow);
                self.shaper.arrive(at, packet);
                let average = self.shaper.average();
                self.shaper.observer_mut().add_average(average);
            } else {
                self.shaper.advance(at);
            }
            self.send_on(at);
        }
        while let Some((at, (flow, bytes, verdict))) = self.crossing.pop(now) {
            match pass(&mut self.last[flow as usize], at, bytes) {
                Some(there) => self.after.push(there, verdict),
                None => self.drop_at_host(verdict.id, flow),
            }
        }
        while let Some((due, verdict)) = self.after.pop(now) {
            self.lateness.add(now.since(due));
            self.verdicts.push(verdict);
        }
    }

    /// Forwards or drops the packets that the queue decided on at `at`.
    fn send_on(&mut self, at: Time) {
        let decided: Vec<Verdict> = self.shaper.verdicts().collect();
        for verdict in decided {
            let Some((flow, bytes)) = self.packets.remove(&verdict.id) else { continue };
            if verdict.decision == Decision::Drop {
                self.verdicts.push(verdict);
                continue;
            }
            let sent = self.wire.sent(at, bytes);
            if self.wire.varies() {
                self.shaper.hold(sent);
            }
            if let Some(across) = self.wire.arrival(sent) {
                self.crossing.push(across, (flow, bytes, verdict));
            } else {
                self.shaper.observer_mut().lost(flow, bytes);
                self.verdicts.push(Verdict { id: verdict.id, decision: Decision::Drop, repeat: None });
            }
        }
    }

    fn drop_at_host(&mut self, id: u32, flow: u32) {
        self.dropped_at_hosts[flow as usize] += 1;
        self.verdicts.push(Verdict { id, decision: Decision::Drop, repeat: None });
    }

    /// Returns the time of the next event.
    pub(crate) fn due(&self) -> Option<Time> {
        [self.before.next(), self.shaper.due(), self.crossing.next(), self.after.next()].into_iter().flatten().min()
    }

    /// Removes and returns the verdicts since the last call.
    pub(crate) fn verdicts(&mut self) -> std::vec::Drain<'_, Verdict> {
        self.verdicts.drain(..)
    }

    /// Notes that time zero of the scenario is at `start`.
    pub(crate) const fn start(&mut self, start: Time) {
        self.wire.start(start);
    }

    /// Starts the measurement.
    pub(crate) fn begin(&mut self, now: Time) {
        self.shaper.observer_mut().begin(now);
        self.dropped_at_hosts_before.clone_from(&self.dropped_at_hosts);
        self.lateness = DelayHistogram::default();
    }

    /// Returns the counts of the measurement up to `now`, of the queue `name` before the link `side`.
    pub(crate) fn measured(&mut self, now: Time, name: &str, side: &LinkSide) -> WayCounts {
        let dropped_at_hosts = self.dropped_at_hosts();
        let meter = self.shaper.observer_mut();
        let (from, lost_bytes, queue) = (meter.from(), meter.lost_bytes(), meter.measured(now, name, side));
        let rate_bps = self.wire.mean_rate(from, now);
        let queue = QueueRun { rate_bps, ..queue };
        WayCounts { queue, dropped_at_hosts, lost_bytes, lateness: self.lateness, kernel: None }
    }

    /// Returns, by flow, the packets that the hosts' links dropped since the start of the measurement.
    pub(crate) fn dropped_at_hosts(&self) -> Vec<u64> {
        let both = self.dropped_at_hosts.iter().zip(&self.dropped_at_hosts_before);
        both.map(|(dropped, before)| dropped - before).collect()
    }

    /// Returns the state of the queue, by flow the packets dropped anywhere, and by flow those lost, since the start of
    /// the run.
    pub(crate) fn sample(&self) -> WaySample {
        let (shaper, counters) = (&self.shaper, self.shaper.counters());
        let queue = QueueSample {
            link: 0,
            arrived: counters.arrived,
            departed: counters.departed,
            dropped: counters.dropped_total(),
            marked: counters.marked_total(),
            backlog: Count { packets: shaper.packets() as u64, bytes: shaper.bytes() },
            average: shaper.average(),
            probability: shaper.probability(),
        };
        WaySample::new(queue, shaper.observer(), &self.dropped_at_hosts)
    }
}

/// Returns the time at which a packet reaches the other end of a host's link: at once without a link, and `None` if its
/// queue is full.
pub(crate) fn pass(link: &mut Option<HostLink>, at: Time, bytes: u32) -> Option<Time> {
    match link {
        Some(link) => link.pass(at, bytes),
        None => Some(at),
    }
}

#[cfg(test)]
mod tests {
    use fairlane_linux::nfqueue::PacketMessage;
    use fairlane_linux::{Classifier, LinkLayer};
    use fairlane_qdisc::headers::FlowsBy;
    use fairlane_qdisc::{Duration, Kind, QdiscParameters, Rate};
    use fairlane_scenario::Access;

    use super::*;

    const MARKING: Marking = Marking::ByRule(1);

    const fn ms(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    /// Returns a bottleneck of 4 Mbit/s and 5 ms with a limit of `limit`, between host links of 8 Mbit/s with 2 ms and
    /// 3 ms.
    fn direction(limit: &str) -> (Direction, LinkSide) {
        let droptail = |limit| {
            QdiscParameters::new(Kind::DropTail)
                .with("limit", limit)
                .unwrap()
                .resolve(Rate::from_bits_per_second(4_000_000))
                .unwrap()
        };
        let rate = |mbit: u64| Rate::from_bits_per_second(mbit * 1_000_000);
        let host = |delay| Access { rate: rate(8), delay: Duration::from_millis(delay), queue: droptail("1000p") };
        let hosts = (Some(HostLink::new(&host(2), 1000)), Some(HostLink::new(&host(3), 1000)));
        let delay = Duration::from_millis(5);
        let side = LinkSide { rate: rate(4), delay, queue: droptail(limit), wire: fairlane_scenario::Wire::default() };
        let mut direction = Direction::new(&side, "bottleneck", MARKING, Seed::new(1), vec![hosts]).unwrap();
        direction.begin(ms(0));
        (direction, side)
    }

    /// Sends packets of 1000 bytes, numbered from 1, from their source at time zero.
    fn send(direction: &mut Direction, packets: u32) {
        send_at(direction, ms(0), packets);
    }

    fn send_at(direction: &mut Direction, at: Time, packets: u32) {
        let classifier = Classifier::new(FlowsBy::FiveTuple, LinkLayer::default());
        for id in 1..=packets {
            let queued = PacketMessage { queue: 0, id, mark: 0, payload: &[], bytes: 1000, gso: false, hosts: None };
            direction.arrive(at, 0, QueuedPacket::new(&queued, &classifier, MARKING));
        }
    }

    fn decided(direction: &mut Direction, now: Time) -> Vec<(u32, bool)> {
        direction.advance(now);
        direction.verdicts().map(|verdict| (verdict.id, verdict.decision == Decision::Accept)).collect()
    }

    /// Times by hand in ms. The first packet is sent by its host until 1, reaches the queue at 3, is sent on the link
    /// until 5, reaches the other host's link at 10, is sent there until 11, and arrives at 14. The others follow at
    /// the pace of the bottleneck, 2 ms apart.
    #[test]
    fn each_packet_arrives_when_it_would_on_real_links() {
        let (mut direction, _) = direction("100p");
        send(&mut direction, 3);
        let almost = Time::from_nanos(ms(14).as_nanos() - 1);
        assert_eq!((decided(&mut direction, almost), direction.due()), (vec![], Some(ms(14))));
        for (at, id) in [(14, 1), (16, 2), (18, 3)] {
            assert_eq!(decided(&mut direction, ms(at)), [(id, true)]);
        }
        assert_eq!((direction.due(), direction.lateness.max()), (None, Duration::ZERO));
    }

    /// The first call comes much later than the events. Would catch times that depend on the call. The link is free at
    /// 3, 5 and 7 ms and the packets reach the queue at 3, 4 and 5 ms, so they wait 0, 1 and 2 ms.
    #[test]
    fn being_late_changes_no_time_of_the_network() {
        let (mut direction, side) = direction("100p");
        send(&mut direction, 3);
        assert_eq!(decided(&mut direction, ms(100)), [(1, true), (2, true), (3, true)]);
        assert_eq!(direction.lateness.max(), Duration::from_millis(86));
        let queue = direction.measured(ms(100), "bottleneck", &side).queue;
        assert_eq!((queue.flows[0].arrived, queue.flows[0].departed, queue.flows[0].departed_bytes), (3, 3, 3000));
        assert!((queue.mean_packets - 0.03).abs() < 1e-12, "{}", queue.mean_packets);
        assert!((queue.delay_ns.mean() / 1e6 - 1.0).abs() < 2e-3, "{}", queue.delay_ns.mean());
    }

    /// Would catch samples that start anew with the measurement, and counts of the measurement that do not. The first
    /// four packets are those of the next test. A host link with room for one packet in addition to the one that it
    /// sends drops the third of three.
    #[test]
    fn samples_count_from_the_start_of_the_run() {
        let (mut direction, _) = direction("1p");
        let droptail = QdiscParameters::new(Kind::DropTail)
            .with("limit", "1p")
            .unwrap()
            .resolve(Rate::from_bits_per_second(4_000_000))
            .unwrap();
        let rate = Rate::from_bits_per_second(8_000_000);
        let host = Access { rate, delay: Duration::from_millis(2), queue: droptail };
        send(&mut direction, 4);
        decided(&mut direction, ms(100));
        direction.first[0] = Some(HostLink::new(&host, 1000));
        let classifier = Classifier::new(FlowsBy::FiveTuple, LinkLayer::default());
        let mut three = |at| {
            for id in 11..14 {
                let queued =
                    PacketMessage { queue: 0, id, mark: 0, payload: &[], bytes: 1000, gso: false, hosts: None };
                direction.arrive(at, 0, QueuedPacket::new(&queued, &classifier, MARKING));
            }
            direction.advance(at + Duration::from_millis(50));
            (direction.dropped_at_hosts(), direction.lateness.max() > Duration::ZERO, direction.sample())
        };
        let (dropped, late, sample) = three(ms(200));
        assert_eq!((dropped, late, sample.queue.dropped.packets, sample.dropped), (vec![1], true, 1, vec![2]));
        let (flows, begun) = (vec![0], ms(400));
        direction.begin(begun);
        assert_eq!((direction.dropped_at_hosts(), direction.lateness.count()), (flows, 0));
        let WaySample { queue, dropped, lost } = direction.sample();
        let counts = (queue.arrived.packets, queue.departed.packets, queue.dropped.packets, dropped, lost);
        assert_eq!(counts, (6, 5, 1, vec![2], vec![0]));
        assert_eq!((queue.backlog.packets, queue.average, queue.probability), (0, None, None));
    }

    /// Times by hand in ms, from the start of the run at 1000 on. 1000 bytes take 2 at 4 Mbit/s. At 3 the rate falls to
    /// 1 Mbit/s, so half of the second packet takes until 7. In the outage from 10 to 20 the third waits, of which 3/8
    /// were sent, and the fourth. Each is at the other end 5 later. Would catch a packet that keeps its first rate, a
    /// link that sends ahead of the wire, and steps from another time than the start.
    #[test]
    fn the_rate_varies_from_the_start_on() {
        let text = r#"
            duration = "1s"
            [bottleneck]
            rate  = { steps = [["0s", "4mbit"], ["3ms", "1mbit"], ["10ms", "0bit"], ["20ms", "1mbit"]], every = "40ms" }
            delay = "5ms"
            [[flows]]
            name = "a"
            kind = "tcp"
        "#;
        let scenario = fairlane_scenario::Document::parse("steps.toml", text).and_then(|document| document.scenario());
        let side = scenario.unwrap_or_else(|error| panic!("{error}")).links.remove(0).forward;
        let mut direction = Direction::new(&side, "bottleneck", MARKING, Seed::new(1), vec![(None, None)]).unwrap();
        direction.start(ms(1000));
        direction.begin(ms(1000));
        send_at(&mut direction, ms(1000), 4);
        let arrivals = [7, 12, 30, 38];
        for (id, at) in (1..).zip(arrivals) {
            let almost = Time::from_nanos(ms(1000 + at).as_nanos() - 1);
            assert_eq!(decided(&mut direction, almost), vec![], "{at}");
            assert_eq!(decided(&mut direction, ms(1000 + at)), [(id, true)], "{at}");
        }
        // 39 kbit in the 40 ms of a period, and 19 in the 10 ms after it.
        let rate = direction.measured(ms(1050), "bottleneck", &side).queue.rate_bps;
        assert!((rate - 58e3 / 0.05).abs() < 1.0, "{rate}");
    }

    /// All packets are lost behind the queue: they get the verdict to drop them, are counted as lost and not as
    /// dropped, and the link has sent them.
    #[test]
    fn what_the_wire_loses_was_sent() {
        let (_, mut side) = direction("100p");
        side.wire.loss = Some(fairlane_scenario::Loss::independent(1.0));
        let mut direction =
            Direction::new(&side, "bottleneck", MARKING, Seed::new(1), vec![(None, None)]).expect("a discipline");
        direction.begin(ms(0));
        send(&mut direction, 3);
        assert_eq!(decided(&mut direction, ms(100)), [(1, false), (2, false), (3, false)]);
        assert_eq!((direction.sample().lost, direction.sample().dropped), (vec![3], vec![0]));
        let WayCounts { lost_bytes, mut queue, .. } = direction.measured(ms(100), "bottleneck", &side);
        assert_eq!(lost_bytes, [3000]);
        let flow = queue.flows.remove(0);
        assert_eq!((flow.departed, flow.lost, flow.dropped.iter().sum::<u64>()), (3, 3, 0));
    }

    /// The queue holds one packet. Packets reach it at 3, 4, 5 and 6 ms: the first is sent until 5, the second is sent
    /// then, the third takes its place, and the fourth finds the queue full. Would catch a drop that is decided late.
    #[test]
    fn packets_are_dropped_at_once_if_the_queue_is_full() {
        let (mut direction, side) = direction("1p");
        send(&mut direction, 4);
        assert_eq!(decided(&mut direction, ms(6)), [(4, false)]);
        assert_eq!(decided(&mut direction, ms(50)), [(1, true), (2, true), (3, true)]);
        let flow = direction.measured(ms(50), "bottleneck", &side).queue.flows.remove(0);
        assert_eq!((flow.arrived, flow.departed, flow.dropped.iter().sum::<u64>()), (4, 3, 1));
        assert_eq!(direction.dropped_at_hosts(), [0]);
    }
}
