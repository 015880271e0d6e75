//! Virtual time, and the fluid server that WFQ imitates.

use alloc::vec::Vec;
use core::cmp::Ordering;

use crate::schedule::Schedule;
use crate::{Rate, Time};

/// The largest weight.
const MAX_WEIGHT: u32 = 4;

/// Units of virtual time that a byte takes at weight 1. Every weight from 1 to 4 divides it, so that tags are exact; the
/// power of 2 is room for the fluid server, whose virtual time stops anywhere.
const UNITS_PER_BYTE: u64 = 12 << 10;

/// Work that a link of 1 bit/s does in a nanosecond.
const WORK: u64 = 3;

/// Work that a unit of virtual time takes at weight 1. With [`WORK`] it makes everything a whole number: a byte takes
/// 8 * 10^9 bit/s * ns, which is UNITS_PER_BYTE * 5^9 / 3.
const WORK_PER_UNIT: u64 = 1_953_125;
const _: () = assert!(WORK * 8_000_000_000 == UNITS_PER_BYTE * WORK_PER_UNIT);

/// A moment of virtual time.
///
/// The count of units may wrap around: two tags are compared by their difference, which stays below 2^62, since no queue
/// holds more than 2^40 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tag(u64);

impl Tag {
    /// The moment `bytes` bytes later for a flow of `weight`, 1 to [`MAX_WEIGHT`].
    pub(super) const fn after(self, bytes: u32, weight: u32) -> Self {
        Self(self.0.wrapping_add(bytes as u64 * PER_WEIGHT[weight as usize % PER_WEIGHT.len()]))
    }

    /// Units from `earlier` to this; 0 when it is not later.
    const fn since(self, earlier: Self) -> u64 {
        let units = self.0.wrapping_sub(earlier.0);
        if units as i64 > 0 { units } else { 0 }
    }
}

impl Ord for Tag {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.0.wrapping_sub(other.0) as i64).cmp(&0)
    }
}

impl PartialOrd for Tag {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Units per byte by weight, so that no packet costs a division.
const PER_WEIGHT: [u64; MAX_WEIGHT as usize + 1] = {
    let mut table = [UNITS_PER_BYTE; MAX_WEIGHT as usize + 1];
    let mut weight = 1;
    while weight < table.len() {
        table[weight] = UNITS_PER_BYTE / weight as u64;
        weight += 1;
    }
    table
};

/// The fluid server: all backlogged flows are served at once, each at its weight's share of the link (GPS).
///
/// It is tracked exactly: all is counted in whole numbers, and work that makes no whole unit is carried on.
#[derive(Debug)]
pub(super) struct Fluid {
    /// When each backlogged flow will have been served, in virtual time.
    ends: Schedule<Tag>,
    /// The weight of each flow.
    weights: Vec<u32>,
    /// Work that a unit of virtual time takes now: that of all backlogged flows together.
    unit: u64,
    virtual_time: Tag,
    at: Time,
    rate: Rate,
    /// Work that was done and made no whole unit.
    rest: u64,
}

impl Fluid {
    /// A server of `rate`, which is idle.
    pub(super) const fn new(rate: Rate) -> Self {
        Self {
            ends: Schedule::new(),
            weights: Vec::new(),
            unit: 0,
            virtual_time: Tag(0),
            at: Time::ZERO,
            rate,
            rest: 0,
        }
    }

    /// Virtual time as of the last [`advance`](Self::advance).
    pub(super) const fn virtual_time(&self) -> Tag {
        self.virtual_time
    }

    /// Whether `flow` is backlogged.
    pub(super) fn is_backlogged(&self, flow: usize) -> bool {
        self.ends.contains(flow)
    }

    /// `flow`, of `weight`, is backlogged until `end`.
    pub(super) fn set(&mut self, flow: usize, end: Tag, weight: u32) {
        if self.weights.len() <= flow {
            self.weights.resize(flow + 1, 0);
        }
        if self.ends.contains(flow) {
            self.unit -= WORK_PER_UNIT * u64::from(self.weights[flow]);
        }
        self.weights[flow] = weight;
        self.unit += WORK_PER_UNIT * u64::from(weight);
        self.ends.set(flow, end);
    }

    /// `flow` is backlogged until `end`, if it is still.
    pub(super) fn shorten(&mut self, flow: usize, end: Tag) {
        if self.ends.contains(flow) {
            self.ends.set(flow, end);
        }
    }

    /// Serves until `now`; `served` hears of each flow that has no backlog any more.
    pub(super) fn advance(&mut self, now: Time, mut served: impl FnMut(usize)) {
        let elapsed = now.since(self.at).as_nanos();
        if elapsed == 0 {
            return;
        }
        self.at = now;
        let speed = u128::from(WORK) * u128::from(self.rate.bits_per_second());
        let mut work = speed.saturating_mul(u128::from(elapsed)).saturating_add(u128::from(self.rest));
        while let Some((end, flow)) = self.ends.first() {
            let needed = u128::from(end.since(self.virtual_time)) * u128::from(self.unit);
            if work < needed {
                self.pass(work);
                return;
            }
            work -= needed;
            self.finish(flow, end);
            served(flow);
        }
        self.rest = 0;
    }

    /// Serves the flow that ends next at once, so that it can be forgotten.
    pub(super) fn hurry(&mut self) -> Option<usize> {
        let (end, flow) = self.ends.first()?;
        self.finish(flow, end);
        Some(flow)
    }

    /// Begins anew at `now`: nobody is backlogged.
    pub(super) fn reset(&mut self, now: Time) {
        while self.hurry().is_some() {}
        (self.virtual_time, self.at, self.rest) = (Tag::default(), now, 0);
    }

    /// Lets `work` go round among the backlogged flows. There are some.
    fn pass(&mut self, work: u128) {
        // Mostly it is little enough for a division of 64 bits.
        let (time, rest) = match u64::try_from(work) {
            Ok(work) => (work / self.unit, work % self.unit),
            Err(_) => ((work / u128::from(self.unit)) as u64, (work % u128::from(self.unit)) as u64),
        };
        self.virtual_time.0 = self.virtual_time.0.wrapping_add(time);
        self.rest = rest;
    }

    /// `flow` has been served at `end`.
    fn finish(&mut self, flow: usize, end: Tag) {
        self.ends.remove(flow);
        self.unit -= WORK_PER_UNIT * u64::from(self.weights[flow]);
        self.virtual_time = self.virtual_time.max(end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Virtual time in bytes at weight 1.
    fn bytes(tag: Tag) -> f64 {
        tag.0 as f64 / UNITS_PER_BYTE as f64
    }

    /// 8 Mbit/s are a byte in a microsecond.
    const RATE: Rate = Rate::from_bits_per_second(8_000_000);

    /// Closed forms: one flow alone, two that share, a weight of 3. Would catch a server that forgets who has left.
    #[test]
    fn the_fluid_is_shared_among_those_that_are_there() {
        let mut fluid = Fluid::new(RATE);
        let start = Tag::default();
        fluid.set(0, start.after(1000, 1), 1);
        fluid.set(1, start.after(3000, 3), 3);
        fluid.set(2, start.after(500, 1), 1);
        let mut served = Vec::new();
        // 2500 bytes by then: 500 of each unit of weight.
        fluid.advance(Time::from_nanos(2_500_000), |flow| served.push(flow));
        assert_eq!(served, [2]);
        assert_eq!(bytes(fluid.virtual_time()), 500.0);
        // 1000 more among weights of 4.
        fluid.advance(Time::from_nanos(3_500_000), |flow| served.push(flow));
        assert_eq!(bytes(fluid.virtual_time()), 750.0);
        // All is done after 4500 bytes, and then nothing happens for a year.
        fluid.advance(Time::from_nanos(31_536_000_000_000_000), |flow| served.push(flow));
        assert_eq!(served[1..].iter().sum::<usize>(), 1);
        assert_eq!(bytes(fluid.virtual_time()), 1000.0);
        assert!(!fluid.is_backlogged(0) && !fluid.is_backlogged(1));
    }

    /// Steps of any size make the same whole: nothing is lost to rounding. A rate that divides nothing, and steps of a
    /// nanosecond, too short for a unit.
    #[test]
    fn work_is_carried_on() {
        for rate in [1_u64, 7, 999_983, 100_000_000_007] {
            let mut fluid = Fluid::new(Rate::from_bits_per_second(rate));
            for flow in 0..7 {
                fluid.set(flow, Tag::default().after(u32::MAX, 1), 1 + flow as u32 % 3);
            }
            for nanos in 1..=100_000 {
                fluid.advance(Time::from_nanos(nanos), |_| ());
            }
            // Weights 1 2 3 1 2 3 1.
            let passed = u128::from(fluid.virtual_time().0) * 13 * u128::from(WORK_PER_UNIT);
            assert_eq!(passed + u128::from(fluid.rest), u128::from(rate) * 100_000 * 3, "{rate}");
        }
    }

    /// Would catch tags that are compared as plain numbers.
    #[test]
    fn tags_wrap_around() {
        let before = Tag(u64::MAX - 5);
        let after = before.after(1500, 4);
        assert!(before < after && after.0 < before.0);
        assert_eq!(after.since(before), UNITS_PER_BYTE / 4 * 1500);
        assert_eq!(before.since(after), 0);
        assert_eq!(before.max(after), after);
    }
}
