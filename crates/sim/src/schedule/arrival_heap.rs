//! The first packets of several places.

use crate::schedule::event_key::FirstArrival;

/// A binary heap of the first packets of those places that have some.
///
/// Mostly the place that had the first packet has the next one too, or one of few others has: so a heap costs less here than
/// a tournament of all places.
#[derive(Debug, Default)]
pub(crate) struct ArrivalHeap(Vec<FirstArrival>);

impl ArrivalHeap {
    /// Returns the first of all; [`FirstArrival::NONE`] if there is none.
    #[inline(always)]
    pub(crate) fn first(&self) -> FirstArrival {
        self.0.first().copied().unwrap_or(FirstArrival::NONE)
    }

    /// Replaces the first of all by the packet behind it at the same place, if there is one.
    #[inline(always)]
    pub(crate) fn replace_first(&mut self, next: Option<FirstArrival>) {
        match (next, self.0.as_mut_slice()) {
            (Some(next), [first]) => *first = next,
            (Some(next), [first, others @ ..]) => {
                *first = next;
                if others.iter().take(2).any(|other| other.at <= next.at) {
                    self.sift_down();
                }
            }
            _ => self.remove_first(),
        }
    }

    #[inline(never)]
    fn remove_first(&mut self) {
        if !self.0.is_empty() {
            self.0.swap_remove(0);
            self.sift_down();
        }
    }

    /// Sets the first packet of a place, which comes before the one that it had, if any.
    pub(crate) fn bring_forward(&mut self, first: FirstArrival) {
        let known = self.0.iter().position(|other| other.place == first.place);
        let mut node = known.unwrap_or(self.0.len());
        if known.is_none() {
            self.0.push(first);
        }
        self.0[node] = first;
        while node > 0 && first.comes_before(&self.0[(node - 1) / 2]) {
            self.0.swap(node, (node - 1) / 2);
            node = (node - 1) / 2;
        }
    }

    /// Moves the root down to where it belongs.
    #[inline(never)]
    fn sift_down(&mut self) {
        let mut node = 0;
        while 2 * node + 1 < self.0.len() {
            let (left, right) = (2 * node + 1, 2 * node + 2);
            let is_right = right < self.0.len() && self.0[right].comes_before(&self.0[left]);
            let child = if is_right { right } else { left };
            if !self.0[child].comes_before(&self.0[node]) {
                return;
            }
            self.0.swap(node, child);
            node = child;
        }
    }
}
