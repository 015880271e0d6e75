//! `--pcap`: the packets that leave, as a capture.

use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::time::Duration;

use fairlane_capture::{LinkType, Packet, Writer};
use fairlane_console::Failure;
use fairlane_outcome::{Extent, OutputFile};
use fairlane_qdisc::Time;
use fairlane_runner::replay::{Captured, Departures};

/// Writes a capture, if one is requested.
#[derive(Debug)]
pub(crate) struct DepartureWriter {
    path: Option<PathBuf>,
    begun: Option<Begun>,
    /// The first error.
    failed: Option<io::Error>,
}

/// A capture whose first packet has arrived.
#[derive(Debug)]
struct Begun {
    link: LinkType,
    /// The time of the first packet, since 1970.
    start: Duration,
    writer: Writer<BufWriter<OutputFile>>,
}

impl DepartureWriter {
    /// Makes a writer; the file begins with the first packet.
    pub(crate) fn new(path: Option<&Path>) -> Self {
        Self { path: path.map(Path::to_owned), begun: None, failed: None }
    }

    /// Ends the file, or returns the reason why it could not be written.
    pub(crate) fn finish(self, extent: Extent) -> Result<(), Failure> {
        let Some(path) = &self.path else { return Ok(()) };
        if let Some(error) = &self.failed {
            return Err(Failure::write(path, error));
        }
        // A replay without packets writes a capture without packets.
        let writer = self.begun.map_or_else(|| begin(path, LinkType::Ethernet), |begun| Ok(begun.writer))?;
        let file = writer.into_inner().into_inner().map_err(io::IntoInnerError::into_error);
        file.and_then(|file| file.finish(extent)).map(drop).map_err(|error| Failure::write(path, &error))
    }
}

impl Departures for DepartureWriter {
    type Error = Failure;

    /// Returns true if there will be a file.
    fn keeps(&self) -> bool {
        self.path.is_some()
    }

    /// Begins the file with the first packet, and refuses a packet of another link type; returns an earlier error.
    fn expect(&mut self, packet: &Packet<'_>) -> Result<(), Failure> {
        let Some(path) = &self.path else { return Ok(()) };
        if let Some(error) = &self.failed {
            return Err(Failure::write(path, error));
        }
        match &self.begun {
            Some(begun) if begun.link == packet.link => Ok(()),
            Some(_) => {
                let message = format!("packet {} has another link type than those before", packet.number);
                Err(Failure::new(message, "--pcap holds packets of one link type: split the capture by interface"))
            }
            None => {
                self.begun = Some(Begun { link: packet.link, start: packet.stamp, writer: begin(path, packet.link)? });
                Ok(())
            }
        }
    }

    /// Writes a packet that left at `at`.
    fn departed(&mut self, at: Time, packet: &Captured) {
        let (Some(begun), Some(frame), None) = (&mut self.begun, packet.frame(), &self.failed) else { return };
        let time = begun.start.saturating_add(Duration::from_nanos(at.as_nanos()));
        self.failed = begun.writer.write(time, frame.original, &frame.data).err();
    }
}

fn begin(path: &Path, link: LinkType) -> Result<Writer<BufWriter<OutputFile>>, Failure> {
    let file = OutputFile::create(path).and_then(|file| Writer::new(BufWriter::new(file.keeping_part()), link));
    file.map_err(|error| Failure::write(path, &error))
}
