//! BLUE: learns the probability of a signal from lost packets and from an idle link, not from the queue's length.
//!
//! A packet that finds the queue full says that senders hear too few signals: the probability rises. A link that
//! finds the queue empty says that they hear too many: it falls. Between two changes lies at least the freeze time,
//! so that the senders' answer to one is seen before the next.
//!
//! **Source.** Feng, Shin, Kandlur, Saha, "BLUE: A New Class of Active Queue Management Algorithms", CSE-TR-387-99,
//! 1999, figure 3 with its variation; IEEE/ACM ToN 10(4), 2002.
//!
//! **Deviations.** The first event changes the probability whenever it comes: no freeze time precedes it. The figure
//! has events and says nothing of a link that stays idle: here the probability goes on falling, once a freeze time, or
//! falls once (`idle`). A freeze time with `jitter` is drawn when the probability changes; the changes that one look
//! at an idle time makes up for share one. A packet that finds no room is a loss, and is not tried for a signal.
//!
//! **Cost.** One random number a packet; one division when the queue ends an idle time longer than the freeze time.

use alloc::format;
use alloc::string::ToString;

use crate::buffer::Buffer;
use crate::config::shared::{ECN, LIMIT};
use crate::config::{About, Domain, FlowState, Origin, Parameter, ParameterError, Resolver, parameter};
use crate::{Counters, Duration, Fate, Packet, Qdisc, Reason, Seed, Size, Stream, Time};

/// What is known of it.
pub(crate) const ABOUT: About = About {
    name: "blue",
    summary: "signals at random, more after each loss and less when the link is idle",
    source: "Feng, Shin, Kandlur, Saha: The BLUE Active Queue Management Algorithms, IEEE/ACM ToN 10(4)",
    year: Some(2002),
    needs: "nothing",
    flow_state: FlowState::None,
    experimental: false,
    parameters: &[LIMIT, INCREMENT, DECREMENT, FREEZE, JITTER, TRIGGER, IDLE, BLUE_ECN],
};

const INCREMENT: Parameter = parameter(
    "increment",
    Domain::Ratio,
    "0.02, the paper's configuration B4",
    "what a loss adds to the probability of a signal (delta_1)",
)
.elsewhere(&["d1", "delta1", "Increment"]);
const DECREMENT: Parameter = parameter(
    "decrement",
    Domain::Ratio,
    "0.002, the paper's configuration B4",
    "what an idle link takes from the probability (delta_2)",
)
.elsewhere(&["d2", "delta2", "Decrement"]);
const FREEZE: Parameter = parameter(
    "freeze",
    Domain::Duration,
    "100ms, the paper's configuration B4",
    "least time between two changes of the probability: about a round trip",
)
.elsewhere(&["freeze_time", "FreezeTime", "hold_time"]);
const JITTER: Parameter = parameter(
    "jitter",
    Domain::Switch,
    "false",
    "each freeze time is drawn from half to one and a half of `freeze`, against synchronised routers",
);
const TRIGGER: Parameter = parameter(
    "trigger",
    Domain::Size,
    "never",
    "a queue longer than this counts as a loss too, which keeps room for bursts and bounds the delay (L)",
)
.elsewhere(&["L", "length"]);
const IDLE: Parameter = parameter(
    "idle",
    Domain::Choice(&["repeated", "once"]),
    "repeated",
    "an idle link takes `decrement` every freeze time, or once until a packet is queued",
);
const BLUE_ECN: Parameter =
    Parameter { meaning: "signals mark packets that can be marked; the limit always drops", ..ECN };

/// What it is told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    limit: Size,
    increment: f64,
    decrement: f64,
    freeze: Duration,
    jitter: bool,
    trigger: Option<Size>,
    /// Whether an idle link goes on lowering the probability.
    repeated: bool,
    ecn: bool,
}

/// What it is told by what was given.
pub(crate) fn resolve(r: &mut Resolver<'_>) -> Result<Settings, ParameterError> {
    let b4 = Origin::Default("the paper's configuration B4");
    let limit = r.limit()?;
    let increment = r.take("increment", b4.clone(), 0.02)?;
    let decrement = r.take("decrement", b4.clone(), 0.002)?;
    let freeze = r.take("freeze", b4, Duration::from_millis(100))?;
    let jitter = r.take("jitter", Origin::Default("the paper's experiments"), false)?;
    let trigger = r.given::<Size>("trigger")?;
    match trigger {
        Some(length) => r.note("trigger", length.to_string(), Origin::Given),
        None => r.note("trigger", "never".to_string(), Origin::Default("the basic algorithm")),
    }
    let idle = r.take("idle", Origin::Default("while the link is idle, it is idle"), "repeated")?;
    let ecn = r.take("ecn", Origin::Default("senders must agree"), false)?;
    let settings = Settings { limit, increment, decrement, freeze, jitter, trigger, repeated: idle == "repeated", ecn };
    judge(r, &settings);
    Ok(settings)
}

/// Warns of what the paper advises against, and says how fast the probability moves.
fn judge(r: &mut Resolver<'_>, settings: &Settings) {
    let Settings { limit, increment, decrement, freeze, trigger, .. } = *settings;
    if decrement > increment {
        r.warn(format!(
            "decrement {decrement} is above increment {increment}: an idle link would weigh more than a loss"
        ));
    }
    if freeze < Duration::from_millis(10) || freeze > Duration::from_millis(500) {
        r.warn(format!("freeze {freeze} is outside of 10ms to 500ms, which the paper advises"));
    }
    let never = match (trigger, limit) {
        (Some(Size::Packets(length)), Size::Packets(limit)) => length >= limit,
        (Some(Size::Bytes(length)), Size::Bytes(limit)) => length >= limit,
        _ => false,
    };
    if let (true, Some(trigger)) = (never, trigger) {
        r.warn(format!("trigger {trigger} is not below limit {limit}: the queue is never longer"));
    }
    let time = |step: f64| freeze.as_secs() / step;
    r.say(format!(
        "the probability takes at least {:.3} s from 0 to 1 and {:.3} s back; the paper advises 5 s to 30 s",
        time(increment),
        time(decrement)
    ));
}

/// BLUE over a FIFO.
#[derive(Debug)]
pub struct Blue<P> {
    buffer: Buffer<P>,
    settings: Settings,
    probability: f64,
    /// The probability may change from this moment on.
    thaws: Time,
    /// Whether the link asked and found nothing, and nothing was queued since.
    idle: bool,
    rolls: Stream,
    freezes: Stream,
}

impl<P: Packet> Blue<P> {
    pub(crate) fn new(settings: Settings, seed: Seed) -> Self {
        Self {
            buffer: Buffer::new(settings.limit),
            settings,
            probability: 0.0,
            thaws: Time::ZERO,
            idle: false,
            rolls: seed.stream("blue"),
            freezes: seed.stream("freeze"),
        }
    }

    /// A freeze time; not 0.
    fn freeze(&mut self) -> Duration {
        let freeze = self.settings.freeze;
        if !self.settings.jitter {
            return freeze;
        }
        // A cast saturates.
        let drawn = (freeze.as_nanos() as f64 * (0.5 + self.freezes.unit())) as u64;
        Duration::from_nanos(drawn.max(1))
    }

    /// The probability has changed at `now`: it may change again when more than a freeze time has passed.
    fn freeze_from(&mut self, now: Time) {
        self.thaws = now + self.freeze() + Duration::from_nanos(1);
    }

    /// A packet was lost, or the queue is longer than it should be.
    fn lose(&mut self, now: Time) {
        if now >= self.thaws {
            self.probability = (self.probability + self.settings.increment).min(1.0);
            self.freeze_from(now);
        }
    }

    /// The link asked and found nothing.
    fn starve(&mut self, now: Time) {
        if self.idle {
            self.make_up(now);
        } else {
            self.idle = true;
            if now >= self.thaws {
                self.lower(1);
                self.freeze_from(now);
            }
        }
    }

    /// Makes up for the changes that were due while the link was idle: one after each freeze time.
    fn make_up(&mut self, now: Time) {
        if !self.idle || !self.settings.repeated || now < self.thaws {
            return;
        }
        let freeze = self.freeze();
        let further = now.since(self.thaws).as_nanos() / freeze.as_nanos();
        self.lower(1 + further);
        self.thaws = self.thaws + Duration::from_nanos(further * freeze.as_nanos()) + freeze;
    }

    /// Lowers the probability `times` times.
    fn lower(&mut self, times: u64) {
        self.probability = (self.probability - times as f64 * self.settings.decrement).max(0.0);
    }

    /// Whether the queue is longer than `trigger`.
    fn is_long(&self) -> bool {
        match self.settings.trigger {
            None => false,
            Some(Size::Packets(packets)) => self.buffer.fifo.packets() > packets.get() as usize,
            Some(Size::Bytes(bytes)) => self.buffer.fifo.bytes() > bytes.get(),
        }
    }
}

impl<P: Packet> Qdisc<P> for Blue<P> {
    fn enqueue(&mut self, now: Time, packet: P, fate: &mut impl Fate<P>) {
        self.buffer.arrive(&packet);
        self.make_up(now);
        if self.buffer.overflows(packet.bytes()) {
            self.lose(now);
            self.buffer.discard(now, packet, Reason::Limit, fate);
            return;
        }
        let signal = self.rolls.chance(self.probability).then_some(Reason::Early);
        if let Some(reason) = signal
            && !(self.settings.ecn && packet.ecn_capable())
        {
            self.buffer.discard(now, packet, reason, fate);
            return;
        }
        self.buffer.admit(now, packet, signal, fate);
        self.idle = false;
        if self.is_long() {
            self.lose(now);
        }
    }

    fn dequeue(&mut self, now: Time, _fate: &mut impl Fate<P>) -> Option<P> {
        let packet = self.buffer.depart();
        if packet.is_none() {
            self.starve(now);
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

    fn probability(&self) -> Option<f64> {
        Some(self.probability)
    }
}

#[cfg(test)]
mod tests;
