//! The metadata of each kind of discipline.

use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;
use core::str::FromStr;

use super::suggest::nearest;
use super::{Kind, Parameter, ParameterError};

/// The metadata of a kind, shown by `fairlane qdiscs` and in the documentation.
pub(crate) struct Info {
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

/// The growth of a discipline's state with the number of flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FlowState {
    /// There is no state of any flow.
    None,
    /// A table of a size that the parameters set, however many flows there are.
    Fixed,
    /// State of each flow that has a packet in the queue.
    Queued,
    /// State of each flow that was seen lately, whether it has packets in the queue or not.
    Seen,
}

impl FlowState {
    /// Returns its name in lists: `none`, `fixed`, `queued` or `seen`.
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
    /// Returns the name that a scenario and the command line use, such as `front-choke`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.info().name
    }

    /// Returns its summary, one line.
    #[must_use]
    pub const fn summary(self) -> &'static str {
        self.info().summary
    }

    /// Returns its publication.
    #[must_use]
    pub const fn source(self) -> &'static str {
        self.info().source
    }

    /// Returns the year of its publication, if there is one.
    #[must_use]
    pub const fn year(self) -> Option<u16> {
        self.info().year
    }

    /// Returns the inputs that the discipline needs in addition to the packets themselves.
    #[must_use]
    pub const fn needs(self) -> &'static str {
        self.info().needs
    }

    /// Returns how its state grows with the number of flows.
    #[must_use]
    pub const fn flow_state(self) -> FlowState {
        self.info().flow_state
    }

    /// Tells whether its publication leaves so much open that this is only one reading of it.
    #[must_use]
    pub const fn is_experimental(self) -> bool {
        self.info().experimental
    }

    /// Returns its parameters, in the order of its documentation.
    #[must_use]
    pub const fn parameters(self) -> &'static [Parameter] {
        self.info().parameters
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Linux's names for disciplines that are called otherwise here. The unit of `limit` tells whether a FIFO counts
/// packets, as `pfifo` does, or bytes, as `bfifo` does.
const LINUX: &[(&str, Kind)] = &[("fifo", Kind::DropTail), ("pfifo", Kind::DropTail), ("bfifo", Kind::DropTail)];

impl Kind {
    /// Returns all its names: first [`name`](Self::name), then Linux's spellings of it, such as `fq_codel` and
    /// `fqcodel`, and Linux's own names, such as `pfifo`. Each can be read.
    pub fn names(self) -> impl Iterator<Item = String> {
        let name = self.name();
        let spelt = ["_", ""].map(|dash| name.replace('-', dash)).into_iter().filter(move |_| name.contains('-'));
        let linux = LINUX.iter().filter(move |(_, kind)| *kind == self).map(|(name, _)| name.to_string());
        [name.to_string()].into_iter().chain(spelt).chain(linux)
    }
}

impl FromStr for Kind {
    type Err = ParameterError;

    /// Reads any of its [names](Self::names).
    fn from_str(text: &str) -> Result<Self, ParameterError> {
        let named = |kind: &Self| kind.name() == text || kind.names().any(|name| name == text);
        Self::ALL.into_iter().find(named).ok_or_else(|| {
            let plain = text.to_lowercase().replace('_', "-");
            let all = Self::ALL.into_iter().map(Self::name).chain(LINUX.iter().map(|(name, _)| *name));
            let hint = match nearest(&plain, all) {
                Some(near) => format!("did you mean \"{near}\"?"),
                None => "`fairlane qdiscs` lists them all".to_string(),
            };
            ParameterError::new("kind", format!("there is no queue discipline \"{text}\"; {hint}"))
        })
    }
}
