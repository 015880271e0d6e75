//! The options of `fairlane plot`.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum, ValueHint};
use fairlane_report::Measure;

use super::shared::{FigureFiles, ShownQueue};

/// Draw a figure of saved outcomes, as SVG or PDF
///
/// Example: fairlane compare --json >compare.json; fairlane plot compare.json --figure delays --pdf delays.pdf
#[derive(Debug, Args)]
pub(crate) struct PlotArgs {
    /// Outcomes: JSON of run, compare, sweep, lab or replay, also - for standard input; a folder of run --out or
    /// compare --out; a table of sweep --table (.csv or .parquet). Those of several files are drawn in one figure
    #[arg(required = true, value_hint = ValueHint::AnyPath)]
    pub(crate) files: Vec<PathBuf>,

    /// The figure [default: sweep if a key with numbers was varied, else shares]
    #[arg(long, value_name = "FIGURE", value_enum)]
    pub(crate) figure: Option<FigureKind>,

    /// The measure of a sweep or a series [default: share of a sweep, length of a series]
    #[arg(long, value_name = "MEASURE", value_parser = measures())]
    pub(crate) measure: Option<Measure>,

    /// The group whose share, throughput, goodput, window or rtt is shown [default: the one whose share differs most]
    #[arg(long, value_name = "NAME")]
    pub(crate) group: Option<String>,

    #[command(flatten)]
    pub(crate) shown: ShownQueue,

    #[command(flatten)]
    pub(crate) files_out: FigureFiles,
}

/// The figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FigureKind {
    /// Each group's share of the throughput, as bars
    Shares,
    /// Mean and 95th percentile of the delay in the queue, as bars
    Delays,
    /// A group's throughput against the mean delay
    Scatter,
    /// A measure against the first varied key with numbers
    Sweep,
    /// A measure over time, of JSON of run --series or compare --series
    Series,
}

/// Parses the name of a measure.
fn measures() -> impl TypedValueParser<Value = Measure> {
    let names = Measure::NAMED.map(|(_, name, description)| PossibleValue::new(name).help(description));
    PossibleValuesParser::new(names).try_map(|given| {
        let named = Measure::NAMED.into_iter().find(|(_, name, _)| *name == given);
        named.map(|(measure, ..)| measure).ok_or("no measure has this name")
    })
}
