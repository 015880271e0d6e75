//! CHOKeR: CHOKeW whose drawing factor rises the steeper the longer the queue. Experimental.
//!
//! **Source.** Lu, Du, Liu, "CHOKeR: a novel AQM algorithm with proportional bandwidth allocation and TCP protection",
//! IEEE Transactions on Industrial Informatics 10(1), 2014.
//!
//! **Deviations.** Only the abstract is followed; what it leaves open is decided in `docs/qdiscs/choker.md`. The factor
//! has an upper bound, as [CHOKeW](super::chokew)'s.
//!
//! **Cost.** CHOKeW's.

use super::chokew::{self, Chokew, same_unit};
use crate::error::check;
use crate::{Counters, DropSink, Fate, Packet, ParameterError, Qdisc, Seed, Size, Status, Time};

/// The steepest rise, in increments.
const MAX_STEPS: u32 = 4;

/// The configuration of [`Choker`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct Config {
    /// CHOKeW's configuration. Default: CHOKeW's.
    pub chokew: chokew::Config,
    /// The width of a band: each further band by which the queue exceeds `max` makes the rise one increment steeper, up
    /// to four. In the unit of `max`, above zero. Default: a quarter of what `limit` leaves above `max`, 82 packets.
    pub band: Size,
}

impl Default for Config {
    fn default() -> Self {
        Self { chokew: chokew::Config::default(), band: Size::packets(82) }
    }
}

impl Config {
    fn validate(&self) -> Result<(), ParameterError> {
        check::size("band", self.band)?;
        same_unit("band", self.band, self.chokew.max)
    }
}

/// CHOKeW whose drawing factor rises the steeper the longer the queue.
#[derive(Debug)]
pub struct Choker<P> {
    chokew: Chokew<P>,
    band: f64,
}

impl<P: Packet> Choker<P> {
    /// Creates an empty queue.
    ///
    /// # Errors
    /// As [`Chokew::new`]; or `band` has another unit than `max`.
    pub fn new(config: Config, seed: Seed) -> Result<Self, ParameterError> {
        config.validate()?;
        // Sizes stay below 2^53.
        Ok(Self { chokew: Chokew::new(config.chokew, seed)?, band: config.band.number() as f64 })
    }
}

impl<P: Packet> Qdisc<P> for Choker<P> {
    fn enqueue(&mut self, now: Time, packet: P, sink: &mut dyn DropSink<P>) -> Fate {
        let band = self.band;
        let steps = |above: f64| {
            let bands = (1..MAX_STEPS).filter(|&bands| above > f64::from(bands) * band).count();
            (1 + bands) as f64
        };
        self.chokew.enqueue_with(now, packet, sink, steps)
    }

    fn dequeue(&mut self, now: Time, sink: &mut dyn DropSink<P>) -> Option<P> {
        self.chokew.dequeue(now, sink)
    }

    fn status(&self) -> Status {
        self.chokew.status()
    }

    fn counters(&self) -> &Counters {
        self.chokew.counters()
    }

    fn candidates(&self, each: &mut dyn FnMut(&P)) {
        self.chokew.candidates(each);
    }
}
