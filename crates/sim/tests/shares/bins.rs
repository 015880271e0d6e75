//! Stochastic Fair BLUE among flows that answer.

use fairlane_outcome::Run;
use fairlane_qdisc::Reason;

use crate::setup::{document, extremes, figure_3, rates, simulate};

/// Figure 3 with tc's bins and the paper's double buffering: the flood has its rate limit of 80 kbit/s, and nobody else is
/// shut out. Would catch bins that let the flood go when the hash moves.
#[test]
fn double_buffering_holds_a_flood_at_its_rate_limit() {
    let settings = [("bottleneck.queue.rehash", "2s"), ("bottleneck.queue.warmup", "2s")];
    let (run, _) = simulate(&figure_3("sfb", &settings));
    let (flood, (least, most)) = (rates(&run)[32], extremes(&rates(&run)[..32]));
    println!("flood {flood:.1}; TCP {least:.1} to {most:.1}");
    assert!((flood / 80.0 - 1.0).abs() < 0.05, "{flood}");
    assert!(least > 12.0, "a TCP has {least}");
}

/// The paper's table III: 45 Mbit/s, 200 kB, two levels of 23 bins for 13 packets, 0.16 Mbit/s for who does not answer. `tcp`
/// flows, which answer marks if `ecn`, and a flow of `rate`.
fn table_iii(tcp: u32, ecn: bool, rate: &str, more: &str) -> Run {
    let text = format!(
        r#"
        duration = "100s"
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
    simulate(&document(&text)).0
}

/// Mbit/s that the flow that does not answer gets, and the part of its packets that met its rate limit.
fn unanswering(run: &Run) -> (f64, f64) {
    let flow = run.queues[0].flows.last().expect("it sends");
    let limited = flow.dropped[Reason::RatePenalty.index()] as f64 / flow.arrived as f64;
    (rates(run).last().expect("it sends") / 1000.0, limited)
}

/// Table III: the CBR flow loses all but 0.16 Mbit/s, whatever it sends. 300 TCPs that are marked fill its bins, so it stays
/// found.
#[test]
fn a_flow_that_is_found_has_its_rate_limit() {
    for rate in ["2mbit", "45mbit"] {
        let (got, limited) = unanswering(&table_iii(300, true, rate, ""));
        println!("{rate}: {got:.3} Mbit/s, {limited:.2} limited");
        assert!((got - 0.16).abs() < 0.05, "{rate}: {got} Mbit/s");
        assert!(limited > 0.7, "{rate}: {limited}");
    }
}

/// Where the others leave its bins empty at times, it does not stay found: each of its own arrivals at an empty bin takes from
/// the bin's probability, and 45 Mbit/s are many. It gets ten times its limit then, by the rolls of chance: hardly any of its
/// packets meets the limit. BLUE's `freeze` time, which the paper does not give bins, leaves the time for more to be queued.
#[test]
fn bins_that_run_empty_let_a_flow_go() {
    let (got, limited) = unanswering(&table_iii(160, false, "45mbit", ""));
    let (frozen, _) = unanswering(&table_iii(160, false, "45mbit", "freeze = \"10ms\""));
    println!("{got:.3} Mbit/s, {limited:.3} limited; {frozen:.3} Mbit/s with a freeze time");
    assert!(got > 1.0 && limited < 0.05, "{got} Mbit/s, {limited}");
    assert!(frozen < got / 3.0, "{frozen} Mbit/s, {got} without");
}
