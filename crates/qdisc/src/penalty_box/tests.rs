use super::*;

const BOUNDS: Bounds = Bounds { rtt: Duration::from_millis(100), mtu: 1500.0 };

fn suspect(rate: f64, part: f64, loss: f64) -> Suspect {
    Suspect { flow: FlowKey::new(1), rate, part, loss }
}

/// SPEC 7.1: 1.5 sqrt(2/3) B / (R sqrt(p)), by hand: 1.2247 x 1500 / (0.1 x 0.2) at 4 %.
#[test]
fn a_flow_may_send_what_a_tcp_would() {
    assert!((BOUNDS.friendly(0.04) - 91_855.9).abs() < 0.1, "{}", BOUNDS.friendly(0.04));
    assert_eq!(BOUNDS.exceeded(suspect(91_800.0, 0.1, 0.04), None, 10), None);
    assert_eq!(BOUNDS.exceeded(suspect(91_900.0, 0.1, 0.04), None, 10), Some(BOUNDS.friendly(0.04)));
}

/// SPEC 7.1: when losses rise by x the rate must fall by its root; a rise below four is not judged.
#[test]
fn a_flow_must_slow_down_when_losses_rise() {
    let before = Some(suspect(80_000.0, 0.1, 0.01));
    assert_eq!(BOUNDS.exceeded(suspect(41_000.0, 0.1, 0.04), before, 10), Some(40_000.0));
    assert_eq!(BOUNDS.exceeded(suspect(39_000.0, 0.1, 0.04), before, 10), None);
    assert_eq!(BOUNDS.exceeded(suspect(80_000.0, 0.1, 0.039), before, 10), None);
}

/// SPEC 7.1: of n flows one may have ln(3n)/n of the drops, 0.34 of ten, or 12,000 B/s over the root of the drop rate.
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
fn watch() -> Watch {
    Watch {
        bounds: BOUNDS,
        period: Duration::from_millis(1000),
        log: Vec::new(),
        history: 10,
        drops: 0,
        began: Time::ZERO,
        arrived: 0,
        dropped: 0,
        numbers: FlowTable::new(Seed::new(1)),
        boxed: Vec::new(),
        seen: Vec::new(),
    }
}

fn millis(count: u64) -> Time {
    Time::ZERO + Duration::from_millis(count)
}

/// A period ends after `interval`, or when the log is full, but not within a round-trip time.
#[test]
fn a_full_log_ends_a_period_after_a_round_trip() {
    let mut watch = watch();
    watch.arrived = 1_000_000;
    for _ in 0..10 {
        watch.log(FlowKey::new(3), 1000);
    }
    watch.advance(millis(99));
    assert_eq!(watch.numbers.flows(), 0);
    watch.advance(millis(100));
    assert_eq!(watch.numbers.flows(), 1);
    assert_eq!(watch.began, millis(100));
    watch.advance(millis(1099));
    assert_eq!(watch.began, millis(100));
    watch.advance(millis(1100));
    assert_eq!(watch.began, millis(1100));
}

/// SPEC 7.1: out after two periods in a row below the bound; one above it counts from the start.
#[test]
fn the_box_opens_after_two_calm_periods() {
    let mut watch = watch();
    watch.lock_up(FlowKey::new(3), 5000.0);
    let mut inside = Vec::new();
    for (period, arrived) in [4000, 6000, 4999, 5000, 1000, 1000].into_iter().enumerate() {
        if let Some(boxed) = &mut watch.boxed[0] {
            boxed.arrived = arrived;
        }
        watch.arrived = 1;
        watch.advance(millis(1000 * (period as u64 + 1)));
        inside.push(watch.numbers.flows());
    }
    assert_eq!(inside, [1, 1, 1, 1, 1, 0]);
}

/// Would catch state that outlives what it is about: after a year everybody is out, and the next period is the present one.
#[test]
fn a_year_without_arrivals_opens_the_box() {
    let mut watch = watch();
    for flow in 0..5 {
        watch.lock_up(FlowKey::new(flow), 5000.0);
    }
    let year = Time::ZERO + Duration::from_secs(31_536_000.5);
    watch.advance(year);
    assert_eq!(watch.numbers.flows(), 0);
    assert_eq!(year - watch.began, Duration::from_millis(500));
}

/// The log is the last `history` drops, and the suspect has most of their bytes.
#[test]
fn the_suspect_has_most_bytes_of_the_last_drops() {
    let mut watch = watch();
    watch.arrived = 50_000;
    for (flow, bytes) in [(9, 60_000), (9, 60_000), (1, 500), (2, 900), (1, 500), (3, 100), (1, 500), (2, 900)] {
        watch.log(FlowKey::new(flow), bytes);
    }
    for _ in 0..4 {
        watch.log(FlowKey::new(4), 100);
    }
    // Twelve drops: the two of flow 9 have left the log of ten, where flow 2 has 1800 bytes and flow 1 1500 of 3800.
    let Some((suspect, flows)) = watch.suspect(2.0) else { panic!("there are drops") };
    assert_eq!((suspect.flow.get(), flows), (2, 4));
    assert!((suspect.part - 1800.0 / 3800.0).abs() < 1e-12, "{}", suspect.part);
    assert!((suspect.rate - 25_000.0 * 1800.0 / 3800.0).abs() < 1e-6, "{}", suspect.rate);
    assert!((suspect.loss - 123_800.0 / 50_000.0).abs() < 1e-12, "{}", suspect.loss);
}

/// A bucket fills at its rate and not above its burst.
#[test]
fn the_bucket_lets_through_its_rate() {
    let mut bucket = Bucket { rate: 1e-4, burst: 2000.0, tokens: 2000.0, filled: Time::ZERO };
    let mut through = 0;
    // A packet of 1000 bytes each ms for 10 s, at 100 kB/s: 1000 and the burst of two.
    for ms in 0..10_000 {
        through += u32::from(bucket.take(millis(ms), 1000));
    }
    assert!((1001..=1002).contains(&through), "{through}");
    assert!(bucket.take(millis(1_000_000_000), 2000));
    assert!(!bucket.take(millis(1_000_000_000), 1));
}

/// The last sixteen suspects are remembered, each at its lowest drop rate; who is in the box is not judged again, and of no more
/// than 1024.
#[test]
fn what_is_remembered_is_bounded() {
    let mut watch = watch();
    let harmless = |flow, loss| Suspect { flow: FlowKey::new(flow), rate: 1.0, part: 0.1, loss };
    for flow in 0..20 {
        watch.judge(harmless(flow, 0.04), 10);
    }
    let keys: Vec<u64> = watch.seen.iter().map(|seen| seen.flow.get()).collect();
    assert_eq!(keys, (4..20).collect::<Vec<u64>>());
    for (loss, lowest) in [(0.05, 0.04), (0.02, 0.02), (0.03, 0.02)] {
        watch.judge(harmless(9, loss), 10);
        assert_eq!(watch.seen.last().map(|seen| (seen.flow.get(), seen.loss)), Some((9, lowest)));
    }

    let greedy = |flow| Suspect { rate: 1e9, ..harmless(flow, 0.04) };
    for flow in 100..2000 {
        watch.judge(greedy(flow), 10);
    }
    assert_eq!(watch.numbers.flows(), MOST_BOXED);
    if let Some(boxed) = &mut watch.boxed[0] {
        boxed.calm = 1;
    }
    watch.judge(greedy(100), 10);
    assert!(watch.boxed[0].is_some_and(|boxed| boxed.calm == 1), "it begins anew");
}

/// Of flows with equally many bytes in the log, the one with the smallest key is the suspect.
#[test]
fn of_equal_suspects_the_smallest_key_is_taken() {
    let mut watch = watch();
    watch.arrived = 50_000;
    for flow in [5, 3, 8] {
        watch.log(FlowKey::new(flow), 1000);
    }
    assert_eq!(watch.suspect(1.0).map(|(suspect, _)| suspect.flow.get()), Some(3));
}
