//! The middle of a FIFO, tracked as packets come and go: half of the live packets are in front of it.

use alloc::vec::Vec;
use core::ops::Range;

use super::{Fifo, Place};
use crate::{FlowKey, Packet, Stream};

/// The position at which the newer half of the packets begins.
///
/// The owner reports each packet that leaves. The middle then moves by no more packets than have come and gone, so
/// tracking it takes amortised O(1), not counting the holes that it moves over.
#[derive(Debug, Default)]
pub(crate) struct Halves {
    middle: usize,
    /// The number of live packets between the head and the middle.
    before: usize,
    /// [`Fifo::numbering`] at the time when `middle` was set.
    numbering: u32,
}

impl Halves {
    /// Notes that the packet at `place` is about to be removed. [`follow`](Self::follow) must be called after
    /// [`Fifo::settle`] and before the next push.
    pub(crate) fn removed(&mut self, place: Place) {
        // Where no packet is in front of the middle, its position does not matter.
        if self.before > 0 && (place.0.wrapping_sub(self.middle) as isize) < 0 {
            self.before -= 1;
        }
    }

    /// Notes that the oldest packet has left.
    pub(crate) fn popped(&mut self) {
        self.before = self.before.saturating_sub(1);
    }

    /// Corrects the middle after packets were moved or holes at the ends were removed.
    pub(crate) fn follow<P: Packet>(&mut self, fifo: &Fifo<P>) {
        if self.before == 0 {
            self.middle = fifo.head;
        } else if self.numbering != fifo.numbering {
            // There are no holes then: compaction and growth remove them all.
            self.middle = fifo.head.wrapping_add(self.before);
        } else if self.middle.wrapping_sub(fifo.head) > fifo.span() {
            self.middle = fifo.tail;
        }
        self.numbering = fifo.numbering;
    }

    /// Moves to the middle: the first packet of the newer half, which is the larger one if the number of packets is
    /// odd.
    fn find<P: Packet>(&mut self, fifo: &Fifo<P>) {
        self.follow(fifo);
        let before = fifo.packets() / 2;
        while self.before > before {
            self.middle = self.middle.wrapping_sub(1);
            self.before -= usize::from(!fifo.is_hole(self.middle));
        }
        while self.before < before {
            self.before += usize::from(!fifo.is_hole(self.middle));
            self.middle = self.middle.wrapping_add(1);
        }
        while self.middle != fifo.tail && fifo.is_hole(self.middle) {
            self.middle = self.middle.wrapping_add(1);
        }
    }

    /// Adds `wanted` distinct packets to `picks`: uniformly from the newer half, and from the older half once the newer
    /// is used up. The queue must hold that many. Tells whether one of them may be of `flow`; `false` is certain.
    pub(crate) fn pick<P: Packet>(
        &mut self,
        fifo: &Fifo<P>,
        wanted: usize,
        flow: FlowKey,
        stream: &mut Stream,
        picks: &mut Vec<Place>,
    ) -> bool {
        self.find(fifo);
        let rear = fifo.packets() - self.before;
        let from_rear = rear.min(wanted);
        let may_match = fifo.pick_between(self.middle..fifo.tail, from_rear, rear, flow, stream, picks);
        may_match | fifo.pick_between(fifo.head..self.middle, wanted - from_rear, self.before, flow, stream, picks)
    }
}

impl<P: Packet> Fifo<P> {
    /// Adds `wanted` distinct packets to `picks`, uniformly from the `live` packets in `places`. Tells whether one of
    /// them may be of `flow`; `false` is certain.
    fn pick_between(
        &self,
        places: Range<usize>,
        wanted: usize,
        live: usize,
        flow: FlowKey,
        stream: &mut Stream,
        picks: &mut Vec<Place>,
    ) -> bool {
        let Range { start: from, end } = places;
        let slots = end.wrapping_sub(from);
        if wanted == live {
            // All of them: no draw is needed.
            let all = (0..slots).map(|i| Place(from.wrapping_add(i)));
            picks.extend(all.filter(|place| !self.is_hole(place.0)));
            return wanted > 0;
        }
        self.draw_distinct(from, slots, wanted, flow, stream, picks)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::{Seed, SimplePacket};

    /// Returns the flows of the live packets, oldest first.
    fn flows(fifo: &Fifo<SimplePacket>) -> Vec<u64> {
        let mut at = fifo.front();
        let mut flows = Vec::new();
        while let Some(place) = at {
            flows.push(fifo.flow(place).get());
            at = fifo.after(place);
        }
        flows
    }

    /// Would catch a middle that drifts as packets leave at both ends and in between, as holes are removed, and as the
    /// ring is compacted or grows; and a packet of the flow that is picked and not told.
    #[test]
    fn the_halves_are_halves_under_any_script() {
        let mut script = Seed::new(12).stream("script");
        let mut fifo = Fifo::new();
        let mut halves = Halves::default();
        for step in 0..60_000_u64 {
            let push = [6, 3, 2][(step / 500 % 3) as usize];
            match script.below(10) {
                roll if roll < push => fifo.push(SimplePacket::new(step, 1)),
                roll if roll < 7 && fifo.packets() > 0 => {
                    let wanted = script.below(fifo.packets().min(12) as u32 + 1) as usize;
                    let mut picks = Vec::new();
                    let live = flows(&fifo);
                    let flow = live[script.below(live.len() as u32) as usize];
                    let may_match = halves.pick(&fifo, wanted, FlowKey::new(flow), &mut script, &mut picks);
                    let rear = &live[live.len() / 2..];
                    let picked: Vec<u64> = picks.iter().map(|&place| fifo.flow(place).get()).collect();
                    assert_eq!(picked.len(), wanted);
                    assert!(may_match || !picked.contains(&flow));
                    assert!(picked.iter().all(|flow| live.contains(flow)));
                    assert!((1..wanted).all(|i| !picked[..i].contains(&picked[i])), "distinct");
                    let from_rear = picked.iter().filter(|flow| rear.contains(flow)).count();
                    assert_eq!(from_rear, wanted.min(rear.len()), "the rear half first");
                    for &place in picks.iter().filter(|_| script.below(2) == 0) {
                        halves.removed(place);
                        assert!(fifo.remove(place).is_some());
                    }
                    fifo.settle();
                    halves.follow(&fifo);
                }
                _ => {
                    if fifo.pop().is_some() {
                        halves.popped();
                    }
                }
            }
        }
    }

    /// Would catch a draw that favours a position in its half. The 99.9 % point of chi-square with 9 degrees of freedom
    /// is 27.88.
    #[test]
    fn a_draw_is_uniform_over_the_half() {
        let mut stream = Seed::new(4).stream("draw");
        let mut fifo = Fifo::new();
        for flow in 0..40 {
            fifo.push(SimplePacket::new(flow, 1));
        }
        // Every second packet is removed: ten are left in each half.
        let mut at = fifo.front().and_then(|head| fifo.after(head));
        while let Some(place) = at.filter(|&place| fifo.flow(place).get() < 39) {
            at = fifo.after(place).and_then(|next| fifo.after(next));
            assert!(fifo.remove(place).is_some());
            fifo.settle();
        }
        assert!(fifo.back().and_then(|place| fifo.remove(place)).is_some());
        fifo.settle();
        assert_eq!(fifo.packets(), 20);
        let mut halves = Halves::default();
        let mut seen = [0_u32; 40];
        let mut picks = Vec::new();
        for _ in 0..50_000 {
            picks.clear();
            halves.pick(&fifo, 3, FlowKey::new(0), &mut stream, &mut picks);
            picks.iter().for_each(|&place| seen[fifo.flow(place).get() as usize] += 1);
        }
        let rear: Vec<u32> = seen[20..].iter().copied().filter(|&count| count > 0).collect();
        assert_eq!((rear.len(), seen[..20].iter().sum::<u32>()), (10, 0));
        let square = |&count: &u32| (f64::from(count) - 15_000.0) * (f64::from(count) - 15_000.0) / 15_000.0;
        let chi2: f64 = rear.iter().map(square).sum();
        assert!(chi2 < 27.88, "{chi2}");
    }
}
