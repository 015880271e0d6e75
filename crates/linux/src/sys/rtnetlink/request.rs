//! Requests: a header, a body, and attributes.

use super::{HEADER, REQUEST};

pub(super) struct Request(Vec<u8>);

impl Request {
    pub(super) fn new(message: u16, flags: u16, body: &[u8]) -> Self {
        let mut bytes = vec![0; HEADER];
        bytes[4..6].copy_from_slice(&message.to_ne_bytes());
        bytes[6..8].copy_from_slice(&(flags | REQUEST).to_ne_bytes());
        bytes.extend(body);
        Self(bytes)
    }

    pub(super) fn attribute(&mut self, kind: u16, value: &[u8]) {
        self.nested(kind, |message| message.raw(value));
    }

    /// Adds an attribute with a text that ends with a zero.
    pub(super) fn text(&mut self, kind: u16, text: &str) {
        self.attribute(kind, &[text.as_bytes(), &[0]].concat());
    }

    /// Adds an attribute whose value `write` adds. It ends at a multiple of four.
    pub(super) fn nested(&mut self, kind: u16, write: impl FnOnce(&mut Self)) {
        let start = self.0.len();
        self.0.extend([0; 2]);
        self.0.extend(kind.to_ne_bytes());
        write(self);
        let length = (self.0.len() - start) as u16;
        self.0[start..start + 2].copy_from_slice(&length.to_ne_bytes());
        self.0.resize(self.0.len().next_multiple_of(4), 0);
    }

    pub(super) fn raw(&mut self, bytes: &[u8]) {
        self.0.extend(bytes);
    }

    pub(super) fn finish(mut self) -> Vec<u8> {
        let length = self.0.len() as u32;
        self.0[..4].copy_from_slice(&length.to_ne_bytes());
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The layout of `struct nlmsghdr` and `struct nlattr`: attributes within attributes, of lengths without padding.
    #[test]
    fn attributes_are_nested() {
        let mut request = Request::new(16, 4, &[7; 4]);
        request.text(3, "fl7");
        request.nested(18, |request| request.attribute(1, b"ifb"));
        let header = [&[40, 0, 0, 0, 16, 0, 5, 0][..], &[0; 8], &[7; 4]].concat();
        let attributes = [&[8, 0, 3, 0][..], b"fl7\0", &[12, 0, 18, 0, 7, 0, 1, 0], b"ifb\0"].concat();
        assert_eq!(request.finish(), [header, attributes].concat());
    }
}
