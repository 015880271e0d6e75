//! The measurements, where they have closed forms.

use fairlane_characterize::{Plan, Report, Settings, Subject, SubjectReport, Verdict};
use fairlane_qdisc::{Kind, QdiscParameters};
use fairlane_sim::Control;

fn report(only: &str, kind: Kind) -> Report {
    let settings = Settings { only: vec![only.to_owned()], quick: true, ..Settings::default() };
    let subject = Subject::new(QdiscParameters::new(kind));
    let plan = Plan::new(vec![subject], settings, &Control::default()).unwrap_or_else(|error| panic!("{error}"));
    plan.execute(Some(2), &Control::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// The first case's measurements under DropTail.
fn droptail(report: &Report) -> &SubjectReport {
    &report.sections[0].cases[0].subjects[0]
}

/// UDP at twice the rate: half of the packets are lost, and the link is full. A packet is accepted within half a transmission of 1.2 ms after
/// another has left the queue, so it waits for the 82 others that are left and for the rest of one in transmission: 82.5 to 83
/// transmissions. The only flow loses in each event.
#[test]
fn a_flood_fills_the_queue() {
    let report = report("unresponsive", Kind::Red);
    let subject = droptail(&report);
    let group = &subject.groups[0];
    assert!((group.goodput_bps.mean / 10e6 - 1.0).abs() < 1e-3, "{group:?}");
    assert!((group.loss.mean - 0.5).abs() < 1e-3, "{group:?}");
    assert!((group.queueing_s.mean / 1.2e-3 - 82.75).abs() < 0.3, "{group:?}");
    assert!((subject.queue.utilisation.mean - 1.0).abs() < 1e-3);
    assert!((subject.queue.loss.mean - 0.5).abs() < 1e-3);
    assert_eq!(subject.queue.synchronisation.map(|share| share.mean), Some(1.0));
    // Every second packet is lost: 1.2 ms, or two in a row.
    let gap = group.gap_s.map(|gap| gap.mean).unwrap_or_default();
    assert!((gap / 1.2e-3 - 1.0).abs() < 0.01, "{gap}");
    // Three runs of one flow.
    assert_eq!((group.points.len(), subject.runs), (3, 3));
    assert!(group.ellipse.is_some());
    assert_eq!(report.sections[0].verdict, Verdict::Characterised);
    assert_eq!(report.subjects, ["droptail", "red"]);
}

/// The one-way delay of a full queue is 50 ms of propagation, the transmissions over the hosts' links of 0.12 ms, the one over the
/// bottleneck of 1.2 ms, and the wait; its variation is bounded by one transmission.
#[test]
fn delays_are_those_of_the_path_and_the_queue() {
    let report = report("unresponsive", Kind::Red);
    let group = &droptail(&report).groups[0];
    let path = 0.05 + 2.0 * 0.00012 + 0.0012;
    for delay in group.delay_s {
        assert!((delay.mean - path - 82.75 * 0.0012).abs() < 0.0007, "{delay:?}");
    }
    assert!(group.variation_s[2].mean <= 0.0013, "{group:?}");
}

/// A NewReno flow alone, with a buffer of one bandwidth-delay product, keeps the link full (Villamizar and Song 1994), and its window moves
/// between half of the pipe and the pipe: the queue between empty and 83 packets.
#[test]
fn a_buffer_of_one_product_keeps_the_link_full() {
    let report = report("friendly", Kind::Red);
    let subject = droptail(&report);
    assert!(subject.queue.utilisation.mean > 0.97, "{:?}", subject.queue);
    assert!(subject.groups[0].variation_s[2].mean <= 84.0 * 0.0012, "{:?}", subject.groups[0]);
}

/// Would catch phases whose parts of the period are mixed up: at 100 Mbit/s the flows get more than 10 Mbit/s, at 10 Mbit/s they get that,
/// and the queue holds the packets that wait.
#[test]
fn phases_have_their_own_means() {
    let report = report("capacity-slow", Kind::Red);
    let [high, low] = &*droptail(&report).phases else { panic!("two phases") };
    assert!(high.throughput_bps.mean > 15e6 && high.throughput_bps.mean <= 100e6, "{high:?}");
    // What is on the link and in the queue at the change arrives later.
    assert!((low.throughput_bps.mean / 10e6 - 1.0).abs() < 0.1, "{low:?}");
    assert!(low.queueing_s.mean > high.queueing_s.mean);
}

/// Equal round trips share equally, a round trip of 300 ms gets less than one of 100 ms, and 20 ms gets more (section 6).
#[test]
fn the_curve_falls_with_the_round_trip() {
    let report = report("rtt", Kind::FqCodel);
    let curve = report.sections[0].curve.as_ref().expect("a curve");
    assert_eq!(curve.variable, "other");
    let of = |label: &str| {
        let points = curve.lines.iter().find(|line| line.label == label).map(|line| line.points.clone());
        points.unwrap_or_default().into_iter().map(|(rtt, ratio)| (rtt, ratio.mean)).collect::<Vec<_>>()
    };
    let droptail = of("droptail");
    assert_eq!(droptail.iter().map(|point| point.0).collect::<Vec<_>>(), [20.0, 100.0, 300.0]);
    assert!(droptail[0].1 > 1.0 && droptail[2].1 < 1.0, "{droptail:?}");
    // A queue for each flow makes equal flows equal.
    let fair = of("fq-codel");
    assert!((fair[1].1 - 1.0).abs() < 0.2, "{fair:?}");
}

/// Would catch a stop that is taken for the end: an interrupted report says which part is missing.
#[test]
fn an_interrupted_report_says_so() {
    let settings = Settings { only: vec!["friendly".to_owned()], quick: true, ..Settings::default() };
    let plan = Plan::new(Vec::new(), settings, &Control::default()).unwrap_or_else(|error| panic!("{error}"));
    let control = Control::default();
    control.stop();
    let report = plan.execute(None, &control).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(report.missing_runs, Some((3, 3)));
    assert!(report.sections[0].cases[0].subjects.is_empty());
}

/// Discussions speak of each discipline.
#[test]
fn discussions_have_sentences() {
    for id in ["scheduling", "cost", "operator"] {
        let report = report(id, Kind::Pie);
        let section = &report.sections[0];
        assert_eq!((section.verdict, section.discussion.len()), (Verdict::Discussed, 2));
        assert!(section.discussion.iter().all(|(_, sentences)| sentences.len() >= 2));
    }
    // DropTail cannot mark.
    let settings = Settings { only: vec!["ecn".to_owned()], quick: true, ..Settings::default() };
    let plan = Plan::new(Vec::new(), settings, &Control::default()).unwrap_or_else(|error| panic!("{error}"));
    let report = plan.execute(None, &Control::default()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(report.sections[0].verdict, Verdict::NotApplicable);
}
