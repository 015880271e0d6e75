//! Times in captures.

use std::time::Duration;

use pcap_file::pcapng::blocks::interface_description::{InterfaceDescriptionBlock, InterfaceDescriptionOption};

const NANOS: u128 = 1_000_000_000;

/// The clock of an interface of a pcapng file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticks {
    resolution: u8,
    offset_s: i64,
}

impl Ticks {
    /// Reads if_tsresol and if_tsoffset; without them the clock counts microseconds since 1970.
    pub(crate) fn of(interface: &InterfaceDescriptionBlock<'_>) -> Self {
        let mut ticks = Self { resolution: 6, offset_s: 0 };
        for option in &interface.options {
            match option {
                InterfaceDescriptionOption::IfTsResol(resolution) => ticks.resolution = *resolution,
                // The file has a signed number of seconds.
                InterfaceDescriptionOption::IfTsOffset(offset) => ticks.offset_s = offset.cast_signed(),
                _ => {}
            }
        }
        ticks
    }

    /// The time since 1970; `None` for times before 1970 or beyond 64 bits of seconds.
    pub(crate) fn time(self, ticks: u64) -> Option<Duration> {
        let (ticks, exponent) = (u128::from(ticks), u32::from(self.resolution & 0x7f));
        let nanos = if self.resolution & 0x80 != 0 {
            (ticks * NANOS) >> exponent
        } else if exponent <= 9 {
            ticks * 10_u128.pow(9 - exponent)
        } else {
            10_u128.checked_pow(exponent - 9).map_or(0, |divisor| ticks / divisor)
        };
        let seconds = i128::try_from(nanos / NANOS).ok()? + i128::from(self.offset_s);
        Some(Duration::new(u64::try_from(seconds).ok()?, (nanos % NANOS) as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pcapng draft, section 4.2: if_tsresol is a power of ten, or of two with the highest bit set.
    #[test]
    fn a_tick_is_what_the_interface_says() {
        let time = |resolution, offset_s, ticks| Ticks { resolution, offset_s }.time(ticks);
        let micros = Some(Duration::from_micros(1_500_000));
        assert_eq!(time(6, 0, 1_500_000), micros);
        assert_eq!(time(9, 0, 1_500_000_000), micros);
        assert_eq!(time(3, 0, 1500), micros);
        assert_eq!(time(12, 0, 1_500_000_000_999), micros);
        assert_eq!(time(0x80 | 10, 0, 1536), micros);
        assert_eq!(time(6, -1, 1_500_000), Some(Duration::from_millis(500)));
        assert_eq!(time(6, -2, 1_500_000), None);
        assert_eq!(time(0, i64::MAX, u64::MAX), None);
        assert_eq!(time(0, 0, u64::MAX), Some(Duration::from_secs(u64::MAX)));
        assert_eq!(time(127, 0, u64::MAX), Some(Duration::ZERO));
        assert_eq!(time(255, 0, u64::MAX), Some(Duration::ZERO));
    }
}
