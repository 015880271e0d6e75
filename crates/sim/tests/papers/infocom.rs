//! R. Pan, B. Prabhakar, K. Psounis: CHOKe, a stateless active queue management scheme for approximating fair bandwidth
//! allocation. INFOCOM 2000.

use fairlane_outcome::Reason;

use crate::setup::{drop_ratio, kbits, measure, part_dropped_for, queue_share, throughput, within};

/// The rates of Figure 5 in kbit/s, and what the model of CHOKe with many TCP flows says of the queue: the UDP flow's share.
const RATES: [(u32, f64); 6] =
    [(100, 0.087), (500, 0.273), (1000, 0.367), (2000, 0.437), (3000, 0.465), (10_000, 0.499)];

fn at_rate(kbits: u32, more: &[(&str, &str)]) -> fairlane_outcome::Outcome {
    let rate = format!("{kbits}kbit");
    // The sender's own link has to carry what it sends, or the overload would end there.
    let mut settings = vec![("flows.cbr.rate", rate.as_str()), ("access.rate", "20mbit")];
    settings.extend(more);
    measure("choke-fig5", &settings)
}

/// Figure 3: UDP takes more than 95 % of the link under DropTail and RED, and 250 kbit/s under CHOKe.
#[test]
fn figure_3_who_gets_the_link() {
    for kind in ["droptail", "red"] {
        let outcome = measure("choke-fig3", &[("bottleneck.queue.kind", kind)]);
        within("UDP's part of the link", throughput(&outcome, "cbr"), 1e-6, 0.93..=1.0);
        within("utilisation", outcome.queues[0].utilisation, 1.0, 0.98..=1.0);
    }
    let choke = measure("choke-fig3", &[]);
    within("UDP kbit/s", throughput(&choke, "cbr"), 1e-3, 210.0..=290.0);
    within("TCP kbit/s", throughput(&choke, "ftp"), 1e-3, 700.0..=1000.0);
    within("utilisation", choke.queues[0].utilisation, 1.0, 0.98..=1.0);
    // ns-2 with a CHOKe added has 240 ± 1 kbit/s and a mean queue of 130 packets.
    within("UDP kbit/s, as in ns-2", throughput(&choke, "cbr"), 1e-3, 230.0..=250.0);
    within("mean queue, as in ns-2", choke.queues[0].mean_packets, 1.0, 127.0..=134.0);
}

/// Figure 4: under CHOKe each TCP flow is close to the ideal share; the technical report gives their mean, 23.4 kbit/s.
#[test]
fn figure_4_flow_by_flow() {
    let outcome = measure("choke-fig3", &[]);
    let tcp: Vec<f64> = outcome.flows_of("ftp").map(|flow| flow.throughput_bps.mean / 1e3).collect();
    let mean = tcp.iter().sum::<f64>() / tcp.len() as f64;
    assert!((21.5..=25.0).contains(&mean), "mean TCP {mean}");
    for flow in &tcp {
        assert!((mean / 2.0..=mean * 2.0).contains(flow), "a TCP flow has {flow} kbit/s, the mean is {mean}");
    }
    assert!(tcp.iter().all(|flow| *flow < kbits(&outcome, "cbr")), "UDP is still the highest");
}

/// In the text of section III: 85 % of UDP's losses are matches, 70 % of TCP's are RED's.
#[test]
fn why_packets_are_dropped() {
    let outcome = measure("choke-fig3", &[]);
    let matches = part_dropped_for(&outcome, "cbr", &[Reason::MatchArrival, Reason::MatchVictim]);
    let random = part_dropped_for(&outcome, "ftp", &[Reason::Early, Reason::Forced]);
    println!("matches {matches} of UDP's drops, random {random} of TCP's");
    // ns-2 with a CHOKe added has 96.0 % and 65.0 %.
    assert!((0.75..=0.97).contains(&matches), "{matches} of UDP's drops are matches");
    assert!((0.55..=0.85).contains(&random), "{random} of TCP's drops are random");
}

/// Figure 5: how much of UDP is dropped, against its rate; ns-2's figures with a CHOKe added are within 3 points.
#[test]
fn figure_5_drops_against_the_rate() {
    let bands = [15.0..=30.0, 51.0..=63.0, 70.0..=79.0, 85.0..=91.0, 90.0..=96.0, 97.0..=100.0];
    let ns2 = [23.6, 58.5, 75.5, 88.8, 93.8, 99.8];
    let mut tcp = Vec::new();
    for (((rate, _), band), ns2) in RATES.into_iter().zip(bands).zip(ns2) {
        let outcome = at_rate(rate, &[]);
        within("UDP dropped in %", drop_ratio(&outcome, "cbr"), 100.0, band);
        within("the same, as in ns-2", drop_ratio(&outcome, "cbr"), 100.0, ns2 - 3.0..=ns2 + 3.0);
        tcp.push(kbits(&outcome, "ftp"));
    }
    // "Average TCP throughput almost constant": the model has it between 733 and 971 kbit/s.
    assert!(tcp.iter().all(|tcp| (700.0..=1000.0).contains(tcp)), "{tcp:?}");
}

/// Figure 5, RED: it protects nobody. ns-2 drops 16.3 % at 500 kbit/s, where one reading of the figure has less than 15 %:
/// 32 Reno flows of which each has hardly one packet per round trip cannot do with less.
#[test]
fn figure_5_red() {
    let ns2 = [12.9, 16.3, 23.9, 50.5, 66.8, 90.0];
    for ((rate, _), ns2) in RATES.into_iter().zip(ns2) {
        let outcome = at_rate(rate, &[("bottleneck.queue.kind", "red")]);
        within("UDP dropped in %, as in ns-2", drop_ratio(&outcome, "cbr"), 100.0, ns2 - 3.0..=ns2 + 3.0);
        if rate >= 3000 {
            let excess = 100.0 * (1.0 - 1000.0 / f64::from(rate));
            within(
                "UDP dropped in %, all that does not fit",
                drop_ratio(&outcome, "cbr"),
                100.0,
                excess - 4.0..=excess + 4.0,
            );
        }
    }
}

/// Figure 6: UDP never dominates the queue.
#[test]
fn figure_6_who_fills_the_queue() {
    for (rate, share) in RATES {
        let outcome = at_rate(rate, &[]);
        within("UDP's share of the queue", queue_share(&outcome, "cbr"), 1.0, share - 0.05..=share + 0.05);
        within("and never above", queue_share(&outcome, "cbr"), 1.0, 0.0..=0.55);
        within("mean queue", outcome.queues[0].mean_packets, 1.0, 30.0..=62.0);
    }
}

/// Figure 8: more candidates are better, and the third adds little.
#[test]
fn figure_8_several_candidates() {
    let udp = ["1", "2", "3"].map(|m| kbits(&measure("choke-fig8", &[("bottleneck.queue.candidates", m)]), "cbr"));
    assert!(udp[0] > udp[1] && udp[1] > udp[2], "{udp:?}");
    assert!(udp[1] - udp[2] < (udp[0] - udp[1]) / 2.0, "{udp:?}");
    // The report says 10 to 15 points better than one candidate, the model 4.9 % of the link.
    assert!((30.0..=160.0).contains(&udp[1]), "two candidates leave UDP {} kbit/s", udp[1]);
}

/// The rates of each of the five UDP flows of Figures 9 and 10.
const FIVE: [&str; 5] = ["200kbit", "400kbit", "1mbit", "1500kbit", "2mbit"];

/// Figure 9: against five UDP flows one candidate is not enough, four are.
#[test]
fn figure_9_five_udp_flows() {
    for rate in FIVE {
        let basic = measure("choke-fig9", &[("flows.cbr.rate", rate)]);
        if !["200kbit", "400kbit"].contains(&rate) {
            within("UDP's part of the link", throughput(&basic, "cbr"), 1e-6, 0.90..=1.0);
            for flow in &basic.queues[0].flows[32..] {
                within("each UDP flow's share of the queue", flow.queue_share, 1.0, 0.17..=0.21);
            }
        }
        let four = measure("choke-fig9", &[("flows.cbr.rate", rate), ("bottleneck.queue.candidates", "4")]);
        within("TCP's part of the link, four candidates", throughput(&four, "ftp"), 1e-6, 0.45..=1.0);
    }
}

/// Figure 10: a number of candidates that adjusts itself does as well as four.
#[test]
fn figure_10_self_adjusting() {
    for rate in FIVE {
        let adaptive = measure("choke-fig10", &[("flows.cbr.rate", rate)]);
        let four = measure("choke-fig9", &[("flows.cbr.rate", rate), ("bottleneck.queue.candidates", "4")]);
        let (adaptive, four) = (kbits(&adaptive, "ftp"), kbits(&four, "ftp"));
        assert!(
            (adaptive - four).abs() <= 100.0,
            "at {rate}: TCP has {adaptive} kbit/s, and {four} with four candidates"
        );
    }
}
