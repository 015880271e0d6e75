//! The backlogged queues in the order of their turns, for round robin.

use alloc::vec::Vec;

/// No queue.
const NIL: u32 = u32::MAX;

/// A ring of numbered queues, linked in both directions because drops may empty a queue anywhere in it.
#[derive(Debug)]
pub(crate) struct Ring {
    /// The next and the previous queue of each.
    links: Vec<(u32, u32)>,
    head: u32,
    len: usize,
}

impl Ring {
    /// Creates an empty ring.
    pub(crate) const fn new() -> Self {
        Self { links: Vec::new(), head: NIL, len: 0 }
    }

    /// Returns the queue whose turn it is.
    pub(crate) const fn head(&self) -> Option<usize> {
        if self.head == NIL { None } else { Some(self.head as usize) }
    }

    /// Returns the number of queues in the ring.
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// Iterates over the queues in the order of their turns.
    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> {
        core::iter::successors(self.head(), |queue| Some(self.links[*queue].0 as usize)).take(self.len)
    }

    /// Adds `queue`, which is not in the ring, at the end: just before the head.
    pub(crate) fn join(&mut self, queue: usize) {
        if self.links.len() <= queue {
            self.links.resize(queue + 1, (NIL, NIL));
        }
        self.len += 1;
        let number = queue as u32;
        if self.head == NIL {
            self.head = number;
            self.links[queue] = (number, number);
            return;
        }
        let (_, last) = self.links[self.head as usize];
        self.links[queue] = (self.head, last);
        self.links[last as usize].0 = number;
        self.links[self.head as usize].1 = number;
    }

    /// Removes `queue`, which is in the ring. If it was the head, the next queue becomes the head.
    pub(crate) fn leave(&mut self, queue: usize) {
        self.len -= 1;
        let (next, previous) = self.links[queue];
        self.links[previous as usize].0 = next;
        self.links[next as usize].1 = previous;
        if self.head == queue as u32 {
            self.head = if next == self.head { NIL } else { next };
        }
    }

    /// Ends the turn of the head, which becomes the last queue.
    pub(crate) fn pass(&mut self) {
        if let Some((next, _)) = self.links.get(self.head as usize) {
            self.head = *next;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use crate::Seed;

    /// Would catch a queue that is lost, duplicated or out of turn.
    #[test]
    fn behaves_as_a_list_that_is_rotated() {
        let mut script = Seed::new(3).stream("script");
        let (mut ring, mut list) = (Ring::new(), VecDeque::new());
        for _ in 0..20_000 {
            let queue = script.below(12) as usize;
            match (script.below(3), list.iter().position(|&known| known == queue)) {
                (0, None) => {
                    ring.join(queue);
                    list.push_back(queue);
                }
                (1, Some(at)) => {
                    ring.leave(queue);
                    list.remove(at);
                }
                (2, _) => {
                    ring.pass();
                    if let Some(first) = list.pop_front() {
                        list.push_back(first);
                    }
                }
                _ => {}
            }
            assert_eq!(ring.head(), list.front().copied());
            assert!(ring.iter().eq(list.iter().copied()) && ring.len() == list.len());
        }
    }
}
