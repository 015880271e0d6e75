//! Queue disciplines that keep a congested link fair without keeping track of every flow.
//!
//! This crate is deterministic. It reads no clock, draws no global randomness, does no I/O and allocates
//! nothing after warm-up: the time and the seed come from the host, the packets are the host's own. So the
//! queue that was simulated is the queue that is deployed.
//!
//! ```
//! use fairlane_qdisc::{Host, Kind, Qdisc, QdiscConfig, Rate, Seed, SimplePacket, Time};
//!
//! let config = QdiscConfig::new(Kind::Choke).with("limit", "300p")?.with("min", "100p")?.with("max", "200p")?;
//! let host = Host { rate: Rate::from_bits_per_second(1_000_000), seed: Seed::new(1) };
//! let mut queue = config.build(&host)?;
//! queue.enqueue(Time::ZERO, SimplePacket::new(7, 1000), &mut ());
//! assert_eq!(queue.packets(), 1);
//! # Ok::<(), fairlane_qdisc::ParameterError>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod afd;
mod ared;
mod bare;
mod blue;
mod buffer;
mod cake;
mod cbq;
mod choke;
mod cobalt;
mod codel;
mod config;
mod counters;
mod csfq;
mod delay;
mod droptail;
mod drr;
mod dualpi2;
mod fair;
mod fifo;
mod flow_buffer;
mod flow_table;
mod flows;
mod fq_codel;
mod fq_pie;
mod fred;
mod hash;
mod ideal;
mod kinds;
mod link_clock;
mod longest;
mod packet;
mod penalty_box;
mod pi2;
mod pie;
mod rate;
mod recent;
mod red;
mod red_pd;
mod rounds;
mod schedule;
mod seed;
mod sfb;
mod sfq;
mod sfq_red;
mod sfred;
mod signal;
mod sred;
mod tagged;
pub mod units;
mod weight;

pub use afd::Afd;
pub use ared::Ared;
pub use bare::Bare;
pub use blue::Blue;
pub use cake::Cake;
pub use cbq::Cbq;
pub use choke::Choke;
pub use cobalt::Cobalt;
pub use codel::Codel;
pub use config::{
    Domain, Explanation, FlowState, Host, Origin, Parameter, ParameterError, QdiscConfig, Resolved, Value,
};
pub use counters::{Count, Counters, Reason};
pub use csfq::Csfq;
pub use droptail::DropTail;
pub use drr::Drr;
pub use dualpi2::DualPi2;
pub use fair::FairQueue;
pub use fq_codel::FqCodel;
pub use fq_pie::FqPie;
pub use fred::Fred;
pub use ideal::ideal_shares;
pub use kinds::{AnyQdisc, Kind};
pub use link_clock::LinkClock;
pub use packet::{Fate, FlowKey, Packet, SimplePacket};
pub use penalty_box::PenaltyBox;
pub use pi2::Pi2;
pub use pie::Pie;
pub use red::Red;
pub use red_pd::RedPd;
pub use seed::{Seed, Stream};
pub use sfb::Sfb;
pub use sfq::Sfq;
pub use sfq_red::SfqRed;
pub use sfred::Sfred;
pub use sred::Sred;
pub use tagged::Tagged;
pub use units::{Bytes, Duration, Packets, Rate, Size, Time, UnitError};

/// A queue discipline: what the link asks, whatever the algorithm.
///
/// The packet that the link is sending has left the queue. Every packet that enters by
/// [`enqueue`](Self::enqueue) leaves exactly once: by [`dequeue`](Self::dequeue), or through
/// [`Fate::dropped`] with the reason.
pub trait Qdisc<P: Packet> {
    /// Offers a packet at `now`. It may be dropped, and so may packets that were already queued: `fate` hears of each.
    ///
    /// `now` never runs backwards between calls.
    fn enqueue(&mut self, now: Time, packet: P, fate: &mut impl Fate<P>);

    /// The next packet for the link at `now`, or `None`: nothing is queued, or all of it is held back until
    /// [`ready_at`](Self::ready_at). The link is then idle.
    fn dequeue(&mut self, now: Time, fate: &mut impl Fate<P>) -> Option<P>;

    /// Packets queued and alive.
    fn packets(&self) -> usize;

    /// Bytes queued and alive.
    fn bytes(&self) -> u64;

    /// What has happened so far.
    fn counters(&self) -> &Counters;

    /// The average queue that the discipline steers by, in its own unit (packets or bytes); `None` where it keeps none.
    fn average(&self) -> Option<f64> {
        None
    }

    /// The probability with which the discipline signals now, by marking or dropping, 0 to 1; `None` where that is not one
    /// number for all packets.
    ///
    /// It is the law's, before signals are spaced and before what a packet's size or a burst allowance changes: the p_b of RED,
    /// the p_m of BLUE, the p of PIE.
    fn probability(&self) -> Option<f64> {
        None
    }

    /// When to ask again: after [`dequeue`](Self::dequeue) gave `None` although packets wait, the earliest time at which
    /// it may give one. `None` where nothing is held back, which is every discipline but shapers and limiters of rates.
    ///
    /// It holds until the next call that changes the queue: an arrival may be ready at once, so a host that hears of one
    /// asks then too.
    fn ready_at(&self) -> Option<Time> {
        None
    }
}
