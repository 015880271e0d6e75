//! Parameters that the disciplines which control delay share, and what is worth saying of them.

use alloc::format;

use crate::config::shared::LIMIT;
use crate::config::{Domain, Origin, Parameter, ParameterError, Resolver, parameter};
use crate::{Bytes, Duration, Packets, Size};

pub(crate) const LIMIT_1000: Parameter = LIMIT.default("1000p, as tc(8)");
pub(crate) const LIMIT_10000: Parameter = LIMIT.default("10000p, as tc(8)");
pub(crate) const LIMIT_10240: Parameter = LIMIT.default("10240p, as tc(8)");
pub(crate) const TARGET: Parameter =
    parameter("target", Domain::Duration, "5ms, RFC 8289", "delay that is good enough: no packet is signalled below")
        .elsewhere(&["Target", "TARGET"]);
pub(crate) const INTERVAL: Parameter = parameter(
    "interval",
    Domain::Duration,
    "100ms, RFC 8289",
    "how long the delay may stay above `target` before the first signal: the longest round-trip time that is common",
)
.elsewhere(&["Interval", "INTERVAL"]);
pub(crate) const MTU: Parameter = parameter(
    "mtu",
    Domain::Bytes,
    "1514b, an Ethernet frame, as tc(8)",
    "no packet is signalled while no more than this stays queued behind it",
)
.elsewhere(&["MinBytes", "MAXPACKET"]);
pub(crate) const MARK: Parameter = parameter(
    "ecn",
    Domain::Switch,
    "false, as tc(8)",
    "a signal marks a packet that can be marked; the limit always drops",
)
.elsewhere(&["UseEcn"]);
pub(crate) const CE_THRESHOLD: Parameter = parameter(
    "ce_threshold",
    Domain::Duration,
    "never",
    "a packet that can be marked and waited longer is marked, whatever else is decided",
)
.elsewhere(&["CeThreshold"]);
pub(crate) const FLOWS: Parameter = parameter(
    "flows",
    Domain::Count { min: 1, max: 65_536, infinite: false },
    "1024, as tc(8)",
    "queues that flows are hashed into; two flows that meet in one share it",
)
.elsewhere(&["Flows"]);
pub(crate) const QUANTUM: Parameter = parameter(
    "quantum",
    Domain::Bytes,
    "1514b, an Ethernet frame, as tc(8)",
    "bytes that a queue may send in its turn",
);
pub(crate) const MEMORY_LIMIT: Parameter = parameter(
    "memory_limit",
    Domain::Size,
    "33554432b, 32 MiB, as tc(8)",
    "bytes that all queues may hold together, beside `limit`",
);

/// A thousand packets, and the like.
pub(crate) const fn packets(count: u32) -> Size {
    Size::Packets(Packets::new(count))
}

/// The value of a parameter that is off unless it is given.
pub(crate) fn optional(r: &mut Resolver<'_>, key: &str) -> Result<Option<Duration>, ParameterError> {
    use alloc::string::ToString;
    let value = r.given::<Duration>(key)?;
    match value {
        Some(value) => r.note(key, value.to_string(), Origin::Given),
        None => r.note(key, "never".to_string(), Origin::Default("it was not given")),
    }
    Ok(value)
}

/// `memory_limit` in bytes.
pub(crate) fn memory_limit(r: &mut Resolver<'_>) -> Result<u64, ParameterError> {
    let most = Size::Bytes(Bytes::new(32 << 20));
    match r.take("memory_limit", Origin::Default("as tc(8)"), most)? {
        Size::Bytes(bytes) => Ok(bytes.get()),
        Size::Packets(packets) => {
            let message = format!("{packets} is a number of packets, which is what limit is for: write for example 32mb");
            Err(ParameterError::new("memory_limit", message))
        }
    }
}

/// Says what is wrong with a target for a link on which a packet takes long.
pub(crate) fn judge_target(r: &mut Resolver<'_>, target: Duration, mtu: Bytes) {
    if r.rate().bits_per_second() == 0 {
        return;
    }
    let packet = r.rate().transmission(mtu.get());
    if packet > target {
        let (packet, target) = (1e3 * packet.as_secs(), 1e3 * target.as_secs());
        r.warn(format!(
            "target {target:.3} ms is less than the {packet:.3} ms that a packet of {mtu} takes: two packets are too many"
        ));
    }
}
