//! WebRTC video by str0m in Fairlane's simulator.
//!
//! Both hosts are str0m as it is: ICE, DTLS, SRTP, retransmissions, pacing and bandwidth estimation. Only their clock,
//! their network and the encoder are simulated. The encoder gives frames at the rate that the estimate allows.
#![forbid(unsafe_code)]

mod dtls;
mod encoder;
mod host;
mod report;
mod srtp;

use std::error::Error;
use std::time::Instant;

use fairlane_qdisc::{Duration, Rate, Seed};
use fairlane_sim::endpoint::Pair;

use encoder::Encoder;
use host::{Host, Media};
pub use report::{Ended, Frame, Report};

/// The parameters of a video call, which sends in one direction.
///
/// A run is repeatable, datagram by datagram. Keys and certificates are drawn by the system and signatures of ECDSA
/// vary in size, so each datagram of the DTLS handshake has the size of the largest one on the wire, 1178 bytes with
/// its headers. All other random numbers come from the seed, through the generator of the crate `fastrand`, which is
/// that of the thread: others find it as they left it.
#[derive(Clone, Debug)]
pub struct Video {
    /// The rate with which the encoder and the estimate begin; 1 Mbit/s by default.
    pub first: Rate,
    /// The lowest rate of the encoder, regardless of the estimate; 100 kbit/s by default.
    pub least: Rate,
    /// The highest rate of the encoder; 5 Mbit/s by default. Probes look for a little more.
    pub most: Rate,
    /// The time between two frames, from 1 ms to 1 s; 33.333 ms by default, which is 30 frames a second.
    pub interval: Duration,
}

impl Default for Video {
    fn default() -> Self {
        Self {
            first: Rate::from_bits_per_second(1_000_000),
            least: Rate::from_bits_per_second(100_000),
            most: Rate::from_bits_per_second(5_000_000),
            interval: Duration::from_nanos(33_333_333),
        }
    }
}

impl Video {
    /// Returns the hosts of a flow and its report: the source sends video to the sink as soon as they have connected.
    /// `seed` is for str0m's random numbers.
    ///
    /// # Errors
    /// A rate is 0 or they are not in order, the interval is out of its range, or str0m refuses the session.
    pub fn call(&self, seed: Seed) -> Result<(Pair, Report), Box<dyn Error + Send + Sync>> {
        let Self { first, least, most, interval } = self;
        if least.bits_per_second() == 0 || first < least || most < first {
            return Err("the rates must be above 0 and in order: `least`, `first`, `most`".into());
        }
        if !(Duration::from_millis(1)..=Duration::from_millis(1000)).contains(interval) {
            return Err("the interval of frames must be from 1 ms to 1 s".into());
        }
        #[allow(
            clippy::disallowed_methods,
            reason = "str0m tells the time by an `Instant`, and only differences matter"
        )]
        let start = Instant::now();
        let report = Report::default();
        let (source, sink) = host::connect(self, start, seed)?;
        let encoder = Encoder::new(self);
        let pair = Pair::new(
            Host::new(start, source, Media::Encoder(encoder), report.clone()),
            Host::new(start, sink, Media::Player, report.clone()),
        );
        Ok((pair, report))
    }
}
