//! The header of a transfer, for its receiver.

use fairlane_qdisc::Time;

/// The first bytes of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TransferHeader {
    /// The bytes of the transfer, this header included.
    pub(crate) bytes: u64,
    /// The time at which it began, by the clock that all namespaces share.
    pub(crate) began: Time,
}

impl TransferHeader {
    /// Its length in bytes: less than that of any packet's data.
    pub(crate) const LEN: usize = 16;

    pub(crate) fn to_bytes(self) -> [u8; Self::LEN] {
        (u128::from(self.bytes) << 64 | u128::from(self.began.as_nanos())).to_be_bytes()
    }

    /// Reads a header; `None` if `bytes` has too few bytes.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let both = u128::from_be_bytes(*bytes.first_chunk()?);
        Some(Self { bytes: (both >> 64) as u64, began: Time::from_nanos(both as u64) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_as_it_was_written() {
        let header = TransferHeader { bytes: 12_345, began: Time::from_nanos(u64::MAX - 7) };
        assert_eq!(TransferHeader::read(&header.to_bytes()), Some(header));
        assert_eq!(TransferHeader::read(&header.to_bytes()[1..]), None);
    }
}
