//! Nothing is allocated on the packet path once the queue has reached its largest size.

use fairlane_qdisc::{
    Duration, Fate, Host, Kind, ParameterError, Qdisc, QdiscParameters, Rate, Seed, SimplePacket, Time,
};

/// Would catch a table, a list of candidates or a ring that grows with time or with the number of flows.
#[test]
fn nothing_is_allocated_after_warm_up() -> Result<(), ParameterError> {
    for kind in Kind::ALL {
        let host = Host { rate: Rate::from_bits_per_second(1_000_000), seed: Seed::new(1) };
        let mut config = QdiscParameters::new(kind).with("limit", "300p")?;
        if kind == Kind::Xchoke {
            config.set("age", "1s".into())?;
        }
        let mut queue = config.build(&host)?;
        let mut chance = host.seed.stream("arrivals");
        let mut now = Time::ZERO;
        // Fills the queue with packets of different flows that all arrive at once.
        for flow in 0..5000 {
            queue.enqueue(now, SimplePacket::new(flow, 1000), &mut ());
        }
        let mut work = |arrivals: u32| {
            for _ in 0..arrivals {
                // A heavy flow and a hundred thousand others, from idle to overload and back.
                let overload = 1 + chance.below(12);
                for _ in 0..chance.below(40) {
                    let flow = if chance.below(2) == 0 { 0 } else { u64::from(chance.below(100_000)) };
                    queue.enqueue(now, SimplePacket::new(flow, 1000), &mut ());
                    now += Duration::from_millis(1);
                    if chance.below(overload) == 0 {
                        queue.dequeue(now, &mut ());
                    }
                }
                if chance.below(20) == 0 {
                    while queue.dequeue(now, &mut ()).is_some() {}
                }
            }
        };
        work(10_000);
        let measured = allocation_counter::measure(|| work(10_000));
        assert_eq!(measured.count_total, 0, "{kind}");
    }
    Ok(())
}

/// Would catch memory that is allocated in advance: a large limit must cost nothing until it is used.
#[test]
fn a_large_limit_is_free() -> Result<(), ParameterError> {
    let host = Host { rate: Rate::from_bits_per_second(1_000_000), seed: Seed::new(1) };
    for kind in Kind::ALL {
        let with_limit = |limit: &str| -> Result<u64, ParameterError> {
            let config = QdiscParameters::new(kind).with("limit", limit)?;
            let mut fate = Ok(Fate::Queued);
            let measured = allocation_counter::measure(|| {
                fate =
                    config.build(&host).map(|mut queue| queue.enqueue(Time::ZERO, SimplePacket::new(1, 1000), &mut ()));
            });
            fate?;
            Ok(measured.bytes_max)
        };
        // Tables whose size depends on other parameters are allocated in both cases.
        let (small, large) = (with_limit("300p")?, with_limit("16777216p")?);
        assert!(large < small + 20_000, "{kind}: {large} instead of {small}");
    }
    Ok(())
}
