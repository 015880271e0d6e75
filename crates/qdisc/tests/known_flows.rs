//! `Status::flows`: the number of flows of which a discipline keeps state.

use fairlane_qdisc::{Host, Kind, ParameterError, Qdisc, QdiscParameters, Rate, Seed, SimplePacket, Time};

const RATE: Rate = Rate::from_bits_per_second(1_000_000);

/// Sends 5000 packets of 1000 bytes, one each 4 ms and so twice as fast as the link, in turn from `flows`; returns the
/// number of flows that `kind` knows then.
fn known(kind: Kind, given: &[(&str, &str)], flows: &[u64]) -> Result<Option<usize>, ParameterError> {
    let mut config = QdiscParameters::new(kind);
    for &(key, text) in given {
        config.set(key, text.into())?;
    }
    let mut queue = config.build(&Host { rate: RATE, seed: Seed::new(1) })?;
    for (id, &flow) in (0..5000_u64).zip(flows.iter().cycle()) {
        let now = Time::from_nanos(4_000_000 * id);
        queue.enqueue(now, SimplePacket::new(flow, 1000), &mut ());
        if id % 2 == 1 {
            queue.dequeue(now, &mut ());
        }
    }
    Ok(queue.status().flows)
}

/// Would catch a number of flows that is missing, or that counts others than those of which the discipline keeps state.
#[test]
fn the_status_tells_how_many_flows_are_known() -> Result<(), ParameterError> {
    let (one, five) = (&[9][..], &[3, 5, 7, 9, 11][..]);
    let red = [("limit", "40p"), ("min", "5p"), ("max", "15p"), ("weight", "0.1")];
    for (kind, given, flows, expected) in [
        (Kind::DropTail, &[][..], five, None),
        (Kind::Choke, &red, five, None),
        (Kind::Csfq, &[("limit", "40p")], five, Some(5)),
        (Kind::MlocChoke, &[("limit", "40000p"), ("memory", "3")], five, Some(3)),
        (Kind::MlocChoke, &[("limit", "40p"), ("memory", "0")], five, None),
        // Every flow matches sooner or later.
        (Kind::Xchoke, &red, one, Some(1)),
        (Kind::Xchoke, &red, five, Some(5)),
        // A flow counts in each of the two tables.
        (Kind::Rechoke, &red, one, Some(2)),
        // One flow that has drops, and that does not slow down.
        (Kind::RedPd, &red, one, Some(1)),
        (Kind::RedPenaltyBox, &red, one, Some(1)),
        (Kind::Afd, &[("limit", "40p")], one, Some(1)),
    ] {
        assert_eq!(known(kind, given, flows)?, expected, "{kind} {given:?} {flows:?}");
    }
    Ok(())
}
