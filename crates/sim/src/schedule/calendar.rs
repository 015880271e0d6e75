//! Packets that arrive out of order.

use crate::packet::Packet;
use crate::schedule::event_key::FirstArrival;
use crate::schedule::timing_wheel::TimingWheel;
use crate::schedule::upcoming::{FAR, Upcoming};

/// The calendar has one packet for about so many events: then its slots are long enough for a few packets.
const PACKETS: f64 = 16.0;

/// A timing wheel of packets. Of packets of a flow that arrive at the same time the first one sent comes first.
#[derive(Debug, Default)]
pub(crate) struct Calendar {
    /// `None` until a packet has come: most destinations need none.
    wheel: Option<Box<TimingWheel<Packet>>>,
    packets: usize,
    /// The packets so far, modulo 2^32.
    numbered: u32,
    events_per_second: f64,
}

impl Calendar {
    /// Returns an empty calendar. `events_per_second` affects the speed and nothing else.
    pub(crate) const fn new(events_per_second: f64) -> Self {
        Self { wheel: None, packets: 0, numbered: 0, events_per_second }
    }

    /// Adds `packet`; returns true if the [bound](Self::bound) is earlier now.
    pub(crate) fn push(&mut self, packet: &Packet) -> bool {
        let wheel = self.wheel.get_or_insert_with(|| Box::new(TimingWheel::new(self.events_per_second / PACKETS)));
        let before = wheel.bound();
        wheel.push(FirstArrival::of(packet, 0).key() | u128::from(self.numbered), *packet);
        self.numbered = self.numbered.wrapping_add(1);
        self.packets += 1;
        wheel.bound() < before
    }

    /// Returns an arrival that no packet comes before: the first one, or one of no packet. [`front`](Self::front) tells
    /// which.
    pub(crate) fn bound(&self, place: u32) -> FirstArrival {
        self.wheel.as_ref().map_or(FirstArrival::NONE, |wheel| FirstArrival::decode(wheel.bound(), place))
    }

    /// Returns the packet whose arrival is the [bound](Self::bound). If it is that of no packet, finds a later bound
    /// and returns `None`.
    pub(crate) fn front(&mut self) -> Option<&Packet> {
        self.wheel.as_mut()?.front()
    }

    /// Removes the packet whose arrival is the [bound](Self::bound).
    pub(crate) fn remove_first(&mut self) {
        if let Some(wheel) = &mut self.wheel {
            self.packets -= usize::from(wheel.pop().is_some());
        }
    }

    /// Returns the number of packets.
    pub(crate) const fn len(&self) -> usize {
        self.packets
    }
}

impl Upcoming for Calendar {
    fn announce(&mut self, each: &mut dyn FnMut(&Packet)) {
        if let Some(wheel) = &mut self.wheel {
            wheel.announce(FAR, &mut |_, packet| each(packet));
        }
    }

    fn near(&self) -> Option<&Packet> {
        None
    }
}
