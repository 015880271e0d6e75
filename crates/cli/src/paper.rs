//! `fairlane paper`: what the papers claim, run and judged.

mod run;
mod show;

use std::fmt;

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

/// A word for how a claim stands.
pub(crate) struct Standing(pub(crate) Option<fairlane_papers::Status>);

impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fairlane_papers::Status;
        f.write_str(match self.0 {
            Some(Status::Met) => "met",
            Some(Status::Short) => "fell short",
            Some(Status::Out) => "nothing to run",
            None => "not run",
        })
    }
}
