//! CAKE's tins: their code points, their shares of the rate and their turns, as tc-cake(8) and sch_cake.

/// The tins to which packets go by the code point of their traffic class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Diffserv {
    /// Bulk (CS1, LE), best effort and voice (CS6, CS7, EF, VA, TOS4).
    #[default]
    Diffserv3,
    /// One tin for all packets.
    BestEffort,
    /// Bulk (CS1, LE), best effort, video (CS2, CS3, AF2x, AF3x, AF4x, TOS4) and voice (CS4 to CS7, EF, VA).
    Diffserv4,
    /// Background (LE), high throughput (CS1, AF1x, TOS2), best effort, streaming (CS3, AF3x, AF4x), transactions
    /// (AF2x, TOS4), interactive (CS2), low latency (CS4, CS5, EF, VA) and network control (CS6, CS7).
    Diffserv8,
    /// One for each precedence, the three upper bits of the byte (RFC 791).
    Precedence,
}

/// A part of the rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Half of it, so many times.
    Halved(u32),
    /// Seven eighths of it, so many times.
    Eighths(u32),
}

impl Part {
    /// Returns this part of `rate`, rounded down each time.
    pub(super) fn of(self, rate: u64) -> u64 {
        match self {
            Self::Halved(times) => rate >> times,
            Self::Eighths(times) => (0..times).fold(rate, |rate, _| rate - rate.div_ceil(8)),
        }
    }
}

/// A tin's share: of the rate where packets are held back, else of the turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TinShare {
    pub(super) name: &'static str,
    /// The part of the rate up to which the tin is served first.
    pub(super) part: Part,
    /// The bytes of a turn.
    pub(super) quantum: u16,
}

const fn tin(name: &'static str, part: Part, quantum: u16) -> TinShare {
    TinShare { name, part, quantum }
}

// A later tin takes precedence while it is within its share of the rate.
const BESTEFFORT: &[TinShare] = &[tin("best effort", Part::Halved(0), 65_535)];
const DIFFSERV3: &[TinShare] =
    &[tin("best effort", Part::Halved(0), 1024), tin("bulk", Part::Halved(4), 64), tin("voice", Part::Halved(2), 256)];
const DIFFSERV4: &[TinShare] = &[
    tin("best effort", Part::Halved(0), 1024),
    tin("bulk", Part::Halved(4), 64),
    tin("video", Part::Halved(1), 512),
    tin("voice", Part::Halved(2), 256),
];
/// Each quantum is seven eighths of the one before, rounded down.
const DIFFSERV8: &[TinShare] = &[
    tin("background", Part::Eighths(0), 256),
    tin("high throughput", Part::Eighths(1), 224),
    tin("best effort", Part::Eighths(2), 196),
    tin("streaming", Part::Eighths(3), 171),
    tin("transactions", Part::Eighths(4), 149),
    tin("interactive", Part::Eighths(5), 130),
    tin("low latency", Part::Eighths(6), 113),
    tin("network control", Part::Eighths(7), 98),
];
const PRECEDENCE: &[TinShare] = &[
    tin("precedence 0", Part::Eighths(0), 256),
    tin("precedence 1", Part::Eighths(1), 224),
    tin("precedence 2", Part::Eighths(2), 196),
    tin("precedence 3", Part::Eighths(3), 171),
    tin("precedence 4", Part::Eighths(4), 149),
    tin("precedence 5", Part::Eighths(5), 130),
    tin("precedence 6", Part::Eighths(6), 113),
    tin("precedence 7", Part::Eighths(7), 98),
];

impl Diffserv {
    /// Returns the tins.
    pub(super) const fn tins(self) -> &'static [TinShare] {
        match self {
            Self::BestEffort => BESTEFFORT,
            Self::Diffserv3 => DIFFSERV3,
            Self::Diffserv4 => DIFFSERV4,
            Self::Diffserv8 => DIFFSERV8,
            Self::Precedence => PRECEDENCE,
        }
    }

    /// Returns the number of the tin of the traffic class `class`.
    pub(super) const fn tin_of(self, class: u8) -> usize {
        let code_point = class >> 2;
        match self {
            Self::BestEffort => 0,
            Self::Diffserv3 => match code_point {
                LE | CS1 => 1,
                TOS4 | VA | EF | CS6 | CS7 => 2,
                _ => 0,
            },
            Self::Diffserv4 => match code_point {
                LE | CS1 => 1,
                TOS4 | CS2 | AF21 | AF22 | AF23 | CS3 | AF31 | AF32 | AF33 | AF41 | AF42 | AF43 => 2,
                CS4 | CS5 | VA | EF | CS6 | CS7 => 3,
                _ => 0,
            },
            Self::Diffserv8 => match code_point {
                LE => 0,
                TOS2 | CS1 | AF11 | AF12 | AF13 => 1,
                CS3 | AF31 | AF32 | AF33 | AF41 | AF42 | AF43 => 3,
                TOS4 | AF21 | AF22 | AF23 => 4,
                CS2 => 5,
                CS4 | CS5 | VA | EF => 6,
                CS6 | CS7 => 7,
                _ => 2,
            },
            Self::Precedence => (code_point >> 3) as usize,
        }
    }
}

/// Lower effort (RFC 8622).
const LE: u8 = 1;
/// Maximum throughput, the fourth bit of the old TOS (RFC 1349).
const TOS2: u8 = 2;
/// Minimum delay, the fifth bit of the old TOS (RFC 1349).
const TOS4: u8 = 4;
/// Admitted voice (RFC 5865).
const VA: u8 = 44;
/// Expedited forwarding (RFC 3246).
const EF: u8 = 46;
// Class selectors (RFC 2474).
const CS1: u8 = 8;
const CS2: u8 = 16;
const CS3: u8 = 24;
const CS4: u8 = 32;
const CS5: u8 = 40;
const CS6: u8 = 48;
const CS7: u8 = 56;
// Assured forwarding (RFC 2597).
const AF11: u8 = 10;
const AF12: u8 = 12;
const AF13: u8 = 14;
const AF21: u8 = 18;
const AF22: u8 = 20;
const AF23: u8 = 22;
const AF31: u8 = 26;
const AF32: u8 = 28;
const AF33: u8 = 30;
const AF41: u8 = 34;
const AF42: u8 = 36;
const AF43: u8 = 38;
