//! `fairlane run`: one scenario.

use std::path::PathBuf;

use fairlane_console::Failure;
use fairlane_outcome::{Extent, Outcome};
use fairlane_report::run_report;
use fairlane_runner::{Batch, BatchResult, Job};
use fairlane_sim::undivided;

use crate::args::run::RunArgs;
use crate::files::Outputs;
use crate::observed::{Files, ObservedRun};
use crate::page::HtmlPage;
use crate::{output, progress, shared};

/// A run that is ready.
#[derive(Debug)]
pub(crate) struct RunCommand {
    work: Work,
    json: bool,
    /// The series is printed with the outcome.
    series: bool,
    out: Option<PathBuf>,
    page: Option<HtmlPage>,
    outputs: Outputs,
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
        let page = HtmlPage::new(&args.page, &document, &args.overrides)?;
        let files = Files {
            pcap: args.pcap,
            trace: args.trace,
            series: args.series.asked(),
            flent: args.flent,
            mahimahi: args.mahimahi,
            page: args.page.html,
        };
        let outputs = files.outputs().tables("--out", args.out.as_deref());
        outputs.check(&shared::inputs(Some(&args.file), &document))?;
        let series = files.series.is_some();
        if args.run_threads.get() > 1
            && let Some(why) = undivided(&scenario).map_err(Failure::plain)?
        {
            output::tell(&format!("note: the run uses one thread: {why}\n"));
        }
        let work = if files.is_none() {
            let jobs = vec![Job::of(scenario)];
            let batch = Batch::new(jobs, args.runs, args.threads.jobs)?.divided(args.run_threads);
            Work::Batch(if page.is_some() { batch.recorded() } else { batch })
        } else if args.runs.get() > 1 {
            let message =
                "--pcap, --trace, --series, --flent and --mahimahi follow one run, and --runs asks for several";
            return Err(Failure::new(message, "leave out --runs; another --seed gives another run"));
        } else {
            Work::Observed(Box::new(ObservedRun::new(scenario, &files)?))
        };
        Ok(Self { work, json: args.form.json, series, out: args.out, page, outputs })
    }

    /// Runs it and prints it.
    pub(crate) fn execute(self) -> Result<(), Failure> {
        let control = progress::control()?;
        let BatchResult { outcomes, timelines, interrupted, .. } = match self.work {
            Work::Batch(batch) => progress::batch(&batch, &control)?,
            Work::Observed(observed) => observed.execute(&control)?,
        };
        let extent = Extent::of(interrupted);
        let tables = self.out.as_ref().map(|folder| shared::write_tables(folder, &outcomes, extent));
        let timeline = timelines.first().and_then(Option::as_ref);
        let printed = match outcomes.first() {
            Some(outcome) if self.json => output::print_outcome(outcome, timeline.filter(|_| self.series)),
            Some(outcome) => output::print(&run_report(outcome, &output::terminal())),
            None => Ok(()),
        };
        let page = outcomes.first().zip(self.page.as_ref()).map(|(outcome, page)| {
            let missing = interrupted.then(|| shared::interrupted(&runs_done(Some(outcome))));
            page.write_run(outcome, timeline, missing)
        });
        shared::delivered(tables, printed, page)?;
        shared::complete(interrupted, &runs_done(outcomes.first()), &self.outputs)
    }
}

fn runs_done(outcome: Option<&Outcome>) -> String {
    match outcome {
        None => "nothing had been measured yet".to_owned(),
        Some(outcome) => {
            let runs = if outcome.runs == 1 { "1 run".to_owned() } else { format!("{} runs", outcome.runs) };
            format!("the numbers are those of {runs}, measured from {} s to {} s", outcome.from_s, outcome.to_s)
        }
    }
}
