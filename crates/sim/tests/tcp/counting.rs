//! Appropriate byte counting (RFC 3465). The round-trip time is 100 ms.

use fairlane_scenario::Congestion::{Cubic, Sack};
use fairlane_scenario::{Congestion, Tcp};

use super::path::{Passage, Path, ms};

/// Returns settings with an initial window of ten segments.
fn tcp(congestion: Congestion, byte_counting: bool) -> Tcp {
    Tcp { byte_counting, ..super::era(congestion, 10) }
}

/// Returns the window after the first flight of ten segments, if only the acknowledgements arrive that `arrives`
/// selects.
fn after_a_flight(tcp: &Tcp, arrives: fn(u32) -> bool) -> f64 {
    let mut path = Path::new(tcp, ms(100))
        .deciding_acks(move |next, _| if arrives(next) { Passage::Arrives } else { Passage::Lost });
    path.start();
    path.run_to(100);
    path.sender.cwnd()
}

/// Five acknowledgements of two segments each make the window 15, or 20 with byte counting (RFC 3465, section 2.2). The
/// same holds for CUBIC, whose slow start is Reno's.
#[test]
fn delayed_acknowledgements_double_the_window() {
    for congestion in [Sack, Cubic] {
        for (byte_counting, window) in [(false, 15.0), (true, 20.0)] {
            let tcp = Tcp { delayed_ack: Some(ms(40)), ..tcp(congestion, byte_counting) };
            assert_eq!(after_a_flight(&tcp, |_| true), window, "{congestion:?}");
        }
    }
}

/// Over several round trips slow start doubles the window with byte counting (L = 2) in each, and without it, which is
/// L = 1, multiplies it by 3/2 (RFC 3465, section 2.2): from 16 segments, each of whose halves is even, to 16 · 2^k or
/// 16 · 1.5^k. Congestion avoidance adds one segment a round trip with byte counting and half of one without (section
/// 2.1).
#[test]
fn delayed_acknowledgements_slow_growth_unless_bytes_count() {
    for (byte_counting, windows) in [(true, [32.0, 64.0, 128.0, 256.0]), (false, [24.0, 36.0, 54.0, 81.0])] {
        let tcp = Tcp { delayed_ack: Some(ms(500)), byte_counting, ..super::era(Sack, 16) };
        let mut path = Path::new(&tcp, ms(100));
        path.start();
        for (round, window) in (1..).zip(windows) {
            path.run_to(100 * round);
            assert_eq!(path.sender.cwnd(), window, "round {round}\n{}", path.table());
        }
    }
    for (byte_counting, growth) in [(true, 1.0), (false, 0.5)] {
        let tcp = Tcp { delayed_ack: Some(ms(40)), byte_counting, ..super::era(Sack, 40) };
        let mut path = Path::new(&tcp, ms(100)).losing(&[(0, 0)]);
        path.start();
        path.run_to(200);
        let before = path.sender.cwnd();
        assert_eq!(path.sender.ssthresh(), 20.0);
        path.run_to(2_200);
        let grown = (path.sender.cwnd() - before) / 20.0;
        assert!((grown / growth - 1.0).abs() < 0.05, "{grown} segments a round trip, not {growth}");
    }
}

/// One acknowledgement of all ten grows the window by L = 2 in slow start, to avoid a burst of ten more (RFC 3465,
/// section 2.2).
#[test]
fn slow_start_is_bounded() {
    assert_eq!(after_a_flight(&tcp(Sack, true), |next| next == 10), 12.0);
    assert_eq!(after_a_flight(&tcp(Sack, false), |next| next == 10), 11.0);
}

/// Of twenty segments the first is lost, which leaves a window of ten, and all others are acknowledged with the
/// retransmission. Then one acknowledgement covers nine segments and grows the window by nine tenths of a segment,
/// instead of one tenth (RFC 3465, section 2.1).
#[test]
fn congestion_avoidance_counts_all() {
    for (byte_counting, window) in [(true, 10.9), (false, 10.1)] {
        let tcp = Tcp { byte_counting, ..super::era(Sack, 20) };
        let mut path = Path::new(&tcp, ms(100))
            .losing(&[(0, 0)])
            .deciding_acks(|next, _| if next <= 20 || next == 29 { Passage::Arrives } else { Passage::Lost });
        path.start();
        path.run_to(200);
        assert_eq!((path.sender.acknowledged(), path.sender.ssthresh()), (29, 10.0));
        assert!((path.sender.cwnd() - window).abs() < 1e-9, "{}", path.table());
    }
}

/// All acknowledgements of the first flight are lost. That of the retransmission after the timeout covers all ten
/// segments, most of which arrived before the timeout: L = 1 (RFC 3465, section 2.3).
#[test]
fn after_a_timeout_an_acknowledgement_counts_once() {
    let mut path = Path::new(&tcp(Sack, true), ms(100))
        .deciding_acks(|_, nth| if nth < 10 { Passage::Lost } else { Passage::Arrives });
    path.start();
    path.run_to(6_000);
    assert_eq!((path.sender.timeouts(), path.sender.cwnd()), (1, 1.0));
    path.run_to(6_100);
    assert_eq!((path.sender.acknowledged(), path.sender.cwnd()), (10, 2.0));
}

/// The limit after a timeout is one of slow start. All of 20 segments are lost, and the timeout leaves a threshold
/// of 10. Acknowledgements of one segment each take the window to 10. Then, in congestion avoidance, the next one
/// covers nine segments that were sent before the timeout and adds nine tenths of a segment, and one more segment the
/// last tenth.
#[test]
fn after_a_timeout_congestion_avoidance_counts_all() {
    let first_flight: Vec<_> = (0..20).map(|seq| (seq, 0)).collect();
    let mut path = Path::new(&Tcp { byte_counting: true, ..super::era(Sack, 20) }, ms(100))
        .losing(&first_flight)
        .deciding_acks(|next, _| if (10..18).contains(&next) { Passage::Lost } else { Passage::Arrives });
    path.start();
    path.run_to(6_500);
    assert_eq!((path.sender.timeouts(), path.sender.acknowledged(), path.sender.ssthresh()), (1, 19, 10.0));
    assert!((path.sender.cwnd() - 11.0).abs() < 1e-9, "{}", path.table());
}
