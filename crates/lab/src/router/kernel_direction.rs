//! The direction to the receivers with a discipline of the kernel: the source host's link, the kernel's queue and link,
//! and then the delay of the link and the destination host's link.
//!
//! ```text
//!  r0 ► host's link ► r1, the kernel's queue ══════════ x0 ► delay, host's link ► x1 ══════════ receivers
//! ```
//!
//! A packet is handed to the kernel at the entrance, and met again at the exit. A discipline keeps the packets of a
//! flow in order, so those that went in before the one that comes out, and have not come out, were dropped.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use fairlane_link::{Line, LinkObserver};
use fairlane_linux::rtnetlink::QdiscCounts;
use fairlane_linux::{Classifier, FlowsBy, FrameLine, LinkLayer, QueuedPacket};
use fairlane_outcome::{QueueFlowRun, QueueRun, QueueSample};
use fairlane_qdisc::{Count, Duration, Kind, Packet, Reason, Tagged, Time};
use fairlane_scenario::LinkSide;

use crate::error::LabError;
use crate::in_kernel::InKernel;
use crate::network::{EXIT, ROUTER};
use crate::path::{DelayLine, Entry, HostLinks, Lateness, LinkPacket, Stamps, Wire};
use crate::plan::LabPlan;
use crate::router::kernel_link::KernelLink;
use crate::router::meter::Meter;
use crate::router::{KernelDrops, PacketCounts, Way, WayCounts, WaySample};

/// The length of an Ethernet header.
const ETHERNET: usize = 14;

/// How often the kernel is asked for the length of its queue.
const LOOK: Duration = Duration::from_millis(10);

/// A direction with a discipline of the kernel.
pub(crate) struct KernelDirection {
    entrance: FrameLine,
    exit: FrameLine,
    link: KernelLink,
    wire: Wire,
    classifier: Classifier,
    name: String,
    side: LinkSide,
    known: Time,
    hosts: HostLinks,
    before: DelayLine<Inside>,
    /// Packets on the wire: their flow, size and number.
    crossing: DelayLine<(u32, u32, u32)>,
    after: DelayLine<u32>,
    /// By flow, the packets that went in and have not come out, in order.
    inside: Vec<VecDeque<Inside>>,
    meter: Meter,
    totals: QueueSample,
    length: QueueLength,
    /// The kernel's counts, and the packets whose fate was open, at the start of the measurement.
    begun: (QdiscCounts, u64),
    lateness: Lateness,
}

/// A packet between the entrance and the exit.
struct Inside {
    packet: LinkPacket,
    tag: Tag,
}

/// The fields by which a packet differs from the others of its flow: the identification of its IPv4 header, which IPv6
/// does not have, and what follows the ports: TCP's numbers and timestamps, or UDP's checksum and our sequence number.
type Tag = (u16, [u8; BEHIND_PORTS]);

/// The bytes of a tag that follow the ports: up to the end of a TCP header with timestamps.
const BEHIND_PORTS: usize = 28;

/// The length of the kernel's queue over time.
#[derive(Default)]
struct QueueLength {
    last: QdiscCounts,
    looked: Time,
    from: Time,
    /// In packet-nanoseconds.
    area: u128,
}

impl KernelDirection {
    /// Installs `discipline` at the router's interface in this thread's namespace.
    pub(crate) fn new(plan: &LabPlan, hosts: HostLinks, wire: Wire, discipline: &InKernel) -> Result<Self, LabError> {
        let link = KernelLink::install(ROUTER[1], discipline, plan.link.forward.rate, plan.largest())?;
        let flows = plan.flows.len();
        Ok(Self {
            entrance: FrameLine::open(ROUTER[0], ROUTER[1])?,
            exit: FrameLine::open(EXIT[0], EXIT[1])?,
            link,
            wire,
            classifier: Classifier::new(FlowsBy::FiveTuple, LinkLayer::default()),
            name: plan.link.name.clone(),
            side: plan.link.forward.clone(),
            known: Time::ZERO,
            hosts,
            before: DelayLine::new(),
            crossing: DelayLine::new(),
            after: DelayLine::new(),
            inside: (0..flows).map(|_| VecDeque::new()).collect(),
            meter: Meter::new(flows),
            totals: QueueSample::default(),
            length: QueueLength::default(),
            begun: (QdiscCounts::default(), 0),
            lateness: Lateness::default(),
        })
    }

    fn come(&mut self, now: Time, clock: &Stamps, counts: &mut PacketCounts) -> bool {
        let Self { entrance, classifier, hosts, before, meter, .. } = self;
        let (more, came) = received(entrance, classifier, now, clock);
        for (at, packet) in came {
            let (id, bytes) = (packet.id, packet.bytes());
            counts.add(bytes);
            let flow = counts.flow_of(packet.flow_id(), |flow| meter.knows(flow));
            let Some((flow, since)) = flow.and_then(|flow| Some((flow, hosts.pass(false, flow, at, bytes)?))) else {
                entrance.discard(id);
                continue;
            };
            let tag = tag(network(entrance.frame(id)));
            before.push(since, Inside { packet: Tagged::new(packet, Entry { since, flow }), tag });
        }
        more
    }

    fn leave(&mut self, now: Time, clock: &Stamps, counts: &mut PacketCounts) -> bool {
        let Self { exit, classifier, wire, side, crossing, inside, meter, totals, .. } = self;
        let reason = reason(side.queue.kind());
        let (more, left) = received(exit, classifier, now, clock);
        for (at, packet) in left {
            let (id, frame) = (packet.id, network(exit.frame(packet.id)));
            let (tag, mut place) = (tag(frame), None);
            let known = |flow| {
                place = inside.get(flow as usize).and_then(|packets| packets.iter().position(|one| one.tag == tag));
                place.is_some()
            };
            let flow = counts.flow_of(packet.flow_id(), known);
            let Some((flow, place)) = flow.zip(place) else {
                exit.discard(id);
                continue;
            };
            let packets = &mut inside[flow as usize];
            for missed in packets.drain(..place) {
                totals.dropped.add(missed.packet.bytes());
                meter.dropped_inside(at, missed.packet, reason);
            }
            let Some(Inside { packet, .. }) = packets.pop_front() else { continue };
            let bytes = packet.bytes();
            if packet.packet.was_marked_since(frame) {
                totals.marked.add(bytes);
                meter.marked(at, &packet, Reason::Early);
            }
            totals.departed.add(bytes);
            meter.departed(at, &packet);
            let sent = wire.finish(at, bytes);
            if let Some(across) = wire.arrival(sent) {
                crossing.push(across, (flow, bytes, id));
            } else {
                meter.lost(at, packet);
                exit.discard(id);
            }
        }
        more
    }

    /// Returns the number of packets whose fate is open.
    fn open(&self) -> u64 {
        self.inside.iter().map(|packets| packets.len() as u64).sum()
    }

    fn look(&mut self, now: Time) -> io::Result<()> {
        let counts = self.link.counts()?;
        self.length.add(now, counts);
        Ok(())
    }
}

impl Way for KernelDirection {
    fn receive(&mut self, now: Time, clock: &Stamps, counts: &mut PacketCounts) -> io::Result<bool> {
        let came = self.come(now, clock, counts);
        // These have been counted at the entrance.
        let mut again = PacketCounts::default();
        let left = self.leave(now, clock, &mut again);
        counts.unclassified += again.unclassified;
        self.known = now;
        Ok(came | left)
    }

    fn known(&self) -> Time {
        self.known
    }

    fn advance(&mut self, now: Time) -> io::Result<()> {
        while let Some((due, mut inside)) = self.before.pop(now) {
            self.lateness.add(now.since(due));
            // It is handed to the kernel now, not when it was due.
            inside.packet.tag.since = now;
            let (id, bytes, flow) = (inside.packet.packet.id, inside.packet.bytes(), inside.packet.tag.flow);
            self.entrance.send_through_queue(id)?;
            self.totals.arrived.add(bytes);
            self.meter.arrived(now, &inside.packet);
            self.inside[flow as usize].push_back(inside);
        }
        while let Some((at, (flow, bytes, id))) = self.crossing.pop(now) {
            match self.hosts.pass(true, flow, at, bytes) {
                Some(there) => self.after.push(there, id),
                None => self.exit.discard(id),
            }
        }
        while let Some((due, id)) = self.after.pop(now) {
            self.lateness.add(now.since(due));
            self.exit.send(id)?;
        }
        if self.length.due() <= now {
            self.look(now)?;
        }
        Ok(())
    }

    fn deliver(&mut self) -> io::Result<bool> {
        self.advance(self.known)?;
        self.exit.flush()
    }

    fn due(&self) -> Option<Time> {
        let next = [self.before.next(), self.crossing.next(), self.after.next(), Some(self.length.due())];
        next.into_iter().flatten().min()
    }

    fn sockets(&self) -> Vec<BorrowedFd<'_>> {
        vec![self.entrance.as_fd(), self.exit.as_fd()]
    }

    fn lost_outside(&mut self) -> u64 {
        self.entrance.overrun() + self.entrance.refused() + self.exit.overrun() + self.exit.refused()
    }

    fn start(&mut self, now: Time) {
        self.wire.start(now);
    }

    fn begin(&mut self, now: Time) -> io::Result<()> {
        self.look(now)?;
        self.length = QueueLength { area: 0, from: self.length.looked, ..self.length };
        self.begun = (self.length.last, self.open());
        self.meter.begin(now);
        self.hosts.begin();
        self.lateness = Lateness::default();
        Ok(())
    }

    fn sample(&self) -> WaySample {
        let QdiscCounts { packets, bytes, .. } = self.length.last;
        let backlog = Count { packets: packets.into(), bytes: bytes.into() };
        WaySample::new(QueueSample { backlog, ..self.totals }, &self.meter, &self.hosts)
    }

    fn measured(&mut self, now: Time) -> io::Result<WayCounts> {
        self.look(now)?;
        let lost_bytes = self.meter.lost_bytes();
        let mut queue = self.meter.measured(now, &self.name, &self.side);
        let missed = drops(&queue.flows);
        share_out(self.length.mean(), &mut queue);
        let counted = u64::from(self.length.last.drops.wrapping_sub(self.begun.0.drops));
        Ok(WayCounts {
            queue,
            lost_bytes,
            dropped_at_hosts: self.hosts.dropped(),
            lateness: self.lateness.clone(),
            kernel: Some(KernelDrops { counted, missed, open: [self.begun.1, self.open()] }),
        })
    }
}

impl QueueLength {
    /// The time of the next look.
    fn due(&self) -> Time {
        self.looked + LOOK
    }

    fn add(&mut self, now: Time, counts: QdiscCounts) {
        self.area += u128::from(self.last.packets) * u128::from(now.since(self.looked).as_nanos());
        (self.last, self.looked) = (counts, now);
    }

    /// Returns the mean number of packets since the start of the measurement.
    fn mean(&self) -> f64 {
        self.area as f64 / self.looked.since(self.from).as_nanos().max(1) as f64
    }
}

fn drops(flows: &[QueueFlowRun]) -> u64 {
    flows.iter().flat_map(|flow| flow.dropped).sum()
}

/// Sets the mean length of the queue to `mean`. What packets that came out do not account for was the time of packets
/// that were dropped, and each flow gets its part of it by its drops. If they account for more, since packets whose
/// fate is open were dropped, all flows get less in proportion.
fn share_out(mean: f64, queue: &mut QueueRun) {
    let known = queue.mean_packets;
    let (part, rest) = if known > mean { (mean / known, 0.0) } else { (1.0, mean - known) };
    let all = drops(&queue.flows).max(1) as f64;
    for flow in &mut queue.flows {
        flow.mean_packets = flow.mean_packets * part + rest * flow.dropped.iter().sum::<u64>() as f64 / all;
    }
    queue.mean_packets = mean;
}

/// Returns packets that have arrived at `frames` with the times at which the kernel received them, and `true` if there
/// may be more.
fn received(
    frames: &mut FrameLine,
    classifier: &Classifier,
    now: Time,
    clock: &Stamps,
) -> (bool, Vec<(Time, QueuedPacket)>) {
    let mut came = Vec::new();
    let more = frames.receive(classifier, |at, packet| came.push((clock.time_of(at, now), packet)));
    (more, came)
}

/// Returns the packet in an Ethernet frame.
fn network(frame: &[u8]) -> &[u8] {
    frame.get(ETHERNET..).unwrap_or_default()
}

/// Returns the tag of a packet, with zeros for missing fields.
fn tag(packet: &[u8]) -> Tag {
    let first = packet.first().copied().unwrap_or_default();
    let v6 = first >> 4 == 6;
    let transport = if v6 { 40 } else { usize::from(first & 15) * 4 };
    let identification = packet.get(4..6).filter(|_| !v6).and_then(|bytes| bytes.try_into().ok());
    let mut behind = [0; BEHIND_PORTS];
    let there = packet.get(transport + 4..).unwrap_or_default();
    let bytes = there.len().min(BEHIND_PORTS);
    behind[..bytes].copy_from_slice(&there[..bytes]);
    (identification.map_or(0, u16::from_be_bytes), behind)
}

/// Returns the reason for the drops of a kind, as far as its name tells it: the kernel does not say it for a packet.
const fn reason(kind: Kind) -> Reason {
    match kind {
        Kind::DropTail => Reason::Limit,
        Kind::Codel | Kind::FqCodel | Kind::Cake => Reason::AqmDequeue,
        Kind::Sfq => Reason::BufferSteal,
        _ => Reason::Early,
    }
}

#[cfg(test)]
mod tests {
    use fairlane_linux::Marking;
    use fairlane_linux::nfqueue::PacketMessage;
    use fairlane_scenario::Document;
    use hdrhistogram::Histogram;

    use super::*;

    /// Two looks by hand: 4 packets for 10 ms, then 8 for 30 ms.
    #[test]
    fn the_mean_length_is_over_time() {
        let ms = |millis: u64| Time::from_nanos(millis * 1_000_000);
        let counts = |packets| QdiscCounts { packets, ..QdiscCounts::default() };
        let mut length = QueueLength { looked: ms(100), from: ms(100), last: counts(4), area: 0 };
        assert_eq!(length.due(), ms(110));
        length.add(ms(110), counts(8));
        length.add(ms(140), counts(0));
        assert!((length.mean() - 7.0).abs() < 1e-12, "{}", length.mean());
    }

    /// By hand: two packets arrive when the measurement begins. One leaves after 30 ms; then the other, which went in
    /// before it, is known to be dropped. Only the first has a time in the queue: a packet for 30 of 100 ms.
    #[test]
    fn a_dropped_packet_has_no_time_in_the_queue() {
        let ms = |millis: u64| Time::from_nanos(millis * 1_000_000);
        let packet = |id| {
            let queued = PacketMessage { queue: 0, id, mark: 0, payload: &[], bytes: 1000, gso: false, hosts: None };
            let packet = QueuedPacket::new(
                &queued,
                &Classifier::new(FlowsBy::FiveTuple, LinkLayer::default()),
                Marking::ByRule(1),
            );
            Tagged::new(packet, Entry { since: ms(1000), flow: 0 })
        };
        let mut meter = Meter::new(1);
        meter.begin(ms(1000));
        for id in [1, 2] {
            meter.arrived(ms(1000), &packet(id));
        }
        meter.dropped_inside(ms(1030), packet(1), Reason::Early);
        meter.departed(ms(1030), &packet(2));
        let scenario = Document::builtin().scenario().unwrap();
        let queue = meter.measured(ms(1100), "bottleneck", &scenario.links[0].forward);
        let flow = &queue.flows[0];
        assert_eq!((flow.arrived, flow.departed, drops(&queue.flows)), (2, 1, 1));
        assert!((flow.mean_packets - 0.3).abs() < 1e-12, "{}", flow.mean_packets);
    }

    /// By hand: of 20 packets, 5 and 7 came out; three quarters of the drops, and so of the other 8, are the second
    /// flow's.
    #[test]
    fn the_rest_of_the_queue_is_shared_by_drops() {
        let flow = |flow, mean_packets, limit| {
            let mut counts = QueueFlowRun { flow, mean_packets, ..QueueFlowRun::default() };
            counts.dropped[Reason::Limit.index()] = limit;
            counts
        };
        let mut queue = QueueRun {
            name: "bottleneck".to_owned(),
            kind: "choke".into(),
            rate_bps: 1e6,
            edge_bytes: 0.0,
            mean_packets: 12.0,
            mean_avg: None,
            delay_ns: Histogram::new(3).unwrap(),
            flows: vec![flow(0, 5.0, 10), flow(1, 7.0, 30)],
        };
        let lengths = |queue: &QueueRun| (queue.mean_packets, queue.flows[0].mean_packets, queue.flows[1].mean_packets);
        share_out(20.0, &mut queue);
        assert_eq!(lengths(&queue), (20.0, 7.0, 13.0));
        share_out(10.0, &mut queue);
        assert_eq!(lengths(&queue), (10.0, 3.5, 6.5));
    }

    /// An IPv4 header with options is longer. The time to live and the checksums change on the way, and are no part of
    /// it.
    #[test]
    fn a_tag_stays_the_same_on_the_way() {
        let mut packet = vec![0_u8; 56];
        packet[0] = 0x46;
        packet[4..6].copy_from_slice(&[0x12, 0x34]);
        let behind: [u8; BEHIND_PORTS] = std::array::from_fn(|place| place as u8 + 1);
        packet[28..56].copy_from_slice(&behind);
        let sent = tag(&packet);
        assert_eq!(sent, (0x1234, behind));
        packet[1] = 3;
        packet[8] = 63;
        packet[10..12].copy_from_slice(&[9, 9]);
        assert_eq!(tag(&packet), sent);
        for end in 0..packet.len() {
            let _ = tag(&packet[..end]);
        }
        assert_eq!(tag(&[]), (0, [0; BEHIND_PORTS]));
    }

    /// An IPv6 header has 40 bytes and no identification: its fifth and sixth bytes are the length. A datagram may end
    /// before a tag does.
    #[test]
    fn a_datagram_of_ipv6_has_its_checksum_and_its_number() {
        let mut packet = vec![0_u8; 40];
        (packet[0], packet[5]) = (0x60, 16);
        packet.extend([1, 1, 2, 2, 0, 16, 0xab, 0xcd, 0, 0, 0, 0, 0, 0, 0, 7]);
        let mut expected = [0; BEHIND_PORTS];
        expected[..4].copy_from_slice(&[0, 16, 0xab, 0xcd]);
        expected[11] = 7;
        assert_eq!(tag(&packet), (0, expected));
    }
}
