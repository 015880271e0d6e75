//! Disciplines that control delay, with real transports; and shapers.

use fairlane_outcome::Run;
use fairlane_scenario::Document;
use fairlane_sim::{Control, run};

/// Runs `tcp` SACK flows over a link of `rate` with a round-trip time of at least 40 ms, and `udp` flows of `udp_rate`.
fn simulate(rate: &str, queue: &str, tcp: u32, udp: (u32, &str)) -> Run {
    let (count, udp_rate) = udp;
    let udp = match count {
        0 => String::new(),
        _ => format!(
            "[[flows]]\nname = \"udp\"\nkind = \"udp\"\ncount = {count}\nrate = \"{udp_rate}\"\npacket = \"1000b\"\nstart = \"0s..1s\""
        ),
    };
    let text = format!(
        r#"
        duration = "40s"
        warmup = "15s"
        [tcp]
        preset = "modern"
        [bottleneck]
        rate = "{rate}"
        delay = "10ms"
        queue = {queue}
        [access]
        rate = "1gbit"
        delay = "5ms"
        [[flows]]
        name = "tcp"
        kind = "tcp"
        cc = "sack"
        count = {tcp}
        window = 10000
        packet = "1000b"
        start = "0s..1s"
        {udp}
        "#
    );
    let scenario = Document::parse("delay.toml", &text).and_then(|document| document.scenario());
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    run(&scenario, 0, &Control::default(), &mut ()).expect("it runs")
}

/// Returns the mean delay in the queue in milliseconds.
fn delay(run: &Run) -> f64 {
    run.queues[0].delay_ns.mean() / 1e6
}

/// Returns the rate in bit/s that left the queue, by flow.
fn rates(run: &Run) -> Vec<f64> {
    let seconds = run.to_s - run.from_s;
    run.queues[0].flows.iter().map(|flow| 8.0 * flow.departed_bytes as f64 / seconds).collect()
}

/// Would catch a simulator that does not ask a shaper again, or asks too early: the link carries 10 Mbit/s, the shaper
/// passes 6, and the flows share them. Reno, which halves its window at a short queue, fills at least three quarters of
/// its share; the flood takes the rest.
#[test]
fn the_shaper_is_obeyed() {
    let run = simulate("10mbit", "{ kind = \"cake\", bandwidth = \"6mbit\" }", 4, (1, "9mbit"));
    let rates = rates(&run);
    let all: f64 = rates.iter().sum();
    assert!((all / 6e6 - 1.0).abs() < 0.001, "{all}");
    assert!(rates[..4].iter().all(|rate| (0.75..1.05).contains(&(rate / 1.2e6))), "{rates:?}");
}

/// RFC 8289, section 3.2: CoDel brings the standing queue of one TCP flow down to about its target of 5 ms.
#[test]
fn codel_brings_one_tcp_to_its_target() {
    let run = simulate("10mbit", "{ kind = \"codel\" }", 1, (0, ""));
    assert!((1.0..10.0).contains(&delay(&run)), "{} ms", delay(&run));
    // Reno, which halves its window at a short queue, fills at least three quarters of the link.
    assert!(rates(&run)[0] > 7.5e6, "{:?}", rates(&run));
}

/// RFC 8033, section 4.2: PIE keeps the delay of 5 to 50 TCP flows near its target of 15 ms. Would also catch an
/// unbounded delay when 50 UDP flows send three times the link's rate.
#[test]
fn pie_holds_its_target() {
    for tcp in [5, 20, 50] {
        let run = simulate("50mbit", "{ kind = \"pie\" }", tcp, (0, ""));
        assert!((delay(&run) - 15.0).abs() < 5.0, "{tcp}: {} ms", delay(&run));
    }
    let run = simulate("10mbit", "{ kind = \"pie\" }", 5, (50, "600kbit"));
    assert!((delay(&run) - 15.0).abs() < 5.0, "{} ms", delay(&run));
}

/// RFC 8290, section 3: under fair queueing each TCP flow keeps about its share against a flood of twice the link's
/// rate. Would catch a discipline that does not isolate the flood.
#[test]
fn fair_queues_isolate_a_flood() {
    for kind in ["fq-codel", "fq-pie", "cake"] {
        let run = simulate("20mbit", &format!("{{ kind = \"{kind}\" }}"), 9, (1, "40mbit"));
        let rates = rates(&run);
        assert!(rates.iter().all(|rate| (rate / 2e6 - 1.0).abs() < 0.25), "{kind}: {rates:?}");
    }
}
