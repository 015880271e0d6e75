//! The fates that `enqueue` returns, under every discipline.

use fairlane_qdisc::testing::Recorder;
use fairlane_qdisc::{
    BoxQdisc, Duration, Fate, Host, Kind, ParameterError, QdiscParameters, Rate, Reason, Seed, SimplePacket, Time,
};

fn build(kind: Kind, given: &[(&str, &str)]) -> Result<BoxQdisc<SimplePacket>, ParameterError> {
    let given = given.iter().try_fold(QdiscParameters::new(kind), |config, &(key, text)| config.with(key, text))?;
    given.build(&Host { rate: Rate::from_bits_per_second(1_000_000), seed: Seed::new(11) })
}

/// Random arrivals of all kinds of packets at an overload, with variants that push packets out. Would catch a fate that
/// differs from what the sink is told of the arrival.
#[test]
fn each_arrival_has_the_fate_that_the_sink_is_told() -> Result<(), ParameterError> {
    let variants: [&[(&str, &str)]; 5] = [
        &[("ecn", "true"), ("drop", "tail")],
        &[("ecn", "true"), ("headdrop", "true"), ("drop_batch", "1")],
        &[("drop", "random"), ("ack_filter", "aggressive"), ("admission", "ns2")],
        &[("drop", "front"), ("lane", "false"), ("candidates", "3"), ("quantum", "5000b")],
        &[("harddrop", "true"), ("candidates", "4"), ("min", "2p"), ("max", "9p")],
    ];
    let mut fates = Vec::new();
    let known = |kind: Kind, (key, text): (&'static str, &'static str)| -> Option<(&str, &str)> {
        QdiscParameters::new(kind).with(key, text).is_ok().then_some((key, text))
    };
    for (kind, limit) in
        Kind::ALL.into_iter().flat_map(|kind| ["0p", "1p", "7p", "9000b", "60p"].map(|limit| (kind, limit)))
    {
        for variant in variants {
            let given: Vec<_> = variant.iter().filter_map(|&one| known(kind, one)).chain([("limit", limit)]).collect();
            let mut queue = match build(kind, &given) {
                // Parameters of some kinds have the unit of the limit.
                Err(_) if limit.ends_with('b') => continue,
                built => built?,
            };
            let mut random = Seed::new(5).stream("arrivals");
            let (mut recorder, mut now) = (Recorder::default(), Time::ZERO);
            for id in 0..3000 {
                let flow = if random.below(2) == 0 { 0 } else { random.below(9) };
                let mut packet = SimplePacket::new(u64::from(flow), 40 + random.below(3000)).with_id(id);
                packet = packet.with_class((random.below(8) * 32) as u8).with_hosts(flow % 3, flow % 2);
                packet.ecn_capable = random.below(3) == 0;
                packet.responsive = flow > 0;
                let fate = recorder.enqueue(&mut queue, now, packet);
                if !fates.contains(&fate) {
                    fates.push(fate);
                }
                now += Duration::from_nanos(u64::from(random.below(12_000_000)));
                // The load changes, so that queues are empty and full.
                if random.below(if id % 900 < 600 { 4 } else { 1 }) == 0 {
                    recorder.dequeue(&mut queue, now);
                }
            }
            recorder.check_counters(&queue);
        }
    }
    // An arrival that is pushed out at once, and each of the places where packets are marked.
    let [early, forced, label] = [Reason::Early, Reason::Forced, Reason::Label].map(Fate::Marked);
    for fate in [Fate::Queued, Fate::Dropped(Reason::BufferSteal), early, forced, label] {
        assert!(fates.contains(&fate), "{fate:?} did not occur");
    }
    Ok(())
}
