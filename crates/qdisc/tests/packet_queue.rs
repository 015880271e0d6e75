//! The adapter of `examples/packet_queue.rs`.
#![allow(clippy::disallowed_methods, reason = "the emulator's packets have times of the system's clock")]

#[allow(dead_code, reason = "a part is used by the example alone")]
#[path = "../examples/packet_queue.rs"]
mod packet_queue;

use std::time::{Duration, Instant};

use fairlane_qdisc::{DropSink, Host, Kind, QdiscParameters, Rate, Reason, Seed, SimplePacket, Time};
use packet_queue::{Disciplined, Frame, PacketQueue, flow};

#[derive(Default)]
struct Drops(u64);

impl DropSink<SimplePacket> for Drops {
    fn dropped(&mut self, _now: Time, _packet: SimplePacket, _reason: Reason) {
        self.0 += 1;
    }
    fn marked(&mut self, _now: Time, _packet: &SimplePacket, _reason: Reason) {}
}

/// Would catch an adapter that changes the order or the drops of a discipline, loses packets, or decides anew when the
/// size of the next packet is asked for.
#[test]
fn each_discipline_does_behind_the_trait_what_it_does_alone() {
    let (rate, seed, start) = (Rate::from_bits_per_second(8_000_000), Seed::new(7), Instant::now());
    for kind in Kind::ALL {
        let mut queue = Disciplined::new(&kind.to_string(), rate, seed, start).unwrap();
        let mut alone = QdiscParameters::new(kind).build::<SimplePacket>(&Host { rate, seed }).unwrap();
        let (mut drops, mut left) = (Drops::default(), 0);
        for step in 0..8000_u64 {
            let at = start + Duration::from_micros(400 * step);
            let now = Time::from_nanos(400_000 * step);
            // Packets of 20 flows come at twice the rate, from time to time for 400 ms.
            if step / 1000 % 2 == 0 {
                let frame = Frame::new((step * 7 % 20) as u16, 60 + (step * 11 % 1440) as usize, at);
                let packet = SimplePacket::new(flow(&frame.bytes).get(), (frame.bytes.len() - 14) as u32).with_id(step);
                alone.enqueue(now, packet, &mut drops);
                queue.enqueue(frame);
            }
            if step % 2 == 0 {
                continue;
            }
            let expected = alone.dequeue(now, &mut drops);
            let frame = queue.dequeue_at(at).map(|frame| (frame.arrival, frame.bytes.len() - 14));
            left += u64::from(frame.is_some());
            let expected =
                expected.map(|packet| (start + Duration::from_micros(400 * packet.id), packet.bytes as usize));
            assert_eq!(frame, expected, "{kind} at {now:?}");
            assert_eq!((queue.length(), queue.drops()), (alone.packets(), drops.0), "{kind}");
        }
        assert!(drops.0 > 100 && left > 1000, "{kind}: {left} left, {} dropped", drops.0);
    }
}

/// Would catch a size that is not that of the next packet, and a packet that is lost when it was asked for.
#[test]
fn the_size_of_the_next_packet_can_be_asked_for() {
    let start = Instant::now();
    let rate = Rate::from_bits_per_second(8_000_000);
    let mut queue = Disciplined::new("codel", rate, Seed::new(1), start).unwrap();
    assert_eq!((queue.get_front_size(), queue.is_empty()), (None, true));
    (1..=3).for_each(|n| queue.enqueue(Frame::new(1, 100 * n, start)));
    assert_eq!((queue.get_front_size(), queue.get_front_size(), queue.length()), (Some(100), Some(100), 3));
    // A mistake changes nothing; another discipline takes what comes, and what waits leaves first.
    queue.configure("no-such".to_owned());
    queue.configure("droptail limit=1p".to_owned());
    (4..=5).for_each(|n| queue.enqueue(Frame::new(1, 100 * n, start)));
    let sizes: Vec<usize> =
        std::iter::from_fn(|| queue.dequeue_at(start)).map(|frame| frame.bytes.len() - 14).collect();
    assert_eq!((sizes, queue.drops(), queue.is_empty()), (vec![100, 200, 300, 400], 1, true));
}
