//! Any text as a discipline's name and parameters.

use fairlane_qdisc::{Host, Kind, Qdisc, QdiscParameters, Rate, Seed, SimplePacket, Time, Value};

/// The first line is a kind, the others are `key=value`; a value in quotes is text even if it looks like a number.
pub(crate) fn run(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.lines();
    let kind = match lines.next().unwrap_or_default().parse::<Kind>() {
        Ok(kind) => kind,
        Err(error) => return assert!(error.message().contains("no queue discipline"), "{error}"),
    };
    let mut config = QdiscParameters::new(kind);
    for (key, text) in lines.take(40).filter_map(|line| line.split_once('=')) {
        let before = config.clone();
        match config.set(key, value(text)) {
            Ok(()) => assert!(config.given().any(|(given, _)| given == key)),
            Err(error) => {
                assert!(!error.message().is_empty() && error.key() == key, "{error}");
                assert_eq!(config, before, "what is refused changes nothing");
            }
        }
    }
    assert_eq!(config.with_kind(kind), config, "what was accepted is accepted again");
    for rate in [0, 1, 1_000_000, u64::MAX] {
        try_out(&config, Rate::from_bits_per_second(rate));
    }
}

/// Parses `text` as a value of a scenario file.
fn value(text: &str) -> Value {
    if let Ok(number) = text.parse() {
        Value::Integer(number)
    } else if let Ok(number) = text.parse() {
        Value::Float(number)
    } else if let Ok(switch) = text.parse() {
        Value::Boolean(switch)
    } else {
        Value::from(text.trim_matches('"'))
    }
}

/// Explains `config` on a link of `rate`, and queues a packet in the discipline.
fn try_out(config: &QdiscParameters, rate: Rate) {
    let built = config.build(&Host { rate, seed: Seed::new(1) });
    let explained = match (config.explain(rate), &built) {
        (Ok(explained), Ok(_)) => explained,
        (Err(error), Err(refused)) => {
            assert_eq!(&error, refused);
            return assert!(!error.message().is_empty());
        }
        (explained, _) => panic!("explain and build do not agree: {explained:?}"),
    };
    let keys: Vec<_> = config.kind().parameters().iter().map(|parameter| parameter.key).collect();
    let mut told: Vec<_> = explained.parameters.iter().map(|row| row.key).collect();
    assert!(explained.parameters.iter().all(|row| !row.value.is_empty()));
    told.sort_by_key(|key| keys.iter().position(|known| known == key));
    assert_eq!(told, keys, "each parameter is explained once");
    let Ok(mut queue) = built else { return };
    queue.enqueue(Time::ZERO, SimplePacket::new(1, 1000).with_ecn(), &mut ());
    let dropped = queue.counters().dropped_total().packets;
    assert_eq!(queue.packets() as u64 + dropped, 1);
    queue.dequeue(Time::ZERO, &mut ());
}
