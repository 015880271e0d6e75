//! Why a scenario cannot be run.

use std::fmt;

use crate::build::topology::QueueError;
use crate::endpoint::EndpointError;
use crate::schedule::event_key::TARGETS;
use crate::tcp::CongestionFault;

/// The reason why a scenario cannot be run.
#[derive(Debug)]
pub enum Error {
    /// The parameters of a queue contradict each other.
    Queue {
        /// The link's name.
        link: String,
        /// The error in the parameters.
        error: fairlane_qdisc::ParameterError,
    },
    /// The scenario has more links or flows than the simulator can number.
    TooLarge {
        /// The number that the scenario needs.
        wanted: usize,
    },
    /// Not enough memory for the flows and the hosts' links of the scenario.
    NoMemory {
        /// The number of flows.
        flows: usize,
        /// The bytes that they take at least.
        bytes: u64,
    },
    /// A flow's source and destination are the same host: its packets would cross no link.
    NoLink {
        /// The flow group's name.
        group: String,
    },
    /// A flow needs endpoints of a program, and there are none.
    NoEndpoint {
        /// The flow group's name.
        group: String,
        /// The flow's number in the group.
        index: u32,
    },
    /// An endpoint or an application of the program failed.
    Endpoint(EndpointError),
    /// A link or a shaper of rate zero would never send.
    NoRate,
    /// The run cannot start threads.
    Threads {
        /// The reason.
        why: String,
    },
    /// A group of flows asks for a congestion control that neither Fairlane nor the program has.
    UnknownCongestion {
        /// The flow group's name.
        group: String,
        /// The name that it asks for.
        name: &'static str,
        /// The names of those of the program.
        known: Vec<&'static str>,
    },
    /// A group of flows asks for an application that neither Fairlane nor the program has.
    UnknownApplication {
        /// The flow group's name.
        group: String,
        /// The name that it asks for.
        name: &'static str,
        /// The names of those of the program.
        known: Vec<&'static str>,
    },
    /// The program made more or fewer applications than a group has flows.
    Applications {
        /// The flow group's name.
        group: String,
        /// The number of its flows.
        flows: u32,
        /// The number of applications.
        made: usize,
    },
    /// A congestion control of the program made a mistake.
    Congestion(CongestionFault),
    /// The parameters of a shaper's controller contradict each other.
    Shaper {
        /// The link's name.
        link: String,
        /// The error in the parameters.
        error: fairlane_autorate::ConfigError,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Queue { link, error } => write!(f, "the queue of link \"{link}\": {error}"),
            Self::TooLarge { wanted } => {
                write!(
                    f,
                    "the scenario needs {wanted} links and flows, the simulator supports {TARGETS}; use fewer flows"
                )
            }
            Self::NoMemory { flows, bytes } => {
                let each = bytes / (*flows).max(1) as u64;
                write!(
                    f,
                    "no memory for {flows} flows of {each} bytes, {} MB in all; use fewer",
                    bytes.div_ceil(1_000_000)
                )
            }
            Self::NoEndpoint { group, index } => {
                write!(f, "flow \"{group}/{index}\" has no endpoints; a program brings them with run_endpoints")
            }
            Self::Endpoint(error) => error.fmt(f),
            Self::NoRate => f.write_str("a link needs a rate above zero"),
            Self::Threads { why } => write!(f, "cannot start the threads of the run: {why}"),
            Self::Shaper { link, error } => write!(f, "the shaper of link \"{link}\": {error}"),
            Self::UnknownCongestion { group, name, known } => write!(
                f,
                "flows \"{group}\" have the congestion control \"{name}\", which the program has to add with \
                 Control::with_congestion; it has added {}",
                listed(known)
            ),
            Self::UnknownApplication { group, name, known } => write!(
                f,
                "flows \"{group}\" have the source \"{name}\", which the program has to add with \
                 Control::with_application; it has added {}",
                listed(known)
            ),
            Self::Applications { group, flows, made } => {
                write!(f, "flows \"{group}\" need {flows} applications, one each, and the program made {made}")
            }
            Self::Congestion(fault) => fault.fmt(f),
            Self::NoLink { group } => {
                write!(f, "flows \"{group}\" cross no link; give them different ends, or separate hosts with [access]")
            }
        }
    }
}

/// A mistake in the code of the program, which ended a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Of a congestion control.
    Congestion(CongestionFault),
    /// Of an application.
    Application(EndpointError),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Congestion(fault) => fault.fmt(f),
            Self::Application(error) => error.fmt(f),
        }
    }
}

impl Error {
    /// Returns the mistake in the code of the program that this is, or else the error.
    pub(crate) fn fault(self) -> Result<Fault, Self> {
        match self {
            Self::Congestion(fault) => Ok(Fault::Congestion(fault)),
            Self::Endpoint(error) => Ok(Fault::Application(error)),
            error => Err(error),
        }
    }
}

/// Returns names as a list.
fn listed(names: &[&str]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

impl std::error::Error for Error {}

impl From<QueueError> for Error {
    fn from(QueueError { link, error }: QueueError) -> Self {
        Self::Queue { link, error }
    }
}
