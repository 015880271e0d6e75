//! Routes as sequences of links.

/// The starts of a flow's two routes in the table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Routes {
    pub(crate) forward: u32,
    pub(crate) back: u32,
}

/// A step of a route: a link, or the end, where the packet has reached its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step(u32);

impl Step {
    pub(crate) const END: Self = Self(u32::MAX);

    /// Set for a plain link between a node and a host. Each host has one flow and its own link.
    const PLAIN_HOST_LINK: u32 = 1 << 31;

    /// Returns the step over `link`.
    pub(crate) const fn new(link: u32, plain_host_link: bool) -> Self {
        Self(if plain_host_link { link | Self::PLAIN_HOST_LINK } else { link })
    }

    /// Returns the link; `None` at the end of the route.
    #[inline]
    pub(crate) fn link(self) -> Option<u32> {
        (self != Self::END).then_some(self.0 & !Self::PLAIN_HOST_LINK)
    }

    /// Returns the link if it is a plain one between a node and a host.
    #[inline]
    pub(crate) fn plain_host_link(self) -> Option<u32> {
        self.link().filter(|_| self.0 & Self::PLAIN_HOST_LINK != 0)
    }
}
