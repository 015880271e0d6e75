//! Keeps a congested link fair without keeping track of every flow: the command line.
#![forbid(unsafe_code)]

mod args;
mod compare;
mod costs;
mod docs;
mod error;
mod explain;
#[cfg(target_os = "linux")]
mod lab;
mod layout;
mod output;
mod page;
mod paper;
mod pcap;
mod plan;
mod progress;
mod replay;
mod router;
mod run;
mod state;
mod sweep;
mod theory;
mod top;
mod watch;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Cli, Verb};
use crate::error::Failure;

/// A claim or a comparison failed.
const FELL_SHORT: u8 = 1;
/// The input or the machine will not do.
const REFUSED: u8 = 2;

fn main() -> ExitCode {
    match execute(Cli::parse().verb) {
        Ok(()) | Err(Failure::ReaderGone) => ExitCode::SUCCESS,
        Err(Failure::FellShort) => ExitCode::from(FELL_SHORT),
        #[cfg(target_os = "linux")]
        Err(Failure::Logged) => ExitCode::from(REFUSED),
        Err(Failure::Refused(refusal)) => {
            output::tell(&refusal.shown());
            ExitCode::from(REFUSED)
        }
    }
}

/// First all that can be refused is checked, then the work is done.
fn execute(verb: Verb) -> Result<(), Failure> {
    match verb {
        Verb::Compare(args) => compare::Plan::new(args)?.execute(),
        Verb::Run(args) => run::Plan::new(args)?.execute(),
        Verb::Sweep(args) => sweep::Plan::new(args)?.execute(),
        Verb::Replay(args) => replay::Plan::new(&args)?.execute(),
        #[cfg(target_os = "linux")]
        Verb::Lab(args) => lab::Plan::new(&args)?.execute(),
        #[cfg(not(target_os = "linux"))]
        Verb::Lab(_) => Err(Failure::new("the lab is for Linux alone", "simulate the file: fairlane run")),
        Verb::Paper(args) => paper::execute(args.verb),
        Verb::Router(args) => router::Plan::new(args)?.execute(),
        Verb::Top(args) => top::show(&args),
        Verb::Theory(args) => theory::print(&args.model),
        Verb::Explain(args) => explain::explain(&args),
        Verb::Qdiscs(args) => explain::list(&args),
        Verb::Completions(args) => docs::completions(args.shell),
        Verb::Man(args) => docs::man(&args.dir),
    }
}
