//! `fairlane compare`: several disciplines under the same traffic.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use fairlane_console::Failure;
use fairlane_outcome::Extent;
use fairlane_qdisc::{Duration, Kind};
use fairlane_report::{Detail, Details, PaperNumbers, compare_table, correlation_lines};
use fairlane_runner::compare::{parameters, shaper_point, usual, with_kind, with_shaper};
use fairlane_runner::{Batch, BatchResult, Error, Job, Series, so_far};
use fairlane_scenario::Scenario;
use fairlane_sim::Control;

use crate::args::compare::CompareArgs;
use crate::args::shared::FigureFiles;
use crate::files::Outputs;
use crate::page::HtmlPage;
use crate::{output, progress, shared};

/// A comparison that is ready to run.
#[derive(Debug)]
pub(crate) struct CompareCommand {
    batch: Batch,
    /// The scenario is Figure 3 of the CHOKe paper unchanged, so the paper's numbers are printed next to ours.
    as_published: bool,
    json: bool,
    details: Details,
    /// The parameters that differ from their defaults: a title, and a line for each discipline.
    parameters: Vec<String>,
    /// Warnings of the scenario, without the notes of its outcomes.
    warnings: Vec<String>,
    out: Option<PathBuf>,
    page: Option<HtmlPage>,
    figures: FigureFiles,
    series: Option<BatchSeries>,
    outputs: Outputs,
}

/// The series of the first run of each discipline.
#[derive(Debug)]
struct BatchSeries {
    interval: Duration,
    /// One for each job.
    paths: Vec<PathBuf>,
}

impl CompareCommand {
    /// Reads and checks everything.
    pub(crate) fn new(args: CompareArgs) -> Result<Self, Failure> {
        let document = shared::simulated(args.file.as_deref(), &args.overrides)?;
        let scenario = document.scenario()?;
        let jobs = jobs(&args, &scenario)?;
        let series = args.series.asked().map(|(path, interval)| BatchSeries {
            interval,
            paths: jobs.iter().map(|job| series_path(&path, &job.asked)).collect(),
        });
        let (parameters, warnings) = (differing(&jobs), warnings(&jobs));
        let batch = Batch::new(jobs, args.runs, args.threads.jobs)?.at(args.shown.at)?;
        let outputs =
            Outputs::default().tables("--out", args.folder.out.as_deref()).file("--html", args.page.html.as_deref());
        let outputs = args.figures.outputs(outputs)?;
        let paths =
            series.iter().flat_map(|series| series.paths.iter().map(move |path| (path.clone(), series.interval)));
        let outputs = paths.fold(outputs, |outputs, path| outputs.series(Some(&path)));
        outputs.check(&shared::inputs(args.file.as_deref(), &document))?;
        let page = HtmlPage::new(&args.page, &document, &args.overrides)?;
        let batch = if page.is_some() || series.is_some() { batch.recorded() } else { batch };
        let as_published = args.file.is_none() && args.overrides.set.is_empty();
        Ok(Self {
            batch,
            as_published,
            json: args.form.json,
            details: args.tables.details(&Detail::ALL)?,
            parameters,
            warnings,
            out: args.folder.out,
            page,
            figures: args.figures,
            series,
            outputs,
        })
    }

    /// Runs it and prints it.
    pub(crate) fn execute(self) -> Result<(), Failure> {
        output::warn(&self.warnings);
        let control = progress::control()?;
        let BatchResult { outcomes, timelines, interrupted, .. } = self.outcomes(&control)?;
        let extent = Extent::of(interrupted);
        let tables = self.out.as_ref().map(|folder| shared::write_tables(folder, &outcomes, extent));
        let paper = self.as_published.then(PaperNumbers::choke_figure_3);
        let series = if self.series.is_some() { &*timelines } else { &[] };
        let printed = if self.json {
            output::print_outcomes(&outcomes, series, interrupted)
        } else if outcomes.is_empty() {
            Ok(())
        } else {
            let notes = [&*self.parameters, &correlation_lines(&outcomes, series)].concat();
            output::print(&compare_table(&outcomes, paper.as_ref(), &notes, &output::terminal(self.details)))
        };
        let there = so_far(&outcomes, self.batch.len(), "disciplines");
        let missing = interrupted.then(|| shared::interrupted(&there));
        let page = self.page.as_ref().map(|page| page.write_comparison(&outcomes, &timelines, paper.as_ref(), missing));
        let figures = self.figures.draw(&outcomes, extent);
        shared::delivered(tables, printed, page.into_iter().chain(figures))?;
        shared::complete(interrupted, &there, &self.outputs)
    }

    /// Runs all disciplines, and writes their series.
    fn outcomes(&self, control: &Control) -> Result<BatchResult, Failure> {
        let Some(BatchSeries { interval, paths }) = &self.series else { return progress::batch(&self.batch, control) };
        let begin =
            |number: usize, job: &Job| Series::create(&paths[number], *interval, &job.scenario).map_err(Error::from);
        let end =
            |_: usize, series: Series, partial: bool| series.finish(Extent::of(partial)).map(drop).map_err(Error::from);
        progress::watched(control, self.batch.runs(), || self.batch.execute_observed(control, begin, end))
            .map_err(Failure::from)
    }
}

/// Returns a line for each discipline with parameters that differ from their defaults, after their title; nothing
/// without any.
fn differing(jobs: &[Job]) -> Vec<String> {
    let mut lines: Vec<String> = jobs.iter().flat_map(|job| parameters(&job.scenario)).collect();
    // Under several shapers.
    lines.dedup();
    if !lines.is_empty() {
        lines.insert(0, "Parameters that differ from their defaults:".to_owned());
    }
    lines
}

/// Returns each warning about the queues and times of the jobs once, those of a discipline with its name.
fn warnings(jobs: &[Job]) -> Vec<String> {
    let of = |Job { scenario, asked, .. }: &Job| {
        let asked = asked.strip_prefix("--queue ").unwrap_or(asked).to_owned();
        let queues = scenario.queue_warnings().into_iter().map(move |warning| format!("{asked}: {warning}"));
        queues.chain(scenario.time_warnings()).collect::<Vec<_>>()
    };
    let mut seen = BTreeSet::new();
    jobs.iter().flat_map(of).filter(|warning| seen.insert(warning.clone())).collect()
}

/// Returns the name of a job's series: `x.choke.csv` for `x.csv`, and with shapers `x.choke-autorate.csv`.
fn series_path(path: &Path, asked: &str) -> PathBuf {
    let words: Vec<&str> = asked.split_whitespace().filter(|word| !word.starts_with("--")).collect();
    let mut name = path.file_stem().map_or_else(OsString::new, OsString::from);
    name.push(format!(".{}.", words.join("-")));
    name.push(path.extension().unwrap_or_default());
    path.with_file_name(name)
}

/// Returns a job for each discipline, or for each discipline and shaper.
fn jobs(args: &CompareArgs, scenario: &Scenario) -> Result<Vec<Job>, Failure> {
    let disciplines = disciplines(args, scenario)?;
    if args.shaper.is_empty() {
        return Ok(disciplines);
    }
    let mut jobs = Vec::new();
    for Job { scenario, asked, .. } in disciplines {
        for (index, kind) in args.shaper.iter().enumerate() {
            if args.shaper[..index].contains(kind) {
                continue;
            }
            let asked = [asked.as_str(), &format!("--shaper {}", kind.name())].join(" ").trim_start().to_owned();
            jobs.push(Job { scenario: with_shaper(&scenario, *kind)?, point: Some(shaper_point(*kind)), asked });
        }
    }
    Ok(jobs)
}

/// Returns a job for each requested discipline; for that of the file if only shapers are compared.
fn disciplines(args: &CompareArgs, scenario: &Scenario) -> Result<Vec<Job>, Failure> {
    let kinds = match (args.queue.is_empty(), args.shaper.is_empty()) {
        (true, false) => return Ok(vec![Job::of(scenario.clone())]),
        (true, true) => usual(scenario),
        (false, _) => shared::kinds(&args.queue),
    };
    let job =
        |kind: &Kind| Ok(Job { scenario: with_kind(scenario, *kind)?, point: None, asked: format!("--queue {kind}") });
    kinds.iter().map(job).collect()
}
