//! Congestion control: how the window grows, how far congestion reduces it, and when pacing allows the next segment. It
//! is independent of [loss recovery](super::recovery).
//!
//! Plain Reno needs no state but the window. Other algorithms are behind one pointer, in a [`Regulator`], so that a
//! million Reno senders stay small.

mod aggregation;
mod bbr;
mod bbr3;
mod classic_ecn;
mod cubic;
mod cubic_in_linux;
mod dctcp;
mod delivery;
mod guarded;
mod hystart;
mod hystart_plus_plus;
mod interface;
mod ledbat;
mod pacer;
mod policer;
mod prague;
mod recent_max;
mod regulator;
pub(super) mod reno;
mod vegas;

use fairlane_scenario::{Congestion, Tcp};

pub use self::delivery::{DeliveryRate, FlightSample, RateSample};
pub use self::guarded::CongestionFault;
pub(crate) use self::guarded::{Calls, FlowAlgorithm, Maker};
pub use self::interface::{
    AckSample, CongestionControl, CongestionEvent, CongestionSignal, LossState, OwnConnection, WindowSize,
};
pub(super) use self::regulator::Regulator;

use self::bbr::Bbr;
use self::bbr3::Bbr3;
use self::cubic::Cubic;
use self::cubic_in_linux::LinuxCubic;
use self::dctcp::Dctcp;
use self::ledbat::Ledbat;
use self::prague::Prague;
use self::reno::Reno;
use self::vegas::Vegas;

/// Returns the algorithm of `tcp`, for one of the program Reno. `phase` differs between senders.
fn built_in(tcp: &Tcp, phase: u64) -> Box<dyn CongestionControl> {
    match tcp.congestion {
        Congestion::Tahoe | Congestion::Reno | Congestion::NewReno | Congestion::Sack | Congestion::Own(_) => {
            Box::new(Reno)
        }
        Congestion::Vegas => Box::new(Vegas::new(tcp)),
        Congestion::Cubic if tcp.as_linux => Box::new(LinuxCubic::default()),
        Congestion::Cubic => Box::new(Cubic::default()),
        Congestion::Dctcp => Box::new(Dctcp::new()),
        Congestion::Bbr => Box::new(Bbr::new(tcp.initial_window, phase)),
        Congestion::Bbr3 => Box::new(Bbr3::new(tcp.initial_window, phase)),
        Congestion::Ledbat => Box::new(Ledbat::new(tcp.ledbat)),
        Congestion::Prague => Box::new(Prague::new(tcp.delayed_ack.is_some())),
    }
}

/// Returns true if the algorithm is [Reno].
const fn is_plain(congestion: Congestion) -> bool {
    matches!(
        congestion,
        Congestion::Tahoe | Congestion::Reno | Congestion::NewReno | Congestion::Sack | Congestion::Own(_)
    )
}

/// Returns the threshold after congestion in a window of `segments` that are all in use, for tests.
#[cfg(test)]
fn reduced(algorithm: &mut impl CongestionControl, segments: f64, signal: CongestionSignal) -> f64 {
    let window = WindowSize { cwnd: segments, ssthresh: segments };
    algorithm.on_congestion(&window, &CongestionEvent { now: fairlane_qdisc::Time::ZERO, signal, segments })
}
