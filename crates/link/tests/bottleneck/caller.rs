//! A caller of a bottleneck: it pushes at given times, and pops at each `next()`.

use fairlane_link::{Bottleneck, Config, Line, LinkObserver};
use fairlane_qdisc::discipline::droptail::{self, DropTail};
use fairlane_qdisc::{Packet, Qdisc, Rate, Seed, SimplePacket, Size, Time};

/// Returns a FIFO that holds this many packets.
pub(crate) fn fifo(packets: u32) -> DropTail<SimplePacket> {
    let config = droptail::Config { limit: Size::packets(packets), ..Default::default() };
    DropTail::new(config, Seed::new(1)).expect("a limit in range")
}

pub(crate) const fn mbit(rate: u64) -> Rate {
    Rate::from_bits_per_second(1_000_000 * rate)
}

pub(crate) fn link<P: Packet, Q: Qdisc<P>>(config: Config, queue: Q) -> Bottleneck<P, Q> {
    Bottleneck::new(config, queue, Seed::new(7)).expect("parameters in range")
}

/// Pushes `arrivals`, which are in the order of time, and returns each datagram with the time at which it popped.
pub(crate) fn cross<P: Packet, Q: Qdisc<P>, L: Line, O: LinkObserver<P>>(
    link: &mut Bottleneck<P, Q, L, O>,
    arrivals: impl IntoIterator<Item = (Time, P)>,
) -> Vec<(Time, P)> {
    let mut popped = Vec::new();
    for (now, datagram) in arrivals {
        pop_until(link, now, &mut popped);
        link.push(now, datagram);
    }
    pop_until(link, Time::MAX, &mut popped);
    popped
}

fn pop_until<P: Packet, Q: Qdisc<P>, L: Line, O: LinkObserver<P>>(
    link: &mut Bottleneck<P, Q, L, O>,
    until: Time,
    popped: &mut Vec<(Time, P)>,
) {
    while let Some(now) = link.next().filter(|next| *next <= until) {
        while let Some(datagram) = link.pop(now) {
            popped.push((now, datagram));
        }
        assert!(link.next().is_none_or(|next| next > now), "time advances");
    }
}
