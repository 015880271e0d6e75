//! CHOKeD: CHOKe that draws more candidates the longer the average queue, from the packets that came last first.
//! Experimental.
//!
//! The number of candidates is in proportion to the average: the square root of the buffer in packets over the distance
//! of the thresholds. They are drawn from the half of the queue that came last, and when that is used up from the other
//! half.
//!
//! **Source.** Manzoor, Abbas, Hussain, "CHOKeD: a fair active queue management system", arXiv 1712.09726, 2017.
//!
//! **Deviations.** Only the abstract is followed; what it leaves open is decided in `docs/qdiscs/choked.md`. The number
//! of candidates has an upper bound, which the paper does not mention.
//!
//! **Cost.** RED's, and one random number and one cache line a candidate; finding the middle of the queue is amortised
//! O(1).

use super::candidates::Drawn;
use super::{MAX_CANDIDATES, candidates};
use crate::discipline::red::{self, Red};
use crate::error::check;
use crate::queue::fifo::Halves;
use crate::{
    Counters, DropSink, Fate, FlowKey, Packet, ParameterError, Qdisc, Rate, Reason, Seed, Size, Status, Stream, Time,
};

/// The configuration of [`Choked`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct Config {
    /// The most that the queue holds, in packets or bytes. Default: 300 packets.
    pub limit: Size,
    /// RED's part: the average, the thresholds and the drop probability. Default: thresholds of 100 and 200 packets.
    pub red: red::RedParameters,
    /// The upper bound of the number of candidates, 1 to 64. Default: 64.
    pub max_candidates: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self { limit: Size::packets(300), red: red::RedParameters::default(), max_candidates: 64 }
    }
}

impl Config {
    fn validate(&self) -> Result<(), ParameterError> {
        check::count("max_candidates", self.max_candidates, 1..=MAX_CANDIDATES)
    }

    /// Returns the number of candidates for each unit of the average.
    fn candidates_per_unit(&self) -> f64 {
        let buffer = match self.limit {
            Size::Packets(packets) => f64::from(packets.get()),
            Size::Bytes(bytes) => bytes.get() as f64 / self.red.avpkt.get() as f64,
        };
        libm::sqrt(buffer) / (self.red.max.number() as f64 - self.red.min.number() as f64)
    }

    /// Returns the number of candidates at `average`.
    pub(crate) fn candidates_at(&self, average: f64) -> u32 {
        rounded(average, self.candidates_per_unit(), self.max_candidates)
    }
}

/// Rounds `average` times `per_unit`, up to `most`. The cast saturates.
fn rounded(average: f64, per_unit: f64, most: u32) -> u32 {
    (libm::round(average * per_unit) as u32).min(most)
}

/// CHOKe that draws more candidates the longer the average queue, from the packets that came last first.
#[derive(Debug)]
pub struct Choked<P> {
    red: Red<P>,
    halves: Halves,
    per_unit: f64,
    max_candidates: u32,
    draws: Stream,
    drawn: Drawn,
}

impl<P: Packet> Choked<P> {
    /// Creates an empty queue.
    ///
    /// # Errors
    /// A value of `config` is out of its range, or the thresholds contradict each other.
    pub fn new(config: Config, seed: Seed) -> Result<Self, ParameterError> {
        config.validate()?;
        Ok(Self {
            red: Red::new(red::Config { limit: config.limit, red: config.red, ..red::Config::default() }, seed)?,
            halves: Halves::default(),
            per_unit: config.candidates_per_unit(),
            max_candidates: config.max_candidates,
            draws: seed.stream("choke"),
            drawn: Drawn::with_room_for(config.max_candidates),
        })
    }

    /// Compares an arrival of `flow` with candidates and drops those of the same flow; tells whether there were any.
    fn drop_matches(&mut self, now: Time, flow: FlowKey, sink: &mut dyn DropSink<P>) -> bool {
        let Self { red: Red { buffer, core }, halves, draws, drawn, .. } = self;
        let wanted = rounded(core.average(), self.per_unit, self.max_candidates);
        let drawn = drawn.from(&buffer.fifo);
        let wanted = (wanted as usize).min(buffer.fifo.packets());
        let matched = halves.pick(&buffer.fifo, wanted, flow, draws, drawn)
            && candidates::drop_all_matches(buffer, now, drawn, flow, sink, |_, place| halves.removed(place));
        if matched {
            halves.follow(&buffer.fifo);
        }
        matched
    }
}

impl<P: Packet> Qdisc<P> for Choked<P> {
    fn enqueue(&mut self, now: Time, packet: P, sink: &mut dyn DropSink<P>) -> Fate {
        self.red.arrive(now, &packet);
        self.drawn.clear();
        let (min, _) = self.red.core.thresholds();
        if self.red.core.average() > min && self.drop_matches(now, packet.flow(), sink) {
            return self.red.buffer.discard(now, packet, Reason::MatchArrival, sink);
        }
        self.red.decide(now, packet, sink)
    }

    fn dequeue(&mut self, now: Time, _sink: &mut dyn DropSink<P>) -> Option<P> {
        let packet = self.red.depart(now);
        self.halves.popped();
        packet
    }

    fn status(&self) -> Status {
        self.red.status()
    }

    fn counters(&self) -> &Counters {
        self.red.counters()
    }

    fn link_rate(&mut self, rate: Rate) {
        self.red.link_rate(rate);
    }

    fn candidates(&self, each: &mut dyn FnMut(&P)) {
        self.drawn.tell(&self.red.buffer.fifo, each);
    }
}
