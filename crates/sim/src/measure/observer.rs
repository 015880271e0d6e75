//! Observers of a run: traces, captures, fingerprints.

use fairlane_autorate::Decision;
use fairlane_outcome::{FlowSample, QueueSample};
use fairlane_qdisc::{Duration, Reason, Time};

use crate::packet::{Packet, PacketKind};
use crate::tcp::SackBlocks;

/// An event of a packet at a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueEvent {
    /// The packet arrived at the queue.
    Arrived,
    /// The link began to send the packet.
    Departed {
        /// The time that the packet spent in the queue.
        sojourn: Duration,
    },
    /// The discipline dropped the packet.
    Dropped(Reason),
    /// The discipline marked the packet (ECN).
    Marked(Reason),
    /// The packet was lost during transmission; `Departed` came before.
    Lost,
}

/// A packet and what happened to it at a queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PacketEvent {
    /// The time of the event.
    pub at: Time,
    /// The number of the link; [`link_name`](crate::link_name) returns its name.
    pub link: u32,
    /// The event.
    pub queue_event: QueueEvent,
    /// The packet's flow.
    pub flow: u32,
    /// Data, acknowledgement, or a packet that opens a connection.
    pub kind: PacketKind,
    /// The sequence number in packets: for an acknowledgement, of the next packet expected; for a TFRC report, of the
    /// report.
    pub seq: u32,
    /// The size in bytes.
    pub bytes: u32,
    /// True if the packet is ECN-capable.
    pub ecn_capable: bool,
    /// True if the packet is of the L4S service: ECT(1) before any mark (RFC 9331).
    pub l4s: bool,
    /// The TOS or traffic class byte of the packet without the bits of ECN.
    pub class: u8,
    /// True if the packet has been marked (CE).
    pub marked: bool,
    /// ECN-Echo of an acknowledgement (RFC 3168).
    pub ece: bool,
    /// Congestion Window Reduced of a TCP segment (RFC 3168).
    pub cwr: bool,
    /// The time at which the sender sent the packet; for an acknowledgement, the time at which the segment that it
    /// answers was sent.
    pub sent: Time,
    /// The SACK blocks of an acknowledgement, in packets.
    pub sack: SackBlocks,
    /// Packets in the queue: before the arrival that caused the event, or after the departure.
    pub backlog: usize,
    /// The discipline's average queue at that moment; `None` if it keeps none.
    pub average: Option<f64>,
}

/// Is called for each event of a run, in the order of time. `()` ignores all events at no cost.
pub trait Observer {
    /// False if [`packet`](Self::packet) and [`delivered`](Self::delivered) need not be called.
    const ACTIVE: bool = true;

    /// Called for each event of a packet at a queue.
    ///
    /// Host links that drop from the tail report drops only, and as soon as the drop is certain: its time may be in the
    /// future by up to the delay of the link before.
    fn packet(&mut self, event: &PacketEvent);

    /// Called after the events of an arrival at the queue of `link`, for each queued packet that the discipline has
    /// compared the arrival with and found of another flow; a match is an event of a packet. See
    /// [`Qdisc::candidates`](fairlane_qdisc::Qdisc::candidates).
    fn compared(&mut self, _link: u32, _candidate: &Packet) {}

    /// Called for each packet that a droptail link between two nodes begins to send: one without a discipline, loss,
    /// jitter or data packets, whose queue is in no outcome, such as the way back of acknowledgements.
    /// [`packet`](Self::packet) is not called for these links. The time of the event may be in the future, by the time
    /// that the packet waits.
    fn passed(&mut self, _event: &PacketEvent) {}

    /// Called before [`packet`](Self::packet) and [`passed`](Self::passed) of a datagram of an
    /// [endpoint](crate::endpoint), with its payload.
    fn payload(&mut self, _payload: &[u8]) {}

    /// Called when a data packet reaches its receiver.
    fn delivered(&mut self, at: Time, flow: u32, seq: u32);

    /// Called before [`delivered`](Self::delivered), with the time that the packet took from the sender and its size.
    fn took(&mut self, _at: Time, _flow: u32, _delay: Duration, _bytes: u32) {}

    /// Returns the interval after which [`flow`](Self::flow) and [`queue`](Self::queue) are called for every flow and
    /// for every queue in the outcome; they are called at the end of the run, too. `None`, the default, means never.
    fn interval(&self) -> Option<Duration> {
        None
    }

    /// Called for each flow at the end of an interval, before any other event of that time.
    fn flow(&mut self, _at: Time, _sample: &FlowSample) {}

    /// Called for each queue at the end of an interval, after all flows.
    fn queue(&mut self, _at: Time, _sample: &QueueSample) {}

    /// Called for each decision about the rate of the shaper before link `link`: about 40 a second.
    fn decided(&mut self, _link: u32, _decision: &Decision) {}
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
    fn compared(&mut self, link: u32, candidate: &Packet) {
        self.0.compared(link, candidate);
        self.1.compared(link, candidate);
    }
    fn passed(&mut self, event: &PacketEvent) {
        self.0.passed(event);
        self.1.passed(event);
    }
    fn payload(&mut self, payload: &[u8]) {
        self.0.payload(payload);
        self.1.payload(payload);
    }
    fn delivered(&mut self, at: Time, flow: u32, seq: u32) {
        self.0.delivered(at, flow, seq);
        self.1.delivered(at, flow, seq);
    }
    fn took(&mut self, at: Time, flow: u32, delay: Duration, bytes: u32) {
        self.0.took(at, flow, delay, bytes);
        self.1.took(at, flow, delay, bytes);
    }
    /// Returns the interval of the first observer, or else of the second; both are called at that interval.
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
    fn decided(&mut self, link: u32, decision: &Decision) {
        self.0.decided(link, decision);
        self.1.decided(link, decision);
    }
}

impl<O: Observer> Observer for Option<O> {
    const ACTIVE: bool = O::ACTIVE;
    fn packet(&mut self, event: &PacketEvent) {
        if let Some(observer) = self {
            observer.packet(event);
        }
    }
    fn compared(&mut self, link: u32, candidate: &Packet) {
        if let Some(observer) = self {
            observer.compared(link, candidate);
        }
    }
    fn passed(&mut self, event: &PacketEvent) {
        if let Some(observer) = self {
            observer.passed(event);
        }
    }
    fn payload(&mut self, payload: &[u8]) {
        if let Some(observer) = self {
            observer.payload(payload);
        }
    }
    fn delivered(&mut self, at: Time, flow: u32, seq: u32) {
        if let Some(observer) = self {
            observer.delivered(at, flow, seq);
        }
    }
    fn took(&mut self, at: Time, flow: u32, delay: Duration, bytes: u32) {
        if let Some(observer) = self {
            observer.took(at, flow, delay, bytes);
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
    fn decided(&mut self, link: u32, decision: &Decision) {
        if let Some(observer) = self {
            observer.decided(link, decision);
        }
    }
}

impl<O: Observer> Observer for &mut O {
    const ACTIVE: bool = O::ACTIVE;
    fn packet(&mut self, event: &PacketEvent) {
        (**self).packet(event);
    }
    fn compared(&mut self, link: u32, candidate: &Packet) {
        (**self).compared(link, candidate);
    }
    fn passed(&mut self, event: &PacketEvent) {
        (**self).passed(event);
    }
    fn payload(&mut self, payload: &[u8]) {
        (**self).payload(payload);
    }
    fn delivered(&mut self, at: Time, flow: u32, seq: u32) {
        (**self).delivered(at, flow, seq);
    }
    fn took(&mut self, at: Time, flow: u32, delay: Duration, bytes: u32) {
        (**self).took(at, flow, delay, bytes);
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
    fn decided(&mut self, link: u32, decision: &Decision) {
        (**self).decided(link, decision);
    }
}
