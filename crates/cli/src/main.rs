//! The command line of Fairlane: simulates, compares and explains queue disciplines.
#![forbid(unsafe_code)]

mod advise;
mod args;
#[cfg(all(feature = "bpf", target_os = "linux"))]
mod bpf;
mod characterize;
mod check;
mod compare;
mod explain;
mod features;
mod figures;
mod files;
mod flent;
#[cfg(all(feature = "lab", target_os = "linux"))]
mod lab;
mod mahimahi;
#[cfg(feature = "manual")]
mod manual;
mod observed;
mod output;
mod page;
#[cfg(feature = "papers")]
mod paper;
mod pcap;
#[cfg(feature = "html")]
mod plot;
mod progress;
mod replay;
mod run;
mod scenarios;
mod shared;
mod sweep;
mod theory;
mod tune;

use std::process::ExitCode;

use clap::Parser;
use fairlane_console::Failure;

use crate::args::{Cli, Verb};

/// Asks for huge pages: large runs read memory all over.
#[global_allocator]
static MEMORY: fairlane_alloc::HugePages = fairlane_alloc::HugePages;

/// The exit code when a claim or a comparison failed.
const FELL_SHORT: u8 = 1;
/// The exit code when the input is wrong or the machine cannot do it.
const REFUSED: u8 = 2;
/// The exit code when no claim fell short, but one needs more runs to be decided.
const UNDECIDED: u8 = 3;

fn main() -> ExitCode {
    #[cfg(all(feature = "lab", target_os = "linux"))]
    if fairlane_guest::inside::is_here() {
        lab::serve();
        return ExitCode::SUCCESS;
    }
    match execute(Cli::parse().verb) {
        Ok(()) | Err(Failure::ReaderGone) => ExitCode::SUCCESS,
        Err(Failure::FellShort) => ExitCode::from(FELL_SHORT),
        Err(Failure::Undecided) => ExitCode::from(UNDECIDED),
        Err(Failure::Logged) => ExitCode::from(REFUSED),
        Err(Failure::Refused(refusal)) => {
            output::tell(&refusal.shown());
            ExitCode::from(REFUSED)
        }
    }
}

/// Checks everything that can be refused, then does the work.
fn execute(verb: Verb) -> Result<(), Failure> {
    match verb {
        Verb::Compare(args) => compare::CompareCommand::new(args)?.execute(),
        Verb::Run(args) => run::RunCommand::new(args)?.execute(),
        Verb::Sweep(args) => sweep::SweepCommand::new(args)?.execute(),
        Verb::Characterize(args) => characterize::CharacterizeCommand::new(args)?.execute(),
        Verb::Advise(args) => advise::AdviseCommand::new(args)?.execute(),
        Verb::Tune(args) => tune::TuneCommand::new(&args)?.execute(),
        Verb::Check(args) => check::check(&args),
        Verb::Scenarios(args) => scenarios::show(&args),
        Verb::Replay(args) => replay::ReplayCommand::new(&args)?.execute(),
        #[cfg(feature = "html")]
        Verb::Plot(args) => plot::draw(&args),
        #[cfg(not(feature = "html"))]
        Verb::Plot(_) => Err(features::missing("figures", "html")),
        #[cfg(all(feature = "lab", target_os = "linux"))]
        Verb::Lab(args) => lab::execute(&args),
        #[cfg(all(feature = "lab", not(target_os = "linux")))]
        Verb::Lab(_) => Err(Failure::new("the lab needs Linux", "simulate the file: fairlane run")),
        #[cfg(not(feature = "lab"))]
        Verb::Lab(_) => Err(features::missing("lab", "lab")),
        #[cfg(feature = "papers")]
        Verb::Paper(args) => paper::execute(args.verb),
        #[cfg(not(feature = "papers"))]
        Verb::Paper(_) => Err(features::missing("papers", "papers")),
        #[cfg(feature = "router")]
        Verb::Router(args) => fairlane_daemon::router::execute(args),
        #[cfg(not(feature = "router"))]
        Verb::Router(_) => Err(features::missing("router", "router")),
        #[cfg(all(feature = "bpf", target_os = "linux"))]
        Verb::Bpf(args) => bpf::execute(args.verb),
        #[cfg(all(feature = "bpf", not(target_os = "linux")))]
        Verb::Bpf(_) => Err(Failure::plain("BPF queue disciplines need Linux")),
        #[cfg(not(feature = "bpf"))]
        Verb::Bpf(_) => Err(features::missing("BPF queue disciplines", "bpf")),
        #[cfg(feature = "top")]
        Verb::Top(args) => fairlane_daemon::top::show(&args),
        #[cfg(not(feature = "top"))]
        Verb::Top(_) => Err(features::missing("view of a router", "top")),
        Verb::Theory(args) => theory::print(&args.model),
        Verb::Explain(args) => explain::explain(&args),
        Verb::Qdiscs(args) => explain::list(&args),
        #[cfg(feature = "manual")]
        Verb::Completions(args) => manual::completions(args.shell),
        #[cfg(feature = "manual")]
        Verb::Man(args) => manual::man(&args.dir),
        #[cfg(not(feature = "manual"))]
        Verb::Completions(_) | Verb::Man(_) => Err(features::missing("manual pages and completions", "manual")),
    }
}
