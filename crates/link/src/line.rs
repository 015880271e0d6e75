//! The way of packets behind the queue of a bottleneck.

use fairlane_qdisc::{Duration, LinkClock, Rate, Seed, Time};

use crate::{Config, Propagation};

/// The transmitter of a [`Bottleneck`](crate::Bottleneck) and its way to the far end, and what stands in front of the
/// queue. Times are the caller's.
pub trait Line {
    /// Returns `false` if a packet of `bytes` bytes that arrives at `now` is dropped before the queue, as by a policer.
    fn admits(&mut self, _now: Time, _bytes: u32) -> bool {
        true
    }

    /// Returns when the transmitter, which is free, may take a packet, if that is not now. A time that is not later
    /// than `now` is now. `queued` is true if a packet waits.
    fn hold(&mut self, _now: Time, _queued: bool) -> Option<Time> {
        None
    }

    /// Returns the limits of frames, if packets are sent in frames of several.
    fn frame(&self) -> Option<FrameLimits> {
        None
    }

    /// Returns the end of the transmission of a packet of `bytes` bytes that begins at `now`: `now` if it is earlier.
    fn finish(&mut self, now: Time, bytes: u32) -> Time;

    /// Returns the arrival at the far end of a packet whose transmission ended at `sent`; `None` if it is lost.
    fn arrival(&mut self, sent: Time) -> Option<Time>;
}

/// The limits of a frame of several packets, all of which arrive with its last bit. A frame has one packet at least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameLimits {
    /// The most packets.
    pub packets: u32,
    /// A frame whose packets take this time or more at `rate` takes no further packet; `None`: no limit.
    pub time: Option<Duration>,
    /// The rate for the time of a frame.
    pub rate: Rate,
}

/// A line of constant rate and delay, with the losses and the jitter of a [`Config`].
#[derive(Debug)]
pub struct ConstantLine {
    clock: LinkClock,
    delay: Duration,
    propagation: Propagation,
}

impl ConstantLine {
    pub(crate) fn new(config: &Config, seed: Seed) -> Self {
        let Config { rate, delay, jitter, reorder, loss } = *config;
        Self { clock: LinkClock::new(rate), delay, propagation: Propagation::new(loss, jitter, reorder, seed) }
    }
}

impl Line for ConstantLine {
    fn finish(&mut self, now: Time, bytes: u32) -> Time {
        self.clock.wake(now);
        self.clock.advance(bytes);
        self.clock.next()
    }

    fn arrival(&mut self, sent: Time) -> Option<Time> {
        self.propagation.arrival(sent, self.delay)
    }
}
