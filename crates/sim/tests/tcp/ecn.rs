//! Explicit Congestion Notification (RFC 3168). The round trip is 100 ms.

use fairlane_scenario::Congestion::Reno;

use super::era;
use super::path::{Fate, Path, expect, ms};

fn path(initial: u32, fate: impl FnMut(u32, u32) -> Fate + 'static) -> Path {
    let mut tcp = era(Reno, initial);
    tcp.ecn = true;
    Path::new(&tcp, ms(100)).deciding(fate)
}

/// Three marks in a window halve it once, without a retransmission. The echo goes on until segment 20 brings CWR, and
/// the window does not grow meanwhile. A mark on 25, in the next window, halves it again at 10.49.
#[test]
fn halves_once_a_window() {
    let marks = [0, 3, 7, 25];
    let mut path = path(20, move |seq, _| if marks.contains(&seq) { Fate::Marked } else { Fate::Arrives });
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

/// With everything marked the window falls to 1, and one segment a round trip goes on.
#[test]
fn keeps_one_segment() {
    let trace = path(4, |_, _| Fate::Marked).trace(400);
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

/// A loss in a window that a mark has cut is repaired without a second cut: 10 + 3 at the third duplicate.
#[test]
fn a_mark_and_a_loss_in_a_window_cut_it_once() {
    let trace = path(20, |seq, copy| match (seq, copy) {
        (0, 0) => Fate::Marked,
        (5, 0) => Fate::Lost,
        _ => Fate::Arrives,
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

/// RFC 3168 6.1.2: CWR after a reduction for any reason, on a new segment.
#[test]
fn says_cwr_after_a_loss() {
    let mut path = path(20, |seq, copy| if (seq, copy) == (0, 0) { Fate::Lost } else { Fate::Arrives });
    path.start();
    path.run_to(1_000);
    assert_eq!(path.cwr, [20]);
}
