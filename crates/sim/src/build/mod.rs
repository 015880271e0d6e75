//! From a scenario to the network: links, routes, ports, and which shortcuts are sound where.

pub(crate) mod early;
pub(crate) mod names;
pub(crate) mod packet_sizes;
pub(crate) mod routes;
pub(crate) mod topology;
