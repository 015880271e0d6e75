//! Timeouts, Karn's algorithm, windows too small for duplicates, and delayed acknowledgements. The round-trip time is
//! 100 ms.

use fairlane_qdisc::Time;
use fairlane_scenario::Congestion::{NewReno, Reno, Sack, Tahoe};
use fairlane_scenario::Tcp;

use super::era;
use super::path::{Passage, Path, expect, ms};

/// RFC 6298, section 5.5: 1, 2, 4 … 64 s and no more.
#[test]
fn backs_off_to_64_times() {
    let mut tcp = era(Reno, 1);
    (tcp.initial_rto, tcp.max_rto) = (ms(1_000), ms(1_000_000));
    let dead = Path::new(&tcp, ms(100)).deciding(|_, _| Passage::Lost).trace(200_000);
    expect(
        &dead,
        &[
            "0 new 0 1.00 300.00",
            "1000 timeout 0 1.00 2.00",
            "3000 timeout 0 1.00 2.00",
            "7000 timeout 0 1.00 2.00",
            "15000 timeout 0 1.00 2.00",
            "31000 timeout 0 1.00 2.00",
            "63000 timeout 0 1.00 2.00",
            "127000 timeout 0 1.00 2.00",
            "191000 timeout 0 1.00 2.00",
        ],
    );
}

/// With a maximum of 20 s: 1, 2, 4, 8, 16, 20, 20 s.
#[test]
fn backs_off_to_the_largest_timeout() {
    let mut tcp = era(Reno, 1);
    (tcp.initial_rto, tcp.max_rto) = (ms(1_000), ms(20_000));
    let dead = Path::new(&tcp, ms(100)).deciding(|_, _| Passage::Lost).trace(80_000);
    let times: Vec<&str> = dead.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(times, ["0", "1000", "3000", "7000", "15000", "31000", "51000", "71000"]);
}

/// Karn's algorithm: the acknowledgement at 6100 may be for either copy of segment 0, so the backed-off timeout of 12 s
/// stays. Segment 1, measured from 6100 to 6200, took 1 tick: 1 + 4 * 1/2 ticks.
#[test]
fn keeps_the_backoff_until_a_segment_sent_once_is_timed() {
    let mut path = Path::new(&era(Reno, 1), ms(100)).losing(&[(0, 0)]);
    path.start();
    path.run_to(6_150);
    assert_eq!(path.sender.rto(), ms(12_000));
    assert_eq!(path.sender.deadline(), Some(Time::ZERO + ms(18_100)));
    assert_eq!(path.sender.srtt(), None);
    path.run_to(6_200);
    assert_eq!((path.sender.rto(), path.sender.srtt()), (ms(300), Some(ms(100))));
}

/// A timestamp distinguishes the copies (RFC 7323): 100 + 4 * 50 ms at once.
#[test]
fn ends_the_backoff_at_once_with_timestamps() {
    let mut tcp = era(Reno, 1);
    tcp.timestamps = true;
    let mut path = Path::new(&tcp, ms(100)).losing(&[(0, 0)]);
    path.start();
    path.run_to(6_100);
    assert_eq!((path.sender.rto(), path.sender.srtt()), (ms(300), Some(ms(100))));
}

/// RFC 5681, section 3.2: two duplicates do not indicate a loss, three do.
#[test]
fn waits_for_the_timer_with_fewer_than_four_in_flight() {
    for congestion in [Tahoe, Reno, NewReno, Sack] {
        let trace = Path::new(&era(congestion, 3), ms(100)).losing(&[(0, 0)]).trace(6_100);
        expect(&trace, &["0 new 0-2 3.00 300.00", "6000 timeout 0 1.00 2.00", "6100 new 3-4 2.00 2.00"]);
        let four = Path::new(&era(congestion, 4), ms(100)).losing(&[(0, 0)]).trace(100);
        assert!(four.contains("100 again 0 "), "{congestion:?} does not take three duplicates:\n{four}");
    }
}

/// RFC 3042: two duplicates allow two new segments, whose duplicates avoid the timeout. These do not count as flight:
/// ssthresh is half of the window of 3, but at least 2.
#[test]
fn limited_transmit_saves_the_timeout() {
    let mut tcp = era(Reno, 3);
    tcp.limited_transmit = true;
    let trace = Path::new(&tcp, ms(100)).losing(&[(0, 0)]).trace(300);
    expect(
        &trace,
        &[
            "0 new 0-2 3.00 300.00",
            "100 new 3-4 3.00 300.00",
            "200 again 0 5.00 2.00",
            "200 new 5 6.00 2.00",
            "300 new 6-7 2.50 2.00",
        ],
    );
}

/// Go-back-N: slow start from 1 over all four segments and on to new data. 2 + 1/2, + 1/2.5, + 1/2.9, + 1/3.24.
#[test]
fn goes_back_to_the_first_loss() {
    for congestion in [Tahoe, Reno, NewReno, Sack] {
        let trace = Path::new(&era(congestion, 4), ms(100)).losing(&[(0, 0), (1, 0), (2, 0), (3, 0)]).trace(6_300);
        expect(
            &trace,
            &[
                "0 new 0-3 4.00 300.00",
                "6000 timeout 0 1.00 2.00",
                "6100 again 1-2 2.00 2.00",
                "6200 again 3 2.50 2.00",
                "6200 new 4 2.90 2.00",
                "6300 new 5-7 3.55 2.00",
            ],
        );
    }
}

/// Would catch a second fast retransmit at 500, caused by nine duplicates of segments sent before the timeout at 450.
/// The window, without inflation, was 10: half is 5.
#[test]
fn duplicates_from_before_a_timeout_are_no_loss() {
    let mut tcp = era(Reno, 20);
    tcp.initial_rto = ms(350);
    let trace = Path::new(&tcp, ms(100)).losing(&[(0, 0), (0, 1)]).trace(550);
    expect(
        &trace,
        &[
            "0 new 0-19 20.00 300.00",
            "100 again 0 13.00 10.00",
            "100 new 20-28 29.00 10.00",
            "200 new 29-37 38.00 10.00",
            "300 new 38-46 47.00 10.00",
            "400 new 47-55 56.00 10.00",
            "450 timeout 0 1.00 5.00",
            "550 new 56-57 2.00 5.00",
        ],
    );
}

/// The second segment is acknowledged at once, together with the first, and the third after 40 ms.
#[test]
fn delayed_acknowledgements_come_in_time() {
    let mut tcp = Tcp::modern(NewReno, 300);
    tcp.initial_window = 3;
    let trace = Path::new(&tcp, ms(100)).trace(140);
    expect(&trace, &["0 new 0-2 3.00 300.00", "100 new 3-6 5.00 300.00", "140 new 7-8 6.00 300.00"]);
}

/// Of four acknowledgements the first and the third are lost: the others cover their segments, but the window grows by
/// two only.
#[test]
fn acknowledgements_may_be_lost() {
    let trace = Path::new(&era(Reno, 4), ms(100))
        .deciding_acks(|_, nth| if [0, 2].contains(&nth) { Passage::Lost } else { Passage::Arrives })
        .trace(100);
    expect(&trace, &["0 new 0-3 4.00 300.00", "100 new 4-9 6.00 300.00"]);
}
