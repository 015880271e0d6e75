//! The receiver.

use std::collections::BTreeSet;

use fairlane_qdisc::{Seed, Time};
use fairlane_scenario::Congestion::{Dctcp, Reno, Sack};
use fairlane_scenario::Tcp;
use fairlane_sim::tcp::{Ack, TcpReceiver};

use super::path::ms;

fn at(millis: u64) -> Time {
    Time::ZERO + ms(millis)
}

fn take(receiver: &mut TcpReceiver, seq: u32) -> Option<Ack> {
    receiver.on_segment(Time::ZERO, seq, Time::ZERO, false, false).ack
}

/// Returns the acknowledgement of each of `segments`: the next segment expected, and the SACK blocks.
fn answers(segments: &[u32]) -> Vec<(u32, Vec<(u32, u32)>)> {
    let mut receiver = TcpReceiver::new(&Tcp::ns2_1999(Sack, 300));
    let acks = segments.iter().filter_map(|seq| take(&mut receiver, *seq));
    acks.map(|ack| (ack.next, ack.sack.as_slice().to_vec())).collect()
}

/// RFC 2018, section 7, case 2: the first of eight is lost.
#[test]
fn reports_one_growing_block() {
    let expected: Vec<_> = (2..=8).map(|end| (0, vec![(1, end)])).collect();
    assert_eq!(answers(&[1, 2, 3, 4, 5, 6, 7]), expected);
}

/// RFC 2018, section 7, case 3: the second, fourth, sixth and eighth are lost, then the fourth and the second arrive
/// late.
#[test]
fn reports_the_latest_block_first() {
    let expected = [
        (1, vec![]),
        (1, vec![(2, 3)]),
        (1, vec![(4, 5), (2, 3)]),
        (1, vec![(6, 7), (4, 5), (2, 3)]),
        (1, vec![(2, 5), (6, 7)]),
        (5, vec![(6, 7)]),
    ];
    assert_eq!(answers(&[0, 2, 4, 6, 3, 1]), expected);
}

/// A fourth block replaces the oldest. The first block contains the segment that caused the acknowledgement, even for a
/// duplicate (RFC 2018, section 4). After a merge another block is reported again.
#[test]
fn reports_three_blocks_at_most() {
    let answers = answers(&[1, 3, 5, 7, 1, 6]);
    assert_eq!(answers[3], (0, vec![(7, 8), (5, 6), (3, 4)]));
    assert_eq!(answers[4], (0, vec![(1, 2), (7, 8), (5, 6)]));
    assert_eq!(answers[5], (0, vec![(5, 8), (1, 2), (3, 4)]));
}

/// RFC 9768, section 3.2.2.5.1, by hand with delayed acknowledgements. The marked segments are 1, 2, 3 and 6: 1 is
/// acknowledged as the first mark, 3 as the second segment and mark after it, 5 as the second segment after that, 6 as
/// the first mark after one without. The counter begins at 5. Would catch ECN-Echo together with the counter, marks of
/// copies that do not count, and a counter that goes on to 8.
#[test]
fn counts_marks_for_accurate_ecn() {
    let tcp = Tcp { accurate_ecn: true, delayed_ack: Some(ms(40)), ..Tcp::modern(Dctcp, 300) };
    let mut receiver = TcpReceiver::new(&tcp);
    let mut answer = |seq: u32, marked: bool| {
        receiver.on_segment(Time::ZERO, seq, Time::ZERO, marked, false).ack.map(|ack| (ack.next, ack.ace, ack.ece))
    };
    let marked = [1, 2, 3, 6];
    let answers: Vec<_> = (0..7).map(|seq| answer(seq, marked.contains(&seq))).collect();
    let some = |next, ace| Some((next, ace, false));
    assert_eq!(answers, [None, some(2, 6), None, some(4, 0), None, some(6, 0), some(7, 1)]);
    assert_eq!(answer(6, true), some(7, 2), "a copy");
}

/// Would catch SACK blocks of a flow that does not use SACK.
#[test]
fn reports_no_blocks_without_sack() {
    let mut receiver = TcpReceiver::new(&Tcp::ns2_1999(Reno, 300));
    assert!(take(&mut receiver, 4).is_some_and(|ack| ack.sack.is_empty()));
}

/// RFC 1122, section 4.2.3.2, and RFC 5681, section 4.2.
#[test]
fn delays_only_what_is_in_order() {
    let mut receiver = TcpReceiver::new(&Tcp::modern(Reno, 300));
    let mut answer = |millis, seq| {
        let received = receiver.on_segment(at(millis), seq, at(millis), false, false);
        (received.new, received.ack.map(|ack| ack.next))
    };
    assert_eq!(answer(0, 0), (true, None));
    assert_eq!(answer(5, 1), (true, Some(2)), "every second segment");
    assert_eq!(answer(10, 2), (true, None));
    assert_eq!(answer(20, 4), (true, Some(3)), "out of order");
    assert_eq!(answer(30, 3), (true, Some(5)), "fills a gap");
    assert_eq!(answer(40, 1), (false, Some(5)), "a duplicate");
    assert_eq!(answer(50, 5), (true, None));
    assert_eq!(receiver.deadline(), Some(at(90)));
    assert_eq!(receiver.on_timer(at(89)), None);
    assert_eq!(receiver.on_timer(at(90)).map(|ack| ack.next), Some(6));
    assert_eq!((receiver.deadline(), receiver.on_timer(at(99))), (None, None));
}

/// The example of RFC 7323, section 4.3: segments A B C D E sent at 1 … 5 arrive as A C B E D.
#[test]
fn echoes_the_segment_that_advanced_the_window() {
    let mut receiver = TcpReceiver::new(&Tcp::ns2_1999(Reno, 300));
    for (seq, sent, echo) in [(0, 1, 1), (2, 3, 1), (1, 2, 2), (4, 5, 2), (3, 4, 4)] {
        let ack = receiver.on_segment(at(9), seq, at(sent), false, false).ack;
        assert_eq!(ack.map(|ack| ack.echo), Some(at(echo)), "segment {seq}");
    }
}

/// RFC 7323, section 4.3 (A): a delayed acknowledgement echoes the first of its segments.
#[test]
fn echoes_the_first_of_two() {
    let mut receiver = TcpReceiver::new(&Tcp::modern(Reno, 300));
    assert_eq!(receiver.on_segment(at(5), 0, at(1), false, false).ack, None);
    assert_eq!(receiver.on_segment(at(6), 1, at(2), false, false).ack.map(|ack| ack.echo), Some(at(1)));
}

/// RFC 3168, section 6.1.3. A changed echo is not delayed.
#[test]
fn echoes_a_mark_until_cwr() {
    let mut tcp = Tcp::modern(Reno, 300);
    tcp.ecn = true;
    let mut receiver = TcpReceiver::new(&tcp);
    let mut answer = |seq, ce, cwr| receiver.on_segment(at(0), seq, at(0), ce, cwr).ack.map(|ack| ack.ece);
    assert_eq!(answer(0, true, false), Some(true));
    assert_eq!(answer(1, false, false), None);
    assert_eq!(answer(2, false, false), Some(true));
    assert_eq!(answer(3, false, true), Some(false));
    assert_eq!(answer(4, true, true), Some(true), "a new mark on the segment with CWR");
    tcp.ecn = false;
    tcp.delayed_ack = None;
    let ack = TcpReceiver::new(&tcp).on_segment(at(0), 0, at(0), true, false).ack;
    assert_eq!(ack.map(|ack| ack.ece), Some(false), "without ECN there is no echo");
}

/// RFC 8257, section 3.2, with delayed acknowledgements: all segments that one covers have the same marking. A segment
/// that differs causes the delayed acknowledgement, and its own is delayed.
#[test]
fn echoes_each_mark_for_dctcp() {
    let mut receiver = TcpReceiver::new(&Tcp::modern(Dctcp, 300));
    let mut answer = |millis, seq, ce| {
        let ack = receiver.on_segment(at(millis), seq, at(millis), ce, true).ack;
        (ack.map(|ack| (ack.next, ack.ece, ack.echo)), receiver.deadline())
    };
    assert_eq!(answer(1, 0, false), (None, Some(at(41))));
    assert_eq!(answer(2, 1, true), (Some((1, false, at(1))), Some(at(42))), "0 was not marked");
    assert_eq!(answer(3, 2, true), (Some((3, true, at(2))), None), "1 and 2 were");
    assert_eq!(answer(4, 3, false), (Some((4, false, at(4))), None), "none was delayed: at once");
    assert_eq!(answer(5, 4, false), (None, Some(at(45))));
    assert_eq!(answer(6, 6, true), (Some((5, false, at(5))), None), "out of order, for 4");
    assert_eq!(answer(7, 5, true), (Some((7, true, at(7))), None), "fills the gap");
}

/// Without delayed acknowledgements each one echoes the mark of its segment, regardless of earlier marks and CWR.
#[test]
fn echoes_nothing_but_marks_for_dctcp() {
    let mut receiver = TcpReceiver::new(&Tcp::ns2_1999(Dctcp, 300));
    for (seq, ce) in [(0, false), (1, true), (2, true), (3, false), (4, true)] {
        let ack = receiver.on_segment(at(0), seq, at(0), ce, false).ack;
        assert_eq!(ack.map(|ack| (ack.next, ack.ece)), Some((seq + 1, ce)));
    }
}

/// RFC 9293, section 3.10.7.4: segments outside the window are not stored, but acknowledged.
#[test]
fn refuses_what_lies_beyond_its_window() {
    let mut receiver = TcpReceiver::new(&Tcp::ns2_1999(Sack, 10));
    for (seq, new) in [(10, false), (u32::MAX, false), (9, true), (9, false)] {
        let received = receiver.on_segment(at(0), seq, at(0), false, false);
        assert_eq!((received.new, received.ack.map(|ack| ack.next)), (new, Some(0)), "segment {seq}");
    }
}

/// Compares with a receiver that keeps every segment and one segment of each reported range, for segments in any order,
/// duplicates and merges, and with holes that are filled. Would catch a range that is reported although it has grown or
/// been merged, one that has been acknowledged cumulatively, one that is forgotten, and a wrong order.
#[test]
fn reports_the_blocks_of_a_slow_receiver() {
    let mut random = Seed::new(1).stream("receiver");
    for _ in 0..200 {
        let mut receiver = TcpReceiver::new(&Tcp::ns2_1999(Sack, 300));
        let (mut arrived, mut latest) = (BTreeSet::new(), Vec::<u32>::new());
        for _ in 0..100 {
            let first = (0_u32..).find(|segment| !arrived.contains(segment)).unwrap_or(0);
            let seq = if random.chance(0.2) { first } else { first.saturating_sub(3) + random.below(24) };
            let ack = take(&mut receiver, seq);
            arrived.insert(seq);
            let next = (first..).find(|segment| !arrived.contains(segment)).unwrap_or(0);
            let range = |segment: u32| {
                let start = (0..segment).rev().take_while(|other| arrived.contains(other)).last().unwrap_or(segment);
                (start, (segment..).find(|other| !arrived.contains(other)).unwrap_or(segment))
            };
            // Of each range one segment, and of no more than three ranges.
            if seq > first {
                latest.retain(|other| *other > first && range(*other) != range(seq));
                latest.insert(0, seq);
                latest.truncate(3);
            }
            latest.retain(|segment| *segment > next);
            let mut blocks = Vec::new();
            for segment in latest.iter().copied().chain(arrived.iter().rev().copied().filter(|other| *other > next)) {
                if !blocks.contains(&range(segment)) {
                    blocks.push(range(segment));
                }
            }
            blocks.truncate(3);
            assert_eq!(ack.map(|ack| (ack.next, ack.sack.as_slice().to_vec())), Some((next, blocks)));
        }
    }
}
