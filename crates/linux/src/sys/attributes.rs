//! Netlink attributes: length, type and value.

/// The length of `struct nlattr`.
pub(crate) const HEADER: usize = 4;
/// The bits of the type; the two upper bits are flags.
const TYPE: u16 = 0x3fff;

/// An iterator over attributes. It ends at the end of the bytes or at the first invalid attribute.
#[derive(Clone, Debug)]
pub(crate) struct Attributes<'a>(&'a [u8]);

impl<'a> Attributes<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }
}

impl<'a> Iterator for Attributes<'a> {
    type Item = (u16, &'a [u8]);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let (&[a, b, c, d], rest) = self.0.split_first_chunk::<HEADER>()?;
        let length = usize::from(u16::from_ne_bytes([a, b])).checked_sub(HEADER)?;
        let value = rest.get(..length)?;
        self.0 = rest.get(aligned(length)..).unwrap_or_default();
        Some((u16::from_ne_bytes([c, d]) & TYPE, value))
    }
}

/// Rounds `bytes` up to a multiple of four.
#[inline]
pub(crate) const fn aligned(bytes: usize) -> usize {
    bytes.saturating_add(3) & !3
}
