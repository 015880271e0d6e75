//! The options: one definition of each, from which help, completions and manual pages come too.

mod advise;
#[cfg(feature = "bpf")]
mod bpf;
mod characterize;
mod check;
mod explain;
#[cfg(feature = "lab")]
mod lab;
#[cfg(feature = "papers")]
mod paper;
#[cfg(feature = "html")]
mod plot;
mod shown;
mod theory;

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueHint};
use fairlane_capture::FlowsBy;
use fairlane_console::values::{Setting, kind, rate, setting, shaper, time};
#[cfg(feature = "router")]
use fairlane_daemon::RouterArgs;
#[cfg(feature = "top")]
use fairlane_daemon::TopArgs;
use fairlane_qdisc::{Duration, Kind, Rate};
use fairlane_runner::MOST_THREADS;
use fairlane_scenario::ShaperKind;

pub(crate) use self::advise::{AdviseArgs, TuneArgs};
#[cfg(feature = "bpf")]
pub(crate) use self::bpf::{BpfArgs, BpfAttachArgs, BpfVerb};
pub(crate) use self::characterize::CharacterizeArgs;
pub(crate) use self::check::{CheckArgs, ScenariosArgs};
pub(crate) use self::explain::{ExplainArgs, QdiscsArgs};
#[cfg(feature = "lab")]
pub(crate) use self::lab::LabArgs;
#[cfg(all(feature = "lab", target_os = "linux"))]
pub(crate) use self::lab::LabPlace;
#[cfg(feature = "papers")]
pub(crate) use self::paper::{PaperArgs, PaperListArgs, PaperRunArgs, PaperShowArgs, PaperVerb};
#[cfg(feature = "html")]
pub(crate) use self::plot::{FigureKind, PlotArgs};
pub(crate) use self::shown::{FigureFiles, PageFile, ShownQueue};
pub(crate) use self::theory::{
    AnswerForm, BackArgs, ChokeMultiArgs, EchoArgs, EchoStabilityArgs, FrontArgs, GchokeArgs, Model, OneFlowArgs,
    SfbArgs, TcpArgs, TheoryArgs,
};
#[cfg(not(all(
    feature = "bpf",
    feature = "html",
    feature = "lab",
    feature = "manual",
    feature = "papers",
    feature = "router",
    feature = "top"
)))]
use crate::features::MissingVerb;

/// Keeps a congested link fair without keeping track of every flow.
///
/// Simulates, compares and explains queue disciplines: DropTail, RED, CHOKe and its family.
#[derive(Debug, Parser)]
#[command(name = "fairlane", version, max_term_width = 100, after_help = EXIT_CODES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

const EXIT_CODES: &str = "Exit codes: 0 done; 1 a claim or a comparison failed; 2 the input is wrong, the machine cannot do it, \
or the work was interrupted before its end; 3 no claim failed, but one needs more runs to be decided.";

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    Compare(CompareArgs),
    Run(RunArgs),
    Sweep(SweepArgs),
    Characterize(CharacterizeArgs),
    Advise(AdviseArgs),
    Tune(TuneArgs),
    Check(CheckArgs),
    Scenarios(ScenariosArgs),
    Replay(ReplayArgs),
    #[cfg(feature = "html")]
    Plot(PlotArgs),
    /// Draw a figure of saved outcomes (in builds with the feature html)
    #[cfg(not(feature = "html"))]
    #[command(disable_help_flag = true)]
    Plot(MissingVerb),
    #[cfg(feature = "lab")]
    Lab(LabArgs),
    /// Run a scenario on real Linux TCP (in builds with the feature lab)
    #[cfg(not(feature = "lab"))]
    #[command(disable_help_flag = true)]
    Lab(MissingVerb),
    #[cfg(feature = "papers")]
    Paper(PaperArgs),
    /// Run the claims of the papers, and judge them (in builds with the feature papers)
    #[cfg(not(feature = "papers"))]
    #[command(disable_help_flag = true)]
    Paper(MissingVerb),
    #[cfg(feature = "router")]
    Router(RouterArgs),
    /// Put a discipline on a real link (in builds with the feature router)
    #[cfg(not(feature = "router"))]
    #[command(disable_help_flag = true)]
    Router(MissingVerb),
    #[cfg(feature = "bpf")]
    Bpf(BpfArgs),
    /// Put CHOKe into the kernel as a BPF queue discipline (in builds with the feature bpf)
    #[cfg(not(feature = "bpf"))]
    #[command(disable_help_flag = true)]
    Bpf(MissingVerb),
    #[cfg(feature = "top")]
    Top(TopArgs),
    /// Watch a running router (in builds with the feature top)
    #[cfg(not(feature = "top"))]
    #[command(disable_help_flag = true)]
    Top(MissingVerb),
    Theory(TheoryArgs),
    Explain(ExplainArgs),
    Qdiscs(QdiscsArgs),
    #[cfg(feature = "manual")]
    Completions(CompletionsArgs),
    /// Print a completion script for a shell (in builds with the feature manual)
    #[cfg(not(feature = "manual"))]
    #[command(disable_help_flag = true)]
    Completions(MissingVerb),
    #[cfg(feature = "manual")]
    Man(ManArgs),
    /// Write the manual pages into a folder (in builds with the feature manual)
    #[cfg(not(feature = "manual"))]
    #[command(disable_help_flag = true)]
    Man(MissingVerb),
}

/// Show several queue disciplines under the same traffic, side by side
///
/// Without FILE it runs Figure 3 of the CHOKe paper (Pan, Prabhakar, Psounis 2000: 32 TCP flows and one UDP flow of twice
/// the link's rate) and prints the paper's own numbers beside ours.
///
/// All disciplines see the same traffic: each flow has a random stream of its own. Each number has its 95 % confidence interval.
#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// Scenario: a file, a name of `fairlane scenarios`, or - for standard input; without it, Figure 3 of the CHOKe paper
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: Option<PathBuf>,

    /// Disciplines to compare, or "all" [default: droptail, red and those of the file]
    ///
    /// Each of them replaces the bottleneck's queue and takes over the parameters that it has too. In a
    /// scenario with a topology of links it replaces every link queue that the file describes; links that have the plain default
    /// queue (droptail, 1000 packets) keep it.
    #[arg(long, value_name = "KIND", value_delimiter = ',', value_parser = disciplines)]
    pub(crate) queue: Vec<Disciplines>,

    /// Shapers to compare, "fixed" or "autorate", with the parameters of the file, and with its queue unless --queue names others
    #[arg(long, value_name = "SHAPER", value_delimiter = ',', value_parser = shaper)]
    pub(crate) shaper: Vec<ShaperKind>,

    #[command(flatten)]
    pub(crate) overrides: Overrides,

    /// Runs of each discipline, each with its own random numbers
    #[arg(long, value_name = "N", default_value = "5", value_parser = runs)]
    pub(crate) runs: NonZeroU32,

    #[command(flatten)]
    pub(crate) threads: Threads,

    #[command(flatten)]
    pub(crate) shown: ShownQueue,

    #[command(flatten)]
    pub(crate) form: Form,

    /// Also write the tables of all outcomes into this folder
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) page: PageFile,

    #[command(flatten)]
    pub(crate) figures: FigureFiles,

    #[command(flatten)]
    pub(crate) series: SeriesFile,
}

/// Run one scenario
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Scenario: a file, a name of `fairlane scenarios`, or - for standard input
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,

    #[command(flatten)]
    pub(crate) overrides: Overrides,

    /// Runs, each with its own random numbers; from two on, each number has its 95 % confidence interval
    #[arg(long, value_name = "N", default_value = "1", value_parser = runs)]
    pub(crate) runs: NonZeroU32,

    #[command(flatten)]
    pub(crate) threads: Threads,

    /// Threads that share the work of each run; the runs come one after the other then. Results do not depend on it
    #[arg(long = "threads", value_name = "N", default_value = "1", value_parser = run_threads)]
    #[arg(conflicts_with_all = ["jobs", "html", "pcap", "trace", "series", "flent", "mahimahi"])]
    pub(crate) run_threads: NonZeroUsize,

    #[command(flatten)]
    pub(crate) form: Form,

    /// Also write the outcome's tables into this folder
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) page: PageFile,

    /// Write the packets that leave the queues between nodes, in both directions and warm-up included, as a packet capture
    ///
    /// The capture has headers only: IPv4 with an address pair for each flow, and TCP or UDP. Each packet has its size on the
    /// wire (an acknowledgement more if its options need it), the time of the simulation in nanoseconds, and a TTL of 64 less one for
    /// each link that it has entered. TCP has the window, timestamps, SACK blocks and ECN flags of the simulation, after a handshake,
    /// simulated or not, so Wireshark's graphs of sequence numbers, round trips and windows work.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) pcap: Option<PathBuf>,

    /// Write every arrival, departure, drop and mark at every queue, warm-up included, to this .csv or .parquet
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) trace: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) series: SeriesFile,

    /// Write a data file of flent (.flent.gz), which flent plots: throughput, window and round trip of each TCP flow, and the round
    /// trips of a UDP group called "ping", every 200 ms or in the interval of --series
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) flent: Option<PathBuf>,

    /// Write the bottleneck as mahimahi's mm-link logs it: FILE.log has the log, which mm-throughput-graph reads, and FILE.trace the
    /// opportunities of its link, which mm-link takes
    #[arg(long, value_name = "FILE.log", value_hint = ValueHint::FilePath)]
    pub(crate) mahimahi: Option<PathBuf>,
}

/// Run a scenario at every combination of the values given
///
/// Example: fairlane sweep a.toml --vary flows.cbr.rate=100kbit..10mbit/9log --vary bottleneck.queue.kind=red,choke
#[derive(Debug, Args)]
pub(crate) struct SweepArgs {
    /// Scenario: a file, a name of `fairlane scenarios`, or - for standard input
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,

    /// A key and its values: a,b,c or a..b/N (N evenly spaced) or a..b/Nlog (evenly spaced ratios)
    ///
    /// May be given several times: all combinations are run, the last one varying fastest.
    #[arg(long, value_name = "KEY=VALUES", required = true)]
    pub(crate) vary: Vec<String>,

    #[command(flatten)]
    pub(crate) overrides: Overrides,

    /// Runs of each point, each with its own random numbers
    #[arg(long, value_name = "N", default_value = "1", value_parser = runs)]
    pub(crate) runs: NonZeroU32,

    #[command(flatten)]
    pub(crate) threads: Threads,

    #[command(flatten)]
    pub(crate) shown: ShownQueue,

    #[command(flatten)]
    pub(crate) form: Form,

    /// Also write one row for each point, group and queue shown to this .csv or .parquet
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) out: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) page: PageFile,

    #[command(flatten)]
    pub(crate) figures: FigureFiles,
}

/// Send captured packets through a queue: they arrive as they were captured and leave at the link's rate
///
/// Example: fairlane replay uplink.pcap --rate 10mbit --queue choke limit=300p min=100p max=200p
///
/// The packets do not react to the queue: traffic that would have slowed down does not. All packets of the file are sent,
/// so select one direction first, for example with: tcpdump -r both.pcap -w uplink.pcap src net 10.0.0.0/8
#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// The capture: pcap or pcapng of Ethernet, raw IP, Linux cooked or loopback packets
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,

    /// Parameters as in a scenario's queue, such as limit=300p; each discipline takes those that it has
    #[arg(value_name = "KEY=VALUE", value_parser = setting)]
    pub(crate) parameters: Vec<Setting>,

    /// Rate of the link that the queue feeds
    #[arg(long, value_parser = rate)]
    pub(crate) rate: Rate,

    /// Disciplines, or "all"; each sees the same packets
    #[arg(long, value_name = "KIND", value_delimiter = ',', required = true, value_parser = disciplines)]
    pub(crate) queue: Vec<Disciplines>,

    /// The seed of the discipline's random numbers
    #[arg(long, value_name = "N", default_value = "1", value_parser = seed)]
    pub(crate) seed: u64,

    /// The packets that count as one flow: by five-tuple, address-pair, source-address or destination-address
    #[arg(long, value_name = "BY", default_value = "five-tuple")]
    pub(crate) flows: FlowsBy,

    #[command(flatten)]
    pub(crate) threads: Threads,

    #[command(flatten)]
    pub(crate) form: Form,

    #[command(flatten)]
    pub(crate) page: PageFile,

    /// Write the packets that leave the queue as a capture, with the times at which the link begins to send them and their marks
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) write: Option<PathBuf>,
}

/// Print a completion script for a shell
#[cfg(feature = "manual")]
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}

/// Write the manual pages into a folder, of aqmrun too
#[cfg(feature = "manual")]
#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// The folder; it is created if it does not exist
    #[arg(value_hint = ValueHint::DirPath)]
    pub(crate) dir: PathBuf,
}

/// Changes to the scenario file.
#[derive(Debug, Args)]
pub(crate) struct Overrides {
    /// Change a value of the scenario, such as flows.cbr.rate=2mbit; may be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = setting)]
    pub(crate) set: Vec<Setting>,

    /// The seed of all random numbers [default: the scenario's]
    #[arg(long, value_name = "N", value_parser = seed)]
    pub(crate) seed: Option<u64>,
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

/// The files of a time series.
#[derive(Clone, Debug, Args)]
pub(crate) struct SeriesFile {
    /// Write the counts of each flow and each queue in each interval, warm-up included: FILE.csv (or .parquet) becomes
    /// FILE.flows.csv and FILE.queues.csv, and under several disciplines FILE.KIND.flows.csv and FILE.KIND.queues.csv of the first run
    /// of each. With --json, what a page shows over time is printed too
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

fn run_threads(text: &str) -> Result<NonZeroUsize, String> {
    let remedy = || format!("write a number from 1 to {MOST_THREADS}");
    text.parse().ok().filter(|number: &NonZeroUsize| number.get() <= MOST_THREADS).ok_or_else(remedy)
}

fn seed(text: &str) -> Result<u64, String> {
    let fits = |number: &u64| i64::try_from(*number).is_ok();
    text.parse().ok().filter(fits).ok_or_else(|| format!("write a whole number from 0 to {}", i64::MAX))
}

fn disciplines(text: &str) -> Result<Disciplines, String> {
    if text.trim() == "all" { Ok(Disciplines::All) } else { kind(text.trim()).map(Disciplines::One) }
}

fn interval(text: &str) -> Result<Duration, String> {
    let interval = time(text)?;
    let least = Duration::from_nanos(1000);
    if interval < least { Err(format!("expected an interval of at least {least}")) } else { Ok(interval) }
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
