use super::*;
use crate::SimplePacket;

const RTT: Duration = Duration::from_millis(40);

/// The formula by hand, 0.6 x 0.04 / sqrt(0.015) s at a drop rate of 1 %, and the bounds of 2 and 10 round-trip times.
#[test]
fn an_interval_is_three_fifths_of_a_tcps_time_between_losses() {
    assert!((interval(RTT, 0.01).as_secs() - 0.195_959).abs() < 1e-6);
    assert_eq!(interval(RTT, 0.0), Duration::from_millis(400));
    assert_eq!(interval(RTT, 0.000_001), Duration::from_millis(400));
    assert_eq!(interval(RTT, 0.5), Duration::from_millis(80));
    assert_eq!(interval(Duration::from_nanos(u64::MAX), 1.0), Duration::from_nanos(u64::MAX));
    assert!(interval(Duration::from_nanos(1), 1.0) > Duration::ZERO);
}

fn filter(probability: f64, unresponsive: bool) -> FlowFilter {
    FlowFilter { unresponsive, ..FlowFilter::new(probability) }
}

/// `monitoring.tcl`: P doubles or grows by g, that of an unresponsive flow three times or by 2 g, and it stays below 1.
#[test]
fn the_probability_is_raised_as_in_ns_2() {
    for (before, gain, unresponsive, after) in [
        (0.1, 0.3, false, 0.2),
        (0.1, 0.05, false, 0.15),
        (0.1, 0.3, true, 0.3),
        (0.1, 0.05, true, 0.2),
        (0.6, 0.7, false, 0.8),
        (0.4, 0.7, true, 0.8),
        (0.7, 0.4, false, 0.85),
    ] {
        let mut filter = filter(before, unresponsive);
        filter.raise(gain);
        assert!((filter.probability - after).abs() < 1e-12, "{before} {gain}: {}", filter.probability);
    }
    let mut certain = filter(0.9, false);
    for _ in 0..200 {
        certain.raise(1.0);
        assert!(certain.probability <= 1.0);
    }
}

/// `monitoring.tcl`: P falls by 0.05 above 0.1, else by half, and the flow is released at 0.005; that of an
/// unresponsive flow falls by 0.05 above 0.075, else by a third, and the flow is released at 0.0025.
#[test]
fn the_probability_is_lowered_as_in_ns_2() {
    for (before, unresponsive, after) in [
        (0.2, false, Some(0.15)),
        (0.1, false, Some(0.05)),
        (0.006, false, Some(0.003)),
        (0.005, false, None),
        (0.2, true, Some(0.15)),
        (0.076, true, Some(0.026)),
        (0.075, true, Some(0.05)),
        (0.003, true, Some(0.002)),
        (0.0025, true, None),
    ] {
        let mut filter = filter(before, unresponsive);
        let stays = filter.lower();
        assert_eq!(stays, after.is_some(), "{before}");
        assert!(after.is_none_or(|after: f64| (filter.probability - after).abs() < 1e-12), "{}", filter.probability);
    }
}

/// Would catch a flow judged wrongly: one with a constant rate does not respond; one whose rate falls with the root of
/// its losses counts as responsive, and so does one with few or similar observations.
#[test]
fn constant_rates_do_not_respond() {
    let unresponsive = |observations: &[(f64, f64)]| {
        let mut filter = FlowFilter::new(0.1);
        for &(rate, loss) in observations {
            filter.observe(rate, loss);
        }
        filter.does_not_respond()
    };
    assert!(!unresponsive(&[]));
    // One pair alone is no proof; three are.
    assert!(!unresponsive(&[(1e6, 0.01), (1e6, 0.02)]));
    assert!(unresponsive(&[(1e6, 0.01), (1e6, 0.02), (1e6, 0.04)]));
    assert!(!unresponsive(&[(1e6, 0.01), (1e6, 0.02), (1e6, 0.02)]), "two pairs are not enough");
    // The first was so fast that two of the others are slow compared with it: seven pairs that do not respond against
    // two that do.
    assert!(!unresponsive(&[(1.75e6, 0.01), (1e6, 0.02), (1e6, 0.03), (1e6, 0.04), (1e6, 0.04)]));
    // A little faster than 1 / sqrt(p).
    let tcp = [0.01, 0.02, 0.03, 0.05, 0.08].map(|loss| (1e5 * libm::pow(loss, -0.6), loss));
    assert!(!unresponsive(&tcp));
    // Losses that differ tenfold are not compared.
    assert!(!unresponsive(&[(1e6, 0.001), (1e6, 0.01), (1e6, 0.1)]));
    // Only the last five count.
    let mut early: Vec<(f64, f64)> = std::vec![(1e6, 0.01), (1e6, 0.02), (1e6, 0.04)];
    early.extend([(1e6, 0.5); 2]);
    assert!(unresponsive(&early));
    early.extend([(1e6, 0.5); 3]);
    assert!(!unresponsive(&early));
}

/// Would catch another spacing than that of ns-2: at a constant probability the gaps between drops are uniform on
/// 1..1/p.
#[test]
fn the_filter_spaces_its_drops() {
    let mut filter = FlowFilter::new(0.1);
    let mut rolls = Seed::new(1).stream("rolls");
    let mut seen = [0_u32; 12];
    let mut gap = 1;
    for _ in 0..550_000 {
        if filter.rolls(rolls.unit()) {
            filter.passed = 0.0;
            seen[gap.min(11)] += 1;
            gap = 1;
        } else {
            filter.passed += 1.0;
            gap += 1;
        }
    }
    // Rounding of sums of 0.1 decides whether the longest gap is 10 or 11.
    assert!(seen[0] == 0 && seen[11] == 0, "{seen:?}");
    let drops: u32 = seen.iter().sum();
    for count in &seen[1..=10] {
        let expected = f64::from(drops) / 10.0;
        assert!((f64::from(*count) - expected).abs() < 5.0 * libm::sqrt(expected), "{seen:?}");
    }
}

/// Would catch flows that stay tracked, and intervals that lie in the past, after a year without arrivals.
#[test]
fn a_year_without_arrivals_forgets_everything() {
    let mut prefilter = Prefilter::new(RTT, Seed::new(1));
    let mut now = Time::ZERO;
    for n in 0..5000_u64 {
        now = Time::from_nanos(n * 2_000_000);
        prefilter.advance(now);
        prefilter.arrived += 1000;
        if n % 3 == 0 {
            prefilter.dropped += 1000;
            prefilter.flow(FlowKey::new(n % 7), 1000).dropped += 1000;
        }
    }
    assert_eq!(prefilter.numbers.flows(), 7);
    let monitored = prefilter.flows.iter().filter(|flow| flow.filter.is_some()).count();
    assert_eq!(monitored, 7);
    prefilter.advance(now + Duration::from_secs(31_536_000.0));
    assert_eq!((prefilter.numbers.flows(), prefilter.tracked.len()), (0, 0));
    assert_eq!(prefilter.lengths, [Duration::from_millis(400); LISTS]);
    assert!(prefilter.average.is_some_and(|average| average < 1e-300));
    let Some(started) = prefilter.started else { panic!("it has started") };
    assert!(now + Duration::from_secs(31_536_000.0) - started < Duration::from_millis(400));
}

/// Would catch a list that has not the 50 flows with the most bytes dropped.
#[test]
fn the_fifty_with_most_drops_are_listed() {
    let mut prefilter = Prefilter::new(RTT, Seed::new(1));
    prefilter.advance(Time::ZERO);
    for flow in 0..200_u64 {
        prefilter.flow(FlowKey::new(flow), 1000).dropped += 1000 + flow * 7 % 200;
    }
    prefilter.advance(Time::ZERO + Duration::from_millis(400));
    let mut listed: Vec<u64> =
        prefilter.tracked.iter().map(|&number| prefilter.flows[number as usize].listed()).collect();
    listed.sort_unstable();
    assert_eq!(listed, (1150..1200).collect::<Vec<u64>>());
}

/// Would catch a flow that is monitored too early or too late: it takes drops in three intervals of five.
#[test]
fn drops_in_three_intervals_of_five_are_regular() {
    for (drops, monitored) in [
        ([1, 1, 0, 0, 0], false),
        ([1, 1, 1, 0, 0], true),
        ([1, 0, 1, 0, 1], true),
        ([1, 0, 0, 1, 0], false),
        ([0, 0, 1, 1, 1], true),
    ] {
        let mut prefilter = Prefilter::new(RTT, Seed::new(1));
        let mut now = Time::ZERO;
        prefilter.advance(now);
        for dropped in drops {
            prefilter.arrived += 100_000;
            if dropped > 0 {
                prefilter.dropped += 2000;
                prefilter.flow(FlowKey::new(7), 2000).dropped += 2000;
            }
            now += prefilter.length;
            prefilter.advance(now);
        }
        let found = prefilter.flows.iter().any(|flow| flow.filter.is_some());
        assert_eq!(found, monitored, "{drops:?}");
        if found {
            // The only regular flow gets the drop rate itself, here 2 %, averaged with the intervals before.
            let probability = prefilter.flows[0].filter.map_or(0.0, |filter| filter.probability);
            assert!(probability > 0.0 && probability <= 0.02, "{probability}");
        }
    }
}

/// Would catch a flow that is monitored at a drop rate of no more than a thousandth.
#[test]
fn rare_drops_do_not_count() {
    for (dropped, monitored) in [(1000, false), (1001, true)] {
        let mut prefilter = Prefilter::new(RTT, Seed::new(1));
        let mut now = Time::ZERO;
        prefilter.advance(now);
        for _ in 0..LISTS {
            prefilter.arrived += 1_000_000;
            prefilter.dropped += dropped;
            prefilter.flow(FlowKey::new(7), 1000).dropped += dropped;
            now += prefilter.length;
            prefilter.advance(now);
        }
        assert_eq!(prefilter.flows[0].filter.is_some(), monitored, "{dropped} of a million");
    }
}

/// Would catch a choice among flows with equal drops that depends on the order of their arrival.
#[test]
fn of_equal_drops_the_smaller_keys_are_listed() {
    let mut prefilter = Prefilter::new(RTT, Seed::new(1));
    prefilter.advance(Time::ZERO);
    for flow in 0..200_u64 {
        prefilter.flow(FlowKey::new(flow * 77 % 200), 1000).dropped += 1000;
    }
    prefilter.advance(Time::ZERO + Duration::from_millis(400));
    let mut listed: Vec<u64> =
        prefilter.tracked.iter().map(|&number| prefilter.flows[number as usize].key.get()).collect();
    listed.sort_unstable();
    assert_eq!(listed, (0..50).collect::<Vec<u64>>());
}

/// Would catch drops of the filter that do not count: a regular flow with such drops still sends too much, and the
/// probability of one without any drop stays.
#[test]
fn what_the_filter_drops_counts_as_drops() {
    for (filtered, after) in [(500, 0.02), (0, 0.01)] {
        let mut prefilter = Prefilter::new(RTT, Seed::new(1));
        prefilter.advance(Time::ZERO);
        // Another flow has the drops of this interval: 2 % of what came, twice the filter's probability.
        (prefilter.arrived, prefilter.dropped) = (100_000, 2000);
        prefilter.flow(FlowKey::new(8), 2000).dropped += 2000;
        let flow = prefilter.flow(FlowKey::new(7), 1000);
        flow.filtered = filtered;
        flow.lists = [1000, 0, 1000, 1000, 0];
        flow.filter = Some(filter(0.01, false));
        prefilter.advance(Time::ZERO + Duration::from_millis(400));
        let probability = prefilter.flows[1].filter.map(|filter| filter.probability);
        assert_eq!(probability, Some(after), "{filtered} bytes filtered");
    }
}

/// Would catch a probability that starts above twice the drop rate, for a flow with more than twice the mean drops.
#[test]
fn no_flow_starts_above_twice_the_drop_rate() {
    let mut prefilter = Prefilter::new(RTT, Seed::new(1));
    let mut now = Time::ZERO;
    prefilter.advance(now);
    for _ in 0..REGULAR {
        prefilter.arrived += 100_000;
        for (flow, dropped) in [(0, 800), (1, 100), (2, 100)] {
            prefilter.dropped += dropped;
            prefilter.flow(FlowKey::new(flow), 1000).dropped += dropped;
        }
        now += prefilter.length;
        prefilter.advance(now);
    }
    // The drop rate is 1 %, of which the first flow would get 0.8 / (1/3) = 2.4 times, and the others 0.3 times.
    for (flow, expected) in [0.02, 0.003, 0.003].into_iter().enumerate() {
        let probability = prefilter.flows[flow].filter.map_or(0.0, |filter| filter.probability);
        assert!((probability - expected).abs() < 1e-12, "{flow}: {probability}");
    }
}

/// Would catch a reward that comes too early: a flow without drops waits three intervals, an unresponsive one five.
#[test]
fn unresponsive_flows_wait_longer() {
    for (unresponsive, millis) in [(false, 1200), (true, 2000)] {
        let mut prefilter = Prefilter::new(RTT, Seed::new(1));
        prefilter.lengths = [Duration::from_millis(400); LISTS];
        prefilter.flow(FlowKey::new(7), 1000).filter = Some(filter(0.2, unresponsive));
        for (later, expected) in [(millis - 1, 0.2), (millis, 0.15)] {
            prefilter.reward(Time::ZERO + Duration::from_millis(later));
            let probability = prefilter.flows[0].filter.map_or(0.0, |filter| filter.probability);
            assert!((probability - expected).abs() < 1e-12, "{unresponsive}, {later} ms: {probability}");
        }
    }
}

/// Would catch a responsive flow that is filtered although there is no congestion: the average is below `min`.
#[test]
fn without_congestion_responsive_flows_pass() {
    for unresponsive in [false, true] {
        let red = RedCore::new(RedParameters::default(), Seed::new(1)).unwrap();
        let mut prefilter = Prefilter::new(RTT, Seed::new(1));
        prefilter.flow(FlowKey::new(7), 1000).filter = Some(filter(1.0, unresponsive));
        assert_eq!(prefilter.drops(FlowKey::new(7), 1000, &red, 2), unresponsive);
    }
}

/// Would catch a value out of its range that is accepted.
#[test]
fn invalid_configs_are_refused() {
    for (key, config) in [
        ("rtt", Config { rtt: Duration::ZERO, ..Config::default() }),
        (
            "min",
            Config { red: RedParameters { min: Size::packets(201), ..RedParameters::default() }, ..Config::default() },
        ),
    ] {
        let error = RedPd::<SimplePacket>::new(config, Seed::new(1)).unwrap_err();
        assert_eq!(error.key(), key);
    }
}
