//! The description of packets for disciplines.

use crate::flow::FlowKeys;
use crate::link::LinkLayer;

/// Determines a packet's flow, its hosts and its size on the link.
#[derive(Clone)]
pub(crate) struct Classifier {
    /// Hashes flows and hosts.
    pub(crate) keys: FlowKeys,
    /// Calculates the size on the link.
    pub(crate) layer: LinkLayer,
}
