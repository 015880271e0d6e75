//! The queue of the slow references and its events, as plain lists.

use fairlane_qdisc::{Reason, SimplePacket, Size, Time};

use fairlane_qdisc::testing::Event;

/// A slow reference.
pub(crate) trait Slow {
    fn enqueue(&mut self, now: Time, p: SimplePacket);
    fn dequeue(&mut self, now: Time);
    fn line(&self) -> &Line;
    /// Returns the average queue length that the discipline uses.
    fn average(&self) -> Option<f64> {
        None
    }
}

pub(crate) struct Line {
    pub(crate) limit: Size,
    pub(crate) queue: Vec<SimplePacket>,
    pub(crate) events: Vec<Event>,
    /// The labels of the packets that left.
    pub(crate) labels: Vec<u64>,
}

impl Line {
    pub(crate) fn new(limit: Size) -> Self {
        Self { limit, queue: Vec::new(), events: Vec::new(), labels: Vec::new() }
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.queue.iter().map(|p| u64::from(p.bytes)).sum()
    }

    /// Returns the size of the queue in the unit of the limit, and the limit.
    pub(crate) fn fill(&self) -> (f64, f64) {
        match self.limit {
            Size::Packets(limit) => (self.queue.len() as f64, f64::from(limit.get())),
            Size::Bytes(limit) => (self.bytes() as f64, limit.get() as f64),
        }
    }

    pub(crate) fn drop(&mut self, p: SimplePacket, reason: Reason) {
        self.events.push(Event::Dropped(p.id, reason));
    }

    /// Tests the hard limit, after all other tests; tells whether `p` was queued.
    pub(crate) fn admit(&mut self, p: SimplePacket, mark: Option<Reason>) -> bool {
        let size = if matches!(self.limit, Size::Packets(_)) { 1.0 } else { f64::from(p.bytes) };
        let (queued, limit) = self.fill();
        if queued + size > limit {
            self.drop(p, Reason::Limit);
            return false;
        }
        if let Some(reason) = mark {
            self.events.push(Event::Marked(p.id, reason));
        }
        self.queue.push(p);
        true
    }

    pub(crate) fn pop(&mut self) -> Option<SimplePacket> {
        if self.queue.is_empty() {
            return None;
        }
        let p = self.queue.remove(0);
        self.events.push(Event::Departed(p.id));
        self.labels.push(p.label);
        Some(p)
    }
}
