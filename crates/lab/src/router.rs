//! The router between the hosts: both directions, in one thread.

mod kernel_direction;
mod kernel_link;
pub(crate) mod meter;

use std::io;
use std::mem;
use std::os::fd::{AsFd, BorrowedFd};

use fairlane_linux::{QueuedPacket, now};
use fairlane_outcome::{QueueRun, QueueSample};
use fairlane_qdisc::headers::FlowId;
use fairlane_qdisc::{Duration, Packet, Seed, Time};
use fairlane_scenario::{Access, LinkSide};
use nix::poll::{PollFd, PollFlags};

use crate::address::{Side, flow_of};
use crate::error::LabError;
use crate::in_kernel::InKernel;
use crate::network::{EXIT, ROUTER};
use crate::path::{Chain, FramePath, HostLink, HostLinks, Judgement, Lateness, Stamps, Waits, Wire};
use crate::plan::LabPlan;
use crate::router::kernel_direction::KernelDirection;
use crate::router::meter::Meter;
use crate::timeline::{SampleTimes, Timeline};

/// The longest wait before the thread checks whether the run has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The interval between attempts to send frames that the kernel has not accepted.
const RETRY: Duration = Duration::from_millis(1);

/// The IP protocol number of ICMPv6.
const ICMPV6: u8 = 58;

/// The state at one sample time.
pub(crate) struct RouterSample {
    pub(crate) at: Time,
    /// The state of the ways, in the order of their results.
    pub(crate) ways: Vec<WaySample>,
}

/// The state of a way at one sample time.
pub(crate) struct WaySample {
    pub(crate) queue: QueueSample,
    /// By flow, the packets dropped and those lost on the wire, since the start of the run.
    pub(crate) dropped: Vec<u64>,
    pub(crate) lost: Vec<u64>,
}

/// The router's results for the measurement.
pub(crate) struct RouterResults {
    /// The samples in order of time.
    pub(crate) samples: Vec<RouterSample>,
    /// The ways that carry data.
    pub(crate) ways: Vec<WayResults>,
    /// The size of the largest packet in bytes.
    pub(crate) largest: u32,
    /// Packets dropped outside of the queues, since the machine was too slow.
    pub(crate) lost_outside: u64,
    /// Packets that belong to no flow.
    pub(crate) unclassified: u64,
    /// Packets handed over in both directions since the start of the router.
    pub(crate) packets: u64,
}

/// The lab's router.
pub(crate) struct LabRouter {
    /// To the right, and to the left.
    ways: [LabWay; 2],
    counts: PacketCounts,
}

/// A way with its place.
struct LabWay {
    /// The side from which its packets come.
    from: Side,
    way: Box<dyn Way>,
    /// True for the way that carries data, which is measured.
    carries_data: bool,
}

/// The packets that the router has seen.
#[derive(Clone, Copy, Default)]
pub(crate) struct PacketCounts {
    /// The size of the largest packet in bytes.
    pub(crate) largest: u32,
    /// Packets that belong to no flow.
    pub(crate) unclassified: u64,
    /// All packets.
    pub(crate) packets: u64,
}

/// The way of packets through the router in one direction.
pub(crate) trait Way {
    /// Receives packets that have arrived by `now`. Returns `true` if there may be more.
    fn receive(&mut self, now: Time, clock: &Stamps, counts: &mut PacketCounts) -> io::Result<bool>;
    /// Returns the time up to which all arrivals are known.
    fn known(&self) -> Time;
    /// Processes all events up to `now`.
    fn advance(&mut self, now: Time) -> io::Result<()>;
    /// Processes all events up to the known time, and hands packets over. Returns `true` if the kernel has not accepted
    /// all.
    fn deliver(&mut self) -> io::Result<bool>;
    /// Returns the time of the next event.
    fn due(&self) -> Option<Time>;
    /// Returns the sockets on which packets come.
    fn sockets(&self) -> Vec<BorrowedFd<'_>>;
    /// Returns the number of packets that were dropped outside of the queue since the machine was too slow.
    fn lost_outside(&mut self) -> u64;
    /// Begins the scenario at `now`.
    fn start(&mut self, now: Time);
    /// Begins the measurement at `now`.
    fn begin(&mut self, now: Time) -> io::Result<()>;
    /// Returns the state of the queue.
    fn sample(&self) -> WaySample;
    /// Returns the counts of the measurement up to `now`.
    fn measured(&mut self, now: Time) -> io::Result<WayCounts>;
}

/// The results of a way that carries data.
pub(crate) struct WayResults {
    /// The side from which its packets come.
    pub(crate) from: Side,
    pub(crate) counts: WayCounts,
}

/// The counts of a way.
pub(crate) struct WayCounts {
    pub(crate) queue: QueueRun,
    /// By flow, packets dropped by the hosts' links.
    pub(crate) dropped_at_hosts: Vec<u64>,
    /// By flow, bytes lost on the wire.
    pub(crate) lost_bytes: Vec<u64>,
    /// How late packets reached the other end.
    pub(crate) lateness: Lateness,
    /// The kernel's own counts, if the queue is the kernel's.
    pub(crate) kernel: Option<KernelDrops>,
}

/// The drops of a queue of the kernel, by its own count, and by the packets that went in and did not come out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct KernelDrops {
    /// By the kernel's count.
    pub(crate) counted: u64,
    /// Packets that went in and were overtaken by a later one of their flow.
    pub(crate) missed: u64,
    /// Packets whose fate was open at the start, and at the end, of the measurement.
    pub(crate) open: [u64; 2],
}

/// A way with a discipline of the library.
struct OwnQueue {
    path: FramePath<Meter>,
    name: String,
    side: LinkSide,
}

impl WaySample {
    /// Returns the state of `queue` and its `meter`, with the packets of each flow that the links of `hosts` dropped.
    pub(crate) fn new(queue: QueueSample, meter: &Meter, hosts: &HostLinks) -> Self {
        let dropped = meter.dropped_since_start().zip(hosts.dropped_since_start());
        Self {
            queue,
            dropped: dropped.map(|(at_queue, at_hosts)| at_queue + at_hosts).collect(),
            lost: meter.lost_since_start().collect(),
        }
    }
}

impl LabRouter {
    /// Opens the interfaces of this thread's namespace. `seed` is that of the scenario and the run.
    pub(crate) fn new(plan: &LabPlan, seed: Seed, in_kernel: Option<InKernel>) -> Result<Self, LabError> {
        let link = &plan.link;
        let [left, right] = ROUTER;
        let own = |side: &LinkSide, name: &str, ends, from| -> Result<Box<dyn Way>, LabError> {
            Ok(Box::new(OwnQueue::open(side, name, ends, seed, hosts(plan, from))?))
        };
        let last = if in_kernel.is_some() { EXIT[1] } else { right };
        let rightward: Box<dyn Way> = match in_kernel {
            Some(discipline) => {
                let wire = Wire::new(&link.forward, seed.named("wire").named(&link.name), now());
                Box::new(KernelDirection::new(plan, hosts(plan, Side::Left), wire, &discipline)?)
            }
            None => own(&link.forward, &link.name, [left, right], Side::Left)?,
        };
        let leftward = own(&link.reverse, &format!("{}/reverse", link.name), [last, left], Side::Right)?;
        let sides = plan.sides();
        let way = |from, way| LabWay { from, way, carries_data: sides.contains(&from) };
        Ok(Self { ways: [way(Side::Left, rightward), way(Side::Right, leftward)], counts: PacketCounts::default() })
    }

    /// Processes packets until the end of the run, and returns the results of the measurement.
    pub(crate) fn run(mut self, timeline: &Timeline) -> Result<RouterResults, LabError> {
        let mut waits = Waits::begin();
        let (mut started, mut begun, mut measured) = (false, false, None);
        let (mut sample_times, mut samples) = (timeline.sample_times(), Vec::new());
        let mut stamps = Stamps::new(Time::ZERO);
        while !timeline.is_over() {
            let at = now();
            stamps.follow(at, Time::ZERO);
            let mut more = false;
            for LabWay { way, .. } in &mut self.ways {
                more |= way.receive(at, &stamps, &mut self.counts).map_err(failed)?;
            }
            let known = self.ways.iter().map(|LabWay { way, .. }| way.known()).fold(Time::MAX, Time::min);
            // Events that are due before the start, the measurement or a sample are processed first.
            if !started && known >= timeline.start() {
                self.advance(timeline.start()).map_err(failed)?;
                self.ways.iter_mut().for_each(|LabWay { way, .. }| way.start(timeline.start()));
                started = true;
            }
            if !begun && known >= timeline.from() {
                self.sample(timeline.from(), timeline, &mut sample_times, &mut samples).map_err(failed)?;
                self.advance(timeline.from()).map_err(failed)?;
                for LabWay { way, .. } in &mut self.ways {
                    way.begin(timeline.from()).map_err(failed)?;
                }
                begun = true;
            }
            self.sample(known, timeline, &mut sample_times, &mut samples).map_err(failed)?;
            if begun && measured.is_none() && known >= timeline.to() {
                let to = timeline.to();
                self.advance(to).map_err(failed)?;
                measured = Some(self.measured(to, mem::take(&mut samples)).map_err(failed)?);
                timeline.count_measured();
            }
            let mut pending = false;
            for LabWay { way, .. } in &mut self.ways {
                pending |= way.deliver().map_err(failed)?;
            }
            if !more {
                self.wait(&mut waits, sample_times.next(timeline), pending).map_err(failed)?;
            }
        }
        measured.ok_or(LabError::Interrupted)
    }

    fn advance(&mut self, now: Time) -> io::Result<()> {
        self.ways.iter_mut().try_for_each(|LabWay { way, .. }| way.advance(now))
    }

    /// Takes the samples that are due by `now`, each at its own time.
    fn sample(
        &mut self,
        now: Time,
        timeline: &Timeline,
        sample_times: &mut SampleTimes,
        samples: &mut Vec<RouterSample>,
    ) -> io::Result<()> {
        while let Some(at) = sample_times.take_due(now, timeline) {
            self.advance(at)?;
            let with_data = self.ways.iter().enumerate().filter(|(_, way)| way.carries_data);
            let sampled = |(link, LabWay { way, .. }): (usize, &LabWay)| {
                let WaySample { queue, dropped, lost } = way.sample();
                // The numbers of the simulator: forward and then reverse.
                WaySample { queue: QueueSample { link: link as u32, ..queue }, dropped, lost }
            };
            samples.push(RouterSample { at, ways: with_data.map(sampled).collect() });
        }
        Ok(())
    }

    fn measured(&mut self, to: Time, samples: Vec<RouterSample>) -> io::Result<RouterResults> {
        let measured =
            |LabWay { from, way, .. }: &mut LabWay| Ok(WayResults { from: *from, counts: way.measured(to)? });
        let lost_outside = self.ways.iter_mut().map(|LabWay { way, .. }| way.lost_outside()).sum();
        let ways = self.ways.iter_mut().filter(|way| way.carries_data).map(measured).collect::<io::Result<_>>()?;
        let PacketCounts { largest, unclassified, packets } = self.counts;
        Ok(RouterResults { samples, ways, largest, lost_outside, unclassified, packets })
    }

    /// Waits for a packet, the next event or the next sample.
    fn wait(&self, waits: &mut Waits, sample: Time, pending: bool) -> io::Result<()> {
        let due = self.ways.iter().filter_map(|LabWay { way, .. }| way.due()).fold(sample, Time::min);
        let sockets = self.ways.iter().flat_map(|LabWay { way, .. }| way.sockets());
        let mut sources: Vec<PollFd<'_>> = sockets.map(|socket| PollFd::new(socket, PollFlags::POLLIN)).collect();
        waits.wait(&mut sources, Some(due.since(now())), if pending { RETRY } else { POLL_INTERVAL })
    }
}

impl PacketCounts {
    /// Counts a packet of this size.
    pub(crate) fn add(&mut self, bytes: u32) {
        self.packets += 1;
        self.largest = self.largest.max(bytes);
    }

    /// Returns the flow of a packet, by its source address, if it is `known`; otherwise counts it. Packets of the
    /// hosts' IPv6 have no flow and no part in the traffic: neighbour discovery and multicast listener reports.
    pub(crate) fn flow_of(&mut self, packet: FlowId, known: impl FnOnce(u32) -> bool) -> Option<u32> {
        let (flow, counted) = match packet {
            FlowId::Ip { source, protocol, .. } => (flow_of(source), protocol != ICMPV6),
            FlowId::Frame { .. } => (None, true),
        };
        let flow = flow.filter(|flow| known(*flow));
        self.unclassified += u64::from(flow.is_none() && counted);
        flow
    }
}

impl OwnQueue {
    fn open(side: &LinkSide, name: &str, ends: [&str; 2], seed: Seed, hosts: HostLinks) -> Result<Self, LabError> {
        let meter = Meter::new(hosts.dropped_since_start().len());
        let chain = Chain::new(side, name, seed, now(), meter)?.between(hosts);
        let path = FramePath::open(ends, chain, side.queue.config())?;
        Ok(Self { path, name: name.to_owned(), side: side.clone() })
    }
}

impl Way for OwnQueue {
    fn receive(&mut self, now: Time, clock: &Stamps, counts: &mut PacketCounts) -> io::Result<bool> {
        Ok(self.path.receive(now, clock, |meter, packet: &QueuedPacket| {
            counts.add(packet.bytes());
            counts.flow_of(packet.flow_id(), |flow| meter.knows(flow))
        }))
    }

    fn known(&self) -> Time {
        self.path.known()
    }

    fn advance(&mut self, now: Time) -> io::Result<()> {
        self.path.chain_mut().advance(now);
        Ok(())
    }

    fn deliver(&mut self) -> io::Result<bool> {
        self.path.deliver(now(), |_, _, _, _| Judgement::Pass)
    }

    fn due(&self) -> Option<Time> {
        self.path.chain().due()
    }

    fn sockets(&self) -> Vec<BorrowedFd<'_>> {
        vec![self.path.as_fd()]
    }

    fn lost_outside(&mut self) -> u64 {
        self.path.lost()
    }

    fn start(&mut self, now: Time) {
        self.path.chain_mut().start(now);
    }

    fn begin(&mut self, now: Time) -> io::Result<()> {
        self.path.begin();
        self.path.chain_mut().meter_mut().begin(now);
        Ok(())
    }

    fn sample(&self) -> WaySample {
        let chain = self.path.chain();
        WaySample::new(chain.sample(), chain.meter(), chain.hosts())
    }

    fn measured(&mut self, now: Time) -> io::Result<WayCounts> {
        let lateness = self.path.lateness().clone();
        let chain = self.path.chain_mut();
        let queue = chain.meter_mut().measured(now, &self.name, &self.side);
        let rate_bps = chain.mean_rate(chain.meter().from(), now);
        let queue = QueueRun { rate_bps, mean_avg: chain.mean_average(), ..queue };
        let (dropped_at_hosts, lost_bytes) = (chain.hosts().dropped(), chain.meter().lost_bytes());
        Ok(WayCounts { queue, dropped_at_hosts, lost_bytes, lateness, kernel: None })
    }
}

/// Returns the links of the hosts of flows, for packets that come from `side`.
fn hosts(plan: &LabPlan, side: Side) -> HostLinks {
    let host = |access: &Option<Access>, bytes| access.as_ref().map(|access| HostLink::new(access, bytes));
    let ends = |flow: u32| {
        let group = plan.group(flow);
        let bytes = group.packet.get();
        let (source, sink) = (host(&group.source, bytes), host(&group.sink, bytes));
        if plan.side(flow) == side { [source, sink] } else { [sink, source] }
    };
    HostLinks::new((0..plan.flows.len() as u32).map(ends).collect())
}

fn failed(error: io::Error) -> LabError {
    LabError::Failed("the router", error)
}
