use super::*;
use crate::SimplePacket;

const BOUNDS: Bounds = Bounds { rtt: Duration::from_millis(100), mtu: 1500.0 };

fn suspect(rate: f64, part: f64, loss: f64) -> Suspect {
    Suspect { flow: FlowKey::new(1), rate, part, loss }
}

/// The test for TCP-friendly flows by hand: 1.5 sqrt(2/3) B / (R sqrt(p)), which is 1.2247 x 1500 / (0.1 x 0.2) at 4 %.
#[test]
fn a_flow_may_send_what_a_tcp_would() {
    assert!((BOUNDS.friendly(0.04) - 91_855.9).abs() < 0.1, "{}", BOUNDS.friendly(0.04));
    assert_eq!(BOUNDS.exceeded(suspect(91_800.0, 0.1, 0.04), None, 10), None);
    assert_eq!(BOUNDS.exceeded(suspect(91_900.0, 0.1, 0.04), None, 10), Some(BOUNDS.friendly(0.04)));
}

/// The test for unresponsive flows: when the drop rate rises by x, the rate must fall by the root of x. A rise below
/// fourfold is not judged.
#[test]
fn a_flow_must_slow_down_when_losses_rise() {
    let before = Some(suspect(80_000.0, 0.1, 0.01));
    assert_eq!(BOUNDS.exceeded(suspect(41_000.0, 0.1, 0.04), before, 10), Some(40_000.0));
    assert_eq!(BOUNDS.exceeded(suspect(39_000.0, 0.1, 0.04), before, 10), None);
    assert_eq!(BOUNDS.exceeded(suspect(80_000.0, 0.1, 0.039), before, 10), None);
}

/// The test for disproportionate bandwidth: of n flows one may have ln(3n)/n of the drops, 0.34 of ten, or 12,000 B/s
/// over the root of the drop rate.
#[test]
fn a_flow_must_not_be_far_above_an_equal_share() {
    // 60,000 B/s at 4 %, where a TCP may send 91,856.
    for (rate, part, flows, above) in [
        (60_100.0, 0.345, 10, true),
        (59_900.0, 0.345, 10, false),
        (60_100.0, 0.335, 10, false),
        (60_100.0, 0.9, 1, false),
        (60_100.0, 0.6, 10, true),
    ] {
        let bound = BOUNDS.exceeded(suspect(rate, part, 0.04), None, flows);
        assert_eq!(bound.is_some(), above, "{rate} {part} {flows}");
        assert!(bound.is_none_or(|bound| (bound - 60_000.0).abs() < 1e-6));
    }
}

/// Periods of a second, a log of ten drops, the bounds above.
fn monitor() -> FlowMonitor {
    let (interval, rtt) = (Duration::from_millis(1000), BOUNDS.rtt);
    FlowMonitor::new(&Config { history: 10, interval, rtt, ..Config::default() }, Seed::new(1))
}

fn millis(count: u64) -> Time {
    Time::ZERO + Duration::from_millis(count)
}

/// Would catch a period that ends late, or within a round-trip time: it ends after `interval`, or when the log is full.
#[test]
fn a_full_log_ends_a_period_after_a_round_trip() {
    let mut monitor = monitor();
    monitor.arrived = 1_000_000;
    for _ in 0..10 {
        monitor.log(FlowKey::new(3), 1000);
    }
    monitor.advance(millis(99));
    assert_eq!(monitor.numbers.flows(), 0);
    monitor.advance(millis(100));
    assert_eq!(monitor.numbers.flows(), 1);
    assert_eq!(monitor.began, millis(100));
    monitor.advance(millis(1099));
    assert_eq!(monitor.began, millis(100));
    monitor.advance(millis(1100));
    assert_eq!(monitor.began, millis(1100));
}

/// Would catch a flow released too early or too late: it takes two periods in a row below the bound.
#[test]
fn the_box_opens_after_two_calm_periods() {
    let mut monitor = monitor();
    monitor.put_into_box(FlowKey::new(3), 5000.0);
    let mut inside = Vec::new();
    for (period, arrived) in [4000, 6000, 4999, 5000, 1000, 1000].into_iter().enumerate() {
        if let Some(boxed) = &mut monitor.boxed[0] {
            boxed.arrived = arrived;
        }
        monitor.arrived = 1;
        monitor.advance(millis(1000 * (period as u64 + 1)));
        inside.push(monitor.numbers.flows());
    }
    assert_eq!(inside, [1, 1, 1, 1, 1, 0]);
}

/// Would catch flows that stay in the box, and a period that lies in the past, after a year without arrivals.
#[test]
fn a_year_without_arrivals_opens_the_box() {
    let mut monitor = monitor();
    for flow in 0..5 {
        monitor.put_into_box(FlowKey::new(flow), 5000.0);
    }
    let year = Time::ZERO + Duration::from_secs(31_536_000.5);
    monitor.advance(year);
    assert_eq!(monitor.numbers.flows(), 0);
    assert_eq!(year - monitor.began, Duration::from_millis(500));
}

/// Would catch a log of other drops than the last `history`, and a suspect that has not most of their bytes.
#[test]
fn the_suspect_has_most_bytes_of_the_last_drops() {
    let mut monitor = monitor();
    monitor.arrived = 50_000;
    for (flow, bytes) in [(9, 60_000), (9, 60_000), (1, 500), (2, 900), (1, 500), (3, 100), (1, 500), (2, 900)] {
        monitor.log(FlowKey::new(flow), bytes);
    }
    for _ in 0..4 {
        monitor.log(FlowKey::new(4), 100);
    }
    // Twelve drops: the two of flow 9 have left the log of ten, where flow 2 has 1800 bytes and flow 1 1500 of 3800.
    let Some((suspect, flows)) = monitor.suspect(2.0) else { panic!("there are drops") };
    assert_eq!((suspect.flow.get(), flows), (2, 4));
    assert!((suspect.part - 1800.0 / 3800.0).abs() < 1e-12, "{}", suspect.part);
    assert!((suspect.rate - 25_000.0 * 1800.0 / 3800.0).abs() < 1e-6, "{}", suspect.rate);
    assert!((suspect.loss - 123_800.0 / 50_000.0).abs() < 1e-12, "{}", suspect.loss);
}

/// Would catch memory that grows with the number of flows: the last 16 suspects are remembered, each at its lowest drop
/// rate, and at most 1024 flows are boxed. A flow in the box is not judged again.
#[test]
fn what_is_remembered_is_bounded() {
    let mut monitor = monitor();
    let harmless = |flow, loss| Suspect { flow: FlowKey::new(flow), rate: 1.0, part: 0.1, loss };
    for flow in 0..20 {
        monitor.judge(harmless(flow, 0.04), 10);
    }
    let keys: Vec<u64> = monitor.seen.iter().map(|seen| seen.flow.get()).collect();
    assert_eq!(keys, (4..20).collect::<Vec<u64>>());
    for (loss, lowest) in [(0.05, 0.04), (0.02, 0.02), (0.03, 0.02)] {
        monitor.judge(harmless(9, loss), 10);
        assert_eq!(monitor.seen.last().map(|seen| (seen.flow.get(), seen.loss)), Some((9, lowest)));
    }

    let greedy = |flow| Suspect { rate: 1e9, ..harmless(flow, 0.04) };
    for flow in 100..2000 {
        monitor.judge(greedy(flow), 10);
    }
    assert_eq!(monitor.numbers.flows(), MOST_BOXED);
    if let Some(boxed) = &mut monitor.boxed[0] {
        boxed.calm = 1;
    }
    monitor.judge(greedy(100), 10);
    assert!(monitor.boxed[0].is_some_and(|boxed| boxed.calm == 1), "it begins anew");
}

/// Would catch a choice among flows with equally many bytes that depends on the order of their drops.
#[test]
fn of_equal_suspects_the_smallest_key_is_taken() {
    let mut monitor = monitor();
    monitor.arrived = 50_000;
    for flow in [5, 3, 8] {
        monitor.log(FlowKey::new(flow), 1000);
    }
    assert_eq!(monitor.suspect(1.0).map(|(suspect, _)| suspect.flow.get()), Some(3));
}

/// Would catch a box whose rate does not follow the link's: without a rate it holds no flow back, then 5 % of the
/// link's rate, or of a given bandwidth, and a given rate stays.
#[test]
fn the_rate_of_the_box_follows_the_link() {
    let [slow, fast] = [8_000_000, 16_000_000].map(Rate::from_bits_per_second);
    let given = Some(Rate::from_bits_per_second(160_000));
    // RED finds ten packets of another flow: there is congestion, but too little for a drop.
    let defaults = RedParameters {
        min: Size::packets(1),
        weight: 1.0,
        probability: f64::MIN_POSITIVE,
        ..RedParameters::default()
    };
    let bandwidth = RedParameters { bandwidth: Some(slow), ..defaults };
    for (penalty_rate, red, link, expected) in [
        (None, defaults, None, 400),
        (None, defaults, Some(slow), 50),
        (None, defaults, Some(fast), 100),
        (None, bandwidth, Some(fast), 50),
        (given, defaults, None, 20),
        (given, defaults, Some(fast), 20),
    ] {
        let config = Config { penalty_rate, red, penalty_burst: Packets::new(1), ..Config::default() };
        let mut queue = PenaltyBox::<SimplePacket>::new(config, Seed::new(1)).unwrap();
        link.into_iter().for_each(|rate| queue.link_rate(rate));
        queue.monitor.put_into_box(FlowKey::new(7), 1.0);
        for _ in 0..10 {
            assert_eq!(queue.enqueue(Time::ZERO, SimplePacket::new(8, 1000), &mut ()), Fate::Queued);
        }
        // 400 packets of 1000 bytes in a second, of which the burst is one.
        for n in 0..=400 {
            let now = Time::from_nanos(n * 2_500_000);
            if !queue.enqueue(now, SimplePacket::new(7, 1000), &mut ()).is_dropped() {
                queue.dequeue(now, &mut ());
            }
        }
        assert_eq!(queue.counters().departed.packets, expected + 1, "{penalty_rate:?} {link:?}");
    }
}

/// Would catch a value out of its range that is accepted.
#[test]
fn invalid_configs_are_refused() {
    for (key, config) in [
        ("history", Config { history: 0, ..Config::default() }),
        ("penalty_rate", Config { penalty_rate: Some(Rate::from_bits_per_second(0)), ..Config::default() }),
        ("weight", Config { red: RedParameters { weight: 0.0, ..RedParameters::default() }, ..Config::default() }),
    ] {
        let error = PenaltyBox::<SimplePacket>::new(config, Seed::new(1)).unwrap_err();
        assert_eq!(error.key(), key);
    }
}
