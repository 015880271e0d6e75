//! Loss, jitter and rate changes of a link.

use fairlane_link::Propagation;
use fairlane_qdisc::{Duration, Rate, Seed, Time};
use fairlane_scenario::{Aggregation, LinkSide, Loss, Steps};

use crate::frames::Frames;
use crate::opportunities::Opportunities;
use crate::varying_rate::VaryingRate;

/// Loss, jitter and a rate that varies. Links without any of these have no `Impairments`.
#[derive(Debug)]
pub struct Impairments {
    propagation: Propagation,
    /// The probability of a loss by time; `None` if it is constant.
    losses: Option<Steps<f64>>,
    /// The delay by time; `None` if it is constant.
    delays: Option<Steps<Duration>>,
    /// The latest arrival so far, where the delay varies and packets do not overtake each other.
    latest: Time,
    rates: Option<VaryingRate>,
    /// The moments of delivery; `None` on links that send at a rate.
    opportunities: Option<Opportunities>,
    /// The frames of several packets; `None` on links that send them one by one.
    frames: Option<Frames>,
    reorders: bool,
}

impl Impairments {
    /// Returns the impairments of `side`; `None`, without calling `seed`, if it has none.
    #[must_use]
    pub fn new(side: &LinkSide, seed: impl FnOnce() -> Seed) -> Option<Self> {
        let wire = &side.wire;
        let constant = wire.rates.is_none() && wire.aggregation.is_none() && wire.delays.is_none();
        if wire.loss.is_none() && wire.jitter == Duration::ZERO && constant {
            return None;
        }
        let seed = seed();
        Some(Self {
            propagation: Propagation::new(wire.loss, wire.jitter, wire.reorder, seed),
            losses: wire.losses.clone(),
            delays: wire.delays.clone(),
            latest: Time::ZERO,
            rates: wire.rates.as_ref().map(VaryingRate::new),
            opportunities: wire.rates.as_ref().and_then(Opportunities::new),
            frames: wire.aggregation.map(Frames::new),
            reorders: wire.reorder,
        })
    }

    /// Returns when the link may begin to send, if that is not now. `queued` is true if a packet waits.
    #[inline]
    pub fn hold(&mut self, now: Time, queued: bool) -> Option<Time> {
        match &mut self.frames {
            Some(frames) => frames.hold(now, queued),
            None => self.opportunities.as_mut()?.hold(now, queued),
        }
    }

    /// Returns the end of the transmission of `bytes` bytes that begins at `now`.
    #[inline]
    pub fn finish(&mut self, now: Time, bytes: u32, transmission: impl FnOnce() -> Duration) -> Time {
        match (&mut self.opportunities, &mut self.rates) {
            (Some(opportunities), _) => opportunities.finish(now, bytes),
            (None, Some(rates)) => rates.finish(now, bytes),
            (None, None) => now + transmission(),
        }
    }

    /// Returns the arrival of a packet that was `sent` at this time; `None` if it is lost.
    #[inline]
    pub fn arrival(&mut self, sent: Time, delay: Duration) -> Option<Time> {
        let now = sent.since(Time::ZERO);
        if let Some(losses) = &self.losses {
            self.propagation.set_loss(Loss::independent(losses.at(now)));
        }
        let Some(delays) = &self.delays else { return self.propagation.arrival(sent, delay) };
        let arrival = self.propagation.arrival(sent, delays.at(now))?;
        if self.reorders {
            return Some(arrival);
        }
        self.latest = self.latest.max(arrival);
        Some(self.latest)
    }

    /// Returns the limits of the frames in which packets are sent; `None` if they are sent one by one.
    #[inline]
    #[must_use]
    pub fn frame(&self) -> Option<&Aggregation> {
        self.frames.as_ref().map(|frames| &frames.limits)
    }

    /// Returns true if packets may overtake each other.
    #[must_use]
    pub const fn reorders(&self) -> bool {
        self.reorders
    }

    /// Returns true if packets need the link's delay and a transmission time of a constant rate: all that may happen is
    /// loss.
    #[must_use]
    pub const fn only_lose(&self) -> bool {
        !self.propagation.has_jitter() && self.delays.is_none() && self.rates.is_none() && self.frames.is_none()
    }

    /// Returns the rate at `now`; `None` if it is constant.
    #[must_use]
    pub fn rate(&self, now: Time) -> Option<Rate> {
        self.rates.as_ref().map(|rates| rates.at(now))
    }

    /// Returns the mean rate in bit/s from `from` to `to`; `None` if the rate is constant or no time has passed.
    #[must_use]
    pub fn mean_rate(&self, from: Time, to: Time) -> Option<f64> {
        self.rates.as_ref()?.mean(from, to)
    }
}
