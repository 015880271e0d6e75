//! Numbers worked out by hand from the pseudocode of draft-ietf-ccwg-bbr.

use super::super::reduced;
use super::*;

fn ms(millis: u64) -> Time {
    Time::ZERO + Duration::from_millis(millis)
}

fn near(value: f64, expected: f64) {
    assert!((value - expected).abs() < 1e-9, "{value}, not {expected}");
}

/// A flow in `state` on a path of 1000 segments a second and 100 ms, whose product is 100 segments, with a window
/// of 150.
fn flow(state: State) -> Bbr3 {
    let mut bbr = Bbr3::new(10, 1);
    (bbr.state, bbr.bandwidth, bbr.cwnd) = (state, 1000.0, 150.0);
    bbr.max_bandwidth.update(0, BANDWIDTH_CYCLES, 1000.0);
    bbr.round_trip.update(ms(1), Some(Duration::from_millis(100)));
    bbr.full.fill();
    bbr
}

/// An acknowledgement of a segment with a round trip of 100 ms.
fn delivery(at: u64, in_flight: u32, rate: f64) -> Delivery {
    let sample = RateSample {
        newly: 1,
        newly_lost: 0,
        prior_delivered: u32::MAX,
        delivered: 80,
        flight: FlightSample { in_flight, ..FlightSample::default() },
        rate: Some(rate),
        interval: Duration::from_millis(100),
        rtt: Some(Duration::from_millis(100)),
    };
    Delivery { now: ms(at), in_flight: f64::from(in_flight), sample, rate }
}

/// The table of section 5.6.1, with a margin of 1 % (section 5.6.2), and the floor of four segments. Would catch a
/// wrong gain, and a bound that holds in a state where it does not.
#[test]
fn each_state_has_its_rate_and_window() {
    let of = |state, longterm, shortterm| {
        let mut bbr = flow(state);
        (bbr.inflight_longterm, bbr.inflight_shortterm) = (longterm, shortterm);
        bbr.set_pacing_rate(state.pacing_gain());
        let mut size = WindowSize { cwnd: 400.0, ssthresh: 1e6 };
        bbr.set_cwnd(&mut size, 1.0);
        (bbr.pacing_rate, size.cwnd)
    };
    let infinite = f64::INFINITY;
    for (state, rate, window) in [
        (State::Drain(0), 495.0, 200.0),
        (State::Down, 891.0, 200.0),
        (State::Cruise, 990.0, 200.0),
        (State::Refill, 990.0, 200.0),
        // Two segments more while it probes.
        (State::Up, 1237.5, 227.0),
        (State::ProbeRtt, 990.0, 50.0),
    ] {
        let (paced, cwnd) = of(state, infinite, infinite);
        near(paced, rate);
        near(cwnd, window);
    }
    for (state, window) in [(State::Down, 120.0), (State::Refill, 120.0), (State::Up, 120.0), (State::Cruise, 102.0)] {
        near(of(state, 120.0, infinite).1, window);
    }
    near(of(State::Drain(0), 120.0, infinite).1, 200.0);
    near(of(State::Cruise, 120.0, 90.0).1, 90.0);
    near(of(State::Cruise, 120.0, 1.0).1, 4.0);
}

/// Section 5.3.1.2: the rate grows by 25 % to 125 and to 157, and in three rounds not beyond 196. Would catch a round
/// that counts although the application limited it, or one that is no round.
#[test]
fn the_pipe_is_full_after_three_rounds_without_growth() {
    let mut full = FullPipe::default();
    let rounds = [100.0, 125.0, 157.0, 160.0, 190.0, 196.0];
    for (index, rate) in rounds.into_iter().enumerate() {
        full.check(false, &delivery(1, 10, 0.0));
        let mut limited = delivery(1, 10, 0.0);
        limited.sample.flight.limited = true;
        full.check(true, &limited);
        assert!(!full.reached, "{index}");
        full.check(true, &delivery(1, 10, rate));
    }
    assert!(full.reached && full.now);
    full.restart(196.0);
    assert!(full.reached && !full.now);
}

/// Section 5.5.10.2: one loss of a flight of 98 and two of one of 100 are not more than 2 %, and three of one of 97
/// are: 96 were in flight before it, of which 2 were lost, so the losses crossed 2 % at 96 + (1.92 - 2) / 0.98. The
/// product, 100, times 0.7 is less. Would catch losses that count while it does not probe, and a second reaction to one
/// probe.
#[test]
fn losses_of_a_probe_set_the_longterm_bound() {
    let mut bbr = flow(State::Up);
    for seq in 0..100 {
        bbr.on_send(ms(2), seq, seq == 0, seq + 1);
    }
    let mut calm = bbr.clone();
    bbr.cycle.is_sample = true;
    for seq in [97, 99] {
        bbr.lost(ms(103), seq);
        assert_eq!((bbr.state, bbr.inflight_longterm), (State::Up, f64::INFINITY));
    }
    bbr.lost(ms(103), 96);
    near(bbr.inflight_longterm, 96.0 - 0.08 / 0.98);
    assert!(bbr.state == State::Down && bbr.cycle.too_high && !bbr.cycle.is_sample);
    bbr.lost(ms(104), 0);
    near(bbr.inflight_longterm, 96.0 - 0.08 / 0.98);
    (10..60).for_each(|seq| calm.lost(ms(103), seq));
    assert_eq!((calm.state, calm.inflight_longterm), (State::Up, f64::INFINITY));
    // Of a flight of 20, it is the first: before it 19, which is less than 0.7 times the product.
    let mut small = flow(State::Refill);
    small.cycle.is_sample = true;
    (0..20).for_each(|seq| small.on_send(ms(2), seq, seq == 0, seq + 1));
    small.lost(ms(103), 19);
    near(small.inflight_longterm, 70.0);
}

/// Section 5.5.10.3: a round with losses in CRUISE, in which 80 segments were delivered at 600 a second, lowers the
/// rate to 0.7 times 1000 and the flight to 0.7 times the window of 150; the next one, with 760 a second, leaves 760.
/// In REFILL nothing is lowered, and its start removes the bounds. Would catch a reduction beyond 0.7, one below what
/// is delivered, and two in a round.
#[test]
fn rounds_with_losses_lower_the_shortterm_bounds() {
    let mut bbr = flow(State::Cruise);
    bbr.note_loss();
    bbr.update_signals(&delivery(200, 100, 600.0));
    near(bbr.bandwidth_shortterm, 700.0);
    near(bbr.inflight_shortterm, 105.0);
    bbr.signals.advance(&delivery(200, 100, 600.0));
    bbr.update_signals(&delivery(210, 100, 600.0));
    near(bbr.bandwidth_shortterm, 700.0);
    bbr.note_loss();
    bbr.update_signals(&delivery(300, 100, 760.0));
    near(bbr.bandwidth_shortterm, 760.0);
    near(bbr.inflight_shortterm, 80.0);
    bbr.state = State::Refill;
    bbr.note_loss();
    bbr.update_signals(&delivery(400, 100, 100.0));
    near(bbr.bandwidth_shortterm, 760.0);
    bbr.reset_shortterm();
    assert_eq!(bbr.bandwidth_shortterm, f64::INFINITY);
}

/// Section 5.3.3.8: the next probe follows after as many rounds as the product has segments, at most 63, or after two
/// to three seconds, drawn for each cycle. Would catch a wait that is always the same.
#[test]
fn waits_for_rounds_or_seconds_between_probes() {
    let mut waits = Vec::new();
    for phase in 0..20 {
        let mut bbr = flow(State::Up);
        bbr.random = Seed::new(phase).stream("bbr3");
        bbr.now = ms(1000);
        bbr.start_down();
        assert!(bbr.cycle.rounds_since_up <= 1 && !bbr.is_time_to_probe(ms(3000)));
        assert!(bbr.is_time_to_probe(ms(4001)));
        waits.push((1..1000).find(|wait| bbr.is_time_to_probe(ms(3000 + wait))));
        bbr.cycle.rounds_since_up = 62;
        assert!(!bbr.is_time_to_probe(ms(1001)));
        bbr.cycle.rounds_since_up = 63;
        assert!(bbr.is_time_to_probe(ms(1001)));
        (bbr.bandwidth, bbr.cycle.rounds_since_up) = (200.0, 19);
        assert!(!bbr.is_time_to_probe(ms(1001)));
        bbr.cycle.rounds_since_up = 20;
        assert!(bbr.is_time_to_probe(ms(1001)));
    }
    waits.sort();
    waits.dedup();
    assert!(waits.len() > 15, "{waits:?}");
}

/// Section 5.3.3.5, with a bound of 100 that the window of 100 fills: in successive rounds of UP the bound grows by a
/// segment for each 100, 50 and 25 segments acknowledged: 1, 2 and 4 a round. Would catch growth while the window does
/// not limit the flight.
#[test]
fn the_longterm_bound_grows_faster_each_round() {
    let mut bbr = flow(State::Refill);
    (bbr.cwnd, bbr.inflight_longterm) = (100.0, 100.0);
    bbr.start_up(1000.0);
    let acknowledge = |bbr: &mut Bbr3, starts: bool| {
        bbr.rounds.starts = starts;
        bbr.cwnd = bbr.inflight_longterm;
        bbr.adapt_longterm(&delivery(100, 100, 1000.0));
        bbr.inflight_longterm
    };
    for _ in 0..200 {
        near(acknowledge(&mut bbr, false), 100.0);
    }
    bbr.rounds.note_flight(100, 100.0);
    (0..99).for_each(|_| near(acknowledge(&mut bbr, false), 100.0));
    near(acknowledge(&mut bbr, true), 101.0);
    // Half of the window of 100.
    (0..49).for_each(|_| near(acknowledge(&mut bbr, false), 101.0));
    near(acknowledge(&mut bbr, false), 102.0);
}

/// Section 5.3.3.6: after a probe that lost too much, the next one ends as soon as the flight reaches the bound, and if
/// that is safe another one follows at once. Would catch a flow that holds a buffer full for a round although it has
/// just overflowed.
#[test]
fn a_probe_after_a_lossy_one_is_careful() {
    let mut bbr = flow(State::Up);
    (bbr.cycle.too_high, bbr.inflight_longterm, bbr.full.now) = (true, 120.0, false);
    bbr.update_cycle(&delivery(200, 119, 1000.0));
    assert_eq!(bbr.state, State::Up);
    bbr.update_cycle(&delivery(210, 120, 1000.0));
    assert!(bbr.state == State::Down && !bbr.cycle.too_high);
    bbr.rounds.starts = true;
    bbr.update_cycle(&delivery(310, 120, 1000.0));
    assert_eq!(bbr.state, State::Refill);
    // A round later it probes, and the bound does not stop it.
    bbr.update_cycle(&delivery(410, 120, 1000.0));
    bbr.rounds.starts = false;
    bbr.update_cycle(&delivery(420, 130, 1000.0));
    assert_eq!(bbr.state, State::Up);
}

/// Section 5.3.3.1: DOWN lasts until 15 % of the bound are free and the flight is the product at most. Section 5.3.2:
/// so does Drain, or three rounds.
#[test]
fn down_and_drain_empty_the_queue() {
    let mut bbr = flow(State::Down);
    bbr.cycle.wait = Duration::from_secs(3.0);
    for (longterm, in_flight, state) in
        [(200.0, 101, State::Down), (110.0, 94, State::Down), (110.0, 93, State::Cruise), (200.0, 100, State::Cruise)]
    {
        (bbr.state, bbr.inflight_longterm) = (State::Down, longterm);
        bbr.update_cycle(&delivery(200, in_flight, 1000.0));
        assert_eq!(bbr.state, state, "{longterm} {in_flight}");
    }
    for (in_flight, rounds, ends) in [(101, 10, false), (100, 10, true), (101, 13, false), (101, 14, true)] {
        let mut bbr = flow(State::Drain(10));
        bbr.rounds.count = rounds;
        bbr.check_drain_done(&delivery(200, in_flight, 1000.0));
        assert_eq!(bbr.state == State::Down, ends, "{in_flight} {rounds}");
    }
}

/// Section 5.3.1.3: six ranges are lost in a round of fast recovery, and more than 2 % of it. Would catch Startup that
/// ends at a single burst, before a round of recovery, or at few losses; and the bound: the product or, if that is
/// more, what was delivered.
#[test]
fn losses_in_six_places_end_startup() {
    let run = |losses: &[u32], in_flight: u32, repair| {
        let mut bbr = flow(State::Startup);
        (bbr.full, bbr.repair) = (FullPipe::default(), repair);
        (0..100).for_each(|seq| bbr.on_send(ms(2), seq, seq == 0, seq + 1));
        losses.iter().for_each(|seq| bbr.lost(ms(103), *seq));
        (bbr.signals.round_starts, bbr.signals.inflight) = (true, 130.0);
        let mut delivery = delivery(203, in_flight, 1000.0);
        delivery.sample.flight.lost = losses.len() as u32;
        bbr.check_startup_done(&delivery);
        (matches!(bbr.state, State::Drain(_)), bbr.inflight_longterm)
    };
    let places = [1, 3, 5, 7, 9, 11];
    assert_eq!(run(&places, 100, Repair::Fast), (true, 130.0));
    assert_eq!(run(&[1, 2, 3, 4, 5, 6], 100, Repair::Fast), (false, f64::INFINITY));
    assert_eq!(run(&places, 300, Repair::Fast), (false, f64::INFINITY));
    assert_eq!(run(&places, 100, Repair::None), (false, f64::INFINITY));
}

/// Section 5.3.4.3: a minimum that is five seconds old makes ProbeRTT due, and the estimate itself lasts for ten.
#[test]
fn the_round_trip_expires_in_two_steps() {
    let mut round_trip = RoundTrip::default();
    let rtt = |millis| Some(Duration::from_millis(millis));
    round_trip.update(ms(1000), rtt(40));
    round_trip.update(ms(6000), rtt(60));
    assert!(!round_trip.expired && round_trip.least == rtt(40));
    round_trip.update(ms(6001), rtt(60));
    assert!(round_trip.expired && round_trip.least == rtt(40));
    round_trip.update(ms(11_000), rtt(70));
    assert!(!round_trip.expired && round_trip.least == rtt(40));
    round_trip.update(ms(11_001), rtt(70));
    assert_eq!(round_trip.least, rtt(60));
    round_trip.update(ms(11_002), rtt(30));
    assert_eq!(round_trip.least, rtt(30));
}

/// Section 5.5.9, at 1000 segments a second: 30 segments at once are 30 too many, 10 more after 20 ms make it 20, and
/// after 100 ms more a new interval begins.
#[test]
fn bunched_acknowledgements_count_beyond_the_bandwidth() {
    let mut aggregation = Aggregation::default();
    let extra = |aggregation: &Aggregation| aggregation.clone().extra();
    for (round, (at, newly, expected)) in
        [(1000, 30.0, 30.0), (1020, 10.0, 20.0), (1120, 5.0, 5.0)].into_iter().enumerate()
    {
        aggregation.update(ms(at), newly, 1000.0, 150.0, round as u32, false);
        near(extra(&aggregation), expected);
    }
}

/// Section 3.7: a mark ends Startup and UP as a loss of a connection without selective acknowledgements does, and
/// otherwise makes the round one with congestion.
#[test]
fn a_mark_is_congestion() {
    let mut bbr = flow(State::Startup);
    near(reduced(&mut bbr, 150.0, CongestionSignal::Mark), 150.0);
    assert!(matches!(bbr.state, State::Drain(_)) && bbr.full.reached);
    near(bbr.inflight_longterm, 100.0);
    let mut bbr = flow(State::Up);
    (bbr.cycle.is_sample, bbr.flight.in_flight) = (true, 130);
    reduced(&mut bbr, 150.0, CongestionSignal::Mark);
    assert_eq!((bbr.state, bbr.inflight_longterm), (State::Down, 130.0));
    let mut bbr = flow(State::Cruise);
    reduced(&mut bbr, 150.0, CongestionSignal::Mark);
    assert!(bbr.signals.congested && bbr.inflight_longterm == f64::INFINITY);
}

/// HandleSpuriousLossDetection: the bounds before the loss are back, and the window with the current acknowledgement,
/// long before those of all segments sent until the timeout.
#[test]
fn a_needless_timeout_returns_the_bounds() {
    let mut bbr = flow(State::Cruise);
    bbr.inflight_longterm = 200.0;
    reduced(&mut bbr, 150.0, CongestionSignal::Timeout);
    (bbr.bandwidth_shortterm, bbr.inflight_shortterm, bbr.inflight_longterm) = (500.0, 50.0, 70.0);
    let size = WindowSize { cwnd: 1.0, ssthresh: 150.0 };
    let ack = AckSample { una: 1, max: 100, ..AckSample::default() };
    let calm = LossState { in_flight: 0, recovering: false };
    bbr.follow_repair(&size, &ack, calm);
    assert!(!bbr.restores);
    bbr.undo();
    bbr.follow_repair(&size, &ack, calm);
    assert!(bbr.restores);
    assert_eq!((bbr.prior_cwnd, bbr.inflight_longterm), (150.0, 200.0));
    assert_eq!((bbr.bandwidth_shortterm, bbr.inflight_shortterm), (f64::INFINITY, f64::INFINITY));
}
