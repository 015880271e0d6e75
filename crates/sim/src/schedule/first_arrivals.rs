//! The first packets of several places.

use fairlane_qdisc::Time;

use crate::schedule::event_key::FirstArrival;

/// The first packets of those places that have some: the first of all, and the others in a sorted list.
///
/// Mostly the place that had the first packet has the next one too, or one of few others has.
#[derive(Debug)]
pub(crate) struct FirstArrivals {
    first: FirstArrival,
    /// The last one first.
    others: Vec<FirstArrival>,
}

impl Default for FirstArrivals {
    fn default() -> Self {
        Self { first: FirstArrival::NONE, others: Vec::new() }
    }
}

impl FirstArrivals {
    /// Returns the first of all; [`FirstArrival::NONE`] if there is none.
    #[inline(always)]
    pub(crate) const fn first(&self) -> FirstArrival {
        self.first
    }

    /// Replaces the first of all by the packet behind it at the same place, [`FirstArrival::NONE`] if there is none.
    #[inline(always)]
    pub(crate) fn replace_first(&mut self, next: FirstArrival) {
        match self.others.as_mut_slice() {
            [] => self.first = next,
            [.., other] if next.at < other.at => self.first = next,
            [other] if other.at < next.at && next.at < Time::MAX => self.first = std::mem::replace(other, next),
            _ => self.advance(next),
        }
    }

    #[inline(never)]
    fn advance(&mut self, next: FirstArrival) {
        let Some(other) = self.others.last_mut() else { return };
        if next.comes_before(other) {
            self.first = next;
            return;
        }
        self.first = std::mem::replace(other, next);
        let last = self.others.len() - 1;
        if next.at == Time::MAX {
            self.others.truncate(last);
        } else if last > 0 {
            let place = self.others[..last].partition_point(|other| next.comes_before(other));
            if place < last {
                self.others.copy_within(place..last, place + 1);
                self.others[place] = next;
            }
        }
    }

    /// Sets the first packet of a place, which comes before the one that it had, if any.
    pub(crate) fn bring_forward(&mut self, mut first: FirstArrival) {
        if let Some(known) = self.others.iter().position(|other| other.place() == first.place()) {
            self.others.remove(known);
        }
        if first.comes_before(&self.first) {
            std::mem::swap(&mut first, &mut self.first);
            if first.place() == self.first.place() || first.at == Time::MAX {
                return;
            }
        }
        let place = self.others.partition_point(|other| first.comes_before(other));
        self.others.insert(place, first);
    }
}
