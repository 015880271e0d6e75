//! The events at a link between nodes.

use fairlane_qdisc::{Duration, Time};

use crate::schedule::Ports;
use crate::schedule::event_key::{FirstArrival, Target, event_key, start_key};
use crate::schedule::tournament::NEVER;

/// An event at a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LinkEvent {
    /// The transmission has ended.
    Free,
    /// The discipline may release a packet that it held back.
    Release,
    /// A packet arrives.
    Arrival,
}

/// The events at a link between nodes, without the arrivals at its [port](crate::schedule::port::Port).
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkEvents {
    /// The least time from an event here to its effect elsewhere. Events wait that long, and are then handled together:
    /// the link is processed lazily. Zero for a link whose events are handled in event order.
    pub(crate) lookahead: Duration,
    /// When the transmission ends; [`Time::MAX`] without one.
    pub(crate) free: Time,
    /// When the discipline may release a packet that it held back; [`Time::MAX`] if it holds none back.
    pub(crate) release: Time,
    /// A time before which there is no event.
    pub(crate) next: Time,
}

impl LinkEvents {
    /// Returns no events.
    pub(crate) const fn new(lookahead: Duration) -> Self {
        Self { lookahead, free: Time::MAX, release: Time::MAX, next: Time::MAX }
    }

    /// Returns the next event before `until`, with its time, where the next packet arrives at `arrival`. It is removed,
    /// but for that packet. Of events of the same time, the link becomes free first, then its discipline releases a
    /// packet, then packets arrive.
    #[inline(always)]
    pub(crate) fn next_before(&mut self, until: Time, arrival: Time) -> Option<(Time, LinkEvent)> {
        let own = self.free.min(self.release);
        let at = own.min(arrival);
        self.next = at;
        if at >= until {
            return None;
        }
        if arrival < own {
            return Some((at, LinkEvent::Arrival));
        }
        if self.free == own {
            self.free = Time::MAX;
            return Some((at, LinkEvent::Free));
        }
        self.release = Time::MAX;
        Some((at, LinkEvent::Release))
    }

    /// Notes the time of the next event, and returns the key by which `link`, whose next arrival has this tag, is
    /// ordered among all events: that of its next event, or, if it is processed lazily, the time at which the effects
    /// of its events are needed. While it sends, arrivals have no effect.
    pub(crate) fn key(&mut self, link: u32, first: FirstArrival, tag: u32) -> u128 {
        let own = u128::from(Ports::tag_of_link(link));
        self.next = self.free.min(self.release).min(first.at);
        if self.lookahead == Duration::ZERO {
            let at_link = |at: Time, target| if at < Time::MAX { event_key(at, target) | own } else { NEVER };
            let free = at_link(self.free, Target::LinkFree(link));
            let release = at_link(self.release, Target::Release(link));
            return free.min(release).min(if first.at < Time::MAX { first.key() | u128::from(tag) } else { NEVER });
        }
        let next = if self.free < Time::MAX { self.free } else { self.next };
        if next < Time::MAX { start_key(next + self.lookahead) | own } else { NEVER }
    }
}
