//! The options of `fairlane theory`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};
use fairlane_qdisc::{Bytes, Duration, Rate};
use fairlane_theory::Comparisons;

use super::shared::Form;

/// Compute the equilibrium of a discipline or TCP
///
/// Example: fairlane theory choke --load 2
///
/// Loads and shares are fractions of the link's rate. Each model's help lists its assumptions.
#[derive(Debug, Args)]
pub(crate) struct TheoryArgs {
    #[command(subcommand)]
    pub(crate) model: Model,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Model {
    Front(FrontArgs),
    Back(BackArgs),
    Sfb(SfbArgs),
    Choke(OneFlowArgs),
    ChokeMulti(ChokeMultiArgs),
    Gchoke(GchokeArgs),
    Echo(EchoArgs),
    EchoStability(EchoStabilityArgs),
    Tcp(TcpArgs),
}

/// Front CHOKe: the goodput of Poisson flows
///
/// Arrivals are compared with the packet at the head. Pan, Prabhakar and Psounis 2000, equations 1 to 3 and Table II.
/// Services are exponential; there are no thresholds and there is no limit.
#[derive(Debug, Args)]
pub(crate) struct FrontArgs {
    /// The rate of service
    #[arg(long, value_name = "MU", allow_negative_numbers = true)]
    pub(crate) mu: f64,

    /// The rate of each flow's arrivals, in the unit of --mu
    #[arg(long, value_name = "RATES", value_delimiter = ',', required = true, allow_negative_numbers = true)]
    pub(crate) rates: Vec<f64>,

    #[command(flatten)]
    pub(crate) form: AnswerForm,
}

/// Back CHOKe with memory: the admitted rate of Poisson flows
///
/// Arrivals of the flows that were admitted last are dropped. Pan, Prabhakar and Psounis 2000, equations 4 and 5 and
/// Table III.
#[derive(Debug, Args)]
pub(crate) struct BackArgs {
    /// The rate of each flow's arrivals, in any unit
    #[arg(long, value_name = "RATES", value_delimiter = ',', required = true, allow_negative_numbers = true)]
    pub(crate) rates: Vec<f64>,

    /// Flows in memory, fewer than the flows that send
    #[arg(long, value_name = "K")]
    pub(crate) memory: usize,

    #[command(flatten)]
    pub(crate) form: AnswerForm,
}

/// SFB: the probability of a misclassified flow
///
/// A responsive flow is misclassified as unresponsive. Feng, Kandlur, Saha and Shin 2001, equation 1; also the best
/// division of the same number of bins into levels.
#[derive(Debug, Args)]
pub(crate) struct SfbArgs {
    /// Levels
    #[arg(long, value_name = "L")]
    pub(crate) levels: u32,

    /// Bins of each level
    #[arg(long, value_name = "N")]
    pub(crate) bins: u32,

    /// Unresponsive flows
    #[arg(long, value_name = "M")]
    pub(crate) flows: u32,

    #[command(flatten)]
    pub(crate) form: AnswerForm,
}

/// CHOKe: the share of one unresponsive flow among TCP flows
///
/// The leaky buffer of Wang, Tang and Low 2003, in the limit of many TCP flows that keep the queue above its lower
/// threshold.
#[derive(Debug, Args)]
pub(crate) struct OneFlowArgs {
    /// The flow's rate, as a fraction of the link's
    #[arg(long, value_name = "A", allow_negative_numbers = true)]
    pub(crate) load: f64,

    /// The part of arrivals without a match that RED drops, 0 to less than 1
    #[arg(long, value_name = "R", default_value = "0", allow_negative_numbers = true)]
    pub(crate) early_drops: f64,

    #[command(flatten)]
    pub(crate) form: AnswerForm,
}

/// CHOKe with several candidates: the share of floods
///
/// The unresponsive flows are equal. The answer also has the number of candidates that protects TCP.
#[derive(Debug, Args)]
pub(crate) struct ChokeMultiArgs {
    /// Unresponsive flows
    #[arg(long, value_name = "M")]
    pub(crate) flows: u32,

    /// Candidates drawn for each arrival
    #[arg(long, value_name = "K")]
    pub(crate) candidates: u32,

    /// Each flow's rate, as a fraction of the link's
    #[arg(long, value_name = "A", allow_negative_numbers = true)]
    pub(crate) load: f64,

    #[command(flatten)]
    pub(crate) form: AnswerForm,
}

/// gCHOKe: the share of one unresponsive flow
///
/// Drawing continues while candidates match. The bounds are those of Eshete and Jiang (arXiv 1202.0789).
#[derive(Debug, Args)]
pub(crate) struct GchokeArgs {
    /// Packets that one arrival may match: a whole number, or "infinite"
    #[arg(long, value_name = "M", value_parser = comparisons)]
    pub(crate) maxcomp: Comparisons,

    /// The flow's rate, as a fraction of the link's
    #[arg(long, value_name = "A", allow_negative_numbers = true)]
    pub(crate) load: f64,

    #[command(flatten)]
    pub(crate) form: AnswerForm,
}

/// ECHO: the shares of unresponsive flows and of TCP flows
///
/// The equilibrium that docs/echo.md derives: a flow gets at most 4/3 of the fair rate. With --tags it includes the
/// noise of rates that are measured by so many tags.
#[derive(Debug, Args)]
pub(crate) struct EchoArgs {
    /// TCP flows
    #[arg(long, value_name = "N")]
    pub(crate) tcps: u32,

    /// The part of TCP's packets that is dropped, 0 to less than 1
    #[arg(long, value_name = "P", allow_negative_numbers = true)]
    pub(crate) loss: f64,

    /// Unresponsive flows
    #[arg(long, value_name = "M", default_value = "1")]
    pub(crate) floods: u32,

    /// The rate of each unresponsive flow, as a fraction of the link's
    #[arg(long, value_name = "A", allow_negative_numbers = true)]
    pub(crate) load: f64,

    /// Tags of the sample; by default rates are measured without noise
    #[arg(long, value_name = "S")]
    pub(crate) tags: Option<u32>,

    #[command(flatten)]
    pub(crate) form: AnswerForm,
}

/// ECHO: the gain and phase margins of its control loop
///
/// The margins are given by round trip and number of TCP flows. The loop is linearised around the equilibrium, with
/// Reno as in Misra, Gong and Towsley 2000. It does not hold where windows have less than two packets: those are left
/// out. With --tags it includes the noise of rates that are measured by so many tags.
#[derive(Debug, Args)]
pub(crate) struct EchoStabilityArgs {
    /// The rate of the link, such as 100mbit
    #[arg(long, value_name = "RATE")]
    pub(crate) rate: Rate,

    /// Round-trip times without the queue
    #[arg(long, value_name = "TIMES", value_delimiter = ',', default_value = "1ms,10ms,30ms,100ms,300ms")]
    pub(crate) rtt: Vec<Duration>,

    /// Numbers of TCP flows
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', default_value = "2,8,32,128,512,2000")]
    pub(crate) tcps: Vec<u32>,

    /// Unresponsive flows
    #[arg(long, value_name = "M", default_value = "0")]
    pub(crate) floods: u32,

    /// The rate of each unresponsive flow, as a fraction of the link's
    #[arg(long, value_name = "A", default_value = "1", allow_negative_numbers = true)]
    pub(crate) load: f64,

    /// Tags of the sample; by default rates are measured without noise
    #[arg(long, value_name = "S")]
    pub(crate) tags: Option<u32>,

    /// The target of the delay
    #[arg(long, value_name = "TIME", default_value = "10ms")]
    pub(crate) target: Duration,

    /// The size of a packet
    #[arg(long, value_name = "BYTES", default_value = "1500b")]
    pub(crate) packet: Bytes,

    #[command(flatten)]
    pub(crate) form: AnswerForm,
}

/// TCP: the throughput at a given loss and round-trip time
///
/// The inputs are the loss, the round trip and the timeout. The full and the approximate model of Padhye, Firoiu,
/// Towsley and Kurose 1998, the square root law of Mathis, Semke, Mahdavi and Ott 1997, and TFRC's equation (RFC 5348).
/// All hold for long Reno flows on a path whose round trip does not depend on the window.
#[derive(Debug, Args)]
pub(crate) struct TcpArgs {
    /// The probability that a packet is lost, above 0 and below 1
    #[arg(long, value_name = "P", allow_negative_numbers = true)]
    pub(crate) loss: f64,

    /// The round-trip time, such as 100ms
    #[arg(long, value_name = "TIME")]
    pub(crate) rtt: Duration,

    /// The retransmission timeout; by default four round trips, as in RFC 5348
    #[arg(long, value_name = "TIME")]
    pub(crate) timeout: Option<Duration>,

    /// Packets that an acknowledgement covers: 1, or 2 with delayed acknowledgements that the sender counts one by one
    #[arg(long, value_name = "B", default_value = "1", allow_negative_numbers = true)]
    pub(crate) acked: f64,

    /// The largest window in packets; by default unlimited
    #[arg(long, value_name = "W", allow_negative_numbers = true)]
    pub(crate) window: Option<f64>,

    /// The size of a packet, for rates in bits per second
    #[arg(long, value_name = "BYTES", default_value = "1000b")]
    pub(crate) packet: Bytes,

    #[command(flatten)]
    pub(crate) form: AnswerForm,
}

/// The form of a model's answer.
#[derive(Debug, Args)]
pub(crate) struct AnswerForm {
    #[command(flatten)]
    pub(crate) form: Form,

    /// Also draw the answer over a range of parameters, with the given ones marked, as an SVG figure
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) svg: Option<PathBuf>,
}

fn comparisons(text: &str) -> Result<Comparisons, String> {
    match text {
        "infinite" => Ok(Comparisons::Unlimited),
        _ => text.parse().map(Comparisons::AtMost).map_err(|_| "write a whole number from 1, or infinite".to_owned()),
    }
}
