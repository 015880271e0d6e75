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
