//! Segments that are late and not lost: reductions that are taken back (RFC 3522, RFC 4015, RFC 5682), duplicates that
//! are reported (RFC 2883), and the reordering window that follows (RFC 8985). The round-trip time is 100 ms.

use std::cell::Cell;
use std::rc::Rc;

use fairlane_qdisc::Time;
use fairlane_scenario::{Congestion, Tcp};
use fairlane_sim::tcp::{SackBlocks, TcpReceiver};

use super::path::{Passage, Path, ms};

fn at(millis: u64) -> Time {
    Time::ZERO + ms(millis)
}

fn modern(congestion: Congestion, timestamps: bool) -> Tcp {
    Tcp { timestamps, delayed_ack: None, ..Tcp::modern(congestion, 300) }
}

/// Runs a sender of `supply` segments up to `end`. What is sent from `silent.0` to `silent.1` arrives after that, in
/// order; all times are in milliseconds. Returns the path and the window before the silence.
fn pause(tcp: &Tcp, supply: u32, silent: (u64, u64), end: u64) -> (Path, (f64, f64)) {
    let clock = Rc::new(Cell::new(Time::ZERO));
    let now = Rc::clone(&clock);
    let mut path = Path::new(tcp, ms(100)).deciding(move |_, _| {
        let held = at(silent.0) <= now.get() && now.get() < at(silent.1);
        if held { Passage::Late(at(silent.1).since(now.get())) } else { Passage::Arrives }
    });
    path.supply(supply);
    let mut before = (0.0, 0.0);
    while let Some(next) = path.next_time().filter(|next| *next <= at(end)) {
        clock.set(next);
        if next < at(silent.1) && path.sender.timeouts() == 0 && path.sender.retransmissions() == 0 {
            before = (path.sender.cwnd(), path.sender.ssthresh());
        }
        path.step();
    }
    (path, before)
}

/// The network is silent for 0.9 s, which loses nothing. By hand: the probe of the tail goes 200 ms after the last
/// segment and the timeout comes 300 ms after the probe; the next would come after the silence. Whether timestamps show
/// it or, without them, F-RTO, the window and the threshold are those before. Would catch a window that is sent again,
/// and a cut that stays.
#[test]
fn a_silence_is_no_loss() {
    for congestion in [Congestion::Reno, Congestion::Cubic, Congestion::Dctcp, Congestion::Prague] {
        for timestamps in [true, false] {
            let (path, before) = pause(&modern(congestion, timestamps), u32::MAX, (350, 1_250), 1_600);
            let name = congestion.name();
            assert_eq!(path.sender.timeouts(), 1, "{name} {timestamps}");
            assert!(path.sender.retransmissions() <= 2, "{name}: {} copies", path.sender.retransmissions());
            assert!(path.sender.cwnd() >= before.0, "{name}: {} from {before:?}", path.sender.cwnd());
            assert!(path.sender.ssthresh() >= before.1, "{name}: {} from {before:?}", path.sender.ssthresh());
        }
    }
}

/// RFC 8985, section 7.4.2, case 1: a silence of 320 ms with a full window causes a probe, which repeats the last
/// segment and is reported as a duplicate, when new segments have been acknowledged already. Would catch a window that
/// the probe halves.
#[test]
fn a_needless_probe_reduces_nothing() {
    for window in 20..60 {
        let tcp = Tcp { window, delayed_ack: Some(ms(40)), ..modern(Congestion::Reno, true) };
        let (path, before) = pause(&tcp, u32::MAX, (1_150, 1_470), 3_000);
        assert_eq!((path.sender.retransmissions(), path.sender.timeouts()), (1, 0), "{window} segments");
        assert_eq!(path.sender.ssthresh(), before.1, "{window} segments");
    }
}

/// By hand: each tenth segment from 30 on is 60 ms late. The reordering window is a quarter of the round trip, 25 ms,
/// so the first is sent again, 50 ms after a round with a duplicate, so the second, and 75 ms from then on. Each
/// reduction is taken back when the duplicate is reported. Would catch a window that does not grow, or forgets.
#[test]
fn the_reordering_window_grows_with_each_round_of_duplicates() {
    for timestamps in [true, false] {
        let late = |seq: u32, copy| copy == 0 && seq >= 30 && seq % 40 == 30;
        let mut path = Path::new(&Tcp { window: 20, ..modern(Congestion::Reno, timestamps) }, ms(100))
            .deciding(move |seq, copy| if late(seq, copy) { Passage::Late(ms(60)) } else { Passage::Arrives });
        path.supply(u32::MAX);
        path.run_to(5_000);
        assert_eq!((path.sender.retransmissions(), path.sender.timeouts()), (2, 0), "{timestamps}");
        assert_eq!((path.sender.cwnd(), path.sender.ssthresh()), (20.0, 20.0), "{timestamps}");
    }
}

/// Returns the retransmissions and the threshold half a second after the first flight of 20, of which segment 5 was
/// `late` milliseconds late and 10 met with `fate`.
fn late_and(tcp: Tcp, late: u64, fate: Passage) -> (u64, f64) {
    let tcp = Tcp { ecn: fate == Passage::Marked, initial_window: 20, window: 300, ..tcp };
    let mut path = Path::new(&tcp, ms(100)).deciding(move |seq, copy| match (seq, copy) {
        (5, 0) => Passage::Late(ms(late)),
        (10, 0) => fate,
        _ => Passage::Arrives,
    });
    path.supply(u32::MAX);
    path.run_to(500);
    (path.sender.retransmissions(), path.sender.ssthresh())
}

/// By hand: the acknowledgements of five segments open the window to 25, and the fast retransmission leaves 12. Of two
/// segments that are sent again one was lost, so that stays. Would catch an undo by the duplicate of the other one.
#[test]
fn a_loss_and_a_late_segment_count() {
    for timestamps in [true, false] {
        assert_eq!(late_and(modern(Congestion::Reno, timestamps), 60, Passage::Lost), (2, 12.0));
    }
}

/// RFC 4015, section 3: in the same window a segment is late and another one is marked, so the reduction to 12 stays
/// though nothing was lost. The duplicate is reported when the mark is no longer echoed. Would catch an undo that takes
/// back the answer to the mark.
#[test]
fn a_mark_and_a_late_segment_count() {
    for timestamps in [true, false] {
        assert_eq!(late_and(modern(Congestion::Reno, timestamps), 160, Passage::Marked), (1, 12.0));
        assert_eq!(late_and(modern(Congestion::Reno, timestamps), 160, Passage::Arrives), (1, 300.0));
    }
}

/// Linux reduces once for a mark and a loss in the same window, by PRR: of 20 segments the second is marked, and 10 is
/// lost. By hand: the first acknowledgement opens the window to 21, and the mark sets the threshold to 10. Would catch
/// a loss that sets the threshold to the window of that moment, and a timeout that reduces it again.
#[test]
fn linux_reduces_once_for_a_mark_and_a_loss() {
    for lost in [&[(10, 0)][..], &[(10, 0), (10, 1)]] {
        let tcp = Tcp { ecn: true, delayed_ack: None, initial_window: 20, ..Tcp::linux(Congestion::Reno, 300) };
        let mut path = Path::new(&tcp, ms(100)).deciding(|seq, copy| match (seq, copy) {
            (1, 0) => Passage::Marked,
            sent if lost.contains(&sent) => Passage::Lost,
            _ => Passage::Arrives,
        });
        path.supply(60);
        path.run_to(2_000);
        assert_eq!((path.sender.acknowledged(), path.sender.ssthresh()), (60, 10.0), "{lost:?}");
    }
}

/// RFC 5681, section 3.1, by hand: a flight of 20 is lost, and its first segment three times more, so the timer fires
/// three times after the probe of the tail. The first time halves the flight, and the others leave the threshold. Would
/// catch a threshold that falls to two segments, by half of the window of one.
#[test]
fn a_repeated_timeout_leaves_the_threshold() {
    let tcp = Tcp { window: 20, ..modern(Congestion::Reno, true) };
    let mut path = Path::new(&tcp, ms(100)).deciding(|seq, copy| {
        let lost = seq >= 50 && copy == 0 || seq == 50 && copy <= 2 || seq == 69 && copy == 1;
        if lost { Passage::Lost } else { Passage::Arrives }
    });
    path.supply(70);
    path.run_to(6_000);
    assert_eq!((path.sender.acknowledged(), path.sender.timeouts(), path.sender.ssthresh()), (70, 3, 10.0));
}

/// RFC 5681, section 3.1, by hand: a fast retransmission of 20 segments leaves 10, and the timer, since the
/// retransmission is lost, too, a half of that. Would catch a timeout in recovery that reduces nothing.
#[test]
fn the_loss_of_a_repair_reduces_again() {
    let tcp = Tcp { window: 20, ..modern(Congestion::Reno, true) };
    let mut path = Path::new(&tcp, ms(100)).losing(&[(50, 0), (50, 1)]);
    path.supply(70);
    path.run_to(2_000);
    assert_eq!((path.sender.acknowledged(), path.sender.timeouts()), (70, 1));
    assert!(path.sender.ssthresh() <= 5.0, "{}", path.sender.ssthresh());
}

/// RFC 2883, section 4: the first block is the segment that came once more, below the acknowledgement (4.1.1) or in a
/// block above it (4.2). RFC 6675 has no use for it, and without SACK there is none.
#[test]
fn receivers_report_duplicates() {
    let blocks = |tcp: &Tcp, seqs: &[u32]| {
        let mut receiver = TcpReceiver::new(tcp);
        let acks = seqs.iter().map(|seq| receiver.on_segment(Time::ZERO, *seq, Time::ZERO, false, false).ack);
        acks.last().flatten().map_or(SackBlocks::default(), |ack| ack.sack).as_slice().to_vec()
    };
    let rack = modern(Congestion::Reno, true);
    assert_eq!(blocks(&rack, &[0, 1, 2, 1]), [(1, 2)]);
    assert_eq!(blocks(&rack, &[0, 1, 3, 4, 5, 4]), [(4, 5), (3, 6)]);
    assert_eq!(blocks(&rack, &[0, 1, 3, 6, 9, 3]), [(3, 4), (3, 4), (9, 10)]);
    assert_eq!(blocks(&modern(Congestion::Sack, true), &[0, 1, 3, 4, 5, 4]), [(3, 6)]);
    assert_eq!(blocks(&modern(Congestion::NewReno, true), &[0, 1, 3, 4, 5, 4]), []);
}
