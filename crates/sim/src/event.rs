//! What happens next: a heap of moments, with ties in the order in which they were scheduled.

use fairlane_qdisc::Time;

/// What an event is about: which kind of thing, and which of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// The packet at the head of this link's pipe reaches the other end.
    Arrival(u32),
    /// This link has sent its packet.
    LinkFree(u32),
    /// This flow's source starts, stops or sends its next packet.
    Source(u32),
    /// This flow's sender has a timer that may be due.
    SenderTimer(u32),
    /// This flow's receiver has a timer that may be due.
    ReceiverTimer(u32),
}

/// An entry's second word holds the sequence number above the target, so that one comparison orders both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    time: u64,
    tie: u64,
}

const KIND_BITS: u32 = 3;
const TARGET_BITS: u32 = 28;

/// The most links, and the most flows, that a target can name.
pub(crate) const TARGETS: usize = 1 << (TARGET_BITS - KIND_BITS);

impl Target {
    const fn encode(self) -> u64 {
        let (kind, index) = match self {
            Self::Arrival(index) => (0, index),
            Self::LinkFree(index) => (1, index),
            Self::Source(index) => (2, index),
            Self::SenderTimer(index) => (3, index),
            Self::ReceiverTimer(index) => (4, index),
        };
        (index as u64) << KIND_BITS | kind
    }

    const fn decode(tie: u64) -> Self {
        let target = tie & ((1 << TARGET_BITS) - 1);
        let index = (target >> KIND_BITS) as u32;
        match target & ((1 << KIND_BITS) - 1) {
            0 => Self::Arrival(index),
            1 => Self::LinkFree(index),
            2 => Self::Source(index),
            3 => Self::SenderTimer(index),
            _ => Self::ReceiverTimer(index),
        }
    }
}

impl Entry {
    const fn key(self) -> u128 {
        (self.time as u128) << 64 | self.tie as u128
    }
}

/// A heap with four children a node: four entries fill one cache line, and it is half as deep as a binary one.
#[derive(Debug, Default)]
pub(crate) struct EventQueue {
    heap: Vec<Entry>,
    sequence: u64,
}

impl EventQueue {
    /// Adds an event.
    pub(crate) fn push(&mut self, at: Time, target: Target) {
        let entry = self.entry(at, target);
        self.heap.push(entry);
        self.sift_up(self.heap.len() - 1, entry);
    }

    /// The next event.
    pub(crate) fn peek(&self) -> Option<(Time, Target)> {
        self.heap.first().map(|entry| (Time::from_nanos(entry.time), Target::decode(entry.tie)))
    }

    /// Takes the next event away.
    pub(crate) fn pop(&mut self) {
        if let Some(last) = self.heap.pop()
            && !self.heap.is_empty()
        {
            self.sift_down(last);
        }
    }

    /// Puts an event in the place of the next one: cheaper than [`pop`](Self::pop) and [`push`](Self::push).
    pub(crate) fn replace(&mut self, at: Time, target: Target) {
        let entry = self.entry(at, target);
        self.sift_down(entry);
    }

    fn entry(&mut self, at: Time, target: Target) -> Entry {
        self.sequence += 1;
        Entry { time: at.as_nanos(), tie: self.sequence << TARGET_BITS | target.encode() }
    }

    fn sift_up(&mut self, mut hole: usize, entry: Entry) {
        while hole > 0 {
            let parent = (hole - 1) / 4;
            if self.heap[parent].key() <= entry.key() {
                break;
            }
            self.heap[hole] = self.heap[parent];
            hole = parent;
        }
        self.heap[hole] = entry;
    }

    /// Lets `entry` sink from the root to its place.
    fn sift_down(&mut self, entry: Entry) {
        let heap = &mut self.heap[..];
        let mut hole = 0;
        loop {
            let first = 4 * hole + 1;
            let Some(children) = heap.get(first..heap.len().min(first + 4)) else { break };
            let Some((place, least)) = children.iter().enumerate().min_by_key(|(_, child)| child.key()) else { break };
            if entry.key() <= least.key() {
                break;
            }
            heap[hole] = *least;
            hole = first + place;
        }
        heap[hole] = entry;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairlane_qdisc::Seed;

    #[test]
    fn comes_out_by_time_and_then_by_order_of_scheduling() {
        let mut random = Seed::new(1).stream("events");
        let mut queue = EventQueue::default();
        let mut expected = Vec::new();
        for index in 0..500 {
            let at = u64::from(random.below(40));
            queue.push(Time::from_nanos(at), Target::Source(index));
            expected.push((at, index));
        }
        expected.sort_by_key(|&(at, _)| at);
        for (at, index) in expected {
            assert_eq!(queue.peek(), Some((Time::from_nanos(at), Target::Source(index))));
            queue.pop();
        }
        assert_eq!(queue.peek(), None);
    }

    #[test]
    fn a_replaced_event_is_scheduled_anew() {
        let mut queue = EventQueue::default();
        for index in 0..9 {
            queue.push(Time::from_nanos(u64::from(index)), Target::Arrival(index));
        }
        queue.replace(Time::from_nanos(4), Target::LinkFree(0));
        let order: Vec<_> = std::iter::from_fn(|| {
            let next = queue.peek();
            queue.pop();
            next.map(|(_, target)| target)
        })
        .collect();
        let mut expected: Vec<_> = (1..5).map(Target::Arrival).collect();
        expected.push(Target::LinkFree(0));
        expected.extend((5..9).map(Target::Arrival));
        assert_eq!(order, expected);
    }

    #[test]
    fn targets_survive_their_encoding() {
        let last = TARGETS as u32 - 1;
        for target in [
            Target::Arrival(0),
            Target::LinkFree(last),
            Target::Source(7),
            Target::SenderTimer(last),
            Target::ReceiverTimer(1),
        ] {
            assert_eq!(Target::decode(u64::MAX << TARGET_BITS | target.encode()), target);
        }
    }
}
