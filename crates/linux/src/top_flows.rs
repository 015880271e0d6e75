//! The flows that lose most, in a table of a fixed size: each drop and each mark is counted for its flow.
//!
//! **Source.** Space-Saving: Metwally, Agrawal, El Abbadi, "Efficient Computation of Frequent and Top-k Elements in Data Streams",
//! ICDT 2005. A flow that loses and has no place takes that of the flow with the least count, and inherits the count. With
//! [`PLACES`] places and N losses no count is too high by more than N / [`PLACES`], and every flow that has lost more than that
//! has a place.
//!
//! A packet that is neither dropped nor marked costs two looks whether its flow has a place, when it comes and when it goes, about
//! 4 ns each; a loss costs 6 ns, or 55 ns where the flow needs another's place. Nothing is allocated.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use fairlane_qdisc::{Counters, FlowKey, Packet, Reason, Time};

use crate::engine::Witness;
use crate::flow::{FlowName, FlowsBy};
use crate::packet::Held;

/// How many flows have a place.
pub(crate) const PLACES: usize = 128;

/// A flow that lost packets, and what was counted of it since it got its place in the table.
#[derive(Clone, Debug, PartialEq)]
pub struct TopFlow {
    /// The flow as its packets' headers name it.
    pub name: FlowName,
    /// What became of its packets since then. Those that waited at that moment are only in what left or was dropped, so it may be
    /// more than what arrived.
    pub counters: Counters,
    /// How many packets of it may have been dropped or marked before, at most.
    pub missed: u64,
}

impl TopFlow {
    /// Packets that were dropped or marked since the flow got its place.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.counters.dropped_total().packets + self.counters.marked_total().packets
    }

    /// Packets of it that were compared and found to be of one flow with another, and dropped or marked for that.
    #[must_use]
    pub fn matched(&self) -> u64 {
        let matched = |reason| self.counters.dropped(reason).packets + self.counters.marked(reason).packets;
        matched(Reason::MatchArrival) + matched(Reason::MatchVictim)
    }
}

/// The table.
#[derive(Debug)]
pub(crate) struct TopFlows {
    by: FlowsBy,
    places: HashMap<FlowKey, usize, BuildHasherDefault<AsItIs>>,
    /// The losses of each place's flow, with those that it inherited: apart, since the least of them is looked for.
    counts: Vec<u64>,
    /// The least of the counts, and a place before which none is as low. Counts only grow, so neither ever goes back while the other
    /// stays.
    least: (u64, usize),
    keys: Vec<FlowKey>,
    flows: Vec<TopFlow>,
}

impl TopFlows {
    /// An empty table of flows by `by`.
    pub(crate) fn new(by: FlowsBy) -> Self {
        Self {
            by,
            // A map that is never fuller than half makes room for new keys without allocating.
            places: HashMap::with_capacity_and_hasher(2 * PLACES, BuildHasherDefault::default()),
            counts: Vec::with_capacity(PLACES),
            least: (0, 0),
            keys: Vec::with_capacity(PLACES),
            flows: Vec::with_capacity(PLACES),
        }
    }

    /// The flows, those first that lost most.
    pub(crate) fn heaviest(&self) -> Vec<TopFlow> {
        let mut flows = self.flows.clone();
        flows.sort_by_key(|flow| std::cmp::Reverse(flow.lost()));
        flows
    }

    /// What is counted of the packet's flow, if it has a place.
    fn counters(&mut self, packet: &Held) -> Option<&mut Counters> {
        let place = *self.places.get(&packet.flow())?;
        self.flows.get_mut(place).map(|flow| &mut flow.counters)
    }

    /// Counts a loss of the packet's flow; what is counted of it in all.
    fn lost(&mut self, packet: &Held) -> &mut Counters {
        let place = match self.places.get(&packet.flow()) {
            Some(place) => *place,
            None => self.admit(packet),
        };
        self.counts[place] += 1;
        &mut self.flows[place].counters
    }

    /// A place for a flow that has none.
    fn admit(&mut self, packet: &Held) -> usize {
        let (key, name) = (packet.flow(), FlowName::new(self.by, packet.id_of_flow()));
        let place = self.counts.len();
        if place < PLACES {
            self.counts.push(0);
            self.keys.push(key);
            self.flows.push(TopFlow { name, counters: Counters::default(), missed: 0 });
            self.places.insert(key, place);
            return place;
        }
        let (place, least) = self.find_least();
        self.places.remove(&self.keys[place]);
        self.places.insert(key, place);
        self.keys[place] = key;
        self.flows[place] = TopFlow { name, counters: Counters::default(), missed: least };
        place
    }

    /// A place with the least count, and that count. A look at all places raises the least, so there is one for many calls.
    fn find_least(&mut self) -> (usize, u64) {
        let (least, from) = self.least;
        let found = self.counts.iter().skip(from).position(|count| *count == least).map(|after| (least, from + after));
        self.least = found.unwrap_or_else(|| {
            let least = self.counts.iter().copied().min().unwrap_or(0);
            (least, self.counts.iter().position(|count| *count == least).unwrap_or(0))
        });
        (self.least.1, self.least.0)
    }
}

impl Witness for TopFlows {
    fn arrived(&mut self, _now: Time, packet: &Held) {
        if let Some(counters) = self.counters(packet) {
            counters.arrived.add(packet.bytes());
        }
    }

    fn departed(&mut self, _now: Time, packet: &Held, _since: Time) {
        if let Some(counters) = self.counters(packet) {
            counters.departed.add(packet.bytes());
        }
    }

    fn dropped(&mut self, _now: Time, packet: &Held, reason: Reason) {
        self.lost(packet).count_drop(reason, packet.bytes());
    }

    fn marked(&mut self, packet: &Held, reason: Reason) {
        self.lost(packet).count_mark(reason, packet.bytes());
    }
}

/// Takes a flow's key as its hash: it is one, keyed at random.
#[derive(Debug, Default)]
struct AsItIs(u64);

impl Hasher for AsItIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0.rotate_left(8) ^ u64::from(*byte));
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
}

#[cfg(test)]
mod tests;
