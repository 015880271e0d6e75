//! `fairlane advise`: a discipline for a link, its traffic and a goal.

use std::path::{Path, PathBuf};
use std::time::Duration;

use fairlane_advise::{Advice, AdvisePlan, AdviseSettings, Link, Ranked};
use fairlane_console::Failure;
use fairlane_console::layout::paragraph;
use fairlane_outcome::Extent;
use fairlane_runner::files;
use fairlane_runner::machine::within;

use crate::args::advise::AdviseArgs;
use crate::commands::tune::{failure, misread};
use crate::files::Outputs;
use crate::{output, progress, shared};

/// An advice that is ready to be made.
#[derive(Debug)]
pub(crate) struct AdviseCommand {
    plan: AdvisePlan,
    time: Duration,
    threads: Option<usize>,
    json: bool,
    out: Option<PathBuf>,
    html: Option<PathBuf>,
}

impl AdviseCommand {
    /// Reads and checks everything.
    pub(crate) fn new(args: AdviseArgs) -> Result<Self, Failure> {
        #[cfg(not(feature = "html"))]
        if args.page.html.is_some() {
            return Err(crate::features::missing("pages (--html)", "html"));
        }
        let outputs = Outputs::default().tables("--out", args.out.as_deref()).file("--html", args.page.html.as_deref());
        outputs.check(&[])?;
        let mix = args.mix.parse().map_err(|error| misread("--mix", &error))?;
        let goal = args.goal.parse().map_err(|error| misread("--goal", &error))?;
        let settings = AdviseSettings {
            link: Link { rate: args.rate, rtt: args.rtt, mix },
            goal,
            on: args.on,
            no_flow_state: args.no_flow_state,
            kinds: shared::kinds(&args.queue),
            seed: args.seed,
        };
        let plan = AdvisePlan::new(settings, args.threads.jobs).map_err(failure)?;
        let time = Duration::from_nanos(args.time.as_nanos());
        Ok(Self { plan, time, threads: args.threads.jobs, json: args.form.json, out: args.out, html: args.page.html })
    }

    /// Judges the disciplines, writes the files and prints the advice.
    pub(crate) fn execute(self) -> Result<(), Failure> {
        let control = progress::control()?;
        let total = self.plan.runs();
        let work = || progress::watched(&control, total, || self.plan.execute(self.threads, &control));
        let (advice, time_over) = within(self.time, &control, work);
        let advice = advice.map_err(failure)?;
        let written = self.out.as_ref().map(|folder| write(folder, &advice));
        let printed =
            if self.json { output::print_json(&advice) } else { output::print(&text(&advice, output::width())) };
        let page = self.html.as_ref().map(|file| write_page(file, &advice));
        shared::delivered(written, printed, page)?;
        shared::complete(advice.partial && !time_over, "the answer is partial", &Outputs::default())
    }
}

/// Writes the advice as JSON, the scenario, the router's file and the commands of tc.
fn write(folder: &Path, advice: &Advice) -> Result<(), Failure> {
    let json = serde_json::to_string_pretty(advice).map_err(|error| Failure::plain(error.to_string()))?;
    let texts = [("advice.json", &json), ("scenario.toml", &advice.scenario), ("router.toml", &advice.router)];
    for (name, text) in texts.into_iter().chain(advice.tc.iter().map(|tc| ("tc.sh", tc))) {
        files::write(&folder.join(name), text, Extent::Whole)?;
    }
    Ok(())
}

#[cfg(feature = "html")]
fn write_page(file: &Path, advice: &Advice) -> Result<(), Failure> {
    Ok(files::write(file, fairlane_advise::page(advice, &crate::features::command()).to_html(), Extent::Whole)?)
}

#[cfg(not(feature = "html"))]
fn write_page(_: &Path, _: &Advice) -> Result<(), Failure> {
    Ok(())
}

/// The advice for a terminal.
fn text(advice: &Advice, width: usize) -> String {
    let Advice { rate, rtt, mix, goal, on, room, .. } = advice;
    let link = format!("A queue for {rate} and {rtt}, with {mix}, on {on}");
    let mut text = paragraph(&link, "", "  ", width) + &paragraph(&format!("Goal: {goal}"), "", "  ", width) + "\n";
    for sentence in &advice.answer {
        text += &paragraph(sentence, "", "", width);
    }
    if let Some(tc) = &advice.tc {
        text += "\nOn Linux, with the name of your interface\n";
        for line in tc.lines() {
            // A command stays on its line, so that it can be copied.
            let comment = line.starts_with('#');
            text += &if comment { paragraph(line, "  ", "  # ", width) } else { format!("  {line}\n") };
        }
    }
    text += "\nQueue of a scenario and of a router (--out writes both files)\n";
    for line in advice.router.lines().filter(|line| line.starts_with("queue = ")) {
        text += &paragraph(line, "  ", "    ", width);
    }
    let head = format!("Disciplines, each with the best of its parameters that were tried; room for {room} packets");
    text += &format!("\n{}{}", paragraph(&head, "", "  ", width), ranking(advice, width));
    for left in &advice.left_out {
        text += &paragraph(&format!("{} is left out: {}.", left.candidate, left.reason), "  ", "    ", width);
    }
    text += &cases(advice, width);
    let mut judged = advice.judged();
    judged[..1].make_ascii_uppercase();
    text + "\n" + &paragraph(&format!("{judged}."), "", "", width)
}

fn ranking(advice: &Advice, width: usize) -> String {
    let metrics = || advice.ranking.first().map(|row| row.readings.as_slice()).unwrap_or_default().iter();
    let columns_of =
        |metric: &str, row: &Ranked| row.reading(metric).map_or_else(String::new, fairlane_advise::Reading::shown);
    let head = ["", "goal", "cases", "runs"].map(str::to_owned).into_iter();
    let mut rows = vec![head.chain(metrics().map(|reading| reading.metric.clone())).collect::<Vec<String>>()];
    let units = metrics().map(|reading| reading.unit.shown().1.to_owned());
    rows.push(vec![String::new(); 4].into_iter().chain(units).collect());
    for row in &advice.ranking {
        let goal = if row.met { "met" } else { "failed" };
        let cases = if row.cases.is_empty() { String::new() } else { format!("{} of {}", row.held(), row.cases.len()) };
        let first = [row.kind.clone(), goal.to_owned(), cases, row.runs.to_string()].into_iter();
        rows.push(first.chain(metrics().map(|reading| columns_of(&reading.metric, row))).collect());
    }
    let tuned: String = advice.ranking.iter().map(|row| paragraph(&row.label(), "  ", "    ", width)).collect();
    aligned(&rows, width) + "\nTheir parameters\n" + &tuned
}

/// The cases, with the finalists as columns.
fn cases(advice: &Advice, width: usize) -> String {
    let finalists: Vec<&Ranked> = advice.ranking.iter().filter(|row| !row.cases.is_empty()).collect();
    let Some(first) = finalists.first() else { return String::new() };
    let head = ["", ""].map(str::to_owned).into_iter().chain(finalists.iter().map(|row| row.kind.clone()));
    let mut rows = vec![head.collect::<Vec<String>>()];
    for (index, case) in first.cases.iter().enumerate() {
        let link = format!("{}, {}, {} flows", case.rate, case.rtt, case.flows);
        let held = finalists.iter().map(|row| if row.cases[index].held { "holds" } else { "failed" }.to_owned());
        rows.push([case.name.clone(), link].into_iter().chain(held).collect());
    }
    format!("\nCases that were not searched\n{}", aligned(&rows, width))
}

/// Returns rows as columns side by side; further columns go below, with the first column again.
fn aligned(rows: &[Vec<String>], width: usize) -> String {
    let count = rows.first().map_or(0, Vec::len);
    let widest = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let (mut text, mut first) = (String::new(), 1);
    while first < count {
        let mut used = 2 + widest(0);
        let more = (first..count).take_while(|column| {
            used += 2 + widest(*column);
            used <= width || *column == first
        });
        let end = first + more.count();
        for row in rows {
            let cells =
                std::iter::once(0).chain(first..end).map(|column| format!("  {:<1$}", row[column], widest(column)));
            text += &(cells.collect::<String>().trim_end().to_owned() + "\n");
        }
        first = end;
        if first < count {
            text.push('\n');
        }
    }
    text
}
