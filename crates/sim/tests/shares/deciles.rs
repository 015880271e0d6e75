//! Equal flows have equal shares, regardless of their numbers.

use crate::setup::{SEEDS, document, extremes, mean, rates, seeded, simulate};

/// A hundred TCP flows that differ in nothing but their numbers and the moment of their start in the first second.
fn equal_flows(rate: &str, seconds: u32, queue: &str) -> fairlane_scenario::Document {
    document(&format!(
        r#"
        duration = "{seconds}s"
        warmup = "20s"
        [tcp]
        preset = "ns2-1999"
        min_rto = "200ms"
        [bottleneck]
        rate = "{rate}"
        delay = "2ms"
        queue = {{ {queue} }}
        [access]
        rate = "1gbit"
        delay = "2ms"
        [[flows]]
        name = "ftp"
        kind = "tcp"
        cc = "newreno"
        count = 100
        window = 1000
        packet = "1000b"
        start = "0s..1s"
        "#
    ))
}

/// Checks that the mean throughputs, over `seeds`, of the first ten flows, the second ten and so on are within 3 % of
/// each other.
fn deciles_are_equal(rate: &str, seconds: u32, seeds: &[u32], queue: &str) {
    let mut rates = vec![0.0; 100];
    for seed in seeds {
        let (run, _) = simulate(&seeded(equal_flows(rate, seconds, queue), *seed));
        rates.iter_mut().zip(self::rates(&run)).for_each(|(mean, rate)| *mean += rate / seeds.len() as f64);
    }
    let deciles: Vec<f64> = rates.chunks(10).map(|decile| mean(decile) / mean(&rates)).collect();
    let (least, most) = extremes(&deciles);
    println!("{queue}: deciles {deciles:.3?}, flows {:.1?} of {:.1} kbit/s", extremes(&rates), mean(&rates));
    assert!(most - least < 0.03, "{queue}: {deciles:.3?}");
}

/// Buffers with room for less than two packets of each flow. Would catch equally long queues of which always the first
/// loses a packet, by its flow's key or by its number, and equal tags of which the lowest key is always sent first.
/// With drops from the lowest key the deciles under DRR are 0.75 to 1.3 of the mean.
#[test]
#[cfg_attr(debug_assertions, ignore = "slow without optimisation; make check runs it in a release build")]
fn equal_flows_lose_equally_for_room() {
    for queue in ["drr", "wfq", "scfq", "stfq"] {
        deciles_are_equal("20mbit", 620, &SEEDS[..1], &format!(r#"kind = "{queue}", limit = "160p""#));
    }
    // With so many queues no two flows share one.
    for queue in ["sfq", "fq-codel"] {
        deciles_are_equal("20mbit", 620, &SEEDS[..1], &format!(r#"kind = "{queue}", limit = "160p", flows = 65536"#));
    }
}

/// Would catch turns or probabilities that favour one end of the list of flows, where each queue is controlled for
/// itself. Under CAKE the deciles of one run are 1.6 to 3.3 % apart, and their means over eight runs about 1 %.
#[test]
#[cfg_attr(debug_assertions, ignore = "slow without optimisation; make check runs it in a release build")]
fn equal_flows_are_signalled_equally() {
    for queue in [r#"kind = "fq-codel", flows = 65536"#, r#"kind = "fq-pie", flows = 65536"#, r#"kind = "cake""#] {
        deciles_are_equal("200mbit", 90, &SEEDS, queue);
    }
}
