//! Any text given as a parameter is either accepted or refused, and every accepted configuration works.

use fairlane_qdisc::{Host, Kind, ParameterError, Qdisc, QdiscParameters, Rate, Seed, SimplePacket, Time, Value};
use proptest::prelude::*;

fn kind() -> impl Strategy<Value = Kind> {
    prop::sample::select(Kind::ALL.to_vec())
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        "[0-9]{0,25}(\\.[0-9]{0,45})?(p|b|kb|gb|kib|s|ms|ns|bit|tbit|)".prop_map(Value::Text),
        "[a-z0-9-]{0,9}".prop_map(Value::Text),
        any::<String>().prop_map(Value::Text),
        prop::sample::select(vec!["infinite", "true", "linux", "feng", "2i-1", "front", "0p", "1p", "16777216p"])
            .prop_map(Value::from),
        any::<i64>().prop_map(Value::Integer),
        any::<f64>().prop_map(Value::Float),
        any::<bool>().prop_map(Value::Boolean),
    ]
}

/// Sets the parameters that are accepted, and runs the resulting discipline on a link of `rate`.
fn try_out(kind: Kind, given: Vec<(usize, Value)>, rate: u64) -> Result<(), ParameterError> {
    let mut config = QdiscParameters::new(kind);
    for (number, value) in given {
        let key = kind.parameters()[number % kind.parameters().len()].key;
        // A refused parameter stays unset.
        let _ = config.set(key, value);
    }
    let rate = Rate::from_bits_per_second(rate);
    let explained = config.explain(rate);
    let built = config.build(&Host { rate, seed: Seed::new(1) });
    assert_eq!(explained.is_ok(), built.is_ok(), "explain and build agree");
    let mut queue = built?;
    for n in 0..200_u64 {
        let now = Time::from_nanos(n * n * n * n * n);
        queue.enqueue(now, SimplePacket::new(n % 3, u32::MAX >> (n % 33).min(31)).with_ecn(), &mut ());
        if n % 5 == 0 {
            queue.dequeue(now, &mut ());
        }
        assert!(queue.average().is_none_or(f64::is_finite));
        assert!(queue.probability().is_none_or(|probability| (0.0..=1.0).contains(&probability)));
    }
    let counters = queue.counters();
    let gone = counters.departed.bytes + counters.dropped_total().bytes;
    assert_eq!(counters.arrived.bytes, gone + queue.bytes());
    Ok(())
}

/// The largest threshold, whose derived partner would be larger than any queue: found by the test below. Would catch a
/// configuration that explains and does not build.
#[test]
fn the_largest_thresholds_build() {
    for kind in [Kind::Ared, Kind::Fred, Kind::Red, Kind::Choke] {
        for key in ["min", "max"] {
            let config = QdiscParameters::new(kind).with(key, "16777216p").unwrap_or_else(|error| panic!("{error}"));
            let host = Host { rate: Rate::from_bits_per_second(1), seed: Seed::new(1) };
            let built = config.build::<SimplePacket>(&host).map(drop);
            assert_eq!(config.explain(host.rate).map(drop), built, "{kind} {key}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Would catch a panic, an overflow, or a configuration that can be explained but not built.
    #[test]
    fn no_value_panics(kind in kind(), given in prop::collection::vec((any::<usize>(), value()), 0..8), rate in prop_oneof![Just(0), Just(1), any::<u64>()]) {
        if let Err(error) = try_out(kind, given, rate) {
            prop_assert!(!error.message().is_empty());
        }
    }

    /// Would catch a panic on an unknown key or name, or an error that does not say what was wrong.
    #[test]
    fn no_name_panics(kind in kind(), name in any::<String>(), value in value()) {
        if !kind.parameters().iter().any(|parameter| parameter.key == name) {
            let refused = QdiscParameters::new(kind).set(&name, value).map_err(|error| error.to_string());
            prop_assert!(refused.is_err_and(|error| error.contains("limit")));
        }
        if let Err(error) = name.parse::<Kind>() {
            prop_assert!(error.message().contains("there is no queue discipline"));
        }
    }
}
