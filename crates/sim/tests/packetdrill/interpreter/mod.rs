//! An interpreter of a subset of packetdrill's language over the TCP state machines of the simulator.
//!
//! A script is read ([`script`], [`packet`]), its set-up and handshake choose the TCP ([`settings`]), and its events
//! run against a sender and a receiver ([`runner`]). What the simulator does not have makes a script incomparable, with
//! the line and the reason.

mod code;
mod folder;
mod numbers;
mod packet;
mod runner;
mod script;
mod settings;

use std::fmt;

pub(crate) use self::folder::{run_folder, summary, table};
pub(crate) use self::settings::PRESETS;

use self::runner::Runner;
use self::script::Script;
use self::settings::Settings;

/// A line of a script, and what is wrong with it or not possible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    line: usize,
    text: String,
}

impl Problem {
    fn new(line: usize, text: impl Into<String>) -> Self {
        Self { line, text: text.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.text)
    }
}

/// The result of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// All that was compared is as expected.
    Passes,
    /// Something is not: the line, what the script says, and what TCP did.
    Differs { line: usize, expected: String, got: String },
    /// The script needs what the simulator does not have, or is malformed.
    NotComparable(Problem),
}

/// The result of a script, and how much of it was compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Report {
    /// The result.
    pub(crate) outcome: Outcome,
    /// The number of packets and assertions that were compared.
    pub(crate) compared: usize,
    /// The parts that were not compared, each with its line.
    pub(crate) skipped: Vec<Problem>,
}

/// How scripts are run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mode<'a> {
    /// The preset of a script that names none.
    pub(crate) preset: &'a str,
    /// A packet that the script does not mention is a difference wherever it is. Otherwise it is one if the script
    /// expects another packet later, as in packetdrill.
    pub(crate) strict: bool,
}

/// Runs a script.
pub(crate) fn run(text: &str, mode: Mode<'_>) -> Report {
    let prepared = Script::parse(text).and_then(|script| {
        let settings = Settings::new(&script, mode.preset)?;
        Ok((script, settings))
    });
    match prepared {
        Ok((script, settings)) => Runner::new(&script, settings, mode.strict).run(),
        Err(problem) => Report { outcome: Outcome::NotComparable(problem), compared: 0, skipped: Vec::new() },
    }
}
