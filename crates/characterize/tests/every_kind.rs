//! Every section runs for every discipline, in a short form: one run of 30 s, at a tenth of the usual rate.

use std::num::NonZeroU32;

use fairlane_characterize::{Plan, Settings, Subject, SubjectReport};
use fairlane_qdisc::{Kind, QdiscParameters, Rate};
use fairlane_sim::Control;

/// Would catch a discipline that a scenario stops or starves, a number that is none, and a section without results.
#[test]
fn every_section_runs_for_every_kind() {
    let kinds = || Kind::ALL.into_iter().filter(|kind| !kind.is_experimental());
    let subjects = kinds().map(|kind| Subject::new(QdiscParameters::new(kind))).collect();
    let settings = Settings {
        quick: true,
        runs: NonZeroU32::new(1),
        rate: Rate::from_bits_per_second(1_000_000),
        ..Settings::default()
    };
    let plan = Plan::new(subjects, settings, &Control::default()).unwrap_or_else(|error| panic!("{error}"));
    let report = plan.execute(Some(2), &Control::default()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(report.missing_runs, None);
    for section in &report.sections {
        if section.discussion.is_empty() {
            assert!(!section.cases.is_empty(), "{}", section.id);
        }
        for case in &section.cases {
            for kind in kinds() {
                let name = kind.name();
                let subject = case.subjects.iter().find(|subject| subject.label == name);
                let left_out = case.left_out.iter().any(|(label, _)| label == name);
                // Sections about a parameter leave out the disciplines without it.
                let needed = section.id != "ecn" || kind.parameters().iter().any(|parameter| parameter.key == "ecn");
                match subject {
                    Some(subject) => check(subject, &format!("{}, {}, {name}", section.id, case.name)),
                    None => assert!(left_out || !needed, "{}, {}: {name} is missing", section.id, case.name),
                }
            }
        }
    }
}

fn check(subject: &SubjectReport, place: &str) {
    assert_eq!(subject.runs, 1, "{place}");
    let queue = &subject.queue;
    assert!((0.0..=1.0 + 1e-9).contains(&queue.utilisation.mean), "{place}: {queue:?}");
    assert!((0.0..=1.0).contains(&queue.loss.mean) && queue.delay_s.mean.is_finite(), "{place}: {queue:?}");
    assert!(subject.goodput_bps() > 0.0, "{place}: nothing came");
    for group in &subject.groups {
        let numbers = [group.goodput_bps, group.queueing_s, group.delay_s[2], group.variation_s[2], group.loss];
        assert!(numbers.iter().all(|number| number.mean.is_finite() && number.mean >= 0.0), "{place}: {group:?}");
    }
}
