//! Endpoints that fail: each ends the run with an error that says where.

use fairlane_qdisc::{Duration, Time};
use fairlane_sim::endpoint::{Ecn, End, Endpoint, EndpointError, Outgoing, Pair, Problem};
use fairlane_sim::{Control, Error, Fingerprint, Observer, PacketEvent, Simulation, StepError, run, run_endpoints};

use super::window::idle;
use super::{FIFO, ONE, run_one, scenario};

/// The fault of an endpoint, at 300 ms.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    Panic,
    TransmitEndlessly,
    WakeEndlessly,
    WakeItself,
    WakeNobody,
    StayDue,
    Bytes(u32),
    TooLittle,
}

#[derive(Debug)]
struct Faulty {
    fault: Fault,
    begins: bool,
    sent: bool,
}

fn faulty(fault: Fault) -> Box<Faulty> {
    Box::new(Faulty { fault, begins: false, sent: false })
}

const AT: Time = Time::from_nanos(300_000_000);

impl Endpoint for Faulty {
    fn start(&mut self, _now: Time) {}
    fn receive(&mut self, _now: Time, _datagram: &mut Vec<u8>, _ecn: Ecn) {}
    fn transmit(&mut self, _now: Time, datagram: &mut Vec<u8>) -> Option<Outgoing> {
        match self.fault {
            Fault::TransmitEndlessly => self.begins.then(|| Outgoing::new(100)),
            Fault::TooLittle if self.begins => {
                datagram.extend([0; 1400]);
                Some(Outgoing::new(40))
            }
            Fault::Bytes(bytes) if self.begins && !self.sent => {
                self.sent = true;
                Some(Outgoing::new(bytes))
            }
            _ => None,
        }
    }
    fn deadline(&mut self) -> Option<Time> {
        (!self.begins || self.fault == Fault::StayDue).then_some(AT)
    }
    fn on_timer(&mut self, now: Time) {
        assert!(now == AT, "it is called at {now:?}");
        assert!(self.fault != Fault::Panic, "this cannot be");
        self.begins = true;
    }
    fn wake(&mut self) -> Option<u32> {
        match self.fault {
            Fault::WakeEndlessly => self.begins.then_some(0),
            Fault::WakeItself => {
                self.sent = self.begins && !self.sent;
                self.sent.then_some(1)
            }
            Fault::WakeNobody => self.begins.then_some(2),
            _ => None,
        }
    }
    fn delivered_bytes(&self) -> u64 {
        0
    }
}

/// Returns the error of flow 1 of two flows, of which that one has the fault at this end.
fn error_of(fault: Fault, end: End) -> EndpointError {
    let scenario = scenario(1, FIFO, &format!("{ONE}\ncount = 2"));
    let ended = run_endpoints(&scenario, 0, &Control::default(), &mut (), |_, index, _| {
        let mut pair = idle();
        let faulty = faulty(fault);
        match end {
            _ if index == 0 => {}
            End::Source => pair.source = faulty,
            End::Sink => pair.sink = faulty,
        }
        Some(pair)
    });
    match ended {
        Err(Error::Endpoint(error)) => error,
        other => panic!("{fault:?} at the {end:?} gives {other:?}"),
    }
}

/// Would catch a fault that ends the process, hangs, passes unnoticed, or is reported of another flow, end or time.
#[test]
fn a_fault_is_an_error_with_its_place() {
    let faults = [
        (Fault::Panic, Problem::Panic("this cannot be".to_owned())),
        (Fault::TransmitEndlessly, Problem::Endless("transmit")),
        (Fault::WakeEndlessly, Problem::Endless("wake")),
        (Fault::WakeItself, Problem::Endless("wake")),
        (Fault::WakeNobody, Problem::NoFlow(2)),
        (Fault::StayDue, Problem::PastDeadline(AT)),
        (Fault::TooLittle, Problem::Payload { bytes: 40, payload: 1400 }),
        (Fault::Bytes(0), Problem::Size(0)),
        (Fault::Bytes(65_536), Problem::Size(65_536)),
    ];
    for (fault, problem) in faults {
        for end in [End::Source, End::Sink] {
            let place = EndpointError { group: "own".to_owned(), index: 1, end, at: AT, problem: problem.clone() };
            assert_eq!(error_of(fault, end), place);
        }
    }
    let text = Error::Endpoint(error_of(Fault::Panic, End::Sink)).to_string();
    assert_eq!(text, "the sink of flow \"own/1\" at 0.3 s: it panicked: this cannot be");
}

/// Would catch a largest datagram that is refused.
#[test]
fn the_largest_datagram_can_be_sent() {
    let pair = Pair { source: faulty(Fault::Bytes(65_535)), sink: faulty(Fault::Bytes(1)) };
    let run = run_one(&scenario(1, FIFO, ONE), pair).expect("it runs");
    assert_eq!((run.flows[0].sent, run.flows[0].delivered), (1, 1));
}

/// Would catch a simulation that goes on after an error, or that ends as if nothing had happened.
#[test]
fn a_simulation_stays_failed() {
    let mut pair = Some(Pair { source: faulty(Fault::Panic), ..idle() });
    let made = Simulation::with_endpoints(&scenario(1, FIFO, ONE), 0, (), |_, _, _| pair.take());
    let mut simulation = made.expect("there are endpoints");
    let step = |simulation: &mut Simulation, at: Time| simulation.step(at, &Control::default());
    assert_eq!(step(&mut simulation, AT), Ok(true));
    let after = AT + Duration::from_nanos(1);
    let is_failure = |step| matches!(step, Err(StepError::Endpoint(EndpointError { at: AT, .. })));
    assert!(is_failure(step(&mut simulation, after)));
    assert!(is_failure(step(&mut simulation, after)));
    assert!(matches!(simulation.finish(&Control::default()), Err(Error::Endpoint(_))));
}

/// Would catch a scenario with endpoints that runs without them, and a caller who is asked for other flows.
#[test]
fn endpoints_must_be_there() {
    let mixed = format!("{ONE}\ncount = 2\n[[flows]]\nname = \"tcp\"\nkind = \"tcp\"");
    let scenario = scenario(1, FIFO, &mixed);
    let missing = |error| matches!(error, Error::NoEndpoint { group, index: 1 } if group == "own");
    let mut asked = Vec::new();
    let ended = run_endpoints(&scenario, 0, &Control::default(), &mut (), |group, index, _| {
        asked.push((group.to_owned(), index));
        (index == 0).then(idle)
    });
    assert!(missing(ended.expect_err("flow 1 has none")));
    assert_eq!(asked, [("own".to_owned(), 0), ("own".to_owned(), 1)]);
    let plain = run(&scenario, 0, &Control::default(), &mut Fingerprint::default());
    assert!(matches!(plain, Err(Error::NoEndpoint { index: 0, .. })));
}

/// Would catch a run that goes on for long after an error: a flood for a simulated day would take minutes.
#[test]
fn the_run_ends_soon() {
    let flood = "[[flows]]\nname = \"flood\"\nkind = \"udp\"\nrate = \"20mbit\"";
    let scenario = scenario(86_400, FIFO, &format!("{ONE}\n{flood}"));
    let mut pair = Some(Pair { source: faulty(Fault::Panic), ..idle() });
    let mut events = Events::default();
    let ended = run_endpoints(&scenario, 0, &Control::default(), &mut events, |_, _, _| pair.take());
    assert!(matches!(ended, Err(Error::Endpoint(_))));
    // In 300 ms the flood sends 750 packets of 1000 bytes, each with a few events at each of its links.
    assert!((1..20_000).contains(&events.0), "{events:?}");
}

/// Counts the events of packets.
#[derive(Debug, Default)]
struct Events(u64);

impl Observer for Events {
    fn packet(&mut self, _event: &PacketEvent) {
        self.0 += 1;
    }

    fn delivered(&mut self, _at: Time, _flow: u32, _seq: u32) {}
}
