//! What to run: the scenario file, its units, its validation and its sweeps.
#![forbid(unsafe_code)]

mod model;

pub use fairlane_qdisc::{Bytes, Duration, Kind, Packets, QdiscConfig, Rate, Size, Value};
pub use model::{Access, Congestion, FlowGroup, Hop, Link, LinkSide, Scenario, Tcp, Traffic, Udp};
