//! One direction of a link: a queue and a transmitter.

use fairlane_qdisc::discipline::droptail::{Config, Drop};
use fairlane_qdisc::{AnyConfig, BoxQdisc, Duration, Qdisc, Rate, Size, Time};
use fairlane_scenario::{LinkSide, Policer};
use fairlane_traffic::{Impairments, TransmissionTime};

use crate::measure::queue_meter::{FlowRanges, Meter};
use crate::network::droptail_link::DroptailLink;
use crate::network::policer::Policing;
use crate::network::shaper::ShapedPart;
use crate::packet::Packet;
use crate::schedule::timer::Timer;

/// One direction of a link. Each flow has its own four, so similar links share their parameters in a [`Medium`].
#[derive(Debug)]
pub(crate) struct Link {
    /// The index of its medium in [`Topology::media`](crate::network::topology::Topology).
    pub(crate) medium: u32,
    /// See [`TransmissionTime::next`].
    pub(crate) carry: u64,
    pub(crate) queue: LinkQueue,
}

/// The properties that similar links share.
#[derive(Clone, Debug)]
pub(crate) struct Medium {
    pub(crate) transmission: TransmissionTime,
    pub(crate) delay: Duration,
    /// The class of the links that packets cross last before something happens to them; `None` if they cross another
    /// one first. Where packets take the same time, the class is the same.
    pub(crate) class: Option<u32>,
    /// The packets that these links carry, if they are hosts' links. Where the packets, the rate and the delay agree,
    /// so do the times that packets take.
    pub(crate) carries: Option<Carries>,
    /// The limit of a [`LinkQueue::Droptail`] in packets, without the one in transmission.
    pub(crate) limit: usize,
}

/// The packets of a host's link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Carries {
    /// The host is where data go to, not where they come from.
    pub(crate) sink: bool,
    /// True for data, false for acknowledgements.
    pub(crate) data: bool,
    /// The size of each, if that is known.
    pub(crate) bytes: Option<u32>,
}

impl Medium {
    /// Returns true if packets take the same time on the links of both.
    pub(crate) fn is_alike(&self, other: &Self) -> bool {
        let Some((here, there)) = self.carries.zip(other.carries) else { return false };
        (here.sink, here.data) == (there.sink, there.data)
            && (here.bytes == there.bytes || here.bytes.is_none() || there.bytes.is_none())
            && (self.transmission.rate(), self.delay) == (other.transmission.rate(), other.delay)
    }
}

/// The queue before the transmitter.
#[derive(Debug)]
pub(crate) enum LinkQueue {
    /// A FIFO that drops from the tail.
    Droptail(DroptailLink),
    /// A discipline.
    Managed(Box<Managed>),
}

/// A discipline and the state of its transmitter.
pub(crate) struct Managed {
    pub(crate) kind: &'static str,
    pub(crate) discipline: BoxQdisc<Packet>,
    /// The discipline is not the scenario's but the caller's.
    pub(crate) custom: bool,
    /// The transmitter is sending.
    pub(crate) busy: bool,
    /// The time at which a discipline that holds packets back is asked again.
    pub(crate) release: Timer,
    /// The counts of this queue; `None` at host links and where only acknowledgements pass.
    pub(crate) meter: Option<Meter>,
    pub(crate) impairments: Option<Impairments>,
    /// The policer in front of the discipline; `None` for links without one.
    pub(crate) policing: Option<Box<Policing>>,
    /// The part of a link with a shaper; `None` for links without one.
    pub(crate) part: Option<ShapedPart>,
    /// The link has impairments or a shaper.
    pub(crate) is_special: bool,
}

impl std::fmt::Debug for Managed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Managed").field("kind", &self.kind).field("busy", &self.busy).finish_non_exhaustive()
    }
}

impl Managed {
    /// Returns `discipline`, named `kind` in outcomes, before a transmitter that is free. With `metered` the packets of
    /// those flows are counted.
    pub(crate) fn new(
        (kind, discipline): (&'static str, BoxQdisc<Packet>),
        custom: bool,
        metered: Option<&FlowRanges>,
        impairments: Option<Impairments>,
        policer: Option<Policer>,
    ) -> Self {
        let meter = metered.map(|ranges| Meter::new(ranges.iter().cloned()));
        let is_special = impairments.is_some();
        Self {
            kind,
            discipline,
            custom,
            busy: false,
            release: Timer::off(),
            meter,
            impairments,
            policing: policer.map(|policer| Box::new(Policing::new(policer))),
            part: None,
            is_special,
        }
    }
}

impl Link {
    pub(crate) const fn new(medium: u32, queue: LinkQueue) -> Self {
        Self { medium, carry: 0, queue }
    }

    /// Takes a packet of `bytes` bytes at `now` to a droptail link of `medium`, and returns when its transmission
    /// begins and ends; `None` if it is dropped.
    #[inline(always)]
    pub(crate) fn take(&mut self, medium: &mut Medium, now: Time, bytes: u32) -> Option<(Time, Time)> {
        match &mut self.queue {
            LinkQueue::Droptail(droptail) if droptail.is_idle(now) => {
                let end = now + medium.transmission.next(&mut self.carry, bytes);
                droptail.send_until(end);
                Some((now, end))
            }
            _ => self.take_behind_others(medium, now, bytes),
        }
    }

    #[inline(never)]
    fn take_behind_others(&mut self, medium: &mut Medium, now: Time, bytes: u32) -> Option<(Time, Time)> {
        let LinkQueue::Droptail(droptail) = &mut self.queue else { return None };
        droptail.take((now, bytes), medium.limit, &mut medium.transmission, &mut self.carry)
    }

    /// Returns the link's loss, jitter and rate steps; only links with a [`Managed`] queue have them.
    pub(crate) fn impairments(&self) -> Option<&Impairments> {
        match &self.queue {
            LinkQueue::Managed(managed) => managed.impairments.as_ref(),
            LinkQueue::Droptail(_) => None,
        }
    }

    /// Prepares for another rate than that of `transmission`.
    pub(crate) fn before_change(&mut self, now: Time, transmission: &TransmissionTime) {
        if let LinkQueue::Droptail(droptail) = &mut self.queue {
            droptail.before_change(now, transmission, self.carry);
        }
    }

    /// Tells the discipline the rate of the link, which has changed.
    pub(crate) fn follow_rate(&mut self, rate: Rate) {
        // The fraction of a nanosecond that is carried over is in units of the rate before.
        self.carry = 0;
        if let LinkQueue::Managed(managed) = &mut self.queue {
            managed.discipline.link_rate(rate);
        }
    }
}

impl Medium {
    /// Returns the medium of `side`; `limit` is that of its droptail queue.
    pub(crate) const fn new(side: &LinkSide, limit: usize) -> Self {
        Self { transmission: TransmissionTime::new(side.rate), delay: side.delay, class: None, carries: None, limit }
    }
}

/// Returns the limit of a FIFO that drops from the tail and holds at least one packet; `None` for all other
/// disciplines.
pub(crate) const fn droptail_limit(config: &AnyConfig) -> Option<usize> {
    match config {
        AnyConfig::DropTail(Config { limit: Size::Packets(limit), drop: Drop::Tail }) if limit.get() > 0 => {
            Some(limit.get() as usize)
        }
        _ => None,
    }
}
