//! Windows after an idle time (RFC 2861, RFC 7661). The round-trip time is 100 ms.

use fairlane_qdisc::{Duration, Time};
use fairlane_scenario::{AfterIdle, Congestion, Tcp};
use fairlane_sim::tcp::{Ack, Opening, SackBlocks, Segment, SegmentSink, TcpSender};

use super::path::{Path, ms};

#[derive(Default)]
struct Count(u32);

impl SegmentSink for Count {
    fn send(&mut self, _segment: Segment) {
        self.0 += 1;
    }

    fn open(&mut self, _packet: Opening) {}
}

/// Sends 20 segments from a window of two, which takes rounds of 2, 4, 6 and 8 at 0, 100, 200 and 300 ms with an
/// acknowledgement for each round (L = 2, RFC 3465) and leaves a window of 10; then more at `again`. Returns the number
/// of segments sent there, and the window.
fn restart(after_idle: AfterIdle, again: u64) -> (u32, f64) {
    let tcp = Tcp { after_idle, initial_window: 2, ..Tcp::modern(Congestion::Reno, 300) };
    let (mut sender, mut sent) = (TcpSender::new(&tcp, Duration::ZERO), Count::default());
    let at = |millis| Time::ZERO + ms(millis);
    sender.supply(at(0), 20, &mut sent);
    for (millis, next) in [(100, 2), (200, 6), (300, 12), (400, 20)] {
        let (sack, echo) = (SackBlocks::default(), at(millis - 100));
        sender.on_ack(at(millis), &Ack { next, sack, ece: false, ace: 0, echo, delay: None }, &mut sent);
    }
    assert_eq!((sent.0, sender.cwnd(), sender.rto()), (20, 10.0, ms(300)));
    sender.supply(at(again), 100, &mut sent);
    (sent.0 - 20, sender.cwnd())
}

/// By hand: the last segments went at 300 ms and the timeout is 100 + 200 ms, so at 950 ms two timeouts have passed: 10
/// /
/// 4. At 550 ms none has, and after a long time one segment is left, or in Linux the initial window.
#[test]
fn an_idle_window_decays_if_it_is_asked_to() {
    assert_eq!(restart(AfterIdle::Keep, 60_000), (10, 10.0));
    assert_eq!(restart(AfterIdle::Decay, 550), (10, 10.0));
    assert_eq!(restart(AfterIdle::Decay, 950), (2, 2.5));
    assert_eq!(restart(AfterIdle::Decay, 60_000), (1, 1.0));
    assert_eq!(restart(AfterIdle::Restart, 950), (2, 2.5));
    assert_eq!(restart(AfterIdle::Restart, 60_000), (2, 2.0));
}

/// RFC 7661 by hand: of the rounds the last has acknowledged 8 segments at 400 ms, so the window is validated until
/// 1,400 ms, kept for five minutes more, and then halved. Would catch a window that decays in between, and one that
/// stays for ever.
#[test]
fn an_idle_window_is_preserved_for_five_minutes() {
    assert_eq!(restart(AfterIdle::Preserve, 60_000), (10, 10.0));
    assert_eq!(restart(AfterIdle::Preserve, 301_400), (10, 10.0));
    assert_eq!(restart(AfterIdle::Preserve, 301_401), (5, 5.0));
    assert_eq!(restart(AfterIdle::Preserve, 3_600_000), (2, 2.0));
}

/// RFC 7661, section 4.3, by hand: with the pipeACK of 8, two segments a round trip let the window grow by two each
/// from 10 to 18, where 8 is less than half of it. Would catch a window that grows without end though two of it are
/// used, as in ns-2. RFC 9438, section 5.8: a window of 10 that is not full does not grow.
#[test]
fn an_unfilled_window_stops_growing() {
    let window = |after_idle, grow_unused| {
        let tcp = Tcp { after_idle, grow_unused, initial_window: 2, ..Tcp::modern(Congestion::Reno, 300) };
        let (mut sender, mut sent) = (TcpSender::new(&tcp, Duration::ZERO), Count::default());
        let at = |round: u32| Time::ZERO + ms(u64::from(round) * 100);
        sender.supply(at(0), 20, &mut sent);
        for (round, next) in
            [(1, 2), (2, 6), (3, 12), (4, 20)].into_iter().chain((5..30).map(|round| (round, 12 + 2 * round)))
        {
            let (sack, echo) = (SackBlocks::default(), at(round - 1));
            sender.on_ack(at(round), &Ack { next, sack, ece: false, ace: 0, echo, delay: None }, &mut sent);
            if round >= 4 {
                sender.supply(at(round), next + 2, &mut sent);
            }
        }
        sender.cwnd()
    };
    assert_eq!(window(AfterIdle::Keep, true), 60.0);
    assert_eq!(window(AfterIdle::Keep, false), 10.0);
    assert_eq!(window(AfterIdle::Preserve, false), 18.0);
}

/// RFC 9438, section 5.8, and RFC 9002, section 7.8: after 500 calls that need two segments each the initial window of
/// ten has at most doubled, as Linux allows in slow start. Would catch a window that grows with each answer.
#[test]
fn calls_leave_the_window_small() {
    for congestion in Congestion::ALL {
        for tcp in [Tcp::modern(congestion, 10_000), Tcp::linux(congestion, 10_000)] {
            let mut path = Path::new(&tcp, ms(20));
            for call in 1..=500 {
                path.supply(2 * call);
                path.run_to(u64::from(call) * 40);
                assert_eq!(path.sender.acknowledged(), 2 * call, "{}", congestion.name());
            }
            assert!(path.sender.cwnd() <= 20.0, "{}: {}", congestion.name(), path.sender.cwnd());
        }
    }
}

/// A connection that begins 5 s after its sender was made has its whole initial window. Would catch an idle time that
/// counts from the start of the simulation.
#[test]
fn a_late_start_is_no_idle_time() {
    for after_idle in AfterIdle::ALL {
        let tcp = Tcp { after_idle, ..Tcp::modern(Congestion::Cubic, 10_000) };
        let mut path = Path::new(&tcp, ms(20));
        path.run_to(5_000);
        path.supply(5);
        path.run_to(5_010);
        path.supply(100);
        assert_eq!((path.sender.cwnd(), path.sender.sent()), (10.0, 10), "{}", after_idle.name());
    }
}
