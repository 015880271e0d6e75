//! The kinds of events, and their order. Events of the same time come by their kind and then by the number of their link or
//! flow, never by the order in which they were scheduled: so the order does not depend on what else is being simulated. At each time the
//! numbers are [turned](turn): flows of equal paths meet at the same nanosecond again and again, and none may always come first.

use fairlane_qdisc::Time;

/// The kind of an event, and the number of the link, flow or shaper that handles it. At the same time a link becomes free before packets
/// arrive, and packets arrive before timers fire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// This link has finished a transmission.
    LinkFree(u32),
    /// This link's discipline may release a packet that it held back.
    Release(u32),
    /// The next packet on this link, which reorders packets, reaches the far end.
    ReorderedArrival(u32),
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
            Self::ReorderedArrival(index) => (3, index),
            Self::RateControl(index) => (4, index),
            Self::Source(index) => (5, index),
            Self::SenderTimer(index) => (6, index),
            Self::ReceiverTimer(index) => (7, index),
        };
        kind << INDEX_BITS | index
    }

    /// Returns the target of an event with this key.
    pub(crate) const fn decode(key: u128) -> Self {
        let code = (key >> 32) as u32;
        let index = (code ^ turn(time_of(key))) & (TARGETS as u32 - 1);
        match code >> INDEX_BITS {
            0 => Self::LinkFree(index),
            1 => Self::Release(index),
            3 => Self::ReorderedArrival(index),
            4 => Self::RateControl(index),
            5 => Self::Source(index),
            6 => Self::SenderTimer(index),
            _ => Self::ReceiverTimer(index),
        }
    }
}

/// Returns the key by which an event is ordered: its time, what it is, and 32 bits that are 0.
pub(crate) const fn event_key(at: Time, target: Target) -> u128 {
    (at.as_nanos() as u128) << 64 | ((target.encode() ^ turn(at)) as u128) << 32
}

/// Returns the key by which the arrival of a packet of `flow` is ordered.
pub(crate) const fn arrival_key(at: Time, flow: u32) -> u128 {
    (at.as_nanos() as u128) << 64 | ((2 << INDEX_BITS | (flow ^ turn(at))) as u128) << 32
}

/// Returns a key that comes before all events and arrivals of a time.
pub(crate) const fn start_key(at: Time) -> u128 {
    (at.as_nanos() as u128) << 64
}

/// Returns the bits that are inverted in the numbers of links and flows to order them at this time: the upper bits of its product with
/// 2^64 over the golden ratio (Knuth 1998, section 6.4). Of two numbers either is the smaller one at half of all times.
#[inline]
pub(crate) const fn turn(at: Time) -> u32 {
    let product = at.as_nanos().wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let low = (product >> (u64::BITS - LOW_BITS)) as u32;
    let high = (product >> (u64::BITS - INDEX_BITS)) as u32;
    low | high << LOW_BITS & (TARGETS as u32 - 1)
}

/// Returns the time of an event with this key.
pub(crate) const fn time_of(key: u128) -> Time {
    Time::from_nanos((key >> 64) as u64)
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
            Target::ReorderedArrival(last),
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

    /// Packets of a link of 20 Mbit/s meet at multiples of their time on it. Would catch flows that come first at more than half of these times.
    #[test]
    fn no_flow_is_always_first() {
        for (a, b) in [(0, 1), (3, 7), (0, 299), (255, 256)] {
            let times = (0..10_000).map(|packet| Time::from_nanos(packet * 400_000));
            let first = times.filter(|at| arrival_key(*at, a) < arrival_key(*at, b)).count();
            assert!((4_900..5_100).contains(&first), "{a} comes before {b} {first} times");
        }
    }
}
