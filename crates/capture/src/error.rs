//! Errors in captures, with their place.

use std::fmt;

/// An error in a capture: the file, the packet, the problem and the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaptureError {
    file: String,
    packet: Option<u64>,
    message: String,
}

impl CaptureError {
    pub(crate) fn new(file: &str, packet: Option<u64>, message: impl Into<String>) -> Self {
        Self { file: file.to_owned(), packet, message: message.into() }
    }

    /// The number of the packet, from 1 as Wireshark counts; `None` for an error of the whole file.
    #[must_use]
    pub const fn packet(&self) -> Option<u64> {
        self.packet
    }

    /// The problem and the remedy.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for CaptureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.packet {
            Some(number) => write!(f, "{}: packet {number}: {}", self.file, self.message),
            None => write!(f, "{}: {}", self.file, self.message),
        }
    }
}

impl std::error::Error for CaptureError {}
