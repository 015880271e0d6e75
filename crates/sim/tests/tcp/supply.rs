//! An application that provides limited data. The round-trip time is 100 ms.

use fairlane_scenario::Congestion::{NewReno, Reno, Sack, Tahoe};
use fairlane_scenario::Tcp;

use super::era;
use super::path::{Path, expect, ms};

/// Five segments are sent in rounds of 1, 2 and 2. When the application provides more, the window has grown to 6, and
/// all three are sent at once.
#[test]
fn sends_what_there_is_and_no_more() {
    let mut path = Path::new(&era(Reno, 1), ms(100));
    path.supply(5);
    path.run_to(1000);
    assert_eq!((path.sender.acknowledged(), path.sender.deadline(), path.next_time()), (5, None, None));
    // A lower number than before is ignored.
    path.supply(3);
    path.supply(8);
    path.run_to(2000);
    assert_eq!((path.sender.acknowledged(), path.next_time()), (8, None));
    expect(
        &path.table(),
        &["0 new 0 1.00 300.00", "100 new 1-2 2.00 300.00", "200 new 3-4 3.00 300.00", "1000 new 5-7 6.00 300.00"],
    );
}

/// Without data behind it the loss of the last segment causes no duplicates: the timer repairs it. Would catch a timer
/// that stays on afterwards.
#[test]
fn the_last_segment_may_be_lost() {
    for congestion in [Tahoe, Reno, NewReno, Sack] {
        let mut path = Path::new(&era(congestion, 1), ms(100)).losing(&[(4, 0)]);
        path.supply(5);
        path.run_to(20_000);
        assert_eq!((path.sender.acknowledged(), path.next_time()), (5, None), "{congestion:?}");
        assert_eq!((path.sender.timeouts(), path.sender.retransmissions()), (1, 1), "{congestion:?}");
    }
}

/// Would catch a short transfer that does not complete, sends too much or leaves a timer on, for any two losses.
#[test]
fn each_transfer_ends() {
    for congestion in [Tahoe, Reno, NewReno, Sack] {
        for tcp in [era(congestion, 4), Tcp::modern(congestion, 300)] {
            for size in [1, 2, 3, 10, 60] {
                for lost in 0..size {
                    let losses = [(lost, 0), (size - 1, 0), (size / 2, 0), (lost, 1)];
                    let mut path = Path::new(&tcp, ms(100)).losing(&losses);
                    path.supply(size);
                    path.run_to(300_000);
                    assert_eq!(path.next_time(), None, "{congestion:?}, {size} without {losses:?}");
                    assert!(path.complete() && path.segments() == size, "{congestion:?}, {size} without {losses:?}");
                    assert_eq!(path.sender.acknowledged(), size);
                }
            }
        }
    }
}
