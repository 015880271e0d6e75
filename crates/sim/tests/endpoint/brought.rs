//! Endpoints, disciplines and congestion controls of the caller in one run.

use fairlane_qdisc::{BoxQdisc, Duration, Host, Kind, QdiscParameters, Time};
use fairlane_scenario::{Document, Scenario};
use fairlane_sim::tcp::{AckSample, CongestionControl, CongestionEvent, WindowSize};
use fairlane_sim::{Brought, Control, Error, Fingerprint, Packet, Simulation, StepError, run_brought, run_endpoints};

use super::window::Window;

/// Reno with byte counting (RFC 5681, RFC 3465), which grows to NaN after `until`.
#[derive(Debug)]
struct Mine {
    until: Time,
}

impl CongestionControl for Mine {
    fn grow(&mut self, window: &mut WindowSize, ack: &AckSample) {
        window.cwnd += f64::from(ack.growth()) / window.cwnd.floor().max(1.0);
        if ack.now > self.until {
            window.cwnd = f64::NAN;
        }
    }
    fn on_congestion(&mut self, _window: &WindowSize, event: &CongestionEvent) -> f64 {
        (event.segments / 2.0).floor()
    }
}

/// Returns a scenario with endpoints and two TCPs, with this queue and congestion control.
fn scenario(queue: &str, cc: &str) -> Scenario {
    let text = format!(
        r#"
        duration = "5s"
        [bottleneck]
        rate = "10mbit"
        delay = "10ms"
        queue = {{ kind = "{queue}", limit = "60p" }}
        [[flows]]
        name = "own"
        kind = "endpoint"
        count = 2
        [[flows]]
        name = "tcp"
        kind = "tcp"
        count = 2
        cc = "{cc}"
        tcp = {{ preset = "modern" }}
        "#
    );
    let document = Document::parse("brought.toml", &text).expect("it is valid");
    document.with_congestion(["mine"]).scenario().expect("it is valid")
}

fn control(until: Time) -> Control {
    Control::default().with_congestion("mine", move |_| Box::new(Mine { until }))
}

fn brought() -> Brought<'static> {
    let config = QdiscParameters::new(Kind::FqCodel).with("limit", "60p").expect("it is a parameter");
    let custom = move |link: &str, host: &Host| {
        let built: Option<BoxQdisc<Packet>> = config.build(host).ok();
        built.filter(|_| link == "bottleneck").map(|queue| ("fq-codel", queue))
    };
    Brought::default().with_disciplines(custom).with_endpoints(|_, _, _| Some(Window::of(30).pair().0))
}

const NEVER: Time = Time::from_nanos(u64::MAX);

/// Would catch a part that is ignored next to the others, in a run or in steps.
#[test]
fn parts_of_all_kinds_run_together() {
    let (mut theirs, mut ours) = (Fingerprint::default(), Fingerprint::default());
    let pairs = |_: &str, _: u32, _| Some(Window::of(30).pair().0);
    run_endpoints(&scenario("fq-codel", "reno"), 0, &Control::default(), &mut theirs, pairs).expect("it runs");
    let (mine, control) = (scenario("droptail", "mine"), control(NEVER));
    let run = run_brought(&mine, 0, &control, &mut ours, brought()).expect("it runs");
    assert_eq!(theirs, ours);
    assert_eq!((&*run.queues[0].kind, &*run.flows[2].transport), ("fq-codel", "tcp mine, recovery rack"));

    let mut steps = Simulation::brought(&mine, 0, Fingerprint::default(), &control, brought()).expect("it runs");
    for tenth in 1..50 {
        let until = Time::ZERO + Duration::from_millis(100 * tenth);
        assert_eq!(steps.step(until, &Control::default()), Ok(true));
    }
    steps.step(Time::ZERO + mine.duration, &Control::default()).expect("it runs");
    assert_eq!(*steps.observer(), theirs);
}

/// Would catch a mistake of a congestion control that ends the process, or a simulation that goes on after it.
#[test]
fn a_mistake_ends_a_simulation() {
    let mine = scenario("droptail", "mine");
    let control = control(Time::ZERO + Duration::from_millis(500));
    let mut steps = Simulation::brought(&mine, 0, (), &control, brought()).expect("it runs");
    let mut fault = None;
    for until in [4000, 4500] {
        let ended = steps.step(Time::ZERO + Duration::from_millis(until), &Control::default());
        let Err(StepError::Congestion(found)) = ended else { panic!("{ended:?}") };
        assert!(found.flow.starts_with("tcp/") && found.mistake.contains("window to NaN segments"), "{found}");
        assert_eq!(*fault.get_or_insert(found.clone()), found);
    }
    let ended = steps.finish(&Control::default());
    assert!(matches!(&ended, Err(Error::Congestion(found)) if Some(found) == fault.as_ref()), "{ended:?}");
}
