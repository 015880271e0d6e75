//! CHOKe protects at any overload: the more a flow sends the more it meets itself.

use crate::setup::{drop_ratio, measure, throughput, within};

fn protects(scenario: &str, link_bps: f64, group: &str, rate: &str, settings: &[(&str, &str)]) {
    let key = format!("flows.{group}.rate");
    let mut all = vec![(key.as_str(), rate)];
    all.extend(settings);
    let outcome = measure(scenario, &all);
    within("the flood's part of the link", throughput(&outcome, group), 1.0 / link_bps, 0.0..=0.05);
    within("the link is used", outcome.queues[0].utilisation, 1.0, 0.98..=1.0);
    let dropped = drop_ratio(&outcome, group).mean;
    let queue = outcome.queues[0].group(group).expect("it floods");
    let passed = queue.departed.mean / queue.arrived.mean;
    // A queue of 300 packets at most lies between what came and what went.
    assert!((dropped + passed - 1.0).abs() <= 300.0 / queue.arrived.mean, "{dropped} dropped, {passed} passed");
}

/// Figure 3's link and thresholds.
#[test]
fn protects_at_ten_forty_and_a_hundred_times_the_link() {
    for rate in ["10mbit", "40mbit", "100mbit"] {
        protects("choke-fig3", 1e6, "cbr", rate, &[("access.rate", "1gbit")]);
    }
}

/// A faster link, with TCP as it is today.
#[test]
fn protects_today() {
    for rate in ["100mbit", "400mbit", "1gbit"] {
        protects("overload", 1e7, "flood", rate, &[("duration", "15s")]);
    }
}
