//! Parameters that several disciplines share, under one name and with one meaning.

use super::parameter::{Domain, Parameter, parameter};

pub(crate) const LIMIT: Parameter =
    parameter("limit", Domain::Size, "300p, the buffer of the CHOKe paper", "hard limit of the queue")
        .elsewhere(&["limit_", "buffer", "b", "MaxSize", "qlim", "max_size"]);
pub(crate) const MIN: Parameter = parameter(
    "min",
    Domain::Size,
    "max / 3, as tc(8)",
    "average below which no packet is signalled and, in the CHOKe family, none compared",
)
.elsewhere(&["min_th", "minth", "thresh_", "MinTh", "thresh"]);
pub(crate) const MAX: Parameter =
    parameter("max", Domain::Size, "limit / 4, as tc(8)", "average from which every packet is signalled").elsewhere(&[
        "max_th",
        "maxth",
        "maxthresh_",
        "MaxTh",
        "maxthresh",
    ]);
pub(crate) const PROBABILITY: Parameter = parameter(
    "probability",
    Domain::Ratio,
    "0.1, as ns-2; 0.02, as tc(8), when neither `min` nor `max` is given",
    "base probability of a signal as the average reaches `max` (max_p)",
)
.elsewhere(&["max_p", "maxp", "linterm_", "LInterm"]);
pub(crate) const WEIGHT: Parameter = parameter(
    "weight",
    Domain::Ratio,
    "0.002, as ns-2; from `burst` when that is given, or when neither `min` nor `max` is",
    "weight of a sample in the average (w_q)",
)
.elsewhere(&["w_q", "wq", "w", "q_weight_", "QW", "q_weight"]);
pub(crate) const BURST: Parameter = parameter(
    "burst",
    Domain::Packets,
    "(2 min + max) / 3 packets, as tc(8), when neither `min` nor `max` nor `weight` is given; else unused",
    "packets that may come at once before the average reaches `min`: gives `weight` by tc's rule, a power of 1/2",
);
pub(crate) const AVPKT: Parameter = parameter(
    "avpkt",
    Domain::Bytes,
    "1000b, as tc(8) and the papers",
    "mean packet: the unit of the idle clock, of `byte_drop` and of tc's rules",
)
.elsewhere(&["mean_pkt", "mean_pktsize_", "MeanPktSize"]);
pub(crate) const BANDWIDTH: Parameter = parameter(
    "bandwidth",
    Domain::Rate,
    "the link's rate",
    "rate at which the average's clock ticks while the link is idle",
);
pub(crate) const GENTLE: Parameter = parameter(
    "gentle",
    Domain::Switch,
    "false, as ns-2 before 2001",
    "from `max` to twice `max` the probability climbs to 1, instead of at once",
)
.elsewhere(&["gentle_", "Gentle"]);
pub(crate) const UNIFORMIZE: Parameter = parameter(
    "uniformize",
    Domain::Choice(&["none", "count", "wait"]),
    "wait, as ns-2; count, as tc(8), when neither `min` nor `max` is given",
    "gaps between early signals: geometric, uniform on 1..1/p-1 (the RED paper), or uniform on 1/p..2/p-1",
)
.elsewhere(&["wait_", "Wait"]);
pub(crate) const SPARE: Parameter = parameter(
    "spare",
    Domain::Switch,
    "true, as ns-2; false, as tc(8), when neither `min` nor `max` is given",
    "RED passes a packet that finds at most one packet queued, and the first one above `min`",
);
pub(crate) const BYTE_DROP: Parameter = parameter(
    "byte_drop",
    Domain::Switch,
    "false, as ns-2 before 2004",
    "early signals are proportional to the packet's size over `avpkt`",
)
.elsewhere(&["drop_in_bytes", "bytes_", "queue_in_bytes_"]);
pub(crate) const ECN: Parameter = parameter(
    "ecn",
    Domain::Switch,
    "false",
    "early and forced signals mark packets that can be marked; a match or the limit always drops",
)
.elsewhere(&["setbit_", "UseEcn"]);
pub(crate) const HARDDROP: Parameter =
    parameter("harddrop", Domain::Switch, "false", "a forced signal drops even what could be marked")
        .elsewhere(&["UseHardDrop"]);

pub(crate) const TARGET: Parameter =
    parameter("target", Domain::Duration, "5ms, RFC 8289", "acceptable standing delay of the queue").elsewhere(&[
        "target_",
        "Target",
        "delay_ref",
        "QueueDelayReference",
        "qdelay_ref",
    ]);
pub(crate) const INTERVAL: Parameter = parameter(
    "interval",
    Domain::Duration,
    "100ms, RFC 8289",
    "how long the delay may be above `target` before a drop",
)
.elsewhere(&["interval_", "Interval"]);
pub(crate) const QUANTUM: Parameter =
    parameter("quantum", Domain::Bytes, "1514b, an Ethernet frame", "bytes that a flow may send when its turn comes")
        .elsewhere(&["quantum_", "Quantum"]);
pub(crate) const FLOWS: Parameter = parameter(
    "flows",
    Domain::Count { min: 1, max: 65_536, infinite: false },
    "1024, RFC 8290",
    "queues that flows are hashed to",
)
.elsewhere(&["Flows", "buckets", "buckets_", "divisor"]);

pub(crate) const WEIGHTED: Parameter = parameter(
    "weighted",
    Domain::Switch,
    "false",
    "a flow counts as 1 to 4 flows, by the two highest bits of the traffic class",
);

/// RED's parameters, and more.
macro_rules! red_and {
    ($($more:expr),*) => {
        {
            use $crate::params::shared::*;
            &[
                LIMIT, MIN, MAX, PROBABILITY, WEIGHT, BURST, AVPKT, BANDWIDTH, GENTLE, UNIFORMIZE, SPARE, BYTE_DROP,
                ECN, HARDDROP, $($more),*
            ]
        }
    };
}
pub(crate) use red_and;
