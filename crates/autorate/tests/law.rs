//! The law, with numbers that were calculated by hand from it.

use fairlane_autorate::{Autorate, Blocker, Config, Decision, Direction, Law, ProbeDelay, Reason};
use fairlane_qdisc::{Duration, Rate, Time};

const BASE: u64 = 20_000_000;

fn rate(bits: u64) -> Rate {
    Rate::from_bits_per_second(bits)
}

fn ms(millis: f64) -> Time {
    Time::from_nanos((millis * 1e6) as u64)
}

fn config(law: Law) -> Config {
    Config { law, ..Config::new(rate(2_000_000), rate(BASE), rate(40_000_000)) }
}

fn autorate(config: Config) -> Autorate {
    Autorate::new(config, Time::ZERO).unwrap_or_else(|error| panic!("{error}"))
}

/// Sends a probe so that its answer comes at `now` after `round_trip` milliseconds.
fn answer(autorate: &mut Autorate, reflector: usize, now: f64, round_trip: f64) -> Decision {
    let sent = ms(now - round_trip);
    autorate.sent(sent, reflector, 0);
    autorate.answered(ms(now), reflector, sent, ProbeDelay::RoundTrip, 0)
}

/// Six reflectors have baselines of 20 ms at 300 ms.
fn with_baselines(config: Config) -> Autorate {
    let mut autorate = autorate(config);
    for reflector in 0..6_u8 {
        let decision = answer(&mut autorate, reflector.into(), 50.0 * f64::from(reflector + 1), 40.0);
        assert_eq!((decision.reason, decision.blocker), (Reason::Held, None));
    }
    autorate
}

fn near(decision: &Decision, bits: f64) {
    let is = decision.rate.bits_per_second() as f64;
    assert!((is - bits).abs() <= 2.0, "{is} {bits}");
}

/// Three of the last six samples are 99.9 ms above their baselines, since a delay of 120 ms moves that of 20 ms by 0.1.
/// Their mean is 49.95 ms; a full packet takes 0.6056 ms at 20 Mbit/s. That is 0.6448133 of the way from 30 to 60 ms,
/// so the cut is 0.01 + 0.24 · 0.6448133 = 0.1647552. Would catch a cut by two late samples, one within 300 ms of the
/// last, and a window of another length.
#[test]
fn bufferbloat_cuts_the_rate_by_its_mean() {
    let mut autorate = with_baselines(config(Law::Steps));
    for (reflector, now) in [(0, 600.0), (1, 650.0)] {
        assert_eq!(answer(&mut autorate, reflector, now, 240.0).reason, Reason::Held);
    }
    let cut = answer(&mut autorate, 2, 700.0, 240.0);
    assert_eq!((cut.reason, cut.previous, cut.blocker), (Reason::Cut, rate(BASE), None));
    near(&cut, 16_704_896.0);
    let early = answer(&mut autorate, 3, 1000.0, 240.0);
    assert_eq!((early.reason, early.blocker, early.changes()), (Reason::Held, Some(Blocker::RecentCut), false));
    // Five of six are late now, 83.25 ms in the mean: the whole cut.
    near(&answer(&mut autorate, 4, 1001.0, 240.0), 0.75 * 16_704_896.0);
    // Four samples in time leave two late ones.
    for (reflector, now) in [(0, 1400.0), (1, 1450.0), (2, 1500.0), (3, 1550.0)] {
        answer(&mut autorate, reflector, now, 40.0);
    }
    assert_eq!(answer(&mut autorate, 4, 1600.0, 40.0).blocker, None);
}

/// At 1 Mbit/s a full packet takes 12.112 ms, so a delay of 42 ms is not late and one of 43 ms is. Would catch a
/// threshold that does not depend on the rate.
#[test]
fn a_packet_may_take_its_time() {
    let slow = Config { law: Law::Steps, ..Config::new(rate(1), rate(1_000_000), rate(1_000_000)) };
    for (delay, reason) in [(42.0, Reason::Held), (43.0, Reason::Cut)] {
        let mut autorate = with_baselines(slow.clone());
        let last = [0, 1, 2].map(|reflector| answer(&mut autorate, reflector, 600.0, 40.0 + 2.0 * delay));
        assert_eq!(last[2].reason, reason, "{delay}");
    }
}

/// 400,000 bytes in 200 ms are 80 % of 20 Mbit/s. Would catch a raise at a load of 75 %, one without a new measurement,
/// or one that does not depend on the delay: 20.6262 ms above the baseline are 20.6056 above the new one, of which a
/// packet takes 0.6056, and 20 ms are half of the way from 10 to 30.
#[test]
fn high_load_raises_the_rate() {
    let mut autorate = with_baselines(config(Law::Steps));
    autorate.traffic(ms(300.0), 0);
    assert!(!autorate.traffic(ms(499.0), 398_000).changes());
    let raised = autorate.traffic(ms(500.0), 400_000);
    assert_eq!(raised.reason, Reason::Raised);
    near(&raised, 20_800_000.0);
    assert_eq!(autorate.traffic(ms(510.0), 450_000).reason, Reason::Held);

    let mut autorate = with_baselines(config(Law::Steps));
    autorate.traffic(ms(300.0), 0);
    assert_eq!(autorate.traffic(ms(500.0), 375_000).reason, Reason::Held);
    for reflector in 0..6 {
        answer(&mut autorate, reflector, 600.0, 40.0 + 2.0 * 20.626_226_2);
    }
    let raised = autorate.traffic(ms(700.0), 775_000);
    assert_eq!(raised.reason, Reason::Raised);
    assert!(raised.rate.bits_per_second().abs_diff(20_400_000) < 100, "{}", raised.rate);
}

/// Would catch a raise directly after a cut, and one under delay.
#[test]
fn delay_and_cuts_block_a_raise() {
    let mut autorate = with_baselines(config(Law::Steps));
    autorate.traffic(ms(500.0), 0);
    for reflector in 0..3 {
        answer(&mut autorate, reflector, 600.0, 240.0);
    }
    assert_eq!(autorate.traffic(ms(700.0), 500_000).blocker, Some(Blocker::Delay));
    for reflector in 0..6 {
        answer(&mut autorate, reflector, 750.0, 40.0);
    }
    assert_eq!(autorate.traffic(ms(900.0), 1_000_000).blocker, Some(Blocker::RecentCut));
    assert_eq!(autorate.traffic(ms(1100.0), 1_500_000).reason, Reason::Raised);
    // Two late samples are no bufferbloat, but with a mean of 30 ms for all six there is no raise.
    for reflector in 0..2 {
        answer(&mut autorate, reflector, 1150.0, 40.0 + 2.0 * 110.0);
    }
    assert_eq!(autorate.traffic(ms(1300.0), 2_000_000).blocker, Some(Blocker::Delay));
}

/// Would catch a decay that comes too often, goes too far, or stops on one side of the base rate.
#[test]
fn the_rate_decays_to_base() {
    let mut autorate = with_baselines(config(Law::Steps));
    autorate.traffic(ms(300.0), 0);
    near(&autorate.traffic(ms(500.0), 500_000), 20_800_000.0);
    let mut rates = Vec::new();
    for step in 3..=30_u16 {
        let now = 100.0 + 200.0 * f64::from(step);
        answer(&mut autorate, 0, now, 40.0);
        let decision = autorate.traffic(ms(now), 500_000);
        if decision.changes() {
            assert_eq!(decision.reason, Reason::DecayedDown);
            rates.push((now, decision.rate.bits_per_second()));
        }
    }
    // 20.8 · 0.99 = 20.592 · 0.99 = 20.38608 · 0.99 = 20.1822192, and 1 % less is below the base rate.
    let expected = [(1500.0, 20_592_000), (2500.0, 20_386_080), (3500.0, 20_182_219), (4500.0, BASE)];
    for ((at, is), (when, should)) in rates.iter().zip(expected) {
        assert!(*at == when && is.abs_diff(should) <= 2, "{rates:?}");
    }
    assert_eq!(rates.len(), 4);

    let mut autorate = with_baselines(config(Law::Steps));
    let cut = [0, 1, 2].map(|reflector| answer(&mut autorate, reflector, 700.0, 240.0));
    near(&cut[2], 16_704_896.0);
    for now in [800.0, 1000.0, 1200.0, 1400.0, 1600.0] {
        for reflector in 0..6 {
            answer(&mut autorate, reflector, now, 40.0);
        }
        assert!(!autorate.traffic(ms(now), 0).changes());
    }
    let grown = autorate.traffic(ms(1800.0), 0);
    assert_eq!(grown.reason, Reason::DecayedUp);
    near(&grown, 16_704_896.0 * 1.01);
}

/// Would catch a rate that decays or is cut while the link is gone, or is held forever without answers.
#[test]
fn a_stalled_link_is_waited_for() {
    let mut autorate = with_baselines(config(Law::Follow));
    assert_eq!(autorate.traffic(ms(340.0), 0).blocker, None);
    // 249 bytes in 200 ms are 9.96 kbit/s.
    assert_eq!(autorate.traffic(ms(549.0), 249).blocker, None);
    assert_eq!(autorate.traffic(ms(550.0), 249).blocker, Some(Blocker::Stalled));
    // With 251 bytes something passes.
    assert_eq!(autorate.traffic(ms(749.0), 500).blocker, None);
    for now in [2000.0, 5000.0, 10_299.0] {
        let decision = autorate.traffic(ms(now), 500);
        assert_eq!((decision.rate, decision.blocker), (rate(BASE), Some(Blocker::Stalled)));
    }
    let none = autorate.traffic(ms(10_300.0), 500);
    assert_eq!((none.reason, none.rate), (Reason::NoAnswers, rate(2_000_000)));
    answer(&mut autorate, 0, 10_400.0, 40.0);
    assert_eq!(autorate.traffic(ms(10_500.0), 500).reason, Reason::DecayedUp);
}

/// A link of 10 Mbit/s gets 20: each probe waits 50 ms longer than the one before it. With the movement of the baseline
/// the delays above it are 24.975, 49.925025, 74.850099975 and 99.750249875 ms, so the probes pass at 99.95, 199.85005,
/// 299.70019995 and 399.50049975 ms. The last 200 ms begin between the first two, with 375,000 bytes from the first to
/// the last: 10.015 Mbit/s. Would catch a law that cuts by parts, and one that does not drain the queue.
#[test]
fn the_rate_of_a_busy_link_is_followed() {
    let mut autorate = autorate(config(Law::Follow));
    let mut last = None;
    for probe in 0..5_u8 {
        let sent = 50.0 * f64::from(probe);
        autorate.sent(ms(sent), 0, 125_000 * u64::from(probe));
        let decision = autorate.answered(ms(sent + 40.0 + sent), 0, ms(sent), ProbeDelay::RoundTrip, 1_000_000);
        assert_eq!(decision.reason == Reason::Followed, probe == 4, "{probe}");
        last = Some(decision);
    }
    let link = 375_000.0 * 8.0 / (0.399_500_499_75 - 0.099_95);
    near(&last.expect("five probes"), link * (1.0 - 0.199_500_499_75 / 0.3));
}

/// As the test before, seen from behind the link, which passes 62,500 bytes in 50 ms. Answers come every 100 ms. Would
/// catch bytes that are counted when the probe was sent.
#[test]
fn the_rate_of_a_download_is_that_of_what_came() {
    let mut autorate = autorate(Config { direction: Direction::Download, ..config(Law::Follow) });
    let mut last = None;
    for probe in 0..5_u8 {
        let sent = 50.0 * f64::from(probe);
        autorate.sent(ms(sent), 0, 0);
        last = Some(autorate.answered(
            ms(sent + 40.0 + sent),
            0,
            ms(sent),
            ProbeDelay::RoundTrip,
            125_000 * u64::from(probe),
        ));
    }
    near(&last.expect("five probes"), 10e6 * (1.0 - 0.199_500_499_75 / 0.3));
}

/// As the test of the upload, with time stamps of a clock that is an hour behind: the delays in this direction are 20
/// ms and the queue, minus an hour, and the way back takes 500 ms. The baseline moves by 0.001 of all that is above it:
/// the delays are 49.95, 99.85005 and 149.70019995 ms above it, so the third late sample is the fourth probe. It passes
/// at 299.70019995 ms. The last 200 ms begin with the first probe, when there was no queue: 375,000 bytes. Would catch
/// a round trip that counts, half of a delay, and a clock that has to agree.
#[test]
fn time_stamps_tell_the_direction() {
    const HOUR: i64 = 3_600_000_000_000;
    let mut autorate = autorate(config(Law::Follow));
    let mut last = None;
    for probe in 0..4_u8 {
        let sent = 50.0 * f64::from(probe);
        autorate.sent(ms(sent), 0, 125_000 * u64::from(probe));
        let delay = ProbeDelay::OneWay(20_000_000 + 50_000_000 * i64::from(probe) - HOUR);
        let decision = autorate.answered(ms(sent + 20.0 + sent + 500.0), 0, ms(sent), delay, 1_000_000);
        assert_eq!(decision.reason == Reason::Followed, probe == 3, "{probe}");
        last = Some(decision);
    }
    let queue = 0.149_700_199_95;
    let link = 375_000.0 * 8.0 / (0.15 + queue);
    near(&last.expect("four probes"), link * (1.0 - queue / 0.3));
    // The same round trips without a queue in this direction.
    let mut autorate = with_baselines(config(Law::Follow));
    for reflector in 0..6 {
        autorate.sent(ms(400.0), reflector, 0);
        let delay = ProbeDelay::OneWay(20_000_000);
        assert!(!autorate.answered(ms(2000.0), reflector, ms(400.0), delay, 0).changes());
    }
}

/// 8 Mbit/s times 1.04, 1.08, 1.16, 1.32 and 1.5, and no more than 30. Would catch raises that do not grow, grow
/// without bound, or go on growing after a pause.
#[test]
fn raises_grow_while_nothing_is_late() {
    let config = Config::new(rate(2_000_000), rate(8_000_000), rate(30_000_000));
    let mut autorate = autorate(config);
    let (mut now, mut bytes) = (0.0, 0);
    let mut step = |autorate: &mut Autorate, part: f64| {
        now += 200.0;
        bytes += (autorate.rate().bits_per_second() as f64 / 8.0 * 0.2 * part) as u64;
        answer(autorate, 0, now, 0.0);
        autorate.traffic(ms(now), bytes)
    };
    step(&mut autorate, 0.0);
    for expected in [8_320_000.0, 8_985_600.0, 10_423_296.0, 13_758_750.72, 20_638_126.08, 30_000_000.0] {
        near(&step(&mut autorate, 1.0), expected);
    }
    let at_most = step(&mut autorate, 1.0);
    assert_eq!((at_most.reason, at_most.blocker), (Reason::Held, Some(Blocker::AtMaximum)));

    // The eight steps before took 1.6 s.
    let mut autorate = Autorate::new(autorate.config().clone(), ms(1600.0)).unwrap_or_else(|error| panic!("{error}"));
    for (part, expected) in [(0.0, 8e6), (1.0, 8.32e6), (1.0, 8.9856e6), (0.1, 8.9856e6), (1.0, 9.345_024e6)] {
        near(&step(&mut autorate, part), expected);
    }
}

/// Would catch a rate below the least one, and a log that says that it was cut.
#[test]
fn the_minimum_is_kept() {
    let least = Config { law: Law::Steps, ..Config::new(rate(19_000_000), rate(BASE), rate(BASE)) };
    let mut autorate = with_baselines(least);
    let cut = [0, 1, 2].map(|reflector| answer(&mut autorate, reflector, 700.0, 240.0));
    assert_eq!((cut[2].reason, cut[2].rate), (Reason::Cut, rate(19_000_000)));
    let held = answer(&mut autorate, 3, 1100.0, 240.0);
    assert_eq!((held.reason, held.blocker), (Reason::Held, Some(Blocker::AtMinimum)));
}

/// Would catch an answer that counts twice, or that nobody asked for.
#[test]
fn unknown_answers_change_nothing() {
    let mut autorate = with_baselines(config(Law::Steps));
    autorate.sent(ms(400.0), 0, 0);
    for _ in 0..10 {
        assert_eq!(autorate.answered(ms(900.0), 0, ms(400.0), ProbeDelay::RoundTrip, 0).reason, Reason::Held);
        assert_eq!(autorate.answered(ms(900.0), 1, ms(401.0), ProbeDelay::RoundTrip, 0).reason, Reason::Held);
    }
    assert!(!autorate.answered(ms(1000.0), 0, ms(300.0), ProbeDelay::RoundTrip, 0).changes());
    assert_eq!(autorate.rate(), rate(BASE));
}

/// Would catch parameters with which the law divides by zero or contradicts itself, and errors without a remedy.
#[test]
fn parameters_are_checked() {
    let good = config(Law::Follow);
    assert_eq!(good.check(), Ok(()));
    type Change = fn(&mut Config);
    let wrong: [(Change, &str); 12] = [
        (|config| config.min = rate(0), "min: it must be greater than zero"),
        (|config| config.min = rate(21_000_000), "base: 20mbit is not from min, 21mbit, to max, 40mbit"),
        (|config| config.max = rate(1_000_000), "base: 20mbit is not from min, 2mbit, to max, 1mbit"),
        (|config| config.max = rate(u64::MAX), "max: 18446744073709551615bit is more than 1tbit, the highest rate"),
        (|config| config.late = Duration::ZERO, "late: it cannot be 0ns: expected 1ms to 10s"),
        (|config| config.cut_delay = Duration::from_millis(30), "cut_delay: 30ms must be more than late, 30ms"),
        (|config| config.window = 0, "window: it cannot be 0: expected 1 to 100"),
        (|config| config.late_samples = 7, "late_samples: it cannot be 7: expected 1 to 6"),
        (|config| config.high_load = f64::NAN, "high_load: it cannot be NaN: expected 0 to 1"),
        (|config| config.most_raise = 0.01, "most_raise: it cannot be 0.01: expected 0.04 to 10"),
        (|config| config.no_answer = Duration::from_millis(250), "no_answer: 250ms must be more than stall, 250ms"),
        (|config| config.packet = 0, "packet: it cannot be 0: expected 1 to 16777216"),
    ];
    for (change, message) in wrong {
        let mut config = good.clone();
        change(&mut config);
        let error = Autorate::new(config, Time::ZERO).expect_err(message);
        assert_eq!(error.to_string(), message);
    }
}

/// Would catch two reasons that a log could not tell apart.
#[test]
fn reasons_have_words_of_their_own() {
    let mut words: Vec<&str> = Reason::ALL.map(Reason::words).to_vec();
    words.extend(Blocker::ALL.map(Blocker::words));
    let count = words.len();
    words.sort_unstable();
    words.dedup();
    assert_eq!(words.len(), count);
}
