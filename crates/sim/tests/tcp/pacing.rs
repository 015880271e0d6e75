//! Pacing. The round-trip time is 100 ms.

use fairlane_scenario::Congestion::{Reno, Sack};

use super::era;
use super::path::{Path, expect, ms};

/// Nothing is held back before the first round-trip time is known. The first of the two acknowledgements at 100 makes
/// the window 3: twice 3 segments in 100 ms, so 3 follows 2 after 16.7 ms. The second makes it 4: 12.5 ms from 3 to 4
/// to 5, and the window is full at 141.7. At 200 it is 5, so 7 follows 6 after 10 ms; at 216.7 it is 6, and 8 has
/// waited since 210, for 10 ms; then 9 follows after 8.3 ms.
#[test]
fn spreads_the_window_over_the_round_trip() {
    let mut tcp = era(Reno, 2);
    tcp.pacing = true;
    expect(
        &Path::new(&tcp, ms(100)).trace(229),
        &[
            "0 new 0-1 2.00 300.00",
            "100 new 2 3.00 300.00",
            "116 new 3 4.00 300.00",
            "129 new 4 4.00 300.00",
            "141 new 5 4.00 300.00",
            "200 new 6 5.00 300.00",
            "210 new 7 5.00 300.00",
            "220 new 8 6.00 300.00",
            "228 new 9 6.00 300.00",
        ],
    );
}

/// In congestion avoidance the rate is 1.25 windows per round trip: with a window of 10, limited by the receiver, 8 ms
/// from one segment to the next, after one round of slow start.
#[test]
fn leaves_no_gap_in_congestion_avoidance() {
    let mut tcp = era(Reno, 10);
    (tcp.pacing, tcp.window) = (true, 10);
    let trace = Path::new(&tcp, ms(100)).trace(1_000);
    let times: Vec<u64> = trace.lines().filter_map(|line| line.split(' ').next()?.parse().ok()).collect();
    let expected: Vec<u64> = (1..=9).flat_map(|round| (0..10).map(move |n| 100 * round + 8 * n)).collect();
    assert_eq!(times[1..=90], expected, "{trace}");
}

/// Would catch a retransmission, by the timer or fast, that pacing delays.
#[test]
fn does_not_hold_back_repairs() {
    let mut tcp = era(Sack, 20);
    tcp.pacing = true;
    let trace = Path::new(&tcp, ms(100)).losing(&[(0, 0), (0, 1)]).trace(6_100);
    assert!(trace.contains("100 again 0 "), "{trace}");
    assert!(trace.contains("6100 timeout 0 "), "{trace}");
}
