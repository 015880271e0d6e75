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
use super::plan::{Plan, tcp_of};
use super::socket::clamp_window;
use super::stage::Stage;
use super::tcp_info::TcpInfo;

/// The port of UDP, and of TCP the port of the first group.
pub(super) const PORT: u16 = 20_000;

/// IPv4's and TCP's headers with timestamps.
const MOST_HEADERS: u32 = 52;

/// The receive buffer of UDP: what comes while the receiver is at work elsewhere.
const UDP_BUFFER: usize = 32 << 20;

/// The kernel sets a connection's window anew when it sees the first full segment. Until so many bytes have come it is told again
/// what it is.
const SETTLING: u64 = 256 << 10;

/// What one socket is read for before another has its turn.
const TURN: usize = 64;

/// What came of one flow, in packets unless said otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Received {
    /// Bytes of data that had not come before.
    pub(super) bytes: u64,
    /// Packets of data.
    pub(super) packets: u64,
    /// Datagrams that came after one that was sent later.
    pub(super) disordered: u64,
}

impl Received {
    const fn since(self, before: &Self) -> Self {
        Self {
            bytes: self.bytes - before.bytes,
            packets: self.packets - before.packets,
            disordered: self.disordered - before.disordered,
        }
    }
}

/// What came in the window.
#[derive(Debug)]
pub(super) struct AllReceived {
    /// What of each flow had come at each moment.
    pub(super) moments: Vec<Vec<Received>>,
    pub(super) flows: Vec<Received>,
    /// Datagrams that the receivers had no buffer for.
    pub(super) udp_overflow: u64,
}

/// The receivers.
pub(super) struct Receiver {
    epoll: Epoll,
    /// A listener for each group of TCP, with the groups' windows.
    listeners: Vec<Option<TcpListener>>,
    udp: UdpSocket,
    connections: Vec<Option<TcpStream>>,
    counts: Vec<Received>,
    /// The next sequence number of each flow of UDP.
    next: Vec<u64>,
    /// The window of each flow of TCP, in bytes.
    windows: Vec<u32>,
    buffer: Vec<u8>,
}

/// What epoll says is ready: a flow by its number, or one of these above them.
const UDP_READY: u64 = 1 << 32;
const LISTENER_READY: u64 = 1 << 33;

impl Receiver {
    /// Opens everything in this thread's namespace.
    pub(super) fn new(plan: &Plan) -> Result<Self, LabError> {
        Self::open(plan).map_err(setup("the receivers"))
    }

    fn open(plan: &Plan) -> io::Result<Self> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let udp = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, PORT))?;
        udp.set_nonblocking(true)?;
        setsockopt(&udp, RcvBufForce, &UDP_BUFFER)?;
        epoll.add(&udp, EpollEvent::new(EpollFlags::EPOLLIN, UDP_READY))?;
        let mut listeners = Vec::new();
        // A segment's data is at most the packet without its headers.
        let window = |group: &FlowGroup| {
            tcp_of(group).map(|tcp| tcp.window.saturating_mul(group.packet.get() as u32 - MOST_HEADERS))
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
            counts: vec![Received::default(); flows],
            next: vec![0; flows],
            windows: (0..flows as u32).map(|flow| window(plan.group(flow)).unwrap_or(0)).collect(),
            buffer: vec![0; 256 << 10],
        })
    }

    /// Receives until the stage is over; what came in its window.
    pub(super) fn run(mut self, stage: &Stage) -> Result<AllReceived, LabError> {
        let overflow_before = udp_overflow()?;
        let (mut before, mut received) = (None, None);
        let (mut ticks, mut samples) = (stage.ticks(), Vec::new());
        while !stage.is_over() {
            let now = now();
            while ticks.come(now, stage).is_some() {
                samples.push(self.counted());
            }
            if before.is_none() && now >= stage.from() {
                before = Some(self.counted());
            }
            if let Some(before) = before.as_ref().filter(|_| received.is_none() && now >= stage.to()) {
                let flows = self.counted().iter().zip(before).map(|(after, before)| after.since(before)).collect();
                let udp_overflow = udp_overflow()? - overflow_before;
                received = Some(AllReceived { moments: mem::take(&mut samples), flows, udp_overflow });
                stage.tell_measured();
            }
            self.work(now, stage, ticks.next(stage)).map_err(|error| LabError::Failed("the receivers", error))?;
        }
        received.ok_or(LabError::Interrupted)
    }

    /// Waits for what comes, but not beyond an edge of the window or the next sample, and takes it.
    fn work(&mut self, now: Time, stage: &Stage, sample: Time) -> io::Result<()> {
        let edge = [stage.from(), stage.to(), sample].into_iter().filter(|edge| *edge > now).min().unwrap_or(Time::MAX);
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
                // One that has given up already is no matter.
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

    /// Takes what a connection has.
    fn read(&mut self, flow: usize) {
        let Some(connection) = &mut self.connections[flow] else { return };
        if self.counts[flow].bytes < SETTLING {
            // Should it fail, the window is the buffer's, which is wider.
            let _ = clamp_window(connection.as_fd(), self.windows[flow]);
        }
        for _ in 0..TURN {
            match connection.read(&mut self.buffer) {
                Ok(bytes) if bytes > 0 => self.counts[flow].bytes += bytes as u64,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // The sender ends a connection by resetting it. What the kernel has counted stays.
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

    /// What has come so far. TCP's segments are counted by the kernel.
    fn counted(&self) -> Vec<Received> {
        let segments = |connection: &TcpStream| TcpInfo::of(connection.as_fd()).map_or(0, |info| info.came);
        let flows = self.counts.iter().zip(&self.connections);
        flows
            .map(|(counts, connection)| match connection {
                Some(connection) => Received { packets: segments(connection), ..*counts },
                None => *counts,
            })
            .collect()
    }
}

/// The port of the group at `place`.
pub(super) const fn port(place: usize) -> u16 {
    PORT + place as u16
}

/// A listener whose connections have a window of `window` bytes from the start.
fn listener(port: u16, window: u32) -> nix::Result<TcpListener> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let socket: OwnedFd = open(AddressFamily::Inet, SockType::Stream, flags, None)?;
    // The kernel takes a part of the buffer for the window, and doubles what it is told.
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

/// Datagrams that found no room in a receive buffer of this namespace.
fn udp_overflow() -> Result<u64, LabError> {
    let file = "/proc/thread-self/net/snmp";
    let text = fs::read_to_string(file).map_err(setup(file))?;
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Udp: ")).map(str::split_whitespace);
    let place = lines.next().and_then(|mut names| names.position(|name| name == "RcvbufErrors"));
    let value = place.zip(lines.next()).and_then(|(place, mut values)| values.nth(place));
    Ok(value.and_then(|value| value.parse().ok()).unwrap_or(0))
}
