//! RED with a penalty box: flows that RED's drops show to send too much are held to a small part of the link together.
//!
//! RED drops each flow in proportion to what it sends, so the flow with most of the logged drops sends most, and its
//! part of them is its part of what arrives. Once a period its rate is put to three tests: would a TCP send so
//! much at this drop rate, did it slow down when the drop rate rose, and is it far above an equal share. Who fails one goes
//! into the box: its packets need tokens of a bucket that all boxed flows share, and only then reach RED. It is let out when it has
//! sent less than the test allows for two periods.
//!
//! **Source.** Floyd, Fall, "Promoting the Use of End-to-End Congestion Control in the Internet", IEEE/ACM ToN 7(4),
//! 1999; Floyd, Fall, "Router Mechanisms to Support End-to-End Congestion Control", 1997. Their texts were not at hand: the
//! constants are from memory.
//!
//! **Deviations.** A period is judged when something arrives after its end. It ends early, but not within a round-trip
//! time, when the log is full. One flow is judged a period, the one with most bytes in the log. The bound that a
//! flow must fall below is the one that it was boxed by: in the box it causes no drops that would give a new one. Whether a
//! flow responds is judged when the drop rate has risen fourfold, against its lowest so far. A mark counts as a drop does.
//!
//! **Cost.** RED's; while somebody is boxed, a look-up of the flow. At the end of a period the log is sorted.

use alloc::format;
use alloc::vec::Vec;

use crate::buffer::Buffer;
use crate::config::shared::*;
use crate::config::{About, Domain, FlowState, Origin, Parameter, ParameterError, Resolver, parameter};
use crate::flow_table::FlowTable;
use crate::red::{RedCore, RedSettings, Verdict, carry_out};
use crate::{Bytes, Counters, Duration, Fate, FlowKey, Packet, Packets, Qdisc, Rate, Reason, Seed, Size, Time};

/// What is known of it.
pub(crate) const ABOUT: About = About {
    name: "red-penalty-box",
    summary: "RED that holds flows together to a small rate when its drops show that they send too much",
    source: "Floyd, Fall: Promoting the Use of End-to-End Congestion Control in the Internet, IEEE/ACM ToN 7(4)",
    year: Some(1999),
    needs: "the average, a log of `history` drops and the flows in the box",
    flow_state: FlowState::Fixed,
    experimental: false,
    parameters: red_and!(HISTORY, PERIOD, RTT, MTU, PENALTY_RATE, PENALTY_BURST),
};

const HISTORY: Parameter = parameter(
    "history",
    Domain::Count { min: 1, max: 65_536, infinite: false },
    "256",
    "drops in the log; when as many have happened, a period ends (D)",
)
.elsewhere(&["D", "log"]);
const PERIOD: Parameter =
    parameter("interval", Domain::Duration, "5s", "how long a period is, at most (T)").elsewhere(&["T", "period"]);
const RTT: Parameter = parameter(
    "rtt",
    Domain::Duration,
    "40ms, as red-pd",
    "least round-trip time of a TCP: what it would send at most is what a flow may (R)",
)
.elsewhere(&["R"]);
const MTU: Parameter =
    parameter("mtu", Domain::Bytes, "1500b, Ethernet's", "largest packet of that TCP (B)").elsewhere(&["B"]);
const PENALTY_RATE: Parameter = parameter(
    "penalty_rate",
    Domain::Rate,
    "5 % of `bandwidth`",
    "what the boxed flows get together, by a token bucket",
)
.elsewhere(&["box_rate"]);
const PENALTY_BURST: Parameter = parameter(
    "penalty_burst",
    Domain::Packets,
    "20p, as tc-sfb(8)",
    "mean packets that the boxed flows may send at once",
);

/// What it is told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    limit: Size,
    red: RedSettings,
    bounds: Bounds,
    history: usize,
    period: Duration,
    /// In bytes a nanosecond.
    penalty_rate: f64,
    /// In bytes.
    penalty_burst: f64,
}

/// What it is told by what was given.
pub(crate) fn resolve(r: &mut Resolver<'_>) -> Result<Settings, ParameterError> {
    let limit = r.limit()?;
    let red = r.red(limit)?;
    let history: u32 = r.take("history", Origin::Default("a part of 1 % is two or three drops"), 256)?;
    let period = r.take("interval", Origin::Default("long against round-trip times"), Duration::from_millis(5000))?;
    let rtt = r.take("rtt", Origin::Default("as red-pd"), Duration::from_millis(40))?;
    let mtu = r.take("mtu", Origin::Default("Ethernet's"), Bytes::new(1500))?;
    let bandwidth = r.given("bandwidth")?.unwrap_or(r.rate());
    let part = Rate::from_bits_per_second((bandwidth.bits_per_second() / 20).max(1));
    let rate = r.take("penalty_rate", Origin::Derived("5 % of bandwidth"), part)?;
    let burst = r.take("penalty_burst", Origin::Default("as tc-sfb(8)"), Packets::new(20))?;
    let penalty_burst = f64::from(burst.get()) * red.avpkt as f64;
    if rate >= bandwidth {
        r.warn(format!("penalty_rate {rate} is not below bandwidth {bandwidth}: the box holds nobody"));
    }
    if penalty_burst < mtu.get() as f64 {
        r.warn(format!("penalty_burst {burst} is less than mtu {mtu}: the box lets no such packet through"));
    }
    if period <= rtt {
        r.warn(format!("interval {period} is not above rtt {rtt}: rates are not yet what flows send"));
    }
    let bounds = Bounds { rtt, mtu: mtu.get() as f64 };
    r.say(format!("at a drop rate of 1 % a flow may send {:.0} kB/s", bounds.friendly(0.01) / 1000.0));
    Ok(Settings {
        limit,
        red,
        bounds,
        history: history as usize,
        period,
        penalty_rate: rate.bits_per_second() as f64 / 8e9,
        penalty_burst,
    })
}

/// What a flow may send.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    rtt: Duration,
    mtu: f64,
}

impl Bounds {
    /// What a TCP would send at most at a drop rate of `loss`, and half as much again, in bytes a second.
    fn friendly(self, loss: f64) -> f64 {
        FRIENDLY * self.mtu / (self.rtt.as_secs() * libm::sqrt(loss))
    }

    /// The bound that `suspect` is above, if there is one, at a drop rate of `loss` among `flows` flows with drops.
    fn exceeded(self, suspect: Suspect, before: Option<Suspect>, flows: usize) -> Option<f64> {
        let Suspect { rate, part, loss, .. } = suspect;
        let friendly = self.friendly(loss);
        if rate > friendly {
            return Some(friendly);
        }
        // When losses rise by x the rate of a flow that responds falls by the root of x.
        if let Some(before) = before.filter(|before| loss >= RISE * before.loss) {
            let responsive = before.rate * libm::sqrt(before.loss / loss);
            if rate > responsive {
                return Some(responsive);
            }
        }
        let (flows, high) = (flows as f64, HIGH / libm::sqrt(loss));
        (part > libm::log(3.0 * flows) / flows && rate > high).then_some(high)
    }
}

/// A logged drop.
#[derive(Clone, Copy, Debug)]
struct Logged {
    flow: FlowKey,
    bytes: u64,
}

/// The flow with most of a period's drops.
#[derive(Clone, Copy, Debug)]
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
#[derive(Clone, Copy, Debug)]
struct Boxed {
    flow: FlowKey,
    /// What it must fall below, in bytes a second.
    bound: f64,
    /// Bytes that arrived in this period.
    arrived: u64,
    /// Periods in a row below the bound.
    calm: u32,
}

/// The log, the tests and the box.
#[derive(Debug)]
struct Watch {
    bounds: Bounds,
    period: Duration,
    /// A ring of the last drops.
    log: Vec<Logged>,
    history: usize,
    /// Drops of this period.
    drops: usize,
    began: Time,
    /// Bytes that reached RED in this period, and those that it dropped or marked.
    arrived: u64,
    dropped: u64,
    numbers: FlowTable,
    /// By number; nobody where a number is not in use.
    boxed: Vec<Option<Boxed>>,
    /// Flows that were judged and not boxed, each at its lowest drop rate; the longest unseen first.
    seen: Vec<Suspect>,
}

impl Watch {
    fn new(settings: &Settings, seed: Seed) -> Self {
        Self {
            bounds: settings.bounds,
            period: settings.period,
            log: Vec::new(),
            history: settings.history,
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
            // After two empty periods everybody is out, and nothing changes any more.
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

    /// Lets out who has been below the bound for two periods.
    fn release(&mut self, secs: f64) {
        for place in &mut self.boxed {
            let Some(flow) = place else { continue };
            let calm = (flow.arrived as f64) < flow.bound * secs;
            flow.calm = if calm { flow.calm + 1 } else { 0 };
            flow.arrived = 0;
            if flow.calm == RELEASE {
                self.numbers.remove(flow.flow);
                *place = None;
            }
        }
    }

    /// The flow with most bytes in the log, of equal ones that with the smallest key; and how many flows are there.
    fn suspect(&mut self, secs: f64) -> Option<(Suspect, usize)> {
        let all: u64 = self.log.iter().map(|logged| logged.bytes).sum();
        self.log.sort_unstable_by_key(|logged| logged.flow);
        let (mut flows, mut most) = (0, Logged { flow: FlowKey::NONE, bytes: 0 });
        for group in self.log.chunk_by(|a, b| a.flow == b.flow) {
            let bytes = group.iter().map(|logged| logged.bytes).sum();
            flows += 1;
            if bytes > most.bytes {
                most = Logged { flow: group[0].flow, bytes };
            }
        }
        if most.bytes == 0 {
            return None;
        }
        let part = most.bytes as f64 / all as f64;
        let rate = part * self.arrived as f64 / secs;
        Some((Suspect { flow: most.flow, rate, part, loss: self.dropped as f64 / self.arrived as f64 }, flows))
    }

    /// Boxes `suspect` if it exceeds a bound, and remembers it if not. Who is in the box is not judged again.
    fn judge(&mut self, suspect: Suspect, flows: usize) {
        if self.numbers.get(suspect.flow).is_some() {
            return;
        }
        let before = self.seen.iter().position(|seen| seen.flow == suspect.flow).map(|at| self.seen.remove(at));
        match self.bounds.exceeded(suspect, before, flows) {
            Some(bound) => self.lock_up(suspect.flow, bound),
            None => {
                if self.seen.len() == SEEN {
                    self.seen.remove(0);
                }
                self.seen.push(before.filter(|before| before.loss < suspect.loss).unwrap_or(suspect));
            }
        }
    }

    fn lock_up(&mut self, flow: FlowKey, bound: f64) {
        if self.numbers.flows() == MOST_BOXED {
            return;
        }
        let (number, _) = self.numbers.insert(flow);
        let boxed = Some(Boxed { flow, bound, arrived: 0, calm: 0 });
        if number == self.boxed.len() {
            self.boxed.push(boxed);
        } else {
            self.boxed[number] = boxed;
        }
    }

    /// RED dropped or marked a packet.
    fn log(&mut self, flow: FlowKey, bytes: u32) {
        let logged = Logged { flow, bytes: u64::from(bytes) };
        self.dropped += u64::from(bytes);
        if self.log.len() < self.history {
            self.log.push(logged);
        } else {
            let oldest = self.drops % self.history;
            self.log[oldest] = logged;
        }
        self.drops += 1;
    }
}

/// What the boxed flows may send.
#[derive(Debug)]
struct Bucket {
    /// In bytes a nanosecond.
    rate: f64,
    burst: f64,
    tokens: f64,
    filled: Time,
}

impl Bucket {
    /// Takes the tokens for `bytes` bytes, if there are as many.
    fn take(&mut self, now: Time, bytes: u32) -> bool {
        self.tokens = (self.tokens + self.rate * now.since(self.filled).as_nanos() as f64).min(self.burst);
        self.filled = now;
        let enough = self.tokens >= f64::from(bytes);
        if enough {
            self.tokens -= f64::from(bytes);
        }
        enough
    }
}

/// RED with a penalty box over a FIFO.
#[derive(Debug)]
pub struct PenaltyBox<P> {
    buffer: Buffer<P>,
    red: RedCore,
    watch: Watch,
    bucket: Bucket,
}

impl<P: Packet> PenaltyBox<P> {
    pub(crate) fn new(settings: Settings, seed: Seed) -> Self {
        let Settings { penalty_rate: rate, penalty_burst: burst, .. } = settings;
        Self {
            buffer: Buffer::new(settings.limit),
            red: RedCore::new(settings.red, seed),
            watch: Watch::new(&settings, seed),
            bucket: Bucket { rate, burst, tokens: burst, filled: Time::ZERO },
        }
    }

    /// Counts an arrival of `flow`; whether the box drops it.
    fn holds(&mut self, now: Time, flow: FlowKey, bytes: u32) -> bool {
        if self.watch.numbers.flows() == 0 {
            return false;
        }
        let Some(number) = self.watch.numbers.get(flow) else { return false };
        if let Some(boxed) = &mut self.watch.boxed[number] {
            boxed.arrived += u64::from(bytes);
        }
        !self.bucket.take(now, bytes)
    }
}

impl<P: Packet> Qdisc<P> for PenaltyBox<P> {
    fn enqueue(&mut self, now: Time, packet: P, fate: &mut impl Fate<P>) {
        self.watch.advance(now);
        self.buffer.arrive(&packet);
        self.red.arrive(now, &self.buffer);
        let (flow, bytes) = (packet.flow(), packet.bytes());
        if self.holds(now, flow, bytes) {
            self.buffer.discard(now, packet, Reason::RatePenalty, fate);
            return;
        }
        let signal = self.red.test(self.buffer.fifo.packets(), bytes);
        let verdict = self.red.signal(signal, packet.ecn_capable());
        let admitted = carry_out(&mut self.buffer, now, packet, verdict, fate);
        self.watch.arrived += u64::from(bytes);
        if !admitted || matches!(verdict, Verdict::Mark(_)) {
            self.watch.log(flow, bytes);
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

/// 1.5 times the root of 2/3: the rate of a TCP, times R sqrt(p) / B, and half as much again.
const FRIENDLY: f64 = 1.224_744_871_391_589;

/// Whether a flow responds is judged when the drop rate is this many times what it was.
const RISE: f64 = 4.0;

/// A flow of very high bandwidth sends more than this over the root of the drop rate, in bytes a second (c).
const HIGH: f64 = 12_000.0;

/// Periods below the bound after which a flow is let out.
const RELEASE: u32 = 2;

/// Flows that are remembered though they were not boxed.
const SEEN: usize = 16;

/// More are not boxed.
const MOST_BOXED: usize = 1024;

#[cfg(test)]
mod tests;
