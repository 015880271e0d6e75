//! What frames pass through on their way from the sender to the receiver.

use fairlane_linux::{BridgeConfig, DataPath, Report, Router, RouterConfig, WayCounts};
use fairlane_qdisc::{Kind, QdiscConfig, Rate};

use crate::common::bridged::{INSIDE, OUTSIDE, config};

/// Above any flood, so that no frame waits for the link for long.
const RATE: Rate = Rate::from_bits_per_second(100_000_000_000);

/// A program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Program {
    /// The bridge the other way round: frames go from one ring to the other, and nothing else is done.
    Bare,
    /// The bridge with this discipline.
    Bridge(Kind),
}

/// The first is what the others are compared with.
pub(crate) const PROGRAMS: [Program; 4] =
    [Program::Bare, Program::Bridge(Kind::DropTail), Program::Bridge(Kind::Choke), Program::Bridge(Kind::FqCodel)];

impl Program {
    pub(crate) fn name(self) -> String {
        match self {
            Self::Bare => "bare".to_owned(),
            Self::Bridge(kind) => kind.to_string(),
        }
    }

    /// Opens the interfaces: from now on frames wait. With `gso` joined ones are not cut.
    pub(crate) fn open(self, gso: bool) -> Router {
        let (inside, outside, kind) = match self {
            Self::Bare => (OUTSIDE, INSIDE, Kind::DropTail),
            Self::Bridge(kind) => (INSIDE, OUTSIDE, kind),
        };
        let path = DataPath::Bridge(BridgeConfig { inside: inside.to_owned(), outside: outside.to_owned(), gso });
        Router::new(&RouterConfig { path, ..config(discipline(kind), RATE) }).unwrap()
    }

    /// What it counted of the frames from the sender.
    pub(crate) fn counts(self, report: &Report) -> WayCounts {
        assert_eq!(report.counters.dropped_total().packets, 0, "a dropped packet costs less: {report:?}");
        let bridge = report.bridge.unwrap();
        if self == Self::Bare { bridge.back } else { bridge.forth }
    }
}

/// A queue that drops nothing: it has room for the rings many times over.
fn discipline(kind: Kind) -> QdiscConfig {
    let config = QdiscConfig::new(kind);
    match kind {
        Kind::Choke => {
            config.with("limit", "20000p").unwrap().with("min", "5000p").unwrap().with("max", "15000p").unwrap()
        }
        _ => config.with("limit", "20000p").unwrap(),
    }
}
