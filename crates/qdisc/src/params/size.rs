//! Arithmetic on sizes, for defaults that follow from other parameters.

use crate::error::{MAX_BYTES, MAX_PACKETS};
use crate::{Bytes, Size};

/// Returns the number of packets or bytes as a float; sizes stay below 2^53.
pub(crate) const fn number(size: Size) -> f64 {
    size.number() as f64
}

/// Returns the `divisor`-th part of `size`.
pub(crate) fn part(size: Size, divisor: u32) -> Size {
    size.with_number(size.number() / u64::from(divisor))
}

/// Returns `factor` times `size`, but no more than any queue holds.
pub(crate) fn times(size: Size, factor: u32) -> Size {
    let most = match size {
        Size::Packets(_) => u64::from(MAX_PACKETS),
        Size::Bytes(_) => MAX_BYTES,
    };
    size.with_number(size.number().saturating_mul(u64::from(factor)).min(most))
}

/// Returns `size`, but not less than `least` mean packets.
pub(crate) fn at_least(size: Size, least: u32, avpkt: Bytes) -> Size {
    let least = match size {
        Size::Packets(_) => Size::packets(least),
        Size::Bytes(_) => Size::bytes(u64::from(least) * avpkt.get()),
    };
    if size.number() < least.number() { least } else { size }
}

/// Returns the smaller of two sizes of the same unit.
pub(crate) const fn smaller(a: Size, b: Size) -> Size {
    if a.number() <= b.number() { a } else { b }
}
