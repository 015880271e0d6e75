//! Explicit Congestion Notification (RFC 3168). The round-trip time is 100 ms.

use fairlane_scenario::Congestion::{Dctcp, Reno};

use super::era;
use super::path::{Passage, Path, expect, ms};

fn path(initial: u32, passage: impl FnMut(u32, u32) -> Passage + 'static) -> Path {
    let mut tcp = era(Reno, initial);
    tcp.ecn = true;
    Path::new(&tcp, ms(100)).deciding(passage)
}

/// Three marks in a window halve it once, without a retransmission. The echo continues until segment 20 carries CWR,
/// and the window does not grow until then. A mark on 25, in the next window, halves the window of 10.49 again.
#[test]
fn halves_once_a_window() {
    let marks = [0, 3, 7, 25];
    let mut path = path(20, move |seq, _| if marks.contains(&seq) { Passage::Marked } else { Passage::Arrives });
    path.start();
    path.run_to(300);
    expect(
        &path.table(),
        &[
            "0 new 0-19 20.00 300.00",
            "100 new 20-29 10.00 10.00",
            "200 new 30-34 10.49 10.00",
            "300 new 35-39 5.00 5.00",
        ],
    );
    assert_eq!(path.cwr, [20, 35]);
}

/// If all segments are marked, the window falls to 1, and one segment per round trip is sent.
#[test]
fn keeps_one_segment() {
    let trace = path(4, |_, _| Passage::Marked).trace(400);
    expect(
        &trace,
        &[
            "0 new 0-3 4.00 300.00",
            "100 new 4-5 2.00 2.00",
            "200 new 6 1.00 1.00",
            "300 new 7 1.00 1.00",
            "400 new 8 1.00 1.00",
        ],
    );
}

/// RFC 3168, section 6.1.2 ("ECN timeout" in the papers): a mark at a window of 1 makes the sender wait for its timer,
/// which doubles each time. Round trips of one tick give 1 + 4 * 1/2 ticks: 300 ms, 600, 1200, 2400. The fourth
/// doubling discards the mean, so the next sample is a first one: 16 * 300 ms.
#[test]
fn waits_for_the_timer_at_one_segment() {
    let mut tcp = era(Reno, 1);
    (tcp.ecn, tcp.ecn_timeout) = (true, true);
    let mut path = Path::new(&tcp, ms(100)).deciding(|_, _| Passage::Marked);
    path.start();
    path.run_to(10_000);
    expect(
        &path.table(),
        &[
            "0 new 0 1.00 300.00",
            "400 new 1 1.00 1.00",
            "1100 new 2 1.00 1.00",
            "2400 new 3 1.00 1.00",
            "4900 new 4 1.00 1.00",
            "9800 new 5 1.00 1.00",
        ],
    );
    assert_eq!((path.sender.timeouts(), path.sender.retransmissions()), (0, 0));
}

/// The first acknowledgement without a mark ends the wait and the backoff. At more than one segment a mark halves the
/// window and the sender does not wait: 3 and 4 are sent at 1200, and the mark of 3 reduces the window to 1 with 4 in
/// flight.
#[test]
fn waits_no_more_when_marks_end() {
    let mut tcp = era(Reno, 1);
    (tcp.ecn, tcp.ecn_timeout) = (true, true);
    let marks = [0, 1, 3];
    let path = Path::new(&tcp, ms(100))
        .deciding(move |seq, _| if marks.contains(&seq) { Passage::Marked } else { Passage::Arrives });
    expect(
        &path.trace(1_400),
        &[
            "0 new 0 1.00 300.00",
            "400 new 1 1.00 1.00",
            "1100 new 2 1.00 1.00",
            "1200 new 3-4 2.00 1.00",
            "1300 new 5 1.00 1.00",
            "1400 new 6-7 2.00 1.00",
        ],
    );
}

/// A segment lost during a wait is retransmitted when the timer fires.
#[test]
fn repairs_a_loss_after_a_wait() {
    let mut tcp = era(Reno, 2);
    (tcp.ecn, tcp.ecn_timeout) = (true, true);
    let path = Path::new(&tcp, ms(100)).deciding(|seq, copy| match (seq, copy) {
        (3, 0) => Passage::Lost,
        (0..=2, _) => Passage::Marked,
        _ => Passage::Arrives,
    });
    expect(
        &path.trace(1_100),
        &["0 new 0-1 2.00 300.00", "100 new 2 1.00 1.00", "500 new 3 1.00 1.00", "1100 timeout 3 1.00 2.00"],
    );
}

/// RFC 8257, section 3.3, by hand. The first acknowledgement and the first window, without marks, make alpha (15/16)².
/// The mark of 20 reduces 20 by half of that, to 11.21, once for the ten marks of its window. Of the 19 segments up to
/// its end 10 were marked: alpha becomes 15/16 of the old alpha plus 1/16 of 10/19, 0.8569. Fifteen acknowledgements
/// later the window is 12.48, and the mark of 45 leaves 12.48 (1 - 0.4284) = 7.13.
#[test]
fn dctcp_cuts_by_the_share_of_marks() {
    let mut tcp = era(Dctcp, 20);
    tcp.window = 20;
    let marked = |seq| (20..30).contains(&seq) || seq == 45;
    let path =
        Path::new(&tcp, ms(100)).deciding(move |seq, _| if marked(seq) { Passage::Marked } else { Passage::Arrives });
    expect(
        &path.trace(300),
        &[
            "0 new 0-19 20.00 20.00",
            "100 new 20-39 20.00 20.00",
            "200 new 40-51 12.07 11.21",
            "300 new 52-58 7.94 7.13",
        ],
    );
}

/// A loss in a window that a mark has reduced is repaired without a second reduction: 10 + 3 at the third duplicate.
#[test]
fn a_mark_and_a_loss_in_a_window_cut_it_once() {
    let trace = path(20, |seq, copy| match (seq, copy) {
        (0, 0) => Passage::Marked,
        (5, 0) => Passage::Lost,
        _ => Passage::Arrives,
    })
    .trace(200);
    expect(
        &trace,
        &[
            "0 new 0-19 20.00 300.00",
            "100 again 5 13.00 10.00",
            "100 new 20-28 24.00 10.00",
            "200 new 29-38 10.87 10.00",
        ],
    );
}

/// RFC 3168, section 6.1.2: CWR on the next new segment after a reduction for any reason.
#[test]
fn sends_cwr_after_a_loss() {
    let mut path = path(20, |seq, copy| if (seq, copy) == (0, 0) { Passage::Lost } else { Passage::Arrives });
    path.start();
    path.run_to(1_000);
    assert_eq!(path.cwr, [20]);
}
