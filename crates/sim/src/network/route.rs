//! Routes as sequences of links.

use crate::schedule::Line;

/// The starts of a flow's two routes in the table.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Routes {
    pub(crate) forward: u32,
    pub(crate) back: u32,
}

/// A step of a route: a link, or the end, where the packet has reached its host.
///
/// The flows of a group have the same steps, since the numbers of their hosts' links rise with those of the flows: so
/// the table of all routes is small, and stays in the caches.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    /// The number of the link of flow 0, modulo 2^32, as if that belonged to the group.
    base: u32,
    /// The distance between the links of successive flows; 0 for a link between nodes.
    stride: u32,
    /// The line of packets that have crossed the link; [`Line::NONE`] where they go on over a droptail link of a
    /// host.
    pub(crate) line: Line,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Link,
    /// A droptail link between a node and a host. Each host has one flow and its own link.
    DroptailHostLink,
    /// Such a link to a host that takes packets [early](crate::flow::hosts).
    Early,
    End,
}

impl Step {
    pub(crate) const END: Self = Self { base: 0, stride: 0, line: Line::NONE, kind: Kind::End };

    /// Returns the step over a link between nodes.
    pub(crate) const fn between_nodes(link: u32) -> Self {
        Self { base: link, stride: 0, line: Line::NONE, kind: Kind::Link }
    }

    /// Returns the step over the link of a host, for `flow` and those after it, whose links are `stride` apart.
    pub(crate) const fn of_host(link: u32, flow: u32, stride: u32, droptail: bool) -> Self {
        let kind = if droptail { Kind::DroptailHostLink } else { Kind::Link };
        Self { base: link.wrapping_sub(flow.wrapping_mul(stride)), stride, line: Line::NONE, kind }
    }

    /// Returns the link of `flow`; `None` at the end of the route.
    #[inline]
    pub(crate) fn link(&self, flow: u32) -> Option<u32> {
        (!self.is_end()).then(|| self.number(flow))
    }

    /// Returns the link of `flow` if it is a droptail one between a node and a host.
    #[inline]
    pub(crate) fn droptail_host_link(&self, flow: u32) -> Option<u32> {
        self.is_droptail_host_link().then(|| self.number(flow))
    }

    /// Returns true where the packet has reached its host.
    #[inline]
    pub(crate) fn is_end(&self) -> bool {
        self.kind == Kind::End
    }

    /// Returns true for a droptail link between a node and a host.
    #[inline]
    pub(crate) const fn is_droptail_host_link(&self) -> bool {
        matches!(self.kind, Kind::DroptailHostLink | Kind::Early)
    }

    /// Returns true for a droptail link to a host that takes packets [early](crate::flow::hosts).
    #[inline]
    pub(crate) fn is_early(&self) -> bool {
        self.kind == Kind::Early
    }

    /// Lets the host behind this droptail link take packets early.
    pub(crate) const fn set_early(&mut self) {
        self.kind = Kind::Early;
    }

    /// Lets the host behind this droptail link take packets in event order.
    pub(crate) const fn set_in_order(&mut self) {
        self.kind = Kind::DroptailHostLink;
    }

    #[inline]
    const fn number(&self, flow: u32) -> u32 {
        self.base.wrapping_add(flow.wrapping_mul(self.stride))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Would catch a flow that gets the link of another one, and numbers that overflow.
    #[test]
    fn each_flow_has_its_own_links() {
        let step = Step::of_host(10, 7, 4, true);
        assert_eq!([7, 8, 100].map(|flow| step.droptail_host_link(flow)), [Some(10), Some(14), Some(10 + 93 * 4)]);
        let step = Step::of_host(3, 1_000_000_000, 4, false);
        assert_eq!((step.link(1_000_000_001), step.droptail_host_link(1_000_000_001)), (Some(7), None));
        assert_eq!((Step::between_nodes(5).link(9), Step::END.link(9)), (Some(5), None));
    }
}
