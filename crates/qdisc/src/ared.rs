//! RED that adapts its `probability` to the traffic: Feng's self-configuring RED and Floyd's Adaptive RED.
//!
//! **Source.** Feng, Kandlur, Saha, Shin, "A Self-Configuring RED Gateway", INFOCOM 1999. Floyd, Gummadi, Shenker,
//! "Adaptive RED", 2001; constants and automatic thresholds as in ns-2.
//!
//! **Deviations.** Feng's probability is kept within 1e-6..1; the paper gives no bounds. Floyd's adaptation is
//! looked at on arrivals, as in ns-2, not by a timer as in Linux.
//!
//! **Cost.** RED's, and two comparisons.

use alloc::format;

use crate::config::shared::*;
use crate::config::{About, Domain, Era, FlowState, Origin, Parameter, ParameterError, Resolver, parameter};
use crate::red::{self, Red, RedCore, RedSettings};
use crate::{Counters, Duration, Fate, Packet, Qdisc, Seed, Time};

/// What is known of it.
pub(crate) const ABOUT: About = About {
    name: "ared",
    summary: "RED that adapts its probability to the traffic",
    source: "Feng, Kandlur, Saha, Shin: A Self-Configuring RED Gateway, INFOCOM 1999; \
             Floyd, Gummadi, Shenker: Adaptive RED, 2001",
    year: Some(2001),
    needs: "the average",
    flow_state: FlowState::None,
    experimental: false,
    parameters: &[
        LIMIT,
        ARED_MIN,
        ARED_MAX,
        ARED_PROBABILITY,
        ARED_WEIGHT,
        ARED_BURST,
        AVPKT,
        BANDWIDTH,
        ARED_GENTLE,
        ARED_UNIFORMIZE,
        ARED_SPARE,
        BYTE_DROP,
        ECN,
        HARDDROP,
        LAW,
        TARGET,
        INTERVAL,
    ],
};

const LAW: Parameter =
    parameter("law", Domain::Choice(&["floyd", "feng"]), "floyd", "how the probability follows the average");
const TARGET: Parameter = parameter(
    "target",
    Domain::Duration,
    "5ms, as ns-2",
    "mean delay that the thresholds aim at when neither `min` nor `max` is given",
)
.elsewhere(&["target_delay", "targetdelay_", "TargetDelay"]);
const INTERVAL: Parameter =
    parameter("interval", Domain::Duration, "500ms, Floyd", "how often `law = floyd` adapts").elsewhere(&["Interval"]);
const ARED_MIN: Parameter =
    MIN.default("max / 3; the larger of 5 packets and half of `target` at `bandwidth` when `max` is not given either");
const ARED_MAX: Parameter = MAX.default("3 min, as ns-2");
const ARED_PROBABILITY: Parameter = PROBABILITY.default("0.1, as ns-2: where adaptation starts");
const ARED_WEIGHT: Parameter = WEIGHT.default("1 - exp(-1/C) for a link of C mean packets a second, as ns-2");
const ARED_BURST: Parameter = BURST.default("unused");
const ARED_GENTLE: Parameter = GENTLE.default("true with `law = floyd`, false with feng");
const ARED_UNIFORMIZE: Parameter = UNIFORMIZE.default("wait, as ns-2");
const ARED_SPARE: Parameter = SPARE.default("true, as ns-2");

/// What it is told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    red: red::Settings,
    law: Law,
}

/// What it is told by what was given.
pub(crate) fn resolve(r: &mut Resolver<'_>) -> Result<Settings, ParameterError> {
    let limit = r.limit()?;
    let law = r.take("law", Origin::Default("the later of the two"), "floyd")?;
    let floyd = law == "floyd";
    let red = red::Settings { limit, red: r.red_of(limit, Era::Automatic, floyd)? };
    let interval = r.take("interval", Origin::Default("Floyd 2001"), Duration::from_millis(500))?;
    if !floyd {
        return Ok(Settings { red, law: Law::Feng });
    }
    let bandwidth = r.given("bandwidth")?.unwrap_or(r.rate());
    // ns-2: at most one packet of 1250 bytes a window of a second.
    let bottom = (80_000.0 / bandwidth.bits_per_second() as f64).min(0.01);
    r.say(format!("the probability stays between {bottom} and 0.5"));
    Ok(Settings { red, law: Law::Floyd { interval, bottom } })
}

/// How the probability follows the average.
#[derive(Clone, Copy, Debug)]
enum Law {
    /// A third when the average falls below `min`, twice when it rises above `max`.
    Feng,
    /// Up by addition and down by multiplication, once an interval, towards the middle of the thresholds.
    Floyd {
        /// How often.
        interval: Duration,
        /// The probability is not lowered from here.
        bottom: f64,
    },
}

/// Where the average was last seen, for Feng's law.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    Below,
    Between,
    Above,
}

/// RED that adapts its probability.
#[derive(Debug)]
pub struct Ared<P> {
    red: Red<P>,
    law: Law,
    status: Status,
    adapted: Time,
}

impl<P: Packet> Ared<P> {
    pub(crate) fn new(settings: Settings, seed: Seed) -> Self {
        // ns-3 starts above, so the first arrival lowers the probability.
        Self { red: Red::new(settings.red, seed), law: settings.law, status: Status::Above, adapted: Time::ZERO }
    }
}

/// Feng's law, once a crossing.
fn feng(core: &mut RedCore, status: &mut Status) {
    let RedSettings { min, max, probability, .. } = *core.settings();
    let average = core.average();
    if average > min && average < max {
        *status = Status::Between;
    } else if average < min && *status != Status::Below {
        *status = Status::Below;
        core.set_probability((probability * (1.0 / 3.0)).max(LEAST));
    } else if average > max && *status != Status::Above {
        *status = Status::Above;
        core.set_probability((probability * 2.0).min(1.0));
    }
}

/// Floyd's law, once an interval.
fn floyd(core: &mut RedCore, bottom: f64) {
    let RedSettings { min, max, probability, .. } = *core.settings();
    let average = core.average();
    let margin = 0.4 * (max - min);
    if average < min + margin && probability > bottom {
        core.set_probability(probability * 0.9);
    } else if average > max - margin && probability < TOP {
        core.set_probability(probability + (0.25 * probability).min(0.01));
    }
}

impl<P: Packet> Qdisc<P> for Ared<P> {
    fn enqueue(&mut self, now: Time, packet: P, fate: &mut impl Fate<P>) {
        let Self { red, law, status, adapted } = self;
        red.enqueue_with(now, packet, fate, |core| match *law {
            Law::Feng => feng(core, status),
            Law::Floyd { interval, bottom } => {
                if now > *adapted + interval {
                    *adapted = now;
                    floyd(core, bottom);
                }
            }
        });
    }

    fn dequeue(&mut self, now: Time, fate: &mut impl Fate<P>) -> Option<P> {
        self.red.dequeue(now, fate)
    }

    fn packets(&self) -> usize {
        self.red.packets()
    }

    fn bytes(&self) -> u64 {
        self.red.bytes()
    }

    fn counters(&self) -> &Counters {
        self.red.counters()
    }

    fn average(&self) -> Option<f64> {
        self.red.average()
    }

    fn probability(&self) -> Option<f64> {
        self.red.probability()
    }
}

/// Feng's probability is not lowered below this.
const LEAST: f64 = 1e-6;

/// Floyd's probability is not raised from here.
const TOP: f64 = 0.5;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::red::Uniformize;
    use crate::{Packets, SimplePacket, Size};

    /// A RED whose average is the queue itself, between 10 and 30 packets, that signals almost nothing.
    fn ared(law: Law) -> Ared<SimplePacket> {
        let red = RedSettings {
            min: 10.0,
            max: 30.0,
            in_bytes: false,
            probability: 0.1,
            weight: 1.0,
            gentle: true,
            uniformize: Uniformize::Wait,
            spare: false,
            byte_drop: false,
            avpkt: 1000,
            slot: 1_000_000,
            ecn: true,
            harddrop: false,
        };
        let limit = Size::Packets(Packets::new(1000));
        Ared::new(Settings { red: red::Settings { limit, red }, law }, Seed::new(2))
    }

    /// Brings the queue to `packets` and sees what a last arrival at `now` makes of the probability.
    fn at(ared: &mut Ared<SimplePacket>, packets: usize, now: Time) -> f64 {
        while ared.packets() > packets {
            ared.dequeue(now, &mut ());
        }
        while ared.packets() <= packets {
            ared.enqueue(now, SimplePacket::new(1, 1000).with_ecn(), &mut ());
        }
        ared.red.core().settings().probability
    }

    fn close(value: f64, expected: f64) {
        assert!((value / expected - 1.0).abs() < 1e-12, "{value} is not {expected}");
    }

    /// SPEC 3.2: once a crossing, never again inside a region.
    #[test]
    fn feng_acts_once_a_crossing() {
        let mut ared = ared(Law::Feng);
        close(at(&mut ared, 0, Time::ZERO), 0.1 / 3.0);
        close(at(&mut ared, 9, Time::ZERO), 0.1 / 3.0);
        close(at(&mut ared, 20, Time::ZERO), 0.1 / 3.0);
        close(at(&mut ared, 31, Time::ZERO), 0.2 / 3.0);
        close(at(&mut ared, 60, Time::ZERO), 0.2 / 3.0);
        close(at(&mut ared, 20, Time::ZERO), 0.2 / 3.0);
        close(at(&mut ared, 35, Time::ZERO), 0.4 / 3.0);
        close(at(&mut ared, 5, Time::ZERO), 0.4 / 9.0);
        for _ in 0..10 {
            at(&mut ared, 40, Time::ZERO);
            at(&mut ared, 20, Time::ZERO);
        }
        close(at(&mut ared, 20, Time::ZERO), 1.0);
        for _ in 0..40 {
            at(&mut ared, 20, Time::ZERO);
            at(&mut ared, 5, Time::ZERO);
        }
        close(at(&mut ared, 5, Time::ZERO), 1e-6);
    }

    /// SPEC 3.3: once an interval, down by a tenth below 18 packets and up above 22, within 0.01 and 0.5.
    #[test]
    fn floyd_acts_once_an_interval() {
        let law = Law::Floyd { interval: Duration::from_millis(500), bottom: 0.01 };
        let mut ared = ared(law);
        let mut now = Time::from_nanos(500_000_000);
        close(at(&mut ared, 17, now), 0.1);
        now += Duration::from_nanos(1);
        close(at(&mut ared, 17, now), 0.09);
        close(at(&mut ared, 17, now + Duration::from_millis(500)), 0.09);
        now += Duration::from_millis(501);
        // The queue is brought there first: the adaptation must see it.
        ared.adapted = now;
        at(&mut ared, 20, now);
        now += Duration::from_millis(501);
        close(at(&mut ared, 20, now), 0.09);
        ared.adapted = now;
        at(&mut ared, 23, now);
        now += Duration::from_millis(501);
        close(at(&mut ared, 22, now + Duration::from_nanos(1)), 0.09);
        ared.adapted = now;
        at(&mut ared, 24, now);
        now += Duration::from_millis(501);
        ared.enqueue(now, SimplePacket::new(1, 1000).with_ecn(), &mut ());
        close(ared.red.core().settings().probability, 0.1);
        for _ in 0..100 {
            now += Duration::from_millis(501);
            ared.enqueue(now, SimplePacket::new(1, 1000).with_ecn(), &mut ());
        }
        let top = ared.red.core().settings().probability;
        assert!((0.5..0.51).contains(&top), "{top}");
        at(&mut ared, 0, now);
        for _ in 0..100 {
            ared.dequeue(now, &mut ());
            now += Duration::from_millis(501);
            ared.enqueue(now, SimplePacket::new(1, 1000).with_ecn(), &mut ());
        }
        let bottom = ared.red.core().settings().probability;
        assert!((0.009..=0.01).contains(&bottom), "{bottom}");
    }
}
