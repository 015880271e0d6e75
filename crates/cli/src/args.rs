//! What can be typed: one definition of each flag, from which help, completions and man pages come too.

#[allow(dead_code, reason = "what they say is for aqmrun itself")]
mod aqmrun;
mod paper;
mod router;
mod theory;
mod top;

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueHint};
use clap_complete::Shell;
use fairlane_batch::MOST_THREADS;
use fairlane_qdisc::{Duration, Kind, Rate};

pub(crate) use self::aqmrun::Options as Aqmrun;
pub(crate) use self::paper::{Paper, PaperList, PaperRun, PaperShow, PaperVerb};
pub(crate) use self::router::Router;
#[cfg(target_os = "linux")]
pub(crate) use self::router::{
    Flows, Framing, Log, Metrics, Words, bridge, ce_mark, metrics, mpu, overhead, queue_num,
};
pub(crate) use self::theory::{AnswerForm, Back, ChokeMulti, Front, Gchoke, Model, OneFlow, Sfb, Theory};
pub(crate) use self::top::Top;

/// Keeps a congested link fair without keeping track of every flow.
///
/// Simulates, compares and explains queue disciplines: DropTail, RED, CHOKe and its family.
#[derive(Debug, Parser)]
#[command(name = "fairlane", version, max_term_width = 100, after_help = EXIT_CODES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

const EXIT_CODES: &str = "Exit codes: 0 done; 1 a claim or a comparison failed; 2 the input or the machine will not do, \
or the work was interrupted before its end.";

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    Compare(Compare),
    Run(Run),
    Sweep(Sweep),
    Replay(Replay),
    Lab(Lab),
    Paper(Paper),
    Router(Router),
    Top(Top),
    Theory(Theory),
    Explain(Explain),
    Qdiscs(Qdiscs),
    Completions(Completions),
    Man(Man),
}

/// Show several queue disciplines under the same traffic, side by side
///
/// Without FILE it runs Figure 3 of the CHOKe paper (Pan, Prabhakar, Psounis 2000: 32 TCP flows and one UDP flow of twice
/// the link's rate) and prints the paper's own numbers beside ours.
///
/// All disciplines see the same traffic: the flows draw from streams of randomness of their own. Each number comes with its
/// 95 % confidence interval.
#[derive(Debug, Args)]
pub(crate) struct Compare {
    /// Scenario file; without it, Figure 3 of the CHOKe paper
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: Option<PathBuf>,

    /// Disciplines to compare, or "all" [default: droptail, red and those of the file]
    ///
    /// The bottleneck's queue becomes each of them and keeps those of its parameters that the discipline knows too. In a
    /// scenario with links of its own this happens to every link queue that the file describes; links that have the plain default
    /// queue (droptail, 1000 packets) keep it.
    #[arg(long, value_name = "KIND", value_delimiter = ',', value_parser = disciplines)]
    pub(crate) queue: Vec<Disciplines>,

    #[command(flatten)]
    pub(crate) change: Change,

    /// Runs of each discipline, each with randomness of its own
    #[arg(long, value_name = "N", default_value = "5", value_parser = runs)]
    pub(crate) runs: NonZeroU32,

    #[command(flatten)]
    pub(crate) threads: Threads,

    #[command(flatten)]
    pub(crate) form: Form,

    /// Also write the tables of all outcomes into this folder
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) page: PageFile,
}

/// Run one scenario
#[derive(Debug, Args)]
pub(crate) struct Run {
    /// Scenario file
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,

    #[command(flatten)]
    pub(crate) change: Change,

    /// Runs, each with randomness of its own; from two on, each number comes with its 95 % confidence interval
    #[arg(long, value_name = "N", default_value = "1", value_parser = runs)]
    pub(crate) runs: NonZeroU32,

    #[command(flatten)]
    pub(crate) threads: Threads,

    #[command(flatten)]
    pub(crate) form: Form,

    /// Also write the outcome's tables into this folder
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) page: PageFile,

    /// Write the packets that leave the queues, warm-up included, as a packet capture
    ///
    /// A capture has the headers only, made up from the flow: IPv4 with the flow's own addresses, TCP or UDP. Each packet
    /// says its size on the wire, its time is that of the simulation in nanoseconds, and its TTL, 64 at the source, tells
    /// how many links between nodes it has entered. tcpdump and Wireshark read it.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) pcap: Option<PathBuf>,

    /// Write every packet's fate at every queue, warm-up included, to this .csv or .parquet
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) trace: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) series: SeriesFile,
}

/// Run a scenario at every combination of the values given
///
/// Example: fairlane sweep a.toml --vary flows.cbr.rate=100kbit..10mbit/9log --vary bottleneck.queue.kind=red,choke
#[derive(Debug, Args)]
pub(crate) struct Sweep {
    /// Scenario file
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,

    /// A key and its values: a,b,c or a..b/N (N evenly spaced) or a..b/Nlog (evenly spaced ratios)
    ///
    /// May be given several times: all combinations are run, the last one varying fastest.
    #[arg(long, value_name = "KEY=VALUES", required = true)]
    pub(crate) vary: Vec<String>,

    #[command(flatten)]
    pub(crate) change: Change,

    /// Runs of each point, each with randomness of its own
    #[arg(long, value_name = "N", default_value = "1", value_parser = runs)]
    pub(crate) runs: NonZeroU32,

    #[command(flatten)]
    pub(crate) threads: Threads,

    #[command(flatten)]
    pub(crate) form: Form,

    /// Also write one row for each point and group to this .csv or .parquet
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) out: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) page: PageFile,
}

/// Send captured packets through a queue: they come as they were captured and leave at the link's rate
///
/// Example: fairlane replay uplink.pcap --rate 10mbit --queue choke limit=300p min=100p max=200p
///
/// The packets do not react to the queue: traffic that would have slowed down does not. All packets of the file go through,
/// so choose one direction first, such as with: tcpdump -r both.pcap -w uplink.pcap src net 10.0.0.0/8
#[derive(Debug, Args)]
pub(crate) struct Replay {
    /// The capture: pcap or pcapng of Ethernet, raw IP, Linux cooked or loopback packets
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,

    /// Parameters as in a scenario's queue, such as limit=300p; of several disciplines each takes those that it has
    #[arg(value_name = "KEY=VALUE", value_parser = setting)]
    pub(crate) parameters: Vec<Setting>,

    /// Rate of the link that the queue feeds
    #[arg(long, value_parser = rate)]
    pub(crate) rate: Rate,

    /// Disciplines, or "all"; each sees the same packets
    #[arg(long, value_name = "KIND", value_delimiter = ',', required = true, value_parser = disciplines)]
    pub(crate) queue: Vec<Disciplines>,

    /// Where the discipline's randomness comes from
    #[arg(long, value_name = "N", default_value = "1", value_parser = seed)]
    pub(crate) seed: u64,

    #[command(flatten)]
    pub(crate) threads: Threads,

    #[command(flatten)]
    pub(crate) form: Form,

    /// Write the packets that leave the queue as a capture: when the link begins to send them, with the marks they got
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) write: Option<PathBuf>,
}

/// Run a scenario on real Linux TCP, in network namespaces that it makes and removes itself (Linux, root)
///
/// Hosts, links, delays and the queue are those of the file; TCP and UDP are the kernel's, with the congestion control that each
/// group asks for. A run takes as long as the scenario says. The lab makes sure that its queue is the bottleneck, says how, and
/// refuses to give numbers otherwise. Nothing of the machine's own network is touched, and nothing is left of a lab that was killed.
#[derive(Debug, Args)]
pub(crate) struct Lab {
    /// Scenario file: a dumbbell, with TCP and UDP of constant rate
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,

    /// Disciplines, or "all", one after the other [default: the file's]
    #[arg(long, value_name = "KIND", value_delimiter = ',', value_parser = disciplines)]
    pub(crate) queue: Vec<Disciplines>,

    #[command(flatten)]
    pub(crate) change: Change,

    /// Runs of each discipline, one after the other; from two on, each number comes with its 95 % confidence interval
    #[arg(long, value_name = "N", default_value = "1", value_parser = runs)]
    pub(crate) runs: NonZeroU32,

    /// Simulate the same scenario too, five times or as often as --runs says, and show both side by side
    #[arg(long)]
    pub(crate) against_sim: bool,

    #[command(flatten)]
    pub(crate) form: Form,

    /// Also write the tables of all outcomes into this folder
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) page: PageFile,

    #[command(flatten)]
    pub(crate) series: SeriesFile,
}

/// Say every parameter of a discipline as it will be used, and what looks wrong
///
/// Example: fairlane explain choke limit=300p min=100p max=200p --rate 1mbit
#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// The discipline
    #[arg(value_name = "KIND", value_parser = kind)]
    pub(crate) kind: Kind,

    /// Parameters as in a scenario's queue, such as limit=300p
    #[arg(value_name = "KEY=VALUE", value_parser = setting)]
    pub(crate) parameters: Vec<Setting>,

    /// Rate of the link that the queue feeds
    #[arg(long, default_value = "10mbit", value_parser = rate)]
    pub(crate) rate: Rate,

    #[command(flatten)]
    pub(crate) form: Form,
}

/// List every discipline, with its source and its parameters
#[derive(Debug, Args)]
pub(crate) struct Qdiscs {
    #[command(flatten)]
    pub(crate) form: Form,
}

/// Print a completion script for a shell
#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    pub(crate) shell: Shell,
}

/// Write the manual pages into a folder, of aqmrun too
#[derive(Debug, Args)]
pub(crate) struct Man {
    /// The folder; it is made if it is not there
    #[arg(value_hint = ValueHint::DirPath)]
    pub(crate) dir: PathBuf,
}

/// What is different from the scenario file.
#[derive(Debug, Args)]
pub(crate) struct Change {
    /// Change a value of the scenario, such as flows.cbr.rate=2mbit; may be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = setting)]
    pub(crate) set: Vec<Setting>,

    /// Where all randomness comes from [default: the scenario's]
    #[arg(long, value_name = "N", value_parser = seed)]
    pub(crate) seed: Option<u64>,
}

/// How much of the machine to use.
#[derive(Debug, Args)]
pub(crate) struct Threads {
    /// Runs at the same time [default: the number of cores]; results do not depend on it
    #[arg(long, value_name = "N", value_parser = jobs)]
    pub(crate) jobs: Option<usize>,
}

/// How to print.
#[derive(Debug, Args)]
pub(crate) struct Form {
    /// Print JSON rather than tables
    #[arg(long)]
    pub(crate) json: bool,
}

/// Where a page goes.
#[derive(Debug, Args)]
pub(crate) struct PageFile {
    /// Also write a page with all numbers and figures: one HTML file that needs nothing else
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) html: Option<PathBuf>,
}

/// Where a time series goes.
#[derive(Clone, Debug, Args)]
pub(crate) struct SeriesFile {
    /// Write what each flow and each queue did in each interval, warm-up included: FILE.csv (or .parquet) becomes
    /// FILE.flows.csv and FILE.queues.csv
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    series: Option<PathBuf>,

    /// The interval of --series
    #[arg(long, value_name = "TIME", default_value = "100ms", requires = "series", value_parser = interval)]
    interval: Duration,
}

impl SeriesFile {
    /// The file and the interval, if there is to be one.
    pub(crate) fn asked(self) -> Option<(PathBuf, Duration)> {
        self.series.map(|path| (path, self.interval))
    }
}

/// A `KEY=VALUE` of the command line.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    pub(crate) key: String,
    pub(crate) value: String,
}

/// One item of `--queue`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Disciplines {
    All,
    One(Kind),
}

const MOST_RUNS: u32 = 100_000;

fn runs(text: &str) -> Result<NonZeroU32, String> {
    let remedy = format!("write a number from 1 to {MOST_RUNS}; 5 to 30 give a useful interval");
    let number: u32 = text.parse().map_err(|_| remedy.clone())?;
    NonZeroU32::new(number).filter(|number| number.get() <= MOST_RUNS).ok_or(remedy)
}

fn jobs(text: &str) -> Result<usize, String> {
    let fits = |number: &usize| (1..=MOST_THREADS).contains(number);
    let remedy = || format!("write a number from 1 to {MOST_THREADS}, or leave it out to use every core");
    text.parse().ok().filter(fits).ok_or_else(remedy)
}

fn seed(text: &str) -> Result<u64, String> {
    let fits = |number: &u64| i64::try_from(*number).is_ok();
    text.parse().ok().filter(fits).ok_or_else(|| format!("write a whole number from 0 to {}", i64::MAX))
}

pub(crate) fn setting(text: &str) -> Result<Setting, String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => {
            Ok(Setting { key: key.trim().to_owned(), value: value.trim().to_owned() })
        }
        _ => Err("write KEY=VALUE, such as limit=300p".to_owned()),
    }
}

pub(crate) fn kind(text: &str) -> Result<Kind, String> {
    text.parse().map_err(|error: fairlane_qdisc::ParameterError| error.message().to_owned())
}

fn disciplines(text: &str) -> Result<Disciplines, String> {
    if text.trim() == "all" { Ok(Disciplines::All) } else { kind(text.trim()).map(Disciplines::One) }
}

pub(crate) fn time(text: &str) -> Result<Duration, String> {
    text.parse().map_err(|error: fairlane_qdisc::UnitError| error.to_string())
}

fn interval(text: &str) -> Result<Duration, String> {
    let interval = time(text)?;
    let least = Duration::from_nanos(1000);
    if interval < least { Err(format!("an interval is {least} at least")) } else { Ok(interval) }
}

pub(crate) fn rate(text: &str) -> Result<Rate, String> {
    let rate: Rate = text.parse().map_err(|error: fairlane_qdisc::UnitError| error.to_string())?;
    if rate.bits_per_second() == 0 { Err("a link needs a rate above zero".to_owned()) } else { Ok(rate) }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_does_not_contradict_itself() {
        Cli::command().debug_assert();
    }
}
