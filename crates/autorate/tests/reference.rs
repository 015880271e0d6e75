//! The law of cake-autorate 3 against a slow reference, which keeps everything that happened and starts from it each
//! time.

use fairlane_autorate::{Autorate, Config, Law, ProbeDelay, Reason};
use fairlane_qdisc::{Duration, Rate, Seed, Time};

/// An answer: when it came, its reflector, and its round trip.
type Sample = (f64, usize, f64);

/// The law, word for word: every mean and baseline is calculated anew from all samples.
struct Reference {
    samples: Vec<Sample>,
    /// For each sample its delay above the baseline, and true if that was late.
    judged: Vec<(f64, bool)>,
    readings: Vec<(f64, u64)>,
    rate: f64,
    cut: f64,
    decayed: f64,
}

const LATE: f64 = 0.03;
const MIN: f64 = 1e6;
const BASE: f64 = 5e6;
const MAX: f64 = 20e6;

impl Reference {
    fn packet(&self) -> f64 {
        1514.0 * 8.0 / self.rate
    }

    fn last(&self) -> &[(f64, bool)] {
        &self.judged[self.judged.len().saturating_sub(6)..]
    }

    fn bloated(&self) -> bool {
        self.last().iter().filter(|(_, late)| *late).count() >= 3
    }

    fn mean(&self) -> f64 {
        self.last().iter().map(|(above, _)| above).sum::<f64>() / 6.0 - self.packet()
    }

    fn answer(&mut self, now: f64, reflector: usize, round_trip: f64) {
        self.samples.push((now, reflector, round_trip));
        let mut baseline = None;
        for (_, _, round_trip) in self.samples.iter().filter(|(_, of, _)| *of == reflector) {
            let delay = round_trip / 2.0;
            let old: f64 = baseline.unwrap_or(delay);
            baseline = Some(if delay < old { 0.1 * old + 0.9 * delay } else { 0.999 * old + 0.001 * delay });
        }
        let above = round_trip / 2.0 - baseline.unwrap_or(0.0);
        self.judged.push((above, above > LATE + self.packet()));
        if self.bloated() && now - self.cut > 0.3 + 1e-9 {
            let part = ((self.mean() - LATE) / 0.03).clamp(0.0, 1.0);
            self.set(self.rate * (0.99 * (1.0 - part) + 0.75 * part));
            (self.cut, self.decayed) = (now, now);
        }
    }

    fn traffic(&mut self, now: f64, bytes: u64) {
        let Some((since, before)) = self.readings.last().copied() else { return self.readings.push((now, bytes)) };
        if now - since < 0.2 - 1e-12 {
            return;
        }
        self.readings.push((now, bytes));
        let load = (bytes - before) as f64 * 8.0 / (now - since);
        if self.bloated() {
            return;
        }
        if load > 0.75 * self.rate {
            let part = ((LATE - self.mean()) / 0.02).clamp(0.0, 1.0);
            if now - self.cut > 0.3 + 1e-9 && part > 0.0 {
                self.decayed = now;
                self.set(self.rate * (1.0 + 0.04 * part));
            }
        } else if now - self.decayed >= 1.0 - 1e-12 && self.rate != BASE {
            self.decayed = now;
            self.set(if self.rate > BASE { (0.99 * self.rate).max(BASE) } else { (1.01 * self.rate).min(BASE) });
        }
    }

    fn set(&mut self, rate: f64) {
        self.rate = rate.clamp(MIN, MAX);
    }
}

/// Would catch any difference in a script of random round trips and loads, with calm, bloat and pauses between them.
#[test]
fn the_steps_are_those_of_the_reference() {
    let rate = |bits: f64| Rate::from_bits_per_second(bits as u64);
    let mut changes = [0; 3];
    for seed in 0..20 {
        let mut random = Seed::new(seed).stream("script");
        let config = Config { law: Law::Steps, ..Config::new(rate(MIN), rate(BASE), rate(MAX)) };
        let mut autorate = Autorate::new(config, Time::ZERO).expect("good parameters");
        let mut reference = Reference {
            samples: Vec::new(),
            judged: Vec::new(),
            readings: Vec::new(),
            rate: BASE,
            cut: f64::NEG_INFINITY,
            decayed: 0.0,
        };
        let (mut bytes, mut queue, mut load) = (0, 0, 100);
        for step in 1..2000_u64 {
            if step % 50 == 0 {
                (queue, load) = (random.below(200), random.below(120));
            }
            let now = Duration::from_millis(50 * step);
            bytes += u64::from(load) * autorate.rate().bits_per_second() / 8 / 20 / 100;
            let round_trip = Duration::from_millis(u64::from(20 + queue + random.below(15)));
            let reflector = random.below(4) as usize;
            let decision = autorate.traffic(Time::ZERO + now, bytes);
            changes[0] += u32::from(decision.reason == Reason::Raised);
            changes[1] += u32::from(matches!(decision.reason, Reason::DecayedUp | Reason::DecayedDown));
            reference.traffic(now.as_secs(), bytes);
            let sent = Time::from_nanos(now.as_nanos().saturating_sub(round_trip.as_nanos()));
            autorate.sent(sent, reflector, bytes);
            let decision = autorate.answered(Time::ZERO + now, reflector, sent, ProbeDelay::RoundTrip, bytes);
            changes[2] += u32::from(decision.reason == Reason::Cut);
            reference.answer(now.as_secs(), reflector, (Time::ZERO + now).since(sent).as_secs());
            let is = autorate.rate().bits_per_second() as f64;
            assert!(
                (is - reference.rate).abs() <= 1.0 + 1e-6 * is,
                "seed {seed}, step {step}: {is} {}",
                reference.rate
            );
        }
    }
    assert!(changes.iter().all(|count| *count > 200), "{changes:?} changes show little");
}
