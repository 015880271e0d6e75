//! CHOKe with one or several candidates and gCHOKe, with unresponsive flows among many others, compared with the models
//! of `fairlane-theory`.
//!
//! The other flows are TCP as the models idealise it: each packet belongs to a separate flow, and they fill every free
//! place.

use fairlane_qdisc::{BoxQdisc, Host, Kind, ParameterError, Qdisc, QdiscParameters, Rate, Seed, SimplePacket, Time};
use fairlane_theory::{Candidates, Choke, Comparisons, GChoke};

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// The constant number of packets in the queue.
const LENGTH: usize = 500;

/// Builds the discipline so that RED never signals: with a weight of 1 the average is the queue length, and the
/// thresholds are 0 and out of reach.
fn build(kind: Kind, more: &[(&str, &str)]) -> Result<BoxQdisc<SimplePacket>, ParameterError> {
    let alone = [
        ("limit", "1000000p"),
        ("min", "0p"),
        ("max", "10000000p"),
        ("weight", "1"),
        ("probability", "0.000000001"),
        ("spare", "false"),
    ];
    let mut config = QdiscParameters::new(kind);
    for (key, value) in alone.iter().chain(more) {
        config = config.with(key, *value)?;
    }
    config.build(&Host { rate: Rate::from_bits_per_second(8_000_000), seed: Seed::new(1) })
}

/// Returns the share of the link that `flows` flows get together if each sends at `load`.
fn share(queue: &mut BoxQdisc<SimplePacket>, flows: u64, load: f64) -> f64 {
    const DEPARTURES: u32 = 200_000;
    let mut random = Seed::new(7).stream("arrivals");
    let mut other = flows;
    let (mut theirs, mut counted) = (0.0, 0.0);
    for departure in 0..DEPARTURES {
        let now = Time::from_nanos(u64::from(departure) * 1_000_000);
        let arrivals = (load * flows as f64 + random.unit()) as u32;
        for _ in 0..arrivals {
            let flow = (random.unit() * flows as f64) as u64;
            queue.enqueue(now, SimplePacket::new(flow, 1000), &mut ());
        }
        while queue.packets() <= LENGTH {
            queue.enqueue(now, SimplePacket::new(other, 1000), &mut ());
            other += 1;
        }
        let left = queue.dequeue(now, &mut ());
        if departure > DEPARTURES / 5 {
            counted += 1.0;
            theirs += f64::from(u8::from(left.is_some_and(|packet| packet.flow < flows)));
        }
    }
    theirs / counted
}

/// Would catch a draw that is not uniform, a matching packet that stays in the queue, and a matching arrival that is
/// admitted.
#[test]
fn choke_and_its_family_are_as_in_theory() -> Outcome {
    for (candidates, flows, load) in [(1, 1, 0.5), (1, 1, 2.0), (2, 1, 1.0), (2, 5, 0.4), (4, 5, 1.0)] {
        let mut queue = build(Kind::Choke, &[("candidates", &candidates.to_string())])?;
        let (seen, model) = (share(&mut queue, u64::from(flows), load), Candidates::at_load(flows, candidates, load)?);
        let total = model.total_share();
        assert!((seen - total).abs() < 0.012, "{candidates} candidates, {flows} x {load}: {seen}, not {total}");
    }
    for (maxcomp, comparisons) in [("infinite", Comparisons::Unlimited), ("1", Comparisons::AtMost(1.try_into()?))] {
        let seen = share(&mut build(Kind::Gchoke, &[("maxcomp", maxcomp)])?, 1, 1.0);
        let model = GChoke::at_load(comparisons, 1.0)?.share();
        assert!((seen - model).abs() < 0.012, "maxcomp {maxcomp}: {seen}, not {model}");
    }
    // The two models differ at this load, so a mix-up of the two would be noticed.
    assert!(Choke::at_load(1.0, 0.0)?.share() - GChoke::at_load(Comparisons::Unlimited, 1.0)?.share() > 0.05);
    Ok(())
}
