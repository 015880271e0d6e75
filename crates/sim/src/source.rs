//! When a UDP source sends. Each draws from streams of its own.

mod cbr;
pub(crate) mod draw;
mod geometric;
pub(crate) mod on_off;
mod poisson;
mod ssmp;
#[cfg(test)]
mod tests;

use fairlane_qdisc::{Duration, Seed, Stream};
use fairlane_scenario::{self as scenario, Udp};

use cbr::Cbr;
use geometric::Geometric;
use on_off::OnOff;
use poisson::Poisson;
use ssmp::Ssmp;

/// A source of packets of one size.
#[derive(Debug)]
pub(crate) enum Source {
    Cbr(Cbr),
    Poisson(Poisson),
    OnOff(Box<OnOff>),
    Geometric(Geometric),
    Ssmp(Box<Ssmp>),
}

impl Source {
    /// The source of `udp`, with packets of `bytes` bytes.
    pub(crate) fn new(udp: &Udp, bytes: u32, seed: Seed) -> Self {
        match udp.source {
            scenario::Source::Cbr { jitter } => Self::Cbr(Cbr::new(udp.rate, bytes, jitter, seed)),
            scenario::Source::Poisson => Self::Poisson(Poisson::new(udp.rate, bytes, seed)),
            scenario::Source::OnOff(on_off) => Self::OnOff(Box::new(OnOff::new(udp.rate, bytes, &on_off, seed))),
            scenario::Source::Geometric { slot, probability } => {
                Self::Geometric(Geometric::new(slot, probability, seed))
            }
            scenario::Source::Ssmp { slot, probability, chain } => {
                Self::Ssmp(Box::new(Ssmp::new(slot, probability, &chain, seed)))
            }
        }
    }

    /// From the flow's start to its first packet. `start` is the stream that drew the start.
    pub(crate) fn first(&mut self, start: &mut Stream) -> Duration {
        match self {
            Self::Cbr(source) => source.phase(start),
            _ => self.next(),
        }
    }

    /// From one packet to the next.
    pub(crate) fn next(&mut self) -> Duration {
        match self {
            Self::Cbr(source) => source.next(),
            Self::Poisson(source) => source.next(),
            Self::OnOff(source) => source.next(),
            Self::Geometric(source) => source.next(),
            Self::Ssmp(source) => source.next(),
        }
    }
}
