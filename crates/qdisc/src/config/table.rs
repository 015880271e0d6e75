//! Every parameter of every kind, declared once: reading, errors, `explain` and the documentation come from here.

use alloc::format;
use alloc::string::{String, ToString};

use super::{Kind, ParameterError, Value, nearest};
use crate::buffer::MAX_PACKETS;
use crate::choke::MAX_HITS;
use crate::{Bytes, Duration, Packets, Rate, Size};

/// What a parameter's value can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Domain {
    /// Packets or bytes, such as `100p` or `150kb`: at most 16777216p or 2^40 bytes.
    Size,
    /// Bytes, such as `1000b`: 1b to 16mb.
    Bytes,
    /// Packets, such as `138p`: at most 16777216p.
    Packets,
    /// A rate above 0, such as `10mbit`.
    Rate,
    /// A time above 0, such as `5ms`.
    Duration,
    /// A plain whole number.
    Count {
        /// The least.
        min: u32,
        /// The most.
        max: u32,
        /// Whether `infinite` may be said.
        infinite: bool,
    },
    /// A plain number above 0 and at most 1.
    Ratio,
    /// `true` or `false`.
    Switch,
    /// One of these words.
    Choice(&'static [&'static str]),
}

/// One parameter of a discipline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Parameter {
    /// Its key, tc(8)'s word where tc has one.
    pub key: &'static str,
    /// What its value can be.
    pub domain: Domain,
    /// Its default, or the rule that gives it.
    pub default: &'static str,
    /// What it means.
    pub meaning: &'static str,
    /// What others call it: ns-2, ns-3, the papers. They are understood in error messages only.
    pub elsewhere: &'static [&'static str],
}

/// A value that was read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Parsed {
    Size(Size),
    Bytes(Bytes),
    Packets(Packets),
    Rate(Rate),
    Duration(Duration),
    /// `u32::MAX` is infinite.
    Count(u32),
    Ratio(f64),
    Switch(bool),
    Choice(&'static str),
}

/// The largest size in bytes.
const MAX_BYTES: u64 = 1 << 40;

/// The largest mean packet.
const MAX_PACKET: u64 = 1 << 24;

impl Domain {
    /// What can be written, in a few words with the range, such as `whole number, 1..64`.
    #[must_use]
    pub fn describe(self) -> String {
        match self {
            Self::Size => "packets or bytes".to_string(),
            Self::Bytes => "bytes, from 1b".to_string(),
            Self::Packets => "packets".to_string(),
            Self::Rate => "rate, above 0".to_string(),
            Self::Duration => "time, above 0".to_string(),
            Self::Count { min, max, infinite: false } => format!("whole number, {min}..{max}"),
            Self::Count { min, max, infinite: true } => format!("whole number, {min}..{max}, or `infinite`"),
            Self::Ratio => "number, above 0, at most 1".to_string(),
            Self::Switch => "`true` or `false`".to_string(),
            Self::Choice(names) => {
                names.iter().map(|name| format!("`{name}`")).collect::<alloc::vec::Vec<_>>().join(", ")
            }
        }
    }

    /// What to write where the bare number `number` was given.
    fn with_unit(self, number: &str) -> Option<String> {
        match self {
            Self::Size => Some(format!("\"{number}p\" for packets or \"{number}kb\" for kilobytes")),
            Self::Bytes => Some(format!("\"{number}b\"")),
            Self::Packets => Some(format!("\"{number}p\"")),
            Self::Rate => Some(format!("\"{number}mbit\" or \"{number}kbit\"")),
            Self::Duration => Some(format!("\"{number}ms\" or \"{number}s\"")),
            _ => None,
        }
    }
}

impl Parameter {
    /// Reads `value`, whatever form it has.
    pub(super) fn read(&self, value: &Value) -> Result<Parsed, ParameterError> {
        let text = value.to_string();
        let text = text.trim();
        let wrong = |message: String| ParameterError::new(self.key, message);
        if text.starts_with(|c: char| c.is_ascii_digit())
            && text.parse::<f64>().is_ok()
            && let Some(write) = self.domain.with_unit(text)
        {
            return Err(wrong(format!("a bare number has no unit: write {write} instead of {text}")));
        }
        let parsed = match self.domain {
            Domain::Size => Parsed::Size(text.parse().map_err(|e| wrong(format!("{e}")))?),
            Domain::Bytes => Parsed::Bytes(text.parse().map_err(|e| wrong(format!("{e}")))?),
            Domain::Packets => Parsed::Packets(text.parse().map_err(|e| wrong(format!("{e}")))?),
            Domain::Rate => Parsed::Rate(text.parse().map_err(|e| wrong(format!("{e}")))?),
            Domain::Duration => Parsed::Duration(text.parse().map_err(|e| wrong(format!("{e}")))?),
            Domain::Count { min, max, infinite } => Parsed::Count(self.read_count(text, min, max, infinite)?),
            Domain::Ratio => match text.parse::<f64>() {
                Ok(ratio) if ratio > 0.0 && ratio <= 1.0 => Parsed::Ratio(ratio),
                _ => return Err(self.unlike(text, "0.02")),
            },
            Domain::Switch => Parsed::Switch(text.parse().map_err(|_| self.unlike(text, "true"))?),
            Domain::Choice(names) => match names.iter().find(|name| **name == text) {
                Some(name) => Parsed::Choice(name),
                None => return Err(self.unlike(text, nearest(text, names.iter().copied()).unwrap_or(names[0]))),
            },
        };
        self.check_range(parsed)?;
        Ok(parsed)
    }

    fn read_count(&self, text: &str, min: u32, max: u32, infinite: bool) -> Result<u32, ParameterError> {
        if infinite && text == "infinite" {
            return Ok(u32::MAX);
        }
        match text.parse::<u32>() {
            Ok(count) if (min..=max).contains(&count) => Ok(count),
            _ => Err(self.unlike(text, &min.max(1).to_string())),
        }
    }

    fn unlike(&self, text: &str, example: &str) -> ParameterError {
        let message = format!("it cannot be \"{text}\": it is {}; write for example {example}", self.domain.describe());
        ParameterError::new(self.key, message)
    }

    /// Whether a value with a unit is within its range.
    fn check_range(&self, parsed: Parsed) -> Result<(), ParameterError> {
        let problem = match parsed {
            Parsed::Size(Size::Packets(packets)) | Parsed::Packets(packets) if packets.get() > MAX_PACKETS => {
                format!("{packets} is more than any queue holds; the most is {MAX_PACKETS}p")
            }
            Parsed::Size(Size::Bytes(bytes)) if bytes.get() > MAX_BYTES => {
                format!("{bytes} is more than any queue holds; the most is {MAX_BYTES}b")
            }
            Parsed::Bytes(bytes) if bytes.get() == 0 || bytes.get() > MAX_PACKET => {
                format!("{bytes} is no packet; it is 1b to {MAX_PACKET}b")
            }
            Parsed::Rate(rate) if rate.bits_per_second() == 0 => "a link of no rate carries nothing".to_string(),
            Parsed::Duration(time) if time == Duration::ZERO => "no time is too short".to_string(),
            _ => return Ok(()),
        };
        Err(ParameterError::new(self.key, problem))
    }
}

const fn parameter(key: &'static str, domain: Domain, default: &'static str, meaning: &'static str) -> Parameter {
    Parameter { key, domain, default, meaning, elsewhere: &[] }
}

impl Parameter {
    const fn elsewhere(mut self, names: &'static [&'static str]) -> Self {
        self.elsewhere = names;
        self
    }
}

const LIMIT: Parameter =
    parameter("limit", Domain::Size, "300p, the buffer of the CHOKe paper", "hard limit of the queue")
        .elsewhere(&["limit_", "buffer", "b", "MaxSize", "qlim", "max_size"]);
const MIN: Parameter = parameter(
    "min",
    Domain::Size,
    "max / 3, as tc(8)",
    "average below which no packet is signalled and, in the CHOKe family, none compared",
)
.elsewhere(&["min_th", "minth", "thresh_", "MinTh", "thresh"]);
const MAX: Parameter =
    parameter("max", Domain::Size, "limit / 4, as tc(8)", "average from which every packet is signalled").elsewhere(&[
        "max_th",
        "maxth",
        "maxthresh_",
        "MaxTh",
        "maxthresh",
    ]);
const PROBABILITY: Parameter = parameter(
    "probability",
    Domain::Ratio,
    "0.1, as ns-2; 0.02, as tc(8), when neither `min` nor `max` is given",
    "base probability of a signal as the average reaches `max` (max_p)",
)
.elsewhere(&["max_p", "maxp", "linterm_", "LInterm"]);
const WEIGHT: Parameter = parameter(
    "weight",
    Domain::Ratio,
    "0.002, as ns-2; from `burst` when that is given, or when neither `min` nor `max` is",
    "weight of a sample in the average (w_q)",
)
.elsewhere(&["w_q", "wq", "w", "q_weight_", "QW", "q_weight"]);
const BURST: Parameter = parameter(
    "burst",
    Domain::Packets,
    "(2 min + max) / 3 packets, as tc(8), when neither `min` nor `max` nor `weight` is given; else unused",
    "packets that may come at once before the average reaches `min`: gives `weight` by tc's rule, a power of 1/2",
);
const AVPKT: Parameter = parameter(
    "avpkt",
    Domain::Bytes,
    "1000b, as tc(8) and the papers",
    "mean packet: the unit of the idle clock, of `byte_drop` and of tc's rules",
)
.elsewhere(&["mean_pkt", "mean_pktsize_", "MeanPktSize"]);
const BANDWIDTH: Parameter = parameter(
    "bandwidth",
    Domain::Rate,
    "the link's rate",
    "rate at which the average's clock ticks while the link is idle",
);
const GENTLE: Parameter = parameter(
    "gentle",
    Domain::Switch,
    "false, as ns-2 before 2001",
    "from `max` to twice `max` the probability climbs to 1, instead of at once",
)
.elsewhere(&["gentle_", "Gentle"]);
const UNIFORMIZE: Parameter = parameter(
    "uniformize",
    Domain::Choice(&["none", "count", "wait"]),
    "wait, as ns-2; count, as tc(8), when neither `min` nor `max` is given",
    "gaps between early signals: geometric, uniform on 1..1/p-1 (the RED paper), or uniform on 1/p..2/p-1",
)
.elsewhere(&["wait_", "Wait"]);
const SPARE: Parameter = parameter(
    "spare",
    Domain::Switch,
    "true, as ns-2; false, as tc(8), when neither `min` nor `max` is given",
    "RED passes a packet that finds at most one packet queued, and the first one above `min`",
);
const BYTE_DROP: Parameter = parameter(
    "byte_drop",
    Domain::Switch,
    "false, as ns-2 before 2004",
    "early signals are proportional to the packet's size over `avpkt`",
)
.elsewhere(&["drop_in_bytes", "bytes_", "queue_in_bytes_"]);
const ECN: Parameter = parameter(
    "ecn",
    Domain::Switch,
    "false",
    "early and forced signals mark packets that can be marked; a match or the limit always drops",
)
.elsewhere(&["setbit_", "UseEcn"]);
const HARDDROP: Parameter =
    parameter("harddrop", Domain::Switch, "false", "a forced signal drops even what could be marked")
        .elsewhere(&["UseHardDrop"]);

const DROP: Parameter = parameter(
    "drop",
    Domain::Choice(&["tail", "front", "random"]),
    "tail",
    "what goes when the queue is full: the arriving packet, the oldest, or a queued one at random",
)
.elsewhere(&["drop_front_"]);

const LAW: Parameter =
    parameter("law", Domain::Choice(&["floyd", "feng"]), "floyd", "how the probability follows the average");
const TARGET: Parameter = parameter(
    "target",
    Domain::Duration,
    "5ms, as ns-2",
    "mean delay that the thresholds aim at when neither `min` nor `max` is given",
)
.elsewhere(&["target_delay", "targetdelay_", "TargetDelay"]);
const INTERVAL: Parameter =
    parameter("interval", Domain::Duration, "500ms, Floyd", "how often `law = floyd` adapts").elsewhere(&["Interval"]);
const ARED_MIN: Parameter = Parameter {
    default: "max / 3; the larger of 5 packets and half of `target` at `bandwidth` when `max` is not given either",
    ..MIN
};
const ARED_MAX: Parameter = Parameter { default: "3 min, as ns-2", ..MAX };
const ARED_PROBABILITY: Parameter = Parameter { default: "0.1, as ns-2: where adaptation starts", ..PROBABILITY };
const ARED_WEIGHT: Parameter =
    Parameter { default: "1 - exp(-1/C) for a link of C mean packets a second, as ns-2", ..WEIGHT };
const ARED_BURST: Parameter = Parameter { default: "unused", ..BURST };
const ARED_GENTLE: Parameter = Parameter { default: "true with `law = floyd`, false with feng", ..GENTLE };
const ARED_UNIFORMIZE: Parameter = Parameter { default: "wait, as ns-2", ..UNIFORMIZE };
const ARED_SPARE: Parameter = Parameter { default: "true, as ns-2", ..SPARE };

const CANDIDATES: Parameter = parameter(
    "candidates",
    Domain::Count { min: 1, max: 64, infinite: false },
    "1",
    "queued packets that an arrival is compared with; those of its flow are dropped with it",
)
.elsewhere(&["m", "drops"]);
const COMPARE_ABOVE_MAX: Parameter = parameter(
    "compare_above_max",
    Domain::Switch,
    "true, the paper and Linux; false is the technical report",
    "arrivals are compared while the average is at or above `max` too",
);
const SAMPLING: Parameter = parameter(
    "sampling",
    Domain::Choice(&["exact", "linux"]),
    "exact",
    "draw uniformly over live packets, or as Linux: three throws over the ring with its holes, then the head",
);
const REGIONS: Parameter = parameter(
    "regions",
    Domain::Count { min: 1, max: 32, infinite: false },
    "5; the paper says none",
    "equal regions between `min` and `max`, each with its number of candidates",
)
.elsewhere(&["k"]);
const CANDIDATES_RULE: Parameter = parameter(
    "candidates_rule",
    Domain::Choice(&["2i", "2i-1", "i"]),
    "2i, the definition in the paper's section II",
    "candidates in region i; 2i-1 reads the paper's section III, where the arrival counts as a drop",
)
.elsewhere(&["self_adjust"]);
const MEMORY: Parameter = parameter(
    "memory",
    Domain::Count { min: 0, max: 65_536, infinite: false },
    "1",
    "flows remembered: an arrival of one of the last flows admitted is dropped",
)
.elsewhere(&["k", "Mloc"]);
const TABLE_SIZE: Parameter = parameter(
    "table_size",
    Domain::Count { min: 1, max: 1_048_576, infinite: false },
    "64; the paper has no bound",
    "flows in the table of hits; the longest unused makes room",
);
const HIT_CAP: Parameter = parameter(
    "hit_cap",
    Domain::Count { min: 1, max: MAX_HITS, infinite: false },
    "30",
    "hits that count: a flow with n hits is dropped with probability p_b 2^n",
)
.elsewhere(&["n_cap"]);
const AGE: Parameter =
    parameter("age", Domain::Duration, "never", "hits of a flow are halved this often").elsewhere(&["T_age"]);
const MAXCOMP: Parameter = parameter(
    "maxcomp",
    Domain::Count { min: 1, max: 16_777_216, infinite: true },
    "5, within 0.0003 of infinite in the share of an aggressive flow",
    "candidates that may match one arrival: drawn one after another while they match",
)
.elsewhere(&["c", "m"]);

/// RED's parameters, and more.
macro_rules! red_and {
    ($($more:expr),*) => {
        &[
            LIMIT, MIN, MAX, PROBABILITY, WEIGHT, BURST, AVPKT, BANDWIDTH, GENTLE, UNIFORMIZE, SPARE, BYTE_DROP, ECN,
            HARDDROP, $($more),*
        ]
    };
}

impl Kind {
    /// Its parameters, in the order of its documentation.
    #[must_use]
    pub const fn parameters(self) -> &'static [Parameter] {
        match self {
            Self::DropTail => &[LIMIT, DROP],
            Self::Red => red_and!(),
            Self::Ared => &[
                LIMIT,
                ARED_MIN,
                ARED_MAX,
                ARED_PROBABILITY,
                ARED_WEIGHT,
                ARED_BURST,
                AVPKT,
                BANDWIDTH,
                ARED_GENTLE,
                ARED_UNIFORMIZE,
                ARED_SPARE,
                BYTE_DROP,
                ECN,
                HARDDROP,
                LAW,
                TARGET,
                INTERVAL,
            ],
            Self::Choke => red_and!(CANDIDATES, COMPARE_ABOVE_MAX, SAMPLING),
            Self::ChokeAdaptive => red_and!(REGIONS, CANDIDATES_RULE, COMPARE_ABOVE_MAX, SAMPLING),
            Self::FrontChoke | Self::BackChoke => red_and!(CANDIDATES, COMPARE_ABOVE_MAX),
            Self::MlocChoke => &[LIMIT, MEMORY],
            Self::Xchoke => red_and!(COMPARE_ABOVE_MAX, SAMPLING, TABLE_SIZE, HIT_CAP, AGE),
            Self::Gchoke => red_and!(MAXCOMP, COMPARE_ABOVE_MAX, SAMPLING),
        }
    }
}
