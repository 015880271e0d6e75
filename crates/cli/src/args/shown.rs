//! What is shown of outcomes beside the terminal's tables, and which queue.

use std::path::PathBuf;

use clap::{Args, ValueHint};

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
    /// Also draw the answer as an SVG figure: the shares of the throughput, of a sweep against the first key with numbers
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) svg: Option<PathBuf>,

    /// The same as a PDF of one page
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) pdf: Option<PathBuf>,
}

/// The file of a page.
#[derive(Debug, Args)]
pub(crate) struct PageFile {
    /// Also write a page with all numbers and figures, as one self-contained HTML file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) html: Option<PathBuf>,
}
