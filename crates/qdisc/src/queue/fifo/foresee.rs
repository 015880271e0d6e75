//! Prefetches the memory of a draw, where packets are so many that it is not in the cache.

use super::Fifo;
use crate::Packet;
use crate::prefetch::{is_available, prefetch};
use crate::seed::{AHEAD, Stream};

/// The bytes of all slots from which on the memory of draws is prefetched. Smaller queues are in a cache that answers
/// sooner than the place of a later draw is calculated.
const LARGE: usize = 4 << 20;

/// How far the place of a draw moves until then, with the head of the queue: by two slots in three draws, since some
/// draws are repeated and some arrivals are not queued.
const DRIFT: usize = AHEAD as usize * 2 / 3;

impl<P: Packet> Fifo<P> {
    /// Tells whether [`foresee`](Self::foresee) gains anything.
    #[inline(always)]
    pub(crate) fn is_large(&self) -> bool {
        is_available() && self.slots.len() >= LARGE / size_of::<Option<P>>()
    }

    /// Prefetches the memory of the draw that is the [`AHEAD`]th from now on. The numbers of a stream are known ahead;
    /// the queue of then is not, so it takes the memory on both sides of the place.
    #[inline(always)]
    pub(crate) fn foresee(&self, stream: &Stream) {
        let place =
            self.head.wrapping_add(stream.throw_ahead(self.span() as u32).number() as usize).wrapping_add(DRIFT);
        prefetch(self.hints.get(self.hint_at(place)));
        prefetch(self.slots.get(self.slot_at(place)));
        prefetch(self.slots.get(self.slot_at(place.wrapping_add(2))));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FlowKey, Seed, SimplePacket};

    /// Would catch a prefetch that changes a draw, or reaches behind the ring.
    #[test]
    fn a_draw_that_foresees_draws_the_same() {
        let mut stream = Seed::new(5).stream("draw");
        let mut fifo = Fifo::new();
        assert!(!fifo.is_large());
        for flow in 0..150_000 {
            fifo.push(SimplePacket::new(flow % 40, 1));
        }
        assert_eq!(fifo.is_large(), is_available());
        let mut other = stream.clone();
        for flow in 0..100_000 {
            let flow = FlowKey::new(flow % 40);
            let (plain, far) = (fifo.look::<false>(flow, &mut other), fifo.look::<true>(flow, &mut stream));
            assert_eq!((plain, &other), (far, &stream));
            fifo.pop();
            fifo.push(SimplePacket::new(flow.get(), 1));
        }
    }
}
