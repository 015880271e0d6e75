//! BLUE: adjusts the probability of a signal to packet losses and link idle time, not to the queue's length.
//!
//! A packet that finds the queue full shows that senders receive too few signals: the probability rises. A link that
//! finds the queue empty shows that they receive too many: it falls. Changes are at least a freeze time apart, so that
//! the effect of one on the senders is visible before the next.
//!
//! **Source.** Feng, Shin, Kandlur, Saha, "The BLUE Active Queue Management Algorithms", IEEE/ACM ToN 10(4), 2002,
//! figure 3 with its variation; first published as CSE-TR-387-99 in 1999.
//!
//! **Deviations.** The first event changes the probability at any time: no freeze time precedes it. The figure does not
//! cover a link that stays idle: here the probability goes on falling, once a freeze time, or falls once (`idle`). With
//! `jitter` a new freeze time is drawn at each change of the probability; the changes that one event makes up for after
//! an idle time use the same draw. A packet that finds no room counts as a loss and is not tested for a signal.
//!
//! **Cost.** One random number a packet; one division when the queue ends an idle time longer than the freeze time.

use crate::error::check;
use crate::queue::buffer::Buffer;
use crate::{
    Counters, DropSink, Duration, Fate, Packet, ParameterError, Qdisc, Reason, Seed, Size, Status, Stream, Time,
};

/// The configuration of [`Blue`].
///
/// The steps and the freeze time default to the paper's configuration B4 (table II).
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct Config {
    /// The most that the queue holds, in packets or bytes. Default: 300 packets, the buffer of the CHOKe paper (section
    /// III).
    pub limit: Size,
    /// The step by which a loss raises the probability of a signal (delta_1), above 0 and at most 1. Default: 0.02, the
    /// paper's B4.
    pub increment: f64,
    /// The step by which an idle link lowers the probability (delta_2), above 0 and at most 1. Default: 0.002, the
    /// paper's B4.
    pub decrement: f64,
    /// The least time between two changes of the probability, about a round trip; above 0. Default: 100 ms, the paper's
    /// B4.
    pub freeze: Duration,
    /// Draws each freeze time from half to one and a half of `freeze`, which keeps routers from synchronising. Default:
    /// `false`, as the paper's experiments.
    pub jitter: bool,
    /// The queue length above which each packet that is queued counts as a loss (L in the paper's variation), in
    /// packets or bytes. Default: `None`, the paper's basic algorithm: only the limit causes losses.
    pub trigger: Option<Size>,
    /// The times at which an idle link lowers the probability. Default: [`IdleDecrement::Repeated`].
    pub idle: IdleDecrement,
    /// Marks packets that can be marked instead of dropping them; the limit always drops. Default: `false`.
    pub ecn: bool,
}

/// The times at which an idle link lowers the probability.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum IdleDecrement {
    /// When the idle time begins, and again each time a freeze time has passed.
    #[default]
    Repeated,
    /// Once, when the idle time begins.
    Once,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            limit: Size::packets(300),
            increment: 0.02,
            decrement: 0.002,
            freeze: Duration::from_millis(100),
            jitter: false,
            trigger: None,
            idle: IdleDecrement::default(),
            ecn: false,
        }
    }
}

impl Config {
    fn validate(&self) -> Result<(), ParameterError> {
        check::size("limit", self.limit)?;
        check::ratio("increment", self.increment)?;
        check::ratio("decrement", self.decrement)?;
        check::duration("freeze", self.freeze)?;
        self.trigger.map_or(Ok(()), |length| check::size("trigger", length))
    }
}

/// BLUE over a FIFO.
#[derive(Debug)]
pub struct Blue<P> {
    buffer: Buffer<P>,
    config: Config,
    /// The probability of a signal (p_m).
    probability: f64,
    /// The earliest time of the next change of the probability.
    frozen_until: Time,
    /// Set when the link found the queue empty; cleared when a packet is queued.
    idle: bool,
    rolls: Stream,
    freezes: Stream,
}

impl<P: Packet> Blue<P> {
    /// Creates an empty queue.
    ///
    /// # Errors
    /// A value of `config` is out of its range.
    pub fn new(config: Config, seed: Seed) -> Result<Self, ParameterError> {
        config.validate()?;
        Ok(Self {
            buffer: Buffer::new(config.limit),
            config,
            probability: 0.0,
            frozen_until: Time::ZERO,
            idle: false,
            rolls: seed.stream("blue"),
            freezes: seed.stream("freeze"),
        })
    }

    /// Returns the next freeze time; never 0.
    fn draw_freeze(&mut self) -> Duration {
        let freeze = self.config.freeze;
        if !self.config.jitter {
            return freeze;
        }
        // A cast saturates.
        let drawn = (freeze.as_nanos() as f64 * (0.5 + self.freezes.unit())) as u64;
        Duration::from_nanos(drawn.max(1))
    }

    /// Begins a freeze time at `now`, when the probability has changed. The next change must come strictly after its
    /// end.
    fn freeze_from(&mut self, now: Time) {
        self.frozen_until = now + self.draw_freeze() + Duration::from_nanos(1);
    }

    /// Raises the probability for a lost packet, or for a queue above `trigger`.
    fn lose(&mut self, now: Time) {
        if now >= self.frozen_until {
            self.probability = (self.probability + self.config.increment).min(1.0);
            self.freeze_from(now);
        }
    }

    /// Notes that the link found the queue empty at `now`, and lowers the probability if that is due.
    fn starve(&mut self, now: Time) {
        if self.idle {
            self.make_up(now);
        } else {
            self.idle = true;
            if now >= self.frozen_until {
                self.lower(1);
                self.freeze_from(now);
            }
        }
    }

    /// Applies the decrements that fell due while the link was idle: one after each freeze time.
    fn make_up(&mut self, now: Time) {
        if !self.idle || self.config.idle == IdleDecrement::Once || now < self.frozen_until {
            return;
        }
        let freeze = self.draw_freeze();
        let further = now.since(self.frozen_until).as_nanos() / freeze.as_nanos();
        self.lower(1 + further);
        self.frozen_until = self.frozen_until + Duration::from_nanos(further * freeze.as_nanos()) + freeze;
    }

    /// Lowers the probability by `times` decrements.
    fn lower(&mut self, times: u64) {
        self.probability = (self.probability - times as f64 * self.config.decrement).max(0.0);
    }

    /// Tells whether the queue is longer than `trigger`.
    fn is_long(&self) -> bool {
        match self.config.trigger {
            None => false,
            Some(Size::Packets(packets)) => self.buffer.fifo.packets() > packets.get() as usize,
            Some(Size::Bytes(bytes)) => self.buffer.fifo.bytes() > bytes.get(),
        }
    }
}

impl<P: Packet> Qdisc<P> for Blue<P> {
    fn enqueue(&mut self, now: Time, packet: P, sink: &mut dyn DropSink<P>) -> Fate {
        self.buffer.arrive(&packet);
        self.make_up(now);
        if self.buffer.overflows(packet.bytes()) {
            self.lose(now);
            return self.buffer.discard(now, packet, Reason::Limit, sink);
        }
        let signal = self.rolls.chance(self.probability).then_some(Reason::Early);
        if let Some(reason) = signal
            && !(self.config.ecn && packet.ecn_capable())
        {
            return self.buffer.discard(now, packet, reason, sink);
        }
        let fate = match signal {
            None => {
                self.buffer.fifo.push(packet);
                Fate::Queued
            }
            Some(reason) => self.buffer.push_marked(now, packet, reason, sink),
        };
        self.idle = false;
        if self.is_long() {
            self.lose(now);
        }
        fate
    }

    fn dequeue(&mut self, now: Time, _sink: &mut dyn DropSink<P>) -> Option<P> {
        let packet = self.buffer.depart();
        if packet.is_none() {
            self.starve(now);
        }
        packet
    }

    fn status(&self) -> Status {
        Status { probability: Some(self.probability), ..self.buffer.status() }
    }

    fn counters(&self) -> &Counters {
        &self.buffer.counters
    }
}

#[cfg(test)]
mod tests;
