//! DropTail: a FIFO that drops when it is full.
//!
//! **Source.** The default of every router; drop-from-front and random drop as in ns-2's `DropTail`.
//!
//! **Deviations.** A packet that would not fit even into the empty queue is dropped alone, whatever `drop` says.
//!
//! **Cost.** One push or one pop; `front` and `random` remove as many packets as the new one needs.

use crate::buffer::Buffer;
use crate::config::shared::LIMIT;
use crate::config::{About, Domain, FlowState, Origin, Parameter, ParameterError, Resolver, parameter};
use crate::{Counters, Fate, Packet, Qdisc, Reason, Seed, Size, Stream, Time};

/// What is known of it.
pub(crate) const ABOUT: About = About {
    name: "droptail",
    summary: "drops what comes while the queue is full",
    source: "the default of every router",
    year: None,
    needs: "nothing",
    flow_state: FlowState::None,
    experimental: false,
    parameters: &[LIMIT, DROP],
};

const DROP: Parameter = parameter(
    "drop",
    Domain::Choice(&["tail", "front", "random"]),
    "tail",
    "what goes when the queue is full: the arriving packet, the oldest, or a queued one at random",
)
.elsewhere(&["drop_front_"]);

/// What it is told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    limit: Size,
    drop: Drop,
}

/// What it is told by what was given.
pub(crate) fn resolve(r: &mut Resolver<'_>) -> Result<Settings, ParameterError> {
    let limit = r.limit()?;
    let drop = match r.take("drop", Origin::Default("as every router"), "tail")? {
        "front" => Drop::Front,
        "random" => Drop::Random,
        _ => Drop::Tail,
    };
    Ok(Settings { limit, drop })
}

/// Which packet goes when the queue is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Drop {
    /// The arriving one.
    Tail,
    /// The oldest.
    Front,
    /// One drawn uniformly from those that are queued.
    Random,
}

/// A FIFO that drops when it is full.
#[derive(Debug)]
pub struct DropTail<P> {
    buffer: Buffer<P>,
    drop: Drop,
    picks: Stream,
}

impl<P: Packet> DropTail<P> {
    pub(crate) fn new(settings: Settings, seed: Seed) -> Self {
        let Settings { limit, drop } = settings;
        Self { buffer: Buffer::new(limit), drop, picks: seed.stream("drop") }
    }
}

impl<P: Packet> Qdisc<P> for DropTail<P> {
    fn enqueue(&mut self, now: Time, packet: P, fate: &mut impl Fate<P>) {
        self.buffer.arrive(&packet);
        if !self.buffer.never_fits(packet.bytes()) {
            while self.buffer.overflows(packet.bytes()) {
                let victim = match self.drop {
                    Drop::Tail => break,
                    Drop::Front => self.buffer.fifo.front(),
                    Drop::Random => self.buffer.fifo.draw(&mut self.picks),
                };
                let Some(place) = victim else { break };
                self.buffer.evict(now, place, Reason::Limit, fate);
                self.buffer.fifo.settle();
            }
        }
        self.buffer.admit(now, packet, None, fate);
    }

    fn dequeue(&mut self, _now: Time, _fate: &mut impl Fate<P>) -> Option<P> {
        self.buffer.depart()
    }

    fn packets(&self) -> usize {
        self.buffer.fifo.packets()
    }

    fn bytes(&self) -> u64 {
        self.buffer.fifo.bytes()
    }

    fn counters(&self) -> &Counters {
        &self.buffer.counters
    }
}
