//! The options of `fairlane plot`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use fairlane_report::Measure;

use super::{FigureFiles, ShownQueue};

/// Draw a figure of saved outcomes, as SVG or PDF
///
/// Example: fairlane compare --json >compare.json; fairlane plot compare.json --figure delays --pdf delays.pdf
#[derive(Debug, Args)]
pub(crate) struct PlotArgs {
    /// Outcomes: JSON of run, compare, sweep, lab or replay, also - for standard input; a folder of run --out or compare --out; a
    /// table of sweep --out (.csv or .parquet). Those of several files are drawn in one figure
    #[arg(required = true, value_hint = ValueHint::AnyPath)]
    pub(crate) files: Vec<PathBuf>,

    /// The figure [default: sweep if a key with numbers was varied, else shares]
    #[arg(long, value_name = "FIGURE", value_enum)]
    pub(crate) figure: Option<FigureKind>,

    /// What a sweep or a series shows [default: share of a sweep, length of a series]
    #[arg(long, value_name = "MEASURE", value_enum)]
    pub(crate) measure: Option<PlotMeasure>,

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

/// The measures of sweeps and series.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PlotMeasure {
    /// Of a sweep: a group's share of the throughput
    Share,
    /// Of a sweep: the mean delay in the queue
    Delay,
    /// Packets in the queue: of a sweep their mean
    Length,
    /// Of a sweep: the used part of the link
    Used,
    /// Of a series: the average that the discipline keeps
    Average,
    /// Of a series: the probability of a signal
    Probability,
    /// Of a series: drops per second
    Drops,
    /// Of a series: marks per second
    Marks,
    /// Of a series: a group's goodput
    Goodput,
    /// Of a series: the mean congestion window of a group's flows
    Window,
    /// Of a series: the mean smoothed round trip time of a group's flows
    Rtt,
}

impl PlotMeasure {
    pub(crate) const fn measure(self) -> Measure {
        match self {
            Self::Share => Measure::Share,
            Self::Delay => Measure::Delay,
            Self::Length => Measure::Length,
            Self::Used => Measure::Used,
            Self::Average => Measure::Average,
            Self::Probability => Measure::Probability,
            Self::Drops => Measure::Drops,
            Self::Marks => Measure::Marks,
            Self::Goodput => Measure::Goodput,
            Self::Window => Measure::Window,
            Self::Rtt => Measure::RoundTrip,
        }
    }
}
