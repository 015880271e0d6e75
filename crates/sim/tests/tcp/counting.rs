//! Byte counting (RFC 3465). The round trip is 100 ms.

use fairlane_scenario::Congestion::{Cubic, Sack};
use fairlane_scenario::{Congestion, Tcp};

use super::path::{Fate, Path, ms};

/// Ten segments to begin with.
fn tcp(congestion: Congestion, byte_counting: bool) -> Tcp {
    Tcp { byte_counting, ..super::era(congestion, 10) }
}

/// The window after the first flight of ten, of whose acknowledgements those arrive that `arrives` lets.
fn after_a_flight(tcp: &Tcp, arrives: fn(u32) -> bool) -> f64 {
    let mut path =
        Path::new(tcp, ms(100)).deciding_acks(move |next, _| if arrives(next) { Fate::Arrives } else { Fate::Lost });
    path.start();
    path.run_to(100);
    path.sender.cwnd()
}

/// Five acknowledgements of two segments each: 15 or, counted by segments, 20 (RFC 3465 2.2). The same goes for CUBIC, whose
/// slow start is Reno's.
#[test]
fn delayed_acknowledgements_double_the_window_all_the_same() {
    for congestion in [Sack, Cubic] {
        for (byte_counting, window) in [(false, 15.0), (true, 20.0)] {
            let tcp = Tcp { delayed_ack: Some(ms(40)), ..tcp(congestion, byte_counting) };
            assert_eq!(after_a_flight(&tcp, |_| true), window, "{congestion:?}");
        }
    }
}

/// One acknowledgement for all ten opens slow start by L = 2, lest it send a burst of ten more (RFC 3465 2.2).
#[test]
fn slow_start_is_bounded() {
    assert_eq!(after_a_flight(&tcp(Sack, true), |next| next == 10), 12.0);
    assert_eq!(after_a_flight(&tcp(Sack, false), |next| next == 10), 11.0);
}

/// Of twenty segments the first is lost, which leaves a window of ten, and all else is acknowledged with the repair. Then one
/// acknowledgement covers nine: nine tenths of a segment, where one of one is a tenth (RFC 3465 2.1).
#[test]
fn congestion_avoidance_counts_all() {
    for (byte_counting, window) in [(true, 10.9), (false, 10.1)] {
        let tcp = Tcp { byte_counting, ..super::era(Sack, 20) };
        let mut path = Path::new(&tcp, ms(100))
            .losing(&[(0, 0)])
            .deciding_acks(|next, _| if next <= 20 || next == 29 { Fate::Arrives } else { Fate::Lost });
        path.start();
        path.run_to(200);
        assert_eq!((path.sender.acknowledged(), path.sender.ssthresh()), (29, 10.0));
        assert!((path.sender.cwnd() - window).abs() < 1e-9, "{}", path.table());
    }
}

/// All acknowledgements of the first flight are lost. The one of the segment that is sent again after the timeout covers all
/// ten, which says nothing of how many have left the network since: L = 1 (RFC 3465 2.3).
#[test]
fn after_a_timeout_an_acknowledgement_counts_once() {
    let mut path =
        Path::new(&tcp(Sack, true), ms(100)).deciding_acks(|_, nth| if nth < 10 { Fate::Lost } else { Fate::Arrives });
    path.start();
    path.run_to(6_000);
    assert_eq!((path.sender.timeouts(), path.sender.cwnd()), (1, 1.0));
    path.run_to(6_100);
    assert_eq!((path.sender.acknowledged(), path.sender.cwnd()), (10, 2.0));
}
