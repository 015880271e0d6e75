//! Outcomes and their JSON form; every number here was calculated by hand.

mod common;

use common::{flow, run};
use fairlane_outcome::score::{PathScoreRun, Profile, ScoreRun, VoiceRun};
use fairlane_outcome::{
    Estimate, Outcome, Outcomes, PathRun, Point, PointValue, QueueFlowRun, QueueValues, Reason, Run, RunValues,
    VideoRun,
};

/// Would catch any change of a key, of their order, of a unit or of a formula.
#[test]
fn single_run_is_the_golden_json() {
    let outcome = Outcome::from_runs([run()]).unwrap();
    assert_eq!(outcome.to_json() + "\n", include_str!("by_hand.json"));
}

#[test]
fn json_reads_back() {
    let mut outcome = Outcome::from_runs([run(), doubled()]).unwrap();
    outcome.point = Some(Point::new().with("z", "2mbit").with("a", 3_i64).with("m", 0.02).with("b", true));
    let read = Outcome::from_json(&outcome.to_json()).unwrap();
    assert_eq!(read.to_json(), outcome.to_json());
    assert_eq!(read.point, outcome.point);
    assert_eq!((&read.flows, &read.groups), (&outcome.flows, &outcome.groups));
    let outcomes = Outcomes { outcomes: vec![outcome.clone(), outcome] };
    assert_eq!(Outcomes::from_json(&outcomes.to_json()).unwrap().to_json(), outcomes.to_json());
}

/// The keys of a point stay in the order asked, not in the alphabet's.
#[test]
fn point_keeps_its_order() {
    let point = Point::new().with("z", "2mbit").with("a", 3_i64).with("z", 1.5);
    assert_eq!(serde_json::to_string(&point).unwrap(), r#"{"z":1.5,"a":3}"#);
    assert_eq!(point.get("z"), Some(&PointValue::Ratio(1.5)));
    assert_eq!(PointValue::from(f64::NAN), PointValue::Text("NaN".to_owned()));
}

#[test]
fn broken_json_says_which_key() {
    let golden = include_str!("by_hand.json");
    for (found, put, expected) in [
        ("\"jain\": 0.9", "\"jane\": 0.9", "`jain` is missing"),
        ("\"sent\": 100,", "\"sent\": \"many\",", "`sent`"),
        ("\"limit\": 0,", "", "`limit`"),
    ] {
        assert!(golden.contains(found));
        let error = Outcome::from_json(&golden.replacen(found, put, 1)).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

/// Twice as much of everything at the queue.
fn doubled() -> Run {
    let mut run = run();
    for part in &mut run.queues[0].flows {
        part.arrived *= 2;
        part.departed *= 2;
        part.departed_bytes *= 2;
        part.dropped = part.dropped.map(|count| count * 2);
    }
    run.run = 1;
    run
}

/// The half width of two values is t(1)·|a − b|/2, with t(1) = tan(0.475π) = 12.7062047.
#[test]
fn two_runs_have_a_mean_and_an_interval() {
    let outcome = Outcome::from_runs([run(), doubled()]).unwrap();
    let near = |estimate: Estimate, mean: f64, apart: f64| {
        let half = 12.706_204_736_174_7 * apart / 2.0;
        assert!((estimate.mean - mean).abs() <= 1e-12 * mean, "{estimate:?}, expected {mean}");
        assert!((estimate.ci95().unwrap() - half).abs() <= 1e-9 * half.max(1e-3), "{estimate:?}, expected ± {half}");
    };
    let queue = outcome.queue("bottleneck").unwrap();
    near(queue.arrived, 1725.0, 1150.0);
    near(queue.dropped.get(Reason::MatchArrival), 417.0, 278.0);
    near(queue.utilisation, 0.648, 0.432);
    near(queue.mean_avg.unwrap(), 7.5, 0.0);
    near(outcome.group("cbr").unwrap().throughput_bps, 486_000.0, 324_000.0);
    near(outcome.group("cbr").unwrap().share, 0.75, 0.0);
    near(outcome.group("ftp").unwrap().jain.unwrap(), 0.9, 0.0);
    near(outcome.flow("ftp/1").unwrap().throughput_bps, 54_000.0, 36_000.0);
    assert_eq!(outcome.runs, 2);
    let json: serde_json::Value = serde_json::from_str(&outcome.to_json()).unwrap();
    assert_eq!(json["queues"][0]["arrived"], 1725.0);
    assert!(json["queues"][0]["arrived_ci95"].is_f64());
    assert!(json["queues"][0]["dropped"]["early_ci95"].is_f64());
    assert!(json["queues"][0]["delay_s"]["p95_ci95"].is_f64());
    assert!(json["groups"][0].get("flows_ci95").is_none(), "the number of flows is no measurement");
    assert_eq!(json["cost"]["events"], 8000);
    assert_eq!(json["cost"]["peak_rss_bytes"], 1 << 20);
    assert_eq!(json["cost"]["cpu_s"], 1.0);
}

#[test]
fn same_runs_give_the_same_bytes_but_for_the_cost() {
    let mut slower = run();
    slower.cost.wall_s = 99.0;
    let (first, second) = (Outcome::from_runs([run()]).unwrap(), Outcome::from_runs([slower]).unwrap());
    assert_ne!(first.to_json(), second.to_json());
    assert_eq!(first.to_json_without_cost(), second.to_json_without_cost());
    assert!(!first.to_json_without_cost().contains("cost"));
    let both = |outcome| Outcomes { outcomes: vec![outcome] }.to_json_without_cost();
    assert_eq!(both(first), both(second));
}

/// An interrupted run does not spoil the means of the complete ones, and its cost is not forgotten.
#[test]
fn interrupted_runs_do_not_mix_windows() {
    let mut short = doubled();
    short.to_s = 12.5;
    short.partial = true;
    let outcome = Outcome::from_runs([short.clone(), run()]).unwrap();
    assert_eq!((outcome.runs, outcome.partial, outcome.to_s), (1, true, 20.0));
    assert_eq!(outcome.group("cbr").unwrap().throughput_bps, Estimate::single(324_000.0));
    assert_eq!(outcome.cost.events, 8000);

    // Alone, it has everything: 2 · 405 packets in a quarter of the time.
    let alone = Outcome::from_runs([short]).unwrap();
    assert_eq!((alone.runs, alone.partial, alone.to_s), (1, true, 12.5));
    assert_eq!(alone.group("cbr").unwrap().throughput_bps, Estimate::single(8.0 * 324_000.0));
    assert!(alone.to_json().contains("\"partial\": true"));
    assert!(!outcome.queues.is_empty() && !Outcome::from_runs([run()]).unwrap().to_json().contains("partial"));
}

/// A flow that one run never saw at the queue counts as 0 there, not as missing.
#[test]
fn a_flow_missing_in_one_run_counts_as_nothing() {
    let mut without = run();
    without.queues[0].flows.remove(0);
    let outcome = Outcome::from_runs([without, run()]).unwrap();
    let queue = outcome.queue("bottleneck").unwrap();
    assert_eq!(queue.flow(0).unwrap().arrived.mean, 50.0);
    assert_eq!(queue.flows.iter().map(|flow| flow.id).collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(outcome.flow("ftp/0").unwrap().throughput_bps.mean, 36_000.0);
}

/// The average is taken over the runs that have one.
#[test]
fn averages_that_a_run_lacks_are_left_out() {
    let mut without = run();
    without.queues[0].mean_avg = None;
    let none = Outcome::from_runs([without.clone()]).unwrap();
    assert!(none.to_json().contains("\"mean_avg\": null"));
    assert_eq!(Outcome::from_json(&none.to_json()).unwrap().queues[0].mean_avg, None);
    let some = Outcome::from_runs([without, run()]).unwrap();
    assert_eq!(some.queues[0].mean_avg, Some(Estimate::single(7.5)));
}

/// Throughput is taken at the flow's exit: not at the queue before it, and not where its acknowledgements pass.
#[test]
fn throughput_is_measured_at_the_exit() {
    let mut run = run();
    let mut second = run.queues[0].clone();
    second.name = "second".to_owned();
    second.mean_packets = 2.0;
    second.flows = vec![QueueFlowRun { flow: 0, departed_bytes: 50_000, mean_packets: 2.0, ..QueueFlowRun::default() }];
    let mut reverse = second.clone();
    reverse.name = "second/reverse".to_owned();
    reverse.flows[0].departed_bytes = 40;
    run.queues.extend([second, reverse]);
    run.flows[0].exit = Some(1);
    run.flows[1].exit = None;
    run.flows[2].exit = Some(99);
    let outcome = Outcome::from_runs([run]).unwrap();
    let throughput = |name| outcome.flow(name).unwrap().throughput_bps.mean;
    assert_eq!(throughput("ftp/0"), 40_000.0);
    assert_eq!(outcome.flow("ftp/0").unwrap().queue_share.mean, 1.0);
    // Without a queue on the path there is only what arrived.
    assert_eq!((throughput("ftp/1"), throughput("cbr/0")), (36_000.0, 324_000.0));
    // Of the 2 packets in the only last queue.
    assert_eq!(outcome.group("ftp").unwrap().queue_share.mean, 1.0);
}

/// Two groups that leave by different queues have 6 of 8 and 2 of 2 packets there. Would catch parts of different
/// wholes, 75 and 100 %, in one column.
#[test]
fn parts_of_queues_add_up_to_one_at_most() {
    let mut run = run();
    let mut second = run.queues[0].clone();
    second.name = "second".to_owned();
    second.mean_packets = 2.0;
    second.flows = vec![QueueFlowRun { flow: 0, mean_packets: 2.0, ..QueueFlowRun::default() }];
    run.queues.push(second);
    run.flows[0].exit = Some(1);
    let outcome = Outcome::from_runs([run]).unwrap();
    let share = |name| outcome.group(name).unwrap().queue_share.mean;
    assert!(
        (share("cbr") - 0.6).abs() < 1e-12 && (share("ftp") - 0.25).abs() < 1e-12,
        "{} {}",
        share("cbr"),
        share("ftp")
    );
    for queue in &outcome.queues {
        let sum: f64 = queue.groups.iter().map(|group| group.queue_share.mean).sum();
        assert!(sum <= 1.0 + 1e-12, "{sum} at {}", queue.name);
    }
}

/// Two packets of 30 ms and 2 ms of jitter, and six of 10 ms without: 15 ms and 0.5 ms for the group, weighted by
/// packets; round trips of 3 acknowledgements in 120 ms. Would catch a mean of means, and a delay of 0 where none is
/// known.
#[test]
fn delays_are_means_over_packets() {
    let mut run = run();
    run.flows[0].delivered = 2;
    run.flows[0].path =
        Some(PathRun { delay_ns: 60_000_000, variation_ns: 4_000_000, round_trip_ns: 120_000_000, round_trips: 3 });
    run.flows[1].delivered = 6;
    run.flows[1].path = Some(PathRun { delay_ns: 60_000_000, ..PathRun::default() });
    let outcome = Outcome::from_runs([run]).unwrap();
    let near =
        |value: Option<Estimate>, expected: f64| value.is_some_and(|value| (value.mean - expected).abs() < 1e-12);
    let (group, flow) = (outcome.group("ftp").unwrap(), outcome.flow("ftp/0").unwrap());
    assert!(near(flow.delay_s, 0.03) && near(flow.jitter_s, 0.002) && near(flow.rtt_s, 0.04), "{flow:?}");
    assert!(near(group.delay_s, 0.015) && near(group.jitter_s, 0.0005) && near(group.rtt_s, 0.04), "{group:?}");
    assert_eq!((outcome.flow("ftp/1").unwrap().rtt_s, outcome.group("cbr").unwrap().delay_s), (None, None));
    let json: serde_json::Value = serde_json::from_str(&outcome.to_json()).unwrap();
    assert!(json["groups"][1].get("delay_s").is_none() && json["flows"][0]["delay_s"] == 0.03);
    assert_eq!(Outcome::from_json(&outcome.to_json()).unwrap().flows, outcome.flows);
}

/// 10, 12 and 14 less 1, 2 and 3 are 9, 10 and 11, whose standard deviation is 1: the half width is 4.302653 (t for 2
/// degrees of freedom) over √3. Without pairs it would be that of deviations 2 and 1. Would catch pairs of runs of
/// different numbers.
#[test]
fn differences_are_taken_run_by_run() {
    let outcome = |delays: [f64; 3], order: [u32; 3]| {
        let mut outcome = Outcome::from_runs([run()]).unwrap();
        let values = |run: u32, delay_mean_s| RunValues {
            run,
            queues: [("bottleneck".to_owned(), QueueValues { delay_mean_s, utilisation: 1.0 })].into(),
            ..RunValues::default()
        };
        outcome.each_run = order.iter().map(|run| values(*run, delays[*run as usize])).collect();
        outcome
    };
    let delay = |values: &RunValues| Some(values.queues.get("bottleneck")?.delay_mean_s);
    let (long, short) = (outcome([10.0, 12.0, 14.0], [0, 1, 2]), outcome([1.0, 2.0, 3.0], [2, 0, 1]));
    let difference = long.paired_difference(&short, delay).unwrap();
    assert_eq!(difference.mean, 10.0);
    assert!((difference.ci95().unwrap() - 4.302_652_73 / 3.0_f64.sqrt()).abs() < 1e-6, "{difference:?}");
    assert_eq!(long.paired_difference(&Outcome { seed: 8, ..short.clone() }, delay), None);
    assert_eq!(long.paired_difference(&Outcome { each_run: short.each_run[..1].to_vec(), ..short }, delay), None);
    // An outcome of several runs has the values of each.
    let mut other = run();
    other.run = 1;
    let both = Outcome::from_runs([run(), other]).unwrap();
    assert_eq!(both.each_run.iter().map(|values| values.run).collect::<Vec<_>>(), [0, 1]);
    assert_eq!(
        (both.each_run[1].groups["ftp"].throughput_bps, both.each_run[1].groups["ftp"].share),
        (108_000.0, 0.25)
    );
    assert_eq!(Outcome::from_json(&both.to_json()).unwrap().each_run, both.each_run);
}

/// Would catch a summary whose queue depends on the measured values: here the busiest one changes, and the queues shown
/// do not.
#[test]
fn the_queues_of_a_summary_do_not_depend_on_the_numbers() {
    let named = |rates: [f64; 2], names: [&str; 2]| {
        let mut run = run();
        run.queues.push(run.queues[0].clone());
        for ((queue, rate), name) in run.queues.iter_mut().zip(rates).zip(names) {
            (queue.rate_bps, queue.name) = (rate, name.to_owned());
        }
        Outcome::from_runs([run]).unwrap()
    };
    let shown = |outcome: &Outcome| outcome.shown_queues().map(|queue| queue.name.clone()).collect::<Vec<_>>();
    for rates in [[1e6, 2e6], [2e6, 1e6]] {
        assert_eq!(shown(&named(rates, ["first", "second"])), ["first", "second"]);
        assert_eq!(shown(&named(rates, ["bottleneck", "second"])), ["bottleneck"]);
        let asked = Outcome { at: Some("second".to_owned()), ..named(rates, ["bottleneck", "second"]) };
        assert_eq!(shown(&asked), ["second"]);
        assert!(asked.to_json().contains("\"at\": \"second\""));
        assert_eq!(
            Outcome::from_json(&asked.to_json()).unwrap(),
            Outcome { queues: without_histograms(&asked), ..asked }
        );
    }
}

fn without_histograms(outcome: &Outcome) -> Vec<fairlane_outcome::QueueOutcome> {
    let without = |queue: &fairlane_outcome::QueueOutcome| fairlane_outcome::QueueOutcome {
        delay_histogram: fairlane_outcome::DelayHistogram::default(),
        ..queue.clone()
    };
    outcome.queues.iter().map(without).collect()
}

/// 540 packets of 8000 bits in 10 s are 43.2 % of 1 Mbit/s; half a packet that began before and a quarter of one that
/// ended after are 2000 bits more.
#[test]
fn packets_across_an_end_count_with_their_part() {
    let mut run = run();
    run.queues[0].edge_bytes = 1000.0 * (0.5 - 0.25);
    let used = Outcome::from_runs([run]).unwrap().queues[0].utilisation.mean;
    assert!((used - 0.4322).abs() < 1e-12, "{used}");
}

/// The engine's fair rates and notes are the outcome's; an engine without any has no such keys.
#[test]
fn fair_rates_and_notes_come_with_the_run() {
    let plain = Outcome::from_runs([run()]).unwrap();
    assert!(!plain.to_json().contains("fair") && !plain.to_json().contains("notes"));
    let mut known = run();
    known.expected.fair_bps = vec![("ftp".to_owned(), 750e3), ("cbr".to_owned(), 250e3)];
    known.expected.notes = vec!["a note".to_owned()];
    let outcome = Outcome::from_runs([known.clone(), known]).unwrap();
    let ftp = outcome.group("ftp").unwrap();
    assert_eq!((ftp.fair_bps, ftp.fair_share, &outcome.notes), (Some(750e3), Some(0.75), &vec!["a note".to_owned()]));
    assert_eq!(Outcome::from_json(&outcome.to_json()).unwrap().groups, outcome.groups);
}

/// Other disciplines' reasons are printed when they occur.
#[test]
fn further_reasons_are_printed_when_they_occur() {
    let mut run = run();
    run.queues[0].flows[0].dropped[Reason::Table.index()] = 4;
    let json = Outcome::from_runs([run]).unwrap().to_json();
    assert!(json.contains("\"table\": 4"));
    assert!(!json.contains("expired"));
    assert_eq!(Outcome::from_json(&json).unwrap().queues[0].dropped.get(Reason::Table).mean, 4.0);
}

/// Losses on wires are counted apart from drops, and appear only if there are any.
#[test]
fn losses_on_wires_are_printed_when_they_occur() {
    let clean = Outcome::from_runs([run(), run()]).unwrap();
    assert!(!clean.to_json().contains("lost"));
    assert_eq!(Outcome::from_json(&clean.to_json()).unwrap().flows, clean.flows);
    let mut lossy = run();
    (lossy.queues[0].flows[0].lost, lossy.queues[0].flows[1].lost, lossy.flows[0].lost) = (3, 4, 3);
    let outcome = Outcome::from_runs([lossy, run()]).unwrap();
    let queue = &outcome.queues[0];
    assert_eq!((queue.lost.mean, outcome.flows[0].lost.mean, outcome.flows[1].lost.mean), (3.5, 1.5, 0.0));
    assert_eq!((queue.dropped.total(), queue.departed), (clean.queues[0].dropped.total(), clean.queues[0].departed));
    let read = Outcome::from_json(&outcome.to_json()).unwrap();
    assert_eq!((read.queues[0].lost, &read.flows), (queue.lost, &outcome.flows));
    assert!(queue.lost.ci95().is_some());
}

/// Nothing to divide by must not become a NaN, which JSON prints as `null`; Jain's index of nothing is one.
#[test]
fn nothing_measured_is_nothing_and_not_nan() {
    assert!(Outcome::from_runs([]).is_none());
    let mut idle = run();
    idle.to_s = idle.from_s;
    idle.queues[0].delay_ns.clear();
    idle.queues[0].mean_packets = f64::NAN;
    idle.queues[0].mean_avg = Some(f64::INFINITY);
    idle.flows.push(flow(3, "ftp/2", 0, 0));
    let mut empty = idle.clone();
    empty.queues.clear();
    empty.flows.clear();
    for runs in [vec![idle.clone()], vec![empty.clone()], vec![idle, empty]] {
        let json = Outcome::from_runs(runs).unwrap().to_json();
        assert!(!json.replace("\"jain\": null", "").contains("null"), "{json}");
    }
}

/// Nearest rank: of 1 to 40 ms, 20 ms is not exceeded by half, 38 ms by 95 % and 40 ms by 99 %; the mean is 20.5 ms.
/// The group has those of both its flows; who makes no transfers has no key.
#[test]
fn completed_transfers_are_summed_up() {
    let mut run = run();
    run.flows[0].completions_ns = Some((1..=20).rev().map(|millis| 2_000_000 * millis).collect());
    run.flows[1].completions_ns = Some((1..=20).map(|millis| 2_000_000 * millis - 1_000_000).collect());
    // Start-up times of 1, 3 and 5 ms.
    run.flows[0].startups_ns = Some(vec![1_000_000, 3_000_000]);
    run.flows[1].startups_ns = Some(vec![5_000_000]);
    let outcome = Outcome::from_runs([run.clone()]).unwrap();
    let json: serde_json::Value = serde_json::from_str(&outcome.to_json()).unwrap();
    let expected = serde_json::json!({"completed": 40, "startup_s": 0.003, "completion_s": {"mean": 0.0205, "p50": 0.02, "p95": 0.038, "p99": 0.04}});
    assert_eq!(json["groups"][0]["transfers"], expected);
    assert_eq!(json["flows"][0]["transfers"]["completion_s"]["mean"], 0.021);
    for other in [&json["groups"][1], &json["flows"][2]] {
        assert!(other.get("transfers").is_none());
    }
    assert_eq!(Outcome::from_json(&outcome.to_json()).unwrap().to_json(), outcome.to_json());
    // A run in which none was completed has no time: that is not the best one.
    let mut none = run.clone();
    none.flows[0].completions_ns = Some(Vec::new());
    none.flows[1].completions_ns = Some(Vec::new());
    let neither = Outcome::from_runs([none.clone()]).unwrap().to_json();
    assert!(neither.contains("\"completion_s\": null"));
    assert_eq!(Outcome::from_json(&neither).unwrap().to_json(), neither);
    let both = Outcome::from_runs([run, none]).unwrap();
    let transfers = both.group("ftp").and_then(|group| group.transfers.as_ref()).unwrap();
    assert_eq!((transfers.completed.mean, transfers.completion_s.as_ref().unwrap().p50.mean), (20.0, 0.02));
    assert!(transfers.completed.ci95().is_some());
    // A bin for each time, to three digits; the transfers of all runs are in it.
    let bins = transfers.completion_histogram.bins();
    assert_eq!((bins.len(), bins.iter().map(|bin| bin.packets).sum::<u64>()), (40, 40));
    for (bin, millis) in bins.iter().zip(1..) {
        assert!((bin.from_ns..=bin.to_ns).contains(&(1_000_000 * millis)), "{bin:?}");
        assert!(bin.to_ns - bin.from_ns <= bin.to_ns / 1000, "{bin:?}");
    }
}

/// By hand: two viewers with 3 and 1 segments of 1 and 4 Mbit/s have a mean of (3 · 1 + 4)/4 = 1.75 Mbit/s, one
/// start-up of 0.5 s and one that never came. Would catch a start-up that counts as 0 where none was, and stalls that
/// are averaged.
#[test]
fn viewers_are_summed_up() {
    let mut run = run();
    let first =
        VideoRun { segments: 3, bit_rates_bps: 3_000_000, startup_ns: Some(500_000_000), ..VideoRun::default() };
    let stalled = VideoRun { stalls: 2, stalled_ns: 1_500_000_000, switches: 1, ..VideoRun::default() };
    run.flows[0].video = Some(Box::new(first));
    run.flows[1].video = Some(Box::new(VideoRun { segments: 1, bit_rates_bps: 4_000_000, ..stalled }));
    let outcome = Outcome::from_runs([run]).unwrap();
    let json: serde_json::Value = serde_json::from_str(&outcome.to_json()).unwrap();
    let expected = serde_json::json!({
        "segments": 4, "bit_rate_bps": 1_750_000.0, "stalls": 2, "stalled_s": 1.5, "switches": 1, "startup_s": 0.5
    });
    assert_eq!(json["groups"][0]["video"], expected);
    assert_eq!(json["flows"][1]["video"]["bit_rate_bps"], 4e6);
    assert!(json["flows"][1]["video"].get("startup_s").is_none() && json["groups"][1].get("video").is_none());
    assert_eq!(Outcome::from_json(&outcome.to_json()).unwrap().to_json(), outcome.to_json());
}

/// By hand: of 100 packets 4 are missing in two runs of two, so the burst ratio is 2 · 0.96 = 1.92 and Ie,eff = 95 ·
/// 4/(4/1.92 + 25.1) = 13.98. With 150 ms, whose rating is 89.54, R is 75.56, and the MOS 1 + 2.6446 + 75.56 · 15.56 ·
/// 24.44 · 7·10⁻⁶ = 3.846.
#[test]
fn calls_are_rated() {
    let mut run = run();
    let call = VoiceRun { played: 96, missing: 4, bursts: 2, delay_ns: 150_000_000 };
    run.flows[0].score = Some(Box::new(ScoreRun::Voice(call)));
    let outcome = Outcome::from_runs([run.clone()]).unwrap();
    let score = outcome.groups[0].score.as_deref().unwrap();
    assert_eq!((&*score.application, score.missing.map(|it| it.mean), score.qoo), ("voip", Some(0.04), None));
    assert!((score.rating.unwrap().mean - 75.56).abs() < 0.02, "{score:?}");
    assert!((score.mos.unwrap().mean - 3.846).abs() < 0.002, "{score:?}");
    assert!(outcome.groups[1].score.is_none());
    assert_eq!(Outcome::from_json(&outcome.to_json()).unwrap().to_json(), outcome.to_json());
    let whole: Run = serde_json::from_str(&serde_json::to_string(&run).unwrap()).unwrap();
    assert_eq!(whole.flows, run.flows);
}

/// Of 160 packets of the group ftp 16 are dropped, 10 %: useless to all. Without drops, 19 round trips of 40 ms and one
/// of 100 ms: the 95th percentile is 40 ms, which all bear. Would catch a percentile of each flow for that of the
/// group: the second flow has only the long one.
#[test]
fn paths_are_scored_for_an_application() {
    let mut run = run();
    let score = |times: &[u64]| {
        let mut round_trip_ns = hdrhistogram::Histogram::new(3).unwrap();
        times.iter().for_each(|ms| round_trip_ns.record(ms * 1_000_000).unwrap());
        Some(Box::new(ScoreRun::Path(PathScoreRun { profile: Profile::VideoConference, round_trip_ns })))
    };
    run.flows[0].score = score(&[40; 19]);
    run.flows[1].score = score(&[100]);
    let qoo = |run: &Run| {
        let outcome = Outcome::from_runs([run.clone()]).unwrap();
        let score = outcome.groups[0].score.clone().unwrap();
        assert_eq!((&*score.application, score.mos), ("video-conference", None));
        let measured = [score.round_trip_s, score.loss].map(|value| value.unwrap().mean);
        assert!((measured[0] - 0.04).abs() < 1e-4, "{measured:?}");
        (score.qoo.unwrap().mean, measured[1])
    };
    assert_eq!(qoo(&run), (0.0, 0.1));
    run.flows.iter_mut().for_each(|flow| flow.dropped = 0);
    assert_eq!(qoo(&run), (100.0, 0.0));
}

/// Would catch a path that loses every packet, which has no round trips, without a score, and a score of one that has
/// sent nothing.
#[test]
fn a_path_that_loses_everything_is_useless() {
    let scored = |sent: u64, dropped: u64| {
        let mut run = run();
        let round_trip_ns = hdrhistogram::Histogram::new(3).unwrap();
        run.flows[0].score = Some(Box::new(ScoreRun::Path(PathScoreRun { profile: Profile::Web, round_trip_ns })));
        run.flows[1].sent = 0;
        (run.flows[0].sent, run.flows[0].dropped, run.flows[1].dropped) = (sent, dropped, 0);
        let score = Outcome::from_runs([run]).unwrap().groups[0].score.clone().unwrap();
        (score.qoo.map(|it| it.mean), score.loss.map(|it| it.mean), score.round_trip_s)
    };
    assert_eq!(scored(80, 80), (Some(0.0), Some(1.0), None));
    assert_eq!(scored(80, 20), (None, Some(0.25), None));
    assert_eq!(scored(0, 0), (None, None, None));
}
