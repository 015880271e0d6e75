//! The purpose of autorate: on links that vary as LTE does, the queue is at most a third as long as behind a fixed
//! shaper, at no less than 90 % of its goodput.
//!
//! `AUTORATE_SEEDS=5 cargo test --release -p fairlane-sim --test autorate traces -- --nocapture` runs more and prints a
//! table.

mod trace;

use std::path::{Path, PathBuf};

use fairlane_autorate::{Decision, Law};
use fairlane_outcome::Run;
use fairlane_qdisc::{Duration, Rate, Time};
use fairlane_scenario::{Document, ProbeKind, Scenario, ShaperKind};
use fairlane_sim::{Control, Observer, PacketEvent, run};

use trace::{Chain, csv, mean};

/// The chain of `scenarios/autorate.csv`, whose seed is 1.
const CHAIN: Chain = Chain { dwell_s: 1.0, jumps: false };

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
}

/// Reads the scenario, with the trace in the folder of `place`.
fn scenario(place: &Path) -> Scenario {
    let file = place.join("autorate.toml");
    Document::load(file).and_then(|document| document.scenario()).unwrap_or_else(|error| panic!("{error}"))
}

/// How the shaper is controlled.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Shaping {
    /// At this part of the scenario's rate.
    Fixed(f64),
    Autorate(Law, ProbeKind),
}

/// The 95th percentile of the delay in milliseconds, and the goodput in Mbit/s.
#[derive(Clone, Copy, Debug)]
struct Measured {
    p95: f64,
    goodput: f64,
}

fn measure(scenario: &Scenario, shaping: Shaping, number: u32) -> Measured {
    let mut scenario = scenario.clone();
    let shaper = scenario.links[0].forward.wire.shaper.as_mut().expect("the scenario has a shaper");
    match shaping {
        Shaping::Fixed(part) => {
            shaper.kind = ShaperKind::Fixed;
            shaper.rate = Rate::from_bits_per_second((shaper.rate.bits_per_second() as f64 * part) as u64);
        }
        Shaping::Autorate(law, probe) => {
            shaper.kind = ShaperKind::Autorate;
            shaper.probe = probe;
            shaper.autorate.law = law;
        }
    }
    of(&run(&scenario, number, &Control::default(), &mut ()).unwrap_or_else(|error| panic!("{error}")))
}

fn of(run: &Run) -> Measured {
    let bytes: u64 = run.flows.iter().map(|flow| flow.unique_bytes).sum();
    let goodput = bytes as f64 * 8e-6 / (run.to_s - run.from_s);
    Measured { p95: run.queues[0].delay_ns.value_at_quantile(0.95) as f64 / 1e6, goodput }
}

/// Would catch a trace that was drawn again until it suited, and a fixed rate that is not the trace's mean.
#[test]
fn the_trace_is_that_of_its_law() {
    let steps = CHAIN.steps(1);
    let file = folder().join("autorate.csv");
    if std::env::var_os("UPDATE_TRACE").is_some() {
        std::fs::write(&file, csv(&steps)).expect("the trace can be written");
    }
    let there = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(there == csv(&steps), "{} is another trace; UPDATE_TRACE=1 writes that of the law", file.display());
    let side = scenario(&folder()).links.remove(0).forward;
    let shaper = side.wire.shaper.expect("the scenario has a shaper");
    assert!((shaper.rate.bits_per_second() as f64 / mean(&steps) - 1.0).abs() < 0.01, "{}", mean(&steps));
}

/// The claim, for both laws and kinds of probes. Would catch a controller that lets the modem's queue grow, or that
/// keeps it empty by using little of the link.
#[test]
fn the_queue_is_a_third_at_nine_tenths_of_the_goodput() {
    let scenario = scenario(&folder());
    let fixed = measure(&scenario, Shaping::Fixed(1.0), 0);
    for (law, probe) in
        [(Law::Steps, ProbeKind::Echo), (Law::Follow, ProbeKind::Echo), (Law::Follow, ProbeKind::OneWay)]
    {
        let autorate = measure(&scenario, Shaping::Autorate(law, probe), 0);
        assert!(autorate.p95 <= fixed.p95 / 3.0, "{law:?}, {probe:?}: {autorate:?} {fixed:?}");
        assert!(autorate.goodput >= 0.9 * fixed.goodput, "{law:?}, {probe:?}: {autorate:?} {fixed:?}");
    }
}

/// Keeps the rate after each decision.
#[derive(Default)]
struct Rates(Vec<(f64, f64)>);

impl Observer for Rates {
    const ACTIVE: bool = false;
    fn packet(&mut self, _event: &PacketEvent) {}
    fn delivered(&mut self, _at: Time, _flow: u32, _seq: u32) {}
    fn decided(&mut self, _link: u32, decision: &Decision) {
        self.0.push((decision.time.as_secs(), decision.rate.bits_per_second() as f64 / 1e6));
    }
}

/// A link of 20 Mbit/s falls to 8 at 20 s and is back at 40 s. The fall shows when the queue has 60 ms, 40 ms later, in
/// three probes, 150 ms, after a round trip of 46: within half a second. The way back takes five raises of 4 to 50 %,
/// one each 200 ms, after a pause of 300: within 3 s, since TCP has to fill the rate each time. Between the two the
/// link carries nine tenths of its 8 Mbit/s, with twice the 60 ms of a late sample at most. Would catch a controller
/// that reacts late, goes too low, or is slow to come back.
#[test]
fn a_step_is_followed() {
    let text = r#"
        duration = "50s"
        [tcp]
        preset = "modern"
        [bottleneck]
        rate    = { steps = [["0s", "20mbit"], ["20s", "8mbit"], ["40s", "20mbit"]] }
        delay   = "20ms"
        queue   = { kind = "fq-codel" }
        reverse = { rate = "50mbit" }
        shaper  = { kind = "autorate", rate = "18mbit", min = "2mbit", max = "30mbit" }
        [access]
        rate = "1gbit"
        [[flows]]
        name   = "upload"
        kind   = "tcp"
        cc     = "cubic"
        count  = 4
        packet = "1500b"
    "#;
    let scenario = Document::parse("step.toml", text).and_then(|document| document.scenario());
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    let mut rates = Rates::default();
    run(&scenario, 0, &Control::default(), &mut rates).unwrap_or_else(|error| panic!("{error}"));
    let within =
        |from: f64, to: f64| rates.0.iter().filter(move |(at, _)| (from..to).contains(at)).map(|(_, rate)| *rate);
    assert!(within(19.0, 20.0).all(|rate| rate > 14.0));
    assert!(within(20.0, 20.5).any(|rate| rate < 8.0), "{:?}", within(20.0, 20.5).next_back());
    assert!(within(40.0, 43.0).any(|rate| rate > 18.0), "{:?}", within(40.0, 43.0).next_back());
    let slow = Scenario { warmup: Duration::from_millis(22_000), duration: Duration::from_millis(40_000), ..scenario };
    let slow = of(&run(&slow, 0, &Control::default(), &mut ()).unwrap_or_else(|error| panic!("{error}")));
    assert!(slow.goodput >= 0.9 * 8.0 && slow.p95 <= 120.0, "{slow:?}");
}

/// A way back with its own queue, which UDP fills. An echo takes it for that of the link, so the rate falls to its
/// minimum, 2 of 10 Mbit/s, within 12 s; time stamps tell the direction. Would catch time stamps that are taken at the
/// wrong end.
#[test]
fn time_stamps_tell_in_which_direction_a_queue_is() {
    let text = r#"
        duration = "30s"
        warmup   = "15s"
        [tcp]
        preset = "modern"
        [bottleneck]
        rate    = "10mbit"
        delay   = "20ms"
        queue   = { kind = "fq-codel" }
        reverse = { rate = "1mbit", queue = { kind = "droptail", limit = "20p" } }
        shaper  = { kind = "autorate", rate = "8mbit" }
        [[flows]]
        name   = "upload"
        kind   = "tcp"
        count  = 4
        packet = "1500b"
        [[flows]]
        name   = "flood"
        kind   = "udp"
        rate   = "1100kbit"
        packet = "1500b"
        from   = "right"
        to     = "left"
    "#;
    let used = |probe: &str| {
        let mut document = Document::parse("echo.toml", text).unwrap_or_else(|error| panic!("{error}"));
        document.set("bottleneck.shaper.probe", probe).unwrap_or_else(|error| panic!("{error}"));
        let scenario = document.scenario().unwrap_or_else(|error| panic!("{error}"));
        let run = run(&scenario, 0, &Control::default(), &mut ()).unwrap_or_else(|error| panic!("{error}"));
        let bytes: u64 = run.flows.iter().filter(|flow| &*flow.group == "upload").map(|flow| flow.unique_bytes).sum();
        bytes as f64 * 8e-6 / (run.to_s - run.from_s)
    };
    let (echo, one_way) = (used("echo"), used("one-way"));
    assert!(echo <= 2.0 && one_way >= 8.0, "{echo} {one_way}");
}

/// Both directions vary, are loaded, and are adjusted. With echoes each pays for the queue of the other. Would catch
/// controllers that drive each other to their minimum, or time stamps of the wrong direction.
#[test]
fn time_stamps_pay_if_both_directions_are_loaded() {
    let place = tempfile::tempdir().expect("a folder");
    let text = std::fs::read_to_string(folder().join("autorate.toml")).expect("the scenario");
    let shaper = "{ kind = \"autorate\", rate = \"10mbit\", min = \"2mbit\", max = \"30mbit\" }";
    let back = format!(
        "reverse = {{ rate = {{ trace = \"back.csv\", every = \"120s\" }}, queue = {{ kind = \"fq-codel\" }}, shaper = {shaper} }}"
    );
    let download = "\n[[flows]]\nname = \"download\"\nkind = \"tcp\"\ncount = 4\ncc = \"cubic\"\npacket = \"1500b\"\nfrom = \"right\"\nto = \"left\"\n";
    let text = text.replace("reverse = { rate = \"50mbit\" }", &back) + download;
    for (name, text) in
        [("autorate.csv", csv(&CHAIN.steps(1))), ("back.csv", csv(&CHAIN.steps(2))), ("autorate.toml", text)]
    {
        std::fs::write(place.path().join(name), text).expect("a file");
    }
    let used = |probe: ProbeKind| {
        let mut scenario = scenario(place.path());
        let link = &mut scenario.links[0];
        for side in [&mut link.forward, &mut link.reverse] {
            side.wire.shaper.as_mut().expect("both have a shaper").probe = probe;
        }
        let run = run(&scenario, 0, &Control::default(), &mut ()).unwrap_or_else(|error| panic!("{error}"));
        [0, 1].map(|index| {
            let queue = &run.queues[index];
            let bytes: u64 = queue.flows.iter().map(|flow| flow.departed_bytes).sum();
            bytes as f64 * 8.0 / (run.to_s - run.from_s) / queue.rate_bps
        })
    };
    let (echo, one_way) = (used(ProbeKind::Echo), used(ProbeKind::OneWay));
    println!("used with echoes {echo:.2?}, with time stamps {one_way:.2?}");
    assert!(one_way.iter().all(|used| *used > 0.75) && one_way.iter().zip(echo).all(|(one_way, echo)| *one_way > echo));
}

/// The chains of the long form.
const CHAINS: [(&str, Chain); 5] = [
    ("neighbours, 0.3 s", Chain { dwell_s: 0.3, jumps: false }),
    ("neighbours, 1 s", CHAIN),
    ("neighbours, 3 s", Chain { dwell_s: 3.0, jumps: false }),
    ("any level, 1 s", Chain { dwell_s: 1.0, jumps: true }),
    ("any level, 3 s", Chain { dwell_s: 3.0, jumps: true }),
];

/// The claim with other traces and seeds. Autorate falls short where the rate jumps to any level about once a second,
/// which is faster than its feedback: there only the goodput is asserted.
///
/// One seed, and what is compared; with `AUTORATE_SEEDS` that many seeds, and every shaper, a minute for five in a
/// release build.
#[test]
fn other_traces_and_seeds() {
    let more: Option<u64> = std::env::var("AUTORATE_SEEDS").ok().map(|seeds| seeds.parse().expect("a number of seeds"));
    println!("| trace | seed | shaper | p95 (ms) | goodput (Mbit/s) |\n|---|---|---|---|---|");
    let place = tempfile::tempdir().expect("a folder");
    let text = std::fs::read_to_string(folder().join("autorate.toml")).expect("the scenario");
    for (name, chain) in CHAINS {
        for seed in 1..=more.unwrap_or(1) {
            let steps = chain.steps(seed);
            std::fs::write(place.path().join("autorate.csv"), csv(&steps)).expect("a trace");
            std::fs::write(place.path().join("autorate.toml"), &text).expect("a scenario");
            let mut scenario = scenario(place.path());
            let mean = Rate::from_bits_per_second(mean(&steps) as u64);
            let shaper = scenario.links[0].forward.wire.shaper.as_mut().expect("the scenario has a shaper");
            (shaper.rate, shaper.autorate.base) = (mean, mean);
            let told = |shaping| {
                let measured = measure(&scenario, shaping, seed as u32);
                println!("| {name} | {seed} | {shaping:?} | {:.0} | {:.2} |", measured.p95, measured.goodput);
                measured
            };
            let fixed = told(Shaping::Fixed(1.0));
            let autorate = told(Shaping::Autorate(Law::Follow, ProbeKind::Echo));
            if more.is_some() {
                let law = |law, probe| Shaping::Autorate(law, probe);
                told(Shaping::Fixed(0.5));
                told(Shaping::Fixed(0.8));
                told(law(Law::Steps, ProbeKind::Echo));
                told(law(Law::Follow, ProbeKind::OneWay));
            }
            assert!(autorate.goodput >= 0.9 * fixed.goodput, "{name}, seed {seed}");
            assert!(chain.jumps && chain.dwell_s < 3.0 || autorate.p95 <= fixed.p95 / 3.0, "{name}, seed {seed}");
        }
    }
}
