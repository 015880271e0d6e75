//! A page of a report.

use fairlane_outcome::{Estimate, Reason};
use fairlane_report::html::{
    Badge, Block, Cell, EllipseSeries, Ellipses, Inline, Page, Provenance, Section as PageSection, Table, Tone,
};
use fairlane_report::{Axis, Figure, Line, LineStyle};

use crate::cdf::Cdf;
use crate::report::{
    CaseReport, Curve, CurveLine, GroupReport, Number, Report, Section, SubjectReport, Verdict, VideoReport,
};
use crate::sensitivity::Sensitivity;

/// Points of an ellipse's contour.
const CONTOUR: u32 = 72;

/// Returns a page of `report` that was made by `command`.
#[must_use]
pub fn page(report: &Report, command: &str) -> Page {
    let names = report.subjects.join(", ");
    let mut page = Page::new(format!("Characterization by RFC 7928: {names}"))
        .lead(Block::text(
            "RFC 7928, \"Characterization Guidelines for Active Queue Management (AQM)\", describes scenarios and measurements, and knows no pass \
             and no fail. Each section is characterised, discussed, or not applicable. DropTail is the reference of each.",
        ))
        .lead(Block::Definitions(
            report.setup.iter().map(|(name, value)| (name.clone(), vec![Inline::text_of(value.clone())])).collect(),
        ));
    if let Some((missing, all)) = report.missing_runs {
        let text = format!("{missing} of {all} runs are missing: the work was interrupted.");
        page = page.lead(Block::Notice(Badge::new(Tone::Caution, "Partial"), vec![Inline::text_of(text)]));
    }
    page = page.lead(Block::table("Sections of RFC 7928", overview(report)));
    for section in &report.sections {
        page = page.section(section_of(section));
    }
    let scenarios = report.sections.iter().flat_map(|section| {
        section.cases.iter().map(|case| (format!("{}, {}", section.id, case.name), case.scenario.clone()))
    });
    let texts = std::iter::once(("Command".to_owned(), command.to_owned())).chain(scenarios).collect();
    page.provenance(Provenance { facts: report.setup.clone(), texts })
}

/// A row for each section.
fn overview(report: &Report) -> Table {
    let text =
        |of: &dyn Fn(&Section) -> String| report.sections.iter().map(|section| Cell::Text(of(section))).collect();
    let link = |section: &Section| {
        let (text, href) = (section.id.clone(), format!("#{}", section.id));
        Cell::Prose(vec![Inline::Link { text, href }])
    };
    Table::new()
        .key("id", report.sections.iter().map(link).collect())
        .column("section", text(&|section| section.section.clone()))
        .column("scenario", text(&|section| section.title.clone()))
        .column("in the RFC", text(&|section| section.weight.clone()))
        .column("here", report.sections.iter().map(|section| Cell::Badge(badge(section.verdict))).collect())
}

fn badge(verdict: Verdict) -> Badge {
    Badge::new(Tone::Neutral, verdict.words())
}

fn section_of(section: &Section) -> PageSection {
    let mut shown = PageSection::new(format!("{} {}", section.section, section.title))
        .anchor(section.id.clone())
        .folded(badge(section.verdict))
        .block(Block::text(section.asks.clone()));
    if let Some(curve) = &section.curve {
        shown = shown.block(fairness(curve));
    }
    for (label, sentences) in &section.discussion {
        let terms = vec![(label.clone(), vec![Inline::text_of(sentences.join(" "))])];
        shown = shown.block(Block::Definitions(terms));
    }
    for case in &section.cases {
        shown = shown.section(case_section(section, case));
    }
    shown
}

/// The ratios of goodput against the round trip of category II.
fn fairness(curve: &Curve) -> Block {
    let lines = curve.lines.iter().map(|CurveLine { label, points }| {
        let points = points.iter().map(|(at, ratio)| (*at, Estimate::new(ratio.mean, ratio.ci95))).collect();
        Line::new(label.clone(), LineStyle::Marked, points)
    });
    let (x, y) = (Axis::log("round trip of category II in ms"), Axis::log("goodput, category II over category I"));
    Block::Figure {
        figure: Figure::lines("Round-trip-time fairness", x, y, lines.collect()),
        note: "Category I has a round trip of 100 ms; 1 is fair.".to_owned(),
    }
}

fn case_section(section: &Section, case: &CaseReport) -> PageSection {
    let title = format!("{}: {}", section.id, case.name);
    let mut shown = PageSection::new(title.clone()).anchor(format!("{}-{}", section.id, case.name));
    for (label, reason) in &case.left_out {
        shown = shown.block(Block::text(format!("{label} is left out: {reason}.")));
    }
    if case.subjects.is_empty() {
        return shown.block(Block::text("No run of it was complete."));
    }
    if let Some(loss) = case.projected_loss {
        let text = format!(
            "The number of flows stands for a projected drop rate of {} % under DropTail; it is no promise of the measured one.",
            loss * 100.0
        );
        shown = shown.block(Block::text(text));
    }
    // A sweep has too many for a figure; its table shows them.
    if case.subjects.len() <= 24 && !case.subjects.iter().any(|subject| subject.label.contains('=')) {
        shown = shown.block(ellipses(&title, case));
    }
    let swept = !case.sensitivities.is_empty();
    if !swept {
        shown = shown.blocks(distributions(case));
    }
    shown = shown
        .block(Block::table(format!("Flows, {title}"), flows(case)))
        .block(Block::table(format!("Queue, {title}"), queues(case)));
    if swept {
        shown = shown.block(Block::table(format!("Parameters, {title}"), parameters(case)));
    }
    if case.subjects.iter().any(|subject| !subject.phases.is_empty()) {
        shown = shown.block(Block::table(format!("Phases, {title}"), phases(case)));
        shown = shown.blocks(over_time(case));
    }
    shown
}

fn ellipses(title: &str, case: &CaseReport) -> Block {
    let groups = case.subjects.first().map_or(0, |subject| subject.groups.len());
    let panel = |index: usize| {
        let series = case.subjects.iter().filter_map(|subject| {
            let group = subject.groups.get(index)?;
            let middle = group.points.first().copied().unwrap_or_default();
            Some(EllipseSeries {
                name: subject.label.clone(),
                contour: group.ellipse.map(|ellipse| ellipse.contour(CONTOUR)).unwrap_or_default(),
                median: group.ellipse.map_or(middle, |ellipse| ellipse.median),
                points: group.points.clone(),
            })
        });
        let name = case.subjects[0].groups[index].name.clone();
        (name, series.collect())
    };
    Block::Ellipses(Ellipses {
        title: format!("Delay and goodput, {title}"),
        note: "Points, their median as a circle, and one standard deviation of the maximum-likelihood Gaussian (section 2.7).".to_owned(),
        x: "mean queueing delay in ms".to_owned(),
        y: "goodput in Mbit/s".to_owned(),
        panels: (0..groups).map(panel).collect(),
    })
}

/// The distributions of the goodput and the delay of each group (section 2.7).
fn distributions(case: &CaseReport) -> Vec<Block> {
    let chart = |title: String, label: &str, of: &dyn Fn(&SubjectReport) -> Vec<(f64, f64)>| {
        let line = |subject: &SubjectReport| {
            let points = of(subject).into_iter().map(|(value, share)| (value, Estimate::single(share))).collect();
            Line::new(subject.label.clone(), LineStyle::Plain, points)
        };
        let lines = case.subjects.iter().map(line).collect();
        Block::figure(Figure::lines(title, Axis::linear(label), Axis::linear("share of all"), lines))
    };
    let names = case.subjects.first().map(|subject| subject.groups.iter().map(|group| group.name.clone()).collect());
    let names: Vec<String> = names.unwrap_or_default();
    let each = names.iter().enumerate().flat_map(|(index, name)| {
        let goodput = |subject: &SubjectReport| scaled(subject.groups.get(index).map(|group| &group.goodput_cdf), 1e-6);
        let delay = |subject: &SubjectReport| scaled(subject.groups.get(index).map(|group| &group.delay_cdf), 1e3);
        [
            chart(format!("Goodput of a flow of {name} in ten round trips"), "Mbit/s", &goodput),
            chart(format!("One-way delay of packets of {name}"), "ms", &delay),
        ]
    });
    each.collect()
}

/// The values of a distribution times `factor`, each with its share.
fn scaled(cdf: Option<&Cdf>, factor: f64) -> Vec<(f64, f64)> {
    cdf.into_iter().flat_map(Cdf::points).map(|(value, share)| (value * factor, share)).collect()
}

/// How much the results follow each parameter.
fn parameters(case: &CaseReport) -> Table {
    let rows = &case.sensitivities;
    let cells = |of: &dyn Fn(&Sensitivity) -> Cell| rows.iter().map(of).collect::<Vec<_>>();
    let range =
        |(from, to): &(String, String)| Cell::Text(if from == to { from.clone() } else { format!("{from} to {to}") });
    let slope =
        |slope: Option<f64>| slope.map_or_else(Cell::none, |slope| cell(Number { mean: slope, ci95: None }, 1.0));
    let tried = |row: &Sensitivity| {
        Cell::Text(row.values.iter().map(|value| value.value.clone()).collect::<Vec<_>>().join(", "))
    };
    Table::new()
        .key("queue", cells(&|row| Cell::Text(row.label.clone())))
        .key("parameter", cells(&|row| Cell::Text(row.key.clone())))
        .column("values", cells(&tried))
        .column("elasticity of the delay", cells(&|row| slope(row.delay_elasticity)))
        .column("elasticity of the goodput", cells(&|row| slope(row.goodput_elasticity)))
        .column("delay within 10 % of the least", cells(&|row| range(&row.delay_range)))
        .column("goodput within 10 % of the most", cells(&|row| range(&row.goodput_range)))
}

/// A cell of a number times `factor`, with its interval.
fn cell(number: Number, factor: f64) -> Cell {
    let digits = |value: f64| format!("{:.*}", if value.abs() >= 100.0 { 0 } else { 2 }, value);
    let (mean, ci95) = (number.mean * factor, number.ci95.map(|ci95| ci95 * factor));
    let interval = ci95.map_or_else(String::new, |ci95| format!(" ± {}", digits(ci95)));
    Cell::Value { shown: format!("{}{interval}", digits(mean)), value: mean }
}

fn optional(number: Option<Number>, factor: f64) -> Cell {
    number.map_or_else(Cell::none, |number| cell(number, factor))
}

fn flows(case: &CaseReport) -> Table {
    let rows: Vec<(&SubjectReport, usize)> =
        case.subjects.iter().flat_map(|subject| (0..subject.groups.len()).map(move |group| (subject, group))).collect();
    let text = |of: &dyn Fn(&SubjectReport, usize) -> String| {
        rows.iter().map(|(subject, group)| Cell::Text(of(subject, *group))).collect::<Vec<_>>()
    };
    let cells = |of: &dyn Fn(&GroupReport) -> Cell| {
        rows.iter().map(|(subject, group)| of(&subject.groups[*group])).collect::<Vec<_>>()
    };
    let mut table = Table::new()
        .key("queue", text(&|subject, _| subject.label.clone()))
        .key("flows", text(&|subject, group| subject.groups[group].name.clone()))
        .column("goodput, Mbit/s", cells(&|group| cell(group.goodput_bps, 1e-6)))
        .column("queueing delay, ms", cells(&|group| cell(group.queueing_s, 1e3)))
        .column("delay p95, ms", cells(&|group| cell(group.delay_s[1], 1e3)))
        .column("variation p95, ms", cells(&|group| cell(group.variation_s[1], 1e3)))
        .column("variation p99, ms", cells(&|group| cell(group.variation_s[2], 1e3)))
        .column("loss, %", cells(&|group| cell(group.loss, 100.0)))
        .column("between losses, s", cells(&|group| optional(group.gap_s, 1.0)));
    if rows.iter().any(|(subject, group)| subject.groups[*group].completed > 0) {
        table = table
            .column("start-up, s", cells(&|group| optional(group.startup_s, 1.0)))
            .column("completion, s", cells(&|group| optional(group.completion_s, 1.0)))
            .column("completion p95, s", cells(&|group| group.completion_p95_s.map_or_else(Cell::none, Cell::value)))
            .column("completed", cells(&|group| Cell::value(group.completed as f64)));
    }
    let there = |of: &dyn Fn(&GroupReport) -> bool| rows.iter().any(|(subject, group)| of(&subject.groups[*group]));
    if there(&|group| group.ack_loss.is_some()) {
        table = table.column("acknowledgements lost, %", cells(&|group| optional(group.ack_loss, 100.0)));
    }
    if there(&|group| group.mos.is_some()) {
        table = table.column("MOS", cells(&|group| optional(group.mos, 1.0)));
    }
    if there(&|group| group.qoo.is_some()) {
        table = table.column("QoO", cells(&|group| optional(group.qoo, 1.0)));
    }
    if there(&|group| group.video.is_some()) {
        let of = |field: fn(&VideoReport) -> Option<Number>, factor: f64| {
            cells(&|group| optional(group.video.as_ref().and_then(field), factor))
        };
        table = table
            .column("bit rate, Mbit/s", of(|video| video.bit_rate_bps, 1e-6))
            .column("start-up, s", of(|video| video.startup_s, 1.0))
            .column("stalls", of(|video| Some(video.stalls), 1.0))
            .column("stall time, s", of(|video| Some(video.stalled_s), 1.0))
            .column("switches", of(|video| Some(video.switches), 1.0));
    }
    table
}

fn queues(case: &CaseReport) -> Table {
    let cells = |of: &dyn Fn(&SubjectReport) -> Cell| case.subjects.iter().map(of).collect::<Vec<_>>();
    let reasons = |subject: &SubjectReport| {
        let words = |name: &str| Reason::ALL.into_iter().find(|reason| reason.name() == name).map_or("", Reason::words);
        let each = subject.queue.drop_reasons.iter();
        let each = each.map(|(reason, share)| format!("{} {:.0} %", words(reason), share * 100.0));
        Cell::Text(each.collect::<Vec<_>>().join(", "))
    };
    Table::new()
        .key("queue", cells(&|subject| Cell::Text(subject.label.clone())))
        .column("utilisation, %", cells(&|subject| cell(subject.queue.utilisation, 100.0)))
        .column("delay, ms", cells(&|subject| cell(subject.queue.delay_s, 1e3)))
        .column("delay p95, ms", cells(&|subject| cell(subject.queue.delay_p95_s, 1e3)))
        .column("dropped, %", cells(&|subject| cell(subject.queue.loss, 100.0)))
        .column("marked, %", cells(&|subject| cell(subject.queue.marked, 100.0)))
        .column("flows in a loss event, %", cells(&|subject| optional(subject.queue.synchronisation, 100.0)))
        .column(
            "its p90, %",
            cells(&|subject| {
                subject.queue.synchronisation_p90.map_or_else(Cell::none, |share| Cell::value(share * 100.0))
            }),
        )
        .column("drops by reason", cells(&reasons))
        .column("runs", cells(&|subject| Cell::value(subject.runs as f64)))
}

fn phases(case: &CaseReport) -> Table {
    let rows = || case.subjects.iter().flat_map(|subject| subject.phases.iter().map(move |phase| (subject, phase)));
    Table::new()
        .key("queue", rows().map(|(subject, _)| Cell::Text(subject.label.clone())).collect())
        .key("phase", rows().map(|(_, phase)| Cell::Text(phase.name.clone())).collect())
        .column("throughput, Mbit/s", rows().map(|(_, phase)| cell(phase.throughput_bps, 1e-6)).collect())
        .column("queueing delay, ms", rows().map(|(_, phase)| cell(phase.queueing_s, 1e3)).collect())
}

/// The goodput of all flows and the queueing delay over time, of the first run.
fn over_time(case: &CaseReport) -> Vec<Block> {
    let chart = |title: &str, label: &str, of: &dyn Fn(&crate::TimePoint) -> f64| {
        let lines = case.subjects.iter().map(|subject| {
            let points = subject.series.iter().map(|point| (point.time_s, Estimate::single(of(point)))).collect();
            Line::new(subject.label.clone(), LineStyle::Plain, points)
        });
        let figure = Figure::lines(title, Axis::linear("time in s"), Axis::linear(label), lines.collect());
        Block::figure(figure)
    };
    vec![
        chart("Goodput over time, first run", "goodput in Mbit/s", &|point| {
            point.goodput_bps.iter().sum::<f64>() / 1e6
        }),
        chart("Queueing delay over time, first run", "mean queueing delay in ms", &|point| point.queueing_s * 1e3),
    ]
}
