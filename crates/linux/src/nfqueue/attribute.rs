//! Requests to an NFQUEUE, and numbers in attributes.

use super::{HEADERS, NLM_F_REQUEST};
use crate::sys::attributes::{HEADER, aligned};

/// Returns the number at the start of an attribute's value, in network byte order.
pub(super) fn number(value: &[u8]) -> Option<u32> {
    value.first_chunk().map(|bytes| u32::from_be_bytes(*bytes))
}

/// A message under construction at the end of a buffer.
pub(super) struct Writer<'b> {
    buffer: &'b mut Vec<u8>,
    start: usize,
}

impl<'b> Writer<'b> {
    /// Begins a request of type `kind` for `queue`, with `flags` in addition to `NLM_F_REQUEST`.
    pub(super) fn new(buffer: &'b mut Vec<u8>, kind: u16, flags: u16, sequence: u32, queue: u16) -> Self {
        let start = buffer.len();
        // The length is filled in at the end. Netfilter's header has the family 0 (any) and the version 0.
        buffer.extend([0; 4]);
        buffer.extend(kind.to_ne_bytes());
        buffer.extend((NLM_F_REQUEST | flags).to_ne_bytes());
        buffer.extend(sequence.to_ne_bytes());
        buffer.extend([0; 6]);
        buffer.extend(queue.to_be_bytes());
        debug_assert_eq!(buffer.len() - start, HEADERS);
        Self { buffer, start }
    }

    /// Writes an attribute. A value that is too long for an attribute is truncated.
    pub(super) fn attribute(&mut self, kind: u16, value: &[u8]) {
        let most = usize::from(u16::MAX) - HEADER;
        let value = &value[..value.len().min(most)];
        self.buffer.extend(((HEADER + value.len()) as u16).to_ne_bytes());
        self.buffer.extend(kind.to_ne_bytes());
        self.buffer.extend_from_slice(value);
        self.buffer.resize(aligned(self.buffer.len() - self.start) + self.start, 0);
    }

    /// Writes a number as an attribute, in network byte order.
    pub(super) fn number(&mut self, kind: u16, number: u32) {
        self.attribute(kind, &number.to_be_bytes());
    }

    /// Writes the length of the message.
    pub(super) fn finish(self) {
        let length = (self.buffer.len() - self.start) as u32;
        self.buffer[self.start..self.start + 4].copy_from_slice(&length.to_ne_bytes());
    }
}
