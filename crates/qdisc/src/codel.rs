//! CoDel: when packets have waited too long for too long, they are dropped at the head, the more often the longer it lasts.
//!
//! A burst makes a queue that goes away by itself; what must be fought is the queue that stays. CoDel tells them apart by
//! the least delay within an interval: as long as some packet waits less than `target` within each, all is well.
//!
//! **Source.** RFC 8289, section 5 (Nichols, Jacobson, McGregor, Iyengar, 2018): the pseudocode, with its re-entry as
//! Linux has it. Marking and `ce_threshold` as tc-codel(8).
//!
//! **Deviations.** A mark counts as a signal and the packet leaves, so one call marks at most once, as in Linux; the RFC
//! leaves it open. The inverse square root is exact; Linux takes one Newton step.
//!
//! **Cost.** A push and a pop, and two comparisons; a square root and a division for each signal.

use alloc::format;

use crate::buffer::Buffer;
use crate::config::shared::{INTERVAL, TARGET};
use crate::config::{About, FlowState, Origin, ParameterError, Resolver};
use crate::delay::{CE_THRESHOLD, LIMIT_1000, MARK, MTU, judge_target, optional, packets};
use crate::fifo::Fifo;
use crate::signal::discard;
use crate::tagged::Stamped;
use crate::{Bytes, Counters, Duration, Fate, Packet, Qdisc, Reason, Seed, Size, Time};

mod core;
#[cfg(test)]
mod tests;

pub(crate) use self::core::{Backlog, CodelCore, CodelSettings, control_law};

/// What is known of it.
pub(crate) const ABOUT: About = About {
    name: "codel",
    summary: "drops at the head, more and more often, while packets wait too long for too long",
    source: "Nichols, Jacobson, McGregor, Iyengar: Controlled Delay Active Queue Management, RFC 8289",
    year: Some(2018),
    needs: "each packet's time of arrival",
    flow_state: FlowState::None,
    experimental: false,
    parameters: &[LIMIT_1000, TARGET, INTERVAL, MTU, MARK, CE_THRESHOLD],
};

/// What it is told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    limit: Size,
    codel: CodelSettings,
}

/// What it is told by what was given.
pub(crate) fn resolve(r: &mut Resolver<'_>) -> Result<Settings, ParameterError> {
    let limit = r.limit_or(Origin::Default("as tc(8)"), packets(1000))?;
    Ok(Settings { limit, codel: resolve_core(r, false)? })
}

/// What CoDel itself is told, with or without marks unless that was given.
pub(crate) fn resolve_core(r: &mut Resolver<'_>, ecn: bool) -> Result<CodelSettings, ParameterError> {
    let target = r.take("target", Origin::Default("RFC 8289, section 4.3"), Duration::from_millis(5))?;
    let interval = r.take("interval", Origin::Default("RFC 8289, section 4.3"), Duration::from_millis(100))?;
    let mtu = r.take("mtu", Origin::Default("an Ethernet frame, as tc(8)"), Bytes::new(1514))?;
    let ecn = r.take("ecn", Origin::Default("as tc(8)"), ecn)?;
    let ce_threshold = optional(r, "ce_threshold")?;
    judge_target(r, target, mtu);
    judge_interval(r, target, interval);
    Ok(CodelSettings { target, interval, mtu: mtu.get(), ecn, ce_threshold })
}

/// Says what is wrong with a target that the interval leaves no room for.
pub(crate) fn judge_interval(r: &mut Resolver<'_>, target: Duration, interval: Duration) {
    if target.as_nanos() > interval.as_nanos() / 2 {
        r.warn(format!(
            "target {target} is more than half of interval {interval}: RFC 8289 has it at a tenth or less, and the \
             delay of a single connection will stay near it"
        ));
    }
}

impl<P: Packet> Backlog<P> for Fifo<Stamped<P>> {
    fn pop(&mut self) -> Option<(P, Time)> {
        Self::pop(self).map(|stamped| (stamped.packet, stamped.tag))
    }

    fn bytes(&self) -> u64 {
        Self::bytes(self)
    }
}

/// CoDel over a FIFO.
#[derive(Debug)]
pub struct Codel<P> {
    buffer: Buffer<Stamped<P>>,
    settings: CodelSettings,
    core: CodelCore,
}

impl<P: Packet> Codel<P> {
    pub(crate) fn new(settings: Settings, _seed: Seed) -> Self {
        Self { buffer: Buffer::new(settings.limit), settings: settings.codel, core: CodelCore::new() }
    }
}

impl<P: Packet> Qdisc<P> for Codel<P> {
    fn enqueue(&mut self, now: Time, packet: P, fate: &mut impl Fate<P>) {
        self.buffer.counters.arrived.add(packet.bytes());
        if self.buffer.overflows(packet.bytes()) {
            discard(now, packet, Reason::Limit, &mut self.buffer.counters, fate);
        } else {
            self.buffer.fifo.push(Stamped::new(packet, now));
        }
    }

    fn dequeue(&mut self, now: Time, fate: &mut impl Fate<P>) -> Option<P> {
        let Buffer { fifo, counters, .. } = &mut self.buffer;
        let packet = self.core.dequeue(&self.settings, now, fifo, counters, fate)?;
        counters.departed.add(packet.bytes());
        Some(packet)
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
}
