//! The receivers of all flows, in one thread.

use std::fs;
use std::io::{self, Read};
use std::mem;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};

use fairlane_qdisc::Time;
use fairlane_scenario::FlowGroup;
use nix::libc::linger;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::socket::sockopt::{Linger, RcvBufForce};
use nix::sys::socket::{
    AddressFamily, Backlog, SockFlag, SockType, SockaddrIn, bind, listen, setsockopt, socket as open,
};

use crate::clock::now;

use super::error::{LabError, setup};
use super::network::flow_of;
use super::plan::{LabPlan, tcp_of};
use super::socket::clamp_window;
use super::tcp_info::TcpInfo;
use super::timeline::Timeline;

/// The port of UDP, and of the first TCP group.
pub(super) const PORT: u16 = 20_000;

/// The length of IPv4 and TCP headers with timestamps.
const MAX_HEADERS: u32 = 52;

/// The size of the UDP receive buffer, which holds datagrams while the thread does other work.
const UDP_BUFFER: usize = 32 << 20;

/// The kernel recalculates a connection's window when it receives the first full segment. The window is set again until
/// this many bytes have been received.
const SETTLING: u64 = 256 << 10;

/// The number of reads from one socket before another has its turn.
const TURN: usize = 64;

/// The counts of one flow, in packets unless stated otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FlowReceived {
    /// New bytes of data.
    pub(super) bytes: u64,
    /// Packets with data.
    pub(super) packets: u64,
    /// Datagrams that arrived after one that was sent later.
    pub(super) disordered: u64,
}

impl FlowReceived {
    const fn since(self, before: &Self) -> Self {
        Self {
            bytes: self.bytes - before.bytes,
            packets: self.packets - before.packets,
            disordered: self.disordered - before.disordered,
        }
    }
}

/// The receivers' results for the measurement.
#[derive(Debug)]
pub(super) struct ReceiverResults {
    /// By sample, the counts of each flow.
    pub(super) samples: Vec<Vec<FlowReceived>>,
    pub(super) flows: Vec<FlowReceived>,
    /// Datagrams dropped because a receive buffer was full.
    pub(super) udp_overflow: u64,
}

/// The receivers of all flows.
pub(super) struct Receiver {
    epoll: Epoll,
    /// A listener for each TCP group.
    listeners: Vec<Option<TcpListener>>,
    udp: UdpSocket,
    connections: Vec<Option<TcpStream>>,
    counts: Vec<FlowReceived>,
    /// By flow, the next sequence number of UDP.
    next: Vec<u64>,
    /// By flow, the TCP window in bytes.
    windows: Vec<u32>,
    buffer: Vec<u8>,
}

/// Values that identify sockets in epoll events. A connection is identified by its flow's number, which is below both.
const UDP_READY: u64 = 1 << 32;
const LISTENER_READY: u64 = 1 << 33;

impl Receiver {
    /// Opens all sockets in this thread's namespace.
    pub(super) fn new(plan: &LabPlan) -> Result<Self, LabError> {
        Self::open(plan).map_err(setup("the receivers"))
    }

    fn open(plan: &LabPlan) -> io::Result<Self> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let udp = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, PORT))?;
        udp.set_nonblocking(true)?;
        setsockopt(&udp, RcvBufForce, &UDP_BUFFER)?;
        epoll.add(&udp, EpollEvent::new(EpollFlags::EPOLLIN, UDP_READY))?;
        let mut listeners = Vec::new();
        // The data of a segment are the packet without its headers.
        let window = |group: &FlowGroup| {
            tcp_of(group).map(|tcp| tcp.window.saturating_mul(group.packet.get() as u32 - MAX_HEADERS))
        };
        for (place, group) in plan.scenario.flows.iter().enumerate() {
            let listener = window(group).map(|window| listener(port(place), window)).transpose()?;
            if let Some(listener) = &listener {
                let event = EpollEvent::new(EpollFlags::EPOLLIN, LISTENER_READY + place as u64);
                epoll.add(listener, event)?;
            }
            listeners.push(listener);
        }
        let flows = plan.flows.len();
        Ok(Self {
            epoll,
            listeners,
            udp,
            connections: (0..flows).map(|_| None).collect(),
            counts: vec![FlowReceived::default(); flows],
            next: vec![0; flows],
            windows: (0..flows as u32).map(|flow| window(plan.group(flow)).unwrap_or(0)).collect(),
            buffer: vec![0; 256 << 10],
        })
    }

    /// Receives until the end of the run, and returns the results of the measurement.
    pub(super) fn run(mut self, timeline: &Timeline) -> Result<ReceiverResults, LabError> {
        let overflow_before = udp_overflow()?;
        let (mut before, mut received) = (None, None);
        let (mut sample_times, mut samples) = (timeline.sample_times(), Vec::new());
        while !timeline.is_over() {
            let now = now();
            while sample_times.take_due(now, timeline).is_some() {
                samples.push(self.counted());
            }
            if before.is_none() && now >= timeline.from() {
                before = Some(self.counted());
            }
            if let Some(before) = before.as_ref().filter(|_| received.is_none() && now >= timeline.to()) {
                let flows = self.counted().iter().zip(before).map(|(after, before)| after.since(before)).collect();
                let udp_overflow = udp_overflow()? - overflow_before;
                received = Some(ReceiverResults { samples: mem::take(&mut samples), flows, udp_overflow });
                timeline.count_measured();
            }
            self.work(now, timeline, sample_times.next(timeline))
                .map_err(|error| LabError::Failed("the receivers", error))?;
        }
        received.ok_or(LabError::Interrupted)
    }

    /// Waits for data, but not beyond the next edge of the measurement or the next sample, and receives it.
    fn work(&mut self, now: Time, timeline: &Timeline, sample: Time) -> io::Result<()> {
        let edge =
            [timeline.from(), timeline.to(), sample].into_iter().filter(|edge| *edge > now).min().unwrap_or(Time::MAX);
        let millis = edge.since(now).as_nanos().div_ceil(1_000_000).min(20);
        let mut events = [EpollEvent::empty(); 64];
        let ready = match self.epoll.wait(&mut events, EpollTimeout::from(millis as u8)) {
            Ok(ready) => ready,
            Err(nix::errno::Errno::EINTR) => 0,
            Err(error) => return Err(error.into()),
        };
        for event in &events[..ready] {
            match event.data() {
                UDP_READY => self.datagrams()?,
                listener if listener >= LISTENER_READY => self.accept((listener - LISTENER_READY) as usize)?,
                flow => self.read(flow as usize),
            }
        }
        Ok(())
    }

    fn accept(&mut self, place: usize) -> io::Result<()> {
        let Some(listener) = &self.listeners[place] else { return Ok(()) };
        loop {
            let (connection, from) = match listener.accept() {
                Ok(accepted) => accepted,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                // A connection that was given up already is ignored.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
                Err(error) => return Err(error),
            };
            let Some(flow) = flow_at(from).filter(|flow| *flow < self.connections.len()) else { continue };
            connection.set_nonblocking(true)?;
            clamp_window(connection.as_fd(), self.windows[flow])?;
            self.epoll.add(&connection, EpollEvent::new(EpollFlags::EPOLLIN, flow as u64))?;
            self.connections[flow] = Some(connection);
        }
    }

    /// Reads the data of a connection.
    fn read(&mut self, flow: usize) {
        let Some(connection) = &mut self.connections[flow] else { return };
        if self.counts[flow].bytes < SETTLING {
            // If this fails, the window is limited by the buffer, which is larger.
            let _ = clamp_window(connection.as_fd(), self.windows[flow]);
        }
        for _ in 0..TURN {
            match connection.read(&mut self.buffer) {
                Ok(bytes) if bytes > 0 => self.counts[flow].bytes += bytes as u64,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // The sender ends a connection with a reset. The kernel's counts remain.
                Ok(_) | Err(_) => {
                    let _ = self.epoll.delete(connection);
                    return;
                }
            }
        }
    }

    fn datagrams(&mut self) -> io::Result<()> {
        for _ in 0..TURN {
            match self.udp.recv_from(&mut self.buffer) {
                Ok((bytes, from)) => {
                    let number = self.buffer[..bytes].first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes));
                    let Some(flow) = flow_at(from).filter(|flow| *flow < self.counts.len()) else { continue };
                    let (counts, next) = (&mut self.counts[flow], &mut self.next[flow]);
                    counts.bytes += bytes as u64;
                    counts.packets += 1;
                    counts.disordered += u64::from(number < *next);
                    *next = number + 1;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Returns the counts so far. The kernel counts TCP segments.
    fn counted(&self) -> Vec<FlowReceived> {
        let segments = |connection: &TcpStream| TcpInfo::of(connection.as_fd()).map_or(0, |info| info.came);
        let flows = self.counts.iter().zip(&self.connections);
        flows
            .map(|(counts, connection)| match connection {
                Some(connection) => FlowReceived { packets: segments(connection), ..*counts },
                None => *counts,
            })
            .collect()
    }
}

/// Returns the port of the group at index `place`.
pub(super) const fn port(place: usize) -> u16 {
    PORT + place as u16
}

/// Opens a listener whose connections have a window of `window` bytes from the start.
fn listener(port: u16, window: u32) -> nix::Result<TcpListener> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let socket: OwnedFd = open(AddressFamily::Inet, SockType::Stream, flags, None)?;
    // The kernel doubles the value and uses a part of the buffer for the window.
    setsockopt(&socket, RcvBufForce, &(window as usize).saturating_mul(2).clamp(64 << 10, 512 << 20))?;
    clamp_window(socket.as_fd(), window)?;
    setsockopt(&socket, Linger, &linger { l_onoff: 1, l_linger: 0 })?;
    bind(std::os::fd::AsRawFd::as_raw_fd(&socket), &SockaddrIn::from(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, port)))?;
    listen(&socket, Backlog::MAXCONN)?;
    Ok(TcpListener::from(socket))
}

fn flow_at(from: SocketAddr) -> Option<usize> {
    match from.ip() {
        IpAddr::V4(address) => flow_of(address).map(|flow| flow as usize),
        IpAddr::V6(_) => None,
    }
}

/// Returns the number of datagrams dropped because a receive buffer of this namespace was full.
fn udp_overflow() -> Result<u64, LabError> {
    let file = "/proc/thread-self/net/snmp";
    let text = fs::read_to_string(file).map_err(setup(file))?;
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Udp: ")).map(str::split_whitespace);
    let place = lines.next().and_then(|mut names| names.position(|name| name == "RcvbufErrors"));
    let value = place.zip(lines.next()).and_then(|(place, mut values)| values.nth(place));
    Ok(value.and_then(|value| value.parse().ok()).unwrap_or(0))
}
