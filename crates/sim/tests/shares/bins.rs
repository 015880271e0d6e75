//! Stochastic Fair BLUE with responsive flows.

use fairlane_outcome::Run;
use fairlane_qdisc::Reason;

use crate::setup::{SEEDS, document, extremes, figure_3, mean, rates, seeded, simulate};

/// Figure 3 of the CHOKe paper with the bins of tc-sfb(8) and the paper's double buffering: the flood gets its rate
/// limit of 80 kbit/s, and no other flow is locked out. The steps are ten times tc's, with which 2 s are too short to
/// find a flood of 250 packets a second. Would catch bins that release the flood when the hash changes.
#[test]
fn double_buffering_holds_a_flood_at_its_rate_limit() {
    let settings = [
        ("bottleneck.queue.rehash", "2s"),
        ("bottleneck.queue.warmup", "2s"),
        ("bottleneck.queue.increment", "0.005"),
        ("bottleneck.queue.decrement", "0.0005"),
    ];
    for seed in SEEDS {
        let (run, _) = simulate(&seeded(figure_3("sfb", &settings), seed));
        let (flood, (least, most)) = (rates(&run)[32], extremes(&rates(&run)[..32]));
        println!("flood {flood:.1}; TCP {least:.1} to {most:.1}");
        assert!((flood / 80.0 - 1.0).abs() < 0.1, "{flood}");
        assert!(least > 5.0, "a TCP has {least}");
    }
}

/// Runs table III of the paper (Feng, Kandlur, Saha and Shin, INFOCOM 2001): 45 Mbit/s, 200 kB, two levels of 23 bins
/// of 13 packets, 0.16 Mbit/s for unresponsive flows; `tcp` flows, with ECN if `ecn`, and an unresponsive flow of
/// `rate`.
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
        increment = 0.005
        decrement = 0.0005
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

/// Returns the rate of the unresponsive flow in Mbit/s, and the fraction of its packets that the rate limit dropped.
fn unresponsive(run: &Run) -> (f64, f64) {
    let flow = run.queues[0].flows.last().expect("the flow sends");
    let limited = flow.dropped[Reason::RatePenalty.index()] as f64 / flow.arrived as f64;
    (rates(run).last().expect("the flow sends") / 1000.0, limited)
}

/// Table III: 300 TCP flows with ECN and a CBR flow, of which nearly all packets are dropped. In the paper, where TCP
/// flows start and stop, all but 0.16 Mbit/s are dropped; here they are greedy.
#[test]
fn an_unresponsive_flow_loses_nearly_all_packets() {
    for (rate, sent, most) in [("2mbit", 2.0, 0.5), ("45mbit", 45.0, 1.0)] {
        let got = SEEDS.map(|seed| unresponsive(&table_iii(300, true, rate, "", seed)).0);
        println!("of {sent} Mbit/s: {got:.3?}");
        assert!(mean(&got) < most, "of {sent} Mbit/s it has {got:?}");
    }
}

/// If the other flows leave its bins empty at times, the unresponsive flow is not held to the rate limit: each arrival
/// at an empty bin lowers the bin's probability, and 45 Mbit/s mean many arrivals. Most drops are then random and not
/// due to the limit. BLUE's `freeze` time, which bins in the paper do not have, lets the queue grow first.
#[test]
fn empty_bins_release_an_unresponsive_flow() {
    let runs = SEEDS.map(|seed| unresponsive(&table_iii(160, false, "45mbit", "", seed)));
    let frozen = SEEDS.map(|seed| unresponsive(&table_iii(160, false, "45mbit", "freeze = \"10ms\"", seed)).0);
    println!("{runs:.3?}; with a freeze time {frozen:.3?}");
    assert!(runs.iter().all(|&(got, limited)| got > 1.0 && limited < 0.1), "{runs:?}");
    assert!(mean(&frozen) < mean(&runs.map(|(got, _)| got)) / 2.0, "{frozen:?}, {runs:?} without");
}
