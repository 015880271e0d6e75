//! A UDP flow.

use std::io;
use std::net::{SocketAddr, UdpSocket};

use fairlane_qdisc::{Duration, Seed, Stream};
use fairlane_scenario::{FlowGroup, Udp};
use fairlane_traffic as traffic;

use crate::address::IpVersion;
use crate::hosts::UDP_HEADER;
use crate::hosts::socket_options::set_class;

/// The ECN codepoint ECT(0).
const ECT: u8 = 0b10;

/// A socket, and the packets that it sends.
#[derive(Debug)]
pub(super) struct Datagrams {
    socket: UdpSocket,
    packets: traffic::Datagrams,
    /// The least and the largest packet in bytes.
    sizes: [u32; 2],
    /// The length of all headers.
    headers: u32,
    buffer: Vec<u8>,
    number: u64,
}

impl Datagrams {
    /// Opens the socket of flow `index` of `group`, from one address to another. Packets have `sizes` at least and at
    /// most.
    pub(super) fn open(
        (group, udp, index): (&FlowGroup, &Udp, u32),
        [from, to]: [SocketAddr; 2],
        sizes: [u32; 2],
        seed: Seed,
    ) -> io::Result<Self> {
        let socket = UdpSocket::bind(from)?;
        socket.set_nonblocking(true)?;
        let ip_version = IpVersion::of(from.ip());
        set_class(&socket, ip_version, group.class | if udp.ecn { ECT } else { 0 })?;
        socket.connect(to)?;
        let headers = UDP_HEADER + ip_version.header();
        let packets = traffic::Datagrams::new(udp, index, group.packet.get() as u32, seed);
        Ok(Self { socket, packets, sizes, headers, buffer: vec![0; sizes[1] as usize], number: 0 })
    }

    /// Returns the time from the flow's start to its first packet. `start` is the stream from which the start was
    /// drawn.
    pub(super) fn first(&mut self, start: &mut Stream) -> Duration {
        self.packets.first(start)
    }

    /// Sends the next datagram, or leaves it out. One that the kernel refuses is not counted. Returns the time to the
    /// one after it.
    pub(super) fn send(&mut self, leave_out: bool) -> Duration {
        let [least, most] = self.sizes;
        let bytes = self.packets.bytes().clamp(least, most) - self.headers;
        if !leave_out {
            let datagram = &mut self.buffer[..bytes as usize];
            datagram[..8].copy_from_slice(&self.number.to_be_bytes());
            self.number += u64::from(self.socket.send(datagram).is_ok());
        }
        self.packets.next_gap()
    }

    /// Returns the number of datagrams sent.
    pub(super) const fn sent(&self) -> u64 {
        self.number
    }
}
