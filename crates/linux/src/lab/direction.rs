//! One direction of the dumbbell: the source's link, the queue before the bottleneck, and the destination's link.
//!
//! Time here is that of the network, not of the machine: each packet comes, leaves and arrives at the moment when it would on
//! real links. Should the machine be late, a verdict is late; the next packet's time does not depend on it.

use std::collections::HashMap;

use fairlane_outcome::QueueSample;
use fairlane_qdisc::{Count, Duration, Host, Packet, ParameterError, Rate, Seed, Time};
use fairlane_scenario::LinkSide;

use crate::delays::Delays;
use crate::engine::Engine;
use crate::nfqueue::{Decision, Verdict};
use crate::packet::{Held, Marking};

use super::host_link::{HostLink, Waiting};
use super::meter::Meter;

/// One direction.
pub(super) struct Direction {
    /// By flow, the link before the queue; `None` where the host is the node.
    first: Vec<Option<HostLink>>,
    before: Waiting<(u32, Held)>,
    engine: Engine<Meter>,
    rate: Rate,
    delay: Duration,
    /// By flow, the link behind the bottleneck.
    last: Vec<Option<HostLink>>,
    after: Waiting<Verdict>,
    /// The flow and the size of each packet that the queue has not yet given out, by its number.
    packets: HashMap<u32, (u32, u32)>,
    /// Packets of each flow that its host's links had no room for since the start of the run.
    dropped_at_hosts: Vec<u64>,
    /// The same when the measurement began.
    dropped_at_hosts_before: Vec<u64>,
    lateness: Delays,
    verdicts: Vec<Verdict>,
}

impl Direction {
    /// The link `side`, between the links of each flow's hosts.
    pub(super) fn new(
        side: &LinkSide,
        marking: Marking,
        seed: Seed,
        hosts: Vec<(Option<HostLink>, Option<HostLink>)>,
    ) -> Result<Self, ParameterError> {
        let discipline = side.queue.build(&Host { rate: side.rate, seed })?;
        let flows = hosts.len();
        let (first, last) = hosts.into_iter().unzip();
        Ok(Self {
            first,
            before: Waiting::new(),
            engine: Engine::new(discipline, side.rate, marking, Meter::new(flows)),
            rate: side.rate,
            delay: side.delay,
            last,
            after: Waiting::new(),
            packets: HashMap::new(),
            dropped_at_hosts: vec![0; flows],
            dropped_at_hosts_before: vec![0; flows],
            lateness: Delays::default(),
            verdicts: Vec::new(),
        })
    }

    /// Whether there is a flow of this number.
    pub(super) fn knows(&self, flow: u32) -> bool {
        (flow as usize) < self.first.len()
    }

    /// A packet of `flow`, which it [`knows`](Self::knows), leaves its source at `now`.
    pub(super) fn arrive(&mut self, now: Time, flow: u32, packet: Held) {
        let (id, bytes) = (packet.id, packet.bytes());
        match pass(&mut self.first[flow as usize], now, bytes) {
            Some(at) => {
                self.packets.insert(id, (flow, bytes));
                self.before.push(at, (flow, packet));
            }
            None => self.drop_at_host(id, flow),
        }
    }

    /// Lets everything happen that happens by `now`, in its order.
    pub(super) fn advance(&mut self, now: Time) {
        loop {
            let coming = self.before.next().unwrap_or(Time::MAX);
            let leaving = self.engine.due().unwrap_or(Time::MAX);
            let at = coming.min(leaving);
            if at > now || at == Time::MAX {
                break;
            }
            if coming <= leaving
                && let Some((_, (flow, packet))) = self.before.pop(at)
            {
                self.engine.witness().expect(packet.id, flow);
                self.engine.arrive(at, packet);
                let average = self.engine.average();
                self.engine.witness().averaged(average);
            } else {
                self.engine.advance(at);
            }
            self.send_on(at);
        }
        while let Some((due, verdict)) = self.after.pop(now) {
            self.lateness.add(now.since(due));
            self.verdicts.push(verdict);
        }
    }

    /// What the queue gave out at `at` goes on, or is dropped.
    fn send_on(&mut self, at: Time) {
        let decided: Vec<Verdict> = self.engine.verdicts().collect();
        for verdict in decided {
            let Some((flow, bytes)) = self.packets.remove(&verdict.id) else { continue };
            if verdict.decision == Decision::Drop {
                self.verdicts.push(verdict);
                continue;
            }
            let across = at + self.rate.transmission(bytes.into()) + self.delay;
            match pass(&mut self.last[flow as usize], across, bytes) {
                Some(there) => self.after.push(there, verdict),
                None => self.drop_at_host(verdict.id, flow),
            }
        }
    }

    fn drop_at_host(&mut self, id: u32, flow: u32) {
        self.dropped_at_hosts[flow as usize] += 1;
        self.verdicts.push(Verdict { id, decision: Decision::Drop });
    }

    /// When something happens next.
    pub(super) fn due(&self) -> Option<Time> {
        [self.before.next(), self.engine.due(), self.after.next()].into_iter().flatten().min()
    }

    /// The verdicts since the last call.
    pub(super) fn verdicts(&mut self) -> std::vec::Drain<'_, Verdict> {
        self.verdicts.drain(..)
    }

    /// The measurement begins.
    pub(super) fn begin(&mut self, now: Time) {
        self.engine.witness().begin(now);
        self.dropped_at_hosts_before.clone_from(&self.dropped_at_hosts);
        self.lateness = Delays::default();
    }

    /// Who counts at the queue.
    pub(super) const fn meter(&mut self) -> &mut Meter {
        self.engine.witness()
    }

    /// By flow, what the links of its hosts had no room for since the measurement began.
    pub(super) fn dropped_at_hosts(&self) -> Vec<u64> {
        let both = self.dropped_at_hosts.iter().zip(&self.dropped_at_hosts_before);
        both.map(|(dropped, before)| dropped - before).collect()
    }

    /// The queue as it is, and by flow what has been dropped anywhere since the start of the run.
    pub(super) fn sample(&self) -> (QueueSample, Vec<u64>) {
        let (engine, counters) = (&self.engine, self.engine.counters());
        let queue = QueueSample {
            // The lab has one.
            link: 0,
            arrived: counters.arrived,
            departed: counters.departed,
            dropped: counters.dropped_total(),
            marked: counters.marked_total(),
            backlog: Count { packets: engine.packets() as u64, bytes: engine.bytes() },
            average: engine.average(),
            probability: engine.probability(),
        };
        let dropped = engine.seen().dropped_since_start().zip(&self.dropped_at_hosts);
        (queue, dropped.map(|(at_queue, at_hosts)| at_queue + at_hosts).collect())
    }

    /// How much later than on real links packets arrived.
    pub(super) const fn lateness(&self) -> &Delays {
        &self.lateness
    }
}

/// When a packet is at the other end of a host's link; at once where there is none.
fn pass(link: &mut Option<HostLink>, at: Time, bytes: u32) -> Option<Time> {
    match link {
        Some(link) => link.pass(at, bytes),
        None => Some(at),
    }
}

#[cfg(test)]
mod tests {
    use fairlane_qdisc::{Kind, QdiscConfig};
    use fairlane_scenario::{Access, Wire};

    use super::*;
    use crate::flow::{FlowKeys, FlowsBy};
    use crate::link_layer::LinkLayer;
    use crate::nfqueue::Queued;

    const MARKING: Marking = Marking::ByRule(1);

    const fn ms(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    /// 4 Mbit/s and 5 ms between hosts' links of 8 Mbit/s, 2 ms and 3 ms, and `limit` packets in the queue.
    fn direction(limit: &str) -> (Direction, LinkSide) {
        let droptail = |limit| QdiscConfig::new(Kind::DropTail).with("limit", limit).unwrap();
        let rate = |mbit: u64| Rate::from_bits_per_second(mbit * 1_000_000);
        let host = |delay| Access { rate: rate(8), delay: Duration::from_millis(delay), queue: droptail("1000p") };
        let hosts = (Some(HostLink::new(&host(2), 1000)), Some(HostLink::new(&host(3), 1000)));
        let delay = Duration::from_millis(5);
        let side = LinkSide { rate: rate(4), delay, queue: droptail(limit), wire: Wire::default() };
        let mut direction = Direction::new(&side, MARKING, Seed::new(1), vec![hosts]).unwrap();
        direction.begin(ms(0));
        (direction, side)
    }

    /// Packets of 1000 bytes, numbered from 1, leave their source together at time zero.
    fn send(direction: &mut Direction, packets: u32) {
        let keys = FlowKeys::new(FlowsBy::FiveTuple);
        for id in 1..=packets {
            let queued = Queued { queue: 0, id, mark: 0, payload: &[], bytes: 1000, joined: false };
            direction.arrive(ms(0), 0, Held::new(&queued, &keys, LinkLayer::default(), MARKING));
        }
    }

    fn decided(direction: &mut Direction, now: Time) -> Vec<(u32, bool)> {
        direction.advance(now);
        direction.verdicts().map(|verdict| (verdict.id, verdict.decision == Decision::Accept)).collect()
    }

    /// By hand, in ms: the first is sent by its host until 1, at the queue at 3, on the link until 5, at the other host's link at 10
    /// and sent there until 11, and arrives at 14. The others follow at the pace of the bottleneck, 2 ms a packet.
    #[test]
    fn each_packet_arrives_when_it_would_on_real_links() {
        let (mut direction, _) = direction("100p");
        send(&mut direction, 3);
        let almost = Time::from_nanos(ms(14).as_nanos() - 1);
        assert_eq!((decided(&mut direction, almost), direction.due()), (vec![], Some(ms(14))));
        for (at, id) in [(14, 1), (16, 2), (18, 3)] {
            assert_eq!(decided(&mut direction, ms(at)), [(id, true)]);
        }
        assert_eq!((direction.due(), direction.lateness().most()), (None, Duration::ZERO));
    }

    /// A machine that looks only once, much later: all is counted as it would have been, and the lateness is told. The packets
    /// find the link free at 3, 5 and 7 ms and come to the queue at 3, 4 and 5 ms, so they wait 0, 1 and 2 ms.
    #[test]
    fn being_late_changes_no_time_of_the_network() {
        let (mut direction, side) = direction("100p");
        send(&mut direction, 3);
        assert_eq!(decided(&mut direction, ms(100)), [(1, true), (2, true), (3, true)]);
        assert_eq!(direction.lateness().most(), Duration::from_millis(86));
        let queue = direction.meter().measured(ms(100), "bottleneck", &side);
        assert_eq!((queue.flows[0].arrived, queue.flows[0].departed, queue.flows[0].departed_bytes), (3, 3, 3000));
        assert!((queue.mean_packets - 0.03).abs() < 1e-12, "{}", queue.mean_packets);
        assert!((queue.delay_ns.mean() / 1e6 - 1.0).abs() < 2e-3, "{}", queue.delay_ns.mean());
    }

    /// When the measurement begins its counts begin anew; samples go on from the start of the run. The first four packets are those of
    /// the next test, and a host's link with room for one packet beside the one that it sends drops the third of three.
    #[test]
    fn samples_know_what_was_before_the_measurement() {
        let (mut direction, _) = direction("1p");
        let droptail = QdiscConfig::new(Kind::DropTail).with("limit", "1p").unwrap();
        let rate = Rate::from_bits_per_second(8_000_000);
        let host = Access { rate, delay: Duration::from_millis(2), queue: droptail };
        send(&mut direction, 4);
        decided(&mut direction, ms(100));
        direction.first[0] = Some(HostLink::new(&host, 1000));
        let keys = FlowKeys::new(FlowsBy::FiveTuple);
        let mut three = |at| {
            for id in 11..14 {
                let queued = Queued { queue: 0, id, mark: 0, payload: &[], bytes: 1000, joined: false };
                direction.arrive(at, 0, Held::new(&queued, &keys, LinkLayer::default(), MARKING));
            }
            direction.advance(at + Duration::from_millis(50));
            (direction.dropped_at_hosts(), direction.lateness().most() > Duration::ZERO, direction.sample())
        };
        let (dropped, late, (queue, of_flow)) = three(ms(200));
        assert_eq!((dropped, late, queue.dropped.packets, of_flow), (vec![1], true, 1, vec![2]));
        let (flows, begun) = (vec![0], ms(400));
        direction.begin(begun);
        assert_eq!((direction.dropped_at_hosts(), direction.lateness().count()), (flows, 0));
        let (queue, of_flow) = direction.sample();
        assert_eq!((queue.arrived.packets, queue.departed.packets, queue.dropped.packets, of_flow), (6, 5, 1, vec![2]));
        assert_eq!((queue.backlog.packets, queue.average, queue.probability), (0, None, None));
    }

    /// With room for one packet in the queue: of those that come at 3, 4, 5 and 6 ms the first is being sent until 5, the second
    /// leaves then, the third takes its place, and the fourth finds it there.
    #[test]
    fn what_finds_no_room_is_dropped_at_once() {
        let (mut direction, side) = direction("1p");
        send(&mut direction, 4);
        assert_eq!(decided(&mut direction, ms(6)), [(4, false)]);
        assert_eq!(decided(&mut direction, ms(50)), [(1, true), (2, true), (3, true)]);
        let flow = direction.meter().measured(ms(50), "bottleneck", &side).flows.remove(0);
        assert_eq!((flow.arrived, flow.departed, flow.dropped.iter().sum::<u64>()), (4, 3, 1));
        assert_eq!(direction.dropped_at_hosts(), [0]);
    }
}
