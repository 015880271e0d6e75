//! RED with Preferential Dropping: finds the flows with most drops, and drops their packets before RED sees them.
//!
//! Time is divided into intervals, each as long as a TCP with the round-trip time `rtt` takes to lose a packet at the
//! present drop rate. A flow that had drops in three of the last five intervals sends more than that TCP, and is
//! monitored: its packets are dropped with its own probability, which is raised while the flow still has drops and
//! lowered when it has none, until it gets what the TCP would get. A monitored flow whose rate does not fall as its
//! losses rise is unresponsive, and its probability changes faster.
//!
//! **Source.** Mahajan, Floyd, Wetherall, "Controlling High-Bandwidth Flows at the Congested Router", ICNP 2001; its
//! authors' ns-2 code (`queue/red-pd.cc`, `tcl/ex/red-pd/monitoring.tcl`) for all constants, for the test of
//! responsiveness and for the spacing of drops.
//!
//! **Deviations.** Intervals begin with the first arrival, and one is judged at the first arrival after its end:
//! nothing else changes their counts. The length follows the averaged drop rate, as in ns-2. RED's average includes
//! arrivals that do not reach RED; ns-2's filter compares the average as of the last packet that did. A mark counts as
//! a drop does. A released flow is forgotten. Rewards count intervals that have ended, where ns-2 counts the coming one
//! too.
//!
//! **Cost.** RED's and a lookup of the flow; a random number for a monitored flow. At the end of an interval one pass
//! over the flows that had drops in the last five intervals or are monitored.

use alloc::vec::Vec;

use crate::discipline::red::{self, Red, RedCore, RedParameters, power};
use crate::error::check;
use crate::flow::table::FlowTable;
use crate::{
    Counters, DropSink, Duration, Fate, FlowKey, Packet, ParameterError, Qdisc, Rate, Reason, Seed, Size, Status,
    Stream, Time,
};

/// The configuration of [`RedPd`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct Config {
    /// The most that the queue holds, in packets or bytes. Default: 300 packets, the buffer of the CHOKe paper (section
    /// III).
    pub limit: Size,
    /// The average, the thresholds and the probability of RED.
    pub red: RedParameters,
    /// The round-trip time of the reference TCP (R), above zero: a flow that sends more than that TCP would is
    /// monitored. Default: 40 ms, as the authors' code.
    pub rtt: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self { limit: Size::packets(300), red: RedParameters::default(), rtt: Duration::from_millis(40) }
    }
}

/// The filter of a monitored flow.
#[derive(Clone, Copy, Debug, PartialEq)]
struct FlowFilter {
    probability: f64,
    /// The number of packets that passed since the last drop.
    passed: f64,
    unresponsive: bool,
    /// The time of the last change of the probability.
    changed: Time,
    /// The last observations, made when the probability was raised: the flow's rate in bytes a second, and its loss
    /// rate.
    history: [(f64, f64); HISTORY],
    observed: usize,
}

/// A flow that had drops in the last intervals or is monitored.
#[derive(Clone, Copy, Debug, PartialEq)]
struct TrackedFlow {
    key: FlowKey,
    /// The bytes that arrived in this interval, since the flow is tracked.
    arrived: u64,
    /// The bytes that were dropped or marked behind the filter in this interval.
    dropped: u64,
    /// The bytes that its filter dropped in this interval.
    filtered: u64,
    /// The bytes dropped in each of the last intervals; 0 where the flow was not among those with most.
    lists: [u64; LISTS],
    filter: Option<FlowFilter>,
}

/// The flows with drops and the filters of those that are monitored: all of RED-PD but RED.
#[derive(Debug)]
struct Prefilter {
    numbers: FlowTable,
    flows: Vec<TrackedFlow>,
    /// The numbers of the tracked flows.
    tracked: Vec<u32>,
    /// The drops of this interval, to select the flows with most.
    ranking: Vec<(u64, FlowKey, u32)>,
    rtt: Duration,
    /// The begin of the present interval, after the first arrival.
    started: Option<Time>,
    length: Duration,
    /// The lengths of the last intervals.
    lengths: [Duration; LISTS],
    /// The index of the last interval in the rings.
    slot: usize,
    /// The bytes that reached RED in this interval, and those of them that were dropped or marked.
    arrived: u64,
    dropped: u64,
    /// The averaged drop rate, after the first interval.
    average: Option<f64>,
    rolls: Stream,
}

impl Prefilter {
    fn new(rtt: Duration, seed: Seed) -> Self {
        Self {
            numbers: FlowTable::new(seed),
            flows: Vec::new(),
            tracked: Vec::new(),
            ranking: Vec::new(),
            rtt,
            started: None,
            length: interval(rtt, 0.0),
            lengths: [Duration::ZERO; LISTS],
            slot: 0,
            arrived: 0,
            dropped: 0,
            average: None,
            rolls: seed.stream("filter"),
        }
    }

    /// Ends the intervals that are over at `now`.
    fn advance(&mut self, now: Time) {
        let mut started = *self.started.get_or_insert(now);
        while now.since(started) >= self.length {
            let left = now.since(started).as_nanos() / self.length.as_nanos();
            let longest = interval(self.rtt, 0.0);
            if self.tracked.is_empty() && self.arrived == 0 && self.length == longest && left > LISTS as u64 {
                // No flow is tracked, so nothing but the average changes: all intervals pass at once.
                self.lengths = [longest; LISTS];
                self.average = Some(self.average.unwrap_or(0.0) * power(0.5, left));
                started += Duration::from_nanos(left * longest.as_nanos());
            } else {
                started += self.length;
                self.end_interval(started);
            }
            self.started = Some(started);
        }
    }

    /// Ends the interval at `now`: updates the drop rate, the lists and the filters.
    fn end_interval(&mut self, now: Time) {
        let loss = if self.arrived == 0 { 0.0 } else { self.dropped as f64 / self.arrived as f64 };
        let average = self.average.map_or(loss, |average| 0.5 * loss + 0.5 * average);
        self.average = Some(average);
        self.slot = (self.slot + 1) % LISTS;
        self.lengths[self.slot] = self.length;
        self.list();
        if loss > LEAST_LOSS {
            self.punish(now, loss.min(average));
        }
        self.reward(now);
        self.forget();
        (self.arrived, self.dropped) = (0, 0);
        self.length = interval(self.rtt, average);
    }

    /// Lists the flows with most drops in this interval.
    fn list(&mut self) {
        self.ranking.clear();
        for &number in &self.tracked {
            let flow = &mut self.flows[number as usize];
            flow.lists[self.slot] = 0;
            if flow.dropped > 0 {
                self.ranking.push((flow.dropped, flow.key, number));
            }
        }
        if self.ranking.len() > MOST_LISTED {
            // Among flows with equal drops the one with the smaller key comes first.
            self.ranking.select_nth_unstable_by(MOST_LISTED, |a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
        }
        for &(dropped, _, number) in self.ranking.iter().take(MOST_LISTED) {
            self.flows[number as usize].lists[self.slot] = dropped;
        }
    }

    /// Returns the sum of the last `intervals` intervals, but at least the time in which a change shows an effect.
    fn together(&self, intervals: usize) -> Duration {
        let sum =
            (0..intervals).fold(Duration::ZERO, |sum, back| sum + self.lengths[(self.slot + LISTS - back) % LISTS]);
        sum.max(LEAST_WAIT)
    }

    /// Monitors the flows that have drops regularly, and raises the probability of those that are monitored. `loss` is
    /// the drop rate to use.
    fn punish(&mut self, now: Time, loss: f64) {
        let (mut regular, mut dropped) = (0_u32, 0);
        for flow in self.tracked.iter().map(|&number| &self.flows[number as usize]).filter(|flow| flow.is_regular()) {
            regular += 1;
            dropped += flow.listed();
        }
        if dropped == 0 {
            return;
        }
        let per_byte = loss * f64::from(regular) / dropped as f64;
        let (secs, wait) = (self.length.as_secs(), self.together(4));
        for &number in &self.tracked {
            let flow = &mut self.flows[number as usize];
            if !flow.is_regular() || flow.dropped + flow.filtered == 0 {
                continue;
            }
            let gain = per_byte * flow.listed() as f64;
            match &mut flow.filter {
                Some(filter) if now.since(filter.changed) < wait => continue,
                Some(filter) => filter.raise(gain),
                None => flow.filter = Some(FlowFilter::new(gain.min(2.0 * loss).min(0.5))),
            }
            if let Some(filter) = &mut flow.filter {
                filter.changed = now;
                let arrived = flow.arrived as f64;
                filter.observe(arrived / secs, (flow.dropped + flow.filtered) as f64 / arrived);
            }
        }
    }

    /// Lowers the probability of flows that have no drops any more, and releases those whose probability is low.
    fn reward(&mut self, now: Time) {
        let waits = [self.together(3), self.together(5)];
        for &number in &self.tracked {
            let flow = &mut self.flows[number as usize];
            if flow.lists != [0; LISTS] {
                continue;
            }
            if let Some(filter) = &mut flow.filter
                && now.since(filter.changed) >= waits[usize::from(filter.unresponsive)]
            {
                filter.changed = now;
                if !filter.lower() {
                    flow.filter = None;
                }
            }
        }
    }

    /// Forgets the flows that are neither listed nor monitored, and resets the counts of the interval.
    fn forget(&mut self) {
        let Self { tracked, flows, numbers, .. } = self;
        tracked.retain(|&number| {
            let flow = &mut flows[number as usize];
            (flow.arrived, flow.dropped, flow.filtered) = (0, 0, 0);
            let keep = flow.filter.is_some() || flow.lists != [0; LISTS];
            if !keep {
                numbers.remove(flow.key);
            }
            keep
        });
    }

    /// Counts an arrival of `flow`; returns whether its filter drops it. `red` and `backlog` are RED's state and the
    /// number of packets in the queue.
    fn drops(&mut self, flow: FlowKey, bytes: u32, red: &RedCore, backlog: usize) -> bool {
        let Some(number) = self.numbers.get(flow) else { return false };
        let flow = &mut self.flows[number];
        flow.arrived += u64::from(bytes);
        let Some(filter) = &mut flow.filter else { return false };
        let hit = filter.rolls(self.rolls.unit());
        // A flow that responds is left alone while there is no congestion.
        let congested = red.is_congested() && backlog > 1;
        if hit && (filter.unresponsive || congested) {
            filter.passed = 0.0;
            flow.filtered += u64::from(bytes);
            return true;
        }
        filter.passed += 1.0;
        false
    }

    /// Returns the flow of `key`, which is tracked from now on; `bytes` is the size of the present packet.
    fn flow(&mut self, key: FlowKey, bytes: u32) -> &mut TrackedFlow {
        let (number, new) = self.numbers.insert(key);
        if new {
            let flow = TrackedFlow {
                key,
                arrived: u64::from(bytes),
                dropped: 0,
                filtered: 0,
                lists: [0; LISTS],
                filter: None,
            };
            if number == self.flows.len() {
                self.flows.push(flow);
            } else {
                self.flows[number] = flow;
            }
            self.tracked.push(number as u32);
        }
        &mut self.flows[number]
    }
}

impl TrackedFlow {
    /// Tells whether the flow is in most of the lists.
    fn is_regular(&self) -> bool {
        self.lists.iter().filter(|&&dropped| dropped > 0).count() >= REGULAR
    }

    /// Returns the bytes dropped in all lists.
    fn listed(&self) -> u64 {
        self.lists.iter().sum()
    }
}

impl FlowFilter {
    fn new(probability: f64) -> Self {
        Self {
            probability,
            passed: 0.0,
            unresponsive: false,
            changed: Time::ZERO,
            history: [(0.0, 0.0); HISTORY],
            observed: 0,
        }
    }

    /// Tells whether `roll`, from 0 to 1, drops a packet of the flow: gaps are uniform on 1..1/p, as in ns-2.
    fn rolls(&self, roll: f64) -> bool {
        let room = 1.0 - self.probability * self.passed;
        self.probability >= room || roll * room < self.probability
    }

    /// Raises the probability of a flow that still has drops, by `gain` at most unless it is unresponsive.
    fn raise(&mut self, gain: f64) {
        self.unresponsive |= self.does_not_respond();
        let (times, part) = if self.unresponsive { (3.0, 2.0) } else { (2.0, 1.0) };
        let raised = if gain > self.probability { times * self.probability } else { self.probability + part * gain };
        // At most 1: where the sum would exceed it, the probability of passing is divided instead.
        self.probability = if raised > 1.0 { 1.0 - (1.0 - self.probability) / times } else { raised };
    }

    /// Lowers the probability of a flow that has no drops any more; returns whether it stays monitored.
    fn lower(&mut self) -> bool {
        let (enough, by, divisor) = if self.unresponsive { (0.0025, 1.5, 1.5) } else { (0.005, 2.0, 2.0) };
        if self.probability <= enough {
            return false;
        }
        self.probability = if self.probability > by * MOST_LOWERED {
            self.probability - MOST_LOWERED
        } else {
            self.probability / divisor
        };
        true
    }

    fn observe(&mut self, rate: f64, loss: f64) {
        self.history[self.observed % HISTORY] = (rate, loss);
        self.observed += 1;
    }

    /// Tells whether the rate fell less than a TCP's, which follows 1/sqrt(loss), in nearly every pair of observations
    /// whose losses differ by less than ten times.
    fn does_not_respond(&self) -> bool {
        let history = &self.history[..self.observed.min(HISTORY)];
        let (mut good, mut bad) = (0, 0);
        for (rate, loss) in history {
            for (later, more) in history.iter().filter(|(_, more)| loss < more && *loss > 0.1 * more) {
                // rate2 / rate1 > sqrt(loss1 / loss2), squared.
                if later * later * more > rate * rate * loss {
                    bad += 1;
                } else {
                    good += 1;
                }
            }
        }
        bad >= [3, 4].get(good).copied().unwrap_or(4 * good)
    }
}

/// Returns the length of an interval at a drop rate of `loss`: 3/5 of the time in which a TCP of `rtt` loses a packet,
/// between 2 and 10 round-trip times.
fn interval(rtt: Duration, loss: f64) -> Duration {
    let [shortest, longest] = [2, 10].map(|times| Duration::from_nanos(rtt.as_nanos().max(1).saturating_mul(times)));
    let time = REGULAR as f64 / LISTS as f64 * rtt.as_secs() / libm::sqrt(1.5 * loss);
    // A loss of 0 gives infinity, which is clamped to the longest.
    Duration::from_secs(time).clamp(shortest, longest)
}

/// RED behind the filters of monitored flows, over a FIFO.
#[derive(Debug)]
pub struct RedPd<P> {
    red: Red<P>,
    filters: Prefilter,
}

impl<P: Packet> RedPd<P> {
    /// Creates an empty queue.
    ///
    /// # Errors
    /// A value of `config` is out of its range, or RED's `min` is above `max` or has another unit.
    pub fn new(config: Config, seed: Seed) -> Result<Self, ParameterError> {
        let Config { limit, red, rtt } = config;
        let red = Red::new(red::Config { limit, red, ..red::Config::default() }, seed)?;
        check::duration("rtt", rtt)?;
        Ok(Self { red, filters: Prefilter::new(rtt, seed) })
    }
}

impl<P: Packet> Qdisc<P> for RedPd<P> {
    fn enqueue(&mut self, now: Time, packet: P, sink: &mut dyn DropSink<P>) -> Fate {
        let Self { red, filters } = self;
        filters.advance(now);
        let (flow, bytes) = (packet.flow(), packet.bytes());
        red.arrive(now, &packet);
        if filters.drops(flow, bytes, &red.core, red.buffer.fifo.packets()) {
            return red.buffer.discard(now, packet, Reason::RatePenalty, sink);
        }
        let fate = red.decide(now, packet, sink);
        filters.arrived += u64::from(bytes);
        if fate != Fate::Queued {
            filters.dropped += u64::from(bytes);
            filters.flow(flow, bytes).dropped += u64::from(bytes);
        }
        fate
    }

    fn dequeue(&mut self, now: Time, sink: &mut dyn DropSink<P>) -> Option<P> {
        self.red.dequeue(now, sink)
    }

    fn status(&self) -> Status {
        Status { flows: Some(self.filters.numbers.flows()), ..self.red.status() }
    }

    fn counters(&self) -> &Counters {
        self.red.counters()
    }

    fn link_rate(&mut self, rate: Rate) {
        self.red.link_rate(rate);
    }
}

/// The number of lists of drops (K).
const LISTS: usize = 5;

/// A flow in this many lists is monitored (X).
const REGULAR: usize = 3;

/// The most flows in a list.
const MOST_LISTED: usize = 50;

/// The number of observations of a monitored flow that are kept.
const HISTORY: usize = 5;

/// Up to this drop rate no probability is raised.
const LEAST_LOSS: f64 = 0.001;

/// The most by which a probability is lowered at once.
const MOST_LOWERED: f64 = 0.05;

/// The effect of a change is not judged earlier.
const LEAST_WAIT: Duration = Duration::from_millis(400);

#[cfg(test)]
mod tests;
