//! RED that adapts its `probability` to the traffic: Feng's self-configuring RED and Floyd's Adaptive RED.
//!
//! **Source.** Feng, Kandlur, Saha, Shin, "A Self-Configuring RED Gateway", INFOCOM 1999. Floyd, Gummadi, Shenker,
//! "Adaptive RED", 2001; constants and automatic thresholds as in ns-2.
//!
//! **Deviations.** Feng's probability is kept within 1e-6..1; the paper gives no bounds. Floyd's adaptation is
//! looked at on arrivals, as in ns-2, not by a timer as in Linux.
//!
//! **Cost.** RED's, and two comparisons.

use crate::red::{Red, RedCore, RedSettings};
use crate::{Counters, Duration, Fate, Packet, Qdisc, Seed, Size, Time};

/// How the probability follows the average.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Law {
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
    pub(crate) fn new(limit: Size, settings: RedSettings, law: Law, seed: Seed) -> Self {
        // ns-3 starts above, so the first arrival lowers the probability.
        Self { red: Red::new(limit, settings, seed), law, status: Status::Above, adapted: Time::ZERO }
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
}

/// Feng's probability is not lowered below this.
const LEAST: f64 = 1e-6;

/// Floyd's probability is not raised from here.
const TOP: f64 = 0.5;
