//! The packets that arrive soon, for [prefetching](crate::network::prefetch) what they need.

use crate::packet::Packet;

/// The number of packets ahead at which the data of a packet are prefetched, if the address is known by then. The data
/// of so many packets must fit the smallest cache.
pub(crate) const FAR: usize = 24;

/// The number of packets ahead at which the targets of a flow's pointers are prefetched. By then the flow itself has
/// been loaded.
pub(crate) const NEAR: usize = 8;

/// Packets in the order of their arrival.
pub(crate) trait Upcoming {
    /// Calls `each` once with each packet, about [`FAR`] packets before its arrival.
    fn announce(&mut self, each: &mut dyn FnMut(&Packet));

    /// Returns the packet that arrives after [`NEAR`] others; `None` if there is none or its place is not known.
    fn near(&self) -> Option<&Packet>;
}
