//! The controller.

use std::collections::BTreeMap;

use fairlane_qdisc::{Duration, Rate, Time};

use crate::config::{Config, ConfigError, Direction, Law};
use crate::decision::{Blocker, Decision, Reason};
use crate::delay::{Baseline, ProbeDelay, Window};
use crate::link_rate::LinkRate;
use crate::load::LoadMeter;
use crate::probes::{Probe, Probes};

/// Adjusts the rate of a shaper to a link whose rate varies, in one direction.
///
/// The controller reads no clock and sends nothing: its user sends probes, tells it what happened, and applies the rate
/// of each [`Decision`]. Times never run backwards between calls. `bytes` is always the total that has passed in this
/// direction since any moment: left the shaper's queue for the link, or come from the link ([`Direction`]).
#[derive(Clone, Debug)]
pub struct Autorate {
    config: Config,
    /// The rate in bit/s.
    rate: f64,
    baselines: BTreeMap<usize, Baseline>,
    window: Window,
    load: LoadMeter,
    probes: Probes,
    link: LinkRate,
    /// The time of the last answer; at first the start.
    answered: Time,
    /// The time of the last cut.
    cut: Option<Time>,
    /// The time from which the next step of the decay counts.
    decayed: Time,
    /// The part of the next raise.
    raise: f64,
}

/// The consequence of an observation, before the limits of the rate.
#[derive(Clone, Copy, Debug)]
enum Action {
    Set(f64, Reason),
    Hold(Option<Blocker>),
}

impl Autorate {
    /// Returns a controller at the base rate.
    ///
    /// # Errors
    /// As [`Config::check`].
    pub fn new(config: Config, now: Time) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self {
            rate: bits(config.base),
            baselines: BTreeMap::new(),
            window: Window::new(config.window),
            load: LoadMeter::new(config.load_interval),
            probes: Probes::default(),
            link: LinkRate::default(),
            answered: now,
            cut: None,
            decayed: now,
            raise: config.raise,
            config,
        })
    }

    /// Returns the parameters.
    #[must_use]
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// Returns the rate that the shaper should have.
    #[must_use]
    pub fn rate(&self) -> Rate {
        Rate::from_bits_per_second(self.rate as u64)
    }

    /// Tells that a probe leaves for `reflector`, a number of the user's. Its time in the queue before the shaper does
    /// not count, so `now` is when it leaves that queue.
    pub fn sent(&mut self, now: Time, reflector: usize, bytes: u64) {
        self.probes.sent(Probe { reflector, sent: now, bytes });
    }

    /// Tells that the answer to the probe that left for `reflector` at `sent` is here, and decides. Answers to unknown
    /// probes change nothing.
    pub fn answered(&mut self, now: Time, reflector: usize, sent: Time, delay: ProbeDelay, bytes: u64) -> Decision {
        let Some(probe) = self.probes.answered(reflector, sent) else {
            return self.decided(now, Action::Hold(None));
        };
        self.answered = now;
        // All of a round trip's excess is taken for the link's queue.
        let (delay, part) = match delay {
            ProbeDelay::RoundTrip => (now.since(sent).as_secs() / 2.0, 2.0),
            ProbeDelay::OneWay(nanos) => (nanos as f64 / 1e9, 1.0),
        };
        let above = self.baselines.entry(reflector).or_default().add(delay);
        self.window.add(above, above > self.config.late.as_secs() + self.packet_time());
        let queue = part * above;
        let busy = queue > self.config.raise_delay.as_secs();
        match self.config.direction {
            Direction::Upload => self.link.passed(sent.as_secs() + queue, probe.bytes, busy),
            Direction::Download => self.link.passed(now.as_secs(), bytes, busy),
        }
        let action = if self.is_bloated() { self.relieve(now, queue) } else { Action::Hold(None) };
        self.decided(now, action)
    }

    /// Tells the traffic, at least once in each [`load_interval`](Config::load_interval), and decides.
    pub fn traffic(&mut self, now: Time, bytes: u64) -> Decision {
        let measured = self.load.observe(now, bytes);
        let action = match self.without_answer(now) {
            Some(action) => action,
            None if measured => self.raise_or_decay(now),
            None => Action::Hold(None),
        };
        self.decided(now, action)
    }

    /// Returns the consequence of missing answers; `None` if they come.
    fn without_answer(&self, now: Time) -> Option<Action> {
        let silent = now.since(self.answered);
        if silent >= self.config.no_answer {
            return Some(Action::Set(bits(self.config.min), Reason::NoAnswers));
        }
        let nothing_passes = self.load.bits_per_second() < bits(self.config.stall_rate);
        (silent >= self.config.stall && nothing_passes).then_some(Action::Hold(Some(Blocker::Stalled)))
    }

    fn is_bloated(&self) -> bool {
        self.window.late() >= self.config.late_samples as usize
    }

    /// Lowers the rate below that of the link, which has a queue of `queue` seconds.
    fn relieve(&mut self, now: Time, queue: f64) -> Action {
        let Config { law, late, cut_delay, least_cut, cut, drain, least_part, .. } = self.config;
        if let (Law::Follow, Some(link)) = (law, self.link.bits_per_second()) {
            self.note_cut(now);
            return Action::Set(link * (1.0 - queue / drain.as_secs()).max(least_part), Reason::Followed);
        }
        if self.is_refractory(now) {
            return Action::Hold(Some(Blocker::RecentCut));
        }
        self.note_cut(now);
        let part = between(self.window.mean() - self.packet_time(), late, cut_delay);
        Action::Set(self.rate * (1.0 - least_cut - (cut - least_cut) * part), Reason::Cut)
    }

    fn note_cut(&mut self, now: Time) {
        self.cut = Some(now);
        self.decayed = now;
        self.raise = self.config.raise;
    }

    /// Decides after a measurement of the load.
    fn raise_or_decay(&mut self, now: Time) -> Action {
        if self.is_bloated() {
            return Action::Hold(Some(Blocker::Delay));
        }
        if self.load.bits_per_second() <= self.config.high_load * self.rate {
            return self.decay(now);
        }
        if self.is_refractory(now) {
            return Action::Hold(Some(Blocker::RecentCut));
        }
        let Config { raise_delay, late, .. } = self.config;
        let part = 1.0 - between(self.window.mean() - self.packet_time(), raise_delay, late);
        if part == 0.0 {
            self.raise = self.config.raise;
            return Action::Hold(Some(Blocker::Delay));
        }
        self.decayed = now;
        let raised = self.rate * (1.0 + self.raise * part);
        if self.config.law == Law::Follow {
            self.raise = (2.0 * self.raise).min(self.config.most_raise);
        }
        Action::Set(raised, Reason::Raised)
    }

    /// Moves the rate a step towards the base rate.
    fn decay(&mut self, now: Time) -> Action {
        self.raise = self.config.raise;
        let (base, part) = (bits(self.config.base), self.config.decay);
        if now.since(self.decayed) < self.config.decay_interval || self.rate == base {
            return Action::Hold(None);
        }
        self.decayed = now;
        if self.rate > base {
            Action::Set((self.rate * (1.0 - part)).max(base), Reason::DecayedDown)
        } else {
            Action::Set((self.rate * (1.0 + part)).min(base), Reason::DecayedUp)
        }
    }

    fn is_refractory(&self, now: Time) -> bool {
        self.cut.is_some_and(|cut| now.since(cut) <= self.config.refractory)
    }

    /// Returns the time that a full packet takes at the present rate, in seconds.
    fn packet_time(&self) -> f64 {
        f64::from(self.config.packet) * 8.0 / self.rate
    }

    /// Applies the limits of the rate.
    fn decided(&mut self, time: Time, action: Action) -> Decision {
        let previous = self.rate();
        let (reason, blocker) = match action {
            Action::Hold(blocker) => (Reason::Held, blocker),
            Action::Set(wanted, reason) => {
                let before = self.rate;
                self.rate = wanted.clamp(bits(self.config.min), bits(self.config.max));
                match (self.rate == before, wanted.partial_cmp(&before)) {
                    (true, Some(std::cmp::Ordering::Less)) => (Reason::Held, Some(Blocker::AtMinimum)),
                    (true, Some(std::cmp::Ordering::Greater)) => (Reason::Held, Some(Blocker::AtMaximum)),
                    _ => (reason, None),
                }
            }
        };
        Decision { time, rate: self.rate(), previous, reason, blocker }
    }
}

fn bits(rate: Rate) -> f64 {
    rate.bits_per_second() as f64
}

/// Returns where `value` lies from `from`, 0, to `to`, 1; a value outside counts as the nearer end.
fn between(value: f64, from: Duration, to: Duration) -> f64 {
    let (from, to) = (from.as_secs(), to.as_secs());
    if value <= from {
        0.0
    } else if value >= to {
        1.0
    } else {
        (value - from) / (to - from)
    }
}
