//! Throughput in closed form, and times to the nanosecond.

use std::sync::{Arc, Mutex};

use fairlane_qdisc::Time;
use fairlane_sim::endpoint::{Ecn, Endpoint, Outgoing, Pair};
use fairlane_sim::{Control, Simulation};

use super::window::{DATA, HEADERS, Window, idle};
use super::{FIFO, ONE, run_one, scenario};

/// The round trip without queues: 2 · (10 + 2 · 1) ms of delay, 800 + 2 · 80 µs for 1000 bytes, and 32 + 2 · 3.2 µs for
/// 40 bytes.
const ROUND_TRIP_NS: u64 = 24_998_400;

/// The bytes of the first `count` payloads.
fn payloads(count: u64) -> u64 {
    count * (u64::from(DATA) - HEADERS as u64) - (0..count).map(|number| number % 7).sum::<u64>()
}

/// In 10 s there are 400.03 round trips, and the last datagram is still on its way. Would catch a datagram that waits,
/// is sent early, or takes the time of its payload on the wire.
#[test]
fn stop_and_wait_delivers_one_datagram_a_round_trip() {
    let (pair, seen) = Window::of(1).pair();
    let run = run_one(&scenario(10, FIFO, ONE), pair).expect("it runs");
    let flow = &run.flows[0];
    assert_eq!((flow.sent, flow.delivered, flow.unique_bytes), (401, 400, payloads(400)));
    let seen = seen.lock().expect("nobody panicked");
    let expected = (0..400).map(|number| Time::from_nanos(12_960_000 + ROUND_TRIP_NS * number));
    assert!(seen.arrivals.iter().map(|(at, _, _)| *at).eq(expected));
}

/// The pipe holds 31.2 datagrams. A window of 20 delivers as many a round trip; one of 60 fills the link, which takes
/// 0.8 ms for each. Would catch a burst that is lost, and a window that is not kept.
#[test]
fn a_window_has_its_rate_or_that_of_the_link() {
    let delivered = |window: u64| {
        let (pair, _) = Window::of(window).pair();
        run_one(&scenario(1, FIFO, ONE), pair).expect("it runs").flows[0].delivered
    };
    // Those of round trip k come from 12.96 ms + k · 24.9984 ms on, 0.8 ms apart. At 1 s k is 39.
    assert_eq!(delivered(20), 39 * 20 + (1_000_000_u64 - 12_960 - 39 * 24_998).div_ceil(800));
    assert_eq!(delivered(60), (1_000_000_u64 - 12_960).div_ceil(800));
}

const HALF: Time = Time::from_nanos(500_000_000);

/// Sends a datagram at each of these times, the last one first, and at 500 ms for each that has come until then. Notes
/// when its timer is called.
#[derive(Debug)]
struct Clock {
    times: Vec<Time>,
    due: bool,
    called: Arc<Mutex<Vec<Time>>>,
}

impl Endpoint for Clock {
    fn start(&mut self, _now: Time) {}
    fn receive(&mut self, now: Time, _datagram: &mut Vec<u8>, _ecn: Ecn) {
        if now < HALF {
            self.times.push(HALF);
        }
    }
    fn transmit(&mut self, _now: Time, _datagram: &mut Vec<u8>) -> Option<Outgoing> {
        std::mem::take(&mut self.due).then(|| Outgoing::new(DATA))
    }
    fn deadline(&mut self) -> Option<Time> {
        self.times.last().copied()
    }
    fn on_timer(&mut self, now: Time) {
        self.called.lock().expect("nobody panicked").push(now);
        self.times.pop();
        self.due = true;
    }
    fn delivered_bytes(&self) -> u64 {
        0
    }
}

/// Would catch a timer that is late, early, called twice, forgotten after a datagram, or not moved to an earlier time.
#[test]
fn timers_are_called_at_their_deadlines() {
    let called = Arc::new(Mutex::new(Vec::new()));
    let nanos = [1, 1_000_000, 1_000_001, 123_456_789].map(Time::from_nanos);
    let late = Time::from_nanos(900_000_000);
    let clock = |times| Clock { times, due: false, called: Arc::clone(&called) };
    let (source, sink) = (clock(nanos.into_iter().rev().collect()), clock(vec![late]));
    let run = run_one(&scenario(1, FIFO, ONE), Pair::new(source, sink)).expect("it runs");
    // The four datagrams bring the sink's deadline forward.
    let expected = [&nanos[..], &[HALF; 4], &[late]].concat();
    assert_eq!(*called.lock().expect("nobody panicked"), expected);
    assert_eq!((run.flows[0].sent, run.flows[0].delivered), (4, 4));
}

/// Would catch steps that change what endpoints do, and a sample that does not have their goodput.
#[test]
fn a_simulation_in_steps_does_the_same() {
    let scenario = scenario(2, FIFO, ONE);
    let whole = run_one(&scenario, Window::of(7).pair().0).expect("it runs");
    let mut pair = Some(Window::of(7).pair().0);
    let stepped = Simulation::with_endpoints(&scenario, 0, (), |_, _, _| pair.take());
    let mut stepped = stepped.expect("there are endpoints");
    for step in 1..=20 {
        assert_eq!(stepped.step(Time::from_nanos(step * 100_000_000), &Control::default()), Ok(true));
    }
    let sample = stepped.flow(0).expect("there is a flow");
    let flow = &whole.flows[0];
    assert_eq!((sample.sent, sample.delivered, sample.unique_bytes), (flow.sent, flow.delivered, flow.unique_bytes));
    assert_eq!(sample.delivered_bytes, flow.delivered * u64::from(DATA));
    assert_eq!(sample.unique_bytes, payloads(flow.delivered));
    let stepped = stepped.finish(&Control::default()).expect("it ends");
    assert_eq!(format!("{stepped:?}"), format!("{whole:?}"));
}

/// Would catch an endpoint that is called before its flow starts, and a flow that starts at another time.
#[test]
fn nothing_happens_before_the_start() {
    let (pair, seen) = Window::of(1).pair();
    let flows = ONE.replace("\"0s\"", "\"700ms\"");
    run_one(&scenario(1, FIFO, &flows), pair).expect("it runs");
    let first = seen.lock().expect("nobody panicked").arrivals[0].0;
    assert_eq!(first, Time::from_nanos(700_000_000 + 12_960_000));
    assert_eq!(run_one(&scenario(1, FIFO, ONE), idle()).expect("it runs").flows[0].sent, 0);
}
