//! The first packets of several places.

use fairlane_qdisc::Time;

use crate::schedule::event_key::FirstArrival;

/// The first packets of those places that have some: the first of all, and a binary heap of the others.
///
/// Mostly the place that had the first packet has the next one too, or one of few others has: so a heap costs less here than
/// a tournament of all places.
#[derive(Debug)]
pub(crate) struct ArrivalHeap {
    first: FirstArrival,
    others: Vec<FirstArrival>,
}

impl Default for ArrivalHeap {
    fn default() -> Self {
        Self { first: FirstArrival::NONE, others: Vec::new() }
    }
}

impl ArrivalHeap {
    /// Returns the first of all; [`FirstArrival::NONE`] if there is none.
    #[inline(always)]
    pub(crate) const fn first(&self) -> FirstArrival {
        self.first
    }

    /// Replaces the first of all by the packet behind it at the same place, [`FirstArrival::NONE`] if there is none.
    #[inline(always)]
    pub(crate) fn replace_first(&mut self, next: FirstArrival) {
        if self.others.first().is_none_or(|other| next.at < other.at) {
            self.first = next;
        } else {
            self.advance(next);
        }
    }

    #[inline(never)]
    fn advance(&mut self, next: FirstArrival) {
        if next.comes_before(&self.others[0]) {
            self.first = next;
            return;
        }
        if next.at < Time::MAX {
            self.first = std::mem::replace(&mut self.others[0], next);
        } else {
            self.first = self.others.swap_remove(0);
        }
        if self.others.len() > 1 {
            self.sift_down();
        }
    }

    /// Sets the first packet of a place, which comes before the one that it had, if any.
    pub(crate) fn bring_forward(&mut self, mut first: FirstArrival) {
        let known = self.others.iter().position(|other| other.place == first.place);
        if first.comes_before(&self.first) {
            std::mem::swap(&mut first, &mut self.first);
            if first.place == self.first.place || first.at == Time::MAX {
                return;
            }
        }
        let mut node = known.unwrap_or(self.others.len());
        if known.is_none() {
            self.others.push(first);
        }
        self.others[node] = first;
        while node > 0 && self.others[node].comes_before(&self.others[(node - 1) / 2]) {
            self.others.swap(node, (node - 1) / 2);
            node = (node - 1) / 2;
        }
    }

    /// Moves the root of the heap down to where it belongs.
    #[inline(never)]
    fn sift_down(&mut self) {
        let (heap, mut node) = (self.others.as_mut_slice(), 0);
        while 2 * node + 1 < heap.len() {
            let (left, right) = (2 * node + 1, 2 * node + 2);
            let is_right = right < heap.len() && heap[right].comes_before(&heap[left]);
            let child = if is_right { right } else { left };
            if !heap[child].comes_before(&heap[node]) {
                return;
            }
            heap.swap(node, child);
            node = child;
        }
    }
}
