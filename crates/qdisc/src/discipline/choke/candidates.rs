//! Draws drop candidates and compares them with an arrival. Nothing here has state of its own.

use alloc::vec::Vec;

use super::Draw;
use crate::queue::buffer::Buffer;
use crate::queue::fifo::{DrawnPlaces, Fifo, Place};
use crate::{DropSink, FlowKey, Packet, Reason, Stream, Time};

/// Draws one candidate; `None` when the queue is empty.
#[inline(always)]
pub(super) fn one<P: Packet>(fifo: &Fifo<P>, draw: Draw, draws: &mut Stream) -> Option<Place> {
    match draw {
        Draw::Random | Draw::WithReplacement => fifo.draw(draws),
        Draw::Linux => fifo.draw_as_linux(draws),
        Draw::Front => fifo.front(),
        Draw::Back => fifo.back(),
    }
}

/// Fills `drawn` with `wanted` candidates: distinct ones, or all packets of the queue if there are no more; with replacement,
/// those of `wanted` draws, each once.
pub(super) fn several<P: Packet>(fifo: &Fifo<P>, draw: Draw, wanted: u32, draws: &mut Stream, drawn: &mut Vec<Place>) {
    drawn.clear();
    let mut places = DrawnPlaces::default();
    if draw == Draw::WithReplacement {
        for place in (0..wanted).filter_map(|_| fifo.draw(draws)) {
            if !(places.add(place) && drawn.contains(&place)) {
                drawn.push(place);
            }
        }
        return;
    }
    let wanted = (wanted as usize).min(fifo.packets());
    while drawn.len() < wanted {
        let next = match (draw, drawn.last()) {
            (Draw::Front, Some(&last)) => fifo.after(last),
            (Draw::Back, Some(&last)) => fifo.before(last),
            _ => one(fifo, draw, draws),
        };
        let Some(place) = next else { return };
        if !(places.add(place) && drawn.contains(&place)) {
            drawn.push(place);
        }
    }
}

/// Drops the candidate if it is of `flow`; tells whether it was.
#[inline(always)]
pub(super) fn drop_if_match<P: Packet>(
    buffer: &mut Buffer<P>,
    now: Time,
    candidate: Option<Place>,
    flow: FlowKey,
    sink: &mut dyn DropSink<P>,
) -> bool {
    let Some(place) = candidate.filter(|&place| buffer.fifo.is_of(place, flow)) else { return false };
    buffer.evict(now, place, Reason::MatchVictim, sink);
    buffer.fifo.settle();
    true
}

/// Drops all of the distinct candidates `drawn` that are of `flow`, and returns their number. `leaving` is told of each before
/// it leaves.
pub(super) fn drop_all_matches<P: Packet>(
    buffer: &mut Buffer<P>,
    now: Time,
    drawn: &[Place],
    flow: FlowKey,
    sink: &mut dyn DropSink<P>,
    mut leaving: impl FnMut(&Fifo<P>, Place),
) -> u32 {
    let mut matches = 0;
    for &place in drawn {
        if buffer.fifo.is_of(place, flow) {
            leaving(&buffer.fifo, place);
            buffer.evict(now, place, Reason::MatchVictim, sink);
            matches += 1;
        }
    }
    if matches > 0 {
        buffer.fifo.settle();
    }
    matches
}

#[cfg(test)]
mod tests {
    use crate::discipline::choke::{Choke, Config, Draw};
    use crate::discipline::red;
    use crate::{Qdisc, Seed, SimplePacket, Size};

    /// Would catch candidates of an earlier arrival, of another place, or that have matched and left.
    #[test]
    fn tells_the_candidates_that_did_not_match() {
        let red =
            red::RedParameters { min: Size::packets(1), max: Size::packets(300), ..red::RedParameters::default() };
        for draw in [Draw::Random, Draw::Front, Draw::Back] {
            let mut queue = Choke::new(Config { red, draw, ..Config::default() }, Seed::new(1)).expect("it is valid");
            let (mut queued, mut told) = (alloc::vec::Vec::new(), 0);
            for id in 0..2000 {
                let packet = SimplePacket::new(id % 3, 1000).with_id(id);
                queue.enqueue(crate::Time::from_nanos(id), packet, &mut ());
                let mut candidates = alloc::vec::Vec::new();
                queue.candidates(&mut |candidate| candidates.push(*candidate));
                assert!(candidates.len() <= 1);
                for candidate in candidates {
                    assert!(candidate.flow != packet.flow);
                    let expected = match draw {
                        Draw::Front => queued.first(),
                        Draw::Back => queued.last(),
                        _ => queued.iter().find(|id| **id == candidate.id),
                    };
                    assert_eq!(expected, Some(&candidate.id));
                    told += 1;
                }
                let fifo = &queue.red.buffer.fifo;
                let places = core::iter::successors(fifo.front(), |place| fifo.after(*place));
                queued = places.filter_map(|place| fifo.packet(place)).map(|packet| packet.id).collect();
            }
            assert!(told > 100, "{draw:?}: {told}");
        }
    }
}
