//! `fairlane advise`: a discipline for a link, its traffic and a goal.

use std::path::{Path, PathBuf};

use fairlane_advise::{Advice, AdvisePlan, AdviseSettings, Link, ProofCase, Ranked, Verdict};
use fairlane_console::Failure;
use fairlane_console::layout::paragraph;
use fairlane_outcome::Extent;
use fairlane_runner::files;

use crate::args::advise::AdviseArgs;
use crate::commands::tune::{failure, misread};
use crate::files::Outputs;
use crate::{output, progress, shared};

/// An advice that is ready to be made.
#[derive(Debug)]
pub(crate) struct AdviseCommand {
    plan: AdvisePlan,
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
            no_flow_state: args.no_flow_state,
            kinds: shared::kinds(&args.kinds),
            quick: args.quick,
            runs: args.runs,
            seed: args.seed,
        };
        let plan = AdvisePlan::new(settings, args.threads.jobs).map_err(failure)?;
        Ok(Self { plan, threads: args.threads.jobs, json: args.form.json, out: args.out, html: args.page.html })
    }

    /// Ranks the disciplines, writes the files and prints the advice.
    pub(crate) fn execute(self) -> Result<(), Failure> {
        let control = progress::control()?;
        let total = self.plan.runs();
        let advice =
            progress::watched(&control, total, || self.plan.execute(self.threads, &control)).map_err(failure)?;
        let written = self.out.as_ref().map(|folder| write(folder, &advice));
        let printed =
            if self.json { output::print_json(&advice) } else { output::print(&text(&advice, output::width())) };
        let page = self.html.as_ref().map(|file| write_page(file, &advice));
        shared::delivered(written, printed, page)
    }
}

/// Writes the advice as JSON, the scenario and the router's file.
fn write(folder: &Path, advice: &Advice) -> Result<(), Failure> {
    let json = serde_json::to_string_pretty(advice).map_err(|error| Failure::plain(error.to_string()))?;
    for (name, text) in [("advice.json", &json), ("scenario.toml", &advice.scenario), ("router.toml", &advice.router)] {
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
    let Advice { rate, rtt, mix, goal, .. } = advice;
    let mut text = format!("A queue for {rate} and {rtt}, with {mix}\nGoal: {goal}\n\n");
    text += &paragraph(&advice.sentence(), "", "", width);
    text += &format!("\nRanking\n{}", ranking(advice, width));
    for left in &advice.left_out {
        text += &paragraph(&format!("{} is left out: {}.", left.kind, left.reason), "  ", "    ", width);
    }
    for front in &advice.fronts {
        let name = format!("\nPareto front of delay.p95 and {}: ", front.metric);
        text += &paragraph(&front.kinds.join(", "), &name, "  ", width);
    }
    let seed = advice.proof.first().map_or(0, |case| case.seed);
    text += &format!("\nProof, with seed {seed}\n{}", proof(advice, width));
    text += "\nQueue of a scenario and of a router (--out writes both files)\n";
    for line in advice.router.lines().filter(|line| line.starts_with("queue = ")) {
        text += &paragraph(line, "  ", "    ", width);
    }
    text + &format!("\n{} candidates, {} runs, seed {}.\n", advice.candidates, advice.runs_done, advice.seed)
}

fn ranking(advice: &Advice, width: usize) -> String {
    let metrics = || advice.ranking.first().map(|row| row.readings.as_slice()).unwrap_or_default().iter();
    let columns_of =
        |metric: &str, row: &Ranked| row.reading(metric).map_or_else(String::new, fairlane_advise::Reading::shown);
    let head = ["", "goal", "runs"].map(str::to_owned).into_iter();
    let mut rows = vec![head.chain(metrics().map(|reading| reading.metric.clone())).collect::<Vec<String>>()];
    let units = metrics().map(|reading| reading.unit.shown().1.to_owned());
    rows.push(vec![String::new(); 3].into_iter().chain(units).collect());
    for row in &advice.ranking {
        let goal = if row.met { "met" } else { "failed" };
        let first = [row.kind.clone(), goal.to_owned(), row.runs.to_string()].into_iter();
        rows.push(first.chain(metrics().map(|reading| columns_of(&reading.metric, row))).collect());
    }
    let tuned = advice.ranking.iter().filter(|row| !row.parameters.is_empty());
    let tuned: String = tuned.map(|row| paragraph(&row.label(), "  ", "    ", width)).collect();
    let tuned = if tuned.is_empty() { tuned } else { format!("\nNot with their defaults but\n{tuned}") };
    aligned(&rows, width) + &tuned
}

fn proof(advice: &Advice, width: usize) -> String {
    let metrics = || advice.proof.first().map(|case| case.winner.as_slice()).unwrap_or_default().iter();
    let head = ["", "", "goal", ""].map(str::to_owned).into_iter();
    let mut rows = vec![head.chain(metrics().map(|reading| reading.metric.clone())).collect::<Vec<String>>()];
    let units = metrics().map(|reading| reading.unit.shown().1.to_owned());
    rows.push(vec![String::new(); 4].into_iter().chain(units).collect());
    for case in &advice.proof {
        let ProofCase { name, rate, rtt, met, verdict, .. } = case;
        let goal = if *met { "met" } else { "failed" };
        let place = match verdict {
            Some(Verdict::Better) => "ahead",
            Some(Verdict::Tie) => "tie",
            Some(Verdict::Worse) => "behind",
            None => "",
        };
        let first = [name.clone(), format!("{rate}, {rtt}"), goal.to_owned(), place.to_owned()].into_iter();
        rows.push(first.chain(case.winner.iter().map(fairlane_advise::Reading::shown)).collect());
    }
    aligned(&rows, width)
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
