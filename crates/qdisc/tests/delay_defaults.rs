//! Defaults and warnings of the disciplines that control delay.

use fairlane_qdisc::{Kind, ParameterError, QdiscParameters, Rate};

const LINK: Rate = Rate::from_bits_per_second(20_000_000);

/// Would catch a default that differs from the manuals: tc-codel(8), tc-fq_codel(8), tc-pie(8), tc-fq_pie(8),
/// tc-cake(8) and tc-dualpi2(8).
#[test]
fn defaults_are_those_of_the_manuals() -> Result<(), ParameterError> {
    let codel = [("target", "5ms"), ("interval", "100ms"), ("ce_threshold", "never")];
    let fq = [("limit", "10240p"), ("flows", "1024"), ("quantum", "1514b"), ("memory_limit", "33554432b")];
    let pie = [("target", "15ms"), ("tupdate", "15ms"), ("alpha", "2"), ("beta", "20"), ("ecn", "false")];
    let pie = [&pie[..], &[("bytemode", "false"), ("dq_rate_estimator", "false"), ("max_burst", "150ms")]].concat();
    let pi2 = [("target", "15ms"), ("tupdate", "16ms"), ("alpha", "0.16"), ("beta", "3.2")];
    let pi2 = [&pi2[..], &[("limit", "10000p"), ("coupling_factor", "2"), ("drop_overload", "true")]].concat();
    let dual = [
        ("laqm", "step"),
        ("step_thresh", "1ms"),
        ("min_qlen_step", "0"),
        ("spare_mtus", "0"),
        ("classic_protection", "10"),
    ];
    for (kind, table) in [
        (Kind::Codel, [&codel[..], &[("limit", "1000p"), ("ecn", "false")]].concat()),
        (Kind::FqCodel, [&codel[..], &fq, &[("ecn", "true"), ("drop_batch", "64")]].concat()),
        (Kind::Pie, [&pie[..], &[("limit", "1000p"), ("onoff", "false")]].concat()),
        (Kind::FqPie, [&pie[..], &fq, &[("ecn_prob", "10")]].concat()),
        (Kind::Cobalt, [&codel[..2], &[("limit", "1000p"), ("ecn", "true"), ("blue_threshold", "400ms")]].concat()),
        (Kind::Cake, vec![("rtt", "100ms"), ("diffserv", "diffserv3"), ("isolation", "triple-isolate")]),
        (Kind::Pi2, pi2.clone()),
        (Kind::DualPi2, [&pi2[..], &dual].concat()),
    ] {
        let explained = QdiscParameters::new(kind).explain(LINK)?;
        for (key, value) in table {
            let used = explained.parameters.iter().find(|row| row.key == key).map(|row| row.value.as_str());
            assert_eq!(used, Some(value), "{kind} {key}");
        }
        assert_eq!(explained.warnings, Vec::<String>::new(), "{kind}");
    }
    Ok(())
}

/// A longest round-trip time of 100 ms gives 15 ms, 0.15 and 3 (RFC 9332, appendix A.1).
#[test]
fn gains_follow_from_the_longest_round_trip_time() -> Result<(), ParameterError> {
    for kind in [Kind::Pi2, Kind::DualPi2] {
        for (max_rtt, tupdate, alpha, beta) in [("100ms", "15ms", 0.15, 3.0), ("30ms", "10ms", 1.0 / 0.9, 10.0)] {
            let explained = QdiscParameters::new(kind).with("max_rtt", max_rtt)?.explain(LINK)?;
            let used = |key: &str| explained.parameters.iter().find(|row| row.key == key).map(|row| row.value.clone());
            let number = |key: &str| used(key).and_then(|value| value.parse::<f64>().ok()).unwrap_or(f64::NAN);
            assert_eq!(used("tupdate").as_deref(), Some(tupdate));
            assert!((number("alpha") - alpha).abs() < 1e-9 && (number("beta") - beta).abs() < 1e-9, "{max_rtt}");
        }
    }
    Ok(())
}

/// Would catch a warning that is missing or does not name the problem.
#[test]
fn what_looks_wrong_is_said() -> Result<(), ParameterError> {
    let slow = Rate::from_bits_per_second(1_000_000);
    for (kind, given, rate, words) in [
        (Kind::Codel, &[][..], slow, "less than the 12.112 ms that a packet of 1514b takes"),
        (Kind::Codel, &[("target", "60ms")], LINK, "more than half of interval 100ms"),
        (Kind::FqCodel, &[("interval", "8ms")], LINK, "more than half of interval 8ms"),
        (Kind::Cobalt, &[("blue_threshold", "4ms")], LINK, "BLUE does all the work"),
        (Kind::Pie, &[], slow, "two packets of 1kb take 16.000 ms and are always spared"),
        (Kind::Pie, &[("tupdate", "30ms")], LINK, "tupdate 30ms is longer than target 15ms"),
        (Kind::Pie, &[("alpha", "0")], LINK, "alpha 0 does not steer"),
        (Kind::FqPie, &[("beta", "1")], LINK, "beta 1 is below alpha 2"),
        (Kind::Cake, &[("bandwidth", "20mbit")], LINK, "not below the link's 20mbit"),
        (Kind::Pi2, &[("drop_overload", "false")], LINK, "fill the queue up to its limit"),
        (Kind::DualPi2, &[("classic_protection", "0")], LINK, "starve"),
        (Kind::DualPi2, &[("classic_protection", "60")], LINK, "no longer low"),
        (Kind::DualPi2, &[], slow, "longer than 1ms"),
    ] {
        let config =
            given.iter().try_fold(QdiscParameters::new(kind), |config, &(key, text)| config.with(key, text))?;
        let warnings = config.explain(rate)?.warnings;
        assert!(warnings.iter().any(|warning| warning.contains(words)), "{kind} {given:?}: {warnings:?}");
    }
    let refused = QdiscParameters::new(Kind::FqPie).with("memory_limit", "300p")?.explain(LINK);
    assert!(refused.is_err_and(|error| error.key() == "memory_limit"));
    Ok(())
}
