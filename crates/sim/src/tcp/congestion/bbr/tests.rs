//! BBR by hand.

use super::super::reduced;
use super::*;

/// Would catch a first phase of ProbeBW that sends slowly, or a phase that never comes first.
#[test]
fn begins_to_probe_in_any_phase_but_one() {
    let first = |phase| {
        let mut bbr = Bbr::new(10, phase);
        bbr.enter_probe_bw(Time::ZERO);
        bbr.pacing_gain()
    };
    let gains: Vec<f64> = (0..7).map(first).collect();
    assert_eq!(gains, [1.25, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]);
}

/// Returns the state in ProbeBW with a bandwidth in segments per second and a round-trip time of 40 ms.
fn probing(bandwidth: f64, phase: usize) -> Bbr {
    let mut bbr = Bbr::new(10, 0);
    bbr.bandwidth.update(0, BANDWIDTH_ROUNDS, bandwidth);
    bbr.rtprop = Some((Duration::from_millis(40), Time::ZERO));
    bbr.filled_pipe = true;
    bbr.state = BbrState::ProbeBw(phase, Time::ZERO);
    bbr.set_pacing_rate(1.0);
    bbr
}

/// Section 4.2.2: below 1.2 Mbit/s a quantum is one segment, up to 24 Mbit/s two, then a millisecond, and at most
/// 64 kB. By hand, twice the bandwidth-delay product and three quanta: 2 · 50 · 0.04 and 3 · 1 are 7, rounded up 8;
/// 2 · 1000 · 0.04 and 3 · 2 are 86; 2 · 15,000 · 0.04 and 3 · 14 are 1242, since 0.99 · 15 has 14 whole segments;
/// 2 · 100,000 · 0.04 and 3 · 43 are 8129, rounded up 8130. The phase with gain 1.25 has two more.
#[test]
fn has_room_for_three_quanta() {
    for (bandwidth, flight) in [(50.0, 8.0), (1_000.0, 86.0), (15_000.0, 1_242.0), (100_000.0, 8_130.0)] {
        assert_eq!(probing(bandwidth, 1).inflight(2.0, 0.0), flight, "{bandwidth}");
        assert_eq!(probing(bandwidth, 0).inflight(2.0, 0.0), flight + 2.0, "{bandwidth}");
    }
}

/// 1000 segments per second are 100 in 100 ms. Before the pipe is full there is no room for more. Would catch a
/// window that follows a bunch of any size.
#[test]
fn has_room_for_aggregation_of_100_ms() {
    let extra = |acked: f64, filled_pipe| {
        let mut bbr = Bbr { filled_pipe, ..probing(1_000.0, 1) };
        bbr.aggregation.update(Time::ZERO, acked, 1_000.0, 500.0, 0, true);
        bbr.extra()
    };
    assert_eq!((extra(60.0, true), extra(160.0, true), extra(60.0, false)), (60.0, 100.0, 0.0));
}

/// By hand: 1 % below 1.25 times 1000 segments per second are 1237.5.
#[test]
fn paces_below_the_bandwidth() {
    let mut bbr = probing(1_000.0, 0);
    bbr.set_pacing_rate(bbr.pacing_gain());
    assert!((bbr.pacing_rate - 1_237.5).abs() < 1e-9, "{}", bbr.pacing_rate);
}

/// Section 4.4.4: of a window of 80, 5 lost segments leave 75. In the first round of recovery the window is at least
/// the flight and the segments just delivered, 70 + 2 or 74 + 2; later it grows by these, 75 + 2.
#[test]
fn subtracts_losses() {
    let window = |repair, in_flight| {
        let mut bbr = Bbr { repair, ..probing(1_000.0, 1) };
        (0..7).for_each(|seq| bbr.on_send(Time::ZERO, seq, seq == 0, seq + 1));
        (2..7).for_each(|seq| bbr.on_lost(Time::ZERO, seq));
        let sample = bbr.delivery.acknowledged(Time::ZERO, 2).expect("two segments have arrived");
        let mut size = WindowSize { cwnd: 80.0, ssthresh: 80.0 };
        bbr.set_cwnd(&mut size, &sample, LossState { in_flight, recovering: true });
        size.cwnd
    };
    let conserves = RepairState::Conserves(0);
    assert_eq!((window(conserves, 70), window(conserves, 74), window(RepairState::Continues, 70)), (75.0, 76.0, 77.0));
}

/// A timeout leaves one segment of a window of 80. In Linux it is 80 again with the acknowledgement that shows that
/// nothing was lost, long before those of all segments sent until the timeout.
#[test]
fn a_needless_timeout_returns_the_window() {
    let mut bbr = probing(1_000.0, 1);
    reduced(&mut bbr, 80.0, CongestionSignal::Timeout);
    let mut size = WindowSize { cwnd: 1.0, ssthresh: 80.0 };
    let ack = AckSample { una: 1, max: 100, ..AckSample::default() };
    let calm = LossState { in_flight: 0, recovering: false };
    bbr.follow_repair(&mut size, &ack, calm);
    assert_eq!(size.cwnd, 1.0);
    bbr.on_undo();
    bbr.follow_repair(&mut size, &ack, calm);
    assert_eq!(size.cwnd, 80.0);
}
