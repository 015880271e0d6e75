//! Somebody else's test harness: two endpoints, an ordered set of events, and a bottleneck in each direction. The
//! sender keeps 40 datagrams under way; the receiver answers each.
//!
//! `cargo run -p fairlane-link --example harness`

use std::collections::BTreeSet;

use fairlane_link::{Bottleneck, Config, Loss};
use fairlane_qdisc::discipline::codel::{self, Codel};
use fairlane_qdisc::{Count, Duration, ParameterError, Qdisc, Rate, Seed, SimplePacket, Time};

fn main() -> Result<(), ParameterError> {
    let (rate, delay) = (Rate::from_bits_per_second(8_000_000), Duration::from_millis(10));
    let config = Config { delay, loss: Some(Loss::independent(0.001)), ..Config::new(rate) };
    let link = |seed| Bottleneck::new(config, Codel::new(codel::Config::default(), seed)?, seed);
    let mut links = [link(Seed::new(1))?, link(Seed::new(2))?];
    let end = Time::ZERO + Duration::from_millis(10_000);

    (0..40).for_each(|id| links[0].push(Time::ZERO, SimplePacket::new(1, 1000).with_id(id)));
    let mut received = Count::default();
    let mut events = BTreeSet::from_iter(links[0].next().map(|at| (at, 0)));
    while let Some((now, there)) = events.pop_first().filter(|(now, _)| *now < end) {
        let back = 1 - there;
        while let Some(datagram) = links[there].pop(now) {
            if there == 0 {
                received.add(datagram.bytes);
            }
            let bytes = if there == 0 { 40 } else { 1000 };
            links[back].push(now, SimplePacket { bytes, ..datagram });
        }
        events.extend([there, back].into_iter().filter_map(|link| Some((links[link].next()?, link))));
    }
    let (dropped, lost) = (links[0].queue().counters().dropped_total(), links[0].lost());
    println!("received {} bytes, dropped {}, lost {} datagrams", received.bytes, dropped.packets, lost.packets);
    Ok(())
}
