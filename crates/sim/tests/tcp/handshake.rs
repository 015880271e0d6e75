//! The opening of a connection: SYN, SYN-ACK, ACK (RFC 9293, section 3.5), its timer and the consequences of a lost SYN
//! (RFC 6298). The round-trip time is 100 ms.

use fairlane_qdisc::{Duration, Time};
use fairlane_scenario::{Congestion, Tcp};
use fairlane_sim::tcp::{Opening, Segment, SegmentSink, TcpSender};

use super::path::ms;

/// The segments of a sender: `syn`, `ack` and the numbers of segments.
#[derive(Default)]
struct Sent(Vec<String>);

impl SegmentSink for Sent {
    fn send(&mut self, segment: Segment) {
        self.0.push(segment.seq.to_string());
    }

    fn open(&mut self, packet: Opening) {
        self.0.push(match packet {
            Opening::Syn => "syn".to_owned(),
            Opening::Ack => "ack".to_owned(),
        });
    }
}

fn at(millis: u64) -> Time {
    Time::ZERO + ms(millis)
}

fn modern() -> Tcp {
    Tcp { handshake: true, ..Tcp::modern(Congestion::Reno, 300) }
}

/// Starts a sender of `tcp` whose first `lost` SYNs are lost, and answers the next one a round trip later. Returns the
/// sender, what it sent after the answer, and the time of the answer.
fn opened(tcp: &Tcp, lost: u32) -> (TcpSender, String, Time) {
    let (mut sender, mut sent) = (TcpSender::new(tcp, Duration::ZERO), Sent::default());
    let mut now = Time::ZERO;
    sender.start(now, &mut sent);
    for _ in 0..lost {
        now = sender.deadline().expect("the SYN has a timer");
        sender.on_timer(now, &mut sent);
    }
    assert_eq!(sent.0, vec!["syn"; lost as usize + 1]);
    sent.0.clear();
    sender.on_syn_ack(now + ms(100), &mut sent);
    (sender, sent.0.join(" "), now + ms(100))
}

/// Would catch data before the answer, an answer that is not acknowledged, and a first measurement that is not that of
/// the SYN: 100 ms, so a timeout of 100 + 4 · 50 ms (RFC 6298, section 2.2), and a probe of the tail after two round
/// trips (RFC 8985, section 7.2).
#[test]
fn data_follow_the_answer() {
    let (sender, sent, now) = opened(&modern(), 0);
    assert_eq!((sent.as_str(), now), ("ack 0 1 2 3 4 5 6 7 8 9", at(100)));
    assert_eq!((sender.srtt(), sender.rto(), sender.deadline()), (Some(ms(100)), ms(300), Some(at(300))));
    assert_eq!((sender.timeouts(), sender.retransmissions()), (0, 0));
}

/// RFC 6298, section 5.7: after a SYN whose timer expired the timeout is 3 s. There is no measurement, since the answer
/// may be for either copy, so that a probe of the tail waits for a second (RFC 8985, section 7.2). The window stays as
/// it is after one lost SYN (RFC 6928, section 2).
#[test]
fn a_lost_syn_makes_the_timeout_three_seconds() {
    let (sender, sent, now) = opened(&modern(), 1);
    assert_eq!((sent.as_str(), now), ("ack 0 1 2 3 4 5 6 7 8 9", at(1_100)));
    assert_eq!((sender.srtt(), sender.rto(), sender.deadline()), (None, ms(3_000), Some(at(2_100))));
    assert_eq!((sender.timeouts(), sender.retransmissions()), (1, 0));
}

/// Would catch a timeout of ns-2, 6 s, that is lowered to 3 s or keeps its backoff.
#[test]
fn a_longer_timeout_stays() {
    let tcp = Tcp { handshake: true, ..Tcp::ns2_1999(Congestion::Reno, 300) };
    let (sender, sent, now) = opened(&tcp, 2);
    assert_eq!((sent.as_str(), now, sender.rto()), ("ack 0", at(18_100), ms(6_000)));
}

/// RFC 6928, section 2: the initial window is one segment after more than one copy of the SYN, at any setting.
#[test]
fn two_lost_syns_leave_a_window_of_one() {
    let (sender, sent, now) = opened(&modern(), 2);
    assert_eq!((sent.as_str(), now, sender.rto()), ("ack 0", at(3_100), ms(3_000)));
    assert_eq!(sender.cwnd(), 1.0);
}

/// RFC 6298, section 5.5: SYNs at 0, 1, 3, 7, 15, 31 and 63 s, and from then on after the largest timeout, 60 s.
#[test]
fn syns_back_off() {
    let (mut sender, mut sent) = (TcpSender::new(&modern(), Duration::ZERO), Sent::default());
    sender.start(Time::ZERO, &mut sent);
    let mut times = vec![0];
    while let Some(deadline) = sender.deadline().filter(|deadline| *deadline < at(200_000)) {
        // A timer that is early does nothing.
        sender.on_timer(Time::from_nanos(deadline.as_nanos() - 1), &mut sent);
        sender.on_timer(deadline, &mut sent);
        times.push(deadline.as_nanos() / 1_000_000_000);
    }
    assert_eq!(times, [0, 1, 3, 7, 15, 31, 63, 123, 183]);
    assert_eq!(sent.0.len(), times.len());
}

/// Would catch an answer that counts twice, a SYN without data to send, and data of an application that has stopped.
#[test]
fn nothing_opens_a_connection_without_need() {
    let (mut sender, mut sent) = (TcpSender::new(&modern(), Duration::ZERO), Sent::default());
    sender.supply(Time::ZERO, 0, &mut sent);
    sender.on_syn_ack(at(50), &mut sent);
    assert_eq!((sent.0.len(), sender.deadline()), (0, None));
    sender.supply(at(60), 3, &mut sent);
    sender.supply(at(70), 4, &mut sent);
    sender.stop();
    sender.on_syn_ack(at(160), &mut sent);
    sender.on_syn_ack(at(161), &mut sent);
    assert_eq!((sent.0.join(" ").as_str(), sender.deadline()), ("syn ack", None));
    sender.supply(at(200), 2, &mut sent);
    assert_eq!(sent.0.join(" "), "syn ack 0 1");
}
