//! `fairlane run`: one scenario.

use std::path::PathBuf;

use fairlane_console::Failure;
use fairlane_outcome::Outcome;
use fairlane_report::run_report;
use fairlane_runner::{Batch, BatchResult, Job};

use crate::args::RunArgs;
use crate::observed::{Files, ObservedRun};
use crate::page::HtmlPage;
use crate::{output, progress, shared};

/// A run that is ready.
#[derive(Debug)]
pub(crate) struct RunCommand {
    work: Work,
    json: bool,
    out: Option<PathBuf>,
    page: Option<HtmlPage>,
}

/// The kind of run.
#[derive(Debug)]
enum Work {
    /// The requested number of runs, on all cores.
    Batch(Batch),
    /// One run, recorded in files.
    Observed(Box<ObservedRun>),
}

impl RunCommand {
    /// Reads and checks everything.
    pub(crate) fn new(args: RunArgs) -> Result<Self, Failure> {
        let document = shared::document(Some(&args.file), &args.overrides)?;
        let scenario = document.scenario()?;
        args.out.as_deref().map_or(Ok(()), output::folder)?;
        let series = args.series.asked();
        let page = HtmlPage::new(&args.page, &document, &args.overrides)?;
        let files = Files { pcap: args.pcap, trace: args.trace, series, page: args.page.html };
        let work = if files.is_none() {
            let jobs = vec![Job::of(scenario)];
            let batch = Batch::new(jobs, args.runs, args.threads.jobs)?;
            Work::Batch(if page.is_some() { batch.recorded() } else { batch })
        } else if args.runs.get() > 1 {
            let message = "--pcap, --trace and --series follow one run, and --runs asks for several";
            return Err(Failure::new(message, "leave out --runs; another --seed gives another run"));
        } else {
            Work::Observed(Box::new(ObservedRun::new(scenario, &files)?))
        };
        Ok(Self { work, json: args.form.json, out: args.out, page })
    }

    /// Runs it and prints it.
    pub(crate) fn execute(self) -> Result<(), Failure> {
        let control = progress::control()?;
        let BatchResult { outcomes, timelines, interrupted } = match self.work {
            Work::Batch(batch) => progress::batch(&batch, &control)?,
            Work::Observed(observed) => observed.execute(&control)?,
        };
        if let Some(folder) = &self.out {
            shared::write_tables(folder, &outcomes)?;
        }
        if let (Some(outcome), Some(page)) = (outcomes.first(), &self.page) {
            let missing = interrupted.then(|| shared::interrupted(&runs_done(Some(outcome))));
            page.write_run(outcome, timelines.first().and_then(Option::as_ref), missing)?;
        }
        if let Some(outcome) = outcomes.first() {
            if self.json {
                output::print_json(outcome)?;
            } else {
                output::print(&run_report(outcome, &output::terminal()))?;
            }
        }
        shared::complete(interrupted, &runs_done(outcomes.first()))
    }
}

fn runs_done(outcome: Option<&Outcome>) -> String {
    match outcome {
        None => "nothing had been measured yet".to_owned(),
        Some(outcome) => format!(
            "the numbers are those of {} runs, measured from {} s to {} s",
            outcome.runs, outcome.from_s, outcome.to_s
        ),
    }
}
