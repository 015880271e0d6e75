//! The command line of Fairlane: simulates, compares and explains queue disciplines.
#![forbid(unsafe_code)]

mod args;
mod commands;
mod features;
mod figures;
mod files;
mod hints;
mod output;
mod page;
mod progress;
mod shared;

use std::process::ExitCode;

use fairlane_console::Failure;

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
    #[cfg(all(any(feature = "lab", feature = "shell"), target_os = "linux"))]
    if fairlane_guest::inside::is_here() {
        commands::guest::serve();
        return ExitCode::SUCCESS;
    }
    match commands::execute(hints::parse().verb) {
        Ok(()) | Err(Failure::ReaderGone) => ExitCode::SUCCESS,
        Err(Failure::FellShort) => ExitCode::from(FELL_SHORT),
        Err(Failure::Undecided) => ExitCode::from(UNDECIDED),
        Err(Failure::Ended(code)) => ExitCode::from(code),
        Err(Failure::Logged) => ExitCode::from(REFUSED),
        Err(Failure::Refused(refusal)) => {
            output::tell(&refusal.shown());
            ExitCode::from(REFUSED)
        }
    }
}
