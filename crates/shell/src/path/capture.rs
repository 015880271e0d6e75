//! Captures of the packets that have crossed the link.
//!
//! **Source.** The classic format of pcap-savefile(5), with times in nanoseconds.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use fairlane_qdisc::Time;

use crate::error::{ShellError, setup};

/// The magic number of files with nanoseconds, the version, and the link type of Ethernet.
const MAGIC: u32 = 0xa1b2_3c4d;
const VERSION: [u16; 2] = [2, 4];
const ETHERNET: u32 = 1;

/// The most bytes of a packet that are kept.
const KEPT: usize = 128;

/// A file of packets.
pub(crate) struct Capture {
    file: BufWriter<File>,
    /// The time of day at time zero of the scenario, in nanoseconds since 1970.
    zero: u64,
    failed: Option<io::Error>,
}

impl Capture {
    pub(crate) fn create(path: &Path) -> Result<Self, ShellError> {
        let file = File::create(path).map_err(setup(path.display().to_string()))?;
        Ok(Self { file: BufWriter::with_capacity(1 << 20, file), zero: 0, failed: None })
    }

    /// Writes the start of the file. Time zero of the scenario is at `zero`.
    pub(crate) fn begin(&mut self, zero: u64) {
        self.zero = zero;
        let words = [0, 0, KEPT as u32, ETHERNET].map(u32::to_ne_bytes).concat();
        let head = [&MAGIC.to_ne_bytes()[..], &VERSION.map(u16::to_ne_bytes).concat(), &words].concat();
        self.failed = self.file.write_all(&head).err();
    }

    /// Adds a frame, which leaves the link at `at`. Behind an error nothing is written.
    pub(crate) fn add(&mut self, at: Time, frame: &[u8]) {
        if self.failed.is_none() {
            self.failed = self.write(at, frame).err();
        }
    }

    fn write(&mut self, at: Time, frame: &[u8]) -> io::Result<()> {
        let time = self.zero.saturating_add(at.as_nanos());
        let kept = &frame[..frame.len().min(KEPT)];
        for word in [time / 1_000_000_000, time % 1_000_000_000, kept.len() as u64, frame.len() as u64] {
            self.file.write_all(&(word as u32).to_ne_bytes())?;
        }
        self.file.write_all(kept)
    }

    /// Completes the file. Returns the reason if it lacks packets.
    pub(crate) fn finish(mut self) -> Option<io::Error> {
        self.failed.or_else(|| self.file.flush().err())
    }
}
