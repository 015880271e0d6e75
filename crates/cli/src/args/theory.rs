//! What can be typed after `fairlane theory`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};
use fairlane_theory::Comparisons;

use super::Form;

/// Work out what a discipline does in equilibrium, without simulating
///
/// Example: fairlane theory choke --load 2
///
/// Loads and shares are parts of the link's rate. What each model assumes is in its help.
#[derive(Debug, Args)]
pub(crate) struct Theory {
    #[command(subcommand)]
    pub(crate) model: Model,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Model {
    Front(Front),
    Back(Back),
    Sfb(Sfb),
    Choke(OneFlow),
    ChokeMulti(ChokeMulti),
    Gchoke(Gchoke),
}

/// Front CHOKe: what Poisson flows get when arrivals are compared with the packet at the head
///
/// Pan, Prabhakar and Psounis 2000, equations 1 to 3 and Table II. Services are exponential; there are no thresholds and there
/// is no limit.
#[derive(Debug, Args)]
pub(crate) struct Front {
    /// The rate of service
    #[arg(long, value_name = "MU", allow_negative_numbers = true)]
    pub(crate) mu: f64,

    /// The rate of each flow's arrivals, in the unit of --mu
    #[arg(long, value_name = "RATES", value_delimiter = ',', required = true, allow_negative_numbers = true)]
    pub(crate) rates: Vec<f64>,

    #[command(flatten)]
    pub(crate) form: AnswerForm,
}

/// Back CHOKe with memory: what Poisson flows get when arrivals of the last flows admitted are dropped
///
/// Pan, Prabhakar and Psounis 2000, equations 4 and 5 and Table III.
#[derive(Debug, Args)]
pub(crate) struct Back {
    /// The rate of each flow's arrivals, in any unit
    #[arg(long, value_name = "RATES", value_delimiter = ',', required = true, allow_negative_numbers = true)]
    pub(crate) rates: Vec<f64>,

    /// Flows in memory, fewer than there are
    #[arg(long, value_name = "K")]
    pub(crate) memory: usize,

    #[command(flatten)]
    pub(crate) form: AnswerForm,
}

/// SFB: how often a flow that answers is taken for one that does not
///
/// Feng, Kandlur, Saha and Shin 2001, equation 1; with it comes the best division of the same number of bins into levels.
#[derive(Debug, Args)]
pub(crate) struct Sfb {
    /// Levels
    #[arg(long, value_name = "L")]
    pub(crate) levels: u32,

    /// Bins of each level
    #[arg(long, value_name = "N")]
    pub(crate) bins: u32,

    /// Flows that do not answer
    #[arg(long, value_name = "M")]
    pub(crate) flows: u32,

    #[command(flatten)]
    pub(crate) form: AnswerForm,
}

/// CHOKe: what one unresponsive flow gets among many TCP flows
///
/// The leaky buffer of Wang, Tang and Low 2003, in the limit of many TCP flows that keep the queue above its lower threshold.
#[derive(Debug, Args)]
pub(crate) struct OneFlow {
    /// What the flow sends, as a part of the link's rate
    #[arg(long, value_name = "A", allow_negative_numbers = true)]
    pub(crate) load: f64,

    /// The part of arrivals without a match that RED drops, 0 to less than 1
    #[arg(long, value_name = "R", default_value = "0", allow_negative_numbers = true)]
    pub(crate) early_drops: f64,

    #[command(flatten)]
    pub(crate) form: AnswerForm,
}

/// CHOKe with several candidates: what several equal unresponsive flows get, and how many candidates protect TCP
#[derive(Debug, Args)]
pub(crate) struct ChokeMulti {
    /// Unresponsive flows
    #[arg(long, value_name = "M")]
    pub(crate) flows: u32,

    /// Candidates drawn for each arrival
    #[arg(long, value_name = "K")]
    pub(crate) candidates: u32,

    /// What each flow sends, as a part of the link's rate
    #[arg(long, value_name = "A", allow_negative_numbers = true)]
    pub(crate) load: f64,

    #[command(flatten)]
    pub(crate) form: AnswerForm,
}

/// gCHOKe: what one unresponsive flow gets when drawing goes on while it matches
///
/// The bounds are those of Eshete and Jiang (arXiv 1202.0789).
#[derive(Debug, Args)]
pub(crate) struct Gchoke {
    /// Packets that one arrival may match: a whole number, or "infinite"
    #[arg(long, value_name = "M", value_parser = comparisons)]
    pub(crate) maxcomp: Comparisons,

    /// What the flow sends, as a part of the link's rate
    #[arg(long, value_name = "A", allow_negative_numbers = true)]
    pub(crate) load: f64,

    #[command(flatten)]
    pub(crate) form: AnswerForm,
}

/// How to show what a model says.
#[derive(Debug, Args)]
pub(crate) struct AnswerForm {
    #[command(flatten)]
    pub(crate) form: Form,

    /// Also draw it: what was asked among what else could have been
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) svg: Option<PathBuf>,
}

fn comparisons(text: &str) -> Result<Comparisons, String> {
    match text {
        "infinite" => Ok(Comparisons::Unlimited),
        _ => text.parse().map(Comparisons::AtMost).map_err(|_| "write a whole number from 1, or infinite".to_owned()),
    }
}
