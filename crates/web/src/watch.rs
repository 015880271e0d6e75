//! The queue as it is shown: its packets, and the events of each since the last frame.

use std::collections::VecDeque;

use fairlane_qdisc::{Duration, Reason, Time};
use fairlane_sim::{Observer, Packet, PacketEvent, QueueEvent};

/// The numbers of an event: its kind, the packet, its flow, the time in seconds, and what the kind adds.
pub const EVENT_FIELDS: usize = 5;

/// The most events that are kept for a frame.
pub const MOST_EVENTS: usize = 600;

/// The numbers of a queued packet: the packet, its flow, the time of its arrival in seconds, and 1 if it is marked.
pub const PACKET_FIELDS: usize = 4;

/// The most queued packets that are shown.
pub const MOST_SHOWN: usize = 2_000;

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum EventKind {
    /// The packet arrived.
    Arrived,
    /// The link began to send the packet.
    Departed,
    /// The packet was dropped; the last number is that of the reason.
    Dropped,
    /// The packet was marked; the last number is that of the reason.
    Marked,
    /// The packet, which has just arrived, was compared with another one, whose number is the last, of another flow.
    Compared,
}

/// A packet in the queue.
#[derive(Clone, Copy, Debug)]
struct Queued {
    /// Counts all packets that have arrived here.
    number: u64,
    identity: (u32, u32, Time),
    arrived: Time,
    marked: bool,
}

/// Follows the queue of one link.
#[derive(Debug)]
pub struct Watch {
    link: u32,
    queue: VecDeque<Queued>,
    /// The last arrival.
    arrival: Option<Queued>,
    /// The number of the next packet.
    next: u64,
    /// The events since the last frame, [`EVENT_FIELDS`] numbers each.
    events: Vec<f64>,
    missed: u64,
    drops: [u64; Reason::COUNT],
    /// The waiting times of the packets that have left since they were last read: their sum and their number.
    waited: (Duration, u64),
    /// The time of the last event.
    now: Time,
}

impl Watch {
    /// Follows the queue of `link`.
    #[must_use]
    pub const fn new(link: u32) -> Self {
        Self {
            link,
            queue: VecDeque::new(),
            arrival: None,
            next: 0,
            events: Vec::new(),
            missed: 0,
            drops: [0; Reason::COUNT],
            waited: (Duration::ZERO, 0),
            now: Time::ZERO,
        }
    }

    /// Returns the drops since time zero, by reason.
    #[must_use]
    pub const fn drops(&self) -> &[u64; Reason::COUNT] {
        &self.drops
    }

    /// Returns the queued packets of each of `groups`, which `group_of` tells by the number of a flow.
    #[must_use]
    pub fn backlogs(&self, groups: usize, group_of: impl Fn(u32) -> usize) -> Vec<u64> {
        let mut backlogs = vec![0; groups];
        for packet in &self.queue {
            if let Some(backlog) = backlogs.get_mut(group_of(packet.identity.0)) {
                *backlog += 1;
            }
        }
        backlogs
    }

    /// Returns the mean waiting time in seconds of the packets that have left since the last call; `None` if none has.
    pub fn take_wait(&mut self) -> Option<f64> {
        let (sum, packets) = std::mem::take(&mut self.waited);
        (packets > 0).then(|| sum.as_secs() / packets as f64)
    }

    /// Appends the queued packets to `frame`, the oldest first, and returns their number.
    pub fn write_queue(&self, frame: &mut Vec<f64>) -> usize {
        let shown = self.queue.iter().take(MOST_SHOWN);
        for packet in shown.clone() {
            let flow = f64::from(packet.identity.0);
            frame.extend([packet.number as f64, flow, packet.arrived.as_secs(), f64::from(u8::from(packet.marked))]);
        }
        shown.len()
    }

    /// Appends the events since the last call to `frame`, and returns their number and that of the events for which
    /// there was no room.
    pub fn take_events(&mut self, frame: &mut Vec<f64>) -> (usize, u64) {
        let events = self.events.len() / EVENT_FIELDS;
        frame.append(&mut self.events);
        (events, std::mem::take(&mut self.missed))
    }

    fn note(&mut self, kind: EventKind, packet: &Queued, detail: f64) {
        if self.events.len() >= MOST_EVENTS * EVENT_FIELDS {
            self.missed += 1;
            return;
        }
        let flow = f64::from(packet.identity.0);
        self.events.extend([f64::from(kind as u8), packet.number as f64, flow, self.now.as_secs(), detail]);
    }

    /// Removes the packet of `event`, which is mostly the oldest or the newest.
    fn remove(&mut self, event: &PacketEvent) -> Option<Queued> {
        let is = |queued: &Queued| queued.identity == identity(event);
        let place = if self.queue.front().is_some_and(is) { Some(0) } else { self.queue.iter().rposition(is) };
        self.queue.remove(place?)
    }
}

const fn identity(event: &PacketEvent) -> (u32, u32, Time) {
    (event.flow, event.seq, event.sent)
}

impl Observer for Watch {
    fn packet(&mut self, event: &PacketEvent) {
        if event.link != self.link {
            return;
        }
        self.now = event.at;
        match event.queue_event {
            QueueEvent::Arrived => {
                let queued =
                    Queued { number: self.next, identity: identity(event), arrived: event.at, marked: event.marked };
                self.next += 1;
                self.arrival = Some(queued);
                self.note(EventKind::Arrived, &queued, 0.0);
                self.queue.push_back(queued);
            }
            QueueEvent::Departed { sojourn } => {
                self.waited = (self.waited.0 + sojourn, self.waited.1 + 1);
                if let Some(queued) = self.remove(event) {
                    self.note(EventKind::Departed, &queued, 0.0);
                }
            }
            QueueEvent::Dropped(reason) => {
                self.drops[reason.index()] += 1;
                if let Some(queued) = self.remove(event) {
                    self.note(EventKind::Dropped, &queued, reason.index() as f64);
                }
            }
            QueueEvent::Marked(reason) => {
                let marked = self.queue.iter_mut().rev().find(|queued| queued.identity == identity(event));
                if let Some(queued) = marked.map(|queued| {
                    queued.marked = true;
                    *queued
                }) {
                    self.note(EventKind::Marked, &queued, reason.index() as f64);
                }
            }
            QueueEvent::Lost => {}
        }
    }

    fn compared(&mut self, link: u32, candidate: &Packet) {
        if link != self.link {
            return;
        }
        let candidate = self.queue.iter().rev().find(|queued| queued.identity == candidate.identity());
        let (Some(candidate), Some(arrival)) = (candidate.map(|queued| queued.number), self.arrival) else { return };
        self.note(EventKind::Compared, &arrival, candidate as f64);
    }

    fn delivered(&mut self, _at: Time, _flow: u32, _seq: u32) {}
}
