//! Under any sequence of calls the rate is within its limits and nothing panics.

use fairlane_autorate::{Autorate, Config, Direction, Law, ProbeDelay};
use fairlane_qdisc::{Duration, Rate, Seed, Stream, Time};

const MIN: u64 = 3;
const MAX: u64 = 1_000_000_000_000;

/// Draws a number of any magnitude.
fn any(random: &mut Stream) -> u64 {
    random.bits() >> random.below(64)
}

/// Times that jump, totals that fall, answers before their probes, reflectors without end. Would catch an overflow, a
/// rate that is no number, and one outside of its limits.
#[test]
fn nonsense_is_survived() {
    let mut changes = 0;
    for seed in 0..200 {
        let mut random = Seed::new(seed).stream("nonsense");
        let rates = [MIN, 1_000_000, MAX].map(Rate::from_bits_per_second);
        let config = Config {
            law: Law::ALL[random.below(2) as usize],
            direction: if random.chance(0.5) { Direction::Upload } else { Direction::Download },
            window: 1 + random.below(8),
            late_samples: 1,
            least_cut: 0.0,
            refractory: Duration::ZERO,
            packet: 1 + random.below(1 << 24),
            ..Config::new(rates[0], rates[1], rates[2])
        };
        let mut autorate = Autorate::new(config, Time::from_nanos(any(&mut random))).expect("good parameters");
        let mut sent = vec![(0, Time::ZERO)];
        for _ in 0..2000 {
            let now = Time::from_nanos(any(&mut random));
            let decision = match random.below(4) {
                0 => {
                    let reflector = random.below(4) as usize;
                    sent.push((reflector, now));
                    autorate.sent(now, reflector, any(&mut random));
                    continue;
                }
                1 => autorate.traffic(now, any(&mut random)),
                _ => {
                    let (reflector, at) = sent[random.below(sent.len() as u32) as usize];
                    autorate.answered(now, reflector, at, ProbeDelay::RoundTrip, any(&mut random))
                }
            };
            changes += u32::from(decision.changes());
            let rate = decision.rate.bits_per_second();
            assert!((MIN..=MAX).contains(&rate) && decision.rate == autorate.rate(), "seed {seed}: {decision:?}");
            assert!(decision.blocker.is_none() || !decision.changes(), "seed {seed}: {decision:?}");
        }
    }
    assert!(changes > 1000, "{changes} changes show little");
}
