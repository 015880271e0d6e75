//! The square-root law: a mean window of sqrt(3 / 2p) segments (SPEC 19.8; Mathis, Semke, Mahdavi, Ott 1997).

use fairlane_qdisc::Seed;
use fairlane_scenario::Congestion::{NewReno, Reno, Sack};
use fairlane_scenario::{Congestion, Tcp};

use super::path::{Fate, Path, ms};

/// The mean window of TCP of 1999.
fn mean_window(congestion: Congestion, p: f64) -> f64 {
    mean_window_of(Tcp::ns2_1999(congestion, 10_000), p)
}

/// Mean window, from what was acknowledged in a run that expects 600 losses of probability `p`.
fn mean_window_of(mut tcp: Tcp, p: f64) -> f64 {
    tcp.timestamps = true;
    tcp.min_rto = ms(1_000);
    let mut random = Seed::new(1).stream("losses");
    let mut path =
        Path::new(&tcp, ms(100)).deciding(move |_, _| if random.chance(p) { Fate::Lost } else { Fate::Arrives });
    path.start();
    let round_trips = (600.0 / (1.5 * p).sqrt()) as u64;
    path.run_to(100 * round_trips);
    f64::from(path.sender.acknowledged()) / round_trips as f64
}

/// The law knows no timeouts, which Reno needs more of than the others as soon as a small window loses two segments:
/// it stays out of the test at 1 %.
#[test]
fn mean_window_follows_the_square_root_law() {
    let runs = [(Reno, 0.001), (Reno, 0.003), (NewReno, 0.001), (NewReno, 0.003), (NewReno, 0.01)];
    for (congestion, p) in runs.into_iter().chain([(Sack, 0.001), (Sack, 0.003), (Sack, 0.01)]) {
        let (measured, law) = (mean_window(congestion, p), (1.5 / p).sqrt());
        assert!((measured / law - 1.0).abs() < 0.1, "{congestion:?} at {p}: {measured:.2}, law {law:.2}");
    }
}

/// Reno's timeouts cost it window; they must not gain it any.
#[test]
fn reno_suffers_most_from_frequent_losses() {
    assert!(mean_window(Reno, 0.01) < mean_window(NewReno, 0.01));
}

/// With an acknowledgement for two segments the window grows by half as much a round trip, and the law has b = 2: sqrt(3 / 2bp)
/// (Padhye, Firoiu, Towsley, Kurose 1998). Byte counting (RFC 3465) makes b = 1 of it again.
#[test]
fn byte_counting_makes_up_for_delayed_acknowledgements() {
    let p: f64 = 0.003;
    for (byte_counting, b) in [(false, 2.0), (true, 1.0)] {
        let tcp = Tcp { delayed_ack: Some(ms(40)), byte_counting, ..Tcp::ns2_1999(Sack, 10_000) };
        let (measured, law) = (mean_window_of(tcp, p), (1.5 / (b * p)).sqrt());
        assert!((measured / law - 1.0).abs() < 0.1, "{byte_counting}: {measured:.2}, law {law:.2}");
    }
}
