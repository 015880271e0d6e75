//! Virtual time, and the fluid server that WFQ approximates.

use alloc::vec::Vec;
use core::cmp::Ordering;

use crate::queue::schedule::Schedule;
use crate::{Rate, Time};

/// The largest weight of a flow.
const MAX_WEIGHT: u32 = 4;

/// The units of virtual time that one byte takes at weight 1. Every weight from 1 to 4 divides it, so the times at
/// which packets start and finish are exact. The power of 2 gives the fluid server a finer resolution than a byte.
const UNITS_PER_BYTE: u64 = 12 << 10;

/// The work that a link of 1 bit/s does in a nanosecond.
const WORK: u64 = 3;

/// The work that one unit of virtual time takes at weight 1. Together with [`WORK`] it makes all quantities whole
/// numbers: one byte takes 8 * 10^9 bit/s * ns, which is UNITS_PER_BYTE * 5^9 / 3.
const WORK_PER_UNIT: u64 = 1_953_125;
const _: () = assert!(WORK * 8_000_000_000 == UNITS_PER_BYTE * WORK_PER_UNIT);

/// A moment of virtual time.
///
/// The count of units may wrap around: two times are compared by their difference, which stays below 2^62 because no
/// queue holds more than 2^40 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct VirtualTime(u64);

impl VirtualTime {
    /// The start of virtual time.
    pub(crate) const ZERO: Self = Self(0);

    /// Returns the time at which a packet of `bytes` bytes that starts now finishes, for a flow of `weight`: 1 to
    /// [`MAX_WEIGHT`].
    pub(crate) const fn after(self, bytes: u32, weight: u32) -> Self {
        Self(self.0.wrapping_add(bytes as u64 * PER_WEIGHT[weight as usize % PER_WEIGHT.len()]))
    }

    /// Returns the units from `earlier` to this time; 0 if it is not later.
    const fn since(self, earlier: Self) -> u64 {
        let units = self.0.wrapping_sub(earlier.0);
        if units as i64 > 0 { units } else { 0 }
    }
}

impl Ord for VirtualTime {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.0.wrapping_sub(other.0) as i64).cmp(&0)
    }
}

impl PartialOrd for VirtualTime {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A moment of virtual time and a number, by which equal moments are ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Turn(u128);

impl Turn {
    /// Returns the turn of `number` at `time`.
    pub(crate) const fn new(time: VirtualTime, number: u64) -> Self {
        Self(((time.0 as u128) << 64) | number as u128)
    }
}

impl Ord for Turn {
    fn cmp(&self, other: &Self) -> Ordering {
        // The sign of the difference is that of the times, or if these are equal that of the numbers.
        (self.0.wrapping_sub(other.0) as i128).cmp(&0)
    }
}

impl PartialOrd for Turn {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The units per byte of each weight, which save a division per packet.
const PER_WEIGHT: [u64; MAX_WEIGHT as usize + 1] = {
    let mut table = [UNITS_PER_BYTE; MAX_WEIGHT as usize + 1];
    let mut weight = 1;
    while weight < table.len() {
        table[weight] = UNITS_PER_BYTE / weight as u64;
        weight += 1;
    }
    table
};

/// The fluid server of generalized processor sharing (GPS): it serves all backlogged flows at once, each in proportion
/// to its weight.
///
/// The simulation is exact: it counts in whole numbers, and carries over work that is less than a unit.
#[derive(Debug)]
pub(crate) struct FluidServer {
    /// The virtual time at which each backlogged flow will have been served.
    ends: Schedule<VirtualTime>,
    /// The weight of each flow.
    weights: Vec<u32>,
    /// The work that a unit of virtual time takes now, for all backlogged flows together.
    unit: u64,
    virtual_time: VirtualTime,
    at: Time,
    rate: Rate,
    /// The work done beyond the last whole unit.
    rest: u64,
}

impl FluidServer {
    /// Creates an idle server of `rate`. At rate 0 virtual time stands still.
    pub(crate) const fn new(rate: Rate) -> Self {
        Self {
            ends: Schedule::new(),
            weights: Vec::new(),
            unit: 0,
            virtual_time: VirtualTime::ZERO,
            at: Time::ZERO,
            rate,
            rest: 0,
        }
    }

    /// Returns the virtual time as of the last [`advance`](Self::advance).
    pub(crate) const fn virtual_time(&self) -> VirtualTime {
        self.virtual_time
    }

    /// Sets the rate, for all work after the last [`advance`](Self::advance).
    pub(crate) const fn set_rate(&mut self, rate: Rate) {
        self.rate = rate;
    }

    /// Tells whether `flow` is backlogged.
    pub(crate) fn is_backlogged(&self, flow: usize) -> bool {
        self.ends.contains(flow)
    }

    /// Makes `flow`, of `weight`, backlogged until `end`.
    pub(crate) fn set_backlog(&mut self, flow: usize, end: VirtualTime, weight: u32) {
        if self.weights.len() <= flow {
            self.make_room(flow);
        }
        let before = core::mem::replace(&mut self.weights[flow], weight);
        self.unit += WORK_PER_UNIT * u64::from(weight);
        if self.ends.set(flow, end) {
            self.unit -= WORK_PER_UNIT * u64::from(before);
        }
    }

    /// Makes room for the flows up to `flow`.
    #[cold]
    fn make_room(&mut self, flow: usize) {
        self.weights.resize(flow + 1, 0);
    }

    /// Makes `flow` backlogged until `end`, if it is still backlogged.
    pub(crate) fn shorten(&mut self, flow: usize, end: VirtualTime) {
        if self.ends.contains(flow) {
            self.ends.set(flow, end);
        }
    }

    /// Serves until `now`, and calls `served` for each flow that is no longer backlogged.
    pub(crate) fn advance(&mut self, now: Time, mut served: impl FnMut(usize)) {
        let elapsed = now.since(self.at).as_nanos();
        if elapsed == 0 {
            return;
        }
        self.at = now;
        let mut work = self.work_in(elapsed);
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

    /// Returns the work of `elapsed` nanoseconds, with the rest from before.
    fn work_in(&self, elapsed: u64) -> u128 {
        // Mostly 64 bits are enough.
        let narrow = WORK.checked_mul(self.rate.bits_per_second()).and_then(|speed| speed.checked_mul(elapsed));
        match narrow.and_then(|work| work.checked_add(self.rest)) {
            Some(work) => u128::from(work),
            None => self.much_work_in(elapsed),
        }
    }

    #[cold]
    fn much_work_in(&self, elapsed: u64) -> u128 {
        let speed = u128::from(WORK) * u128::from(self.rate.bits_per_second());
        speed.saturating_mul(u128::from(elapsed)).saturating_add(u128::from(self.rest))
    }

    /// Serves the flow that ends next at once and returns it.
    pub(crate) fn finish_next(&mut self) -> Option<usize> {
        let (end, flow) = self.ends.first()?;
        self.finish(flow, end);
        Some(flow)
    }

    /// Restarts at `now` with virtual time 0 and without backlogged flows.
    pub(crate) fn reset(&mut self, now: Time) {
        while self.finish_next().is_some() {}
        (self.virtual_time, self.at, self.rest) = (VirtualTime::ZERO, now, 0);
    }

    /// Advances virtual time by `work`, during which the same flows stay backlogged. There must be some.
    fn pass(&mut self, work: u128) {
        // Mostly a division of 64 bits is enough.
        let (time, rest) = match u64::try_from(work) {
            Ok(work) => (work / self.unit, work % self.unit),
            Err(_) => ((work / u128::from(self.unit)) as u64, (work % u128::from(self.unit)) as u64),
        };
        self.virtual_time.0 = self.virtual_time.0.wrapping_add(time);
        self.rest = rest;
    }

    /// Notes that `flow` has been served at `end`.
    fn finish(&mut self, flow: usize, end: VirtualTime) {
        self.ends.remove(flow);
        self.unit -= WORK_PER_UNIT * u64::from(self.weights[flow]);
        self.virtual_time = self.virtual_time.max(end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a virtual time in bytes at weight 1.
    fn bytes(time: VirtualTime) -> f64 {
        time.0 as f64 / UNITS_PER_BYTE as f64
    }

    /// One byte per microsecond.
    const RATE: Rate = Rate::from_bits_per_second(8_000_000);

    /// Compares with closed forms for one flow alone, for two that share, and for a weight of 3. Would catch a server
    /// that shares with flows that have left.
    #[test]
    fn the_server_is_shared_among_backlogged_flows() {
        let mut server = FluidServer::new(RATE);
        let start = VirtualTime::ZERO;
        server.set_backlog(0, start.after(1000, 1), 1);
        server.set_backlog(1, start.after(3000, 3), 3);
        server.set_backlog(2, start.after(500, 1), 1);
        let mut served = Vec::new();
        // 2500 bytes by then: 500 for each unit of weight.
        server.advance(Time::from_nanos(2_500_000), |flow| served.push(flow));
        assert_eq!(served, [2]);
        assert_eq!(bytes(server.virtual_time()), 500.0);
        // 1000 more bytes for weights of 4 in all.
        server.advance(Time::from_nanos(3_500_000), |flow| served.push(flow));
        assert_eq!(bytes(server.virtual_time()), 750.0);
        // All are served after 4500 bytes, and then nothing happens for a year.
        server.advance(Time::from_nanos(31_536_000_000_000_000), |flow| served.push(flow));
        assert_eq!(served[1..].iter().sum::<usize>(), 1);
        assert_eq!(bytes(server.virtual_time()), 1000.0);
        assert!(!server.is_backlogged(0) && !server.is_backlogged(1));
    }

    /// Would catch work that is lost to rounding, at rates that divide nothing and in steps of a nanosecond, which are
    /// too short for a unit.
    #[test]
    fn work_below_a_unit_is_carried_over() {
        for rate in [1_u64, 7, 999_983, 100_000_000_007] {
            let mut server = FluidServer::new(Rate::from_bits_per_second(rate));
            for flow in 0..7 {
                server.set_backlog(flow, VirtualTime::ZERO.after(u32::MAX, 1), 1 + flow as u32 % 3);
            }
            for nanos in 1..=100_000 {
                server.advance(Time::from_nanos(nanos), |_| ());
            }
            // Weights 1 2 3 1 2 3 1.
            let passed = u128::from(server.virtual_time().0) * 13 * u128::from(WORK_PER_UNIT);
            assert_eq!(passed + u128::from(server.rest), u128::from(rate) * 100_000 * 3, "{rate}");
        }
    }

    /// Would catch times that are compared as plain numbers.
    #[test]
    fn virtual_times_wrap_around() {
        let before = VirtualTime(u64::MAX - 5);
        let after = before.after(1500, 4);
        assert!(before < after && after.0 < before.0);
        assert_eq!(after.since(before), UNITS_PER_BYTE / 4 * 1500);
        assert_eq!(before.since(after), 0);
        assert_eq!(before.max(after), after);
    }
}
