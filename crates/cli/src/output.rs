//! Outcomes on standard output.

use std::io::{self, IsTerminal as _};

use fairlane_console::Failure;
use fairlane_console::colour;
pub(crate) use fairlane_console::output::{print, print_json, tell, width};
use fairlane_outcome::{Outcome, Timeline};
use fairlane_report::{Details, Terminal};
use serde::Serialize;

/// Returns the terminal for which tables are laid out, and the `details` that it shows.
pub(crate) fn terminal(details: Details) -> Terminal {
    Terminal { width: width(), colour: colour(&io::stdout()), details }
}

/// Writes a line for each warning to standard error, if that is a terminal.
pub(crate) fn warn(warnings: &[String]) {
    if io::stderr().is_terminal() {
        warnings.iter().for_each(|warning| tell(&format!("warning: {warning}\n")));
    }
}

/// Prints `{"outcomes": […]}`, with the `"series"` of each if there are any, and with `"partial": true` if some of the
/// requested ones are missing.
pub(crate) fn print_outcomes(outcomes: &[Outcome], series: &[Option<Timeline>], partial: bool) -> Result<(), Failure> {
    #[derive(Serialize)]
    struct Printed<'a> {
        outcomes: &'a [Outcome],
        #[serde(skip_serializing_if = "Option::is_none")]
        series: Option<&'a [Option<Timeline>]>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        partial: bool,
    }
    let series = (!series.is_empty()).then_some(series);
    print_json(&Printed { outcomes, series, partial })
}

/// Prints an outcome, with its series if there is one.
pub(crate) fn print_outcome(outcome: &Outcome, series: Option<&Timeline>) -> Result<(), Failure> {
    #[derive(Serialize)]
    struct Printed<'a> {
        #[serde(flatten)]
        outcome: &'a Outcome,
        #[serde(skip_serializing_if = "Option::is_none")]
        series: Option<&'a Timeline>,
    }
    match series {
        None => print_json(outcome),
        series => print_json(&Printed { outcome, series }),
    }
}
