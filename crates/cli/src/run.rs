//! `fairlane run`: one scenario.

use std::path::PathBuf;

use fairlane_batch::{Batch, Done, Job};
use fairlane_outcome::Outcome;
use fairlane_outcome::tables::write_dir;

use fairlane_report::html::run_page;
use fairlane_report::run_report;

use crate::args::Run;
use crate::error::Failure;
use crate::page::Report;
use crate::watch::{Files, Watched};
use crate::{output, plan, progress};

/// A run that is ready.
#[derive(Debug)]
pub(crate) struct Plan {
    work: Work,
    json: bool,
    out: Option<PathBuf>,
    page: Option<Report>,
}

/// How it is run.
#[derive(Debug)]
enum Work {
    /// As often as asked, on all cores.
    Batch(Batch),
    /// Once, with an eye on every packet.
    Watched(Box<Watched>),
}

impl Plan {
    /// Reads, checks and tries everything.
    pub(crate) fn new(args: Run) -> Result<Self, Failure> {
        let document = plan::document(Some(&args.file), &args.change)?;
        let scenario = document.scenario()?;
        args.out.as_deref().map_or(Ok(()), output::folder)?;
        let series = args.series.asked();
        let page = Report::new(&args.page, &document, &args.change)?;
        let files = Files { pcap: args.pcap, trace: args.trace, series, page: args.page.html };
        let work = if files.is_none() {
            let jobs = vec![Job::of(scenario)];
            let batch = Batch::new(jobs, args.runs, args.threads.jobs)?;
            Work::Batch(if page.is_some() { batch.recorded() } else { batch })
        } else if args.runs.get() > 1 {
            let message = "--pcap, --trace and --series follow one run, and --runs asks for several";
            return Err(Failure::new(message, "leave out --runs; another --seed gives another run"));
        } else {
            Work::Watched(Box::new(Watched::new(scenario, &files)?))
        };
        Ok(Self { work, json: args.form.json, out: args.out, page })
    }

    /// Runs it and prints it.
    pub(crate) fn execute(self) -> Result<(), Failure> {
        let control = progress::control()?;
        let Done { outcomes, courses, interrupted } = match self.work {
            Work::Batch(batch) => progress::batch(&batch, &control)?,
            Work::Watched(watched) => watched.execute(&control)?,
        };
        if let Some(folder) = &self.out {
            write_dir(folder, &outcomes).map_err(Failure::plain)?;
        }
        if let (Some(outcome), Some(page)) = (outcomes.first(), &self.page) {
            let missing = interrupted.then(|| plan::interrupted(&runs_done(Some(outcome))));
            page.write(missing, |origin| run_page(outcome, courses.first().and_then(Option::as_ref), origin))?;
        }
        if let Some(outcome) = outcomes.first() {
            if self.json {
                output::print_json(outcome)?;
            } else {
                output::print(&run_report(outcome, &output::terminal()))?;
            }
        }
        plan::complete(interrupted, &runs_done(outcomes.first()))
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
