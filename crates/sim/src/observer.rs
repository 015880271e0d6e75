//! Whoever wants to see every packet: traces, captures, fingerprints.

use fairlane_outcome::{FlowSample, QueueSample};
use fairlane_qdisc::{Duration, Reason, Time};

use crate::PacketKind;

/// What happened to a packet at a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happening {
    /// It came to the queue.
    Arrived,
    /// The link began to send it.
    Departed {
        /// How long it was queued.
        sojourn: Duration,
    },
    /// It was dropped.
    Dropped(Reason),
    /// It was marked (ECN).
    Marked(Reason),
    /// The link has begun to send it, and it will not reach the other end.
    Lost,
}

/// A packet at a queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PacketEvent {
    /// When.
    pub at: Time,
    /// The link whose queue it is; [`link_name`](crate::link_name) tells its name.
    pub link: u32,
    /// What happened.
    pub happening: Happening,
    /// The packet's flow.
    pub flow: u32,
    /// What the packet carries.
    pub kind: PacketKind,
    /// The packet's number in its flow; in an acknowledgement, the next one expected; in a report of TFRC, the report's own.
    pub seq: u32,
    /// Size on the wire in bytes.
    pub bytes: u32,
    /// The packet says that it is ECN-capable.
    pub ecn_capable: bool,
    /// The packet has been marked.
    pub marked: bool,
    /// Packets in the queue: as the arrival that caused this found it, or as the departure left it.
    pub backlog: usize,
    /// The discipline's average at that moment, where it keeps one.
    pub average: Option<f64>,
}

/// Sees what happens, in the order of time. `()` looks away, and costs nothing.
pub trait Observer {
    /// Whether there is anything to be told.
    const ACTIVE: bool = true;

    /// Something happened to a packet at a queue.
    ///
    /// Host links that drop from the tail tell of drops alone, and as soon as a drop is certain: its time may lie ahead by the
    /// delay of the link before.
    fn packet(&mut self, event: &PacketEvent);

    /// A data packet reached its receiver.
    fn delivered(&mut self, at: Time, flow: u32, seq: u32);

    /// After how long, again and again, to be told of every flow and of every queue that an outcome reports, and at the end;
    /// `None` for never.
    fn interval(&self) -> Option<Duration> {
        None
    }

    /// A flow at the end of an interval, before anything else of that moment happens.
    fn flow(&mut self, _at: Time, _sample: &FlowSample) {}

    /// A queue at the end of an interval, after all flows.
    fn queue(&mut self, _at: Time, _sample: &QueueSample) {}
}

impl Observer for () {
    const ACTIVE: bool = false;
    fn packet(&mut self, _event: &PacketEvent) {}
    fn delivered(&mut self, _at: Time, _flow: u32, _seq: u32) {}
}

impl<A: Observer, B: Observer> Observer for (A, B) {
    const ACTIVE: bool = A::ACTIVE || B::ACTIVE;
    fn packet(&mut self, event: &PacketEvent) {
        self.0.packet(event);
        self.1.packet(event);
    }
    fn delivered(&mut self, at: Time, flow: u32, seq: u32) {
        self.0.delivered(at, flow, seq);
        self.1.delivered(at, flow, seq);
    }
    /// The first one's, else the second one's; both are told.
    fn interval(&self) -> Option<Duration> {
        self.0.interval().or_else(|| self.1.interval())
    }
    fn flow(&mut self, at: Time, sample: &FlowSample) {
        self.0.flow(at, sample);
        self.1.flow(at, sample);
    }
    fn queue(&mut self, at: Time, sample: &QueueSample) {
        self.0.queue(at, sample);
        self.1.queue(at, sample);
    }
}

impl<O: Observer> Observer for Option<O> {
    const ACTIVE: bool = O::ACTIVE;
    fn packet(&mut self, event: &PacketEvent) {
        if let Some(observer) = self {
            observer.packet(event);
        }
    }
    fn delivered(&mut self, at: Time, flow: u32, seq: u32) {
        if let Some(observer) = self {
            observer.delivered(at, flow, seq);
        }
    }
    fn interval(&self) -> Option<Duration> {
        self.as_ref().and_then(Observer::interval)
    }
    fn flow(&mut self, at: Time, sample: &FlowSample) {
        if let Some(observer) = self {
            observer.flow(at, sample);
        }
    }
    fn queue(&mut self, at: Time, sample: &QueueSample) {
        if let Some(observer) = self {
            observer.queue(at, sample);
        }
    }
}

impl<O: Observer> Observer for &mut O {
    const ACTIVE: bool = O::ACTIVE;
    fn packet(&mut self, event: &PacketEvent) {
        (**self).packet(event);
    }
    fn delivered(&mut self, at: Time, flow: u32, seq: u32) {
        (**self).delivered(at, flow, seq);
    }
    fn interval(&self) -> Option<Duration> {
        (**self).interval()
    }
    fn flow(&mut self, at: Time, sample: &FlowSample) {
        (**self).flow(at, sample);
    }
    fn queue(&mut self, at: Time, sample: &QueueSample) {
        (**self).queue(at, sample);
    }
}
