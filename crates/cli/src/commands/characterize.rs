//! `fairlane characterize`: disciplines by the guidelines of RFC 7928.

use std::path::{Path, PathBuf};

use fairlane_characterize::{
    CaseReport, GroupReport, Number, Plan, Report, Section, Sensitivity, Settings, Subject, SubjectReport,
};
use fairlane_console::layout::{columns, paragraph};
use fairlane_console::{Failure, costs};
use fairlane_outcome::Extent;
use fairlane_qdisc::Value;
use fairlane_runner::files;
use fairlane_runner::replay::configs;
use fairlane_sim::Control;

use crate::args::characterize::CharacterizeArgs;
use crate::files::Outputs;
use crate::{output, progress, shared};

/// A report that is ready to be made.
#[derive(Debug)]
pub(crate) struct CharacterizeCommand {
    plan: Plan,
    threads: Option<usize>,
    json: bool,
    out: Option<PathBuf>,
    html: Option<PathBuf>,
    outputs: Outputs,
}

impl CharacterizeCommand {
    /// Reads and checks everything.
    pub(crate) fn new(args: CharacterizeArgs) -> Result<Self, Failure> {
        #[cfg(not(feature = "html"))]
        if args.page.html.is_some() {
            return Err(crate::features::missing("pages (--html)", "html"));
        }
        let outputs = Outputs::default().tables("--out", args.out.as_deref()).file("--html", args.page.html.as_deref());
        outputs.check(&[])?;
        let parameters: Vec<_> =
            args.parameters.iter().map(|setting| (setting.key.as_str(), Value::from(&*setting.value))).collect();
        let subjects = configs(&shared::kinds(&args.kinds.0), &parameters)?.into_iter().map(|parameters| {
            let cost = costs::of(parameters.kind()).map(|cost| {
                format!(
                    "A packet takes {} ns with 33 flows and {} ns with 10,001 ({}).",
                    cost.few.ns,
                    cost.many.ns,
                    costs::machine()
                )
            });
            Subject { cost, ..Subject::new(parameters) }
        });
        let settings = settings(&args);
        let plan = Plan::new(subjects.collect(), settings, &Control::default())?;
        let html = args.page.html;
        Ok(Self { plan, threads: args.threads.jobs, json: args.form.json, out: args.out, html, outputs })
    }

    /// Makes the report, writes it and prints it.
    pub(crate) fn execute(self) -> Result<(), Failure> {
        output::warn(&self.plan.warnings());
        let control = progress::control()?;
        let report = progress::watched(&control, self.plan.runs(), || self.plan.execute(self.threads, &control))?;
        let extent = Extent::of(report.missing_runs.is_some());
        let tables = self.out.as_ref().map(|folder| write(folder, &report, extent));
        let printed =
            if self.json { output::print_json(&report) } else { output::print(&text(&report, output::width())) };
        let page = self.html.as_ref().map(|file| write_page(file, &report, extent));
        shared::delivered(tables, printed, page)?;
        let done = report.missing_runs.map(|(missing, all)| format!("{} of {all} runs are done", all - missing));
        shared::complete(done.is_some(), &done.unwrap_or_default(), &self.outputs)
    }
}

fn settings(args: &CharacterizeArgs) -> Settings {
    Settings {
        rate: args.rate,
        rtt: args.rtt,
        buffer: args.buffer,
        ecn: args.ecn,
        quick: args.quick,
        runs: args.runs,
        only: args.only.clone(),
        seed: args.seed,
    }
}

/// Writes the report as JSON, and each scenario as a file.
fn write(folder: &Path, report: &Report, extent: Extent) -> Result<(), Failure> {
    let json = serde_json::to_string_pretty(report).map_err(|error| Failure::plain(error.to_string()))?;
    files::write(&folder.join("report.json"), json, extent)?;
    for section in &report.sections {
        for case in &section.cases {
            let file = folder.join(format!("{}-{}.toml", section.id, case.name));
            files::write(&file, &case.scenario, Extent::of(false))?;
        }
    }
    Ok(())
}

#[cfg(feature = "html")]
fn write_page(file: &Path, report: &Report, extent: Extent) -> Result<(), Failure> {
    Ok(files::write(file, fairlane_characterize::page(report, &crate::features::command()).to_html(), extent)?)
}

#[cfg(not(feature = "html"))]
fn write_page(_: &Path, _: &Report, _: Extent) -> Result<(), Failure> {
    Ok(())
}

/// The report for a terminal.
fn text(report: &Report, width: usize) -> String {
    let setup: Vec<[String; 2]> = report.setup.iter().map(|(name, value)| [name.clone(), value.clone()]).collect();
    let mut text = format!("Characterization by RFC 7928: {}\n\n", report.subjects.join(", "));
    text += &columns(&setup, width);
    for section in &report.sections {
        text += &of_section(section, width);
    }
    text
}

fn of_section(section: &Section, width: usize) -> String {
    let heading =
        format!("{}  {}, section {}: {}", section.id, section.title, section.section, section.verdict.words());
    let mut text =
        format!("\n{}{}", paragraph(&heading, "", "    ", width), paragraph(&section.asks, "  ", "  ", width));
    for (label, sentences) in &section.discussion {
        text += &paragraph(&sentences.join(" "), &format!("  {label}: "), "    ", width);
    }
    for case in &section.cases {
        text += &of_case(case, width);
    }
    text
}

fn of_case(case: &CaseReport, width: usize) -> String {
    let mut rows = vec![
        ["queue", "flows", "goodput", "queueing delay", "delay variation p95", "loss", "completion", "utilisation"]
            .map(str::to_owned),
        ["", "", "Mbit/s", "ms", "ms", "%", "s", "%"].map(str::to_owned),
    ];
    rows.extend(case.subjects.iter().flat_map(of_subject));
    let mut text = format!("\n  {}\n{}", case.name, columns(&rows, width));
    for (label, reason) in &case.left_out {
        text += &paragraph(&format!("{label} is left out: {reason}."), "  ", "    ", width);
    }
    let phases: Vec<[String; 4]> = case
        .subjects
        .iter()
        .flat_map(|subject| {
            subject.phases.iter().map(|phase| {
                let throughput = format!("{} Mbit/s", number(phase.throughput_bps, 1e-6));
                [subject.label.clone(), phase.name.clone(), throughput, format!("{} ms", number(phase.queueing_s, 1e3))]
            })
        })
        .collect();
    text += &columns(&phases, width);
    text += &columns(&applications(case), width);
    text + &columns(&parameters(case), width)
}

/// The rows of application quality, with a heading; empty without scores.
fn applications(case: &CaseReport) -> Vec<[String; 7]> {
    let optional = |value: Option<Number>, factor: f64| value.map_or_else(String::new, |value| number(value, factor));
    let groups = case.subjects.iter().flat_map(|subject| subject.groups.iter().map(move |group| (subject, group)));
    let scored = groups.filter(|(_, group)| {
        group.mos.is_some() || group.qoo.is_some() || group.video.is_some() || group.ack_loss.is_some()
    });
    let row = |(subject, group): (&SubjectReport, &GroupReport)| {
        let video = group.video.as_ref();
        [
            subject.label.clone(),
            group.name.clone(),
            optional(group.mos, 1.0),
            optional(group.qoo, 1.0),
            optional(video.and_then(|video| video.bit_rate_bps), 1e-6),
            optional(video.map(|video| video.stalled_s), 1.0),
            optional(group.ack_loss, 100.0),
        ]
    };
    let mut rows: Vec<[String; 7]> = scored.map(row).collect();
    if !rows.is_empty() {
        let heads = [
            ["queue", "flows", "MOS", "QoO", "bit rate", "stall time", "ACKs lost"],
            ["", "", "", "", "Mbit/s", "s", "%"],
        ];
        rows.splice(0..0, heads.map(|head| head.map(str::to_owned)));
    }
    rows
}

/// How much the results follow each parameter, with a heading; nothing without a sweep.
fn parameters(case: &CaseReport) -> Vec<[String; 6]> {
    let slope = |slope: Option<f64>| slope.map_or_else(String::new, |slope| format!("{slope:.2}"));
    let range = |(from, to): &(String, String)| if from == to { from.clone() } else { format!("{from} to {to}") };
    let row = |row: &Sensitivity| {
        [
            row.label.clone(),
            row.key.clone(),
            slope(row.delay_elasticity),
            slope(row.goodput_elasticity),
            range(&row.delay_range),
            range(&row.goodput_range),
        ]
    };
    let mut rows: Vec<[String; 6]> = case.sensitivities.iter().map(row).collect();
    if !rows.is_empty() {
        let heads = [
            ["queue", "parameter", "elasticity", "elasticity", "delay within", "goodput within"],
            ["", "", "of the delay", "of the goodput", "10 % of the least", "10 % of the most"],
        ];
        rows.splice(0..0, heads.map(|head| head.map(str::to_owned)));
    }
    rows
}

/// A row for each group.
fn of_subject(subject: &SubjectReport) -> Vec<[String; 8]> {
    let row = |(index, group): (usize, &GroupReport)| {
        [
            if index == 0 { subject.label.clone() } else { String::new() },
            group.name.clone(),
            number(group.goodput_bps, 1e-6),
            number(group.queueing_s, 1e3),
            number(group.variation_s[1], 1e3),
            number(group.loss, 100.0),
            group.completion_s.map_or_else(String::new, |time| number(time, 1.0)),
            if index == 0 { number(subject.queue.utilisation, 100.0) } else { String::new() },
        ]
    };
    subject.groups.iter().enumerate().map(row).collect()
}

/// A number times `factor`, with its interval.
fn number(number: Number, factor: f64) -> String {
    let interval = number.ci95.map_or_else(String::new, |ci95| format!(" ± {:.2}", ci95 * factor));
    format!("{:.2}{interval}", number.mean * factor)
}
