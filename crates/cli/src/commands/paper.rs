//! `fairlane paper`: the claims of the papers, run and judged.

mod run;
mod show;

use fairlane_console::Failure;
use fairlane_papers::Error;

use crate::args::paper::{PaperArgs, PaperVerb};

/// Lists, shows or runs claims.
pub(crate) fn execute(args: PaperArgs) -> Result<(), Failure> {
    match args.verb {
        PaperVerb::List(args) => show::list(&args),
        PaperVerb::Show(args) => show::show(&args),
        PaperVerb::Run(args) => run::PaperRun::new(args)?.execute(),
    }
}

/// Returns the error of a claim with its remedy.
#[allow(clippy::needless_pass_by_value, reason = "for map_err")]
fn failure(error: Error) -> Failure {
    match error {
        Error::Keep { .. } => Failure::new(error.to_string(), "name a folder where you may write with --state"),
        _ => Failure::plain(error),
    }
}
