//! The total order of events: time, then kind, then a hash of the link or flow.
//!
//! But for packets of a flow that arrive at one place at the same time, the order never depends on which event was
//! scheduled first, so it is the same however a run is divided. At each time another [tie-break](tie_break) hash
//! decides: flows of equal paths meet at the same nanosecond again and again, and none may always come first.

use std::cmp::Ordering;

use fairlane_qdisc::Time;

use crate::packet::Packet;

/// The kind of an event, and the number of the link, flow or shaper that handles it. At the same time a link becomes
/// free before packets arrive, and packets arrive before timers fire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// This link has finished a transmission.
    LinkFree(u32),
    /// This link's discipline may release a packet that it held back.
    Release(u32),
    /// The controller of this shaper observes the traffic and sends its next probe.
    RateControl(u32),
    /// This flow's source starts, stops or sends its next packet.
    Source(u32),
    /// A timer of this flow's sender may be due.
    SenderTimer(u32),
    /// The timer of this flow's receiver may be due.
    ReceiverTimer(u32),
}

/// The bits for the number of a link or flow.
const INDEX_BITS: u32 = 29;

/// The lower bits of a number that are inverted first of all; scenarios rarely need more.
const LOW_BITS: u32 = 25;

/// The largest number of links, and of flows, that a target can address.
pub(crate) const TARGETS: usize = 1 << INDEX_BITS;

impl Target {
    const fn encode(self) -> u32 {
        let (kind, index) = match self {
            Self::LinkFree(index) => (0, index),
            Self::Release(index) => (1, index),
            // 2 is the arrival of a packet.
            Self::RateControl(index) => (3, index),
            Self::Source(index) => (4, index),
            Self::SenderTimer(index) => (5, index),
            Self::ReceiverTimer(index) => (6, index),
        };
        kind << INDEX_BITS | index
    }

    /// Returns the target of an event with this key.
    pub(crate) const fn decode(key: u128) -> Self {
        let code = (key >> 32) as u32;
        let index = (code ^ tie_break(time_of(key))) & (TARGETS as u32 - 1);
        match code >> INDEX_BITS {
            0 => Self::LinkFree(index),
            1 => Self::Release(index),
            3 => Self::RateControl(index),
            4 => Self::Source(index),
            5 => Self::SenderTimer(index),
            _ => Self::ReceiverTimer(index),
        }
    }
}

/// Returns the key by which an event is ordered: its time, what it is, and 32 bits that are 0.
pub(crate) const fn event_key(at: Time, target: Target) -> u128 {
    (at.as_nanos() as u128) << 64 | ((target.encode() ^ tie_break(at)) as u128) << 32
}

/// Returns the key by which the arrival of a packet of `flow` is ordered.
pub(crate) const fn arrival_key(at: Time, flow: u32) -> u128 {
    (at.as_nanos() as u128) << 64 | ((2 << INDEX_BITS | (flow ^ tie_break(at))) as u128) << 32
}

/// Returns a key that comes before all events and arrivals of a time.
pub(crate) const fn start_key(at: Time) -> u128 {
    (at.as_nanos() as u128) << 64
}

/// Returns the bits that are inverted in the numbers of links and flows to order them at this time: the upper bits of
/// its product with 2^64 over the golden ratio (Knuth 1998, section 6.4). Of two numbers, each is the smaller one at
/// half of all times.
#[inline]
pub(crate) const fn tie_break(at: Time) -> u32 {
    let product = at.as_nanos().wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let low = (product >> (u64::BITS - LOW_BITS)) as u32;
    let high = (product >> (u64::BITS - INDEX_BITS)) as u32;
    low | high << LOW_BITS & (TARGETS as u32 - 1)
}

/// Returns the time of an event with this key.
pub(crate) const fn time_of(key: u128) -> Time {
    Time::from_nanos((key >> 64) as u64)
}

/// Compares packets by what orders their arrivals.
pub(crate) fn arrival_order(a: &Packet, b: &Packet) -> Ordering {
    a.at.cmp(&b.at).then_with(|| (a.flow ^ tie_break(a.at)).cmp(&(b.flow ^ tie_break(b.at))))
}

/// The next arrival at one of several places, such as delay lines. It is two words, so that it stays in registers: to
/// read 16 bytes at once that have just been written in parts stalls the processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FirstArrival {
    pub(crate) at: Time,
    /// The number of the flow, and in the lower half that of the place.
    tag: u64,
}

impl FirstArrival {
    /// No packet.
    pub(crate) const NONE: Self = Self { at: Time::MAX, tag: 0 };

    /// Returns the arrival of `packet`, which is at this place.
    #[inline(always)]
    pub(crate) const fn of(packet: &Packet, place: u32) -> Self {
        Self { at: packet.at, tag: (packet.flow as u64) << 32 | place as u64 }
    }

    /// Returns the arrival with this key.
    pub(crate) const fn decode(key: u128, place: u32) -> Self {
        let at = time_of(key);
        let flow = ((key >> 32) as u32 ^ tie_break(at)) & (TARGETS as u32 - 1);
        Self { at, tag: (flow as u64) << 32 | place as u64 }
    }

    /// Returns the place.
    #[inline(always)]
    pub(crate) const fn place(&self) -> u32 {
        self.tag as u32
    }

    /// Returns the key of this arrival.
    pub(crate) const fn key(&self) -> u128 {
        arrival_key(self.at, (self.tag >> 32) as u32)
    }

    /// Returns true if this packet arrives before the other one. Of packets of a flow that arrive at the same time,
    /// that of the lower place comes first.
    #[inline(always)]
    pub(crate) fn comes_before(&self, other: &Self) -> bool {
        self.at < other.at || (self.at == other.at && self.wins_tie(other))
    }

    #[inline(never)]
    fn wins_tie(&self, other: &Self) -> bool {
        let hash = (tie_break(self.at) as u64) << 32;
        self.tag ^ hash < other.tag ^ hash
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Would catch bits of a number that spill into the kind, and kinds that come in another order than is promised.
    #[test]
    fn kinds_come_in_their_order() {
        let last = TARGETS as u32 - 1;
        let targets = [
            Target::LinkFree(last),
            Target::Release(0),
            Target::RateControl(3),
            Target::Source(7),
            Target::SenderTimer(last),
            Target::ReceiverTimer(1),
        ];
        let at = Time::from_nanos(u64::MAX);
        let keys: Vec<u128> = targets.iter().map(|target| event_key(at, *target)).collect();
        assert!(keys.is_sorted());
        assert!(
            (keys[1]..keys[2]).contains(&arrival_key(at, 0)) && (keys[1]..keys[2]).contains(&arrival_key(at, last))
        );
        assert!(keys.iter().zip(targets).all(|(key, target)| Target::decode(*key) == target && time_of(*key) == at));
    }

    /// Packets of a link of 20 Mbit/s meet at multiples of their time on it. Would catch flows that come first at more
    /// than half of these times.
    #[test]
    fn no_flow_is_always_first() {
        for (a, b) in [(0, 1), (3, 7), (0, 299), (255, 256)] {
            let times = (0..10_000).map(|packet| Time::from_nanos(packet * 400_000));
            let first = times.filter(|at| arrival_key(*at, a) < arrival_key(*at, b)).count();
            assert!((4_900..5_100).contains(&first), "{a} comes before {b} {first} times");
        }
    }
}
