//! Transfers of limited size, one after the other.

use fairlane_qdisc::{Duration, Seed, Stream, Time};
use fairlane_scenario::{self as scenario, Size, Sizes, Tcp};

use crate::source::draw;

/// The transfers of one flow.
#[derive(Debug)]
pub(crate) struct Transfers {
    /// What a fresh connection is made from.
    pub(super) tcp: Tcp,
    law: scenario::Transfers,
    /// Mean size in segments.
    mean: f64,
    sizes: Stream,
    thinks: Stream,
    /// Segments of the transfer that is under way.
    size: u32,
    began: Time,
    state: State,
    /// How long each transfer took that was completed since the measurement began, in nanoseconds.
    completions: Vec<u64>,
}

/// How far a transfer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The receiver lacks some of it.
    UnderWay,
    /// The receiver has it all, and the sender does not know.
    Arrived,
    /// The sender knows.
    Over,
}

/// A transfer has no more segments than this, so that numbers do not run out.
const MOST: f64 = 1e9;

impl Transfers {
    /// The transfers of `law` with segments of `bytes` bytes.
    pub(super) fn new(tcp: &Tcp, law: &scenario::Transfers, bytes: u32, seed: Seed) -> Self {
        let mean = match law.size {
            Size::Packets(packets) => f64::from(packets.get()),
            Size::Bytes(size) => size.get() as f64 / f64::from(bytes),
        };
        Self {
            tcp: tcp.clone(),
            law: law.clone(),
            mean,
            sizes: seed.stream("size"),
            thinks: seed.stream("think"),
            size: 0,
            began: Time::ZERO,
            state: State::Over,
            completions: Vec::new(),
        }
    }

    /// Begins a transfer; its size in segments.
    pub(super) fn begin(&mut self, now: Time) -> u32 {
        let random = &mut self.sizes;
        let size = match self.law.sizes {
            Sizes::Fixed => self.mean,
            Sizes::Exponential => draw::exponential(random, self.mean),
            Sizes::Pareto { shape } => draw::pareto(random, self.mean, shape),
            Sizes::Lognormal { sigma } => draw::lognormal(random, self.mean, sigma),
        };
        self.size = libm::ceil(size).clamp(1.0, MOST) as u32;
        self.began = now;
        self.state = State::UnderWay;
        self.size
    }

    /// Segments of the transfer that is under way or was the last.
    pub(super) fn size(&self) -> u32 {
        self.size
    }

    /// The receiver has the first `segments` segments.
    pub(super) fn received(&mut self, now: Time, segments: u32) {
        if self.state == State::UnderWay && segments >= self.size {
            self.state = State::Arrived;
            self.completions.push((now - self.began).as_nanos());
        }
    }

    /// The sender knows that the receiver has the first `segments` segments. When the transfer is over by that: the pause
    /// until the next one, if there is one.
    pub(super) fn acknowledged(&mut self, segments: u32) -> Option<Duration> {
        if self.state != State::Arrived || segments < self.size {
            return None;
        }
        self.state = State::Over;
        let think = self.law.think?.as_nanos() as f64;
        Some(draw::nanos(draw::exponential(&mut self.thinks, think)))
    }

    /// Forgets what was completed: the measurement begins.
    pub(super) fn begin_measurement(&mut self) {
        self.completions.clear();
    }

    /// How long each transfer took that was completed since the measurement began, in nanoseconds.
    pub(super) fn completions(&self) -> &[u64] {
        &self.completions
    }
}
