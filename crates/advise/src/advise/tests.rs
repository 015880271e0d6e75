use fairlane_outcome::stats::Moments;
use fairlane_qdisc::{Duration, Rate};

use super::*;
use crate::mix::Link;
use crate::score::Verdict;

fn settings(rate: u64, rtt: u64, mix: &str, goal: &str) -> AdviseSettings {
    let rate = Rate::from_bits_per_second(rate);
    let link = Link { rate, rtt: Duration::from_millis(rtt), mix: mix.parse().unwrap() };
    AdviseSettings { quick: true, ..AdviseSettings::new(link, goal.parse().unwrap()) }
}

/// Runs every candidate with every seed, and returns the candidates, the best one first.
fn exhaustive(settings: &AdviseSettings) -> Vec<Candidate> {
    let control = Control::default();
    let mut plan = AdvisePlan::new(settings.clone(), None).unwrap();
    let arena = Arena::new(&settings.goal, &shown(), None, &control).unwrap();
    let mut all: Vec<usize> = (0..plan.candidates.len()).collect();
    arena.run(&mut plan.candidates, &all, settings.runs()).unwrap();
    arena.sort(&plan.candidates, &mut all);
    all.iter().map(|index| plan.candidates[*index].clone()).collect()
}

/// On four links the advice is what an exhaustive search finds, or not told from it by paired runs. Would catch a race
/// that eliminates the best, and an order that is upside down: the worst candidate is far from the best.
#[test]
fn the_advice_is_that_of_an_exhaustive_search() {
    for settings in [
        settings(2_000_000, 20, "4 cubic", "delay.p95<20ms, utilisation>0.9"),
        settings(5_000_000, 50, "4 cubic, web", "utilisation>0.9, minimise delay.p95"),
        settings(4_000_000, 30, "4 reno, 1 udp 2x", "delay.p95<100ms, maximise jain"),
        AdviseSettings {
            no_flow_state: true,
            ..settings(3_000_000, 40, "3 reno, 3 cubic, voip", "delay.p95<30ms, maximise goodput")
        },
    ] {
        let all = exhaustive(&settings);
        let advice = AdvisePlan::new(settings.clone(), None).unwrap().execute(None, &Control::default()).unwrap();
        let winner = &advice.ranking[0];
        let found = all.iter().find(|candidate| {
            candidate.parameters.kind().name() == winner.kind
                && files::given(&candidate.parameters) == winner.parameters
        });
        let found = found.expect("the winner is a candidate");
        let verdict = judge(&settings.goal, &found.runs, &all[0].runs);
        let best = (all[0].parameters.kind(), files::given(&all[0].parameters));
        assert_ne!(
            verdict,
            Verdict::Worse,
            "{}: {} was advised, and {best:?} is better",
            settings.goal,
            winner.label()
        );
        assert_eq!(judge(&settings.goal, &all[0].runs, &all[all.len() - 1].runs), Verdict::Better);
        assert_eq!(winner.runs as u32, settings.runs());
        assert!(!settings.no_flow_state || advice.ranking.iter().all(|row| row.flow_state == "none"));
        // The same means, by a separate sum.
        let delay = advice.ranking[0].reading("delay.p95").unwrap().mean.unwrap();
        let place = settings.goal.metrics().count();
        let again: Moments = found.runs.iter().filter_map(|run| run[place]).collect();
        assert!((delay - again.mean()).abs() < 1e-12);
    }
}

/// Would catch a proof with the seed of the search, or with the link of the search alone.
#[test]
fn the_proof_is_on_other_seeds_and_links() {
    let mut settings = settings(2_000_000, 20, "2 cubic, udp 0.5x", "utilisation>0.5, minimise delay.p95");
    settings.kinds = vec![Kind::Codel, Kind::DropTail];
    let advice = AdvisePlan::new(settings, None).unwrap().execute(None, &Control::default()).unwrap();
    let cases: Vec<(&str, &str, u64)> =
        advice.proof.iter().map(|case| (case.rate.as_str(), case.rtt.as_str(), case.seed)).collect();
    let expected = [("2mbit", "20ms"), ("1mbit", "20ms"), ("4mbit", "20ms"), ("2mbit", "10ms"), ("2mbit", "40ms")];
    assert_eq!(cases, expected.map(|(rate, rtt)| (rate, rtt, 2)));
    assert_ne!(advice.proof[0].winner, advice.ranking[0].readings);
    assert!(advice.sentence().starts_with(&advice.ranking[0].label()));
    assert_eq!(advice.left_out, []);
}

/// Would catch a choice by chance, and one that depends on the number of threads.
#[test]
fn the_same_seed_gives_the_same_advice() {
    let mut settings = settings(1_000_000, 20, "2 cubic", "minimise delay.mean");
    settings.kinds = vec![Kind::Red, Kind::Pie];
    let advise =
        |threads| AdvisePlan::new(settings.clone(), None).unwrap().execute(Some(threads), &Control::default()).unwrap();
    assert_eq!(advise(1), advise(2));
}

#[test]
fn what_cannot_be_advised_is_refused() {
    let refused = |settings: AdviseSettings| AdvisePlan::new(settings, None).unwrap_err().to_string();
    let error = refused(settings(1_000_000, 20, "2 cubic", "group.web.goodput>1mbit"));
    assert!(error.contains("no group \"web\"") && error.contains("there are cubic"), "{error}");
    let only = AdviseSettings {
        kinds: vec![Kind::FqCodel],
        no_flow_state: true,
        ..settings(1_000_000, 20, "reno", "minimise delay.mean")
    };
    assert!(refused(only).contains("no discipline is left"));
}

/// By hand: 50,000 packets of 12,000 bits take 6 s at 100 Mbit/s; 60 round trips of 400 ms take 24 s.
#[test]
fn fast_links_are_simulated_for_a_shorter_time() {
    let times = |rate, rtt| settings(rate, rtt, "cubic", "minimise delay.mean").link.times(true).duration;
    assert_eq!(times(20_000_000, 40), Duration::from_millis(15_000));
    assert_eq!(times(100_000_000, 40), Duration::from_millis(6_000));
    assert_eq!(times(100_000_000, 400), Duration::from_millis(24_000));
}
