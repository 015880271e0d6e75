//! Outcomes on standard output.

use std::io;

use fairlane_console::Failure;
use fairlane_console::colour;
pub(crate) use fairlane_console::output::{print, print_json, tell, width};
use fairlane_outcome::Outcome;
use fairlane_report::Terminal;
use serde::Serialize;

/// Returns the terminal for which tables are laid out.
pub(crate) fn terminal() -> Terminal {
    Terminal { width: width(), colour: colour(&io::stdout()) }
}

/// Prints `{"outcomes": […]}`, with `"partial": true` if some of the requested ones are missing.
pub(crate) fn print_outcomes(outcomes: &[Outcome], partial: bool) -> Result<(), Failure> {
    #[derive(Serialize)]
    struct Printed<'a> {
        outcomes: &'a [Outcome],
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        partial: bool,
    }
    print_json(&Printed { outcomes, partial })
}
