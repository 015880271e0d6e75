//! Disciplines with a queue per flow: max-min fair shares.

use crate::setup::{SEEDS, document, extremes, figure_3, rates, seeded, simulate};

/// A setting of SFQ with so many queues that no two of 33 flows share one.
const MANY: (&str, &str) = ("bottleneck.queue.flows", "65536");

/// Figure 3, where an equal share is 1/33. TCP flows that wait for a timeout leave their share to the others, so the
/// flood's max-min share is larger: at each moment the link's rate divided by the number of flows with packets.
#[test]
fn a_flood_gets_its_share_at_each_moment() {
    for (kind, seed) in
        ["drr", "wfq", "scfq", "stfq", "sfq"].into_iter().flat_map(|kind| SEEDS.map(|seed| (kind, seed)))
    {
        let settings: &[_] = if kind == "sfq" { &[MANY] } else { &[] };
        let (run, queue_log) = simulate(&seeded(figure_3(kind, settings), seed));
        let (rates, share) = (rates(&run), 1000.0 * queue_log.share_of_the_last(run.from_s));
        let (least, most) = extremes(&rates[..32]);
        println!("{kind}: flood {:.2}, share {share:.2}, TCP {least:.2} to {most:.2} kbit/s", rates[32]);
        assert!((rates[32] / share - 1.0).abs() < 0.05, "{kind}: {} instead of {share} kbit/s", rates[32]);
        assert!((rates.iter().sum::<f64>() - 1000.0).abs() < 1.0, "{kind}: the link is busy");
        assert!(most < 1.15 * rates[32] && least > 15.0, "{kind}: {least} to {most}");
    }
}

/// DRR drops from the front of the longest queue: duplicate acknowledgements arrive at once, and few TCP flows wait for
/// a timeout. The others always have packets and get as much as the flood, within a few packets.
#[test]
fn flows_without_timeouts_get_as_much_as_the_flood() {
    for seed in SEEDS {
        let (run, _) = simulate(&seeded(figure_3("drr", &[]), seed));
        let rates = rates(&run);
        let steady: Vec<f64> = (0..32).filter(|&flow| run.flows[flow].timeouts == 0).map(|flow| rates[flow]).collect();
        assert!(steady.len() > 20, "{} of 32 TCPs never timed out", steady.len());
        // Three packets of 8 kbit in 100 s.
        assert!(steady.iter().all(|rate| (rate - rates[32]).abs() < 0.25), "{steady:?}, flood {}", rates[32]);
    }
}

/// While two flows have packets queued, the bytes sent for them differ by at most one packet of each (Golestani,
/// INFOCOM 1994, theorem 1; Goyal, Vin and Cheng, SIGCOMM 1996, theorem 1), or by a quantum and two packets (Shreedhar
/// and Varghese, SIGCOMM 1995, theorem 1). FQ-CoDel uses DRR and gives a new flow one more quantum ahead of the others.
#[test]
fn backlogged_flows_are_served_as_much_as_the_flood() {
    for (kind, bound) in [
        ("drr", 1000.0 + 2.0 * 1000.0),
        ("scfq", 2.0 * 1000.0),
        ("stfq", 2.0 * 1000.0),
        ("sfq", 2.0 * 1000.0),
        ("fq-codel", 2.0 * 1514.0 + 2.0 * 1000.0),
    ] {
        let settings: &[_] = if matches!(kind, "sfq" | "fq-codel") { &[MANY] } else { &[] };
        let (run, queue_log) = simulate(&figure_3(kind, settings));
        let (worst, together) = queue_log.unfairness();
        let rates = rates(&run);
        println!(
            "{kind}: {worst} bytes in {together:.0} s of all flows, flood {:.2}, {:?}",
            rates[32],
            extremes(&rates)
        );
        assert!(worst <= bound, "{kind}: {worst} bytes, {bound} allowed");
        // The 32 flows have packets most of the 120 s.
        assert!(together > 0.6 * 32.0 * 120.0, "{kind}: {together}");
    }
}

/// Weights by traffic class: flows of classes 0, 2, 4 and 6, with weights 1 to 4 under DRR, get 1/10 to 4/10 of the
/// link, for UDP, TCP and TFRC. Would catch a class that does not reach the queue.
#[test]
fn classes_have_their_weights() {
    for kind in ["kind = \"udp\"\nrate = \"1mbit\"", "kind = \"tcp\"\ncount = 8", "kind = \"tfrc\"\ncount = 8"] {
        let flows = (0..4).map(|half| format!("[[flows]]\nname = \"f{half}\"\nclass = \"cs{}\"\n{kind}\n", 2 * half));
        let (run, _) = simulate(&document(&format!(
            r#"
            duration = "400s"
            warmup = "20s"
            [bottleneck]
            rate = "1mbit"
            queue = {{ kind = "drr", weighted = true, limit = "200p" }}
            {}
            "#,
            flows.collect::<String>()
        )));
        let rates = rates(&run);
        for (weight, group) in (1_u8..).zip(rates.chunks(rates.len() / 4)) {
            let share = group.iter().sum::<f64>() / 1000.0;
            assert!((share / (0.1 * f64::from(weight)) - 1.0).abs() < 0.05, "{kind}: weight {weight} has {share}");
        }
    }
}

/// Returns a scenario of 16 flows of `others` and a flood of twice the link's rate.
fn sixteen(kind: &str, others: &str) -> fairlane_scenario::Document {
    document(&format!(
        r#"
        duration = "100s"
        warmup = "20s"
        [bottleneck]
        rate = "1mbit"
        queue = {{ kind = "{kind}", limit = "100p" }}
        [access]
        rate = "10mbit"
        [[flows]]
        name = "others"
        count = 16
        {others}
        [[flows]]
        name = "flood"
        kind = "udp"
        rate = "2mbit"
        "#
    ))
}

/// With a short buffer TCP times out often, and the flood gets about a fifth more than 1/17 under WFQ: the shares of
/// silent flows. With flows that never stop it gets 1/17.
#[test]
fn a_flood_gets_the_shares_of_silent_flows() {
    for kind in ["wfq", "scfq", "stfq"] {
        let (run, queue_log) = simulate(&sixteen(kind, "kind = \"tcp\""));
        let (flood, share) = (rates(&run)[16], 1000.0 * queue_log.share_of_the_last(run.from_s));
        println!("{kind}: flood {flood:.2}, share {share:.2}, 1/17 is 58.82 kbit/s");
        assert!(share > 1.08 * 1000.0 / 17.0, "{kind}: {share} is not more than 1/17");
        assert!((flood / share - 1.0).abs() < 0.05, "{kind}: {flood} instead of {share}");

        let (run, _) = simulate(&sixteen(kind, "kind = \"udp\"\nrate = \"100kbit\""));
        // Two packets of 8 kbit in 80 s.
        assert!((rates(&run)[16] - 1000.0 / 17.0).abs() < 0.2, "{kind}: {:?}", rates(&run));
    }
}

/// Would catch a simulator that does not ask CBQ again when a bounded class may send. All packets are of class 0.
#[test]
fn a_bounded_class_gets_its_share_of_an_idle_link() {
    for share in [0.1, 0.5, 0.9] {
        let mut document = sixteen("cbq", "kind = \"tcp\"");
        for (key, value) in [("shares", format!("{share}")), ("bounded", "0".to_string())] {
            document.set(&format!("bottleneck.queue.{key}"), &value).unwrap_or_else(|error| panic!("{error}"));
        }
        let (run, _) = simulate(&document);
        let got = rates(&run).iter().sum::<f64>() / 1000.0;
        assert!((got / share - 1.0).abs() < 0.02, "{share}: {got}");
    }
}
