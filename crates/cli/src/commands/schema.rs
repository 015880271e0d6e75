//! `fairlane schema`: what editors know of scenario files.

use fairlane_console::{Failure, output};

/// Prints the schema.
pub(crate) fn execute() -> Result<(), Failure> {
    output::print_json(&fairlane_scenario::schema())
}
