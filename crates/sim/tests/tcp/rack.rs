//! RACK-TLP (RFC 8985) with proportional rate reduction (RFC 9937). The round-trip time is 100 ms, and each segment is
//! acknowledged.

use fairlane_scenario::Congestion::Sack;
use fairlane_scenario::{LossRecovery, Tcp};

use super::era;
use super::path::{Passage, Path, expect, ms};

fn rack(initial: u32) -> Tcp {
    Tcp { recovery: LossRecovery::Rack, ..era(Sack, initial) }
}

/// Two segments have left the network before the third acknowledgement, so two new ones follow. Then 0 is lost, and of
/// the flight of 20 a segment is sent for every second one that arrives: 0 for the first, 4 for the third after it, 8
/// for the fifth, 22 to 26 for the others up to the fifteenth. The window is the flight and what may be sent: 18 + 1,
/// 16 + 1, 14 + 1 and at last 9 + 1. At 200 every arrival allows one; recovery ends when 21 is acknowledged, and five
/// acknowledgements grow the window by its inverse.
#[test]
fn repairs_three_losses_at_an_even_rate() {
    expect(
        &Path::new(&rack(20), ms(100)).losing(&[(0, 0), (4, 0), (8, 0)]).trace(200),
        &[
            "0 new 0-19 20.00 300.00",
            "100 new 20-21 20.00 300.00",
            "100 again 0 19.00 10.00",
            "100 again 4 17.00 10.00",
            "100 again 8 15.00 10.00",
            "100 new 22-26 10.00 10.00",
            "200 new 27-36 10.49 10.00",
        ],
    );
}

/// The eighth segment for sixteen that arrive is 28, when the flight is 11. At 200 segment 22, which was sent after the
/// second copy of 0, arrives, and that copy has not: it is lost, and a third one follows at once, without another
/// reduction of the window. With RFC 6675 this loss waits for the timeout.
#[test]
fn repairs_a_lost_retransmission_within_a_round_trip() {
    let lost = [(0, 0), (0, 1)];
    let path = Path::new(&rack(20), ms(100)).losing(&lost);
    expect(
        &path.trace(200),
        &[
            "0 new 0-19 20.00 300.00",
            "100 new 20-21 20.00 300.00",
            "100 again 0 19.00 10.00",
            "100 new 22-28 12.00 10.00",
            "200 new 29-30 10.00 10.00",
            "200 again 0 10.00 10.00",
            "200 new 31-37 10.00 10.00",
        ],
    );
    for (tcp, timeouts) in [(rack(20), 0), (era(Sack, 20), 1)] {
        let mut path = Path::new(&tcp, ms(100)).losing(&lost);
        path.start();
        path.run_to(10_000);
        assert_eq!(path.sender.timeouts(), timeouts);
    }
}

/// Only the last of ten segments is outstanding at 100, so its probe is due after two round trips and the 200 ms that a
/// receiver may wait (RFC 8985, section 7.2), but not after the retransmission timer, which has three ticks: at 400. It
/// takes the place of a timeout.
#[test]
fn a_probe_repairs_a_lost_tail() {
    let mut path = Path::new(&rack(20), ms(100)).losing(&[(9, 0)]);
    path.supply(10);
    path.run_to(700);
    expect(&path.table(), &["0 new 0-9 20.00 300.00", "400 timeout 9 29.00 300.00"]);
    assert_eq!((path.sender.acknowledged(), path.sender.timeouts()), (10, 0));
    // The probe repaired a loss, which shows when more is acknowledged: the window is reduced (section 7.4.2).
    path.supply(12);
    path.run_to(900);
    assert_eq!(path.sender.ssthresh(), 2.0);
}

/// Two are outstanding at 100: the probe of the last one is due at 300, and its arrival at 400 shows that the other
/// one, sent at 0, is lost.
#[test]
fn a_probe_shows_the_losses_before_it() {
    let mut path = Path::new(&rack(20), ms(100)).losing(&[(8, 0), (9, 0)]);
    path.supply(10);
    path.run_to(600);
    expect(&path.table(), &["0 new 0-9 20.00 300.00", "300 timeout 9 28.00 300.00", "400 again 8 1.00 2.00"]);
    assert_eq!((path.sender.acknowledged(), path.sender.timeouts()), (10, 0));
}

/// A probe that was not needed: the acknowledgement was late, not the data. Both copies arrive, and the window stays.
#[test]
fn a_probe_that_was_not_needed_costs_nothing() {
    let late = |next, _| if next == 10 { Passage::Late(ms(450)) } else { Passage::Arrives };
    let mut path = Path::new(&rack(20), ms(100)).deciding_acks(late);
    path.supply(10);
    path.run_to(1_500);
    path.supply(12);
    path.run_to(2_500);
    assert_eq!((path.sender.retransmissions(), path.sender.acknowledged()), (1, 12));
    assert_eq!((path.sender.ssthresh(), path.sender.timeouts()), (300.0, 0));
}

/// The first of three segments is 10 ms late, which two others overtake: within the reordering window of 25 ms. So it
/// is known that segments overtake each other, and ten of them overtake a later one without a retransmission. One that
/// is 40 ms late is sent again, once.
#[test]
fn waits_for_segments_that_are_overtaken() {
    let run = |late: u64| {
        let decide = move |seq, copy| match (seq, copy) {
            (0, 0) => Passage::Late(ms(10)),
            (60, 0) => Passage::Late(ms(late)),
            _ => Passage::Arrives,
        };
        let mut path = Path::new(&rack(3), ms(100)).deciding(decide);
        path.start();
        path.run_to(2_000);
        assert!(path.segments() > 200, "{}", path.table());
        (path.sender.retransmissions(), path.sender.timeouts())
    };
    assert_eq!(run(10), (0, 0));
    assert_eq!(run(24), (0, 0));
    assert_eq!(run(40), (1, 0));
}

/// Of twenty segments the last five arrive; the first needs four copies. Would catch one that is sent again although it
/// has arrived: 14 need one retransmission, and the first three.
#[test]
fn nothing_that_has_arrived_is_sent_again() {
    let mut path = Path::new(&rack(20), ms(100)).deciding(|seq, copy| {
        if (seq == 0 && copy < 3) || (seq < 15 && copy == 0) { Passage::Lost } else { Passage::Arrives }
    });
    path.supply(20);
    path.run_to(60_000);
    assert_eq!((path.sender.acknowledged(), path.complete()), (20, true));
    assert_eq!(path.sender.retransmissions(), 14 + 3, "{}", path.table());
}
