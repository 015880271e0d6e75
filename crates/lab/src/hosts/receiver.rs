//! The receivers of the flows whose data come from one side, in one thread.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Read};
use std::mem;
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use fairlane_linux::now;
use fairlane_qdisc::Time;
use fairlane_scenario::{Application, FlowGroup, Tcp};
use nix::libc::linger;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::socket::sockopt::{Linger, RcvBuf, RcvBufForce, TcpCongestion};
use nix::sys::socket::{Backlog, SockFlag, SockType, SockaddrStorage, bind, listen, setsockopt, socket as open};

use crate::address::{IpVersion, Side, flow_of};
use crate::error::{LabError, setup};
use crate::hosts::socket_options::clamp_window;
use crate::hosts::tcp_info::TcpInfo;
use crate::hosts::transfer::TransferHeader;
use crate::hosts::{PORT, UDP_HEADER, port};
use crate::plan::{LabPlan, kernel_name, tcp_of};
use crate::timeline::Timeline;

/// The length of a TCP header with timestamps.
const TCP_HEADER: u32 = 32;

/// The size of the UDP receive buffer, which holds datagrams while the thread does other work.
const UDP_BUFFER: usize = 32 << 20;

/// The kernel recalculates a connection's window when it receives the first full segment. The window is set again until
/// this many bytes have been received.
const SETTLING: u64 = 256 << 10;

/// The number of reads from one socket before another has its turn.
const TURN: usize = 64;

/// The counts of one flow, in packets unless stated otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FlowReceived {
    /// New bytes: of TCP those of the data, of UDP those of whole packets.
    pub(crate) bytes: u64,
    /// Packets with data.
    pub(crate) packets: u64,
    /// Datagrams that arrived after one that was sent later.
    pub(crate) disordered: u64,
}

impl FlowReceived {
    /// Returns the bytes of the packets with data that have arrived; these are the counts of flow `flow`.
    pub(crate) fn delivered_bytes(&self, plan: &LabPlan, flow: u32) -> u64 {
        if plan.is_udp(flow) { self.bytes } else { self.packets * plan.group(flow).packet.get() }
    }

    pub(crate) const fn plus(self, other: &Self) -> Self {
        Self {
            bytes: self.bytes + other.bytes,
            packets: self.packets + other.packets,
            disordered: self.disordered + other.disordered,
        }
    }

    const fn since(self, before: &Self) -> Self {
        Self {
            bytes: self.bytes - before.bytes,
            packets: self.packets - before.packets,
            disordered: self.disordered - before.disordered,
        }
    }
}

/// The receivers' results for the measurement. Flows whose data come from the other side have counts of zero.
#[derive(Debug)]
pub(crate) struct ReceiverResults {
    /// By sample, the counts of each flow.
    pub(crate) samples: Vec<Vec<FlowReceived>>,
    pub(crate) flows: Vec<FlowReceived>,
    /// Datagrams dropped because a receive buffer was full.
    pub(crate) udp_overflow: u64,
    /// By flow, the durations in nanoseconds of the transfers that were completed.
    pub(crate) completions: Vec<Vec<u64>>,
}

impl ReceiverResults {
    /// Adds the results of the other side.
    pub(crate) fn join(mut self, other: Self) -> Self {
        for (samples, others) in self.samples.iter_mut().zip(&other.samples) {
            for (sample, other) in samples.iter_mut().zip(others) {
                *sample = sample.plus(other);
            }
        }
        for (flow, other) in self.flows.iter_mut().zip(&other.flows) {
            *flow = flow.plus(other);
        }
        for (completed, other) in self.completions.iter_mut().zip(other.completions) {
            completed.extend(other);
        }
        self.udp_overflow += other.udp_overflow;
        self
    }
}

/// The receivers of the flows whose data come from one side.
pub(crate) struct Receiver {
    epoll: Epoll,
    /// A listener for each TCP group.
    listeners: Vec<Option<TcpListener>>,
    udp: UdpSocket,
    ip_version: IpVersion,
    connections: Vec<Option<TcpStream>>,
    /// By flow, the current transfer; `None` for flows without transfers.
    transfers: Vec<Option<Incoming>>,
    /// By flow, the counts, without the packets of the current TCP connection.
    counts: Vec<FlowReceived>,
    /// By flow, the bytes before the current TCP connection.
    bytes_before: Vec<u64>,
    /// By flow, the durations in nanoseconds of completed transfers.
    completions: Vec<Vec<u64>>,
    /// By flow, the next sequence number of UDP.
    next: Vec<u64>,
    /// By flow, the TCP window in bytes.
    windows: Vec<u32>,
    buffer: Vec<u8>,
}

/// A transfer that arrives.
#[derive(Clone, Copy, Debug, Default)]
struct Incoming {
    /// Its first bytes.
    first: [u8; TransferHeader::LEN],
    /// Bytes so far.
    bytes: u64,
}

/// Values that identify sockets in epoll events. A connection is identified by its flow's number, which is below both.
const UDP_READY: u64 = 1 << 32;
const LISTENER_READY: u64 = 1 << 33;

impl Receiver {
    /// Opens all sockets in this thread's namespace, for data that come from `side`.
    pub(crate) fn new(plan: &LabPlan, side: Side) -> Result<Self, LabError> {
        Self::open(plan, side).map_err(setup("the receivers"))
    }

    fn open(plan: &LabPlan, side: Side) -> io::Result<Self> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let ip_version = plan.ip_version;
        let udp = UdpSocket::bind((ip_version.any(), PORT))?;
        udp.set_nonblocking(true)?;
        setsockopt(&udp, RcvBufForce, &UDP_BUFFER).or_else(|_| setsockopt(&udp, RcvBuf, &UDP_BUFFER))?;
        epoll.add(&udp, EpollEvent::new(EpollFlags::EPOLLIN, UDP_READY))?;
        let mut listeners = Vec::new();
        // The data of a segment are the packet without its headers.
        let headers = ip_version.header() + TCP_HEADER;
        let window = |group: &FlowGroup, tcp: &Tcp| {
            tcp.window.saturating_mul((group.packet.get() as u32).saturating_sub(headers))
        };
        for (place, group) in plan.scenario.flows.iter().enumerate() {
            let tcp = tcp_of(group).filter(|_| Side::of(group) == side);
            let listen = |tcp| listener(SocketAddr::new(ip_version.any(), port(place)), tcp, window(group, tcp));
            let listener = tcp.map(listen).transpose()?;
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
            ip_version,
            connections: (0..flows).map(|_| None).collect(),
            transfers: (0..flows as u32).map(|flow| transfers(plan.group(flow))).collect(),
            counts: vec![FlowReceived::default(); flows],
            bytes_before: vec![0; flows],
            completions: vec![Vec::new(); flows],
            next: vec![0; flows],
            windows: (0..flows as u32)
                .map(|flow| tcp_of(plan.group(flow)).map_or(0, |tcp| window(plan.group(flow), tcp)))
                .collect(),
            buffer: vec![0; 256 << 10],
        })
    }

    /// Receives until the end of the run, and returns the results of the measurement.
    pub(crate) fn run(mut self, timeline: &Timeline) -> Result<ReceiverResults, LabError> {
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
                self.completions.iter_mut().for_each(Vec::clear);
            }
            if let Some(before) = before.as_ref().filter(|_| received.is_none() && now >= timeline.to()) {
                let flows = self.counted().iter().zip(before).map(|(after, before)| after.since(before)).collect();
                let udp_overflow = udp_overflow()? - overflow_before;
                let completions = self.completions.clone();
                received = Some(ReceiverResults { samples: mem::take(&mut samples), flows, udp_overflow, completions });
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
        loop {
            let Some(listener) = &self.listeners[place] else { return Ok(()) };
            let (connection, from) = match listener.accept() {
                Ok(accepted) => accepted,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                // A connection that was given up already is ignored.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
                Err(error) => return Err(error),
            };
            let Some(flow) = flow_at(from).filter(|flow| *flow < self.connections.len()) else { continue };
            self.end_phase(flow);
            connection.set_nonblocking(true)?;
            clamp_window(connection.as_fd(), self.windows[flow])?;
            self.epoll.add(&connection, EpollEvent::new(EpollFlags::EPOLLIN, flow as u64))?;
            self.connections[flow] = Some(connection);
        }
    }

    /// Counts the connection of the phase before the one that begins, if there is one. The reset that ended it may be
    /// lost.
    fn end_phase(&mut self, flow: usize) {
        self.read(flow);
        if let Some(connection) = self.connections[flow].take() {
            // One that has ended is no longer registered.
            let _ = self.epoll.delete(&connection);
            self.counts[flow].packets += segments(&connection);
        }
        self.bytes_before[flow] = self.counts[flow].bytes;
    }

    /// Reads the data of a connection.
    fn read(&mut self, flow: usize) {
        let Some(connection) = &mut self.connections[flow] else { return };
        let received = self.counts[flow].bytes - self.bytes_before[flow];
        if received < SETTLING {
            // If this fails, the window is limited by the buffer, which is larger.
            let _ = clamp_window(connection.as_fd(), self.windows[flow]);
        }
        for _ in 0..TURN {
            match connection.read(&mut self.buffer) {
                Ok(bytes) if bytes > 0 => {
                    self.counts[flow].bytes += bytes as u64;
                    if let Some(transfer) = &mut self.transfers[flow] {
                        self.completions[flow].extend(transfer.receive(&self.buffer[..bytes], now()));
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Ok(_) | Err(_) => return self.ended(flow),
            }
        }
    }

    /// Notes that the sender has ended a connection: of a transfer when all is sent, and else with a reset.
    fn ended(&mut self, flow: usize) {
        let Some(connection) = &self.connections[flow] else { return };
        let _ = self.epoll.delete(connection);
        if let Some(transfer) = &mut self.transfers[flow] {
            *transfer = Incoming::default();
            self.counts[flow].packets += segments(connection);
            self.connections[flow] = None;
        }
        // Another connection remains, for the kernel's counts.
    }

    fn datagrams(&mut self) -> io::Result<()> {
        for _ in 0..TURN {
            match self.udp.recv_from(&mut self.buffer) {
                Ok((bytes, from)) => {
                    let number = self.buffer[..bytes].first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes));
                    let Some(flow) = flow_at(from).filter(|flow| *flow < self.counts.len()) else { continue };
                    let (counts, next) = (&mut self.counts[flow], &mut self.next[flow]);
                    counts.bytes += u64::from(self.ip_version.header() + UDP_HEADER) + bytes as u64;
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
        let flows = self.counts.iter().zip(&self.connections);
        let counted = |(counts, connection): (&FlowReceived, &Option<TcpStream>)| {
            let current = connection.as_ref().map_or(0, segments);
            FlowReceived { packets: counts.packets + current, ..*counts }
        };
        flows.map(counted).collect()
    }
}

impl Incoming {
    /// Receives a part of a transfer. Returns its duration in nanoseconds if this completes it.
    fn receive(&mut self, part: &[u8], now: Time) -> Option<u64> {
        let had = self.bytes;
        if let Some(missing) = self.first.get_mut(usize::try_from(had).unwrap_or(usize::MAX)..) {
            let here = missing.len().min(part.len());
            missing[..here].copy_from_slice(&part[..here]);
        }
        self.bytes += part.len() as u64;
        if self.bytes < TransferHeader::LEN as u64 {
            return None;
        }
        let TransferHeader { bytes, began } = TransferHeader::read(&self.first)?;
        (had < bytes && self.bytes >= bytes).then(|| now.since(began).as_nanos())
    }
}

/// Returns the segments with data that a connection has received.
fn segments(connection: &TcpStream) -> u64 {
    TcpInfo::of(connection.as_fd()).map_or(0, |info| info.came)
}

fn transfers(group: &FlowGroup) -> Option<Incoming> {
    tcp_of(group).and_then(|tcp| matches!(tcp.application, Application::Transfers(_)).then(Incoming::default))
}

/// Opens a listener for connections of `tcp` that have a window of `window` bytes from the start.
fn listener(address: SocketAddr, tcp: &Tcp, window: u32) -> nix::Result<TcpListener> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let socket: OwnedFd = open(IpVersion::of(address.ip()).domain(), SockType::Stream, flags, None)?;
    // DCTCP's receiver acknowledges marks in its own way (RFC 8257).
    setsockopt(&socket, TcpCongestion, &OsString::from(kernel_name(tcp)))?;
    // The kernel doubles the value and uses a part of the buffer for the window. Without root the buffer only grows.
    let _ = setsockopt(&socket, RcvBufForce, &(window as usize).saturating_mul(2).clamp(64 << 10, 512 << 20));
    clamp_window(socket.as_fd(), window)?;
    if !matches!(tcp.application, Application::Transfers(_)) {
        setsockopt(&socket, Linger, &linger { l_onoff: 1, l_linger: 0 })?;
    }
    bind(socket.as_raw_fd(), &SockaddrStorage::from(address))?;
    listen(&socket, Backlog::MAXCONN)?;
    Ok(TcpListener::from(socket))
}

fn flow_at(from: SocketAddr) -> Option<usize> {
    flow_of(from.ip()).map(|flow| flow as usize)
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

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: 40 bytes in parts that cut the header. Would catch a transfer that completes early, late or twice.
    #[test]
    fn a_transfer_completes_with_its_last_byte() {
        let at = |nanos: u64| Time::from_nanos(1_000_000 + nanos);
        let mut data = TransferHeader { bytes: 40, began: at(0) }.to_bytes().to_vec();
        data.resize(40, 0);
        let mut incoming = Incoming::default();
        let parts = [(&data[..5], 10), (&data[5..20], 20), (&data[20..39], 30), (&data[39..], 40)];
        let completed = parts.map(|(part, nanos)| incoming.receive(part, at(nanos)));
        assert_eq!(completed, [None, None, None, Some(40)]);
        assert_eq!(incoming.receive(&[0], at(50)), None);
    }
}
