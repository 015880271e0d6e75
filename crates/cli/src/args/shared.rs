//! The options that several commands have, and the values of options.

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use fairlane_console::Failure;
use fairlane_console::values::{Setting, kind, setting, time};
use fairlane_qdisc::{Duration, Kind};
use fairlane_report::{Detail, Details};
use fairlane_runner::MOST_THREADS;

/// Changes to the scenario file.
#[derive(Debug, Args)]
pub(crate) struct Overrides {
    /// Change a value of the scenario, such as flows.cbr.rate=2mbit; repeatable
    #[arg(long, value_name = "KEY=VALUE", value_parser = setting)]
    pub(crate) set: Vec<Setting>,

    /// The seed of all random numbers [default: the scenario's]
    #[arg(long, value_name = "N", value_parser = seed)]
    pub(crate) seed: Option<u64>,
}

/// On this machine, or in a guest.
#[derive(Debug, Args)]
pub(crate) struct GuestChoice {
    /// Where it runs: on this machine's kernel, in real time; or in a guest, whose clock counts instructions, so that
    /// the same seed gives the same outcome however busy the machine is
    #[arg(long = "in", value_name = "PLACE", value_enum, default_value = "host")]
    pub(crate) place: Place,

    /// The folder of the guest's kernel [default: fairlane/guest in the user's cache]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) kernel: Option<PathBuf>,
}

/// Where something runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Place {
    /// In namespaces of this machine.
    Host,
    /// In a guest.
    Guest,
}

/// The share of the machine to use.
#[derive(Debug, Args)]
pub(crate) struct Threads {
    /// Runs at the same time [default: the number of cores]; results do not depend on it
    #[arg(long, value_name = "N", value_parser = jobs)]
    pub(crate) jobs: Option<usize>,
}

/// The form of the output.
#[derive(Debug, Args)]
pub(crate) struct Form {
    /// Print JSON rather than tables
    #[arg(long)]
    pub(crate) json: bool,
}

/// The tables of a report.
#[derive(Debug, Args)]
pub(crate) struct ShownTables {
    /// Print more tables: those that the last line of the report names, or all
    #[arg(long, value_name = "TABLE", value_delimiter = ',', value_parser = shown)]
    show: Vec<Shown>,
}

/// A value of `--show`.
#[derive(Clone, Copy, Debug)]
enum Shown {
    All,
    One(Detail),
}

impl ShownTables {
    /// Returns the tables to print in addition to the answer, of a report that has the tables `there`.
    ///
    /// # Errors
    /// The report has no such table.
    pub(crate) fn details(&self, there: &[Detail]) -> Result<Details, Failure> {
        let details = self.show.iter().map(|shown| match shown {
            Shown::All => Ok(Details::ALL),
            Shown::One(detail) if there.contains(detail) => Ok(Details::from(*detail)),
            Shown::One(detail) => {
                let names: Vec<&str> = there.iter().map(|detail| detail.name()).collect();
                let message = format!("--show {}: this command has no such table", detail.name());
                Err(Failure::new(message, format!("write {} or all", names.join(", "))))
            }
        });
        details.collect()
    }
}

fn shown(text: &str) -> Result<Shown, String> {
    let named = Detail::ALL.into_iter().find(|detail| detail.name() == text).map(Shown::One);
    let names = || Detail::ALL.map(Detail::name).join(", ");
    named.or((text == "all").then_some(Shown::All)).ok_or_else(|| format!("write {} or all", names()))
}

/// The files of a time series.
#[derive(Clone, Debug, Args)]
pub(crate) struct SeriesFile {
    /// Write the counts of each flow and each queue in each interval, warm-up included: FILE.csv (or .parquet) becomes
    /// FILE.flows.csv and FILE.queues.csv, and under several disciplines FILE.KIND.flows.csv and FILE.KIND.queues.csv
    /// of the first run of each. With --json, the series of a page are printed too
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    series: Option<PathBuf>,

    /// The interval of --series
    #[arg(long, value_name = "TIME", default_value = "100ms", requires = "series", value_parser = interval)]
    interval: Duration,
}

impl SeriesFile {
    /// Returns the file and the interval, if a series is requested.
    pub(crate) fn asked(self) -> Option<(PathBuf, Duration)> {
        self.series.map(|path| (path, self.interval))
    }
}

/// The queue that a summary shows.
#[derive(Debug, Args)]
pub(crate) struct ShownQueue {
    /// Show this queue, such as "bottleneck" or "r1-r2/reverse" [default: "bottleneck" if there is one, else all]
    #[arg(long = "at", value_name = "QUEUE")]
    pub(crate) at: Option<String>,
}

/// The files of a figure.
#[derive(Debug, Args)]
pub(crate) struct FigureFiles {
    /// Write the figure as SVG: the shares of the throughput; a sweep is drawn against its first numeric key
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) svg: Option<PathBuf>,

    /// The same as a PDF of one page
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) pdf: Option<PathBuf>,
}

/// The folder of tables.
#[derive(Clone, Debug, Args)]
pub(crate) struct TablesFolder {
    /// Also write the tables of all outcomes into this folder
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
}

/// The file of a page.
#[derive(Debug, Args)]
pub(crate) struct PageFile {
    /// Also write a page with all numbers and figures, as one self-contained HTML file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) html: Option<PathBuf>,
}

/// One item of `--queue`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Disciplines {
    All,
    One(Kind),
}

const MOST_RUNS: u32 = 100_000;

pub(crate) fn runs(text: &str) -> Result<NonZeroU32, String> {
    let remedy = format!("write a number from 1 to {MOST_RUNS}; 5 to 30 give a useful interval");
    let number: u32 = text.parse().map_err(|_| remedy.clone())?;
    NonZeroU32::new(number).filter(|number| number.get() <= MOST_RUNS).ok_or(remedy)
}

fn jobs(text: &str) -> Result<usize, String> {
    let fits = |number: &usize| (1..=MOST_THREADS).contains(number);
    let remedy = || format!("write a number from 1 to {MOST_THREADS}, or leave it out to use every core");
    text.parse().ok().filter(fits).ok_or_else(remedy)
}

pub(crate) fn seed(text: &str) -> Result<u64, String> {
    let fits = |number: &u64| i64::try_from(*number).is_ok();
    text.parse().ok().filter(fits).ok_or_else(|| format!("write a whole number from 0 to {}", i64::MAX))
}

pub(crate) fn disciplines(text: &str) -> Result<Disciplines, String> {
    if text.trim() == "all" { Ok(Disciplines::All) } else { kind(text.trim()).map(Disciplines::One) }
}

fn interval(text: &str) -> Result<Duration, String> {
    let interval = time(text)?;
    let least = Duration::from_nanos(1000);
    if interval < least { Err(format!("expected an interval of at least {least}")) } else { Ok(interval) }
}
