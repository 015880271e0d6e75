//! Scripts in a subset of packetdrill's language, whose numbers were worked out by hand from the RFCs.

mod interpreter;

use std::path::Path;

use self::interpreter::{Mode, Outcome, run, run_folder, summary, table};

/// A packet that a script does not mention is a difference.
const STRICT: Mode<'static> = Mode { preset: "modern", strict: true };

/// Would catch any packet at another time, of other data or with another acknowledgement than the RFC says, and any
/// other window.
#[test]
fn all_scripts_pass() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/packetdrill/scripts");
    let lines = run_folder(&folder, STRICT).expect("the folder of scripts");
    let passes = |outcome: &Outcome| matches!(outcome, Outcome::Passes);
    let failures: Vec<_> = lines.into_iter().filter(|line| !passes(&line.report.outcome)).collect();
    assert!(failures.is_empty(), "\n{}{}", table(&failures), summary(&failures));
}
