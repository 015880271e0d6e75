//! Files of packets, read one packet at a time.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::Path;
use std::time::Duration;

use fairlane_qdisc::Time;
use fairlane_qdisc::headers::{Headers, LinkType};
use flate2::read::MultiGzDecoder;
use pcap_file::pcap::{PcapReader, RawPcapPacket};
use pcap_file::pcapng::{Block, PcapNgReader};
use pcap_file::{PcapError, TsResolution};

use crate::clock::Ticks;
use crate::error::CaptureError;

/// No packet is longer: Linux's largest offloaded segments are half as long.
pub(crate) const LONGEST: u32 = 1 << 20;

/// The first bytes of a gzip file (RFC 1952).
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// No capture is longer, in nanoseconds: 10^9 s, as a scenario.
const LONGEST_NS: u128 = 1_000_000_000_000_000_000;

/// A packet of a capture.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    /// Its number in the file, from 1.
    pub number: u64,
    /// Arrival time since the first packet; never less than that of the packet before it, see [`Capture::late`].
    pub time: Time,
    /// Timestamp in the file, since 1970.
    pub stamp: Duration,
    /// The header that the data begins with.
    pub link: LinkType,
    /// Length in bytes before truncation, as the file states it.
    pub original: u32,
    /// The captured bytes.
    pub data: &'a [u8],
    /// The parsed headers.
    pub headers: Headers,
}

/// Packets whose timestamps run backwards, as happens where several processors capture: each counts as arriving
/// together with the packet before it in the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Late {
    /// Number of such packets.
    pub packets: u64,
    /// The largest distance by which one of them was behind.
    pub most: Duration,
}

/// A pcap or pcapng file that is read packet by packet; it may be compressed by gzip.
pub struct Capture<R: Read> {
    name: String,
    file: Format<R>,
    /// Packets read so far.
    number: u64,
    /// The time of the first packet since 1970.
    start: Option<Duration>,
    last: Time,
    late: Late,
}

/// Bytes with those before them that identified the format.
type Rejoined<R> = io::Chain<Cursor<Vec<u8>>, R>;
type Input<R> = Rejoined<Unpacked<R>>;

/// The bytes of the capture, whether the file is compressed or not.
enum Unpacked<R> {
    Plain(R),
    Gzip(Box<MultiGzDecoder<Rejoined<R>>>),
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(input) => input.read(into),
            Self::Gzip(input) => input.read(into),
        }
    }
}

enum Format<R: Read> {
    Pcap(PcapReader<Input<R>>, LinkType),
    /// The buffer holds the packet that was read last.
    PcapNg(Box<PcapNgReader<Input<R>>>, Vec<u8>),
}

/// Reads the first four bytes, or fewer if there are no more.
fn beginning(input: &mut impl Read) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    input.take(4).read_to_end(&mut bytes).map_err(|error| format!("cannot be read: {error}"))?;
    Ok(bytes)
}

/// A packet as recorded in the file.
struct Record<'a> {
    time: Duration,
    link: LinkType,
    original: u32,
    data: &'a [u8],
}

impl Capture<File> {
    /// Opens the file at `path`.
    ///
    /// # Errors
    /// The errors of [`new`](Self::new), and a file that cannot be opened.
    pub fn open(path: &Path) -> Result<Self, CaptureError> {
        let name = path.display().to_string();
        let file =
            File::open(path).map_err(|error| CaptureError::new(&name, None, format!("cannot be read: {error}")))?;
        Self::new(&name, file)
    }
}

impl<R: Read> Capture<R> {
    /// Begins to read `input`, which errors call `name`.
    ///
    /// # Errors
    /// The input is not a pcap or pcapng file, or has an unknown link type.
    pub fn new(name: &str, input: R) -> Result<Self, CaptureError> {
        let file = Format::of(input).map_err(|message| CaptureError::new(name, None, message))?;
        Ok(Self { name: name.to_owned(), file, number: 0, start: None, last: Time::ZERO, late: Late::default() })
    }

    /// The next packet; `None` at the end of the file.
    ///
    /// # Errors
    /// The next bytes are not a packet, their lengths contradict each other, the link type is unknown, there is no
    /// timestamp, or one more than 10^9 s after the first packet.
    pub fn next_packet(&mut self) -> Result<Option<Packet<'_>>, CaptureError> {
        let number = self.number + 1;
        let wrong = |message: String| CaptureError::new(&self.name, Some(number), message);
        let Some(Record { time, link, original, data }) = self.file.record().map_err(wrong)? else { return Ok(None) };
        check_lengths(data.len(), original).map_err(wrong)?;
        let start = *self.start.get_or_insert(time);
        let since = time.saturating_sub(start).as_nanos();
        if since > LONGEST_NS {
            return Err(wrong("its time is more than 10^9 s after that of the first packet; correct it".to_owned()));
        }
        let asked = Time::from_nanos(since as u64);
        let last = start.saturating_add(Duration::from_nanos(self.last.as_nanos()));
        if let Some(behind) = last.checked_sub(time)
            && !behind.is_zero()
        {
            self.late = Late { packets: self.late.packets + 1, most: self.late.most.max(behind) };
        }
        self.number = number;
        self.last = self.last.max(asked);
        let headers = Headers::read(link, data, original);
        Ok(Some(Packet { number, time: self.last, stamp: time, link, original, data, headers }))
    }

    /// The packets so far whose times ran backwards.
    #[must_use]
    pub const fn late(&self) -> Late {
        self.late
    }
}

impl<R: Read> Format<R> {
    /// Detects the format from the first bytes.
    fn of(mut input: R) -> Result<Self, String> {
        let magic = beginning(&mut input)?;
        let (magic, input) = if magic.starts_with(&GZIP) {
            let packed = Cursor::new(magic).chain(input);
            let mut input = Unpacked::Gzip(Box::new(MultiGzDecoder::new(packed)));
            (beginning(&mut input)?, input)
        } else {
            (magic, Unpacked::Plain(input))
        };
        let known = *magic.first_chunk::<4>().ok_or("is too short for a pcap or pcapng file")?;
        let input = Cursor::new(magic).chain(input);
        match known {
            [0x0a, 0x0d, 0x0d, 0x0a] => {
                let reader = PcapNgReader::new(input).map_err(|error| refused(&error, "its header"))?;
                Ok(Self::PcapNg(Box::new(reader), Vec::new()))
            }
            [0xa1, 0xb2, 0xc3, 0xd4]
            | [0xa1, 0xb2, 0x3c, 0x4d]
            | [0xd4, 0xc3, 0xb2, 0xa1]
            | [0x4d, 0x3c, 0xb2, 0xa1] => {
                let reader = PcapReader::new(input).map_err(|error| refused(&error, "its header"))?;
                let link = link_type(reader.header().datalink.into())?;
                Ok(Self::Pcap(reader, link))
            }
            [0x1f, 0x8b, ..] => Err("is compressed twice; unpack it once".to_owned()),
            [0x28, 0xb5, 0x2f, 0xfd] => Err("is compressed with zstd; unpack it first".to_owned()),
            _ => Err("is not a pcap or pcapng file; convert it with: editcap FILE COPY.pcapng".to_owned()),
        }
    }

    fn record(&mut self) -> Result<Option<Record<'_>>, String> {
        match self {
            Self::Pcap(reader, link) => {
                let resolution = reader.header().ts_resolution;
                let Some(packet) = reader.next_raw_packet() else { return Ok(None) };
                pcap_record(&packet.map_err(|error| refused(&error, "the packet"))?, resolution, *link).map(Some)
            }
            Self::PcapNg(reader, data) => loop {
                let Some(block) = reader.next_block() else { return Ok(None) };
                let (interface, ticks, original) = match block.map_err(|error| refused(&error, "the packet"))? {
                    Block::EnhancedPacket(packet) => {
                        data.clear();
                        data.extend_from_slice(&packet.data);
                        // The library takes every tick for a nanosecond.
                        (packet.interface_id, packet.timestamp.as_nanos() as u64, packet.original_len)
                    }
                    Block::Packet(packet) => {
                        data.clear();
                        data.extend_from_slice(&packet.data);
                        (u32::from(packet.interface_id), packet.timestamp, packet.original_len)
                    }
                    Block::SimplePacket(_) => {
                        return Err("is a simple packet block, which has no time; capture with times".to_owned());
                    }
                    _ => continue,
                };
                let Some(interface) = reader.interfaces().get(interface as usize) else {
                    return Err(format!(
                        "is of interface {interface}, which the file does not describe; it is damaged"
                    ));
                };
                let link = link_type(interface.linktype.into())?;
                let time = Ticks::of(interface).time(ticks);
                let time = time.ok_or("its time is before 1970 or too far ahead; correct it")?;
                return Ok(Some(Record { time, link, original, data }));
            },
        }
    }
}

fn pcap_record<'a>(packet: &RawPcapPacket<'a>, resolution: TsResolution, link: LinkType) -> Result<Record<'a>, String> {
    let (whole, unit) = match resolution {
        TsResolution::MicroSecond => (1_000_000, 1000),
        TsResolution::NanoSecond => (1_000_000_000, 1),
    };
    if packet.ts_frac >= whole {
        return Err(format!("its time has {} of {whole} parts of a second; the file is damaged", packet.ts_frac));
    }
    let time = Duration::new(u64::from(packet.ts_sec), packet.ts_frac * unit);
    let Cow::Borrowed(data) = &packet.data else { return Err("could not be read in place".to_owned()) };
    Ok(Record { time, link, original: packet.orig_len, data })
}

fn check_lengths(captured: usize, original: u32) -> Result<(), String> {
    if original > LONGEST || captured > LONGEST as usize {
        let length = captured.max(original as usize);
        return Err(format!(
            "says that it is {length} bytes long, and none is longer than {LONGEST}; the file is damaged"
        ));
    }
    if captured > original as usize {
        let message = "bytes were captured of a packet that had";
        return Err(format!("{captured} {message} {original}; the file is damaged"));
    }
    Ok(())
}

fn link_type(number: u32) -> Result<LinkType, String> {
    LinkType::from_number(number).ok_or_else(|| {
        format!(
            "link type {number} is not known here; capture Ethernet (1), raw IP (101), PPP (9, 50, 51, 204), Wi-Fi (105, 127), Linux \
             cooked (113, 276) or loopback (0, 108)"
        )
    })
}

fn refused(error: &PcapError, what: &str) -> String {
    match error {
        PcapError::IoError(error) if error.kind() == io::ErrorKind::UnexpectedEof => format!(
            "the file ends before {what} does: it was cut off, or a length in it is wrong; keep what is whole with: \
             tcpdump -r FILE -w COPY"
        ),
        PcapError::IoError(error) => format!("cannot be read: {error}"),
        other => format!("is damaged ({other}); keep the complete packets with: tcpdump -r FILE -w COPY"),
    }
}
