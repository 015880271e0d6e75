//! `fairlane run`: one scenario, many times, or once and recorded in files.

use std::path::PathBuf;

use fairlane_console::Failure;
use fairlane_outcome::{Extent, Outcome};
use fairlane_qdisc::Duration;
use fairlane_report::{Detail, Details, correlation_lines, run_report};
use fairlane_runner::compare::with_kind;
use fairlane_runner::memory::Needs;
use fairlane_runner::{
    Batch, FlentFile, Job, LinkLog, PacketCapture, RecordedRun, Recorder, Records, Series, Trace, check,
};
use fairlane_scenario::Scenario;
use fairlane_sim::{Control, undivided};

use crate::args::run::RunArgs;
use crate::files::Outputs;
use crate::page::HtmlPage;
use crate::{output, progress, shared};

/// A run that is ready.
#[derive(Debug)]
pub(crate) struct RunCommand {
    work: Work,
    json: bool,
    details: Details,
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
    Recorded(Box<Recording>),
}

/// A scenario, and the records of its run.
#[derive(Debug)]
struct Recording {
    scenario: Scenario,
    records: Records,
}

/// The requested files of one run.
#[derive(Debug)]
struct RecordFiles {
    pcap: Option<PathBuf>,
    trace: Option<PathBuf>,
    /// The file and its interval.
    series: Option<(PathBuf, Duration)>,
    flent: Option<PathBuf>,
    mahimahi: Option<PathBuf>,
    /// The file of the page, for which the run is recorded.
    page: Option<PathBuf>,
}

impl RunCommand {
    /// Reads and checks everything.
    pub(crate) fn new(args: RunArgs) -> Result<Self, Failure> {
        let document = shared::simulated(Some(&args.file), &args.overrides)?;
        let scenario = document.scenario()?;
        let scenario = match args.queue {
            Some(kind) => with_kind(&scenario, kind)?,
            None => scenario,
        };
        let page = HtmlPage::new(&args.page, &document, &args.overrides)?;
        let files = RecordFiles {
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
            Work::Recorded(Box::new(Recording::new(scenario, &files)?))
        };
        Ok(Self {
            work,
            json: args.form.json,
            details: args.tables.details(&[Detail::EndToEnd, Detail::Flows])?,
            series,
            out: args.out,
            page,
            outputs,
        })
    }

    /// Runs it and prints it.
    pub(crate) fn execute(self) -> Result<(), Failure> {
        let control = progress::control()?;
        let RecordedRun { outcome, timeline, interrupted } = match self.work {
            Work::Batch(batch) => {
                let done = progress::batch(&batch, &control)?;
                let timeline = done.timelines.into_iter().next().flatten();
                RecordedRun { outcome: done.outcomes.into_iter().next(), timeline, interrupted: done.interrupted }
            }
            Work::Recorded(recording) => recording.execute(&control)?,
        };
        let extent = Extent::of(interrupted);
        let tables = self.out.as_ref().map(|folder| shared::write_tables(folder, outcome.as_slice(), extent));
        let timeline = timeline.as_ref();
        let printed = match &outcome {
            Some(outcome) if self.json => output::print_outcome(outcome, timeline.filter(|_| self.series)),
            Some(outcome) => {
                let series = timeline.filter(|_| self.series).cloned();
                let correlations = correlation_lines(std::slice::from_ref(outcome), &[series]);
                let below: String = correlations.iter().map(|line| format!("\n{line}\n")).collect();
                output::print(&(run_report(outcome, &output::terminal(self.details)) + &below))
            }
            None => Ok(()),
        };
        let page = outcome.as_ref().zip(self.page.as_ref()).map(|(outcome, page)| {
            let missing = interrupted.then(|| shared::interrupted(&runs_done(Some(outcome))));
            page.write_run(outcome, timeline, missing)
        });
        shared::delivered(tables, printed, page)?;
        shared::complete(interrupted, &runs_done(outcome.as_ref()), &self.outputs)
    }
}

impl Recording {
    /// Checks the scenario, then begins the files.
    fn new(scenario: Scenario, files: &RecordFiles) -> Result<Self, Failure> {
        Needs::of([&scenario], 1, None).check()?;
        check(&scenario, "")?;
        let RecordFiles { pcap, trace, series, flent, mahimahi, page } = files;
        let interval = series.as_ref().map(|(_, interval)| *interval);
        let create_series = |(path, interval): &(PathBuf, _)| Series::create(path, *interval, &scenario);
        let records = Records {
            pcap: pcap.as_ref().map(|path| PacketCapture::create(path, &scenario)).transpose()?,
            trace: trace.as_ref().map(|path| Trace::create(path, &scenario)).transpose()?,
            series: series.as_ref().map(create_series).transpose()?,
            flent: flent.as_ref().map(|path| FlentFile::new(path, interval, &scenario)),
            mahimahi: mahimahi.as_ref().map(|path| LinkLog::new(path, &scenario)).transpose()?,
            timeline: (page.is_some() || series.is_some()).then(|| Recorder::new(&scenario)),
        };
        Ok(Self { scenario, records })
    }

    fn execute(self, control: &Control) -> Result<RecordedRun, Failure> {
        let Self { scenario, records } = self;
        Ok(progress::watched(control, 1, || records.run(&scenario, &mut (), control))?)
    }
}

impl RecordFiles {
    /// Returns true if the run is not recorded in any file.
    const fn is_none(&self) -> bool {
        self.pcap.is_none()
            && self.trace.is_none()
            && self.series.is_none()
            && self.flent.is_none()
            && self.mahimahi.is_none()
    }

    /// Returns the files with their options.
    fn outputs(&self) -> Outputs {
        let outputs = Outputs::default().file("--html", self.page.as_deref()).file("--pcap", self.pcap.as_deref());
        let outputs = outputs.table("--trace", self.trace.as_deref()).series(self.series.as_ref());
        let outputs = outputs.file("--flent", self.flent.as_deref());
        let files = self.mahimahi.iter().flat_map(|path| LinkLog::files(path));
        files.fold(outputs, |outputs, file| outputs.file("--mahimahi", Some(&file)))
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
