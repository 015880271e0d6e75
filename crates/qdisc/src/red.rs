//! Random Early Detection: signals congestion at random, the more the longer the *average* queue.
//!
//! **Source.** Floyd and Jacobson, "Random Early Detection Gateways for Congestion Avoidance", IEEE/ACM ToN 1(4),
//! 1993. Order of steps, idle time and the spared packet as in ns-2; `gentle` is Floyd's of 2000.
//!
//! **Deviations.** The average after an idle time decays by `m + 1` samples as in ns-2, where the paper has `m`.
//! A forced signal marks an ECN-capable packet unless `harddrop`; RFC 3168 and ns-2 drop.
//!
//! **Cost.** A few multiplications and one random number a packet between the thresholds; one division when the
//! queue ends an idle time.

use crate::buffer::Buffer;
use crate::config::shared::red_and;
use crate::config::{About, FlowState, ParameterError, Resolver};
use crate::{Counters, Fate, Packet, Qdisc, Reason, Seed, Size, Stream, Time};

/// What is known of it.
pub(crate) const ABOUT: About = About {
    name: "red",
    summary: "signals at random, the more the longer the average queue",
    source: "Floyd, Jacobson: Random Early Detection Gateways for Congestion Avoidance, IEEE/ACM ToN 1(4)",
    year: Some(1993),
    needs: "the average",
    flow_state: FlowState::None,
    experimental: false,
    parameters: red_and!(),
};

/// What RED over a FIFO is told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// The hard limit.
    pub(crate) limit: Size,
    /// RED's part.
    pub(crate) red: RedSettings,
}

/// What it is told by what was given.
pub(crate) fn resolve(r: &mut Resolver<'_>) -> Result<Settings, ParameterError> {
    let limit = r.limit()?;
    Ok(Settings { limit, red: r.red(limit)? })
}

/// How the gaps between early signals are spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Uniformize {
    /// Not at all: each packet is tried with `p_b`, gaps are geometric.
    None,
    /// Gaps uniform on 1..1/p_b-1 (the paper).
    Count,
    /// Gaps uniform on 1/p_b..2/p_b-1 (ns-2's `wait`).
    Wait,
}

/// What RED is told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RedSettings {
    /// The lower threshold of the average, in packets or bytes.
    pub(crate) min: f64,
    /// The upper threshold, in the same unit.
    pub(crate) max: f64,
    /// Whether the thresholds and the average are in bytes.
    pub(crate) in_bytes: bool,
    /// The probability `max_p` that the base probability reaches at `max`.
    pub(crate) probability: f64,
    /// The weight of a sample in the average.
    pub(crate) weight: f64,
    /// Whether the probability climbs to 1 between `max` and twice `max` rather than at once.
    pub(crate) gentle: bool,
    /// How the gaps are spread.
    pub(crate) uniformize: Uniformize,
    /// Whether ns-2's two exceptions hold: see [`RedCore::test`].
    pub(crate) spare: bool,
    /// Whether the probability is proportional to the packet's size.
    pub(crate) byte_drop: bool,
    /// The mean packet, in bytes.
    pub(crate) avpkt: u64,
    /// How long the link takes for a mean packet, in nanoseconds; not 0.
    pub(crate) slot: u64,
    /// Whether a signal marks a packet that can be marked.
    pub(crate) ecn: bool,
    /// Whether a forced signal drops all the same.
    pub(crate) harddrop: bool,
}

/// What RED says of one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Queue it.
    Pass,
    /// Queue it marked.
    Mark(Reason),
    /// Drop it.
    Drop(Reason),
}

/// RED's average, curve and spacing, without a queue: shared by all who build on RED.
#[derive(Debug)]
pub(crate) struct RedCore {
    settings: RedSettings,
    average: f64,
    idle_since: Option<Time>,
    /// Packets since the last signal; -1 below `min`.
    count: f64,
    /// The same in mean packets' worth of bytes.
    count_bytes: f64,
    /// Whether the packet that found the average above `min` first has passed.
    old: bool,
    slope: f64,
    gentle_slope: f64,
    per_avpkt: f64,
    rolls: Stream,
}

impl RedCore {
    pub(crate) fn new(settings: RedSettings, seed: Seed) -> Self {
        let mut core = Self {
            settings,
            average: 0.0,
            idle_since: None,
            count: -1.0,
            count_bytes: 0.0,
            old: false,
            slope: 0.0,
            gentle_slope: 0.0,
            per_avpkt: 1.0 / settings.avpkt as f64,
            rolls: seed.stream("red"),
        };
        core.set_probability(settings.probability);
        core
    }

    /// Sets `max_p`.
    pub(crate) fn set_probability(&mut self, probability: f64) {
        let RedSettings { min, max, .. } = self.settings;
        self.settings.probability = probability;
        // Where the thresholds are one the curve is a step and no average lies on the slope.
        self.slope = if max > min { probability / (max - min) } else { 0.0 };
        self.gentle_slope = if max > 0.0 { (1.0 - probability) / max } else { 0.0 };
    }

    /// What RED was told; `probability` is as last set.
    pub(crate) const fn settings(&self) -> &RedSettings {
        &self.settings
    }

    /// The average.
    pub(crate) const fn average(&self) -> f64 {
        self.average
    }

    /// The occupancy in the average's unit.
    fn occupancy<P: Packet>(&self, buffer: &Buffer<P>) -> f64 {
        if self.settings.in_bytes { buffer.fifo.bytes() as f64 } else { buffer.fifo.packets() as f64 }
    }

    /// Takes the occupancy that an arrival sees into the average.
    pub(crate) fn arrive<P: Packet>(&mut self, now: Time, buffer: &Buffer<P>) {
        self.sample(now, self.occupancy(buffer));
    }

    /// The same where the queue is not a [`Buffer`]; `occupancy` is in the average's unit.
    pub(crate) fn sample(&mut self, now: Time, occupancy: f64) {
        let keep = 1.0 - self.settings.weight;
        if let Some(since) = self.idle_since.take() {
            let slots = now.since(since).as_nanos() / self.settings.slot;
            self.average *= power(keep, slots);
        }
        self.average = keep * self.average + self.settings.weight * occupancy;
    }

    /// The link asked and found nothing.
    pub(crate) fn idle(&mut self, now: Time) {
        self.idle_since.get_or_insert(now);
    }

    /// Whether the average is where every packet is signalled.
    pub(crate) fn is_forced(&self) -> bool {
        let RedSettings { max, gentle, .. } = self.settings;
        self.average >= if gentle { 2.0 * max } else { max }
    }

    /// The base probability `p_b`: 0 below `min`, `max_p` at `max`.
    pub(crate) fn base_probability(&self) -> f64 {
        let RedSettings { min, max, probability, .. } = self.settings;
        if self.average < min {
            0.0
        } else if self.is_forced() {
            1.0
        } else if self.average < max {
            self.slope * (self.average - min)
        } else {
            probability + self.gentle_slope * (self.average - max)
        }
    }

    /// RED's stage for a packet of `bytes` bytes that finds `backlog` packets.
    ///
    /// With `spare` a packet that finds at most one packet queued passes, and so does the first that finds the
    /// average at or above `min`, unless it is forced.
    pub(crate) fn test(&mut self, backlog: usize, bytes: u32) -> Option<Reason> {
        if self.average < self.settings.min || (self.settings.spare && backlog <= 1) {
            self.old = false;
            self.count = -1.0;
            self.count_bytes = 0.0;
            return None;
        }
        let size = f64::from(bytes) * self.per_avpkt;
        if self.is_forced() {
            self.restart(0.0, 0.0);
            return Some(Reason::Forced);
        }
        if self.settings.spare && !self.old {
            self.old = true;
            self.restart(1.0, size);
            return None;
        }
        self.count += 1.0;
        self.count_bytes += size;
        if !self.roll(size) {
            return None;
        }
        self.restart(0.0, 0.0);
        Some(Reason::Early)
    }

    fn restart(&mut self, count: f64, count_bytes: f64) {
        self.count = count;
        self.count_bytes = count_bytes;
    }

    /// Whether the roll for a packet of `size` mean packets signals.
    fn roll(&mut self, size: f64) -> bool {
        let base = self.base_probability();
        let roll = self.rolls.unit();
        let spaced = base * if self.settings.byte_drop { self.count_bytes } else { self.count };
        // p_a = base / room. It is compared multiplied by the room, which saves the division.
        let room = match self.settings.uniformize {
            Uniformize::None => 1.0,
            Uniformize::Count => 1.0 - spaced,
            Uniformize::Wait if spaced < 1.0 => return false,
            Uniformize::Wait => 2.0 - spaced,
        };
        if base >= room {
            return true;
        }
        roll * room < if self.settings.byte_drop { base * size } else { base }
    }

    /// What a signal for `reason` does to a packet that is `ecn_capable` or not.
    pub(crate) fn signal(&self, reason: Option<Reason>, ecn_capable: bool) -> Verdict {
        let Some(reason) = reason else { return Verdict::Pass };
        let hard = self.settings.harddrop && reason == Reason::Forced;
        if self.settings.ecn && ecn_capable && !hard { Verdict::Mark(reason) } else { Verdict::Drop(reason) }
    }
}

/// Carries out `verdict` on `packet`; whether it was queued.
#[inline(always)]
pub(crate) fn carry_out<P: Packet>(
    buffer: &mut Buffer<P>,
    now: Time,
    packet: P,
    verdict: Verdict,
    fate: &mut impl Fate<P>,
) -> bool {
    match verdict {
        Verdict::Pass => buffer.admit(now, packet, None, fate),
        Verdict::Mark(reason) => buffer.admit(now, packet, Some(reason), fate),
        Verdict::Drop(reason) => {
            buffer.discard(now, packet, reason, fate);
            false
        }
    }
}

/// `base` to the `exponent` by repeated squaring: any idle time costs at most 64 steps and cannot overflow.
pub(crate) fn power(mut base: f64, mut exponent: u64) -> f64 {
    let mut result = 1.0;
    while exponent > 0 {
        if exponent & 1 == 1 {
            result *= base;
        }
        base *= base;
        exponent >>= 1;
    }
    result
}

/// Random Early Detection over a FIFO.
#[derive(Debug)]
pub struct Red<P> {
    buffer: Buffer<P>,
    core: RedCore,
}

impl<P: Packet> Red<P> {
    pub(crate) fn new(settings: Settings, seed: Seed) -> Self {
        Self { buffer: Buffer::new(settings.limit), core: RedCore::new(settings.red, seed) }
    }

    /// RED without its queue, for tests of what adapts it.
    #[cfg(test)]
    pub(crate) const fn core(&self) -> &RedCore {
        &self.core
    }

    /// [`Qdisc::enqueue`] with a change to RED between the average and the decision.
    pub(crate) fn enqueue_with(
        &mut self,
        now: Time,
        packet: P,
        fate: &mut impl Fate<P>,
        adapt: impl FnOnce(&mut RedCore),
    ) {
        self.buffer.arrive(&packet);
        self.core.arrive(now, &self.buffer);
        adapt(&mut self.core);
        let signal = self.core.test(self.buffer.fifo.packets(), packet.bytes());
        let verdict = self.core.signal(signal, packet.ecn_capable());
        carry_out(&mut self.buffer, now, packet, verdict, fate);
    }
}

impl<P: Packet> Qdisc<P> for Red<P> {
    fn enqueue(&mut self, now: Time, packet: P, fate: &mut impl Fate<P>) {
        self.enqueue_with(now, packet, fate, |_| ());
    }

    fn dequeue(&mut self, now: Time, _fate: &mut impl Fate<P>) -> Option<P> {
        let packet = self.buffer.depart();
        if packet.is_none() {
            self.core.idle(now);
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
        Some(self.core.average())
    }

    fn probability(&self) -> Option<f64> {
        Some(self.core.base_probability())
    }
}

#[cfg(test)]
mod tests;
