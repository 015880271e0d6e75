//! Congestion control of the program: it does what the built-in one does, and its mistakes are errors.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use fairlane_qdisc::{Duration, Time};
use fairlane_scenario::{Document, OwnCongestion, Scenario};
use fairlane_sim::tcp::{AckSample, CongestionControl, CongestionEvent, LossState, WindowSize};
use fairlane_sim::{
    Control, Fault, Fingerprint, Observer, PacketEvent, PacketKind, Undivided, run, run_all, run_on, undivided,
};

type Outcome = Result<(), Box<dyn std::error::Error>>;

const PACED: OwnCongestion = OwnCongestion { name: "mine", paces: true };

/// Returns a scenario of three flows with this congestion control, Fairlane's or the program's.
fn scenario(cc: impl Into<OwnCongestion>, flows: &str) -> Result<Scenario, Box<dyn std::error::Error>> {
    let cc = cc.into();
    let own = (cc.name == "mine").then_some(cc);
    let flows = format!("tcp = {{ recovery = \"reno\" }}\n{flows}");
    let text = scenario_text(cc.name, &flows, "queue = { kind = \"droptail\", limit = \"20p\" }");
    Ok(Document::parse("test.toml", &text)?.with_congestion(own).scenario()?)
}

/// Returns the text of a scenario of three flows with this congestion control, more keys of the flows, and this queue.
fn scenario_text(cc: &str, flows: &str, queue: &str) -> String {
    format!(
        r#"
        duration = "20s"
        [bottleneck]
        rate  = "2mbit"
        delay = "10ms"
        {queue}
        [access]
        rate  = "100mbit"
        delay = "1ms"
        [[flows]]
        name  = "ftp"
        kind  = "tcp"
        count = 3
        cc    = "{cc}"
        {flows}
    "#
    )
}

/// Reno, from RFC 5681 and with whole segments as in BSD.
#[derive(Debug)]
struct Halving;

impl CongestionControl for Halving {
    fn grow(&mut self, window: &mut WindowSize, _ack: &AckSample) {
        window.cwnd += 1.0 / window.cwnd;
    }
    fn on_congestion(&mut self, _window: &WindowSize, event: &CongestionEvent) -> f64 {
        (event.segments / 2.0).floor()
    }
}

/// Would catch calls that come at other times than those to the built-in one, with other values, or not at all, in
/// slow start, after losses and timeouts, and in the second of two connections.
#[test]
fn reno_by_the_program_is_reno() -> Outcome {
    let made = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&made);
    let control = Control::default().with_congestion("mine", move |connection| {
        let flow = connection.flow;
        count.fetch_add(1 << (8 * flow), Ordering::Relaxed);
        Box::new(Halving)
    });
    for flows in ["", "phases = [[\"0s\", \"8s\"], [\"9s\", \"20s\"]]"] {
        let (mut own, mut built_in) = (Fingerprint::default(), Fingerprint::default());
        let run_of_own = run(&scenario("mine", flows)?, 0, &control, &mut own)?;
        let run_of_reno = run(&scenario("reno", flows)?, 0, &control, &mut built_in)?;
        assert_eq!(own, built_in);
        assert!(run_of_reno.flows.iter().all(|flow| flow.dropped > 10), "{:?}", run_of_reno.flows);
        assert_eq!(&*run_of_own.flows[0].transport, "tcp mine, recovery reno");
    }
    // Each of the three flows had one connection, and then two.
    assert_eq!(made.load(Ordering::Relaxed), 0x03_03_03);
    Ok(())
}

/// A window of 1000 segments at 20 segments a second.
#[derive(Debug)]
struct Steady;

impl CongestionControl for Steady {
    fn grow(&mut self, _window: &mut WindowSize, _ack: &AckSample) {}
    fn on_ack(&mut self, window: &mut WindowSize, _ack: &AckSample, _loss: LossState) {
        window.cwnd = 1000.0;
    }
    fn on_congestion(&mut self, window: &WindowSize, _event: &CongestionEvent) -> f64 {
        window.cwnd
    }
    fn pacing_rate(&self, _window: &WindowSize) -> Option<f64> {
        Some(20.0)
    }
    fn has_model(&self) -> bool {
        true
    }
    fn has_own_slow_start(&self) -> bool {
        true
    }
}

/// In 20 s, of which up to one passes before the start, three flows send 380 to 401 segments each at 20 a second. Would
/// catch a rate that counts only where the scenario asks for pacing, and senders that are served ahead of their turn.
#[test]
fn a_rate_paces() -> Outcome {
    let control = Control::default().with_congestion(PACED, |_| Box::new(Steady));
    let run = run(&scenario(PACED, "")?, 0, &control, &mut ())?;
    assert!(run.flows.iter().all(|flow| (380..=401).contains(&flow.sent)), "{:?}", run.flows);
    Ok(())
}

/// Would catch an unknown congestion control that runs as another one, and an error without the names of the known
/// ones.
#[test]
fn unknown_names_are_errors() -> Outcome {
    let mut document = Document::builtin().with_congestion(["mine"]);
    document.set("flows.ftp.cc", "mime")?;
    let error = document.scenario().unwrap_err().to_string();
    assert!(error.contains("there is no congestion control \"mime\"") && error.contains("\"mine\""), "{error}");
    let error = run(&scenario("mine", "")?, 0, &Control::default(), &mut ()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "flows \"ftp\" have the congestion control \"mine\", which the program has to add with Control::with_congestion; \
         it has added none"
    );
    // The name alone is the key.
    let paced = Control::default().with_congestion(PACED, |_| Box::new(Halving));
    assert_eq!(&*run(&scenario("mine", "")?, 0, &paced, &mut ())?.flows[0].transport, "tcp mine, recovery reno");
    let mut document = Document::builtin().with_congestion(["cubic"]);
    document.set("flows.ftp.cc", "cubic")?;
    assert!(
        document.scenario().unwrap_err().to_string().contains("there is more than one congestion control \"cubic\"")
    );
    Ok(())
}

/// Reno up to a second; then a mistake in one of its functions.
#[derive(Debug)]
struct Mistaken {
    place: Place,
    value: f64,
    now: Time,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    Window,
    Threshold,
    Reduction,
    Rate,
    Least,
    Panic,
    Start,
}

impl Mistaken {
    fn errs(&self, place: Place) -> bool {
        self.place == place && self.now > Time::ZERO + Duration::from_millis(1_500)
    }
}

impl CongestionControl for Mistaken {
    fn grow(&mut self, window: &mut WindowSize, ack: &AckSample) {
        self.now = ack.now;
        Halving.grow(window, ack);
        if self.errs(Place::Window) {
            window.cwnd = self.value;
        }
        if self.errs(Place::Threshold) {
            window.ssthresh = self.value;
        }
        assert!(!self.errs(Place::Panic), "{} is not a window", self.value);
    }
    fn on_congestion(&mut self, window: &WindowSize, event: &CongestionEvent) -> f64 {
        self.now = event.now;
        if self.errs(Place::Reduction) { self.value } else { Halving.on_congestion(window, event) }
    }
    fn pacing_rate(&self, _window: &WindowSize) -> Option<f64> {
        Some(if self.errs(Place::Rate) { self.value } else { 1e6 })
    }
    fn smallest_window(&self) -> Option<f64> {
        self.errs(Place::Least).then_some(self.value)
    }
}

/// Returns a control of which flow 1 makes this mistake.
fn mistaken(place: Place, value: f64) -> Control {
    Control::default().with_congestion(PACED, move |connection| {
        let flow = connection.flow;
        assert!(place != Place::Start || flow != 1, "no such file");
        let value = if flow == 1 { value } else { 1.0 };
        let place = if flow == 1 { place } else { Place::Start };
        Box::new(Mistaken { place, value, now: Time::ZERO })
    })
}

/// Would catch a value that goes on into the simulation, a panic that ends the program, and an error without the flow,
/// the time or the value.
#[test]
fn mistakes_are_errors() -> Outcome {
    let window = "a window is finite and above 0";
    for (place, value, expected) in [
        (Place::Window, f64::NAN, format!("set the window to NaN segments; {window}")),
        (Place::Window, f64::INFINITY, format!("set the window to inf segments; {window}")),
        (Place::Window, 0.0, format!("set the window to 0 segments; {window}")),
        (Place::Window, -3.0, format!("set the window to -3 segments; {window}")),
        (Place::Threshold, f64::NAN, "set the threshold to NaN segments; a threshold is finite and above 0".into()),
        (
            Place::Reduction,
            f64::NAN,
            "returned a threshold of NaN segments; a threshold is finite and not negative".into(),
        ),
        (Place::Reduction, -1.0, "returned a threshold of -1 segments; a threshold is finite and not negative".into()),
        (Place::Rate, 0.0, "returned a pacing rate of 0 segments per second; a rate is finite and above 0".into()),
        (
            Place::Rate,
            f64::INFINITY,
            "returned a pacing rate of inf segments per second; a rate is finite and above 0".into(),
        ),
        (
            Place::Least,
            f64::NAN,
            "set the smallest window to NaN segments; a smallest window is finite and above 0".into(),
        ),
        (Place::Panic, -7.0, "panicked: -7 is not a window".into()),
        (Place::Start, 0.0, "panicked: no such file".into()),
    ] {
        let error = run(&scenario(PACED, "")?, 0, &mistaken(place, value), &mut ()).unwrap_err().to_string();
        let (place_and_time, mistake) = error.split_once(": its congestion control ").ok_or(error.clone())?;
        assert_eq!(mistake, expected);
        let at = place_and_time.strip_prefix("flow ftp/1 at ").and_then(|rest| rest.strip_suffix(" s"));
        let at: f64 = at.ok_or(error.clone())?.parse()?;
        let due = if place == Place::Start { 0.0..=0.0 } else { 1.5..=20.0 };
        assert!(due.contains(&at), "{error}");
    }
    Ok(())
}

fn flow_of(fault: &Fault) -> &str {
    let Fault::Congestion(fault) = fault else { return "" };
    &fault.flow
}

/// Would catch a batch that loses its other runs, or the mistake, and parts of a run that call it out of order.
#[test]
fn a_mistake_costs_its_own_run_alone() -> Outcome {
    let control = mistaken(Place::Window, f64::NAN);
    let scenarios = [scenario("reno", "")?, scenario(PACED, "")?];
    let runs = run_all(&scenarios, 3, &control)?;
    assert_eq!(runs.iter().map(Vec::len).collect::<Vec<_>>(), [3, 0]);
    assert_eq!(control.finished(), 6);
    let faults = control.faults();
    assert_eq!(faults.iter().map(flow_of).collect::<Vec<_>>(), ["ftp/1"; 3]);
    assert_eq!(undivided(&scenarios[1])?, Some(Undivided::OwnCongestion { group: "ftp".to_owned() }));
    let alone = run(&scenarios[1], 0, &control, &mut ()).unwrap_err().to_string();
    for threads in [1, 3].map(NonZeroUsize::new).into_iter().flatten() {
        assert_eq!(run_on(&scenarios[1], 0, threads, &control).unwrap_err().to_string(), alone);
    }
    Ok(())
}

/// Notes the marked segments that each acknowledgement tells of.
#[derive(Debug)]
struct Scalable(Arc<AtomicU32>);

impl CongestionControl for Scalable {
    fn grow(&mut self, window: &mut WindowSize, _ack: &AckSample) {
        window.cwnd += 1.0 / window.cwnd;
    }
    fn on_ack(&mut self, _window: &mut WindowSize, ack: &AckSample, _loss: LossState) {
        self.0.fetch_add(ack.marks(), Ordering::Relaxed);
    }
    fn on_congestion(&mut self, _window: &WindowSize, event: &CongestionEvent) -> f64 {
        0.9 * event.segments
    }
    fn is_scalable(&self) -> bool {
        true
    }
}

/// Each mark is told once by acknowledgements of every segment (RFC 8257, section 3.2); an echo until the sender has
/// reacted (RFC 3168) tells of several times as many. Would catch such an echo, and ECT(1) without ECN.
#[test]
fn a_scalable_one_is_told_of_each_mark() -> Outcome {
    let told = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&told);
    let control = Control::default().with_congestion("mine", move |_| Box::new(Scalable(Arc::clone(&count))));
    let red = "[bottleneck.queue]\nkind = \"red\"\nlimit = \"50p\"\nmin = \"3p\"\nmax = \"9p\"\necn = true";
    for (ecn, l4s) in [(true, true), (false, false)] {
        let text = scenario_text("mine", &format!("[flows.tcp]\nrecovery = \"sack\"\necn = {ecn}"), red);
        let scenario = Document::parse("test.toml", &text)?.with_congestion(["mine"]).scenario()?;
        told.store(0, Ordering::Relaxed);
        let mut services = Services::default();
        let run = run(&scenario, 0, &control, &mut services)?;
        assert_eq!((services.l4s, services.other > 0), (if l4s { services.data } else { 0 }, !l4s));
        let marked: u64 = run.queues[0].flows.iter().map(|flow| flow.marked).sum();
        let told = u64::from(told.load(Ordering::Relaxed));
        // An acknowledgement of several segments may tell of more, and the last ones are on their way.
        assert!(told.abs_diff(marked) <= marked / 20 && (marked > 200) == ecn, "{told} of {marked}");
    }
    Ok(())
}

/// Counts data by their service.
#[derive(Default)]
struct Services {
    data: u64,
    l4s: u64,
    other: u64,
}

impl Observer for Services {
    fn packet(&mut self, event: &PacketEvent) {
        if event.kind == PacketKind::Data {
            self.data += 1;
            self.l4s += u64::from(event.l4s);
            self.other += u64::from(!event.l4s);
        }
    }
    fn delivered(&mut self, _at: Time, _flow: u32, _seq: u32) {}
}

/// Would catch a seed that two runs, flows or connections share, or that changes when the runs are repeated.
#[test]
fn seeds_differ() -> Outcome {
    let seeds = Arc::new(Mutex::new(Vec::new()));
    let drawn = Arc::clone(&seeds);
    let control = Control::default().with_congestion("mine", move |connection| {
        drawn.lock().expect("nobody panicked").push(connection.seed.stream("test").bits());
        Box::new(Halving)
    });
    let scenario = scenario("mine", "phases = [[\"0s\", \"8s\"], [\"9s\", \"20s\"]]")?;
    let twice = || -> Result<Vec<u64>, Box<dyn std::error::Error>> {
        run(&scenario, 0, &control, &mut ())?;
        run(&scenario, 1, &control, &mut ())?;
        Ok(std::mem::take(&mut *seeds.lock().expect("nobody panicked")))
    };
    let (first, again) = (twice()?, twice()?);
    let distinct: BTreeSet<u64> = first.iter().copied().collect();
    // Two runs of three flows with two connections.
    assert_eq!((&again, distinct.len()), (&first, 12));
    Ok(())
}
