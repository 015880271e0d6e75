//! Draws drop candidates and compares them with an arrival. The only state is what
//! [`Qdisc::candidates`](crate::Qdisc::candidates) tells.

use alloc::vec::Vec;

use super::Draw;
use crate::queue::buffer::Buffer;
use crate::queue::fifo::{DrawnPlaces, Fifo, Place};
use crate::{DropSink, FlowKey, Packet, Reason, Stream, Time};

/// The candidates of the last arrival, and where they stand.
#[derive(Debug)]
pub(super) struct Drawn {
    /// The only candidate where it was drawn alone.
    single: Option<Place>,
    /// The vector never grows: it has room for the most that the configuration allows.
    pub(super) places: Vec<Place>,
    /// The FIFO's numbering when they were drawn.
    numbering: u32,
}

impl Drawn {
    pub(super) fn with_room_for(most: u32) -> Self {
        Self { single: None, places: Vec::with_capacity(most as usize), numbering: 0 }
    }

    /// Forgets the candidates of the arrival before.
    #[inline(always)]
    pub(super) fn clear(&mut self) {
        self.single = None;
        self.places.clear();
    }

    /// Notes a candidate that was compared, as the only one of its arrival, and stays in the queue.
    #[inline(always)]
    pub(super) fn set<P: Packet>(&mut self, fifo: &Fifo<P>, candidate: Place) {
        self.single = Some(candidate);
        self.numbering = fifo.numbering();
    }

    /// Adds a candidate that was compared and stays in the queue.
    #[inline(always)]
    pub(super) fn add<P: Packet>(&mut self, fifo: &Fifo<P>, candidate: Option<Place>) {
        self.places.extend(candidate);
        self.numbering = fifo.numbering();
    }

    /// Returns the vector for candidates that are drawn at once from `fifo`.
    #[inline(always)]
    pub(super) fn from<P: Packet>(&mut self, fifo: &Fifo<P>) -> &mut Vec<Place> {
        self.numbering = fifo.numbering();
        &mut self.places
    }

    /// Calls `each` once with every candidate that is still queued.
    pub(super) fn tell<P: Packet>(&self, fifo: &Fifo<P>, each: &mut dyn FnMut(&P)) {
        // A FIFO that has moved its packets since does not know the places any more.
        if self.numbering != fifo.numbering() {
            return;
        }
        if let Some(packet) = self.single.and_then(|place| fifo.packet(place)) {
            each(packet);
        }
        for (index, place) in self.places.iter().enumerate() {
            if let Some(packet) = fifo.packet(*place).filter(|_| !self.places[..index].contains(place)) {
                each(packet);
            }
        }
    }
}

/// Draws one candidate; `None` when the queue is empty.
#[inline(always)]
pub(super) fn one<P: Packet>(fifo: &Fifo<P>, draw: Draw, draws: &mut Stream) -> Option<Place> {
    // Before all others, which take a jump by a table.
    if draw == Draw::Random {
        return fifo.draw(draws);
    }
    match draw {
        Draw::Random | Draw::WithReplacement => fifo.draw(draws),
        Draw::Linux => fifo.draw_as_linux(draws),
        Draw::Front => fifo.front(),
        Draw::Back => fifo.back(),
    }
}

/// Does the same, and tells whether the candidate may be of `flow`; `false` is certain.
#[inline(always)]
pub(super) fn one_beside<P: Packet>(
    fifo: &Fifo<P>,
    draw: Draw,
    flow: FlowKey,
    draws: &mut Stream,
) -> Option<(Place, bool)> {
    if draw == Draw::Random && !fifo.is_empty() {
        let look = if fifo.is_large() { fifo.look::<true>(flow, draws) } else { fifo.look::<false>(flow, draws) };
        return match look {
            Ok(found) => Some(found),
            Err(throw) => Some((fifo.hit(throw, draws), true)),
        };
    }
    Some((one(fifo, draw, draws)?, true))
}

/// Fills `drawn` with `wanted` candidates: distinct ones, or all packets of the queue if there are no more; with
/// replacement, those of `wanted` draws, each once. Tells whether one of them may be of `flow`; `false` is certain.
pub(super) fn several<P: Packet>(
    fifo: &Fifo<P>,
    draw: Draw,
    wanted: u32,
    flow: FlowKey,
    draws: &mut Stream,
    drawn: &mut Vec<Place>,
) -> bool {
    drawn.clear();
    if draw == Draw::Random {
        return fifo.draw_several((wanted as usize).min(fifo.packets()), flow, draws, drawn);
    }
    let mut places = DrawnPlaces::default();
    if draw == Draw::WithReplacement {
        for place in (0..wanted).filter_map(|_| fifo.draw(draws)) {
            if !(places.add(place) && drawn.contains(&place)) {
                drawn.push(place);
            }
        }
        return true;
    }
    let wanted = (wanted as usize).min(fifo.packets());
    while drawn.len() < wanted {
        let next = match (draw, drawn.last()) {
            (Draw::Front, Some(&last)) => fifo.after(last),
            (Draw::Back, Some(&last)) => fifo.before(last),
            _ => one(fifo, draw, draws),
        };
        let Some(place) = next else { break };
        if !(places.add(place) && drawn.contains(&place)) {
            drawn.push(place);
        }
    }
    true
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

/// Drops all of the distinct candidates `drawn` that are of `flow`; tells whether there were any. `leaving` is told of
/// each before it leaves.
pub(super) fn drop_all_matches<P: Packet>(
    buffer: &mut Buffer<P>,
    now: Time,
    drawn: &[Place],
    flow: FlowKey,
    sink: &mut dyn DropSink<P>,
    mut leaving: impl FnMut(&Fifo<P>, Place),
) -> bool {
    let mut matched = false;
    for &place in drawn {
        if buffer.fifo.is_of(place, flow) {
            leaving(&buffer.fifo, place);
            buffer.evict(now, place, Reason::MatchVictim, sink);
            matched = true;
        }
    }
    if matched {
        buffer.fifo.settle();
    }
    matched
}

#[cfg(test)]
mod tests {
    use alloc::boxed::Box;
    use alloc::vec::Vec;

    use crate::discipline::choke::{Choke, Config, Draw, choked, choker, chokew, rechoke, sac, xchoke};
    use crate::discipline::red;
    use crate::{DropSink, Duration, Qdisc, Reason, Seed, SimplePacket, Size, Time};

    type Discipline = Box<dyn Qdisc<SimplePacket>>;

    /// The numbers of the packets in a queue.
    struct Queued(Vec<u64>);

    impl DropSink<SimplePacket> for Queued {
        fn dropped(&mut self, _now: Time, packet: SimplePacket, _reason: Reason) {
            self.0.retain(|id| *id != packet.id);
        }
        fn marked(&mut self, _now: Time, _packet: &SimplePacket, _reason: Reason) {}
    }

    /// Returns the later members of the family, which compare arrivals with nothing while there are fewer than ten
    /// packets, each with the most candidates of an arrival.
    fn later_members() -> [(&'static str, Discipline, usize); 6] {
        // The average is the queue itself.
        let red = red::RedParameters {
            min: Size::packets(10),
            max: Size::packets(60),
            weight: 1.0,
            ..red::RedParameters::default()
        };
        let chokew = chokew::Config {
            threshold: Size::packets(10),
            min: Size::packets(12),
            max: Size::packets(20),
            increment: 0.1,
            max_candidates: 5,
            ..chokew::Config::default()
        };
        let sac = sac::Config { red, interval: Duration::from_millis(20), hit_ratio: 0.01, ..sac::Config::default() };
        let choker = choker::Config { chokew, band: Size::packets(10) };
        let seed = Seed::new(1);
        [
            ("xchoke", boxed(xchoke::Xchoke::new(xchoke::Config { red, ..xchoke::Config::default() }, seed)), 1),
            ("rechoke", boxed(rechoke::Rechoke::new(rechoke::Config { red, ..rechoke::Config::default() }, seed)), 1),
            ("sac", boxed(sac::Sac::new(sac, seed)), 10),
            ("choked", boxed(choked::Choked::new(choked::Config { red, ..choked::Config::default() }, seed)), 64),
            ("chokew", boxed(chokew::Chokew::new(chokew, seed)), 5),
            ("choker", boxed(choker::Choker::new(choker, seed)), 5),
        ]
    }

    fn boxed<Q: Qdisc<SimplePacket> + 'static>(built: Result<Q, crate::ParameterError>) -> Discipline {
        Box::new(built.expect("it is valid"))
    }

    /// Would catch candidates of an earlier arrival, that are told twice, of the arrival's own flow, or that have left.
    #[test]
    fn later_members_tell_the_candidates_that_did_not_match() {
        for (kind, mut queue, most) in later_members() {
            let (mut queued, mut told, mut largest) = (Queued(Vec::new()), 0, 0);
            let mut next = 0_u64;
            for _ in 0..60 {
                // First there are too few packets for a comparison, then ever more.
                for arrival in 0..40 {
                    next += 1;
                    let packet =
                        SimplePacket { responsive: false, ..SimplePacket::new(next * 7 % 20, 1000).with_id(next) };
                    let (is_early, before) = (arrival == 0, queued.0.clone());
                    queued.0.push(next);
                    queue.enqueue(Time::from_nanos(next * 1_000_000), packet, &mut queued);
                    let mut candidates = Vec::new();
                    queue.candidates(&mut |candidate: &SimplePacket| candidates.push(*candidate));
                    assert!(candidates.len() <= most && (candidates.is_empty() || !is_early), "{kind}");
                    for (index, candidate) in candidates.iter().enumerate() {
                        assert!(candidate.flow != packet.flow, "{kind}");
                        assert!(before.contains(&candidate.id) && queued.0.contains(&candidate.id), "{kind}");
                        assert!(!candidates[..index].contains(candidate), "{kind}");
                    }
                    told += candidates.len();
                    largest = largest.max(candidates.len());
                }
                while queued.0.len() > 5 {
                    let packet = queue.dequeue(Time::from_nanos(next * 1_000_000), &mut ()).expect("there are packets");
                    queued.0.retain(|id| *id != packet.id);
                }
            }
            assert!(told > 300, "{kind}: {told}");
            assert!(largest > most / 6, "{kind}: {largest}");
        }
    }

    /// Would catch candidates of an earlier arrival, of another place, or that have matched and left.
    #[test]
    fn tells_the_candidates_that_did_not_match() {
        let red =
            red::RedParameters { min: Size::packets(1), max: Size::packets(300), ..red::RedParameters::default() };
        for draw in [Draw::Random, Draw::Front, Draw::Back] {
            let mut queue = Choke::new(Config { red, draw, ..Config::default() }, Seed::new(1)).expect("it is valid");
            let (mut queued, mut told) = (Vec::new(), 0);
            for id in 0..2000 {
                let packet = SimplePacket::new(id % 3, 1000).with_id(id);
                queue.enqueue(Time::from_nanos(id), packet, &mut ());
                let mut candidates = Vec::new();
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
