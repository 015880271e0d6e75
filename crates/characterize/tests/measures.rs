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

/// UDP at twice the rate: half of the packets are lost, and the link is full. A packet is accepted within half a
/// transmission of 1.2 ms after another has left the queue, so it waits for the 82 others that are left and for the
/// rest of one in transmission: 82.5 to 83 transmissions. The only flow loses in each event.
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

/// The one-way delay of a full queue is 50 ms of propagation, the transmissions over the hosts' links of 0.12 ms, the
/// one over the bottleneck of 1.2 ms, and the wait; its variation is bounded by one transmission.
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

/// A NewReno flow alone, with a buffer of one bandwidth-delay product, keeps the link full (Villamizar and Song 1994),
/// and its window moves between half of the pipe and the pipe: the queue between empty and 83 packets.
#[test]
fn a_buffer_of_one_product_keeps_the_link_full() {
    let report = report("friendly", Kind::Red);
    let subject = droptail(&report);
    assert!(subject.queue.utilisation.mean > 0.97, "{:?}", subject.queue);
    assert!(subject.groups[0].variation_s[2].mean <= 84.0 * 0.0012, "{:?}", subject.groups[0]);
}

/// Would catch phases whose parts of the period are mixed up: at 100 Mbit/s the flows get more than 10 Mbit/s, at 10
/// Mbit/s they get that, and the queue holds the packets that wait.
#[test]
fn phases_have_their_own_means() {
    let report = report("capacity-slow", Kind::Red);
    let [high, low] = &*droptail(&report).phases else { panic!("two phases") };
    assert!(high.throughput_bps.mean > 15e6 && high.throughput_bps.mean <= 100e6, "{high:?}");
    // Packets on the link and in the queue at the change arrive later.
    assert!((low.throughput_bps.mean / 10e6 - 1.0).abs() < 0.1, "{low:?}");
    assert!(low.queueing_s.mean > high.queueing_s.mean);
}

/// Equal round trips share equally, a round trip of 300 ms gets less than one of 100 ms, and 20 ms gets more (section
/// 6).
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

/// UDP of 80 % of the rate does not react, and a FIFO without preference drops as much of each: it loses under 2 %, and
/// the NewReno flow gets what is left, 20 %, so that the link is full.
#[test]
fn a_fifo_leaves_the_rest_to_tcp() {
    let report = report("unresponsive-mix", Kind::Red);
    let [udp, tcp] = &*droptail(&report).groups else { panic!("two groups") };
    assert!((udp.goodput_bps.mean / 8e6 - 1.0).abs() < 0.02, "{udp:?}");
    assert!((tcp.goodput_bps.mean / 2e6 - 1.0).abs() < 0.1, "{tcp:?}");
    // A point for each flow of each of three runs, and 41 values of each distribution, which rise.
    assert_eq!((udp.points.len(), udp.ellipse.is_some()), (3, true));
    for cdf in [&udp.delay_cdf, &udp.goodput_cdf, &tcp.delay_cdf, &tcp.goodput_cdf] {
        let points: Vec<(f64, f64)> = cdf.points().collect();
        assert_eq!((points.len(), points[0].1, points[40].1), (41, 0.0, 1.0));
        assert!(points.windows(2).all(|pair| pair[0].0 <= pair[1].0), "{points:?}");
    }
    // The median of the delays is that of the percentiles.
    let half = udp.delay_cdf.points().find(|point| point.1 == 0.5).map(|point| point.0);
    assert!((half.unwrap_or_default() / udp.delay_s[0].mean - 1.0).abs() < 1e-9);
    assert!(udp.ack_loss.is_none() && udp.mos.is_none() && udp.qoo.is_none() && udp.video.is_none());
}

/// Section 8.2: goodputs are cumulated, so that a run is one point, of six flows that fill the link.
#[test]
fn levels_are_cumulated() {
    let report = report("mild", Kind::Red);
    let subject = droptail(&report);
    assert_eq!((subject.groups[0].points.len(), subject.runs), (3, 3));
    assert!((subject.goodput_bps() / 10e6 - 1.0).abs() < 0.02, "{}", subject.goodput_bps());
    assert_eq!(report.sections[0].cases[0].projected_loss, Some(0.001));
}

/// Section 8.3: the parameters of CoDel, each at half and twice its value. Its delay follows its target (Nichols and
/// Jacobson 2012), and the goodput of six flows hardly does. Would catch values that are compared with those of another
/// discipline, and a default that is left out.
#[test]
fn parameters_have_elasticities() {
    let report = report("parameters", Kind::Codel);
    let found = &report.sections[0].cases[0].sensitivities;
    let keys: Vec<&str> = found.iter().map(|row| &*row.key).collect();
    assert_eq!(keys, ["target", "interval", "mtu"]);
    let values: Vec<(&str, f64)> = found[0].values.iter().map(|value| (&*value.value, value.factor)).collect();
    assert_eq!(values, [("2.5ms", 0.5), ("default", 1.0), ("10ms", 2.0)]);
    let slope = found[0].delay_elasticity.unwrap_or_default();
    assert!((0.1..1.2).contains(&slope), "{slope}");
    assert!(found[0].goodput_elasticity.unwrap_or(1.0).abs() < 0.1, "{:?}", found[0]);
    assert_eq!(found[0].delay_range.0, "2.5ms");
    assert_eq!(found[0].goodput_range.1, "10ms");
}

/// Section 9.2: acknowledgements of each direction cross the queue of the other, and some are lost where both are full.
/// A small packet is as likely to be lost as another in a FIFO of packets. Would catch acknowledgements that count for
/// the other direction: those of `back` go over the link of 10 Mbit/s, where the six flows lose 0.1 % by design, and
/// those of `forward` over the one of 1 Mbit/s, where six flows lose much more.
#[test]
fn acknowledgements_are_lost_in_the_other_direction() {
    let report = report("two-way", Kind::Red);
    let [forward, back, small, small_back] = &*droptail(&report).groups else { panic!("four groups") };
    let loss = |number: Option<fairlane_characterize::Number>| number.map(|number| number.mean).unwrap_or_default();
    assert!(loss(forward.ack_loss) > loss(back.ack_loss), "{forward:?} {back:?}");
    assert!(loss(back.ack_loss) < 0.02 && small.ack_loss.is_none(), "{back:?}");
    assert!(small.loss.mean < 0.02 && small_back.loss.mean < 0.2, "{small:?} {small_back:?}");
}

/// Section 9.1, with numbers that follow from the applications: a call sends 80 kbit/s, of which a FIFO loses little;
/// its MOS is between 1 and that of a delay of 50 + 60 + 20 ms, for which R is 93.2 less Idte and Idle; the player has
/// bit rates of its ladder.
#[test]
fn applications_of_the_mix_are_scored() {
    let report = report("mix", Kind::FqCodel);
    let [fifo, fair] = &*report.sections[0].cases[0].subjects else { panic!("two disciplines") };
    let group = |subject: &SubjectReport, name: &str| {
        subject.groups.iter().find(|group| group.name == name).cloned().unwrap_or_else(|| panic!("{name}"))
    };
    let mos = |subject: &SubjectReport| group(subject, "call").mos.map(|mos| mos.mean).unwrap_or_default();
    assert!((group(fair, "call").goodput_bps.mean / 80e3 - 1.0).abs() < 0.02);
    // G.107 with 130 ms: R = 90.0, MOS 4.34. A queue for each flow keeps that; a FIFO that web pages and five flows
    // fill does not.
    assert!((mos(fair) - 4.34).abs() < 0.05, "{}", mos(fair));
    assert!((1.0..mos(fair)).contains(&mos(fifo)), "{}", mos(fifo));
    let video = group(fair, "video").video.unwrap_or_else(|| panic!("a video"));
    let rate = video.bit_rate_bps.map(|rate| rate.mean).unwrap_or_default();
    assert!((0.3e6..=8e6).contains(&rate), "{rate}");
    assert!(group(fair, "web").qoo.is_some_and(|qoo| (0.0..=100.0).contains(&qoo.mean)));
}

/// Section 4.4: flows whose packets are a third as large get a third where each packet is as likely to be dropped
/// (Mathis et al. 1997: the rate is proportional to the size of a packet).
#[test]
fn small_packets_get_their_part() {
    let report = report("sizes", Kind::Red);
    let red = &report.sections[0].cases[0].subjects[1];
    let [small, large] = &*red.groups else { panic!("two groups") };
    let ratio = small.goodput_bps.mean / large.goodput_bps.mean;
    assert!((0.2..0.6).contains(&ratio), "{ratio}");
}
