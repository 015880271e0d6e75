//! The router between the hosts: both directions, in one thread.

use std::io;
use std::mem;
use std::os::fd::BorrowedFd;

use fairlane_outcome::{QueueRun, QueueSample};
use fairlane_qdisc::{Duration, ParameterError, Seed, Time};
use fairlane_scenario::{Access, LinkSide};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::prctl::set_timerslack;
use nix::sys::time::TimeSpec;

use crate::clock::now;
use crate::delay_histogram::DelayHistogram;
use crate::flow::FlowKeys;
use crate::link::LinkLayer;
use crate::packet::{Marking, QueuedPacket};
use crate::socket::QueueSocket;

use super::direction::Direction;
use super::error::LabError;
use super::host_link::HostLink;
use super::in_kernel::InKernel;
use super::kernel_direction::KernelDirection;
use super::network::{CE_BIT, FLOWS, QUEUES};
use super::plan::LabPlan;
use super::queue_port::{PacketCounts, QueuePort};
use super::timeline::{SampleTimes, Timeline};

/// The longest wait before the thread checks whether the run has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

pub(super) const MARKING: Marking = Marking::ByRule(CE_BIT);

/// The state at one sample time.
pub(super) struct RouterSample {
    pub(super) at: Time,
    pub(super) queue: QueueSample,
    /// By flow, the packets dropped since the start of the run.
    pub(super) dropped: Vec<u64>,
}

/// The router's results for the measurement.
pub(super) struct RouterResults {
    /// The samples in order of time.
    pub(super) samples: Vec<RouterSample>,
    /// The queue of packets to the receivers.
    pub(super) queue: QueueRun,
    /// By flow, data packets dropped by the links of its hosts.
    pub(super) dropped_at_hosts: Vec<u64>,
    /// The delay of packets at the receivers beyond their arrival on real links.
    pub(super) lateness: DelayHistogram,
    /// The drops of the kernel's own discipline, if it was measured.
    pub(super) kernel: Option<KernelDrops>,
    /// The size of the largest packet in bytes.
    pub(super) largest: u32,
    /// Packets that the kernel dropped instead of handing them over.
    pub(super) lost_in_kernel: u64,
    /// Packets that belong to no flow.
    pub(super) unclassified: u64,
    /// Packets handed over in both directions since the start of the router.
    pub(super) packets: u64,
}

/// The lab's router, with its queues bound.
pub(super) struct LabRouter {
    /// To the receivers.
    forward: Box<dyn MeasuredWay>,
    /// To the senders.
    reverse: OwnQueue,
    keys: FlowKeys,
    counts: PacketCounts,
    name: String,
    side: LinkSide,
}

/// The way of packets through the router in one direction.
pub(super) trait Way {
    /// Receives packets. Returns `true` if there may be more.
    fn receive(&mut self, keys: &FlowKeys, counts: &mut PacketCounts) -> io::Result<bool>;
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
pub(super) trait MeasuredWay: Way {
    /// Starts the measurement.
    fn begin(&mut self, now: Time) -> io::Result<()>;
    /// Returns the state of the queue, and by flow the packets dropped anywhere since the start of the run.
    fn sample(&mut self) -> (QueueSample, Vec<u64>);
    /// Returns the counts of the measurement up to `now`, of the queue `name` before the link `side`.
    fn measured(&mut self, now: Time, name: &str, side: &LinkSide) -> io::Result<WayResults>;
}

/// The results of a way.
pub(super) struct WayResults {
    pub(super) queue: QueueRun,
    /// By flow, packets dropped by the hosts' links.
    pub(super) dropped_at_hosts: Vec<u64>,
    pub(super) lateness: DelayHistogram,
    /// The kernel's own counts, if the queue is the kernel's.
    pub(super) kernel: Option<KernelDrops>,
}

/// The drops of a queue of the kernel, by its own count and by what went in and did not come out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct KernelDrops {
    /// By the kernel's count.
    pub(super) counted: u64,
    /// Packets that went in and were overtaken by a later one of their flow.
    pub(super) missed: u64,
    /// Packets whose fate was open at the start, and at the end, of the measurement.
    pub(super) open: [u64; 2],
}

/// The link before the queue and the link behind it, of a flow's hosts.
pub(super) type HostLinks = (Option<HostLink>, Option<HostLink>);

/// A way with a discipline of the library.
struct OwnQueue {
    port: QueuePort,
    direction: Direction,
}

impl LabRouter {
    /// Binds the queues in this thread's namespace. `seed` is that of the scenario and the run. If a discipline
    /// of the kernel is measured, packets that have left it come by the socket beside it.
    pub(super) fn new(
        plan: &LabPlan,
        seed: Seed,
        in_kernel: Option<(InKernel, QueueSocket)>,
    ) -> Result<Self, LabError> {
        let (link, reverse) = (&plan.link, format!("{}/reverse", plan.link.name));
        let forward: Box<dyn MeasuredWay> = match in_kernel {
            Some((discipline, exit)) => Box::new(KernelDirection::new(plan, hosts(plan, false), &discipline, exit)?),
            None => Box::new(OwnQueue::new(
                QUEUES[0],
                &link.forward,
                seed.named("queue").named(&link.name),
                hosts(plan, false),
            )?),
        };
        Ok(Self {
            forward,
            reverse: OwnQueue::new(QUEUES[1], &link.reverse, seed.named("queue").named(&reverse), hosts(plan, true))?,
            keys: FlowKeys::new(FLOWS),
            counts: PacketCounts::default(),
            name: link.name.clone(),
            side: link.forward.clone(),
        })
    }

    /// Processes packets until the end of the run, and returns the results of the measurement.
    pub(super) fn run(mut self, timeline: &Timeline) -> Result<RouterResults, LabError> {
        // Without this the kernel may extend each wait by 50 us.
        let _ = set_timerslack(1);
        let (mut begun, mut measured) = (false, None);
        let (mut sample_times, mut samples) = (timeline.sample_times(), Vec::new());
        while !timeline.is_over() {
            let mut more = false;
            for way in [&mut *self.forward as &mut dyn Way, &mut self.reverse] {
                more |= way.receive(&self.keys, &mut self.counts).map_err(failed)?;
            }
            let now = now();
            // Events that are due before the start of the measurement, or before a sample, are processed first.
            if !begun && now >= timeline.from() {
                self.sample(timeline.from(), timeline, &mut sample_times, &mut samples).map_err(failed)?;
                self.advance(timeline.from()).map_err(failed)?;
                self.forward.begin(timeline.from()).map_err(failed)?;
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
            self.forward.flush().map_err(failed)?;
            self.reverse.flush().map_err(failed)?;
            if !more {
                self.wait(now, sample_times.next(timeline)).map_err(failed)?;
            }
        }
        measured.ok_or(LabError::Interrupted)
    }

    fn advance(&mut self, now: Time) -> io::Result<()> {
        self.forward.advance(now)?;
        self.reverse.advance(now)
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
            let (queue, dropped) = self.forward.sample();
            samples.push(RouterSample { at, queue, dropped });
        }
        Ok(())
    }

    fn measured(&mut self, to: Time, samples: Vec<RouterSample>) -> io::Result<RouterResults> {
        let WayResults { queue, dropped_at_hosts, lateness, kernel } =
            self.forward.measured(to, &self.name, &self.side)?;
        let lost_in_kernel = self.forward.lost_in_kernel() + self.reverse.lost_in_kernel();
        let PacketCounts { largest, unclassified, packets } = self.counts;
        Ok(RouterResults {
            samples,
            queue,
            dropped_at_hosts,
            lateness,
            kernel,
            largest,
            lost_in_kernel,
            unclassified,
            packets,
        })
    }

    /// Waits for a packet, the next event or the next sample.
    fn wait(&self, now: Time, sample: Time) -> io::Result<()> {
        let due = [self.forward.due(), self.reverse.due()].into_iter().flatten().fold(sample, Time::min);
        let until = due.since(now).min(POLL_INTERVAL);
        let timeout = TimeSpec::new(0, until.as_nanos() as i64);
        let sockets = self.forward.sockets().into_iter().chain(self.reverse.sockets());
        let mut ready: Vec<PollFd<'_>> = sockets.map(|socket| PollFd::new(socket, PollFlags::POLLIN)).collect();
        match ppoll(&mut ready, Some(timeout), None) {
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

impl OwnQueue {
    fn new(number: u16, side: &LinkSide, seed: Seed, hosts: Vec<HostLinks>) -> Result<Self, LabError> {
        let direction = Direction::new(side, MARKING, seed, hosts).map_err(|error| refused(&error))?;
        Ok(Self { port: QueuePort::bind(number)?, direction })
    }
}

impl Way for OwnQueue {
    fn receive(&mut self, keys: &FlowKeys, counts: &mut PacketCounts) -> io::Result<bool> {
        let Self { port, direction } = self;
        port.receive(counts, |at, flow, queued| {
            let known = direction.knows(flow);
            if known {
                direction.arrive(at, flow, QueuedPacket::new(queued, keys, LinkLayer::default(), MARKING));
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
    fn begin(&mut self, now: Time) -> io::Result<()> {
        self.direction.begin(now);
        Ok(())
    }

    fn sample(&mut self) -> (QueueSample, Vec<u64>) {
        self.direction.sample()
    }

    fn measured(&mut self, now: Time, name: &str, side: &LinkSide) -> io::Result<WayResults> {
        let (dropped_at_hosts, lateness) = (self.direction.dropped_at_hosts(), *self.direction.lateness());
        let queue = self.direction.meter().measured(now, name, side);
        Ok(WayResults { queue, dropped_at_hosts, lateness, kernel: None })
    }
}

/// Returns, by flow, the links of its hosts, for one direction.
fn hosts(plan: &LabPlan, back: bool) -> Vec<HostLinks> {
    let host = |access: &Option<Access>, bytes| access.as_ref().map(|access| HostLink::new(access, bytes));
    let ends = |flow: u32| {
        let group = plan.group(flow);
        let bytes = group.packet.get();
        let (source, sink) = (host(&group.source, bytes), host(&group.sink, bytes));
        if back { (sink, source) } else { (source, sink) }
    };
    (0..plan.flows.len() as u32).map(ends).collect()
}

fn failed(error: io::Error) -> LabError {
    LabError::Failed("the router", error)
}

fn refused(error: &ParameterError) -> LabError {
    LabError::Setup("the queue".to_owned(), io::Error::other(error.to_string()))
}
