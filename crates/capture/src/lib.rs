//! Packet captures as arrivals at a queue.
//!
//! [`Capture`] reads a pcap or pcapng file packet by packet, in memory that does not grow with the file. Each
//! [`Packet`] has an arrival time, a length on the wire and parsed headers: its flow, its traffic class and ECN
//! codepoint. [`Flows`] gives each flow a number and keeps the fragments of a datagram together. [`Writer`] writes
//! packets as another capture.
//!
//! Headers are read as far as they were captured: a file that was made with a short snapshot length will do.
//!
//! ```
//! use fairlane_capture::{Capture, Flows, LinkType, Writer};
//! use std::time::Duration;
//!
//! // An IPv4 header alone, ECT(0), of UDP from 10.0.0.1 to 10.0.0.2; 1000 bytes were sent.
//! let packet = [0x45, 2, 3, 232, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
//! let mut writer = Writer::new(Vec::new(), LinkType::Raw)?;
//! writer.write(Duration::from_secs(1), 1000, &packet)?;
//!
//! let file = writer.into_inner();
//! let mut capture = Capture::new("example.pcap", &*file)?;
//! let mut flows = Flows::new();
//! let packet = capture.next_packet()?.ok_or("the file has a packet")?;
//! let flow = flows.number(packet.time, &packet.headers);
//! assert_eq!((flow, packet.headers.bytes, packet.headers.ecn()), (0, 1000, 0b10));
//! assert_eq!(flows.all()[0].to_string(), "udp/10.0.0.1>10.0.0.2");
//! assert!(capture.next_packet()?.is_none());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod capture;
mod clock;
mod direction;
mod error;
mod flows;
mod write;

pub use capture::{Capture, Late, Packet};
pub use error::CaptureError;
pub use fairlane_qdisc::headers::{
    FlowId, FlowName, FlowsBy, Fragment, Headers, LinkType, Network, UnknownFlowsBy, UnknownNetwork,
};
pub use flows::Flows;
pub use write::Writer;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
