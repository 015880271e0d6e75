//! `fairlane tune`: the parameters of a discipline for a goal.

use std::ops::Range;

use fairlane_advise::{Contender, Reading, Refused, TextError, TunePlan, TuneSettings, Tuning, Verdict};
use fairlane_console::Failure;
use fairlane_console::layout::{columns, paragraph};

use crate::args::tune::TuneArgs;
use crate::{output, progress, shared};

/// A search that is ready to run.
#[derive(Debug)]
pub(crate) struct TuneCommand {
    plan: TunePlan,
    threads: Option<usize>,
    json: bool,
}

impl TuneCommand {
    /// Reads and checks everything.
    pub(crate) fn new(args: &TuneArgs) -> Result<Self, Failure> {
        let goal = args.goal.parse().map_err(|error| misread("--goal", &error))?;
        let document = shared::simulated(Some(&args.file), &args.overrides)?;
        let settings = TuneSettings { kind: args.queue, goal, runs: args.runs, budget: args.budget };
        let plan = TunePlan::new(&document, settings, args.threads.jobs).map_err(failure)?;
        Ok(Self { plan, threads: args.threads.jobs, json: args.form.json })
    }

    /// Searches, and prints the result.
    pub(crate) fn execute(self) -> Result<(), Failure> {
        let control = progress::control()?;
        let total = self.plan.runs();
        let tuning =
            progress::watched(&control, total, || self.plan.execute(self.threads, &control)).map_err(failure)?;
        if self.json { output::print_json(&tuning) } else { output::print(&text(&tuning, output::width())) }
    }
}

/// Returns the failure of a search.
pub(crate) fn failure(error: fairlane_advise::Error) -> Failure {
    match error {
        fairlane_advise::Error::Text(error) => misread("--goal", &error),
        fairlane_advise::Error::Run(error) => error.into(),
    }
}

/// Returns the failure of an option whose text is wrong, which points into it.
pub(crate) fn misread(option: &str, error: &TextError) -> Failure {
    let place: Range<usize> = error.span();
    Failure::at(option, error.text(), place, error.message())
}

fn text(tuning: &Tuning, width: usize) -> String {
    let Tuning { kind, scenario, goal, runs, held_out_seed, .. } = tuning;
    let mut text = format!("{kind} in {scenario}, for {goal}\n\n");
    text += &table(tuning, width);
    let better = tuning.verdict == Verdict::Better;
    let verdict = match (better, tuning.best.parameters.is_empty()) {
        (true, _) => format!(
            "These are better than the defaults in {runs} runs with seed {held_out_seed}, which the search has not seen."
        ),
        (false, true) => "The search found nothing better than the defaults, so use these.".to_owned(),
        (false, false) => format!(
            "What the search found is not better than the defaults in {runs} runs with seed {held_out_seed}, which it has not seen, so use the defaults."
        ),
    };
    text += "\n";
    if better {
        let parameters = tuning.parameters.iter().map(|(key, value)| format!("{key}={value}"));
        text += &paragraph(&format!("{kind} {}", parameters.collect::<Vec<_>>().join(" ")), "  ", "    ", width);
        text += "\n";
    }
    text += &paragraph(&verdict, "", "", width);
    let searched = format!("{} candidates, {} runs, seed {}.", tuning.candidates, tuning.runs_done, tuning.seed);
    text += &paragraph(&searched, "", "", width);
    for Refused { points, reason, .. } in &tuning.refused {
        let points = if *points == 1 { "1 point was".to_owned() } else { format!("{points} points were") };
        text += &paragraph(&format!("{points} refused, such as for this: {reason}."), "", "  ", width);
    }
    if !tuning.warnings.is_empty() {
        text += "\nWarnings\n";
    }
    for warning in &tuning.warnings {
        text += &paragraph(warning, "  - ", "    ", width);
    }
    text
}

/// The goal's metrics under the defaults and the best of the search.
fn table(tuning: &Tuning, width: usize) -> String {
    let head = ["", "", "defaults", "found", "difference", "goal"].map(str::to_owned);
    let mut rows = vec![head];
    let each =
        |contender: &Contender, index: usize| contender.held_out.get(index).map_or_else(String::new, Reading::shown);
    for (index, reading) in tuning.best.held_out.iter().enumerate() {
        let met = match reading.met {
            Some(true) => "met",
            Some(false) => "failed",
            None => "",
        };
        rows.push([
            reading.metric.clone(),
            reading.unit.shown().1.to_owned(),
            each(&tuning.defaults, index),
            each(&tuning.best, index),
            tuning.difference.get(index).map_or_else(String::new, Reading::shown),
            met.to_owned(),
        ]);
    }
    columns(&rows, width)
}
