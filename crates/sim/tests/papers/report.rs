//! R. Pan, B. Prabhakar, K. Psounis: CHOKe, a stateless mechanism for providing quality of service in the Internet. Technical
//! report, 1999. Windows of 100 packets, thresholds 30 and 60, no comparison above `max`.

use crate::setup::{drop_ratio, kbits, measure, queue_share, throughput, within};

/// Figures 2 to 7: DropTail and RED leave TCP next to nothing; CHOKe gives UDP 250 kbit/s and each TCP flow 23.4 on average.
#[test]
fn figures_2_to_7_who_gets_the_link() {
    for kind in ["droptail", "red"] {
        let outcome = measure("choke-report-fig4", &[("bottleneck.queue.kind", kind)]);
        within("UDP's part of the link", throughput(&outcome, "cbr"), 1e-6, 0.93..=1.0);
    }
    let choke = measure("choke-report-fig4", &[]);
    within("UDP kbit/s", throughput(&choke, "cbr"), 1e-3, 210.0..=290.0);
    within("mean TCP kbit/s", throughput(&choke, "ftp"), 1e-3 / 32.0, 21.5..=25.0);
    let most = choke.flows_of("ftp").map(|flow| flow.throughput_bps.mean).fold(0.0, f64::max);
    assert!(most < 1e3 * kbits(&choke, "cbr"), "UDP is still the highest");
}

/// Figures 8 and 9: 23 % dropped at 100 kbit/s and 99 % at 10 Mbit/s; UDP never fills more than half of the queue or so.
#[test]
fn figures_8_and_9_against_the_rate() {
    for (rate, band) in [("100kbit", 15.0..=30.0), ("10mbit", 97.0..=100.0)] {
        let outcome = measure("choke-report-fig4", &[("flows.cbr.rate", rate), ("access.rate", "20mbit")]);
        within("UDP dropped in %", drop_ratio(&outcome, "cbr"), 100.0, band);
        within("UDP's share of the queue", queue_share(&outcome, "cbr"), 1.0, 0.0..=0.55);
    }
}

/// Figures 10 and 11: under RED the unresponsive flow takes what it wants; what does not fit is dropped.
#[test]
fn figures_10_and_11_red() {
    for (rate, dropped) in [("2mbit", 50.0), ("3mbit", 66.7), ("5mbit", 80.0), ("10mbit", 90.0)] {
        let settings = [("flows.cbr.rate", rate), ("access.rate", "20mbit"), ("bottleneck.queue.kind", "red")];
        let outcome = measure("choke-report-fig4", &settings);
        within("UDP dropped in %", drop_ratio(&outcome, "cbr"), 100.0, dropped - 4.0..=dropped + 4.0);
    }
}

/// Figures 12 to 15: two and three candidates hardly differ from each other, and both are better than one.
#[test]
fn figures_12_to_15_several_candidates() {
    let of = ["1", "2", "3"].map(|m| measure("choke-report-fig4", &[("bottleneck.queue.candidates", m)]));
    let udp = of.each_ref().map(|outcome| kbits(outcome, "cbr"));
    assert!(udp[2] <= udp[1] && udp[1] < udp[0], "{udp:?}");
    assert!((30.0..=160.0).contains(&udp[1]), "two candidates leave UDP {} kbit/s", udp[1]);
    assert!(of[1].queues[0].mean_packets.mean <= of[0].queues[0].mean_packets.mean, "a smaller queue");
}

/// Figures 16 to 19: five UDP flows, with one candidate and with five.
#[test]
fn figures_16_to_19_five_udp_flows() {
    for rate in ["400kbit", "1mbit", "2mbit"] {
        let one = measure("choke-report-fig18", &[("flows.cbr.rate", rate), ("bottleneck.queue.candidates", "1")]);
        if rate != "400kbit" {
            within("UDP's part of the link", throughput(&one, "cbr"), 1e-6, 0.90..=1.0);
        }
        let five = measure("choke-report-fig18", &[("flows.cbr.rate", rate), ("bottleneck.queue.candidates", "5")]);
        within("TCP's part of the link, five candidates", throughput(&five, "ftp"), 1e-6, 0.55..=1.0);
    }
}
