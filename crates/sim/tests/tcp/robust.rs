//! Acknowledgements that no honest receiver sends.

use fairlane_qdisc::{Duration, Time};
use fairlane_scenario::Congestion::{Bbr, Cubic, Dctcp, NewReno, Reno, Sack, Tahoe, Vegas};
use fairlane_scenario::{Congestion, Tcp};
use fairlane_sim::tcp::{Ack, Network, Receiver, SackBlocks, Segment, Sender};
use proptest::prelude::{Strategy, any, prop, proptest};

use super::era;

#[derive(Default)]
struct Count(u32);

impl Network for Count {
    fn send(&mut self, _: Segment) {
        self.0 += 1;
    }
}

fn ack(next: u32, blocks: &[(u32, u32)]) -> Ack {
    let mut sack = SackBlocks::default();
    for &(start, end) in blocks {
        sack.push(start, end);
    }
    Ack { next, sack, ece: false, echo: Time::ZERO }
}

/// Reversed, empty, beyond what was sent, and around the first unacknowledged segment: none brings news, so however
/// often they come they are no duplicates and nothing is retransmitted.
#[test]
fn ignores_blocks_that_cannot_be() {
    let mut network = Count::default();
    let mut sender = Sender::new(&era(Sack, 10), Duration::ZERO);
    sender.start(Time::ZERO, &mut network);
    for _ in 0..5 {
        for block in [(7, 5), (5, 5), (5, 11), (u32::MAX, 0), (0, 4)] {
            sender.on_ack(Time::ZERO, &ack(0, &[block]), &mut network);
        }
        sender.on_ack(Time::ZERO, &ack(11, &[]), &mut network);
        sender.on_ack(Time::ZERO, &ack(u32::MAX, &[(2, 3)]), &mut network);
    }
    assert_eq!((network.0, sender.acknowledged(), sender.retransmissions()), (10, 0, 0));
}

#[test]
fn ignores_acknowledgements_before_it_has_sent() {
    let mut network = Count::default();
    let mut sender = Sender::new(&era(Reno, 10), Duration::ZERO);
    for next in [0, 0, 0, 0, 1] {
        sender.on_ack(Time::ZERO, &ack(next, &[]), &mut network);
    }
    sender.on_timer(Time::MAX, &mut network);
    assert_eq!((network.0, sender.deadline()), (0, None));
}

/// A window of 0 would never send anything.
#[test]
fn takes_a_window_of_zero_for_one() {
    let mut network = Count::default();
    let mut tcp = era(Reno, 0);
    tcp.window = 0;
    Sender::new(&tcp, Duration::ZERO).start(Time::ZERO, &mut network);
    assert_eq!(network.0, 1);
    assert!(Receiver::new(&tcp).on_segment(Time::ZERO, 0, Time::ZERO, false, false).new);
}

/// A thousand connections are to fit into a second-level cache.
#[test]
fn is_small() {
    assert!(size_of::<Sender>() <= 256, "{}", size_of::<Sender>());
    assert!(size_of::<Receiver>() <= 128, "{}", size_of::<Receiver>());
}

fn congestion() -> impl Strategy<Value = Congestion> {
    prop::sample::select(vec![Tahoe, Reno, NewReno, Sack, Vegas, Cubic, Dctcp, Bbr])
}

proptest! {
    /// Catches a panic, an overflow or a window without bound on any sequence of calls.
    #[test]
    fn survives_any_acknowledgements(
        congestion in congestion(),
        modern in any::<bool>(),
        ecn in any::<bool>(),
        window in 0_u32..50,
        calls in prop::collection::vec((any::<u8>(), any::<u32>(), any::<u64>(), any::<bool>()), 1..300),
    ) {
        let mut tcp = if modern { Tcp::modern(congestion, window) } else { Tcp::ns2_1999(congestion, window) };
        tcp.ecn = ecn;
        let (mut sender, mut receiver, mut network) = (Sender::new(&tcp, Duration::ZERO), Receiver::new(&tcp), Count::default());
        sender.start(Time::ZERO, &mut network);
        for (kind, number, nanos, flag) in calls {
            let now = Time::from_nanos(nanos);
            // Mostly near what has been acknowledged: far off everything is simply ignored.
            let near = |byte: u32| if flag { sender.acknowledged().saturating_add(byte % 64) } else { byte };
            match kind % 8 {
                0 => sender.on_timer(now, &mut network),
                1 => drop(receiver.on_segment(now, near(number), now, flag, !flag)),
                2 => drop(receiver.on_timer(now)),
                3 => sender.stop(),
                4 => sender.start(now, &mut network),
                _ => {
                    let blocks = [(number >> 8) & 63, (number >> 14) & 63, (number >> 20) & 63, number >> 26];
                    let blocks = blocks.map(near);
                    let next = near(number % 5 * u32::from(kind >> 6));
                    let mut ack = ack(next, &[(blocks[0], blocks[1]), (blocks[2], blocks[3])]);
                    (ack.ece, ack.echo) = (flag, Time::from_nanos(nanos.rotate_left(17)));
                    sender.on_ack(now, &ack, &mut network);
                }
            }
            assert!(sender.cwnd() >= 1.0 && sender.ssthresh() >= 1.0, "{sender:?}");
            assert!(sender.flight() <= window.max(1), "{sender:?}");
        }
    }
}
