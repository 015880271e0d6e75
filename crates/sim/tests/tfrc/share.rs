//! TFRC and TCP at one bottleneck.

use std::collections::BTreeMap;

use fairlane_outcome::{Outcome, Run};
use fairlane_scenario::Document;
use fairlane_sim::{Control, Observer, PacketEvent, run};

fn observe(text: &str, observer: &mut impl Observer) -> Run {
    let scenario = Document::parse("tfrc.toml", text).and_then(|document| document.scenario());
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    run(&scenario, 0, &Control::default(), observer).unwrap_or_else(|error| panic!("{error}"))
}

fn shared(each: u32, keys: &str) -> Run {
    observe(&text(each, keys), &mut ())
}

/// Returns a scenario with `each` flows of NewReno and of TFRC over 8 Mbit/s, with a round-trip time of 48 ms without
/// queueing.
fn text(each: u32, keys: &str) -> String {
    format!(
        r#"
        duration = "140s"
        warmup = "40s"
        [tcp]
        preset = "modern"
        delayed_ack = false
        [bottleneck]
        rate = "8mbit"
        delay = "20ms"
        queue = {{ kind = "red", limit = "200p", min = "15p", max = "60p", probability = 0.1, gentle = true }}
        [access]
        rate = "100mbit"
        delay = "2ms"
        [[flows]]
        name = "tcp"
        kind = "tcp"
        cc = "newreno"
        count = {each}
        [[flows]]
        name = "tfrc"
        kind = "tfrc"
        count = {each}
        {keys}
        "#
    )
}

/// RFC 5348, section 1: the rate of TFRC is generally within a factor of two of that of TCP. Here it is within 1.5 for
/// loss rates of 0.5 % to 5 %, caused by two to twelve flows of each kind. Would catch a rate that is not TCP-friendly,
/// and flows that starve.
#[test]
fn tfrc_and_newreno_share_a_red_bottleneck() {
    let mut losses = Vec::new();
    for each in [2, 4, 8, 12] {
        for keys in ["", "damping = true"] {
            let outcome = Outcome::from_runs([shared(each, keys)]).expect("one run");
            let group = |name| outcome.group(name).unwrap_or_else(|| panic!("{name} is there"));
            let (tcp, tfrc) = (group("tcp"), group("tfrc"));
            let ratio = tfrc.throughput_bps.mean / tcp.throughput_bps.mean;
            assert!((1.0 / 1.5..1.5).contains(&ratio), "{each}, {keys}: {ratio}");
            assert!(
                [tcp.jain, tfrc.jain].iter().all(|jain| jain.is_some_and(|jain| jain.mean > 0.95)),
                "{each}, {keys}: {:?} {:?}",
                tcp.jain,
                tfrc.jain
            );
            assert!(outcome.queues[0].utilisation.mean > 0.97, "{each}, {keys}: {:?}", outcome.queues[0].utilisation);
            losses.push(tfrc.drop_ratio.mean);
        }
    }
    assert!(losses[0] < 0.006 && losses[7] > 0.045, "{losses:?}");
}

/// The packets delivered to each flow in each half second.
#[derive(Default)]
struct Halves(BTreeMap<u32, Vec<f64>>);

impl Observer for Halves {
    fn packet(&mut self, _event: &PacketEvent) {}
    fn delivered(&mut self, at: fairlane_qdisc::Time, flow: u32, _seq: u32) {
        let half = (at.as_secs() * 2.0) as usize;
        let counts = self.0.entry(flow).or_default();
        if counts.len() <= half {
            counts.resize(half + 1, 0.0);
        }
        counts[half] += 1.0;
    }
}

/// Would catch a rate that is not smooth: each TFRC flow varies less than any TCP flow (RFC 5348, section 1).
#[test]
fn tfrc_is_smoother_than_tcp() {
    let mut halves = Halves::default();
    observe(&text(4, ""), &mut halves);
    let variation = |flow: u32| {
        let counts = &halves.0[&flow][80..278];
        let mean = counts.iter().sum::<f64>() / counts.len() as f64;
        let variance = counts.iter().map(|count| (count - mean) * (count - mean)).sum::<f64>() / counts.len() as f64;
        variance.sqrt() / mean
    };
    let (tcp, tfrc): (Vec<f64>, Vec<f64>) = ((0..4).map(variation).collect(), (4..8).map(variation).collect());
    let roughest = tfrc.iter().copied().fold(0.0, f64::max);
    assert!(tcp.iter().all(|tcp| *tcp > roughest), "TCP {tcp:?}, TFRC {tfrc:?}");
}

/// With ECN RED marks packets instead of dropping them. Would catch a flow that does not slow down after marks.
#[test]
fn marks_slow_it_down() {
    let run = observe(&text(4, "ecn = true").replace("gentle = true", "gentle = true, ecn = true"), &mut ());
    let outcome = Outcome::from_runs([run]).expect("one run");
    let tfrc = outcome.group("tfrc").expect("tfrc is there");
    assert!(tfrc.drop_ratio.mean < 0.001, "{:?}", tfrc.drop_ratio);
    assert!((0.35..0.7).contains(&tfrc.share.mean), "{:?}", tfrc.share);
    assert!(outcome.queues[0].marked.mean > 300.0);
}

/// Would catch a flow that sends in off periods, does not resume, or sends after `stop`.
#[test]
fn periods_and_stop_are_kept() {
    let text = |keys: &str| {
        format!(
            "duration = \"200s\"\n[bottleneck]\nrate = \"1mbit\"\n[[flows]]\nname = \"t\"\nkind = \"tfrc\"\n{keys}\n"
        )
    };
    let mut halves = Halves::default();
    observe(&text("source = \"exponential\"\non = \"5s\"\noff = \"5s\""), &mut halves);
    let silent = halves.0[&0].iter().filter(|count| **count == 0.0).count();
    assert!((100..300).contains(&silent), "{silent} of 400 half seconds");
    // A link of 1 Mbit/s carries 62.5 packets in half a second, and TFRC uses it fully in on periods.
    assert!(halves.0[&0].iter().filter(|count| **count > 60.0).count() > 80);
    let mut halves = Halves::default();
    observe(&text("stop = \"50s\""), &mut halves);
    // Packets in flight still arrive, with at most 1000 in the queue.
    assert!((100..118).contains(&halves.0[&0].len()), "{}", halves.0[&0].len());
}

/// Would catch an application of 100 kbit/s that gets less although the link has room, or more.
#[test]
fn an_application_has_its_rate() {
    let keys = "rate = \"100kbit\"";
    let outcome = Outcome::from_runs([shared(2, keys)]).expect("one run");
    let tfrc = outcome.group("tfrc").expect("tfrc is there");
    assert!((195_000.0..200_100.0).contains(&tfrc.throughput_bps.mean), "{:?}", tfrc.throughput_bps);
}
