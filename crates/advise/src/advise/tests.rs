use super::*;
use crate::mix::Link;

fn settings(rate: u64, rtt: u64, mix: &str, goal: &str, kinds: &[Kind]) -> AdviseSettings {
    let rate = Rate::from_bits_per_second(rate);
    let link = Link { rate, rtt: Duration::from_millis(rtt), mix: mix.parse().unwrap() };
    AdviseSettings { kinds: kinds.to_vec(), ..AdviseSettings::new(link, goal.parse().unwrap()) }
}

fn advise(settings: AdviseSettings, threads: usize) -> Advice {
    AdvisePlan::new(settings, None).unwrap().execute(Some(threads), &Control::default()).unwrap()
}

/// By hand: 30 ms at 10 Mbit/s are 25 packets, which over the root of 5 flows are 11. Such a DropTail meets a bound on
/// the delay at this rate; at half the rate the same packets take twice the time. Would catch an order by the goal on
/// the link alone, and cases that are not on other links.
#[test]
fn what_holds_on_other_links_comes_first() {
    let goal = "group.voip.delay<30ms, utilisation>0.85";
    let advice = advise(settings(10_000_000, 30, "4 cubic, voip", goal, &[Kind::DropTail, Kind::FqCodel]), 2);
    let row = |kind: &str| advice.ranking.iter().find(|row| row.kind == kind).unwrap();
    let (droptail, fq_codel) = (row("droptail"), row("fq-codel"));
    assert!(droptail.met && fq_codel.met, "{advice:#?}");
    assert_eq!(droptail.parameters, [("limit".to_owned(), "11p".to_owned())]);
    let case = |row: &Ranked, name: &str| row.cases.iter().find(|case| case.name == name).unwrap().clone();
    let half = case(droptail, "half the rate");
    assert_eq!((half.rate.as_str(), half.rtt.as_str(), half.flows, half.held), ("5mbit", "30ms", 5, false));
    assert!(!case(droptail, "a flood of the link's rate").held && case(fq_codel, "a flood of the link's rate").held);
    assert_eq!(case(fq_codel, "twice the flows").flows, 10);
    assert_eq!((advice.ranking[0].kind.as_str(), advice.partial), ("fq-codel", false));
    let sentences = &advice.answer;
    assert_eq!(sentences.len(), 3);
    assert!(
        sentences[0].starts_with("Use fq-codel limit=1000p: it meets the goal (group.voip.delay "),
        "{sentences:?}"
    );
    assert!(sentences[1].starts_with("Not droptail limit=11p, which holds in "), "{sentences:?}");
    assert!(sentences[2].contains("a flood of the link's rate gets "), "{sentences:?}");
    let tc = advice.tc.as_deref().unwrap();
    assert!(tc.contains("parent 1:1 handle 2: fq_codel limit 1000 flows 1024"), "{tc}");
}

/// Would catch a discipline of the second tier that is tried although one of the kernel meets the goal, and one that is
/// not tried although none does: no discipline of the kernel is fair in an index above 1.
#[test]
fn the_kernels_disciplines_come_first() {
    let goal = |goal| settings(1_000_000, 20, "2 cubic", goal, &[]);
    let kernel = advise(goal("utilisation>0.5"), 2);
    assert!(kernel.ranking.iter().all(|row| row.kernel), "{:?}", kernel.ranking);
    let others = advise(goal("delay.p95<1us"), 2);
    assert!(others.ranking.iter().any(|row| !row.kernel) && !others.ranking[0].met);
    assert!(others.answer[0].starts_with("No candidate meets the goal; the closest is "));
    // The closest is first, and nothing is said of the cases.
    let delays: Vec<f64> =
        others.ranking[..others.finals[0]].iter().filter_map(|row| row.reading("delay.p95")?.mean).collect();
    assert!(delays.len() > 1 && delays.is_sorted(), "{delays:?}");
    assert!(others.answer.iter().all(|sentence| !sentence.contains("cases")), "{:?}", others.answer);
    // A discipline that remembers one flow passes nothing when half of the flows are one.
    assert!(others.left_out.iter().all(|left| left.candidate.starts_with("mloc-choke")), "{:?}", others.left_out);
}

/// Would catch a choice by chance, and one that depends on the number of threads.
#[test]
fn the_same_seed_gives_the_same_advice() {
    let settings = || settings(1_000_000, 20, "2 cubic", "minimise delay.mean", &[Kind::Red, Kind::Pie]);
    assert_eq!(advise(settings(), 1), advise(settings(), 2));
}

/// A control that stops after a number of runs on one thread. Would catch an answer of a stopped search that claims to
/// be whole, and a search without a run that has an answer.
#[test]
fn a_stopped_search_has_a_part_of_the_answer() {
    let asked = || settings(1_000_000, 20, "2 cubic", "minimise delay.mean", &[Kind::DropTail, Kind::Red, Kind::Pie]);
    let control = Control::default();
    control.stop();
    let error = AdvisePlan::new(asked(), None).unwrap().execute(Some(1), &control).unwrap_err().to_string();
    assert!(error.contains("no candidate was judged") && error.contains("--time"), "{error}");
    let control = Control::default();
    let part = std::thread::scope(|scope| {
        scope.spawn(|| {
            while control.finished() < 4 {
                std::thread::yield_now();
            }
            control.stop();
        });
        AdvisePlan::new(asked(), None).unwrap().execute(Some(1), &control).unwrap()
    });
    assert!(part.partial && part.finals[0] < part.finals[1], "{part:#?}");
    assert!(part.judged().starts_with("partial, stopped before the end: "));
    // The whole answer has the same readings of the same candidates.
    let whole = advise(asked(), 2);
    assert!(part.judged <= whole.judged && !whole.partial);
}

#[test]
fn what_cannot_be_advised_is_refused() {
    let refused = |settings: AdviseSettings| AdvisePlan::new(settings, None).unwrap_err().to_string();
    let error = refused(settings(1_000_000, 20, "2 cubic", "group.web.goodput>1mbit", &[]));
    assert!(error.contains("no group \"web\"") && error.contains("there are cubic"), "{error}");
    let only = AdviseSettings {
        no_flow_state: true,
        ..settings(1_000_000, 20, "reno", "minimise delay.mean", &[Kind::FqCodel])
    };
    assert!(refused(only).contains("no discipline is left"));
    let error = refused(settings(1_000_000, 20, "voip", "group.voip.delay<9ms", &[]));
    assert!(error.contains("group.voip.delay < 9ms: the path takes 10ms"), "{error}");
}
