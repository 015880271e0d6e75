//! The weights of flows, for disciplines that share a link in proportion.

use crate::config::{Domain, Origin, Parameter, ParameterError, Resolver, parameter};

/// The largest weight.
pub(crate) const MAX_WEIGHT: u32 = 8;

/// The parameter.
pub(crate) const WEIGHTS: Parameter = parameter(
    "weights",
    Domain::Choice(&["equal", "precedence"]),
    "equal",
    "a flow's share against others: all alike, or 1 to 8, one more than the precedence (RFC 791), the three high bits of \
     the traffic class",
);

/// Who has which weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weights {
    /// Everybody has 1.
    Equal,
    /// One more than the precedence.
    Precedence,
}

impl Weights {
    /// What was given for [`WEIGHTS`].
    pub(crate) fn resolve(r: &mut Resolver<'_>) -> Result<Self, ParameterError> {
        Ok(match r.take("weights", Origin::Default("each flow the same"), "equal")? {
            "precedence" => Self::Precedence,
            _ => Self::Equal,
        })
    }

    /// The weight of a packet of `class`: 1 to [`MAX_WEIGHT`].
    pub(crate) const fn of(self, class: u8) -> u32 {
        match self {
            Self::Equal => 1,
            Self::Precedence => 1 + (class >> 5) as u32,
        }
    }
}
