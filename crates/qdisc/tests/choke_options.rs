//! CHOKe's drop bit and intermediate thresholds, by hand.

use fairlane_qdisc::testing::{Event, Recorder};
use fairlane_qdisc::{BoxQdisc, Host, Kind, ParameterError, QdiscParameters, Rate, Reason, Seed, SimplePacket, Time};

fn build(kind: Kind, given: &[(&str, &str)]) -> Result<BoxQdisc<SimplePacket>, ParameterError> {
    let config = given.iter().try_fold(QdiscParameters::new(kind), |config, &(key, text)| config.with(key, text))?;
    config.build(&Host { rate: Rate::from_bits_per_second(1_000_000), seed: Seed::new(11) })
}

fn drops(trace: &Recorder, reason: Reason) -> usize {
    trace.events.iter().filter(|event| matches!(event, Event::Dropped(_, why) if *why == reason)).count()
}

/// INFOCOM 2000, end of section II-A, by hand: a marked packet keeps its room, is drawn again and is dropped at the
/// head without being sent. Would catch a marked packet that is sent, whose room is free at once, that is dropped
/// twice, or that is not reported.
#[test]
fn the_drop_bit_keeps_a_packets_room_until_it_is_the_head() -> Result<(), ParameterError> {
    // The average is the queue's length: arrivals are compared from the third queued packet on.
    let given = [
        ("limit", "4p"),
        ("min", "2p"),
        ("max", "100p"),
        ("weight", "1"),
        ("probability", "0.000001"),
        ("drop_bit", "true"),
    ];
    let mut queue = build(Kind::BackChoke, &given)?;
    let mut trace = Recorder::default();
    for flow in [1, 2, 3] {
        queue.enqueue(Time::ZERO, SimplePacket::new(flow, 1000), &mut trace);
    }
    // The first arrival of flow 3 marks the last packet; the second one matches the marked packet and is dropped alone.
    for matched in [1, 2] {
        queue.enqueue(Time::ZERO, SimplePacket::new(3, 1000), &mut trace);
        assert_eq!((drops(&trace, Reason::MatchArrival), drops(&trace, Reason::MatchVictim)), (matched, 0));
        assert_eq!((queue.packets(), queue.bytes()), (3, 3000));
    }
    // A fourth packet fits, a fifth does not: the marked one still has its room.
    for flow in [4, 5] {
        queue.enqueue(Time::ZERO, SimplePacket::new(flow, 1000), &mut trace);
    }
    assert_eq!((queue.packets(), drops(&trace, Reason::Limit)), (4, 1));
    let mut sent = Vec::new();
    while let Some(packet) = queue.dequeue(Time::ZERO, &mut trace) {
        sent.push((packet.flow, queue.packets()));
    }
    // When packet 2 leaves, the marked packet of flow 3 is the head and goes at once.
    assert_eq!(sent, [(1, 3), (2, 1), (4, 0)]);
    assert_eq!(drops(&trace, Reason::MatchVictim), 1);
    // The head itself is dropped as soon as it is marked.
    let mut queue = build(Kind::FrontChoke, &given)?;
    for flow in [1, 2, 3, 1] {
        queue.enqueue(Time::ZERO, SimplePacket::new(flow, 1000), &mut trace);
    }
    assert_eq!((queue.packets(), drops(&trace, Reason::MatchVictim)), (2, 2));
    Ok(())
}

/// INFOCOM 2000, section II-A, paragraph 4: below int_th an arrival is compared with one packet, from int_th on with
/// two. Would catch a threshold that is read as a width, or that belongs to the region below.
#[test]
fn int_th_separates_one_candidate_from_two() -> Result<(), ParameterError> {
    let given = [
        ("limit", "50p"),
        ("min", "2p"),
        ("max", "100p"),
        ("weight", "0.001"),
        ("probability", "0.000001"),
        ("int_th", "5"),
        ("candidates_rule", "i"),
    ];
    for (average, victims) in [(4.8, 1), (5.0, 2), (20.0, 2)] {
        let mut queue = build(Kind::ChokeAdaptive, &given)?;
        let mut trace = Recorder::default();
        // The average rises slowly: one flow fills the queue before it exceeds `min`, and others find no room.
        for _ in 0..50 {
            queue.enqueue(Time::ZERO, SimplePacket::new(1, 1000), &mut trace);
        }
        while queue.average().is_some_and(|now| now < average) {
            queue.enqueue(Time::ZERO, SimplePacket::new(2, 1000), &mut trace);
        }
        queue.enqueue(Time::ZERO, SimplePacket::new(1, 1000), &mut trace);
        assert_eq!((drops(&trace, Reason::MatchVictim), queue.packets()), (victims, 50 - victims), "{average}");
    }
    Ok(())
}

/// Would catch thresholds outside of `min` and `max`, out of order, in halves, or together with a number of regions.
#[test]
fn intermediate_thresholds_that_cannot_work_are_refused() {
    let plain = [("limit", "300p"), ("min", "30p"), ("max", "60p")];
    let said = |more: &[(&str, &str)]| {
        build(Kind::ChokeAdaptive, &[plain.as_slice(), more].concat())
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default()
    };
    for (int_th, expected) in [
        ("45", ""),
        ("40,50", ""),
        ("30", "int_th: 30p is not between 30p and max, which is 60p"),
        ("60", "int_th: 60p is not between 30p and max"),
        ("50,40", "int_th: 40p is not between 50p and max"),
        ("40,40", "int_th: 40p is not between 40p and max"),
        ("40.5", "int_th: 40.5 is not a whole number"),
    ] {
        let said = said(&[("int_th", int_th)]);
        assert!(said.starts_with(expected) && said.is_empty() == expected.is_empty(), "{int_th}: {said}");
    }
    assert!(said(&[("int_th", "45"), ("regions", "2")]).contains("regions is given, too"));
}
