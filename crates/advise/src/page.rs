//! A page of an advice.

use fairlane_outcome::Estimate;
use fairlane_qdisc::Rate;
use fairlane_report::Axis;
use fairlane_report::html::{Badge, Block, Cell, Chart, Inline, Page, Panel, Provenance, Section, Table, Tone};

use crate::advice::{Advice, Case, Ranked};
use crate::metric::MetricUnit;
use crate::score::Reading;

/// Returns a page of `advice` that was made by `command`.
#[must_use]
pub fn page(advice: &Advice, command: &str) -> Page {
    let Advice { rate, rtt, mix, goal, .. } = advice;
    let code = |label: &str, text: &str| Block::Code { label: label.to_owned(), text: text.to_owned() };
    let files = Section::new("Commands and files")
        .blocks(advice.tc.iter().map(|tc| code("Linux, with tc", tc)))
        .block(code("Router, for fairlane router --config", &advice.router))
        .block(code("Scenario, for fairlane run", &advice.scenario));
    let page = Page::new(format!("A queue for {rate} and {rtt}"))
        .lead(Block::Notice(verdict(advice), vec![Inline::text_of(advice.answer.join(" "))]))
        .lead(Block::Definitions(facts(advice)))
        .section(
            Section::new("Disciplines")
                .block(Block::table("Disciplines, the best first", ranking(advice)))
                .blocks(notes(advice)),
        )
        .section(cases(advice))
        .section(Section::new("Delay against goodput and fairness").block(Block::Chart(plane(advice))))
        .section(files);
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
        fact("Place", advice.on.clone()),
        fact("Judged", advice.judged()),
    ]
}

/// The table of the disciplines.
fn ranking(advice: &Advice) -> Table {
    let cells = |of: &dyn Fn(&Ranked) -> Cell| advice.ranking.iter().map(of).collect::<Vec<_>>();
    let place = |row: &Ranked| advice.ranking.iter().position(|other| other == row).map_or(0, |place| place + 1);
    let mut table = Table::new()
        .key("place", cells(&|row| Cell::value(place(row) as f64)))
        .key("discipline", cells(&|row| Cell::Text(row.label())))
        .column("goal", cells(&|row| Cell::Badge(met(row.met))))
        .column(
            "cases that hold",
            cells(&|row| if row.cases.is_empty() { Cell::none() } else { Cell::value(row.held() as f64) }),
        );
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
    let left_out = advice.left_out.iter().map(|left| format!("{} is left out: {}.", left.candidate, left.reason));
    let first = format!(
        "Each discipline has the best of its parameters that were tried. The room of all is {} packets.",
        advice.room
    );
    std::iter::once(first).chain(left_out).map(Block::text).collect()
}

/// The disciplines in the plane of delay and goodput, and of delay and fairness.
fn plane(advice: &Advice) -> Chart {
    let delay = "delay.p95";
    let rate = advice.rate.parse().map_or(1.0, |rate: Rate| rate.bits_per_second() as f64);
    let part = |reading: &Reading| match reading.unit {
        MetricUnit::Rate => 100.0 / rate,
        unit => unit.shown().0,
    };
    let panel = |metric: &str, title: &str| {
        let places = advice.ranking.iter().filter_map(|row| {
            let (x, y) = (row.reading(delay)?, row.reading(metric)?);
            let of = |reading: &Reading| Some(Estimate::new(reading.mean? * part(reading), None));
            Some((row.kind.clone(), of(x)?, of(y)?))
        });
        Panel { title: title.to_owned(), y: Axis::linear(title).within(0.0, 100.0), places: places.collect() }
    };
    Chart::Scatter {
        title: "Delay against goodput and fairness".to_owned(),
        note: "Each discipline with the best of its parameters. Up and left is better.".to_owned(),
        x: Axis::log("delay in the queue, p95 (ms)").within(0.0, f64::INFINITY),
        panels: vec![
            panel("goodput", "goodput of all flows (% of the rate)"),
            panel("jain", "Jain's index of all flows (%)"),
        ],
    }
}

/// The finalists on the cases that were not searched.
fn cases(advice: &Advice) -> Section {
    let finalists: Vec<&Ranked> = advice.ranking.iter().filter(|row| !row.cases.is_empty()).collect();
    let first = finalists.first().map(|row| row.cases.as_slice()).unwrap_or_default();
    let cells = |of: &dyn Fn(&Case) -> Cell| first.iter().map(of).collect::<Vec<_>>();
    let mut table = Table::new()
        .key("case", cells(&|case| Cell::Text(case.name.clone())))
        .column("link", cells(&|case| Cell::Text(format!("{}, {}, {} flows", case.rate, case.rtt, case.flows))));
    for row in finalists {
        let verdicts = row.cases.iter().map(|case| Cell::Badge(met(case.held)));
        table = table.column(&row.kind, verdicts.collect::<Vec<_>>());
    }
    let columns = advice.ranking.first().and_then(|row| row.cases.last()).map_or(&[][..], |case| &case.readings);
    for column in columns {
        let of = |case: &Case| {
            let reading = case.readings.iter().find(|reading| reading.metric == column.metric);
            reading.map_or_else(Cell::none, cell)
        };
        table = table.column(&format!("{} of the first, {}", column.metric, column.unit.shown().1), cells(&of));
    }
    Section::new("Other links and mixes")
        .block(Block::text(
            "Cases that were not searched, with other seeds. A case holds if the goal is met or missed by a tenth at most; \
             with a flood, if the flood has less than half of the link.",
        ))
        .block(Block::table("Cases that were not searched", table))
}

fn cell(reading: &Reading) -> Cell {
    match reading.mean {
        Some(mean) => Cell::Value { shown: reading.shown(), value: mean * reading.unit.shown().0 },
        None => Cell::none(),
    }
}
