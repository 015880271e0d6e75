#![doc = include_str!("../README.md")]
#![no_std]
#![deny(unsafe_code)]
#![cfg_attr(
    not(all(
        feature = "params",
        feature = "red",
        feature = "choke",
        feature = "experimental",
        feature = "blue",
        feature = "accounting",
        feature = "scheduling",
        feature = "delay"
    )),
    allow(dead_code, unused_imports, unused_macros, reason = "some parts are used by the families left out alone")
)]

extern crate alloc;
#[cfg(any(test, feature = "testing"))]
extern crate std;

mod counters;
pub mod discipline;
mod error;
mod flow;
#[cfg(feature = "headers")]
pub mod headers;
mod packet;
#[cfg(feature = "params")]
mod params;
pub mod prefetch;
mod qdisc;
mod queue;
mod rate;
mod seed;
#[cfg(feature = "serde")]
mod serde_units;
mod tcp;
#[cfg(feature = "testing")]
pub mod testing;
pub mod units;

pub use counters::{Count, Counters, Reason};
pub use error::ParameterError;
pub use packet::{DropSink, FlowKey, Packet, SimplePacket};
#[cfg(feature = "params")]
pub use params::{
    AnyConfig, Domain, Explanation, FlowState, Host, Kind, Origin, Parameter, QdiscConfig, QdiscParameters, Resolved,
    Value,
};
pub use qdisc::{BoxQdisc, Fate, Qdisc, Status};
pub use queue::replaceable::ReplaceableQdisc;
pub use queue::tagged::Tagged;
pub use rate::ideal::ideal_shares;
pub use rate::link_clock::LinkClock;
pub use rate::shaper::Shaper;
pub use rate::token_bucket::TokenBucket;
pub use seed::{Seed, Stream};
pub use tcp::{Sack, SackBlocks, TcpHeader};
pub use units::{Bytes, Duration, Packets, Rate, Size, Time, UnitError};
