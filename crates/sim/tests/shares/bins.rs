//! Stochastic Fair BLUE among flows that answer.

use fairlane_outcome::Run;
use fairlane_qdisc::Reason;

use crate::setup::{SEEDS, document, extremes, figure_3, mean, rates, seeded, simulate};

/// Figure 3 with tc's bins and the paper's double buffering: the flood has its rate limit of 80 kbit/s, and nobody else is
/// shut out. Would catch bins that let the flood go when the hash moves.
#[test]
fn double_buffering_holds_a_flood_at_its_rate_limit() {
    let settings = [("bottleneck.queue.rehash", "2s"), ("bottleneck.queue.warmup", "2s")];
    for seed in SEEDS {
        let (run, _) = simulate(&seeded(figure_3("sfb", &settings), seed));
        let (flood, (least, most)) = (rates(&run)[32], extremes(&rates(&run)[..32]));
        println!("flood {flood:.1}; TCP {least:.1} to {most:.1}");
        assert!((flood / 80.0 - 1.0).abs() < 0.1, "{flood}");
        assert!(least > 5.0, "a TCP has {least}");
    }
}

/// The paper's table III: 45 Mbit/s, 200 kB, two levels of 23 bins for 13 packets, 0.16 Mbit/s for who does not answer. `tcp`
/// flows, which answer marks if `ecn`, and a flow of `rate`.
fn table_iii(tcp: u32, ecn: bool, rate: &str, more: &str, seed: u32) -> Run {
    let text = format!(
        r#"
        duration = "50s"
        warmup = "20s"
        [tcp]
        preset = "ns2-1999"
        ecn = {ecn}
        [bottleneck]
        rate = "45mbit"
        delay = "10ms"
        [bottleneck.queue]
        kind = "sfb"
        limit = "200kb"
        levels = 2
        bins = 23
        bin_size = "13p"
        drop_on_over = "any"
        penalty_rate = "160kbit"
        penalty_burst = "1kb"
        ecn = {ecn}
        harddrop = false
        {more}
        [access]
        rate = "100mbit"
        delay = "10ms"
        [[flows]]
        name = "ftp"
        kind = "tcp"
        count = {tcp}
        window = 300
        [[flows]]
        name = "cbr"
        kind = "udp"
        rate = "{rate}"
        "#
    );
    simulate(&seeded(document(&text), seed)).0
}

/// Mbit/s that the flow that does not answer gets, and the part of its packets that met its rate limit.
fn unanswering(run: &Run) -> (f64, f64) {
    let flow = run.queues[0].flows.last().expect("it sends");
    let limited = flow.dropped[Reason::RatePenalty.index()] as f64 / flow.arrived as f64;
    (rates(run).last().expect("it sends") / 1000.0, limited)
}

/// Table III: 300 TCPs that are marked, and a CBR flow that has nearly all of what it sends dropped. In the paper all but 0.16
/// Mbit/s is; its TCPs come and go, and these are greedy.
#[test]
fn a_flow_that_does_not_answer_loses_nearly_all() {
    for (rate, sent, most) in [("2mbit", 2.0, 0.5), ("45mbit", 45.0, 1.0)] {
        let got = SEEDS.map(|seed| unanswering(&table_iii(300, true, rate, "", seed)).0);
        println!("of {sent} Mbit/s: {got:.3?}");
        assert!(mean(&got) < most, "of {sent} Mbit/s it has {got:?}");
    }
}

/// Where the others leave its bins empty at times, it is not held to the rate limit: each of its own arrivals at an empty bin takes
/// from the bin's probability, and 45 Mbit/s are many. Nearly all of it meets the rolls of chance then, and not the limit. BLUE's
/// `freeze` time, which the paper does not give bins, leaves time for more to be queued.
#[test]
fn bins_that_run_empty_let_a_flow_go() {
    let runs = SEEDS.map(|seed| unanswering(&table_iii(160, false, "45mbit", "", seed)));
    let frozen = SEEDS.map(|seed| unanswering(&table_iii(160, false, "45mbit", "freeze = \"10ms\"", seed)).0);
    println!("{runs:.3?}; with a freeze time {frozen:.3?}");
    assert!(runs.iter().all(|&(got, limited)| got > 1.0 && limited < 0.1), "{runs:?}");
    assert!(mean(&frozen) < mean(&runs.map(|(got, _)| got)) / 2.0, "{frozen:?}, {runs:?} without");
}
