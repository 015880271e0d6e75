//! RED with a penalty box: flows whose part of RED's drops shows that they send too much share a small rate.
//!
//! RED drops packets of each flow in proportion to what the flow sends. So a flow's part of the logged drops estimates
//! its part of the arrivals. Once a period the flow with most bytes in the log is put to three tests: does it send more
//! than a TCP would at this drop rate, did it keep its rate although the drop rate rose, and is its part of the drops
//! far above an equal share. A flow that fails a test goes into the box: in times of congestion its packets need tokens
//! from a bucket that all flows in the box share before they reach RED. It is released when it has sent less than the
//! test allows for two periods in a row.
//!
//! **Source.** Floyd, Fall, "Promoting the Use of End-to-End Congestion Control in the Internet", IEEE/ACM ToN 7(4),
//! 1999: the tests for flows that are not TCP-friendly, unresponsive, or using disproportionate bandwidth.
//!
//! **Deviations.** Assumptions are the length of a period, the size of the log, the rate of the box, and how far the
//! drop rate must rise for the second test: fourfold, against the lowest drop rate so far. The paper restricts flows in
//! times of congestion only; here these are the times when RED's average is not below `min`, as RED-PD has it for flows
//! that respond. A period is judged at the first arrival after its end. It ends early when the log is full, but not
//! within a round-trip time. One flow is judged a period. A flow in the box must fall below the bound that it exceeded,
//! because in the box it may have no drops that would give a new one. A mark counts as a drop does.
//!
//! **Cost.** RED's, and a lookup of the flow while any flow is in the box. At the end of a period the log is sorted.

use alloc::vec::Vec;

use crate::discipline::red::{self, Red, RedParameters};
use crate::error::check;
use crate::flow::table::FlowTable;
use crate::rate::token_bucket::TokenBucket;
use crate::{
    Bytes, Counters, DropSink, Duration, Fate, FlowKey, Packet, Packets, ParameterError, Qdisc, Rate, Reason, Seed,
    Size, Status, Time,
};

/// The configuration of [`PenaltyBox`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct Config {
    /// The most that the queue holds, in packets or bytes. Default: 300 packets, the buffer of the CHOKe paper (section
    /// III).
    pub limit: Size,
    /// The average, the thresholds and the probability of RED.
    pub red: RedParameters,
    /// The number of drops in the log, 1 to 65,536; a period ends early after as many drops (D). Default: 256, of which
    /// a part of 1 % is two or three drops.
    pub history: u32,
    /// The longest duration of a period (T), above zero. Default: 5 s, which is long against round-trip times.
    pub interval: Duration,
    /// The round-trip time of the TCP whose sending rate a flow may not exceed (R), above zero. Default: 40 ms, as
    /// [RED-PD](crate::discipline::red_pd).
    pub rtt: Duration,
    /// The largest packet of that TCP (B). Default: 1500 bytes, as Ethernet.
    pub mtu: Bytes,
    /// The rate that the flows in the box get together. Default: `None`, 5 % of `red.bandwidth` or else of the link's
    /// rate ([`Qdisc::link_rate`]); as long as neither is known, the box holds no flow back.
    pub penalty_rate: Option<Rate>,
    /// The number of mean packets that the flows in the box may send at once. Default: 20 packets, as tc-sfb(8).
    pub penalty_burst: Packets,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            limit: Size::packets(300),
            red: RedParameters::default(),
            history: 256,
            interval: Duration::from_millis(5000),
            rtt: Duration::from_millis(40),
            mtu: Bytes::new(1500),
            penalty_rate: None,
            penalty_burst: Packets::new(20),
        }
    }
}

impl Config {
    /// Checks every value but those of RED.
    fn validate(&self) -> Result<(), ParameterError> {
        check::count("history", self.history, 1..=65_536)?;
        check::duration("interval", self.interval)?;
        check::duration("rtt", self.rtt)?;
        check::bytes("mtu", self.mtu)?;
        self.penalty_rate.map_or(Ok(()), |rate| check::rate("penalty_rate", rate))?;
        check::packets("penalty_burst", self.penalty_burst)
    }

    /// Returns the rate that a flow may send at a drop rate of `loss`, in bytes a second.
    pub(crate) fn friendly_rate(&self, loss: f64) -> f64 {
        self.bounds().friendly(loss)
    }

    const fn bounds(&self) -> Bounds {
        Bounds { rtt: self.rtt, mtu: self.mtu.get() as f64 }
    }

    /// Returns the rate of the box on a link of `link`, if that or the configuration decides it.
    fn penalty_rate_at(&self, link: Option<Rate>) -> Option<Rate> {
        self.penalty_rate.or_else(|| self.red.bandwidth.or(link).map(penalty_rate_for))
    }
}

/// Returns the default rate of the box on a link of `bandwidth`.
pub(crate) fn penalty_rate_for(bandwidth: Rate) -> Rate {
    Rate::from_bits_per_second((bandwidth.bits_per_second() / 20).max(1))
}

/// The bounds of a flow's rate.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Bounds {
    rtt: Duration,
    mtu: f64,
}

impl Bounds {
    /// Returns the rate above which a flow is not TCP-friendly at a drop rate of `loss`, in bytes a second: 1.5 times
    /// the highest rate of a TCP.
    fn friendly(self, loss: f64) -> f64 {
        FRIENDLY * self.mtu / (self.rtt.as_secs() * libm::sqrt(loss))
    }

    /// Returns the bound that `suspect` exceeds, if there is one. `before` is its previous record, and `flows` the
    /// number of flows with drops.
    fn exceeded(self, suspect: Suspect, before: Option<Suspect>, flows: usize) -> Option<f64> {
        let Suspect { rate, part, loss, .. } = suspect;
        let friendly = self.friendly(loss);
        if rate > friendly {
            return Some(friendly);
        }
        // Unresponsive: when the drop rate rises by x, the rate of a responsive flow falls by the root of x.
        if let Some(before) = before.filter(|before| loss >= RISE * before.loss) {
            let responsive = before.rate * libm::sqrt(before.loss / loss);
            if rate > responsive {
                return Some(responsive);
            }
        }
        // Disproportionate bandwidth: a large part of the drops, and a high rate for this drop rate.
        let (flows, high) = (flows as f64, HIGH / libm::sqrt(loss));
        (part > libm::log(3.0 * flows) / flows && rate > high).then_some(high)
    }
}

/// A drop in the log.
#[derive(Clone, Copy, Debug, PartialEq)]
struct LoggedDrop {
    flow: FlowKey,
    bytes: u64,
}

/// The flow with most of a period's drops.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Suspect {
    flow: FlowKey,
    /// In bytes a second.
    rate: f64,
    /// Its part of the drops.
    part: f64,
    /// The drop rate of all flows.
    loss: f64,
}

/// A flow in the box.
#[derive(Clone, Copy, Debug, PartialEq)]
struct BoxedFlow {
    flow: FlowKey,
    /// The rate that it must fall below, in bytes a second.
    bound: f64,
    /// Bytes that arrived in this period.
    arrived: u64,
    /// The number of periods in a row in which it was below the bound.
    calm: u32,
}

/// The log of drops, the tests and the flows in the box.
#[derive(Debug)]
struct FlowMonitor {
    bounds: Bounds,
    period: Duration,
    /// A ring of the last drops.
    log: Vec<LoggedDrop>,
    history: usize,
    /// The number of drops in this period.
    drops: usize,
    began: Time,
    /// The bytes that reached RED in this period, and those of them that were dropped or marked.
    arrived: u64,
    dropped: u64,
    numbers: FlowTable,
    /// The flows in the box by their numbers; `None` where a number is not in use.
    boxed: Vec<Option<BoxedFlow>>,
    /// The flows that were judged and not boxed, each at its lowest drop rate; the one judged longest ago is first.
    seen: Vec<Suspect>,
}

impl FlowMonitor {
    fn new(config: &Config, seed: Seed) -> Self {
        Self {
            bounds: config.bounds(),
            period: config.interval,
            log: Vec::new(),
            history: config.history as usize,
            drops: 0,
            began: Time::ZERO,
            arrived: 0,
            dropped: 0,
            numbers: FlowTable::new(seed),
            boxed: Vec::new(),
            seen: Vec::new(),
        }
    }

    /// Ends the periods that are over at `now`.
    fn advance(&mut self, now: Time) {
        let mut empty = 0;
        while now.since(self.began) >= self.period {
            let quiet = self.arrived == 0 && self.boxed.iter().flatten().all(|boxed| boxed.arrived == 0);
            // After two empty periods the box is empty, and nothing changes any more.
            if quiet && empty > RELEASE {
                let left = now.since(self.began).as_nanos() / self.period.as_nanos();
                self.began += Duration::from_nanos(left * self.period.as_nanos());
                return;
            }
            empty += u32::from(quiet);
            self.end_period(self.began + self.period);
        }
        if self.drops >= self.history && now.since(self.began) >= self.bounds.rtt {
            self.end_period(now);
        }
    }

    fn end_period(&mut self, now: Time) {
        let secs = (now - self.began).as_secs();
        self.release(secs);
        if let Some((suspect, flows)) = self.suspect(secs) {
            self.judge(suspect, flows);
        }
        self.log.clear();
        (self.drops, self.arrived, self.dropped) = (0, 0, 0);
        self.began = now;
    }

    /// Releases the flows that have been below their bounds for two periods.
    fn release(&mut self, secs: f64) {
        for slot in &mut self.boxed {
            let Some(flow) = slot else { continue };
            let calm = (flow.arrived as f64) < flow.bound * secs;
            flow.calm = if calm { flow.calm + 1 } else { 0 };
            flow.arrived = 0;
            if flow.calm == RELEASE {
                self.numbers.remove(flow.flow);
                *slot = None;
            }
        }
    }

    /// Returns the flow with most bytes in the log, or of several the one with the smallest key, and the number of
    /// flows in the log.
    fn suspect(&mut self, secs: f64) -> Option<(Suspect, usize)> {
        let all: u64 = self.log.iter().map(|logged| logged.bytes).sum();
        self.log.sort_unstable_by_key(|logged| logged.flow);
        let (mut flows, mut most) = (0, LoggedDrop { flow: FlowKey::NONE, bytes: 0 });
        for group in self.log.chunk_by(|a, b| a.flow == b.flow) {
            let bytes = group.iter().map(|logged| logged.bytes).sum();
            flows += 1;
            if bytes > most.bytes {
                most = LoggedDrop { flow: group[0].flow, bytes };
            }
        }
        if most.bytes == 0 {
            return None;
        }
        let part = most.bytes as f64 / all as f64;
        let rate = part * self.arrived as f64 / secs;
        Some((Suspect { flow: most.flow, rate, part, loss: self.dropped as f64 / self.arrived as f64 }, flows))
    }

    /// Puts `suspect` into the box if it exceeds a bound, and remembers it if not. A flow in the box is not judged
    /// again.
    fn judge(&mut self, suspect: Suspect, flows: usize) {
        if self.numbers.get(suspect.flow).is_some() {
            return;
        }
        let before = self.seen.iter().position(|seen| seen.flow == suspect.flow).map(|at| self.seen.remove(at));
        match self.bounds.exceeded(suspect, before, flows) {
            Some(bound) => self.put_into_box(suspect.flow, bound),
            None => {
                if self.seen.len() == SEEN {
                    self.seen.remove(0);
                }
                self.seen.push(before.filter(|before| before.loss < suspect.loss).unwrap_or(suspect));
            }
        }
    }

    fn put_into_box(&mut self, flow: FlowKey, bound: f64) {
        if self.numbers.flows() == MOST_BOXED {
            return;
        }
        let (number, _) = self.numbers.insert(flow);
        let boxed = Some(BoxedFlow { flow, bound, arrived: 0, calm: 0 });
        if number == self.boxed.len() {
            self.boxed.push(boxed);
        } else {
            self.boxed[number] = boxed;
        }
    }

    /// Logs a packet of `flow` that was dropped or marked.
    fn log(&mut self, flow: FlowKey, bytes: u32) {
        let logged = LoggedDrop { flow, bytes: u64::from(bytes) };
        self.dropped += u64::from(bytes);
        if self.log.len() < self.history {
            self.log.push(logged);
        } else {
            let oldest = self.drops % self.history;
            self.log[oldest] = logged;
        }
        self.drops += 1;
    }

    /// Counts an arrival of `flow`; returns whether the flow is in the box.
    fn count(&mut self, flow: FlowKey, bytes: u32) -> bool {
        if self.numbers.flows() == 0 {
            return false;
        }
        let Some(number) = self.numbers.get(flow) else { return false };
        if let Some(boxed) = &mut self.boxed[number] {
            boxed.arrived += u64::from(bytes);
        }
        true
    }
}

/// RED with a penalty box over a FIFO.
#[derive(Debug)]
pub struct PenaltyBox<P> {
    config: Config,
    red: Red<P>,
    monitor: FlowMonitor,
    /// `None` while the rate of the box is not known.
    bucket: Option<TokenBucket>,
}

impl<P: Packet> PenaltyBox<P> {
    /// Creates an empty queue.
    ///
    /// # Errors
    /// A value of `config` is out of its range, or RED's `min` is above `max` or has another unit.
    pub fn new(config: Config, seed: Seed) -> Result<Self, ParameterError> {
        let red = Red::new(red::Config { limit: config.limit, red: config.red, ..red::Config::default() }, seed)?;
        config.validate()?;
        let mut queue = Self { config, red, monitor: FlowMonitor::new(&config, seed), bucket: None };
        queue.fill_at(config.penalty_rate_at(None));
        Ok(queue)
    }

    /// Fills the bucket at `rate` from now on; without a rate there is no bucket.
    fn fill_at(&mut self, rate: Option<Rate>) {
        let Config { penalty_burst, red, .. } = self.config;
        match (rate, &mut self.bucket) {
            (Some(rate), Some(bucket)) => bucket.set_rate(rate),
            (Some(rate), None) => {
                let burst = Bytes::new(u64::from(penalty_burst.get()) * red.avpkt.get());
                self.bucket = Some(TokenBucket::new(rate, burst));
            }
            (None, _) => self.bucket = None,
        }
    }
}

impl<P: Packet> Qdisc<P> for PenaltyBox<P> {
    fn enqueue(&mut self, now: Time, packet: P, sink: &mut dyn DropSink<P>) -> Fate {
        let Self { red, monitor, bucket, .. } = self;
        monitor.advance(now);
        let (flow, bytes) = (packet.flow(), packet.bytes());
        red.arrive(now, &packet);
        let exceeds = monitor.count(flow, bytes) && bucket.as_mut().is_some_and(|bucket| !bucket.take(now, bytes));
        if exceeds && red.core.is_congested() {
            return red.buffer.discard(now, packet, Reason::RatePenalty, sink);
        }
        let fate = red.decide(now, packet, sink);
        monitor.arrived += u64::from(bytes);
        if fate != Fate::Queued {
            monitor.log(flow, bytes);
        }
        fate
    }

    fn dequeue(&mut self, now: Time, sink: &mut dyn DropSink<P>) -> Option<P> {
        self.red.dequeue(now, sink)
    }

    fn status(&self) -> Status {
        Status { flows: Some(self.monitor.numbers.flows()), ..self.red.status() }
    }

    fn counters(&self) -> &Counters {
        self.red.counters()
    }

    fn link_rate(&mut self, rate: Rate) {
        self.red.link_rate(rate);
        self.fill_at(self.config.penalty_rate_at((rate.bits_per_second() > 0).then_some(rate)));
    }
}

/// 1.5 sqrt(2/3): the bound of a TCP-friendly rate, times R sqrt(p) / B.
const FRIENDLY: f64 = 1.224_744_871_391_589;

/// A flow's response is judged when the drop rate has risen by this factor.
const RISE: f64 = 4.0;

/// A rate is high if it exceeds this over the root of the drop rate, in bytes a second (c): about sqrt(1.5) B / R for
/// packets of 512 bytes and a round-trip time of 50 ms.
const HIGH: f64 = 12_000.0;

/// The number of periods below the bound after which a flow is released.
const RELEASE: u32 = 2;

/// The most flows that are remembered although they were not boxed.
const SEEN: usize = 16;

/// The most flows in the box.
const MOST_BOXED: usize = 1024;

#[cfg(test)]
mod tests;
