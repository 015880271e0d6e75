use super::*;

const RTT: Duration = Duration::from_millis(40);

/// SPEC appendix D, and the bounds of 2 and 10 round trips.
#[test]
fn an_interval_is_three_fifths_of_a_tcps_time_between_losses() {
    assert!((interval(RTT, 0.01).as_secs() - 0.195_959).abs() < 1e-6);
    assert_eq!(interval(RTT, 0.0), Duration::from_millis(400));
    assert_eq!(interval(RTT, 0.000_001), Duration::from_millis(400));
    assert_eq!(interval(RTT, 0.5), Duration::from_millis(80));
    assert_eq!(interval(Duration::from_nanos(u64::MAX), 1.0), Duration::from_nanos(u64::MAX));
    assert!(interval(Duration::from_nanos(1), 1.0) > Duration::ZERO);
}

fn monitor(probability: f64, unresponsive: bool) -> Monitor {
    Monitor { unresponsive, ..Monitor::new(probability) }
}

/// SPEC 7.3: P doubles or grows by g, unresponsive flows three times or by 2 g, and it stays below 1.
#[test]
fn the_probability_is_raised_by_the_law() {
    for (before, gain, unresponsive, after) in [
        (0.1, 0.3, false, 0.2),
        (0.1, 0.05, false, 0.15),
        (0.1, 0.3, true, 0.3),
        (0.1, 0.05, true, 0.2),
        (0.6, 0.7, false, 0.8),
        (0.4, 0.7, true, 0.8),
        (0.7, 0.4, false, 0.85),
    ] {
        let mut monitor = monitor(before, unresponsive);
        monitor.raise(gain);
        assert!((monitor.probability - after).abs() < 1e-12, "{before} {gain}: {}", monitor.probability);
    }
    let mut certain = monitor(0.9, false);
    for _ in 0..200 {
        certain.raise(1.0);
        assert!(certain.probability <= 1.0);
    }
}

/// SPEC 7.3: by 0.05 above 0.1, else by half, and released at 0.005; unresponsive flows by 0.05 above 0.075, else by a third, and
/// released at 0.0025.
#[test]
fn the_probability_is_lowered_by_the_law() {
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
        let mut monitor = monitor(before, unresponsive);
        let stays = monitor.lower();
        assert_eq!(stays, after.is_some(), "{before}");
        assert!(after.is_none_or(|after: f64| (monitor.probability - after).abs() < 1e-12), "{}", monitor.probability);
    }
}

/// A flow of constant rate does not respond; one whose rate falls with the root of its losses does, and so does one with few or
/// similar observations.
#[test]
fn constant_rates_do_not_respond() {
    let verdict = |observations: &[(f64, f64)]| {
        let mut monitor = Monitor::new(0.1);
        for &(rate, loss) in observations {
            monitor.observe(rate, loss);
        }
        monitor.does_not_respond()
    };
    assert!(!verdict(&[]));
    // One pair alone is no proof; three are.
    assert!(!verdict(&[(1e6, 0.01), (1e6, 0.02)]));
    assert!(verdict(&[(1e6, 0.01), (1e6, 0.02), (1e6, 0.04)]));
    assert!(!verdict(&[(1e6, 0.01), (1e6, 0.02), (1e6, 0.02)]), "two are none yet");
    // The first was so fast that two of the others are slow beside it: seven pairs that do not respond against two that do.
    assert!(!verdict(&[(1.75e6, 0.01), (1e6, 0.02), (1e6, 0.03), (1e6, 0.04), (1e6, 0.04)]));
    // A little faster than 1 / sqrt(p).
    let tcp = [0.01, 0.02, 0.03, 0.05, 0.08].map(|loss| (1e5 * libm::pow(loss, -0.6), loss));
    assert!(!verdict(&tcp));
    // Losses tenfold apart say nothing.
    assert!(!verdict(&[(1e6, 0.001), (1e6, 0.01), (1e6, 0.1)]));
    // Only the last five count.
    let mut early: Vec<(f64, f64)> = std::vec![(1e6, 0.01), (1e6, 0.02), (1e6, 0.04)];
    early.extend([(1e6, 0.5); 2]);
    assert!(verdict(&early));
    early.extend([(1e6, 0.5); 3]);
    assert!(!verdict(&early));
}

/// ns-2's spacing: at a constant probability the gaps between drops are uniform on 1..1/p.
#[test]
fn the_filter_spaces_its_drops() {
    let mut monitor = Monitor::new(0.1);
    let mut rolls = Seed::new(1).stream("rolls");
    let mut seen = [0_u32; 12];
    let mut gap = 1;
    for _ in 0..550_000 {
        if monitor.rolls(rolls.unit()) {
            monitor.passed = 0.0;
            seen[gap.min(11)] += 1;
            gap = 1;
        } else {
            monitor.passed += 1.0;
            gap += 1;
        }
    }
    // The last gap is cut or not by how sums of 0.1 are rounded.
    assert!(seen[0] == 0 && seen[11] == 0, "{seen:?}");
    let drops: u32 = seen.iter().sum();
    for count in &seen[1..=10] {
        let expected = f64::from(drops) / 10.0;
        assert!((f64::from(*count) - expected).abs() < 5.0 * libm::sqrt(expected), "{seen:?}");
    }
}

/// What ended intervals leave is what any number of empty ones would: a year passes at once.
#[test]
fn a_year_without_arrivals_forgets_everything() {
    let mut monitoring = Monitoring::new(RTT, Seed::new(1));
    let mut now = Time::ZERO;
    for n in 0..5000_u64 {
        now = Time::from_nanos(n * 2_000_000);
        monitoring.advance(now);
        monitoring.arrived += 1000;
        if n % 3 == 0 {
            monitoring.dropped += 1000;
            monitoring.flow(FlowKey::new(n % 7), 1000).dropped += 1000;
        }
    }
    assert_eq!(monitoring.numbers.flows(), 7);
    let monitored = monitoring.flows.iter().filter(|flow| flow.monitor.is_some()).count();
    assert_eq!(monitored, 7);
    monitoring.advance(now + Duration::from_secs(31_536_000.0));
    assert_eq!((monitoring.numbers.flows(), monitoring.known.len()), (0, 0));
    assert_eq!(monitoring.lengths, [Duration::from_millis(400); LISTS]);
    assert!(monitoring.average.is_some_and(|average| average < 1e-300));
    let Some(started) = monitoring.started else { panic!("it has started") };
    assert!(now + Duration::from_secs(31_536_000.0) - started < Duration::from_millis(400));
}

/// SPEC 7.3: a list has the fifty flows with the most bytes dropped.
#[test]
fn the_fifty_with_most_drops_are_listed() {
    let mut monitoring = Monitoring::new(RTT, Seed::new(1));
    monitoring.advance(Time::ZERO);
    for flow in 0..200_u64 {
        monitoring.flow(FlowKey::new(flow), 1000).dropped += 1000 + flow * 7 % 200;
    }
    monitoring.advance(Time::ZERO + Duration::from_millis(400));
    let mut listed: Vec<u64> =
        monitoring.known.iter().map(|&number| monitoring.flows[number as usize].listed()).collect();
    listed.sort_unstable();
    assert_eq!(listed, (1150..1200).collect::<Vec<u64>>());
}

/// Would catch a flow that is monitored at once, or not in time: it takes drops in three intervals of five.
#[test]
fn drops_in_three_intervals_of_five_are_regular() {
    for (drops, monitored) in [
        ([1, 1, 0, 0, 0], false),
        ([1, 1, 1, 0, 0], true),
        ([1, 0, 1, 0, 1], true),
        ([1, 0, 0, 1, 0], false),
        ([0, 0, 1, 1, 1], true),
    ] {
        let mut monitoring = Monitoring::new(RTT, Seed::new(1));
        let mut now = Time::ZERO;
        monitoring.advance(now);
        for dropped in drops {
            monitoring.arrived += 100_000;
            if dropped > 0 {
                monitoring.dropped += 2000;
                monitoring.flow(FlowKey::new(7), 2000).dropped += 2000;
            }
            now += monitoring.length;
            monitoring.advance(now);
        }
        let found = monitoring.flows.iter().any(|flow| flow.monitor.is_some());
        assert_eq!(found, monitored, "{drops:?}");
        if found {
            // The only regular flow's part is the drop rate itself, here 2 %, averaged with the intervals before.
            let probability = monitoring.flows[0].monitor.map_or(0.0, |monitor| monitor.probability);
            assert!(probability > 0.0 && probability <= 0.02, "{probability}");
        }
    }
}

/// SPEC 7.3: at a drop rate up to a thousandth nobody is monitored.
#[test]
fn rare_drops_are_nobodys_fault() {
    for (dropped, monitored) in [(1000, false), (1001, true)] {
        let mut monitoring = Monitoring::new(RTT, Seed::new(1));
        let mut now = Time::ZERO;
        monitoring.advance(now);
        for _ in 0..LISTS {
            monitoring.arrived += 1_000_000;
            monitoring.dropped += dropped;
            monitoring.flow(FlowKey::new(7), 1000).dropped += dropped;
            now += monitoring.length;
            monitoring.advance(now);
        }
        assert_eq!(monitoring.flows[0].monitor.is_some(), monitored, "{dropped} of a million");
    }
}

/// Of flows with equal drops those with the smaller keys are listed, in whatever order they came.
#[test]
fn of_equal_drops_the_smaller_keys_are_listed() {
    let mut monitoring = Monitoring::new(RTT, Seed::new(1));
    monitoring.advance(Time::ZERO);
    for flow in 0..200_u64 {
        monitoring.flow(FlowKey::new(flow * 77 % 200), 1000).dropped += 1000;
    }
    monitoring.advance(Time::ZERO + Duration::from_millis(400));
    let mut listed: Vec<u64> =
        monitoring.known.iter().map(|&number| monitoring.flows[number as usize].key.get()).collect();
    listed.sort_unstable();
    assert_eq!(listed, (0..50).collect::<Vec<u64>>());
}

/// A regular flow that its filter alone drops from still sends too much; one that loses nothing has had enough.
#[test]
fn what_the_filter_drops_counts_as_drops() {
    for (filtered, after) in [(500, 0.02), (0, 0.01)] {
        let mut monitoring = Monitoring::new(RTT, Seed::new(1));
        monitoring.advance(Time::ZERO);
        // Another flow has the drops of this interval: 2 % of what came, twice the filter's probability.
        (monitoring.arrived, monitoring.dropped) = (100_000, 2000);
        monitoring.flow(FlowKey::new(8), 2000).dropped += 2000;
        let flow = monitoring.flow(FlowKey::new(7), 1000);
        flow.filtered = filtered;
        flow.lists = [1000, 0, 1000, 1000, 0];
        flow.monitor = Some(monitor(0.01, false));
        monitoring.advance(Time::ZERO + Duration::from_millis(400));
        let probability = monitoring.flows[1].monitor.map(|monitor| monitor.probability);
        assert_eq!(probability, Some(after), "{filtered} bytes filtered");
    }
}

/// SPEC 7.3: a flow with more than twice the drops of the average regular one starts at twice the drop rate.
#[test]
fn nobody_starts_above_twice_the_drop_rate() {
    let mut monitoring = Monitoring::new(RTT, Seed::new(1));
    let mut now = Time::ZERO;
    monitoring.advance(now);
    for _ in 0..REGULAR {
        monitoring.arrived += 100_000;
        for (flow, dropped) in [(0, 800), (1, 100), (2, 100)] {
            monitoring.dropped += dropped;
            monitoring.flow(FlowKey::new(flow), 1000).dropped += dropped;
        }
        now += monitoring.length;
        monitoring.advance(now);
    }
    // A hundredth is dropped. Of that the first would have 0.8 / (1/3), which is 2.4 times, and the others 0.3 times.
    for (flow, expected) in [0.02, 0.003, 0.003].into_iter().enumerate() {
        let probability = monitoring.flows[flow].monitor.map_or(0.0, |monitor| monitor.probability);
        assert!((probability - expected).abs() < 1e-12, "{flow}: {probability}");
    }
}

/// SPEC 7.3: without drops a filter is lowered after three intervals, that of a flow that does not respond after five.
#[test]
fn who_does_not_respond_waits_longer() {
    for (unresponsive, millis) in [(false, 1200), (true, 2000)] {
        let mut monitoring = Monitoring::new(RTT, Seed::new(1));
        monitoring.lengths = [Duration::from_millis(400); LISTS];
        monitoring.flow(FlowKey::new(7), 1000).monitor = Some(monitor(0.2, unresponsive));
        for (later, expected) in [(millis - 1, 0.2), (millis, 0.15)] {
            monitoring.reward(Time::ZERO + Duration::from_millis(later));
            let probability = monitoring.flows[0].monitor.map_or(0.0, |monitor| monitor.probability);
            assert!((probability - expected).abs() < 1e-12, "{unresponsive}, {later} ms: {probability}");
        }
    }
}

/// RED between 5 and 15 packets at 1 Mbit/s.
const SETTINGS: Settings = Settings {
    limit: Size::Packets(crate::Packets::new(60)),
    red: RedSettings {
        min: 5.0,
        max: 15.0,
        in_bytes: false,
        probability: 0.02,
        weight: 0.002,
        gentle: true,
        uniformize: crate::red::Uniformize::Count,
        spare: false,
        byte_drop: false,
        avpkt: 1000,
        slot: 8_000_000,
        ecn: false,
        harddrop: false,
    },
    rtt: RTT,
};

/// SPEC 7.3: without congestion only flows that do not respond are filtered.
#[test]
fn without_congestion_who_responds_is_left_alone() {
    for unresponsive in [false, true] {
        let mut queue = RedPd::<crate::SimplePacket>::new(SETTINGS, Seed::new(1));
        queue.monitoring.flow(FlowKey::new(7), 1000).monitor = Some(monitor(1.0, unresponsive));
        assert_eq!(queue.filters(FlowKey::new(7), 1000), unresponsive);
    }
}
