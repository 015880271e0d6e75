//! Captures that are made here.

use std::io::{self, Write};
use std::time::Duration;

use fairlane_qdisc::headers::LinkType;
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use pcap_file::{DataLink, PcapError, TsResolution};

use crate::capture::LONGEST;

/// Writes packets as a pcap file with nanoseconds.
#[derive(Debug)]
pub struct Writer<W: Write> {
    writer: PcapWriter<W>,
}

impl<W: Write> Writer<W> {
    /// Begins a file for packets that begin with the header of `link`.
    ///
    /// # Errors
    /// `file` cannot be written.
    pub fn new(file: W, link: LinkType) -> io::Result<Self> {
        let header = PcapHeader {
            snaplen: LONGEST,
            datalink: DataLink::from(link.number()),
            ts_resolution: TsResolution::NanoSecond,
            ..PcapHeader::default()
        };
        Ok(Self { writer: PcapWriter::with_header(file, header).map_err(written)? })
    }

    /// Writes a packet of `time` since 1970 that had `original` bytes, of which `data` was captured.
    ///
    /// # Errors
    /// The file cannot be written, or the format cannot hold the packet: it is of after 2106, or `data` is longer than
    /// `original`.
    pub fn write(&mut self, time: Duration, original: u32, data: &[u8]) -> io::Result<()> {
        self.writer.write_packet(&PcapPacket::new(time, original, data)).map(drop).map_err(written)
    }

    /// Returns the inner writer, which may still buffer data itself.
    pub fn into_inner(self) -> W {
        self.writer.into_writer()
    }
}

fn written(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) => error,
        other => io::Error::other(other),
    }
}
