//! What a packet takes on the link beyond its own bytes.
//!
//! **Source.** The options `overhead`, `mpu`, `atm`, `ptm` and `noatm` of tc-cake(8).

use std::fmt;

/// How a link cuts packets into cells or blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Framing {
    /// Not at all, as Ethernet and most others: `noatm`.
    #[default]
    None,
    /// Into ATM cells with 48 of 53 bytes for the packet (ADSL): `atm`.
    Atm,
    /// Into blocks of 64 bytes with a byte more each, whole or not (VDSL's PTM with 64b/65b): `ptm`.
    Ptm,
}

impl Framing {
    /// Its name in tc-cake(8).
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

/// What a packet takes on the link, out of the bytes of its IP packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkLayer {
    overhead: i16,
    mpu: u16,
    framing: Framing,
}

impl LinkLayer {
    /// A link that adds `overhead` bytes to each packet (-64 to 256; 38 for Ethernet with its check sequence, preamble and gap),
    /// sends no less than `mpu` bytes (0 to 256; 84 for Ethernet), and cuts them by `framing`.
    ///
    /// # Errors
    /// A number is out of tc-cake(8)'s range.
    pub fn new(overhead: i16, mpu: u16, framing: Framing) -> Result<Self, String> {
        if !(-64..=256).contains(&overhead) {
            return Err(format!("overhead cannot be {overhead}: it is -64 to 256 bytes"));
        }
        if mpu > 256 {
            return Err(format!("mpu cannot be {mpu}: it is 0 to 256 bytes"));
        }
        Ok(Self { overhead, mpu, framing })
    }

    /// What an IP packet of `bytes` bytes takes; one byte at least.
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

    /// By hand. ATM: an AAL5 frame of 1500 + 32 bytes fills 32 cells of 53 bytes, and one more byte begins a cell. PTM: a byte
    /// for each 64 or part of them. Ethernet: 64 bytes on the wire at least, and 20 of preamble and gap.
    #[test]
    fn bytes_on_the_wire_are_these() {
        let wire = |overhead, mpu, framing, bytes| LinkLayer::new(overhead, mpu, framing).unwrap().wire_bytes(bytes);
        assert_eq!([0, 1, 40, 1500].map(|bytes| LinkLayer::default().wire_bytes(bytes)), [1, 1, 40, 1500]);
        assert_eq!([46, 47, 1500].map(|bytes| wire(38, 84, Framing::None, bytes)), [84, 85, 1538]);
        assert_eq!([16, 17, 1500, 1505].map(|bytes| wire(32, 0, Framing::Atm, bytes)), [53, 106, 1696, 1749]);
        assert_eq!([64, 65, 1500].map(|bytes| wire(0, 0, Framing::Ptm, bytes)), [65, 67, 1524]);
        // What is taken off the size cannot make it negative; a packet takes the link's least and then its framing.
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
