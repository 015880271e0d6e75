//! BARE (Cho and Cho, Computer Networks 39, 2002) and the successors of CHOKe, with real transports.

use fairlane_outcome::{Outcome, Run};
use fairlane_scenario::Document;
use fairlane_sim::{Control, Observer, PacketEvent, PacketKind, QueueEvent, run};

/// The deliveries by flow, and the drops of the first flow, in seconds.
#[derive(Default)]
struct Log {
    delivered: Vec<(f64, u32)>,
    drops_of_first: Vec<f64>,
}

impl Observer for Log {
    fn packet(&mut self, event: &PacketEvent) {
        let is_drop = matches!(event.queue_event, QueueEvent::Dropped(_)) && event.kind == PacketKind::Data;
        if is_drop && event.flow == 0 {
            self.drops_of_first.push(event.at.as_secs());
        }
    }
    fn delivered(&mut self, at: fairlane_qdisc::Time, flow: u32, _seq: u32) {
        self.delivered.push((at.as_secs(), flow));
    }
}

fn simulate(text: &str) -> (Run, Log) {
    let scenario = Document::parse("fair_drops.toml", text).and_then(|document| document.scenario());
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    let mut log = Log::default();
    let run = run(&scenario, 0, &Control::default(), &mut log).expect("it runs");
    (run, log)
}

/// Runs BARE's topology: 20 Mbit/s, 2 ms per hop, 320 kB; `tcp` NewReno flows and `cbr` flows of 3 Mbit/s.
fn paper(seconds: u32, queue: &str, tcp: u32, cbr: u32) -> (Run, Log) {
    let cbr = if cbr > 0 {
        format!(
            "[[flows]]\nname = \"cbr\"\nkind = \"udp\"\ncount = {cbr}\nrate = \"3mbit\"\npacket = \"1000b\"\nstart = \"0s..1s\""
        )
    } else {
        String::new()
    };
    simulate(&format!(
        r#"
        duration = "{seconds}s"
        warmup = "5s"
        [tcp]
        preset = "ns2-1999"
        min_rto = "200ms"
        [bottleneck]
        rate = "20mbit"
        delay = "2ms"
        queue = {queue}
        [access]
        rate = "100mbit"
        delay = "2ms"
        [[flows]]
        name = "ftp"
        kind = "tcp"
        cc = "newreno"
        count = {tcp}
        window = 1000
        packet = "1000b"
        start = "0s..1s"
        {cbr}
        "#
    ))
}

/// Returns the total rate of `flows` in kbit/s from `from` to `to` seconds.
fn rate(log: &Log, flows: std::ops::Range<u32>, from: f64, to: f64) -> f64 {
    let packets = log.delivered.iter().filter(|(at, flow)| (from..to).contains(at) && flows.contains(flow)).count();
    8.0 * packets as f64 / (to - from)
}

/// Figure 9 of BARE's paper: 12 TCP flows and 8 CBR flows of 3 Mbit/s. The CBR flows are down to their share of 1
/// Mbit/s within two seconds and stay within a quarter of it; RED gives them nearly the whole link.
#[test]
fn bare_regulates_cbr_flows_within_two_seconds() {
    let (_, log) = paper(20, r#"{ kind = "bare" }"#, 12, 8);
    // The last CBR starts within the first second.
    for flow in 12..20 {
        let settled = rate(&log, flow..flow + 1, 4.0, 20.0);
        assert!((750.0..=1250.0).contains(&settled), "CBR {flow} has {settled} kbit/s");
    }
    for window in 0..17 {
        let from = 3.0 + f64::from(window);
        let mean = rate(&log, 12..20, from, from + 1.0) / 8.0;
        assert!((750.0..=1250.0).contains(&mean), "from {from} s a CBR has {mean} kbit/s");
    }
    let red = r#"{ kind = "red", limit = "320kb", min = "53kb", max = "160kb", probability = 0.2 }"#;
    let (_, red) = paper(20, red, 12, 8);
    assert!(rate(&red, 12..20, 4.0, 20.0) / 8.0 > 1500.0, "RED does not regulate the CBR flows");
}

/// Returns the coefficient of variation of the gaps between loss events. Drops within 50 ms of each other are one
/// event.
fn variation(drops: &[f64]) -> f64 {
    let mut events: Vec<f64> = Vec::new();
    for &at in drops.iter().filter(|&&at| at > 5.0) {
        if events.last().is_none_or(|&last| at - last > 0.05) {
            events.push(at);
        }
    }
    let gaps: Vec<f64> = events.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(gaps.len() > 20, "{} gaps", gaps.len());
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let square = gaps.iter().map(|gap| (gap - mean) * (gap - mean)).sum::<f64>() / (gaps.len() - 1) as f64;
    square.sqrt() / mean
}

/// Figure 7: the losses of the first of 20 TCP flows are nearly periodic under BARE. Under RED the gaps are geometric,
/// with a coefficient of variation of 0.95 by equations 2 and 3.
#[test]
fn bare_drops_nearly_periodically() {
    let (_, bare) = paper(100, r#"{ kind = "bare" }"#, 20, 0);
    let red = r#"{ kind = "red", limit = "320kb", min = "53kb", max = "160kb", probability = 0.2, byte_drop = true }"#;
    let (_, red) = paper(100, red, 20, 0);
    let (bare, red) = (variation(&bare.drops_of_first), variation(&red.drops_of_first));
    println!("variation of the gaps: bare {bare:.2}, red {red:.2}");
    assert!(bare < 0.6, "BARE's gaps vary by {bare}");
    assert!(bare < 0.5 * red, "BARE {bare}, RED {red}");
}

/// Figure 5: the average queue is near its target, half of the virtual threshold and at most 120 kB, and below 140 kB.
/// With ten flows or fewer the threshold is too low for TCP's bursts, as the paper says, too.
#[test]
fn bare_keeps_the_queue_at_its_target() {
    for (flows, target) in [(20, 80.0), (40, 100.0), (80, 120.0), (200, 120.0)] {
        let (run, _) = paper(40, r#"{ kind = "bare" }"#, flows, 0);
        let outcome = Outcome::from_runs([run]).expect("one run");
        let mean = outcome.queues[0].mean_packets.mean;
        println!("{flows} flows: {mean:.1} packets, target {target}");
        assert!((0.7 * target..=1.3 * target).contains(&mean) && mean < 140.0, "{flows} flows: {mean} of {target} kB");
    }
}

/// Would catch a successor of CHOKe that leaves a UDP flow of twice the link's rate as much of the link as CHOKe does,
/// or that lets the link become idle. CHOKe's share is 25.1 % by the model of Tang, Wang and Low (ToN 12(4), 2004).
#[test]
fn the_successors_leave_unresponsive_traffic_less_than_choke() {
    let share = |kind: &str| {
        let (run, log) = simulate(&format!(
            r#"
            duration = "100s"
            warmup = "20s"
            [tcp]
            preset = "ns2-1999"
            [bottleneck]
            rate = "1mbit"
            delay = "1ms"
            queue = {{ kind = "{kind}", limit = "300p", min = "100p", max = "200p" }}
            [access]
            rate = "10mbit"
            delay = "1ms"
            [[flows]]
            name = "cbr"
            kind = "udp"
            rate = "2mbit"
            packet = "1000b"
            start = "0s..1s"
            [[flows]]
            name = "ftp"
            kind = "tcp"
            cc = "reno"
            count = 32
            window = 300
            packet = "1000b"
            start = "0s..1s"
            "#
        ));
        let outcome = Outcome::from_runs([run]).expect("one run");
        assert!(outcome.queues[0].utilisation.mean > 0.95, "{kind}: {}", outcome.queues[0].utilisation.mean);
        let share = rate(&log, 0..1, 20.0, 100.0) / rate(&log, 0..33, 20.0, 100.0);
        println!("{kind}: {share:.3}, a queue of {:.0}", outcome.queues[0].mean_packets.mean);
        share
    };
    let choke = share("choke");
    assert!((0.2..=0.3).contains(&choke), "{choke}");
    for kind in ["chokew", "choker", "choked", "sac", "rechoke"] {
        let share = share(kind);
        assert!(share < choke, "{kind}: {share}, CHOKe {choke}");
    }
}
