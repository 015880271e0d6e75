//! Properties of a packet that follow from its bytes, and its size on a link.

pub(crate) mod classifier;
pub(crate) mod exempt;
pub(crate) mod gso;
pub(crate) mod link_layer;
