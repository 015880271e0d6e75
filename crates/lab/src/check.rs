//! The checks of a measurement and their results.

use std::borrow::Cow;
use std::fmt;

/// The checks that a measurement must pass, and their results.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checks(Vec<Check>);

/// One check and its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// The subject of the check.
    pub what: Cow<'static, str>,
    /// The value found.
    pub found: String,
    /// The value required.
    pub needed: String,
    /// `true` if the check passed.
    pub holds: bool,
}

impl Checks {
    /// Returns all checks, in the order of a packet's path.
    #[must_use]
    pub fn all(&self) -> &[Check] {
        &self.0
    }

    /// Returns `true` if all checks passed.
    #[must_use]
    pub fn hold(&self) -> bool {
        self.0.iter().all(|check| check.holds)
    }

    /// Describes the checks that failed.
    #[must_use]
    pub fn failed(&self) -> String {
        self.0.iter().filter(|check| !check.holds).map(Check::to_string).collect::<Vec<_>>().join("; ")
    }

    pub(crate) fn add(&mut self, what: &'static str, holds: bool, found: impl fmt::Display, needed: impl fmt::Display) {
        self.0.push(Check { what: Cow::Borrowed(what), found: found.to_string(), needed: needed.to_string(), holds });
    }

    /// Adds a check that `found` is 0.
    pub(crate) fn add_zero(&mut self, what: &'static str, found: u64) {
        self.add(what, found == 0, found, "none");
    }
}

impl FromIterator<Check> for Checks {
    fn from_iter<T: IntoIterator<Item = Check>>(checks: T) -> Self {
        Self(checks.into_iter().collect())
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, found, needed, .. } = self;
        write!(f, "{what}: {found} (needed: {needed})")
    }
}
