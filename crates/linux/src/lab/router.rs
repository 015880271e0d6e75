//! The router between the hosts: an NFQUEUE for each direction, in one thread.

use std::io;
use std::mem;
use std::net::IpAddr;
use std::os::fd::AsFd;

use fairlane_capture::{FlowId, Headers, LinkType};
use fairlane_outcome::{QueueRun, QueueSample};
use fairlane_qdisc::{Duration, ParameterError, Seed, Time};
use fairlane_scenario::Access;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::prctl::set_timerslack;
use nix::sys::time::TimeSpec;

use crate::clock::now;
use crate::delay_histogram::DelayHistogram;
use crate::flow::FlowKeys;
use crate::kernel::kernel_queue;
use crate::link::LinkLayer;
use crate::nfqueue::{Copied, Decision, Message, PacketMessage, Setup, Verdict};
use crate::packet::{Marking, QueuedPacket};
use crate::socket::{QueueSocket, ReceiveBuffer};

use super::direction::Direction;
use super::error::LabError;
use super::host_link::HostLink;
use super::network::{CE_BIT, FLOWS, QUEUES, flow_of};
use super::plan::LabPlan;

use super::timeline::{SampleTimes, Timeline};

/// The maximum number of packets in the kernel: more than any scenario of the lab needs, and the maximum of Linux 6.18.
const MAX_PACKETS: u32 = 65_536;

/// The longest wait before the thread checks whether the run has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

const MARKING: Marking = Marking::ByRule(CE_BIT);

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
    /// The directions to the receivers and to the senders.
    directions: [DirectionQueue; 2],
    keys: FlowKeys,
    counts: PacketCounts,
    name: String,
    side: fairlane_scenario::LinkSide,
}

struct DirectionQueue {
    number: u16,
    socket: QueueSocket,
    batch: ReceiveBuffer,
    direction: Direction,
}

#[derive(Clone, Copy, Default)]
struct PacketCounts {
    largest: u32,
    unclassified: u64,
    packets: u64,
}

impl LabRouter {
    /// Binds the queues in this thread's namespace. `seed` is that of the scenario and the run.
    pub(super) fn new(plan: &LabPlan, seed: Seed) -> Result<Self, LabError> {
        let (link, reverse) = (&plan.link, format!("{}/reverse", plan.link.name));
        let host = |access: &Option<Access>, bytes| access.as_ref().map(|access| HostLink::new(access, bytes));
        let hosts = |back: bool| {
            let ends = |flow: u32| {
                let group = plan.group(flow);
                let bytes = group.packet.get();
                let (source, sink) = (host(&group.source, bytes), host(&group.sink, bytes));
                if back { (sink, source) } else { (source, sink) }
            };
            (0..plan.flows.len() as u32).map(ends).collect()
        };
        let way = |number: u16, side, name: &str, back| {
            let seed = seed.named("queue").named(name);
            let direction = Direction::new(side, MARKING, seed, hosts(back)).map_err(|error| refused(&error))?;
            let setup = Setup {
                queue: number,
                copied: Copied::Headers,
                max_packets: MAX_PACKETS,
                fail_open: false,
                gso: false,
            };
            let socket = QueueSocket::bind(&setup)?;
            let batch = socket.receive_buffer();
            Ok::<DirectionQueue, LabError>(DirectionQueue { number, socket, batch, direction })
        };
        Ok(Self {
            directions: [
                way(QUEUES[0], &link.forward, &link.name, false)?,
                way(QUEUES[1], &link.reverse, &reverse, true)?,
            ],
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
            for way in &mut self.directions {
                more |= way.receive(&self.keys, &mut self.counts).map_err(failed)?;
            }
            let now = now();
            // Events that are due before the start of the measurement, or before a sample, are processed first.
            if !begun && now >= timeline.from() {
                self.sample(timeline.from(), timeline, &mut sample_times, &mut samples);
                self.advance(timeline.from());
                self.directions[0].direction.begin(timeline.from());
                begun = true;
            }
            self.sample(now, timeline, &mut sample_times, &mut samples);
            if begun && measured.is_none() && now >= timeline.to() {
                let to = timeline.to();
                self.advance(to);
                measured = Some(self.measured(to, mem::take(&mut samples)));
                timeline.count_measured();
            }
            self.advance(now);
            for way in &mut self.directions {
                way.flush().map_err(failed)?;
            }
            if !more {
                self.wait(now, sample_times.next(timeline)).map_err(failed)?;
            }
        }
        measured.ok_or(LabError::Interrupted)
    }

    fn advance(&mut self, now: Time) {
        for way in &mut self.directions {
            way.direction.advance(now);
        }
    }

    /// Takes the samples that are due by `now`, each at its own time.
    fn sample(
        &mut self,
        now: Time,
        timeline: &Timeline,
        sample_times: &mut SampleTimes,
        samples: &mut Vec<RouterSample>,
    ) {
        while let Some(at) = sample_times.take_due(now, timeline) {
            self.advance(at);
            let (queue, dropped) = self.directions[0].direction.sample();
            samples.push(RouterSample { at, queue, dropped });
        }
    }

    fn measured(&mut self, to: Time, samples: Vec<RouterSample>) -> RouterResults {
        let direction = &mut self.directions[0].direction;
        let queue = direction.meter().measured(to, &self.name, &self.side);
        let (dropped_at_hosts, lateness) = (direction.dropped_at_hosts(), *direction.lateness());
        let kernel = self.directions.iter().filter_map(|way| kernel_queue(way.number));
        let lost_in_kernel = kernel.map(|queue| queue.dropped_full + queue.dropped_unread).sum();
        let PacketCounts { largest, unclassified, packets } = self.counts;
        RouterResults { samples, queue, dropped_at_hosts, lateness, largest, lost_in_kernel, unclassified, packets }
    }

    /// Waits for a packet, the next event or the next sample.
    fn wait(&self, now: Time, sample: Time) -> io::Result<()> {
        let due = self.directions.iter().filter_map(|way| way.direction.due()).fold(sample, Time::min);
        let until = due.since(now).min(POLL_INTERVAL);
        let timeout = TimeSpec::new(0, until.as_nanos() as i64);
        let mut ready = self.directions.each_ref().map(|way| PollFd::new(way.socket.as_fd(), PollFlags::POLLIN));
        match ppoll(&mut ready, Some(timeout), None) {
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

impl DirectionQueue {
    /// Receives packets. Returns `true` if there may be more.
    fn receive(&mut self, keys: &FlowKeys, counts: &mut PacketCounts) -> io::Result<bool> {
        let Self { socket, batch, direction, .. } = self;
        let mut unclassified = Vec::new();
        let at = now();
        let received = socket.receive(batch, |message| {
            let Message::Packet(queued) = message else { return };
            counts.packets += 1;
            counts.largest = counts.largest.max(queued.bytes);
            match flow(&queued) {
                Some(flow) if direction.knows(flow) => {
                    direction.arrive(at, flow, QueuedPacket::new(&queued, keys, LinkLayer::default(), MARKING));
                }
                _ => unclassified.push(queued.id),
            }
        })?;
        counts.unclassified += unclassified.len() as u64;
        for id in unclassified {
            socket.decide(&Verdict { id, decision: Decision::Accept })?;
        }
        Ok(received.more)
    }

    fn flush(&mut self) -> io::Result<()> {
        for verdict in self.direction.verdicts() {
            self.socket.decide(&verdict)?;
        }
        match self.socket.flush() {
            // The kernel has no memory now; the verdicts are sent again with the next ones.
            Err(error) if error.raw_os_error() == Some(Errno::ENOBUFS as i32) => Ok(()),
            result => result,
        }
    }
}

/// Returns the flow of a packet, by its source address.
fn flow(queued: &PacketMessage<'_>) -> Option<u32> {
    match Headers::read(LinkType::Raw, queued.payload, queued.bytes).flow {
        FlowId::Ip { source: IpAddr::V4(source), .. } => flow_of(source),
        _ => None,
    }
}

fn failed(error: io::Error) -> LabError {
    LabError::Failed("the router", error)
}

fn refused(error: &ParameterError) -> LabError {
    LabError::Setup("the queue".to_owned(), io::Error::other(error.to_string()))
}
