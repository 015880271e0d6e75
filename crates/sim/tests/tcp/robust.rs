//! Acknowledgements that no correct receiver sends.

use fairlane_qdisc::{Duration, Time};
use fairlane_scenario::Congestion::{Bbr, Bbr3, Cubic, Dctcp, NewReno, Prague, Reno, Sack, Tahoe, Vegas};
use fairlane_scenario::{AfterIdle, Congestion, Tcp};
use fairlane_sim::tcp::{Ack, Opening, SackBlocks, Segment, SegmentSink, TcpReceiver, TcpSender};
use proptest::prelude::{Strategy, any, prop, proptest};

use super::era;

#[derive(Default)]
struct Count(u32);

impl SegmentSink for Count {
    fn open(&mut self, _packet: Opening) {}
    fn send(&mut self, _: Segment) {
        self.0 += 1;
    }
}

fn ack(next: u32, blocks: &[(u32, u32)]) -> Ack {
    let mut sack = SackBlocks::default();
    for &(start, end) in blocks {
        sack.push(start, end);
    }
    Ack { next, sack, ece: false, ace: 0, echo: Time::ZERO, delay: None }
}

/// SACK blocks that are reversed, empty, beyond the segments sent, or around the first unacknowledged segment. They
/// contain no new information, so they do not count as duplicates. Would catch a retransmission because of them.
#[test]
fn ignores_invalid_blocks() {
    let mut output = Count::default();
    let mut sender = TcpSender::new(&era(Sack, 10), Duration::ZERO);
    sender.start(Time::ZERO, &mut output);
    for _ in 0..5 {
        for block in [(7, 5), (5, 5), (5, 11), (u32::MAX, 0), (0, 4)] {
            sender.on_ack(Time::ZERO, &ack(0, &[block]), &mut output);
        }
        sender.on_ack(Time::ZERO, &ack(11, &[]), &mut output);
        sender.on_ack(Time::ZERO, &ack(u32::MAX, &[(2, 3)]), &mut output);
    }
    assert_eq!((output.0, sender.acknowledged(), sender.retransmissions()), (10, 0, 0));
}

/// A receiver that says it has 3 and 4, and then expects 4. By hand from RFC 6675: the acknowledgement of 4 grows the
/// window to 11 and lets 10 to 14 go. When 6 to 8 have been reported, recovery begins with a window of 5, and 4 is sent
/// again. Once 9 to 11 have arrived, 12 to 14 are in the network and 4 is not, since its arrival was reported: 5 is
/// sent again, and 15 is new. Would catch a pipe that counts a segment which has arrived as sent again.
#[test]
fn counts_no_arrived_segment_in_the_pipe() {
    let mut output = Count::default();
    let mut sender = TcpSender::new(&era(Sack, 10), Duration::ZERO);
    sender.start(Time::ZERO, &mut output);
    let steps = [(0, (3, 5), 10, 0), (4, (0, 0), 15, 0), (4, (6, 8), 15, 0), (4, (8, 9), 16, 1), (4, (9, 12), 18, 2)];
    for (next, block, sent, again) in steps {
        sender.on_ack(Time::ZERO, &ack(next, &[block]), &mut output);
        assert_eq!((output.0, sender.retransmissions()), (sent, again), "{next}, {block:?}");
    }
}

/// Would catch a sender that reacts to acknowledgements, or whose timer runs, before it has sent anything.
#[test]
fn ignores_acknowledgements_before_it_has_sent() {
    let mut output = Count::default();
    let mut sender = TcpSender::new(&era(Reno, 10), Duration::ZERO);
    for next in [0, 0, 0, 0, 1] {
        sender.on_ack(Time::ZERO, &ack(next, &[]), &mut output);
    }
    sender.on_timer(Time::MAX, &mut output);
    assert_eq!((output.0, sender.deadline()), (0, None));
}

/// Would catch a sender that never sends with a window of 0.
#[test]
fn takes_a_window_of_zero_for_one() {
    let mut output = Count::default();
    let mut tcp = era(Reno, 0);
    tcp.window = 0;
    TcpSender::new(&tcp, Duration::ZERO).start(Time::ZERO, &mut output);
    assert_eq!(output.0, 1);
    assert!(TcpReceiver::new(&tcp).on_segment(Time::ZERO, 0, Time::ZERO, false, false).new);
}

/// Would catch senders and receivers of which a thousand do not fit into a second-level cache.
#[test]
fn is_small() {
    assert!(size_of::<TcpSender>() <= 256, "{}", size_of::<TcpSender>());
    assert!(size_of::<TcpReceiver>() <= 128, "{}", size_of::<TcpReceiver>());
}

fn congestion() -> impl Strategy<Value = Congestion> {
    prop::sample::select(vec![Tahoe, Reno, NewReno, Sack, Vegas, Cubic, Dctcp, Bbr, Bbr3, Prague])
}

proptest! {
    /// Would catch a panic, an overflow or an unlimited window for any sequence of calls.
    #[test]
    fn survives_any_acknowledgements(
        congestion in congestion(),
        modern in any::<bool>(),
        ecn in any::<bool>(),
        after_idle in prop::sample::select(AfterIdle::ALL.to_vec()),
        window in 0_u32..50,
        calls in prop::collection::vec((any::<u8>(), any::<u32>(), any::<u64>(), any::<bool>()), 1..300),
    ) {
        let mut tcp = if modern { Tcp::modern(congestion, window) } else { Tcp::ns2_1999(congestion, window) };
        (tcp.ecn, tcp.after_idle) = (ecn, after_idle);
        let (mut sender, mut receiver, mut output) = (TcpSender::new(&tcp, Duration::ZERO), TcpReceiver::new(&tcp), Count::default());
        sender.start(Time::ZERO, &mut output);
        for (kind, number, nanos, flag) in calls {
            let now = Time::from_nanos(nanos);
            // Half of the numbers are near the acknowledged one, since others are ignored.
            let near = |byte: u32| if flag { sender.acknowledged().saturating_add(byte % 64) } else { byte };
            match kind % 8 {
                0 => sender.on_timer(now, &mut output),
                1 => drop(receiver.on_segment(now, near(number), now, flag, !flag)),
                2 => drop(receiver.on_timer(now)),
                3 => sender.stop(),
                4 => sender.start(now, &mut output),
                _ => {
                    let blocks = [(number >> 8) & 63, (number >> 14) & 63, (number >> 20) & 63, number >> 26];
                    let blocks = blocks.map(near);
                    let next = near(number % 5 * u32::from(kind >> 6));
                    let mut ack = ack(next, &[(blocks[0], blocks[1]), (blocks[2], blocks[3])]);
                    (ack.ece, ack.echo) = (flag, Time::from_nanos(nanos.rotate_left(17)));
                    sender.on_ack(now, &ack, &mut output);
                }
            }
            // Prague's window has fractions.
            let least = if congestion == Prague { f64::MIN_POSITIVE } else { 1.0 };
            assert!(sender.cwnd() >= 1.0 && sender.ssthresh() >= least, "{sender:?}");
            assert!(sender.flight() <= window.max(1), "{sender:?}");
        }
    }
}
