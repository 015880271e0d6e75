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
use crate::delays::Delays;
use crate::flow::FlowKeys;
use crate::kernel::kernel_queue;
use crate::link_layer::LinkLayer;
use crate::nfqueue::{Copied, Decision, Message, Queued, Setup, Verdict};
use crate::packet::{Held, Marking};
use crate::socket::{Batch, QueueSocket};

use super::direction::Direction;
use super::error::LabError;
use super::host_link::HostLink;
use super::moments::Ticks;
use super::network::{CE_BIT, FLOWS, QUEUES, flow_of};
use super::plan::Plan;
use super::stage::Stage;

/// How many packets may wait in the kernel: more than any scenario of the lab has under way, and what Linux 6.18 allows.
const MOST_PACKETS: u32 = 65_536;

/// After how long the router looks whether it is to end.
const LOOK: Duration = Duration::from_millis(20);

const MARKING: Marking = Marking::ByRule(CE_BIT);

/// What was at a moment.
pub(super) struct Sample {
    pub(super) at: Time,
    pub(super) queue: QueueSample,
    /// By flow, what had been dropped.
    pub(super) dropped: Vec<u64>,
}

/// What the router measured.
pub(super) struct Routed {
    /// What was, at each moment.
    pub(super) moments: Vec<Sample>,
    /// The queue towards the receivers.
    pub(super) queue: QueueRun,
    /// By flow, packets of data that the links of its hosts had no room for.
    pub(super) dropped_at_hosts: Vec<u64>,
    /// How much later than on real links packets arrived, towards the receivers.
    pub(super) lateness: Delays,
    /// The largest packet that came, in bytes.
    pub(super) largest: u32,
    /// Packets that the kernel dropped instead of handing them over.
    pub(super) lost_in_kernel: u64,
    /// Packets of no flow.
    pub(super) strangers: u64,
    /// Packets that were handed over, in both directions, since the start of the router.
    pub(super) packets: u64,
}

/// A router whose queues are bound.
pub(super) struct Router {
    /// Towards the receivers, and back.
    ways: [Way; 2],
    keys: FlowKeys,
    books: Books,
    name: String,
    side: fairlane_scenario::LinkSide,
}

struct Way {
    number: u16,
    socket: QueueSocket,
    batch: Batch,
    direction: Direction,
}

#[derive(Clone, Copy, Default)]
struct Books {
    largest: u32,
    strangers: u64,
    packets: u64,
}

impl Router {
    /// Binds the queues in this thread's namespace. `seed` is that of the scenario and the run.
    pub(super) fn new(plan: &Plan, seed: Seed) -> Result<Self, LabError> {
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
                most_packets: MOST_PACKETS,
                fail_open: false,
                gso: false,
            };
            let socket = QueueSocket::bind(&setup)?;
            let batch = socket.batch();
            Ok::<Way, LabError>(Way { number, socket, batch, direction })
        };
        Ok(Self {
            ways: [way(QUEUES[0], &link.forward, &link.name, false)?, way(QUEUES[1], &link.reverse, &reverse, true)?],
            keys: FlowKeys::new(FLOWS),
            books: Books::default(),
            name: link.name.clone(),
            side: link.forward.clone(),
        })
    }

    /// Works until the stage is over; what was measured in its window.
    pub(super) fn run(mut self, stage: &Stage) -> Result<Routed, LabError> {
        // Without it the kernel may let us sleep for 50 us longer than asked for.
        let _ = set_timerslack(1);
        let (mut begun, mut measured) = (false, None);
        let (mut ticks, mut samples) = (stage.ticks(), Vec::new());
        while !stage.is_over() {
            let mut more = false;
            for way in &mut self.ways {
                more |= way.receive(&self.keys, &mut self.books).map_err(failed)?;
            }
            let now = now();
            // What is due before the window's edge, or before a sample, happens before it.
            if !begun && now >= stage.from() {
                self.sample(stage.from(), stage, &mut ticks, &mut samples);
                self.advance(stage.from());
                self.ways[0].direction.begin(stage.from());
                begun = true;
            }
            self.sample(now, stage, &mut ticks, &mut samples);
            if begun && measured.is_none() && now >= stage.to() {
                let to = stage.to();
                self.advance(to);
                measured = Some(self.measured(to, mem::take(&mut samples)));
                stage.tell_measured();
            }
            self.advance(now);
            for way in &mut self.ways {
                way.flush().map_err(failed)?;
            }
            if !more {
                self.wait(now, ticks.next(stage)).map_err(failed)?;
            }
        }
        measured.ok_or(LabError::Interrupted)
    }

    fn advance(&mut self, now: Time) {
        for way in &mut self.ways {
            way.direction.advance(now);
        }
    }

    /// Takes the samples that are due by `now`, each at its own time.
    fn sample(&mut self, now: Time, stage: &Stage, ticks: &mut Ticks, samples: &mut Vec<Sample>) {
        while let Some(at) = ticks.come(now, stage) {
            self.advance(at);
            let (queue, dropped) = self.ways[0].direction.sample();
            samples.push(Sample { at, queue, dropped });
        }
    }

    fn measured(&mut self, to: Time, moments: Vec<Sample>) -> Routed {
        let direction = &mut self.ways[0].direction;
        let queue = direction.meter().measured(to, &self.name, &self.side);
        let (dropped_at_hosts, lateness) = (direction.dropped_at_hosts(), *direction.lateness());
        let kernel = self.ways.iter().filter_map(|way| kernel_queue(way.number));
        let lost_in_kernel = kernel.map(|queue| queue.dropped_full + queue.dropped_unread).sum();
        let Books { largest, strangers, packets } = self.books;
        Routed { moments, queue, dropped_at_hosts, lateness, largest, lost_in_kernel, strangers, packets }
    }

    /// Waits for a packet, or the moment when something happens or a sample is taken.
    fn wait(&self, now: Time, sample: Time) -> io::Result<()> {
        let due = self.ways.iter().filter_map(|way| way.direction.due()).fold(sample, Time::min);
        let until = due.since(now).min(LOOK);
        let timeout = TimeSpec::new(0, until.as_nanos() as i64);
        let mut ready = self.ways.each_ref().map(|way| PollFd::new(way.socket.as_fd(), PollFlags::POLLIN));
        match ppoll(&mut ready, Some(timeout), None) {
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

impl Way {
    /// Takes in what has come; whether there may be more.
    fn receive(&mut self, keys: &FlowKeys, books: &mut Books) -> io::Result<bool> {
        let Self { socket, batch, direction, .. } = self;
        let mut strangers = Vec::new();
        let at = now();
        let received = socket.receive(batch, |message| {
            let Message::Packet(queued) = message else { return };
            books.packets += 1;
            books.largest = books.largest.max(queued.bytes);
            match flow(&queued) {
                Some(flow) if direction.knows(flow) => {
                    direction.arrive(at, flow, Held::new(&queued, keys, LinkLayer::default(), MARKING));
                }
                _ => strangers.push(queued.id),
            }
        })?;
        books.strangers += strangers.len() as u64;
        for id in strangers {
            socket.decide(&Verdict { id, decision: Decision::Accept })?;
        }
        Ok(received.more)
    }

    fn flush(&mut self) -> io::Result<()> {
        for verdict in self.direction.verdicts() {
            self.socket.decide(&verdict)?;
        }
        match self.socket.flush() {
            // The kernel has no memory for them now, and is told again.
            Err(error) if error.raw_os_error() == Some(Errno::ENOBUFS as i32) => Ok(()),
            result => result,
        }
    }
}

/// The flow of a packet, by its sender.
fn flow(queued: &Queued<'_>) -> Option<u32> {
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
