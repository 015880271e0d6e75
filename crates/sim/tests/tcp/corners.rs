//! Rules that matter only for combinations of losses: ignored duplicates, the scoreboard after a timeout, limited
//! transmit. The round-trip time is 100 ms, the initial timeout 6 s.

use fairlane_scenario::Congestion::{NewReno, Reno, Sack, Tahoe};
use fairlane_scenario::{Congestion, SlowStart};

use super::era;
use super::path::{Passage, Path, expect, ms};

fn limited(congestion: Congestion, initial: u32, lost: &[(u32, u32)], to: u64) -> String {
    let mut tcp = era(congestion, initial);
    tcp.limited_transmit = true;
    Path::new(&tcp, ms(100)).losing(lost).trace(to)
}

fn plain(congestion: Congestion, initial: u32, lost: &[(u32, u32)], to: u64) -> String {
    Path::new(&era(congestion, initial), ms(100)).losing(lost).trace(to)
}

/// Would catch a fast retransmit at 400 ms, caused by three duplicates of segments 11 to 13, which were resent
/// unnecessarily.
#[test]
fn tahoe_ignores_duplicates_of_its_retransmissions() {
    expect(
        &plain(Tahoe, 20, &[(0, 0), (1, 0), (2, 0), (10, 0)], 500),
        &[
            "0 new 0-19 20.00 300.00",
            "100 again 0 1.00 10.00",
            "200 again 1-2 2.00 10.00",
            "300 again 3-4 3.00 10.00",
            "300 again 10-13 4.00 10.00",
            "400 new 20-24 5.00 10.00",
            "500 new 25-34 10.00 10.00",
        ],
    );
}

/// RFC 6582, section 3.2, step 1: the eight duplicates of 20 acknowledge no more than the segments outstanding at the
/// last fast retransmit, 0 to 19. They may be caused by it, so the timer must detect the loss of 20.
#[test]
fn newreno_waits_until_more_than_recover_is_acknowledged() {
    expect(
        &plain(NewReno, 20, &[(0, 0), (20, 0)], 6_300),
        &[
            "0 new 0-19 20.00 300.00",
            "100 again 0 13.00 10.00",
            "100 new 20-28 29.00 10.00",
            "200 new 29 10.00 10.00",
            "6200 timeout 20 1.00 5.00",
            "6300 new 30-31 2.00 5.00",
        ],
    );
}

/// RFC 6675, section 5.1: recovery is possible once all segments outstanding at the timeout, segment 0, are
/// acknowledged. Limited transmit causes the three duplicates; after the retransmission one more segment may be in the
/// pipe.
#[test]
fn sack_recovers_at_once_after_a_timeout() {
    expect(
        &limited(Sack, 1, &[(0, 0), (1, 0)], 6_400),
        &[
            "0 new 0 1.00 300.00",
            "6000 timeout 0 1.00 2.00",
            "6100 new 1-2 2.00 2.00",
            "6200 new 3 2.00 2.00",
            "6300 new 4 2.00 2.00",
            "6400 again 1 2.00 2.00",
            "6400 new 5 2.00 2.00",
        ],
    );
}

/// The acknowledgements of 1 and 2 are lost, but that of 3 reports all three: IsLost() of RFC 6675 needs no count of
/// duplicates.
#[test]
fn sack_finds_a_loss_by_the_scoreboard_alone() {
    let trace = Path::new(&era(Sack, 4), ms(100))
        .losing(&[(0, 0)])
        .deciding_acks(|_, nth| if nth < 2 { Passage::Lost } else { Passage::Arrives })
        .trace(100);
    expect(&trace, &["0 new 0-3 4.00 300.00", "100 again 0 2.00 2.00", "100 new 4 2.00 2.00"]);
}

/// Segment 3 arrived before the timeout: 4 is sent instead.
#[test]
fn sack_skips_what_has_arrived_after_a_timeout() {
    expect(
        &plain(Sack, 4, &[(0, 0), (2, 0)], 6_200),
        &[
            "0 new 0-3 4.00 300.00",
            "6000 timeout 0 1.00 2.00",
            "6100 again 2 2.00 2.00",
            "6100 new 4 2.00 2.00",
            "6200 new 5-6 2.90 2.00",
        ],
    );
}

/// Segment 2 is lost again. Segments that arrive beyond it leave the pipe, so with a window of 2 one segment per round
/// trip is sent.
#[test]
fn sack_keeps_its_pipe_full_after_a_timeout() {
    expect(
        &plain(Sack, 4, &[(0, 0), (2, 0), (2, 1)], 6_300),
        &[
            "0 new 0-3 4.00 300.00",
            "6000 timeout 0 1.00 2.00",
            "6100 again 2 2.00 2.00",
            "6100 new 4 2.00 2.00",
            "6200 new 5 2.00 2.00",
            "6300 new 6 2.00 2.00",
        ],
    );
}

/// One rescue retransmission per recovery: the receiver's window of 10 prevents new data in the first, the end of the
/// data in the second.
#[test]
fn sack_rescues_in_every_recovery() {
    let mut tcp = era(Sack, 10);
    tcp.window = 10;
    let mut path = Path::new(&tcp, ms(100)).losing(&[(0, 0), (9, 0), (15, 0), (19, 0)]);
    path.start();
    path.run_to(350);
    path.sender.stop();
    path.run_to(10_000);
    expect(
        &path.table(),
        &[
            "0 new 0-9 10.00 10.00",
            "100 again 0 5.00 5.00",
            "100 again 9 5.00 5.00",
            "200 new 10-14 5.00 5.00",
            "300 new 15-19 5.93 5.00",
            "400 again 15 2.00 2.00",
            "500 again 19 2.00 2.00",
        ],
    );
    assert_eq!((path.sender.acknowledged(), path.sender.timeouts()), (20, 0));
}

/// RFC 3042 applies to new data: a duplicate allows no retransmission.
#[test]
fn limited_transmit_sends_nothing_old() {
    expect(
        &limited(Reno, 4, &[(0, 0), (1, 0), (2, 0), (3, 0), (1, 1)], 18_100),
        &["0 new 0-3 4.00 300.00", "6000 timeout 0 1.00 2.00", "6100 again 1-2 2.00 2.00", "18100 timeout 1 1.00 2.00"],
    );
}

/// In recovery each duplicate inflates the window by one, and limited transmit adds nothing: from 20 to 21 at 300 ms.
#[test]
fn limited_transmit_ends_where_recovery_begins() {
    let every_other: Vec<_> = (0..20).step_by(2).map(|seq| (seq, 0)).collect();
    expect(
        &limited(NewReno, 20, &every_other, 300),
        &[
            "0 new 0-19 20.00 300.00",
            "100 new 20-21 20.00 300.00",
            "100 again 0 13.00 10.00",
            "200 again 2 21.00 10.00",
            "200 new 22 21.00 10.00",
            "300 again 4 20.00 10.00",
            "300 new 23-24 21.00 10.00",
        ],
    );
}

/// RFC 9406, section 4.3: slow start after a timeout is the standard one, which adds one segment for an acknowledgement
/// of two, where HyStart++ would add two.
#[test]
fn hystart_is_for_the_first_slow_start() {
    let mut tcp = era(Reno, 20);
    (tcp.slow_start, tcp.delayed_ack) = (SlowStart::HyStartPlusPlus, Some(ms(40)));
    let first_flight: Vec<_> = (0..20).map(|seq| (seq, 0)).collect();
    expect(
        &Path::new(&tcp, ms(100)).losing(&first_flight).trace(6_240),
        &[
            "0 new 0-19 20.00 300.00",
            "6000 timeout 0 1.00 10.00",
            "6140 again 1-2 2.00 10.00",
            "6240 again 3-5 3.00 10.00",
        ],
    );
}
