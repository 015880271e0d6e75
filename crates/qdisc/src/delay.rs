//! Parameters that the disciplines which control delay share, and what is worth saying of them.

use alloc::format;
use alloc::string::ToString;

use crate::buffer::MAX_PACKETS;
use crate::config::shared::LIMIT;
use crate::config::{Domain, Origin, Parameter, ParameterError, Resolver, parameter};
use crate::{Bytes, Duration, Packets, Size};

pub(crate) const LIMIT_1000: Parameter = LIMIT.default("1000p, as tc(8)");
pub(crate) const LIMIT_10000: Parameter = LIMIT.default("10000p, as tc(8)");
pub(crate) const LIMIT_10240: Parameter = LIMIT.default("10240p, as tc(8)");
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
pub(crate) const TUPDATE: Parameter =
    parameter("tupdate", Domain::Duration, "15ms, RFC 8033", "how often the probability is updated")
        .elsewhere(&["Tupdate", "T_UPDATE", "t_update"]);
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
    let value = r.given::<Duration>(key)?;
    match value {
        Some(value) => r.note(key, value.to_string(), Origin::Given),
        None => r.note(key, "never".to_string(), Origin::Default("it was not given")),
    }
    Ok(value)
}

/// The limits of all queues together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    packets: usize,
    bytes: u64,
}

impl Room {
    /// `limit` and `memory_limit`.
    pub(crate) fn resolve(r: &mut Resolver<'_>) -> Result<Self, ParameterError> {
        let limit = r.limit_or(Origin::Default("as tc(8)"), packets(10_240))?;
        let memory = match r.take("memory_limit", Origin::Default("as tc(8)"), Size::Bytes(Bytes::new(32 << 20)))? {
            Size::Bytes(bytes) => bytes.get(),
            Size::Packets(packets) => {
                let message =
                    format!("{packets} is a number of packets, which is what limit is for: write for example 32mb");
                return Err(ParameterError::new("memory_limit", message));
            }
        };
        Ok(Self::new(limit, memory))
    }

    /// `limit`, and no more than `memory` bytes.
    pub(crate) fn new(limit: Size, memory: u64) -> Self {
        match limit {
            Size::Packets(packets) => Self { packets: packets.get().min(MAX_PACKETS) as usize, bytes: memory },
            Size::Bytes(bytes) => Self { packets: MAX_PACKETS as usize, bytes: bytes.get().min(memory) },
        }
    }

    /// Whether `packets` packets with `bytes` bytes are too many.
    pub(crate) const fn is_exceeded(&self, packets: usize, bytes: u64) -> bool {
        packets > self.packets || bytes > self.bytes
    }

    /// Whether a packet of `bytes` bytes would be too much for empty queues.
    pub(crate) const fn never_fits(&self, bytes: u32) -> bool {
        self.is_exceeded(1, bytes as u64)
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
