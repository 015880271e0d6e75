//! The router between the hosts: both directions, in one thread.

mod direction;
mod host_link;
mod kernel_direction;
mod kernel_link;
mod meter;
mod wire;

use std::io;
use std::mem;
use std::os::fd::BorrowedFd;

use fairlane_linux::{
    Classifier, DelayHistogram, Firewall, LinkLayer, MarkBits, Marking, PacketNeeds, QueueSocket, QueuedPacket, now,
};
use fairlane_outcome::{QueueRun, QueueSample};
use fairlane_qdisc::{Duration, ParameterError, Seed, Time};
use fairlane_scenario::{Access, LinkSide};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::prctl::set_timerslack;
use nix::sys::time::TimeSpec;

use crate::address::Side;
use crate::error::LabError;
use crate::in_kernel::InKernel;
use crate::network::queue_port::{PacketCounts, QueuePort};
use crate::network::{CE_BIT, FLOWS, MARKS, QUEUES};
use crate::plan::LabPlan;
use crate::router::direction::Direction;
use crate::router::host_link::HostLink;
use crate::router::kernel_direction::KernelDirection;
use crate::router::meter::Meter;
use crate::router::wire::Wire;
use crate::timeline::{SampleTimes, Timeline};

/// The longest wait before the thread checks whether the run has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

pub(crate) const MARKING: Marking = Marking::ByRule(CE_BIT);

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
    /// Packets that the kernel dropped instead of handing them over.
    pub(crate) lost_in_kernel: u64,
    /// Packets that belong to no flow.
    pub(crate) unclassified: u64,
    /// Packets handed over in both directions since the start of the router.
    pub(crate) packets: u64,
}

/// The lab's router, with its queues bound.
pub(crate) struct LabRouter {
    /// To the right, and to the left.
    ways: [LabWay; 2],
    counts: PacketCounts,
}

/// A way with the names of its results.
struct LabWay {
    /// The side from which its packets come.
    from: Side,
    way: Box<dyn MeasuredWay>,
    /// True for the way that carries data, which is measured.
    carries_data: bool,
    name: String,
    side: LinkSide,
}

/// The way of packets through the router in one direction.
pub(crate) trait Way {
    /// Receives packets. Returns `true` if there may be more.
    fn receive(&mut self, counts: &mut PacketCounts) -> io::Result<bool>;
    /// Processes all events up to `now`.
    fn advance(&mut self, now: Time) -> io::Result<()>;
    /// Hands the kernel the verdicts on packets.
    fn flush(&mut self) -> io::Result<()>;
    /// Returns the time of the next event.
    fn due(&self) -> Option<Time>;
    /// Returns the sockets on which packets come.
    fn sockets(&self) -> Vec<BorrowedFd<'_>>;
    /// Returns the number of packets that the kernel dropped instead of handing them over.
    fn lost_in_kernel(&self) -> u64;
}

/// A way whose queue is measured.
pub(crate) trait MeasuredWay: Way {
    /// Notes that time zero of the scenario is at `start`.
    fn start(&mut self, start: Time);
    /// Starts the measurement.
    fn begin(&mut self, now: Time) -> io::Result<()>;
    /// Returns the state of the queue.
    fn sample(&mut self) -> WaySample;
    /// Returns the counts of the measurement up to `now`, of the queue `name` before the link `side`.
    fn measured(&mut self, now: Time, name: &str, side: &LinkSide) -> io::Result<WayCounts>;
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
    /// The delay of packets at the other end beyond their arrival on real links.
    pub(crate) lateness: DelayHistogram,
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

/// The link before the queue and the link behind it, of a flow's hosts.
pub(crate) type HostLinks = (Option<HostLink>, Option<HostLink>);

/// A way with a discipline of the library.
struct OwnQueue {
    port: QueuePort,
    direction: Direction,
    classifier: Classifier,
}

impl WaySample {
    /// Returns the state of `queue` and its `meter`, with the packets of each flow that the hosts' links dropped.
    pub(crate) fn new(queue: QueueSample, meter: &Meter, dropped_at_hosts: &[u64]) -> Self {
        let dropped = meter.dropped_since_start().zip(dropped_at_hosts);
        Self {
            queue,
            dropped: dropped.map(|(at_queue, at_hosts)| at_queue + at_hosts).collect(),
            lost: meter.lost_since_start().collect(),
        }
    }
}

impl LabRouter {
    /// Binds the queues in this thread's namespace. `seed` is that of the scenario and the run. If a discipline
    /// of the kernel is measured, packets that have left it come by the other socket.
    pub(crate) fn new(
        plan: &LabPlan,
        seed: Seed,
        in_kernel: Option<(InKernel, QueueSocket)>,
        firewall: Firewall,
    ) -> Result<Self, LabError> {
        let link = &plan.link;
        let repeat = firewall.repeat(MarkBits::new(MARKS)?);
        let reverse = format!("{}/reverse", link.name);
        let right: Box<dyn MeasuredWay> = match in_kernel {
            Some((discipline, exit)) => {
                let wire = Wire::new(&link.forward, seed.named("wire").named(&link.name));
                Box::new(KernelDirection::new(plan, hosts(plan, Side::Left), wire, &discipline, exit)?)
            }
            None => {
                Box::new(OwnQueue::new(QUEUES[0], &link.forward, &link.name, seed, hosts(plan, Side::Left), repeat)?)
            }
        };
        let left = OwnQueue::new(QUEUES[1], &link.reverse, &reverse, seed, hosts(plan, Side::Right), repeat)?;
        let sides = plan.sides();
        let way = |from, way, name, side: &LinkSide| LabWay {
            from,
            way,
            carries_data: sides.contains(&from),
            name,
            side: side.clone(),
        };
        Ok(Self {
            ways: [
                way(Side::Left, right, link.name.clone(), &link.forward),
                way(Side::Right, Box::new(left), reverse, &link.reverse),
            ],
            counts: PacketCounts::default(),
        })
    }

    /// Processes packets until the end of the run, and returns the results of the measurement.
    pub(crate) fn run(mut self, timeline: &Timeline) -> Result<RouterResults, LabError> {
        // Without this the kernel may extend each wait by 50 us.
        let _ = set_timerslack(1);
        let (mut started, mut begun, mut measured) = (false, false, None);
        let (mut sample_times, mut samples) = (timeline.sample_times(), Vec::new());
        while !timeline.is_over() {
            if !started && timeline.start() < Time::MAX {
                self.ways.iter_mut().for_each(|LabWay { way, .. }| way.start(timeline.start()));
                started = true;
            }
            let mut more = false;
            for LabWay { way, .. } in &mut self.ways {
                more |= way.receive(&mut self.counts).map_err(failed)?;
            }
            let now = now();
            // Events that are due before the start of the measurement, or before a sample, are processed first.
            if !begun && now >= timeline.from() {
                self.sample(timeline.from(), timeline, &mut sample_times, &mut samples).map_err(failed)?;
                self.advance(timeline.from()).map_err(failed)?;
                for LabWay { way, .. } in &mut self.ways {
                    way.begin(timeline.from()).map_err(failed)?;
                }
                begun = true;
            }
            self.sample(now, timeline, &mut sample_times, &mut samples).map_err(failed)?;
            if begun && measured.is_none() && now >= timeline.to() {
                let to = timeline.to();
                self.advance(to).map_err(failed)?;
                measured = Some(self.measured(to, mem::take(&mut samples)).map_err(failed)?);
                timeline.count_measured();
            }
            self.advance(now).map_err(failed)?;
            for LabWay { way, .. } in &mut self.ways {
                way.flush().map_err(failed)?;
            }
            if !more {
                self.wait(now, sample_times.next(timeline)).map_err(failed)?;
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
            let with_data = self.ways.iter_mut().enumerate().filter(|(_, way)| way.carries_data);
            let sampled = |(link, LabWay { way, .. }): (usize, &mut LabWay)| {
                let WaySample { queue, dropped, lost } = way.sample();
                // The numbers of the simulator: forward and then reverse.
                WaySample { queue: QueueSample { link: link as u32, ..queue }, dropped, lost }
            };
            samples.push(RouterSample { at, ways: with_data.map(sampled).collect() });
        }
        Ok(())
    }

    fn measured(&mut self, to: Time, samples: Vec<RouterSample>) -> io::Result<RouterResults> {
        let measured = |LabWay { from, way, name, side, .. }: &mut LabWay| {
            Ok(WayResults { from: *from, counts: way.measured(to, name, side)? })
        };
        let lost_in_kernel = self.ways.iter().map(|LabWay { way, .. }| way.lost_in_kernel()).sum();
        let ways = self.ways.iter_mut().filter(|way| way.carries_data).map(measured).collect::<io::Result<_>>()?;
        let PacketCounts { largest, unclassified, packets } = self.counts;
        Ok(RouterResults { samples, ways, largest, lost_in_kernel, unclassified, packets })
    }

    /// Waits for a packet, the next event or the next sample.
    fn wait(&self, now: Time, sample: Time) -> io::Result<()> {
        let due = self.ways.iter().filter_map(|LabWay { way, .. }| way.due()).fold(sample, Time::min);
        let until = due.since(now).min(POLL_INTERVAL);
        let timeout = TimeSpec::new(0, until.as_nanos() as i64);
        let sockets = self.ways.iter().flat_map(|LabWay { way, .. }| way.sockets());
        let mut ready: Vec<PollFd<'_>> = sockets.map(|socket| PollFd::new(socket, PollFlags::POLLIN)).collect();
        match ppoll(&mut ready, Some(timeout), None) {
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

impl OwnQueue {
    fn new(
        number: u16,
        side: &LinkSide,
        name: &str,
        seed: Seed,
        hosts: Vec<HostLinks>,
        repeat: Option<u32>,
    ) -> Result<Self, LabError> {
        let direction = Direction::new(side, name, MARKING, seed, hosts).map_err(|error| refused(&error))?;
        let direction = direction.repeating(repeat);
        let needs = PacketNeeds::of(side.queue.config());
        let classifier = Classifier { needs, ..Classifier::new(FLOWS, LinkLayer::default()) };
        Ok(Self { port: QueuePort::bind(number)?, direction, classifier })
    }
}

impl Way for OwnQueue {
    fn receive(&mut self, counts: &mut PacketCounts) -> io::Result<bool> {
        let Self { port, direction, classifier } = self;
        port.receive(counts, |at, flow, queued| {
            let known = direction.knows(flow);
            if known {
                direction.arrive(at, flow, QueuedPacket::new(queued, classifier, MARKING));
            }
            known
        })
    }

    fn advance(&mut self, now: Time) -> io::Result<()> {
        self.direction.advance(now);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.port.decide(self.direction.verdicts())
    }

    fn due(&self) -> Option<Time> {
        self.direction.due()
    }

    fn sockets(&self) -> Vec<BorrowedFd<'_>> {
        vec![self.port.socket()]
    }

    fn lost_in_kernel(&self) -> u64 {
        self.port.lost_in_kernel()
    }
}

impl MeasuredWay for OwnQueue {
    fn start(&mut self, start: Time) {
        self.direction.start(start);
    }

    fn begin(&mut self, now: Time) -> io::Result<()> {
        self.direction.begin(now);
        Ok(())
    }

    fn sample(&mut self) -> WaySample {
        self.direction.sample()
    }

    fn measured(&mut self, now: Time, name: &str, side: &LinkSide) -> io::Result<WayCounts> {
        Ok(self.direction.measured(now, name, side))
    }
}

/// Returns, by flow, the links of its hosts, for packets that come from `side`.
fn hosts(plan: &LabPlan, side: Side) -> Vec<HostLinks> {
    let host = |access: &Option<Access>, bytes| access.as_ref().map(|access| HostLink::new(access, bytes));
    let ends = |flow: u32| {
        let group = plan.group(flow);
        let bytes = group.packet.get();
        let (source, sink) = (host(&group.source, bytes), host(&group.sink, bytes));
        if plan.side(flow) == side { (source, sink) } else { (sink, source) }
    };
    (0..plan.flows.len() as u32).map(ends).collect()
}

fn failed(error: io::Error) -> LabError {
    LabError::Failed("the router", error)
}

fn refused(error: &ParameterError) -> LabError {
    LabError::Setup("the queue".to_owned(), io::Error::other(error.to_string()))
}
