//! Scripted losses. The round-trip time is 100 ms, and each segment is acknowledged.

use fairlane_scenario::Congestion::{NewReno, Reno, Sack, Tahoe};
use fairlane_scenario::{Congestion, Tcp};

use super::era;
use super::path::{Path, expect, ms};

fn trace(tcp: &Tcp, lost: &[(u32, u32)], to: u64) -> String {
    Path::new(tcp, ms(100)).losing(lost).trace(to)
}

fn first_flight(congestion: Congestion, initial: u32, lost: &[u32], to: u64) -> String {
    let lost: Vec<_> = lost.iter().map(|seq| (*seq, 0)).collect();
    trace(&era(congestion, initial), &lost, to)
}

/// At the third of 19 duplicates ssthresh is 20 / 2 and slow start begins at 1. Its acknowledgements take the window to
/// 2, 4, 8 and 10, where congestion avoidance adds 1/10, 1/10.1 …
#[test]
fn tahoe_restarts_from_one() {
    expect(
        &first_flight(Tahoe, 20, &[0], 500),
        &[
            "0 new 0-19 20.00 300.00",
            "100 again 0 1.00 10.00",
            "200 new 20-21 2.00 10.00",
            "300 new 22-25 4.00 10.00",
            "400 new 26-33 8.00 10.00",
            "500 new 34-43 10.59 10.00",
        ],
    );
}

/// At the third duplicate the window is 10 + 3. The 16 others inflate it to 29, 9 beyond the flight of 20. The new
/// acknowledgement deflates it to 10 with 9 in flight; then each acknowledgement allows one segment, and one more when
/// the window passes 11.
#[test]
fn reno_halves() {
    expect(
        &first_flight(Reno, 20, &[0], 300),
        &[
            "0 new 0-19 20.00 300.00",
            "100 again 0 13.00 10.00",
            "100 new 20-28 29.00 10.00",
            "200 new 29-38 10.87 10.00",
            "300 new 39-49 11.75 10.00",
        ],
    );
}

/// The 8 segments sent by inflation cause the three duplicates for the second loss. The window is halved, not the
/// larger flight of 18.
#[test]
fn reno_halves_twice_for_two_losses_in_a_large_window() {
    expect(
        &first_flight(Reno, 20, &[0, 10], 300),
        &[
            "0 new 0-19 20.00 300.00",
            "100 again 0 13.00 10.00",
            "100 new 20-27 28.00 10.00",
            "200 again 10 8.00 5.00",
            "300 new 28-32 5.00 5.00",
        ],
    );
}

/// With a window of 8 only 2 segments follow, which cause too few duplicates. The timer, restarted at 200, has its
/// initial 6 s. Half of the window of 4 is 2.
#[test]
fn reno_times_out_for_two_losses_in_a_small_window() {
    expect(
        &first_flight(Reno, 8, &[0, 3], 6300),
        &[
            "0 new 0-7 8.00 300.00",
            "100 again 0 7.00 4.00",
            "100 new 8-9 10.00 4.00",
            "6200 timeout 3 1.00 2.00",
            "6300 new 10-11 2.00 2.00",
        ],
    );
}

/// RFC 6582: one retransmission per round trip. Each partial acknowledgement covers 2 segments and so reduces the
/// window by 1, and with 18, then 17 … outstanding it allows one new segment, as does each duplicate. At 1100 all
/// segments outstanding at the start are acknowledged: the window is min(10, 9 + 1).
#[test]
fn newreno_repairs_half_a_window_without_a_timeout() {
    let every_other: Vec<u32> = (0..20).step_by(2).collect();
    expect(
        &first_flight(NewReno, 20, &every_other, 1100),
        &[
            "0 new 0-19 20.00 300.00",
            "100 again 0 13.00 10.00",
            "200 again 2 19.00 10.00",
            "200 new 20 19.00 10.00",
            "300 again 4 18.00 10.00",
            "300 new 21-22 19.00 10.00",
            "400 again 6 18.00 10.00",
            "400 new 23-25 20.00 10.00",
            "500 again 8 19.00 10.00",
            "500 new 26-29 22.00 10.00",
            "600 again 10 21.00 10.00",
            "600 new 30-34 25.00 10.00",
            "700 again 12 24.00 10.00",
            "700 new 35-40 29.00 10.00",
            "800 again 14 28.00 10.00",
            "800 new 41-47 34.00 10.00",
            "900 again 16 33.00 10.00",
            "900 new 48-55 40.00 10.00",
            "1000 again 18 39.00 10.00",
            "1000 new 56-64 47.00 10.00",
            "1100 new 65-74 10.87 10.00",
        ],
    );
}

/// The timer restarts at the first partial acknowledgement, at 200, and at no later one: it fires 450 ms later.
#[test]
fn newreno_is_impatient() {
    let mut tcp = era(NewReno, 20);
    tcp.initial_rto = ms(450);
    let every_other: Vec<_> = (0..20).step_by(2).map(|seq| (seq, 0)).collect();
    let trace = trace(&tcp, &every_other, 660);
    assert_eq!(trace.lines().last(), Some("650 timeout 10 1.00 5.00"));
    assert_eq!(trace.matches("timeout").count(), 1);
}

/// The third duplicate starts recovery with a window of 10. Segments leave the network one by one; with 9 left in it
/// the lost 4 is sent, then the lost 8, then new segments. At 200 the three holes are filled.
#[test]
fn sack_repairs_three_losses_in_one_round_trip() {
    expect(
        &first_flight(Sack, 20, &[0, 4, 8], 200),
        &[
            "0 new 0-19 20.00 300.00",
            "100 again 0 10.00 10.00",
            "100 again 4 10.00 10.00",
            "100 again 8 10.00 10.00",
            "100 new 20-26 10.00 10.00",
            "200 new 27-36 10.68 10.00",
        ],
    );
}

/// The ten losses that take NewReno eleven round trips. At the sixth duplicate 11 segments are in the pipe, and from
/// the seventh on lost segments are sent as others arrive; too few segments above 16 and 18 have arrived until 20 and
/// 21 arrive at 300.
#[test]
fn sack_repairs_half_a_window_in_three_round_trips() {
    let every_other: Vec<u32> = (0..20).step_by(2).collect();
    expect(
        &first_flight(Sack, 20, &every_other, 400),
        &[
            "0 new 0-19 20.00 300.00",
            "100 again 0 10.00 10.00",
            "100 again 2 10.00 10.00",
            "100 again 4 10.00 10.00",
            "100 again 6 10.00 10.00",
            "100 again 8 10.00 10.00",
            "100 again 10 10.00 10.00",
            "100 again 12 10.00 10.00",
            "100 again 14 10.00 10.00",
            "200 new 20-27 10.00 10.00",
            "300 again 16 10.00 10.00",
            "300 new 28 10.00 10.00",
            "300 again 18 10.00 10.00",
            "300 new 29-35 10.00 10.00",
            "400 new 36-45 10.68 10.00",
        ],
    );
}

/// RFC 6675, NextSeg rule 4: without new data the loss of the last segment cannot be detected. A rescue retransmission
/// avoids the timeout.
#[test]
fn sack_rescues_the_last_segment() {
    let mut path = Path::new(&era(Sack, 10), ms(100)).losing(&[(0, 0), (9, 0)]);
    path.start();
    path.sender.stop();
    path.run_to(10_000);
    expect(&path.table(), &["0 new 0-9 10.00 300.00", "100 again 0 5.00 5.00", "100 again 9 5.00 5.00"]);
    assert_eq!((path.sender.acknowledged(), path.sender.timeouts(), path.sender.deadline()), (10, 0, None));
}

/// NextSeg rule 3: segment 8 has no three arrived segments above it and does not count as lost, but nothing else can be
/// sent. The rescue retransmission of 9, which had not been lost, was unnecessary.
#[test]
fn sack_fills_a_hole_that_is_not_lost() {
    let mut path = Path::new(&era(Sack, 10), ms(100)).losing(&[(0, 0), (8, 0)]);
    path.start();
    path.sender.stop();
    path.run_to(10_000);
    expect(
        &path.table(),
        &["0 new 0-9 10.00 300.00", "100 again 0 5.00 5.00", "100 again 9 5.00 5.00", "100 again 8 5.00 5.00"],
    );
    assert_eq!((path.sender.acknowledged(), path.sender.timeouts()), (10, 0));
}

/// Only the timer detects the loss of a retransmission. New data continues, 9 segments per round trip. The fast
/// retransmit at 100 restarted the timer. After the timeout, segments that have arrived are not sent again.
#[test]
fn sack_times_out_for_a_lost_retransmission() {
    let mut tcp = era(Sack, 20);
    tcp.initial_rto = ms(350);
    expect(
        &trace(&tcp, &[(0, 0), (0, 1)], 550),
        &[
            "0 new 0-19 20.00 300.00",
            "100 again 0 10.00 10.00",
            "100 new 20-28 10.00 10.00",
            "200 new 29-37 10.00 10.00",
            "300 new 38-46 10.00 10.00",
            "400 new 47-55 10.00 10.00",
            "450 timeout 0 1.00 5.00",
            "550 new 56-57 2.00 5.00",
        ],
    );
}
