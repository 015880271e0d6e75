//! The measurements of sections whose traffic is TCP or an application, where they have closed forms.

use std::num::NonZeroU32;

use fairlane_characterize::{GroupReport, Plan, Report, Settings, Subject, SubjectReport};
use fairlane_qdisc::{Kind, QdiscParameters};
use fairlane_sim::Control;

/// The bits of a packet, and its transmission time over the bottleneck of 10 Mbit/s.
const PACKET_BITS: f64 = 12_000.0;
const TRANSMISSION: f64 = 1.2e-3;
/// Half of the round trip, and the transmissions over the hosts' links and the bottleneck.
const PATH: f64 = 0.05 + 2.0 * 0.12e-3 + TRANSMISSION;

fn run(only: &str, kind: Kind, settings: &Settings) -> Report {
    let settings = Settings { only: vec![only.to_owned()], ..settings.clone() };
    let subject = Subject::new(QdiscParameters::new(kind));
    let plan = Plan::new(vec![subject], settings, &Control::default()).unwrap_or_else(|error| panic!("{error}"));
    plan.execute(Some(2), &Control::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn quick(only: &str, kind: Kind) -> Report {
    run(only, kind, &Settings { quick: true, ..Settings::default() })
}

/// DropTail and the other discipline in the first case.
fn both(report: &Report) -> (&SubjectReport, &SubjectReport) {
    let [droptail, other] = &*report.sections[0].cases[0].subjects else { panic!("two disciplines") };
    (droptail, other)
}

fn group<'a>(subject: &'a SubjectReport, name: &str) -> &'a GroupReport {
    subject.groups.iter().find(|group| group.name == name).unwrap_or_else(|| panic!("{name}"))
}

/// The least and the largest one-way delay of a group.
fn ends(group: &GroupReport) -> (f64, f64) {
    let delays: Vec<f64> = group.delay_cdf.points().map(|(delay, _)| delay).collect();
    (delays[0], delays[delays.len() - 1])
}

#[track_caller]
fn near(value: f64, expected: f64, tolerance: f64) {
    assert!((value / expected - 1.0).abs() <= tolerance, "{value} is not {expected} within {tolerance}");
}

/// Section 5.2. CUBIC keeps 0.7 of the window (RFC 9438): after 83.5 packets on the path, 83 in the queue and one in
/// transmission, the queue holds 0.7 × 167 − 83.5 = 33 packets, and 83 before the next loss. So the link is never idle,
/// the least delay is that of about 33 transmissions, and the largest that of a full queue, plus a packet of the same
/// burst at the host. A flow alone loses in each event.
#[test]
fn cubic_alone_never_empties_the_queue() {
    let report = quick("aggressive", Kind::Red);
    let (subject, _) = both(&report);
    let cubic = group(subject, "tcp");
    near(cubic.goodput_bps.mean, 10e6, 1e-3);
    near(subject.queue.utilisation.mean, 1.0, 1e-3);
    let (least, most) = ends(cubic);
    assert!(((least - PATH) / TRANSMISSION - 33.0).abs() < 3.0, "{least}");
    assert!(((most - PATH) / TRANSMISSION - 82.5).abs() < 1.0, "{most}");
    assert_eq!(subject.queue.synchronisation.map(|share| share.mean), Some(1.0));
}

/// Section 5.4. LEDBAT's delay is above its target of 5 ms whenever NewReno has a queue, so that its window is the
/// least one, two packets (RFC 6817, MIN_CWND): two packets a round trip, which is 100 ms and the queueing delay.
/// NewReno takes the rest.
#[test]
fn ledbat_sends_two_packets_a_round_trip() {
    let report = quick("lbe", Kind::Red);
    let (subject, _) = both(&report);
    let (newreno, ledbat) = (group(subject, "newreno"), group(subject, "ledbat"));
    near(ledbat.goodput_bps.mean, 2.0 * PACKET_BITS / (2.0 * PATH + ledbat.queueing_s.mean), 0.15);
    near(newreno.goodput_bps.mean + ledbat.goodput_bps.mean, 10e6, 2e-3);
}

/// Section 4.5. With ECN nothing is lost, and each signal halves a window W that grows by one packet a round trip: a
/// sawtooth from W/2 to W has ⅜ W² packets, so that signals over packets are 1.5 over the square of the mean window
/// (Mathis et al. 1997). Two signals in a round trip are one reduction (RFC 3168), and RED's average goes on for some
/// round trips above the threshold, which makes at most twice as many. DropTail marks nothing.
#[test]
fn marks_halve_windows_and_nothing_is_lost() {
    let report = quick("ecn", Kind::Red);
    let (droptail, red) = both(&report);
    assert_eq!((droptail.queue.marked.mean, red.queue.loss.mean), (0.0, 0.0));
    assert!(droptail.queue.loss.mean > 0.0);
    let rates = red.groups.iter().map(|group| group.goodput_bps.mean).sum::<f64>();
    let delay = 2.0 * PATH + red.groups[0].queueing_s.mean;
    let window = rates / 2.0 * delay / PACKET_BITS;
    let constant = red.queue.marked.mean * window * window;
    assert!((1.5..3.0).contains(&constant), "{constant}");
    assert!(red.groups.iter().all(|group| group.loss.mean == 0.0 && group.gap_s.is_none()));
}

/// Section 5.1.2. A transfer of n packets opens with a round trip of handshake, and its window doubles from w: 11
/// packets are 3, 6 and 2, or 10 and 1; 99 packets are 3, 6, 12, 24, 48 and 6, or 10, 20, 40 and 29. It is complete
/// half a round trip after the last of these begins, plus at most the transmissions of its packets at half of the rate,
/// which FQ-CoDel grants it next to the long flow, and a delayed acknowledgement of 40 ms in each round with an odd
/// number of packets, those of three and of nine.
#[test]
fn a_short_transfer_takes_the_rounds_of_slow_start() {
    let settings = Settings { runs: NonZeroU32::new(1), ..Settings::default() };
    let report = run("friendly-iw", Kind::FqCodel, &settings);
    let rounds = [
        ("11-packets-iw-3", 11, 3),
        ("11-packets-iw-10", 11, 2),
        ("99-packets-iw-3", 99, 6),
        ("99-packets-iw-10", 99, 4),
    ];
    for (case, (name, packets, rounds)) in report.sections[0].cases.iter().zip(rounds) {
        assert_eq!(case.name, name);
        let short = group(&case.subjects[1], "short");
        let least = 0.1 * (f64::from(rounds) + 0.5);
        let most = least + f64::from(packets) * 2.0 * TRANSMISSION + 0.08;
        let completion = short.completion_s.map(|time| time.mean).unwrap_or_default();
        assert!((least..most).contains(&completion), "{name}: {completion} is not in {least} to {most}");
        // The handshake is a round trip, and the first packet comes half of one later, behind one packet of the long
        // flow.
        let startup = short.startup_s.map(|time| time.mean).unwrap_or_default();
        assert!((0.1 + PATH..0.1 + PATH + 3.0 * TRANSMISSION).contains(&startup), "{name}: {startup}");
        assert!(group(&case.subjects[1], "long").startup_s.is_none());
        assert!(short.completed > 10, "{name}: {}", short.completed);
    }
}

/// Section 7.2. A page follows the one before with its last acknowledgement, half of a round trip after it is complete.
/// So the pages that are complete in 270 s take as long, but for one of which a part is before and one of which a part
/// is after them. The bits of a page are the goodput times the period: 50 objects of 20 kB in whole packets are 50 ×
/// 20.75 kB, with a standard deviation of 50½ × 20 kB × (e − 1)½, 18 % of a page. UDP of 100 kbit/s does not react, so
/// that what it gets and what it loses are its rate.
#[test]
fn pages_follow_each_other() {
    let settings = Settings { runs: NonZeroU32::new(1), ..Settings::default() };
    for id in ["burst-1", "burst-2", "burst-3", "burst-4"] {
        let report = run(id, Kind::FqCodel, &settings);
        let subjects = report.sections[0].cases.iter().flat_map(|case| &case.subjects);
        for subject in subjects {
            let (web, cbr) = (group(subject, "web"), group(subject, "cbr"));
            let period = web.completion_s.map(|time| time.mean).unwrap_or_default() + 0.05;
            let (pages, long) = (web.completed as f64, 2.0 * web.completion_p95_s.unwrap_or_default());
            assert!((pages * period - 270.0).abs() < long && pages > 30.0, "{id}: {pages} pages of {period} s");
            near(web.goodput_bps.mean * period, 50.0 * 20.75e3 * 8.0, 3.0 * 0.185 / pages.sqrt());
            near(cbr.goodput_bps.mean, 100e3 * (1.0 - cbr.loss.mean), 0.01);
        }
        let (droptail, _) = both(&report);
        // The least delay of a packet of 200 bytes is that of the path: 0.16 ms over the bottleneck, twice 0.016 ms
        // over the hosts' links.
        near(ends(group(droptail, "cbr")).0, 0.05 + 0.16e-3 + 0.032e-3, 2e-3);
        assert_eq!(group(droptail, "web").mos, None);
        assert_eq!(droptail.groups.iter().any(|group| group.video.is_some()), ["burst-3", "burst-4"].contains(&id));
    }
}

/// Sections 8.2.3 and 8.2.4. 13 and 19 flows fill the link: together they get its rate, so that the shares of 1/13 and
/// 1/19 are cumulated. No packet waits for more than a full queue, and it has the same chance of a loss at the queue as
/// end to end, since the queue is the only one that drops.
#[test]
fn many_flows_share_the_capacity() {
    for (id, projected) in [("medium", 0.005), ("heavy", 0.01)] {
        let report = quick(id, Kind::Red);
        let (subject, _) = both(&report);
        let flows = group(subject, "tcp");
        near(flows.goodput_bps.mean, 10e6, 5e-3);
        near(flows.loss.mean, subject.queue.loss.mean, 5e-3);
        // The delay end to end is that of the queue, and of a packet of 0.12 ms before it at the host.
        assert!((0.0..0.2e-3).contains(&(flows.queueing_s.mean - subject.queue.delay_s.mean)), "{flows:?}");
        assert!((ends(flows).1 - PATH) / TRANSMISSION < 83.0, "{flows:?}");
        assert_eq!((flows.points.len(), report.sections[0].cases[0].projected_loss), (3, Some(projected)));
        // At least one of the flows loses in an event, at most all do.
        let share = subject.queue.synchronisation.map(|share| share.mean).unwrap_or_default();
        assert!((1.0 / 19.0..=1.0).contains(&share), "{share}");
    }
}

/// Section 8.2.5. The link is full in each level, so that what comes is its rate in each, and the phases of equal
/// length together are the goodput. The delay rises with the level.
#[test]
fn levels_fill_the_link_one_after_the_other() {
    let report = quick("levels", Kind::Red);
    let (subject, _) = both(&report);
    let [mild, medium, heavy] = &*subject.phases else { panic!("three phases") };
    for phase in [medium, heavy] {
        near(phase.throughput_bps.mean, 10e6, 2e-3);
    }
    // Of the flows of the other levels nothing is left after the first round trips.
    near(mild.throughput_bps.mean, 10e6, 0.02);
    let phases = [mild, medium, heavy].iter().map(|phase| phase.throughput_bps.mean).sum::<f64>() / 3.0;
    near(subject.goodput_bps(), phases, 5e-3);
    assert!(mild.queueing_s.mean < medium.queueing_s.mean && medium.queueing_s.mean < heavy.queueing_s.mean);
}

/// Section 8.2.6. A packet arrives 25 ms of the host's link after it left the bottleneck, so the phase of 100 Mbit/s
/// has 25 ms of the packets that left at 10 Mbit/s: at most (25 × 10 + 75 × 100) / 100 = 77.5 Mbit/s, and the other one
/// (25 × 100 + 75 × 10) / 100 = 32.5. A link that is never idle in the slow phase has 10 Mbit/s in its 75 ms; the fast
/// one has at most 100. Phases together are the goodput.
#[test]
fn a_fast_change_is_seen_at_the_receiver() {
    let report = quick("capacity-fast", Kind::Red);
    let (subject, _) = both(&report);
    let [high, low] = &*subject.phases else { panic!("two phases") };
    assert!((60e6..77.5e6).contains(&high.throughput_bps.mean), "{high:?}");
    assert!((7.5e6..32.5e6).contains(&low.throughput_bps.mean), "{low:?}");
    near(subject.goodput_bps(), (high.throughput_bps.mean + low.throughput_bps.mean) / 2.0, 5e-3);
    // Used is what left over what could have left: (10 + 100) / 2 Mbit/s.
    near(subject.goodput_bps(), 55e6 * subject.queue.utilisation.mean, 5e-3);
}

/// Section 10.2. The second of two equal links is full, so that both groups together have its rate, and the first one
/// is used as far as the flows through it go. A packet through both waits at the second only, and its shortest way has
/// one transmission of 1.2 ms more. The hosts' links have 150 Mbit/s.
#[test]
fn the_second_of_two_links_is_the_bottleneck() {
    let report = quick("multi-aqm", Kind::Red);
    let (droptail, red) = both(&report);
    near(droptail.goodput_bps(), 10e6, 2e-3);
    for subject in [droptail, red] {
        let through = group(subject, "through");
        // Retransmissions, at most as many as losses, use the link as well.
        let used = through.goodput_bps.mean / 10e6;
        near(subject.queue.utilisation.mean, used, 0.01);
        assert_eq!(subject.queue.loss.mean, 0.0);
    }
    let (through, cross) = (group(red, "through"), group(red, "cross"));
    near(ends(through).0, 0.05 + 2.0 * TRANSMISSION + 2.0 * 0.08e-3, 2e-3);
    near(ends(cross).0, 0.05 + TRANSMISSION + 2.0 * 0.08e-3, 2e-3);
}
