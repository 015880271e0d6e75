//! UDP sources: the times and sizes of packets. Each source has its own random streams.

mod cbr;
mod geometric;
mod on_off;
mod poisson;
mod ssmp;
mod trace;

use fairlane_qdisc::{Duration, Rate, Seed, Stream};
use fairlane_scenario::{self as scenario, Udp};

use cbr::Cbr;
use geometric::Geometric;
use on_off::OnOff;
use poisson::Poisson;
use ssmp::Ssmp;
use trace::Trace;

/// A source of packets.
#[derive(Debug)]
pub(crate) enum Source {
    Cbr(Cbr),
    Poisson(Poisson),
    OnOff(Box<OnOff>),
    Geometric(Geometric),
    Ssmp(Box<Ssmp>),
    Trace(Trace),
}

impl Source {
    /// Returns the source of flow `index` of its group, with packets of `bytes` bytes unless it is a trace.
    pub(crate) fn new(udp: &Udp, index: u32, bytes: u32, seed: Seed) -> Self {
        match udp.source {
            scenario::Source::Trace(ref trace) => Self::Trace(Trace::new(trace.clone(), index)),
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

    /// Sets the rate, with packets of `bytes` bytes. Slots and traces have none.
    pub(crate) fn set_rate(&mut self, rate: Rate, bytes: u32) {
        match self {
            Self::Cbr(source) => source.set_rate(rate),
            Self::Poisson(source) => source.set_rate(rate, bytes),
            Self::OnOff(source) => source.set_rate(rate),
            Self::Geometric(_) | Self::Ssmp(_) | Self::Trace(_) => {}
        }
    }

    /// Returns the time from the flow's start to its first packet. `start` is the stream from which the start was
    /// drawn.
    pub(crate) fn first(&mut self, start: &mut Stream) -> Duration {
        match self {
            Self::Cbr(source) => source.phase(start),
            _ => self.next(),
        }
    }

    /// Returns the time from one packet to the next.
    pub(crate) fn next(&mut self) -> Duration {
        match self {
            Self::Cbr(source) => source.next(),
            Self::Poisson(source) => source.next(),
            Self::OnOff(source) => source.next(),
            Self::Geometric(source) => source.next(),
            Self::Ssmp(source) => source.next(),
            Self::Trace(source) => source.next(),
        }
    }

    /// Returns the size of the packet whose time was returned last; `None` if all packets have the same size.
    pub(crate) fn bytes(&self) -> Option<u32> {
        match self {
            Self::Trace(source) => source.bytes(),
            _ => None,
        }
    }
}
