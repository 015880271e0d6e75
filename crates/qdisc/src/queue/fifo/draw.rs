//! Draws from a FIFO: packets at random, uniformly over those that are queued.

use alloc::vec::Vec;

use super::{Fifo, HOLE, Place, hint};
use crate::seed::Throw;
use crate::{FlowKey, Packet, Stream};

/// Places that were drawn, of which it tells quickly that most others were not: a search of a list is needed for few.
#[derive(Debug, Default)]
pub(crate) struct DrawnPlaces([u64; 16]);

impl DrawnPlaces {
    /// Notes that `place` was drawn; tells whether it may have been drawn before. `false` is certain.
    pub(crate) fn add(&mut self, place: Place) -> bool {
        let (word, bit) = (place.0 / 64 % self.0.len(), 1 << (place.0 % 64));
        let before = self.0[word] & bit != 0;
        self.0[word] |= bit;
        before
    }
}

impl<P: Packet> Fifo<P> {
    /// Draws a packet uniformly from the live packets: a draw that hits a hole is repeated.
    #[inline(always)]
    pub(crate) fn draw(&self, stream: &mut Stream) -> Option<Place> {
        if self.is_empty() {
            return None;
        }
        let place = self.draw_slot(stream);
        Some(if self.is_hole(place.0) { self.draw_again(stream) } else { place })
    }

    /// Throws for a draw from the queue, which must not be empty.
    #[inline(always)]
    fn throw(&self, stream: &mut Stream) -> Throw {
        stream.throw(self.span() as u32)
    }

    /// Draws a packet, and tells whether it has the hint of `flow`; false is certain. A throw that may have to be
    /// repeated is returned: [`hit`](Self::hit) goes on from there. There must be a packet. With `FAR` each draw
    /// [foresees](Self::foresee) a later one.
    #[inline(always)]
    pub(crate) fn look<const FAR: bool>(&self, flow: FlowKey, stream: &mut Stream) -> Result<(Place, bool), Throw> {
        loop {
            let throw = self.throw(stream);
            if FAR {
                self.foresee(stream);
            }
            let place = self.head.wrapping_add(throw.number() as usize);
            let found = self.hints[self.hint_at(place)];
            if throw.may_not_count(self.span() as u32) {
                return Err(throw);
            }
            if found != HOLE {
                return Ok((Place(place), found == hint(flow)));
            }
        }
    }

    /// Returns the packet that `throw` hits. If it does not count, or hits a hole, the draw is repeated.
    pub(crate) fn hit(&self, throw: Throw, stream: &mut Stream) -> Place {
        let place = Place(self.head.wrapping_add(stream.number_of(throw, self.span() as u32) as usize));
        if self.is_hole(place.0) { self.draw_again(stream) } else { place }
    }

    /// Draws until the draw hits a packet; there must be one.
    #[cold]
    fn draw_again(&self, stream: &mut Stream) -> Place {
        loop {
            let place = self.draw_slot(stream);
            if !self.is_hole(place.0) {
                return place;
            }
        }
    }

    /// Adds `wanted` distinct packets to `picks`, drawn uniformly from the `slots` slots from `from` on, which must
    /// hold as many. A draw of a hole, or of a packet that was drawn before, is repeated. Tells whether one of them may
    /// be of `flow`; `false` is certain.
    pub(crate) fn draw_distinct(
        &self,
        from: usize,
        slots: usize,
        wanted: usize,
        flow: FlowKey,
        stream: &mut Stream,
        picks: &mut Vec<Place>,
    ) -> bool {
        let (mut drawn, mut may_match, hint) = (DrawnPlaces::default(), false, hint(flow));
        let first = picks.len();
        picks.resize(first + wanted, Place(from));
        let mut found = first;
        // A copy of the stream stays in registers.
        let mut draws = stream.clone();
        while found < picks.len() {
            let place = Place(from.wrapping_add(draws.below(slots as u32) as usize));
            picks[found] = place;
            // The next draw takes the place of one that does not count. A sum takes no branch: holes and matches would
            // often be mispredicted.
            let is_known = drawn.add(place) && picks[first..found].contains(&place);
            let found_hint = self.hints[place.0 & self.mask];
            found += usize::from(!is_known & (found_hint != HOLE));
            may_match |= found_hint == hint;
        }
        *stream = draws;
        may_match
    }

    /// Adds `wanted` distinct packets to `picks`, drawn uniformly from the queue, which must hold that many. Tells
    /// whether one of them may be of `flow`; `false` is certain.
    pub(crate) fn draw_several(
        &self,
        wanted: usize,
        flow: FlowKey,
        stream: &mut Stream,
        picks: &mut Vec<Place>,
    ) -> bool {
        self.draw_distinct(self.head, self.span(), wanted, flow, stream, picks)
    }

    /// Draws a packet as Linux `sch_choke` does: the head if three draws hit holes.
    pub(crate) fn draw_as_linux(&self, stream: &mut Stream) -> Option<Place> {
        let head = self.front()?;
        for _ in 0..3 {
            let place = self.draw_slot(stream);
            if !self.is_hole(place.0) {
                return Some(place);
            }
        }
        Some(head)
    }

    /// Draws a slot uniformly from the span; it may be a hole.
    #[inline(always)]
    fn draw_slot(&self, stream: &mut Stream) -> Place {
        // The span stays far below 2^32: at most twice `MAX_PACKETS` and the slack.
        Place(self.head.wrapping_add(stream.below(self.span() as u32) as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Seed, SimplePacket};

    /// Would catch a look that takes a throw that does not count, or a hole, where a draw does not; another number of
    /// throws; and a packet of the flow that is told to be of another one. Of 2^32 throws as many may not count as
    /// there are slots: of these, six.
    #[test]
    fn a_look_finds_what_a_draw_finds() {
        let mut stream = Seed::new(2).stream("draw");
        let mut fifo = Fifo::new();
        (0..1 << 18).for_each(|flow| fifo.push(SimplePacket::new(flow % 300, 1)));
        for _ in 0..80_000 {
            let place = fifo.draw(&mut stream).unwrap();
            fifo.remove(place);
            fifo.settle();
        }
        let (mut drawing, mut repeated) = (stream.clone(), 0);
        for flow in 0..100_000 {
            let flow = FlowKey::new(flow % 300);
            let looked = match fifo.look::<false>(flow, &mut stream) {
                Ok((place, may_match)) => {
                    assert!(may_match || !fifo.is_of(place, flow));
                    assert_eq!(may_match, hint(fifo.flow(place)) == hint(flow));
                    place
                }
                Err(throw) => {
                    repeated += 1;
                    fifo.hit(throw, &mut stream)
                }
            };
            assert_eq!((Some(looked), &stream), (fifo.draw(&mut drawing), &drawing));
        }
        assert!(repeated > 0);
    }

    /// Would catch a draw that favours a position, such as the head or the one behind a hole.
    #[test]
    fn a_draw_is_uniform_over_live_packets_among_holes() {
        let mut stream = Seed::new(9).stream("draw");
        let mut fifo = Fifo::new();
        for flow in 0..60 {
            fifo.push(SimplePacket::new(flow, 1));
        }
        // A wide gap and scattered holes: 25 of 60 slots are holes, and both ends are live.
        for (n, flow) in (5..20).chain((31..50).step_by(2)).enumerate() {
            let mut at = fifo.front();
            while let Some(place) = at.filter(|&place| fifo.flow(place).get() != flow) {
                at = fifo.after(place);
            }
            assert!(at.and_then(|place| fifo.remove(place)).is_some(), "removal {n}");
            fifo.settle();
        }
        assert_eq!((fifo.packets(), fifo.span()), (35, 60));
        let draws = 350_000;
        let mut seen = [0_u32; 60];
        for _ in 0..draws {
            let place = fifo.draw(&mut stream).map_or(0, |place| fifo.flow(place).get());
            seen[place as usize] += 1;
        }
        let expected = f64::from(draws) / 35.0;
        let square = |count: u32| (f64::from(count) - expected) * (f64::from(count) - expected) / expected;
        let chi2: f64 = seen.iter().filter(|&&count| count > 0).map(|&count| square(count)).sum();
        assert_eq!(seen.iter().filter(|&&count| count > 0).count(), 35);
        // The 99.9 % point of chi-square with 34 degrees of freedom.
        assert!(chi2 < 65.25, "{chi2}");
    }

    /// Linux returns the head where three draws hit holes, so its probability exceeds the uniform one by the cube of
    /// the fraction of holes. Would catch a fourth draw, or a fallback to another packet.
    #[test]
    fn linux_draws_favour_the_head_by_the_cube_of_the_hole_fraction() {
        let mut stream = Seed::new(5).stream("draw");
        let mut fifo = Fifo::new();
        for flow in 0..20 {
            fifo.push(SimplePacket::new(flow, 1));
        }
        for flow in 5..15 {
            let mut at = fifo.front();
            while let Some(place) = at.filter(|&place| fifo.flow(place).get() != flow) {
                at = fifo.after(place);
            }
            assert!(at.and_then(|place| fifo.remove(place)).is_some());
            fifo.settle();
        }
        // Half of the span is holes: the probability of the head is 1/20 (1 + 1/2 + 1/4) + 1/8.
        let draws = 400_000;
        let mut heads = 0;
        for _ in 0..draws {
            heads += i32::from(fifo.draw_as_linux(&mut stream) == fifo.front());
        }
        let share = f64::from(heads) / f64::from(draws);
        assert!((share - 0.2125).abs() < 0.003, "{share}");
    }
}
