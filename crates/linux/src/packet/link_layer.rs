//! The size of packets on a link.
//!
//! **Source.** The options `overhead`, `mpu`, `atm`, `ptm` and `noatm` of tc-cake(8).

use std::fmt;

/// The division of packets into cells or blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Framing {
    /// None, as on Ethernet and most other links: `noatm`.
    #[default]
    None,
    /// ATM cells of 53 bytes with 48 bytes of payload (ADSL): `atm`.
    Atm,
    /// Blocks of 64 bytes with one byte of overhead each (PTM with 64b/65b encoding, VDSL): `ptm`.
    Ptm,
}

impl Framing {
    /// Returns the name in tc-cake(8).
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "noatm",
            Self::Atm => "atm",
            Self::Ptm => "ptm",
        }
    }
}

impl fmt::Display for Framing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Calculates the size of a packet on the link from the size of the IP packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkLayer {
    overhead: i16,
    mpu: u16,
    framing: Framing,
}

impl LinkLayer {
    /// Returns a link layer that adds `overhead` bytes to each packet (-64 to 256; Ethernet: 38 with check sequence,
    /// preamble and gap), sends at least `mpu` bytes (0 to 256; Ethernet: 84), and divides them by `framing`.
    ///
    /// # Errors
    /// A number is out of the range of tc-cake(8).
    pub fn new(overhead: i16, mpu: u16, framing: Framing) -> Result<Self, String> {
        if !(-64..=256).contains(&overhead) {
            return Err(format!("expected an overhead from -64 to 256 bytes, not {overhead}"));
        }
        if mpu > 256 {
            return Err(format!("expected an mpu from 0 to 256 bytes, not {mpu}"));
        }
        Ok(Self { overhead, mpu, framing })
    }

    /// Returns the size on the link of an IP packet of `bytes` bytes, at least 1.
    #[must_use]
    pub const fn wire_bytes(self, bytes: u32) -> u32 {
        let framed = bytes.saturating_add_signed(self.overhead as i32);
        let framed = if framed < self.mpu as u32 { self.mpu as u32 } else { framed };
        let sent = match self.framing {
            Framing::None => framed,
            Framing::Atm => framed.div_ceil(48).saturating_mul(53),
            Framing::Ptm => framed.saturating_add(framed.div_ceil(64)),
        };
        if sent == 0 { 1 } else { sent }
    }
}

impl fmt::Display for LinkLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "overhead {}b, mpu {}b, {}", self.overhead, self.mpu, self.framing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values by hand. ATM: an AAL5 frame of 1500 + 32 bytes fills 32 cells of 53 bytes, and one more byte begins a
    /// cell. PTM: one byte for each 64 bytes or part of them. Ethernet: at least 64 bytes, and 20 of preamble and gap.
    #[test]
    fn bytes_on_the_wire_are_these() {
        let wire = |overhead, mpu, framing, bytes| LinkLayer::new(overhead, mpu, framing).unwrap().wire_bytes(bytes);
        assert_eq!([0, 1, 40, 1500].map(|bytes| LinkLayer::default().wire_bytes(bytes)), [1, 1, 40, 1500]);
        assert_eq!([46, 47, 1500].map(|bytes| wire(38, 84, Framing::None, bytes)), [84, 85, 1538]);
        assert_eq!([16, 17, 1500, 1505].map(|bytes| wire(32, 0, Framing::Atm, bytes)), [53, 106, 1696, 1749]);
        assert_eq!([64, 65, 1500].map(|bytes| wire(0, 0, Framing::Ptm, bytes)), [65, 67, 1524]);
        // A negative overhead cannot make the size negative. The minimum applies before the framing.
        assert_eq!([20, 100].map(|bytes| wire(-64, 49, Framing::Atm, bytes)), [106, 106]);
        assert_eq!([u32::MAX, u32::MAX - 1].map(|bytes| wire(256, 0, Framing::Atm, bytes)), [u32::MAX; 2]);
    }

    #[test]
    fn tc_cakes_ranges_hold() {
        for (overhead, mpu) in [(-65, 0), (257, 0), (0, 257)] {
            assert!(LinkLayer::new(overhead, mpu, Framing::None).is_err(), "{overhead} {mpu}");
        }
    }
}
