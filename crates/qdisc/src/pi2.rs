//! PI2: a controller whose probability is squared for classic flows, so that it needs no tables to be stable.
//!
//! A classic flow slows down with the square root of its signals, so squaring the controller's output makes it linear.
//! Scalable flows, which slow down in proportion, are marked with the output itself, times `coupling_factor`: the two share
//! a link evenly.
//!
//! **Source.** De Schepper, Bondarenko, Tsang, Briscoe, "PI2: A Linearized AQM for both Classic and Scalable TCP", CoNEXT
//! 2016. Parameters, defaults and overload as RFC 9332 and tc-dualpi2(8); the paper's gains were 0.3125 and 3.125.
//!
//! **Deviations.** The delay is what the head of the queue has waited at the update, as in RFC 9332. The timer is made up
//! for at the next call, for at most 4096 periods (a minute).
//!
//! **Cost.** A push and a pop and one or two random numbers; an update every `tupdate`.

use crate::buffer::Buffer;
use crate::config::{About, FlowState, Origin, ParameterError, Resolver};
use crate::delay::{LIMIT_10000, packets};
use crate::fifo::Fifo;
use crate::signal::{discard, mark};
use crate::tagged::Stamped;
use crate::{Counters, Fate, Packet, Qdisc, Reason, Seed, Size, Stream, Time};

mod core;
#[cfg(test)]
mod tests;

pub(crate) use self::core::{
    ALPHA, BETA, COUPLING_FACTOR, DROP_OVERLOAD, MAX_RTT, PI_TARGET, PI_TUPDATE, PiCore, PiSettings,
};

/// What is known of it.
pub(crate) const ABOUT: About = About {
    name: "pi2",
    summary: "signals with the square of a controlled probability, and scalable flows with the probability itself",
    source: "De Schepper, Bondarenko, Tsang, Briscoe: PI2: A Linearized AQM for both Classic and Scalable TCP, CoNEXT 2016",
    year: Some(2016),
    needs: "the delay and its change, and which packets are of scalable flows",
    flow_state: FlowState::None,
    experimental: false,
    parameters: &[LIMIT_10000, PI_TARGET, PI_TUPDATE, ALPHA, BETA, MAX_RTT, COUPLING_FACTOR, DROP_OVERLOAD],
};

/// What it is told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    limit: Size,
    pi: PiSettings,
    drop_overload: bool,
}

/// What it is told by what was given.
pub(crate) fn resolve(r: &mut Resolver<'_>) -> Result<Settings, ParameterError> {
    let limit = r.limit_or(Origin::Default("as dualpi2 in tc(8)"), packets(10_000))?;
    let (pi, drop_overload) = PiSettings::resolve(r)?;
    Ok(Settings { limit, pi, drop_overload })
}

/// Whether a packet is of a scalable flow: it must be one that can be marked.
pub(crate) fn is_scalable<P: Packet>(packet: &P) -> bool {
    packet.l4s() && packet.ecn_capable()
}

/// When the head of `fifo` came.
pub(crate) fn head_arrival<P: Packet>(fifo: &Fifo<Stamped<P>>) -> Option<Time> {
    fifo.front().and_then(|place| fifo.packet(place)).map(|stamped| stamped.tag)
}

/// PI2 over a FIFO.
#[derive(Debug)]
pub struct Pi2<P> {
    buffer: Buffer<Stamped<P>>,
    core: PiCore,
    drop_overload: bool,
    rolls: Stream,
}

/// What becomes of an arrival.
enum Verdict {
    Pass,
    Mark,
    Drop,
}

impl<P: Packet> Pi2<P> {
    pub(crate) fn new(settings: Settings, seed: Seed) -> Self {
        let Settings { limit, pi, drop_overload } = settings;
        Self { buffer: Buffer::new(limit), core: PiCore::new(pi), drop_overload, rolls: seed.stream("pi2") }
    }

    fn run_timer(&mut self, now: Time) {
        let Self { buffer, core, .. } = self;
        core.run_timer(now, || head_arrival(&buffer.fifo));
    }

    /// An event with the probability p_C = p'^2: two with p'.
    fn classic(&mut self) -> bool {
        let probability = self.core.probability();
        self.rolls.chance(probability) && self.rolls.chance(probability)
    }

    fn test(&mut self, packet: &P) -> Verdict {
        let overload = self.drop_overload && self.core.scalable() >= 1.0;
        if is_scalable(packet) {
            if overload && self.classic() {
                return Verdict::Drop;
            }
            let scalable = self.core.scalable();
            return if self.rolls.chance(scalable) { Verdict::Mark } else { Verdict::Pass };
        }
        if !self.classic() {
            Verdict::Pass
        } else if packet.ecn_capable() && !overload {
            Verdict::Mark
        } else {
            Verdict::Drop
        }
    }
}

impl<P: Packet> Qdisc<P> for Pi2<P> {
    fn enqueue(&mut self, now: Time, mut packet: P, fate: &mut impl Fate<P>) {
        self.run_timer(now);
        self.buffer.counters.arrived.add(packet.bytes());
        if self.buffer.overflows(packet.bytes()) {
            discard(now, packet, Reason::Limit, &mut self.buffer.counters, fate);
            return;
        }
        match self.test(&packet) {
            Verdict::Drop => {
                discard(now, packet, Reason::Early, &mut self.buffer.counters, fate);
                return;
            }
            Verdict::Mark => mark(now, &mut packet, Reason::Early, &mut self.buffer.counters, fate),
            Verdict::Pass => {}
        }
        self.buffer.fifo.push(Stamped::new(packet, now));
    }

    fn dequeue(&mut self, now: Time, _fate: &mut impl Fate<P>) -> Option<P> {
        self.run_timer(now);
        self.buffer.depart().map(|stamped| stamped.packet)
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
