//! Properties of a packet that follow from its bytes: its flow, its hosts and its size on a link.

pub(crate) mod classifier;
pub(crate) mod flow_keys;
pub(crate) mod gso;
pub(crate) mod link_layer;
