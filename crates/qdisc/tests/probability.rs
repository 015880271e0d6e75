//! The probability that a discipline reports.

use fairlane_qdisc::{BoxQdisc, Duration, Host, Kind, Qdisc, QdiscParameters, Rate, Seed, SimplePacket, Time};

fn queue(kind: Kind, settings: &[(&str, &str)]) -> BoxQdisc<SimplePacket> {
    let mut config = QdiscParameters::new(kind);
    for (key, value) in settings {
        config.set(key, (*value).into()).unwrap_or_else(|error| panic!("{error}"));
    }
    config.build(&Host { rate: Rate::from_bits_per_second(1_000_000), seed: Seed::new(1) }).expect("it can be built")
}

fn offer(queue: &mut BoxQdisc<SimplePacket>, at: Duration, packets: usize) {
    for _ in 0..packets {
        queue.enqueue(Time::ZERO + at, SimplePacket::new(1, 1000).with_ecn(), &mut ());
    }
}

/// RED's line from 0 at `min` to `max_p` at `max`: with a weight of 1 the 16th arrival finds an average of 15. Would
/// catch a probability of another moment, or one that is spaced.
#[test]
fn red_tells_its_base_probability() {
    for kind in [Kind::Red, Kind::Ared] {
        let settings = [
            ("limit", "100p"),
            ("min", "10p"),
            ("max", "20p"),
            ("probability", "0.5"),
            ("weight", "1.0"),
            ("ecn", "true"),
        ];
        let mut queue = queue(kind, &settings);
        offer(&mut queue, Duration::ZERO, 10);
        assert_eq!(queue.probability(), Some(0.0), "{kind}");
        if kind == Kind::Red {
            offer(&mut queue, Duration::ZERO, 6);
            assert_eq!(queue.probability(), Some(0.25), "(15 - 10) / (20 - 10) of 0.5");
            offer(&mut queue, Duration::ZERO, 5);
            assert_eq!(queue.probability(), Some(1.0), "at max all are signalled");
        }
    }
}

/// CHOKe and its relatives leave to RED what they do not drop, so RED's line is theirs: packets of sixteen flows match
/// none.
#[test]
fn choke_tells_reds() {
    let over_red = [
        Kind::Choke,
        Kind::ChokeAdaptive,
        Kind::FrontChoke,
        Kind::BackChoke,
        Kind::Gchoke,
        Kind::Xchoke,
        Kind::Choked,
        Kind::Sac,
        Kind::Rechoke,
    ];
    for kind in over_red {
        let settings = [("limit", "100p"), ("min", "10p"), ("max", "20p"), ("probability", "0.5"), ("weight", "1.0")];
        let mut queue = queue(kind, &settings);
        for flow in 0..14 {
            queue.enqueue(Time::ZERO, SimplePacket::new(flow, 1000), &mut ());
        }
        let average = queue.average().expect("RED keeps an average");
        assert!(average > 10.0 && average < 14.0, "{kind}: {average}");
        assert_eq!(queue.probability(), Some(0.05 * (average - 10.0)), "{kind}");
    }
}

/// BLUE's steps: up by a loss, once a freeze time.
#[test]
fn blue_tells_what_it_has_learnt() {
    let settings = [("limit", "2p"), ("increment", "0.25"), ("freeze", "100ms"), ("ecn", "true")];
    let mut queue = queue(Kind::Blue, &settings);
    offer(&mut queue, Duration::ZERO, 2);
    assert_eq!(queue.probability(), Some(0.0));
    offer(&mut queue, Duration::ZERO, 2);
    assert_eq!(queue.probability(), Some(0.25), "the second loss comes within the freeze time");
    offer(&mut queue, Duration::from_millis(101), 1);
    assert_eq!(queue.probability(), Some(0.5));
}

/// Would catch a probability reported by a discipline that has no single one.
#[test]
fn others_have_none() {
    for kind in [Kind::DropTail, Kind::MlocChoke, Kind::Chokew, Kind::Sfb, Kind::FqPie] {
        let mut queue = queue(kind, &[]);
        offer(&mut queue, Duration::ZERO, 5);
        assert_eq!(queue.probability(), None, "{kind}");
    }
    assert_eq!(queue(Kind::Pie, &[]).probability(), Some(0.0));
}
