//! The programs that frames pass on their way from the sender to the receiver.

use fairlane_linux::{BridgeConfig, BridgeDirections, DataPath, DirectionCounts, Exempt, Report, Router, RouterConfig};
use fairlane_qdisc::{Kind, QdiscParameters, Rate};

use crate::common::bridged::{INSIDE, OUTSIDE, config};

/// A rate above any flood, so that no frame waits long for the link.
const RATE: Rate = Rate::from_bits_per_second(100_000_000_000);

/// A program under measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Program {
    /// The bridge in the reverse direction: frames go from one ring to the other without a discipline.
    Bare,
    /// The bridge with this discipline.
    Bridge(Kind),
}

/// All programs. The others are compared with the first.
pub(crate) const PROGRAMS: [Program; 4] =
    [Program::Bare, Program::Bridge(Kind::DropTail), Program::Bridge(Kind::Choke), Program::Bridge(Kind::FqCodel)];

impl Program {
    pub(crate) fn name(self) -> String {
        match self {
            Self::Bare => "bare".to_owned(),
            Self::Bridge(kind) => kind.to_string(),
        }
    }

    /// Opens the interfaces. From now on frames wait. With `gso`, GSO frames are not segmented.
    pub(crate) fn open(self, gso: bool) -> Router {
        let (inside, outside, kind) = match self {
            Self::Bare => (OUTSIDE, INSIDE, Kind::DropTail),
            Self::Bridge(kind) => (INSIDE, OUTSIDE, kind),
        };
        let path = DataPath::Bridge(BridgeConfig {
            inside: inside.to_owned(),
            outside: outside.to_owned(),
            gso,
            directions: BridgeDirections::Both,
            exempt: Exempt::default(),
        });
        Router::new(&RouterConfig { path, ..config(&discipline(kind), RATE) }).unwrap()
    }

    /// Returns the counts of frames from the sender.
    pub(crate) fn counts(self, report: &Report) -> DirectionCounts {
        assert_eq!(report.counters.dropped_total().packets, 0, "a dropped packet costs less: {report:?}");
        let bridge = report.bridge.unwrap();
        if self == Self::Bare { bridge.reverse } else { bridge.forward }
    }
}

/// Returns a queue that drops nothing: it has room for many times the rings.
fn discipline(kind: Kind) -> QdiscParameters {
    let config = QdiscParameters::new(kind);
    match kind {
        Kind::Choke => {
            config.with("limit", "20000p").unwrap().with("min", "5000p").unwrap().with("max", "15000p").unwrap()
        }
        _ => config.with("limit", "20000p").unwrap(),
    }
}
