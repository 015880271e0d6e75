//! Links of textbooks and standards: the advice is the answer that the literature has for them.
//!
//! Some of them run with few disciplines. With `FAIRLANE_LINKS` in the environment those whose names contain it run
//! with all, as a user would, and the answers are printed: those of `docs/advise.md`.

use std::env;
use std::time::Duration;

use fairlane_advise::{Advice, AdvisePlan, AdviseSettings, Link, Target};
use fairlane_qdisc::Kind;
use fairlane_runner::machine::{CostMeter, within};
use fairlane_sim::Control;
use serde::Deserialize;

#[derive(Deserialize)]
struct Links {
    link: Vec<Textbook>,
}

/// A link with its answers.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Textbook {
    name: String,
    #[serde(default)]
    on: Option<String>,
    rate: String,
    rtt: String,
    mix: String,
    goal: String,
    answers: Vec<String>,
    source: String,
    /// Another answer, for which `docs/advise.md` has the numbers.
    #[serde(default)]
    instead: Option<String>,
    #[serde(default)]
    short: Vec<String>,
}

fn links() -> Vec<Textbook> {
    toml::from_str::<Links>(include_str!("links.toml")).unwrap().link
}

fn advise(textbook: &Textbook, kinds: &[String]) -> Advice {
    let Textbook { rate, rtt, mix, goal, on, .. } = textbook;
    let link = Link { rate: rate.parse().unwrap(), rtt: rtt.parse().unwrap(), mix: mix.parse().unwrap() };
    let mut settings = AdviseSettings::new(link, goal.parse().unwrap());
    settings.on = on.as_ref().map_or(Target::Linux, |on| on.parse().unwrap());
    settings.kinds = kinds.iter().map(|kind| kind.parse::<Kind>().unwrap()).collect();
    let control = Control::default();
    let plan = AdvisePlan::new(settings, None).unwrap();
    within(Duration::from_secs(600), &control, || plan.execute(None, &control)).0.unwrap()
}

/// Would catch an advice that no engineer would give, such as a short tail-drop queue for a home.
#[test]
fn the_advice_is_the_literatures() {
    let full = env::var("FAIRLANE_LINKS");
    let links = links();
    assert_eq!(links.len(), 8);
    let mut wrong = Vec::new();
    for textbook in links.iter().filter(|textbook| match &full {
        Ok(part) => textbook.name.contains(part),
        Err(_) => !textbook.short.is_empty(),
    }) {
        let meter = CostMeter::start();
        let advice = advise(textbook, if full.is_ok() { &[] } else { &textbook.short });
        if full.is_ok() {
            let mut cost = fairlane_outcome::Cost::default();
            meter.measure_outside(&mut cost);
            let Textbook { name, rate, rtt, mix, goal, source, answers, .. } = textbook;
            println!("\n{name}: {rate}, {rtt}, {mix}, {goal}\nLiterature: {} ({source})", answers.join(", "));
            println!("{}\n{}; {:.0} s", advice.answer.join("\n"), advice.judged(), cost.wall_s);
            for row in &advice.ranking {
                let goals = row.readings.iter().map(|reading| format!("{} {}", reading.metric, reading.shown()));
                let goals: Vec<String> = goals.take(3).collect();
                println!("  {}: {} of {}, {}", row.label(), row.held(), row.cases.len(), goals.join(", "));
            }
        }
        let first = &advice.ranking[0];
        let answers = || textbook.answers.iter().chain(&textbook.instead);
        if !first.met || answers().all(|answer| *answer != first.kind) {
            wrong.push(format!("{}: {}", textbook.name, advice.answer.join(" ")));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
