//! The disciplines and transports that a program brings to a run.

use std::fmt;

use fairlane_qdisc::{BoxQdisc, Host, Seed};

use crate::build::topology::CustomQdiscs;
use crate::endpoint::Pair;
use crate::packet::Packet;

/// Returns the endpoints of the caller for the flow with this group and number, with a seed.
pub(crate) type CustomEndpoints<'c> = dyn FnMut(&str, u32, Seed) -> Option<Pair> + 'c;

/// The parts of a run that the caller brings, by default none: disciplines and transports. Its congestion controls
/// and applications are in a [`Control`](crate::Control).
///
/// ```
/// use fairlane_scenario::Document;
/// use fairlane_sim::{Brought, Control, run_brought};
///
/// let mut document = Document::builtin();
/// document.set("duration", "2s")?;
/// document.set("warmup", "1s")?;
/// let mut links = Vec::new();
/// let brought = Brought::default().with_disciplines(|link, _host| {
///     links.push(link.to_owned());
///     None
/// });
/// run_brought(&document.scenario()?, 0, &Control::default(), &mut (), brought)?;
/// assert!(links.contains(&"bottleneck".to_owned()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Default)]
pub struct Brought<'c> {
    pub(crate) qdiscs: Option<Box<CustomQdiscs<'c>>>,
    pub(crate) endpoints: Option<Box<CustomEndpoints<'c>>>,
}

impl<'c> Brought<'c> {
    /// Adds disciplines, which `custom` returns as for [`run_with`](crate::run_with).
    #[must_use]
    pub fn with_disciplines(
        mut self,
        custom: impl FnMut(&str, &Host) -> Option<(&'static str, BoxQdisc<Packet>)> + 'c,
    ) -> Self {
        self.qdiscs = Some(Box::new(custom));
        self
    }

    /// Adds transports, whose endpoints `endpoints` returns as for [`run_endpoints`](crate::run_endpoints).
    #[must_use]
    pub fn with_endpoints(mut self, endpoints: impl FnMut(&str, u32, Seed) -> Option<Pair> + 'c) -> Self {
        self.endpoints = Some(Box::new(endpoints));
        self
    }
}

impl fmt::Debug for Brought<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Brought")
            .field("disciplines", &self.qdiscs.is_some())
            .field("endpoints", &self.endpoints.is_some())
            .finish()
    }
}
