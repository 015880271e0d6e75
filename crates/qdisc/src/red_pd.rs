//! RED with Preferential Dropping: finds the flows that lose most, and drops their packets before RED sees them.
//!
//! Time is cut into intervals as long as a TCP of the round-trip time `rtt` needs for a loss at the present drop rate. A flow
//! that had drops in three of the last five intervals sends more than that TCP, and is monitored: its packets go with
//! a probability of its own, raised while it still has drops and lowered when it has none, until it gets what the
//! TCP would get. A monitored flow whose rate does not fall as its losses rise is unresponsive and treated harder.
//!
//! **Source.** Mahajan, Floyd, Wetherall, "Controlling High-Bandwidth Flows at the Congested Router", ICNP 2001; its
//! authors' ns-2 code (`red-pd.cc`, `monitoring.tcl`) for all constants, for the test of responsiveness and for the spacing of
//! drops.
//!
//! **Deviations.** Intervals begin with the first arrival and end when something arrives after them: nothing else
//! changes what they count. The length follows the averaged drop rate, as in ns-2. RED's average also takes in
//! arrivals that do not reach RED; ns-2's filter looks at the average of the last that did. A mark counts as a drop does.
//! A released flow is forgotten. Rewards count intervals that have ended, where ns-2 counts the coming one too.
//!
//! **Cost.** RED's and a look-up of the flow; a random number for a monitored flow. At the end of an interval one pass over the
//! flows that had drops in the last five or are monitored.

use alloc::format;
use alloc::vec::Vec;

use crate::buffer::Buffer;
use crate::config::shared::*;
use crate::config::{About, Domain, FlowState, Origin, Parameter, ParameterError, Resolver, parameter};
use crate::flow_table::FlowTable;
use crate::red::{RedCore, RedSettings, Verdict, carry_out, power};
use crate::{Counters, Duration, Fate, FlowKey, Packet, Qdisc, Reason, Seed, Size, Stream, Time};

/// What is known of it.
pub(crate) const ABOUT: About = About {
    name: "red-pd",
    summary: "RED behind a filter that drops of the flows that lose most what a TCP would not have sent",
    source: "Mahajan, Floyd, Wetherall: Controlling High-Bandwidth Flows at the Congested Router, ICNP 2001",
    year: Some(2001),
    needs: "the average, and the drops of flows that had some lately",
    flow_state: FlowState::Seen,
    experimental: false,
    parameters: red_and!(RTT),
};

const RTT: Parameter = parameter(
    "rtt",
    Domain::Duration,
    "40ms, the authors' code",
    "round-trip time of the TCP that is the measure: who sends more than it would is monitored (R)",
)
.elsewhere(&["R", "TargetRTT_", "target_rtt_"]);

/// What it is told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    limit: Size,
    red: RedSettings,
    rtt: Duration,
}

/// What it is told by what was given.
pub(crate) fn resolve(r: &mut Resolver<'_>) -> Result<Settings, ParameterError> {
    let limit = r.limit()?;
    let red = r.red(limit)?;
    let rtt = r.take("rtt", Origin::Default("the authors' code"), Duration::from_millis(40))?;
    let [shortest, longest] = [2, 10].map(|times| Duration::from_nanos(rtt.as_nanos().saturating_mul(times)));
    r.say(format!("flows are judged every {shortest} to {longest}, more often the more is dropped"));
    Ok(Settings { limit, red, rtt })
}

/// The prefilter of a monitored flow.
#[derive(Clone, Copy, Debug)]
struct Monitor {
    probability: f64,
    /// Packets that passed since the last drop.
    passed: f64,
    unresponsive: bool,
    /// When the probability was last changed.
    changed: Time,
    /// Rates in bytes a second, and the part that was lost, when it was raised: the last so many.
    history: [(f64, f64); HISTORY],
    observed: usize,
}

/// A flow with drops in the last intervals, or that is monitored.
#[derive(Clone, Copy, Debug)]
struct Flow {
    key: FlowKey,
    /// Bytes that arrived in this interval, once the flow was known.
    arrived: u64,
    /// Bytes that RED dropped or marked in this interval.
    dropped: u64,
    /// Bytes that its filter dropped in this interval.
    filtered: u64,
    /// Bytes dropped in each of the last intervals, 0 where it was not among those with most.
    lists: [u64; LISTS],
    monitor: Option<Monitor>,
}

/// Who has drops, and who is monitored for it: all of RED-PD but RED.
#[derive(Debug)]
struct Monitoring {
    numbers: FlowTable,
    flows: Vec<Flow>,
    /// The numbers of the flows that are known.
    known: Vec<u32>,
    /// Drops of this interval, for the choice of the most.
    ranking: Vec<(u64, FlowKey, u32)>,
    rtt: Duration,
    /// The present interval, once something has arrived.
    started: Option<Time>,
    length: Duration,
    /// How long the last intervals were.
    lengths: [Duration; LISTS],
    /// Where in the rings the last interval stands.
    slot: usize,
    /// Bytes that reached RED in this interval, and those that it dropped or marked.
    arrived: u64,
    dropped: u64,
    /// The averaged drop rate, once there is one.
    average: Option<f64>,
}

impl Monitoring {
    fn new(rtt: Duration, seed: Seed) -> Self {
        Self {
            numbers: FlowTable::new(seed),
            flows: Vec::new(),
            known: Vec::new(),
            ranking: Vec::new(),
            rtt,
            started: None,
            length: interval(rtt, 0.0),
            lengths: [Duration::ZERO; LISTS],
            slot: 0,
            arrived: 0,
            dropped: 0,
            average: None,
        }
    }

    /// Ends the intervals that are over at `now`.
    fn advance(&mut self, now: Time) {
        let mut started = *self.started.get_or_insert(now);
        while now.since(started) >= self.length {
            let left = now.since(started).as_nanos() / self.length.as_nanos();
            let longest = interval(self.rtt, 0.0);
            if self.known.is_empty() && self.arrived == 0 && self.length == longest && left > LISTS as u64 {
                // Nothing is left to forget, so nothing changes any more: as many intervals as there are pass at once.
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

    /// What the interval that ends at `now` says of the flows.
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
        for &number in &self.known {
            let flow = &mut self.flows[number as usize];
            flow.lists[self.slot] = 0;
            if flow.dropped > 0 {
                self.ranking.push((flow.dropped, flow.key, number));
            }
        }
        if self.ranking.len() > MOST_LISTED {
            // Of flows with equal drops the one with the smaller key.
            self.ranking.select_nth_unstable_by(MOST_LISTED, |a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
        }
        for &(dropped, _, number) in self.ranking.iter().take(MOST_LISTED) {
            self.flows[number as usize].lists[self.slot] = dropped;
        }
    }

    /// How long the last `intervals` were together, but not less than is needed to see an effect.
    fn together(&self, intervals: usize) -> Duration {
        let sum =
            (0..intervals).fold(Duration::ZERO, |sum, back| sum + self.lengths[(self.slot + LISTS - back) % LISTS]);
        sum.max(LEAST_WAIT)
    }

    /// Monitors the flows that have drops all the time, and raises the probability of those that are; `loss` is the
    /// drop rate to go by.
    fn punish(&mut self, now: Time, loss: f64) {
        let (mut regular, mut dropped) = (0_u32, 0);
        for flow in self.known.iter().map(|&number| &self.flows[number as usize]).filter(|flow| flow.is_regular()) {
            regular += 1;
            dropped += flow.listed();
        }
        if dropped == 0 {
            return;
        }
        let per_byte = loss * f64::from(regular) / dropped as f64;
        let (secs, wait) = (self.length.as_secs(), self.together(4));
        for &number in &self.known {
            let flow = &mut self.flows[number as usize];
            if !flow.is_regular() || flow.dropped + flow.filtered == 0 {
                continue;
            }
            let gain = per_byte * flow.listed() as f64;
            match &mut flow.monitor {
                Some(monitor) if now.since(monitor.changed) < wait => continue,
                Some(monitor) => monitor.raise(gain),
                None => flow.monitor = Some(Monitor::new(gain.min(2.0 * loss).min(0.5))),
            }
            if let Some(monitor) = &mut flow.monitor {
                monitor.changed = now;
                let arrived = flow.arrived as f64;
                monitor.observe(arrived / secs, (flow.dropped + flow.filtered) as f64 / arrived);
            }
        }
    }

    /// Lowers the probability of flows that have no drops any more, and lets go those where it is low.
    fn reward(&mut self, now: Time) {
        let waits = [self.together(3), self.together(5)];
        for &number in &self.known {
            let flow = &mut self.flows[number as usize];
            if flow.lists != [0; LISTS] {
                continue;
            }
            if let Some(monitor) = &mut flow.monitor
                && now.since(monitor.changed) >= waits[usize::from(monitor.unresponsive)]
            {
                monitor.changed = now;
                if !monitor.lower() {
                    flow.monitor = None;
                }
            }
        }
    }

    /// Forgets flows that are not listed and not monitored, and begins to count anew.
    fn forget(&mut self) {
        let Self { known, flows, numbers, .. } = self;
        known.retain(|&number| {
            let flow = &mut flows[number as usize];
            (flow.arrived, flow.dropped, flow.filtered) = (0, 0, 0);
            let keep = flow.monitor.is_some() || flow.lists != [0; LISTS];
            if !keep {
                numbers.remove(flow.key);
            }
            keep
        });
    }

    /// The flow, known from now on.
    fn flow(&mut self, key: FlowKey, bytes: u32) -> &mut Flow {
        let (number, new) = self.numbers.insert(key);
        if new {
            let flow =
                Flow { key, arrived: u64::from(bytes), dropped: 0, filtered: 0, lists: [0; LISTS], monitor: None };
            if number == self.flows.len() {
                self.flows.push(flow);
            } else {
                self.flows[number] = flow;
            }
            self.known.push(number as u32);
        }
        &mut self.flows[number]
    }
}

impl Flow {
    /// Whether it stands in most of the lists.
    fn is_regular(&self) -> bool {
        self.lists.iter().filter(|&&dropped| dropped > 0).count() >= REGULAR
    }

    /// Bytes dropped by all lists.
    fn listed(&self) -> u64 {
        self.lists.iter().sum()
    }
}

impl Monitor {
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

    /// Whether the roll drops a packet of the flow: gaps are uniform on 1..1/p, as in ns-2.
    fn rolls(&self, roll: f64) -> bool {
        let room = 1.0 - self.probability * self.passed;
        self.probability >= room || roll * room < self.probability
    }

    /// The flow still has drops, as many as a rise of `gain` would take from it.
    fn raise(&mut self, gain: f64) {
        self.unresponsive |= self.does_not_respond();
        let (times, part) = if self.unresponsive { (3.0, 2.0) } else { (2.0, 1.0) };
        let raised = if gain > self.probability { times * self.probability } else { self.probability + part * gain };
        // Never above 1: what passes is divided instead.
        self.probability = if raised > 1.0 { 1.0 - (1.0 - self.probability) / times } else { raised };
    }

    /// The flow has no drops any more; whether it stays monitored.
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

    /// Whether the rate stayed above what a TCP's would have come to, 1/sqrt of the losses, in nearly every pair of
    /// observations whose losses differ, but not tenfold.
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

/// How long an interval is at a drop rate of `loss`: 3/5 of the time in which a TCP of `rtt` loses a packet, within 2 and
/// 10 round trips.
fn interval(rtt: Duration, loss: f64) -> Duration {
    let [shortest, longest] = [2, 10].map(|times| Duration::from_nanos(rtt.as_nanos().max(1).saturating_mul(times)));
    let time = REGULAR as f64 / LISTS as f64 * rtt.as_secs() / libm::sqrt(1.5 * loss);
    // No loss at all gives infinity, and that the longest.
    Duration::from_secs(time).clamp(shortest, longest)
}

/// RED behind the filters of monitored flows, over a FIFO.
#[derive(Debug)]
pub struct RedPd<P> {
    buffer: Buffer<P>,
    red: RedCore,
    monitoring: Monitoring,
    rolls: Stream,
}

impl<P: Packet> RedPd<P> {
    pub(crate) fn new(settings: Settings, seed: Seed) -> Self {
        Self {
            buffer: Buffer::new(settings.limit),
            red: RedCore::new(settings.red, seed),
            monitoring: Monitoring::new(settings.rtt, seed),
            rolls: seed.stream("filter"),
        }
    }

    /// Counts an arrival of `flow`; whether its filter drops it.
    fn filters(&mut self, flow: FlowKey, bytes: u32) -> bool {
        let Some(number) = self.monitoring.numbers.get(flow) else { return false };
        let flow = &mut self.monitoring.flows[number];
        flow.arrived += u64::from(bytes);
        let Some(monitor) = &mut flow.monitor else { return false };
        let hit = monitor.rolls(self.rolls.unit());
        // A flow that responds is left alone while there is no congestion.
        let congested = self.red.average() >= self.red.settings().min && self.buffer.fifo.packets() > 1;
        if hit && (monitor.unresponsive || congested) {
            monitor.passed = 0.0;
            flow.filtered += u64::from(bytes);
            return true;
        }
        monitor.passed += 1.0;
        false
    }
}

impl<P: Packet> Qdisc<P> for RedPd<P> {
    fn enqueue(&mut self, now: Time, packet: P, fate: &mut impl Fate<P>) {
        self.monitoring.advance(now);
        self.buffer.arrive(&packet);
        self.red.arrive(now, &self.buffer);
        let (flow, bytes) = (packet.flow(), packet.bytes());
        if self.filters(flow, bytes) {
            self.buffer.discard(now, packet, Reason::RatePenalty, fate);
            return;
        }
        let signal = self.red.test(self.buffer.fifo.packets(), bytes);
        let verdict = self.red.signal(signal, packet.ecn_capable());
        let admitted = carry_out(&mut self.buffer, now, packet, verdict, fate);
        self.monitoring.arrived += u64::from(bytes);
        if !admitted || matches!(verdict, Verdict::Mark(_)) {
            self.monitoring.dropped += u64::from(bytes);
            self.monitoring.flow(flow, bytes).dropped += u64::from(bytes);
        }
    }

    fn dequeue(&mut self, now: Time, _fate: &mut impl Fate<P>) -> Option<P> {
        let packet = self.buffer.depart();
        if packet.is_none() {
            self.red.idle(now);
        }
        packet
    }

    fn packets(&self) -> usize {
        self.buffer.fifo.packets()
    }

    fn bytes(&self) -> u64 {
        self.buffer.fifo.bytes()
    }

    fn counters(&self) -> &Counters {
        &self.buffer.counters
    }

    fn average(&self) -> Option<f64> {
        Some(self.red.average())
    }
}

/// Lists of drops that are kept (K).
const LISTS: usize = 5;

/// A flow in as many of them is monitored (X).
const REGULAR: usize = 3;

/// Flows in a list.
const MOST_LISTED: usize = 50;

/// Observations of a monitored flow.
const HISTORY: usize = 5;

/// Nobody is punished at a drop rate up to this.
const LEAST_LOSS: f64 = 0.001;

/// A probability is lowered by at most this at once.
const MOST_LOWERED: f64 = 0.05;

/// What a change does is not judged earlier.
const LEAST_WAIT: Duration = Duration::from_millis(400);

#[cfg(test)]
mod tests;
