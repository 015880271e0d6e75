//! `fairlane plot`: figures of saved outcomes.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use fairlane_console::Failure;
use fairlane_outcome::tables::read_groups;
use fairlane_outcome::{Extent, Outcome, Outcomes, Timeline};
use fairlane_report::{Figure, Measure, compare_figure, delay_figure, scatter_figure, series_figure, sweep_figure};
use serde::Deserialize;

use crate::args::plot::{FigureKind, PlotArgs};
use crate::figures::default_figure;
use crate::files::Outputs;

/// The JSON in a folder of tables.
const JSON: &str = "outcomes.json";

/// Outcomes that were read, and their series.
#[derive(Default)]
struct Saved {
    outcomes: Vec<Outcome>,
    /// One for each outcome.
    series: Vec<Option<Timeline>>,
}

/// Reads the outcomes and draws the figure.
pub(crate) fn execute(args: &PlotArgs) -> Result<(), Failure> {
    if args.files_out.is_none() {
        return Err(Failure::new("there is no file for the figure", "name it with --svg FILE or --pdf FILE"));
    }
    let files: Vec<PathBuf> =
        args.files.iter().map(|file| if file.is_dir() { file.join(JSON) } else { file.clone() }).collect();
    args.files_out.outputs(Outputs::default())?.check(&files)?;
    let mut saved = Saved::default();
    for file in &files {
        saved.read(file)?;
    }
    saved.show(args)?;
    args.files_out.write(&figure(args, &saved)?, Extent::Whole)
}

/// Returns the requested figure.
fn figure(args: &PlotArgs, saved: &Saved) -> Result<Figure, Failure> {
    let Saved { outcomes, series } = saved;
    let group = args.group.as_deref();
    let measure = args.measure;
    let no_delay = || Failure::new("no packet was delayed in the queue", "draw --figure shares");
    match args.figure {
        None => match (measure, group) {
            (None, None) => Ok(default_figure(outcomes)),
            _ => sweep_figure(outcomes, measure.unwrap_or(Measure::Share), group).ok_or_else(no_sweep),
        },
        Some(FigureKind::Shares) => Ok(compare_figure(outcomes)),
        Some(FigureKind::Delays) => delay_figure(outcomes).ok_or_else(no_delay),
        Some(FigureKind::Scatter) => scatter_figure(outcomes, group).ok_or_else(no_delay),
        Some(FigureKind::Sweep) => {
            sweep_figure(outcomes, measure.unwrap_or(Measure::Share), group).ok_or_else(no_sweep)
        }
        Some(FigureKind::Series) => {
            series_figure(outcomes, series, measure.unwrap_or(Measure::Length), group).ok_or_else(no_series)
        }
    }
}

fn no_sweep() -> Failure {
    let remedy = "draw a sweep with a key of numbers, and --measure share, delay, length or used; or --figure shares";
    Failure::new("there is no such figure of a sweep", remedy)
}

fn no_series() -> Failure {
    let remedy = "draw JSON of run --series or compare --series, and --measure length, average, probability, drops, marks, goodput, window or rtt";
    Failure::new("there is no such series in these outcomes", remedy)
}

/// The JSON of `run --json`, with its series.
#[derive(Deserialize)]
struct RunSeries {
    series: Option<Timeline>,
}

/// The JSON of `compare --json`, with the series of each outcome.
#[derive(Deserialize)]
struct CompareSeries {
    #[serde(default)]
    series: Vec<Option<Timeline>>,
}

impl Saved {
    /// Adds the outcomes of a file.
    fn read(&mut self, file: &Path) -> Result<(), Failure> {
        let stem = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        if [".flows", ".queues"].iter().any(|table| stem.ends_with(table)) {
            let message = format!("{} is a table of --series, which has no outcome", file.display());
            let remedy = "save the JSON of the run: fairlane run FILE --series x.csv --json >x.json; \
                          fairlane plot x.json --figure series --svg x.svg";
            return Err(Failure::new(message, remedy));
        }
        let ending = file.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        if ["csv", "parquet"].contains(&ending) {
            self.outcomes.extend(read_groups(file)?);
        } else {
            let text = text(file).map_err(|error| unreadable(file, &error))?;
            self.read_json(&text).map_err(|error| unreadable(file, &error))?;
        }
        self.series.resize_with(self.outcomes.len(), || None);
        Ok(())
    }

    fn read_json(&mut self, text: &str) -> serde_json::Result<()> {
        match Outcome::from_json(text) {
            Ok(outcome) => {
                self.outcomes.push(outcome);
                self.series.push(serde_json::from_str::<RunSeries>(text)?.series);
            }
            // The form of several has another first key.
            Err(error) => {
                let all = Outcomes::from_json(text);
                self.outcomes
                    .extend(if text.contains("\"outcomes\"") { all? } else { all.map_err(|_| error)? }.outcomes);
                self.series.extend(serde_json::from_str::<CompareSeries>(text)?.series);
            }
        }
        Ok(())
    }

    /// Lets the figure show the requested queue, and checks the requested group.
    fn show(&mut self, args: &PlotArgs) -> Result<(), Failure> {
        if self.outcomes.is_empty() {
            return Err(Failure::new("there are no outcomes in the files", "save some with --json"));
        }
        let there = |of: fn(&Outcome) -> Vec<&str>| {
            let mut names: Vec<&str> = self.outcomes.iter().flat_map(of).collect();
            names.sort_unstable();
            names.dedup();
            names
        };
        let groups = there(|outcome| outcome.groups.iter().map(|group| group.name.as_str()).collect());
        let queues = there(|outcome| outcome.queues.iter().map(|queue| queue.name.as_str()).collect());
        let asked = [("group", args.group.as_deref(), groups), ("queue", args.shown.at.as_deref(), queues)];
        for (what, name, names) in asked {
            if let Some(name) = name.filter(|name| !names.contains(name)) {
                let remedy = format!("name one of them: {}", names.join(", "));
                return Err(Failure::new(format!("there is no {what} called \"{name}\""), remedy));
            }
        }
        if args.shown.at.is_some() {
            self.outcomes.iter_mut().for_each(|outcome| outcome.at.clone_from(&args.shown.at));
        }
        Ok(())
    }
}

fn text(file: &Path) -> io::Result<String> {
    if file == Path::new("-") {
        let mut text = String::new();
        io::stdin().read_to_string(&mut text)?;
        return Ok(text);
    }
    fs::read_to_string(file)
}

fn unreadable(file: &Path, error: &dyn std::fmt::Display) -> Failure {
    let remedy = "name JSON of run, compare, sweep, lab or replay, a folder of --out, or a table of sweep --table";
    Failure::new(format!("cannot read outcomes from {}: {error}", file.display()), remedy)
}
