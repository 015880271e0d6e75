//! `fairlane sweep`: a scenario at every combination of values.

mod journal;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use fairlane_console::Failure;
use fairlane_outcome::tables::write_file;
use fairlane_outcome::{Extent, Outcome, Point};
use fairlane_report::{Detail, Details, sweep_table};
use fairlane_runner::sweep::jobs;
use fairlane_runner::{Batch, Job, so_far};
use fairlane_scenario::{Document, Vary};
use fairlane_sim::Control;

use crate::args::shared::FigureFiles;
use crate::args::sweep::{Part, SweepArgs};
use crate::files::Outputs;
use crate::page::HtmlPage;
use crate::{output, progress, shared};
use journal::Journal;

/// A sweep that is ready to run.
#[derive(Debug)]
pub(crate) struct SweepCommand {
    /// The points that are left.
    batch: Batch,
    /// Their numbers.
    left: Vec<usize>,
    /// The name of the queue that the table shows.
    at: Option<String>,
    points: usize,
    /// The finished points, for `--table`.
    journal: Option<Journal>,
    part: Option<Part>,
    merged: bool,
    json: bool,
    details: Details,
    table: Option<PathBuf>,
    page: Option<HtmlPage>,
    figures: FigureFiles,
}

impl SweepCommand {
    /// Reads and checks everything, each point of the sweep too.
    pub(crate) fn new(args: SweepArgs) -> Result<Self, Failure> {
        let document = shared::simulated(Some(&args.file), &args.overrides)?;
        let varies = args.vary.iter().map(|vary| Vary::parse(vary)).collect::<Result<Vec<_>, _>>()?;
        let jobs = jobs(&document, &varies)?;
        let outputs =
            Outputs::default().table("--table", args.table.as_deref()).file("--html", args.page.html.as_deref());
        let outputs = args.figures.outputs(outputs)?;
        outputs.check(&inputs(&args.file, &document, &varies))?;
        let page = HtmlPage::new(&args.page, &document, &args.overrides)?;
        let (all, runs, part) = (points(&jobs), args.runs.get(), args.part);
        let journal = args.table.as_deref().map(|out| match args.merge {
            true => Journal::merge(out, &document, &all, runs),
            false => Journal::open(out, part, &document, &all, runs),
        });
        let journal = journal.transpose()?;
        let finished = |number: &usize| journal.as_ref().is_some_and(|it| it.finished.contains_key(number));
        let is_ours = |number: &usize| part.is_none_or(|part| part.has(*number));
        let points = (0..jobs.len()).filter(is_ours).count();
        let (left, jobs) = (0..).zip(jobs).filter(|(number, _)| is_ours(number) && !finished(number)).unzip();
        let at = args.shown.at;
        let batch = match Batch::new(jobs, args.runs, args.threads.jobs).and_then(|batch| batch.at(at.clone())) {
            Ok(batch) => batch,
            Err(error) => {
                if let Some(journal) = journal {
                    journal.remove_empty();
                }
                return Err(error.into());
            }
        };
        Ok(Self {
            batch,
            left,
            at,
            points,
            journal,
            part,
            merged: args.merge,
            json: args.form.json,
            details: args.tables.details(&[Detail::EndToEnd])?,
            table: args.table,
            page,
            figures: args.figures,
        })
    }

    /// Runs it and prints it. An interrupted point is left out, as it would look like a finished one.
    pub(crate) fn execute(self) -> Result<(), Failure> {
        let control = progress::control()?;
        if self.left.len() < self.points && !self.merged {
            let finished = self.points - self.left.len();
            output::tell(&format!("continuing: {finished} of {} points are finished already\n", self.points));
        }
        let (outcomes, interrupted) = self.outcomes(&control)?;
        let there = so_far(&outcomes, self.points, "points");
        let extent = Extent::of(interrupted);
        let whole = self.table.as_ref().filter(|_| self.part.is_none());
        let table = whole.map(|file| write_file(file, &outcomes, extent).map_err(Failure::from));
        let printed = self.print(&outcomes, interrupted);
        let missing = interrupted.then(|| shared::interrupted(&there));
        let page = self.page.as_ref().map(|page| page.write_sweep(&outcomes, missing));
        let figures = self.figures.draw(&outcomes, extent);
        shared::delivered(table, printed, page.into_iter().chain(figures))?;
        self.end(interrupted, &there)
    }

    fn print(&self, outcomes: &[Outcome], interrupted: bool) -> Result<(), Failure> {
        if self.json {
            output::print_outcomes(outcomes, &[], interrupted)
        } else if outcomes.is_empty() {
            Ok(())
        } else {
            output::print(&sweep_table(outcomes, &output::terminal(self.details)))
        }
    }

    /// Runs the points that are left. Returns the outcomes of all finished points, and true if some are missing.
    fn outcomes(&self, control: &Control) -> Result<(Vec<Outcome>, bool), Failure> {
        let failed = OnceLock::new();
        let result = progress::batch_each(&self.batch, control, |job, outcome| {
            let Some(journal) = self.journal.as_ref().filter(|_| !outcome.partial) else { return };
            if let Err(failure) = journal.record(self.left[job], outcome) {
                // The rest could not be kept either.
                let _ = failed.set(failure);
                control.stop();
            }
        })?;
        if let Some(failure) = failed.into_inner() {
            return Err(failure);
        }
        let mut all: BTreeMap<usize, Outcome> =
            self.journal.as_ref().map_or_else(BTreeMap::new, |journal| journal.finished.clone());
        let new = result.jobs.iter().map(|job| self.left[*job]).zip(result.outcomes);
        all.extend(new.filter(|(_, outcome)| !outcome.partial));
        // A sweep may be continued with another.
        all.values_mut().for_each(|outcome| outcome.at.clone_from(&self.at));
        Ok((all.into_values().collect(), result.interrupted))
    }

    /// Removes the journal of a finished sweep, or tells how to continue an unfinished one.
    fn end(self, interrupted: bool, there: &str) -> Result<(), Failure> {
        if let (Some(part), Some(journal)) = (self.part, &self.journal) {
            let file = journal.file().display();
            if interrupted {
                let message = format!("{}; the finished points are in {file}", shared::interrupted(there));
                return Err(Failure::new(message, "run the same command again for the rest"));
            }
            let Part { number, of } = part;
            output::tell(&format!("part {number} of {of} is in {file}; --merge joins the parts when all are there\n"));
            return Ok(());
        }
        match (self.table, self.journal) {
            (_, None) if interrupted => {
                let remedy = "run it again for all of it; with --table FILE it would continue where it ended";
                Err(Failure::new(shared::interrupted(there), remedy))
            }
            (Some(out), Some(_)) if interrupted => {
                let partial = Extent::Partial.path(&out);
                let message =
                    format!("{}; the finished points are in {}", shared::interrupted(there), partial.display());
                Err(Failure::new(message, "run the same command again for the rest"))
            }
            (Some(out), Some(journal)) => {
                // That of an interruption before, which the whole table replaces.
                if !journal.finished.is_empty() {
                    let _ = fs::remove_file(Extent::Partial.path(&out));
                }
                journal.remove()
            }
            _ => Ok(()),
        }
    }
}

/// Returns the files that the points of a sweep read.
fn inputs(file: &Path, document: &Document, varies: &[Vary]) -> Vec<PathBuf> {
    let varied = varies.iter().filter(|vary| vary.key().ends_with(".trace")).flat_map(Vary::values);
    let varied = varied.map(|name| document.beside(name));
    shared::inputs(Some(file), document).into_iter().chain(varied).collect()
}

fn points(jobs: &[Job]) -> Vec<Point> {
    jobs.iter().map(|job| job.point.clone().unwrap_or_default()).collect()
}
