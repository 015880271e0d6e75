//! `fairlane paper`: what the papers claim, run and judged.

mod run;
mod show;

use fairlane_papers::Error;

use crate::args::PaperVerb;
use crate::error::Failure;

/// Does what is asked of the claims.
pub(crate) fn execute(verb: PaperVerb) -> Result<(), Failure> {
    match verb {
        PaperVerb::List(args) => show::list(&args),
        PaperVerb::Show(args) => show::show(&args),
        PaperVerb::Run(args) => run::Run::new(args)?.execute(),
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Keep { .. } => Self::new(error.to_string(), "name a folder where you may write with --state"),
            _ => Self::plain(error),
        }
    }
}
