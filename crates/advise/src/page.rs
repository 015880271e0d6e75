//! A page of an advice.

use fairlane_outcome::Estimate;
use fairlane_qdisc::Rate;
use fairlane_report::Axis;
use fairlane_report::html::{Badge, Block, Cell, Chart, Inline, Page, Panel, Provenance, Section, Table, Tone};

use crate::advice::{Advice, ProofCase, Ranked};
use crate::metric::MetricUnit;
use crate::score::{Reading, Verdict};

/// The fewest runs whose intervals are drawn: those of fewer are wider than the axes.
const FEW: usize = 4;

/// Returns a page of `advice` that was made by `command`.
#[must_use]
pub fn page(advice: &Advice, command: &str) -> Page {
    let Advice { rate, rtt, mix, goal, .. } = advice;
    let mut page = Page::new(format!("A queue for {rate} and {rtt}"))
        .lead(Block::Notice(verdict(advice), vec![Inline::text_of(advice.sentence())]))
        .lead(Block::Definitions(facts(advice)))
        .section(
            Section::new("Ranking")
                .block(Block::table("Disciplines, the best first", ranking(advice)))
                .blocks(notes(advice)),
        )
        .section(
            Section::new("Delay against goodput and fairness")
                .block(Block::Chart(plane(advice)))
                .blocks(fronts(advice)),
        )
        .section(proof(advice));
    page = page.section(
        Section::new("Files")
            .block(Block::Code { label: "Scenario, for fairlane run".to_owned(), text: advice.scenario.clone() })
            .block(Block::Code {
                label: "Router, for fairlane router --config".to_owned(),
                text: advice.router.clone(),
            }),
    );
    let facts = [("Link", format!("{rate}, {rtt}")), ("Traffic", mix.clone()), ("Goal", goal.clone())];
    let facts = facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    page.provenance(Provenance { facts, texts: vec![("Command".to_owned(), command.to_owned())] })
}

fn verdict(advice: &Advice) -> Badge {
    match advice.ranking.first() {
        Some(winner) if winner.met => Badge::new(Tone::Good, "Goal met"),
        _ => Badge::new(Tone::Bad, "Goal not met"),
    }
}

fn facts(advice: &Advice) -> Vec<(String, Vec<Inline>)> {
    let fact = |name: &str, value: String| (name.to_owned(), vec![Inline::text_of(value)]);
    vec![
        fact("Goal", advice.goal.clone()),
        fact("Link", format!("{}, a round trip of {}", advice.rate, advice.rtt)),
        fact("Traffic", advice.mix.clone()),
        fact("Search", format!("{} candidates, {} runs, seed {}", advice.candidates, advice.runs_done, advice.seed)),
    ]
}

/// The table of the disciplines.
fn ranking(advice: &Advice) -> Table {
    let cells = |of: &dyn Fn(&Ranked) -> Cell| advice.ranking.iter().map(of).collect::<Vec<_>>();
    let place = |row: &Ranked| advice.ranking.iter().position(|other| other == row).map_or(0, |place| place + 1);
    let mut table = Table::new()
        .key("place", cells(&|row| Cell::value(place(row) as f64)))
        .key("discipline", cells(&|row| Cell::Text(row.label())))
        .column("goal", cells(&|row| Cell::Badge(met(row.met))));
    let columns = advice.ranking.first().map(|row| row.readings.as_slice()).unwrap_or_default();
    for column in columns {
        table = table.column(
            &format!("{}, {}", column.metric, column.unit.shown().1),
            cells(&|row| row.reading(&column.metric).map_or_else(Cell::none, cell)),
        );
    }
    table
        .column("state of flows", cells(&|row| Cell::Text(row.flow_state.clone())))
        .column("runs", cells(&|row| Cell::value(row.runs as f64)))
}

fn met(met: bool) -> Badge {
    if met { Badge::new(Tone::Good, "met") } else { Badge::new(Tone::Bad, "failed") }
}

fn notes(advice: &Advice) -> Vec<Block> {
    let left_out =
        advice.left_out.iter().map(|left| Block::text(format!("{} is left out: {}.", left.kind, left.reason)));
    let fewer = "Disciplines that fell back early have fewer runs, and wider intervals. Each has the best of the parameters that were tried.";
    std::iter::once(Block::text(fewer)).chain(left_out).collect()
}

/// The disciplines in the plane of delay and goodput, and of delay and fairness.
fn plane(advice: &Advice) -> Chart {
    let delay = "delay.p95";
    // Panels have equal axes, so both are parts of a whole.
    let rate = advice.rate.parse().map_or(1.0, |rate: Rate| rate.bits_per_second() as f64);
    let part = |reading: &Reading| match reading.unit {
        MetricUnit::Rate => 100.0 / rate,
        unit => unit.shown().0,
    };
    let panel = |metric: &str, title: &str| {
        let places = advice.ranking.iter().filter_map(|row| {
            let (x, y) = (row.reading(delay)?, row.reading(metric)?);
            Some((row.kind.clone(), estimate(row, x, part(x))?, estimate(row, y, part(y))?))
        });
        Panel { title: title.to_owned(), y: Axis::linear(title).within(0.0, 100.0), places: places.collect() }
    };
    Chart::Scatter {
        title: "Delay against goodput and fairness".to_owned(),
        note: format!(
            "Each discipline with the best of its parameters; intervals of those with {FEW} runs or more. Up and left is better."
        ),
        x: Axis::log("delay in the queue, p95 (ms)").within(0.0, f64::INFINITY),
        panels: vec![
            panel("goodput", "goodput of all flows (% of the rate)"),
            panel("jain", "Jain's index of all flows (%)"),
        ],
    }
}

fn fronts(advice: &Advice) -> Vec<Block> {
    let front = |front: &crate::advice::Front| {
        let text = format!("Pareto front of delay.p95 and {}: {}.", front.metric, front.kinds.join(", "));
        Block::text(text)
    };
    advice.fronts.iter().map(front).collect()
}

fn proof(advice: &Advice) -> Section {
    let cells = |of: &dyn Fn(&ProofCase) -> Cell| advice.proof.iter().map(of).collect::<Vec<_>>();
    let mut table = Table::new()
        .key("case", cells(&|case| Cell::Text(case.name.clone())))
        .column("link", cells(&|case| Cell::Text(format!("{}, {}", case.rate, case.rtt))))
        .column("goal", cells(&|case| Cell::Badge(met(case.met))))
        .column(
            "the winner",
            cells(&|case| Cell::Text(case.verdict.map_or("", Verdict::words).to_owned() + " the runner-up")),
        );
    let columns = advice.proof.first().map(|case| case.winner.as_slice()).unwrap_or_default();
    for (index, column) in columns.iter().enumerate() {
        let (_, unit) = column.unit.shown();
        let of = |readings: &[Reading]| readings.get(index).map_or_else(Cell::none, cell);
        table = table
            .column(&format!("{}, {unit}", column.metric), cells(&|case| of(&case.winner)))
            .column(&format!("less the runner-up's {}", column.metric), cells(&|case| of(&case.difference)));
    }
    let seed = advice.proof.first().map_or(0, |case| case.seed);
    Section::new("Proof")
        .block(Block::text(format!(
            "The winner and the runner-up with seed {seed}, which the search has not seen, on the link itself and on others. \
             Differences are run by run."
        )))
        .block(Block::table("Held-out cases", table))
}

/// Returns a value times `factor`, with its interval unless the runs are too few for a narrow one.
fn estimate(row: &Ranked, reading: &Reading, factor: f64) -> Option<Estimate> {
    let ci95 = reading.ci95.filter(|_| row.runs >= FEW);
    Some(Estimate::new(reading.mean? * factor, ci95.map(|ci95| ci95 * factor)))
}

fn cell(reading: &Reading) -> Cell {
    match reading.mean {
        Some(mean) => Cell::Value { shown: reading.shown(), value: mean * reading.unit.shown().0 },
        None => Cell::none(),
    }
}
