//! What is known of each kind.

use alloc::format;
use core::fmt;
use core::str::FromStr;

use super::{Kind, Parameter, ParameterError, names, nearest};

/// What is known of a kind: a discipline's file says it, and the list of kinds finds it there.
pub(crate) struct About {
    /// [`Kind::name`].
    pub(crate) name: &'static str,
    /// [`Kind::summary`].
    pub(crate) summary: &'static str,
    /// [`Kind::source`].
    pub(crate) source: &'static str,
    /// [`Kind::year`].
    pub(crate) year: Option<u16>,
    /// [`Kind::needs`].
    pub(crate) needs: &'static str,
    /// [`Kind::flow_state`].
    pub(crate) flow_state: FlowState,
    /// [`Kind::is_experimental`].
    pub(crate) experimental: bool,
    /// [`Kind::parameters`].
    pub(crate) parameters: &'static [Parameter],
}

/// How what a discipline keeps grows with the number of flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FlowState {
    /// Nothing is kept of any flow.
    None,
    /// A table of a size that the parameters set, however many flows there are.
    Fixed,
    /// Something of each flow that has a packet queued.
    Queued,
    /// Something of each flow that was seen lately, queued or not.
    Seen,
}

impl FlowState {
    /// Its name in lists: `none`, `fixed`, `queued` or `seen`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Fixed => "fixed",
            Self::Queued => "queued",
            Self::Seen => "seen",
        }
    }
}

impl fmt::Display for FlowState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Kind {
    /// The name that a scenario and the command line use, such as `front-choke`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.about().name
    }

    /// What it does, in one line.
    #[must_use]
    pub const fn summary(self) -> &'static str {
        self.about().summary
    }

    /// Where it was published.
    #[must_use]
    pub const fn source(self) -> &'static str {
        self.about().source
    }

    /// The year of its publication, if there was one.
    #[must_use]
    pub const fn year(self) -> Option<u16> {
        self.about().year
    }

    /// What it has to know beyond the packets themselves.
    #[must_use]
    pub const fn needs(self) -> &'static str {
        self.about().needs
    }

    /// How what it keeps grows with the number of flows.
    #[must_use]
    pub const fn flow_state(self) -> FlowState {
        self.about().flow_state
    }

    /// Whether its publication leaves so much open that this is one reading of it.
    #[must_use]
    pub const fn is_experimental(self) -> bool {
        self.about().experimental
    }

    /// Its parameters, in the order of its documentation.
    #[must_use]
    pub const fn parameters(self) -> &'static [Parameter] {
        self.about().parameters
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Kind {
    type Err = ParameterError;
    fn from_str(text: &str) -> Result<Self, ParameterError> {
        Self::ALL.into_iter().find(|kind| kind.name() == text).ok_or_else(|| {
            let all = || Self::ALL.into_iter().map(Self::name);
            let hint =
                nearest(text, all()).map_or(alloc::string::String::new(), |near| format!("did you mean \"{near}\"? "));
            let message = format!("there is no queue discipline \"{text}\": {hint}there are {}", names(all()));
            ParameterError::new("kind", message)
        })
    }
}
