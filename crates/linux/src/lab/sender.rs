//! The senders of all flows, in one thread.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ffi::OsString;
use std::io::{self, Write};
use std::mem;
use std::net::{SocketAddrV4, TcpStream, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};

use fairlane_qdisc::{Duration, LinkClock, Seed, Time};
use fairlane_scenario::{FlowGroup, Tcp, Traffic, Udp};
use nix::errno::Errno;
use nix::libc::linger;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::prctl::set_timerslack;
use nix::sys::socket::sockopt::{Ipv4Tos, Linger, SocketError, TcpCongestion, TcpMaxSeg};
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrIn, bind, connect, getsockopt, setsockopt, socket as open,
};
use nix::sys::time::TimeSpec;

use crate::clock::now;

use super::error::{LabError, setup};
use super::network::{destination, source};
use super::plan::{LabPlan, kernel_name};
use super::receiver::{PORT, port};
use super::socket::{pace, unsent_bytes};
use super::tcp_info::TcpInfo;
use super::timeline::Timeline;

/// The length of IPv4 and TCP headers without options.
const TCP_HEADERS: u64 = 40;
/// The length of IPv4 and UDP headers.
const UDP_HEADERS: u64 = 28;
/// The ECN codepoint ECT(0).
const ECT: u8 = 0b10;
/// The maximum time to open the connections.
const OPENING: Duration = Duration::from_millis(15_000);
/// The longest wait before the thread checks whether the run has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// The longest delay that a UDP sender makes up for.
const MAX_LATE: Duration = Duration::from_millis(500);
/// The data sent by TCP.
static DATA: [u8; 32 << 10] = [0; 32 << 10];

/// The counts of one flow, in packets unless stated otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FlowSent {
    /// Packets with data, including retransmissions.
    pub(super) packets: u64,
    /// Retransmissions.
    pub(super) again: u64,
    /// Retransmission timeouts.
    pub(super) timeouts: u64,
    /// The time in which TCP had data to send.
    pub(super) busy: Duration,
    /// The part of `busy` in which the send buffer limited TCP.
    pub(super) short_of_buffer: Duration,
}

/// The state of a flow at one sample time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SenderSample {
    pub(super) sent: FlowSent,
    pub(super) cwnd: Option<f64>,
    pub(super) srtt: Option<Duration>,
}

/// The senders' results for the measurement.
#[derive(Debug)]
pub(super) struct SenderResults {
    /// By sample, the state of each flow.
    pub(super) samples: Vec<Vec<SenderSample>>,
    pub(super) flows: Vec<FlowSent>,
    /// By flow, the bytes of data in a full packet.
    pub(super) payloads: Vec<u64>,
    /// UDP packets that should have been sent according to the clock.
    pub(super) udp_due: u64,
    /// The maximum number of bytes of a connection that had left but still counted against its send buffer.
    pub(super) unsent_bytes: u32,
    /// The shortest round trip of TCP since the handshakes; `None` without TCP.
    pub(super) round_trip: Option<Duration>,
}

/// The senders of all flows.
pub(super) struct Sender {
    epoll: Epoll,
    flows: Vec<Flow>,
    udp_times: BinaryHeap<Reverse<(Time, usize)>>,
    /// UDP packets whose time to be sent has come.
    udp_due: u64,
}

struct Flow {
    end: Endpoint,
    start: Duration,
    stop: Option<Duration>,
    sending: bool,
}

enum Endpoint {
    Tcp {
        connection: TcpStream,
        payload: u64,
    },
    Udp(Box<Datagrams>),
    /// A TCP connection that was stopped, with its last counts.
    Stopped {
        sent: FlowSent,
        payload: u64,
        round_trip: Option<Duration>,
    },
}

struct Datagrams {
    socket: UdpSocket,
    datagram: Vec<u8>,
    bytes: u32,
    pace: LinkClock,
    number: u64,
}

impl Sender {
    /// Opens all sockets in this thread's namespace after the receivers are ready. As in the simulator, TCP connections
    /// are established before the scenario begins. `seed` is that of the scenario and the run.
    pub(super) fn new(plan: &LabPlan, seed: Seed, timeline: &Timeline) -> Result<Self, LabError> {
        let mut sender = Self::open(plan, seed).map_err(setup("the senders"))?;
        sender.connected(timeline)?;
        Ok(sender)
    }

    fn open(plan: &LabPlan, seed: Seed) -> io::Result<Self> {
        let mut flows = Vec::with_capacity(plan.flows.len());
        for (id, (place, index)) in plan.flows.iter().enumerate() {
            let group = plan.group(id as u32);
            let seed = seed.named("flow").named(&group.name).numbered(u64::from(*index));
            flows.push(Flow::open(id as u32, *place, group, seed)?);
        }
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        Ok(Self { epoll, flows, udp_times: BinaryHeap::new(), udp_due: 0 })
    }

    /// Waits until all connections are established.
    fn connected(&mut self, timeline: &Timeline) -> Result<(), LabError> {
        let failed = |error: io::Error| LabError::Failed("opening TCP's connections", error);
        let end = now() + OPENING;
        for flow in &self.flows {
            let Endpoint::Tcp { connection, .. } = &flow.end else { continue };
            loop {
                let mut ready = [PollFd::new(connection.as_fd(), PollFlags::POLLOUT)];
                let opened = ppoll(&mut ready, Some(timeout(POLL_INTERVAL)), None);
                if timeline.is_over() {
                    return Err(LabError::Interrupted);
                }
                match opened {
                    Ok(0) | Err(Errno::EINTR) if now() < end => {}
                    Ok(0) => return Err(failed(io::ErrorKind::TimedOut.into())),
                    Ok(_) => break,
                    Err(error) => return Err(failed(error.into())),
                }
            }
            match getsockopt(connection, SocketError) {
                Ok(0) => {}
                Ok(error) => return Err(failed(io::Error::from_raw_os_error(error))),
                Err(error) => return Err(failed(error.into())),
            }
        }
        Ok(())
    }

    /// Sends until the end of the run, and returns the results of the measurement.
    pub(super) fn run(mut self, timeline: &Timeline) -> Result<SenderResults, LabError> {
        let failed = |error: io::Error| LabError::Failed("the senders", error);
        // Without this the kernel may extend each wait by 50 us.
        let _ = set_timerslack(1);
        let (mut before, mut sent) = (None, None);
        let (mut sample_times, mut samples) = (timeline.sample_times(), Vec::new());
        while !timeline.is_over() {
            let now = now();
            while sample_times.take_due(now, timeline).is_some() {
                samples.push(self.flows.iter().map(Flow::sent_by).collect());
            }
            if before.is_none() && now >= timeline.from() {
                before = Some((self.counted(), self.udp_due));
            }
            if let Some((before, due)) = before.as_ref().filter(|_| sent.is_none() && now >= timeline.to()) {
                sent = Some(self.sent_since(before, *due, mem::take(&mut samples)));
                timeline.count_measured();
            }
            if sent.is_none() {
                let next = self.turn(now, timeline).map_err(failed)?.min(sample_times.next(timeline));
                self.wait(now, next).map_err(failed)?;
            } else {
                // The receivers may end first and reset the connections.
                let _ = ppoll(&mut [], Some(timeout(POLL_INTERVAL)), None);
            }
        }
        sent.ok_or(LabError::Interrupted)
    }

    /// Starts and stops flows and sends UDP packets according to the clock. Returns the time of the next event.
    fn turn(&mut self, now: Time, timeline: &Timeline) -> io::Result<Time> {
        let zero = timeline.start();
        if now < zero {
            return Ok(zero);
        }
        let mut next =
            [timeline.from(), timeline.to()].into_iter().filter(|edge| *edge > now).min().unwrap_or(Time::MAX);
        for (id, flow) in self.flows.iter_mut().enumerate() {
            let (start, stop) = (zero + flow.start, flow.stop.map_or(Time::MAX, |stop| zero + stop));
            if !flow.sending && start <= now && now < stop {
                flow.sending = true;
                match &flow.end {
                    Endpoint::Tcp { connection, .. } => {
                        self.epoll.add(connection, EpollEvent::new(EpollFlags::EPOLLOUT, id as u64))?;
                    }
                    Endpoint::Udp(_) => self.udp_times.push(Reverse((start, id))),
                    Endpoint::Stopped { .. } => {}
                }
            } else if flow.sending && stop <= now {
                flow.sending = false;
                flow.stop = Some(Duration::ZERO);
                if matches!(flow.end, Endpoint::Tcp { .. }) {
                    // Closing the connection discards the data in its buffer, which may be enough for seconds.
                    let (sent, payload, round_trip) = (flow.sent(), flow.payload(), flow.round_trip());
                    flow.end = Endpoint::Stopped { sent, payload, round_trip };
                }
            }
            next = [start, stop].into_iter().filter(|at| *at > now).fold(next, Time::min);
        }
        self.datagrams(now);
        Ok(self.udp_times.peek().map_or(next, |Reverse((at, _))| next.min(*at)))
    }

    /// Sends the datagrams whose time has come.
    fn datagrams(&mut self, now: Time) {
        while let Some(&Reverse((at, id))) = self.udp_times.peek() {
            if at > now {
                break;
            }
            self.udp_times.pop();
            let flow = &mut self.flows[id];
            let Endpoint::Udp(udp) = &mut flow.end else { continue };
            if !flow.sending {
                continue;
            }
            self.udp_due += 1;
            udp.pace.wake(at);
            udp.pace.advance(udp.bytes);
            if now.since(at) <= MAX_LATE {
                udp.send();
            }
            self.udp_times.push(Reverse((udp.pace.next(), id)));
        }
    }

    /// Waits until `next`, or until a connection accepts more data, and writes to it.
    fn wait(&self, now: Time, next: Time) -> io::Result<()> {
        let mut ready = [PollFd::new(self.epoll.0.as_fd(), PollFlags::POLLIN)];
        match ppoll(&mut ready, Some(timeout(next.since(now).min(POLL_INTERVAL))), None) {
            Ok(0) | Err(Errno::EINTR) => return Ok(()),
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        let mut events = [EpollEvent::empty(); 64];
        let ready = self.epoll.wait(&mut events, EpollTimeout::ZERO)?;
        for event in &events[..ready] {
            if let Some(Flow { end: Endpoint::Tcp { connection, .. }, .. }) = self.flows.get(event.data() as usize) {
                fill(connection)?;
            }
        }
        Ok(())
    }

    /// Returns the counts so far.
    fn counted(&self) -> Vec<FlowSent> {
        self.flows.iter().map(Flow::sent).collect()
    }

    fn sent_since(&self, before: &[FlowSent], due_before: u64, samples: Vec<Vec<SenderSample>>) -> SenderResults {
        let flows = self.counted().iter().zip(before).map(|(after, before)| after.since(before)).collect();
        let unsent_bytes = |flow: &Flow| match &flow.end {
            Endpoint::Tcp { connection, .. } => unsent_bytes(connection.as_fd()).unwrap_or(0),
            Endpoint::Udp(_) | Endpoint::Stopped { .. } => 0,
        };
        SenderResults {
            samples,
            flows,
            payloads: self.flows.iter().map(Flow::payload).collect(),
            udp_due: self.udp_due - due_before,
            unsent_bytes: self.flows.iter().map(unsent_bytes).max().unwrap_or(0),
            round_trip: self.flows.iter().filter_map(Flow::round_trip).min(),
        }
    }
}

impl Flow {
    fn open(id: u32, place: usize, group: &FlowGroup, seed: Seed) -> io::Result<Self> {
        let mut random = seed.stream("start");
        let spread = group.start_to.as_nanos().saturating_sub(group.start_from.as_nanos());
        let mut start = group.start_from + part(Duration::from_nanos(spread), random.unit());
        let end = match &group.traffic {
            Traffic::Tcp(tcp) => open_tcp(id, place, group, tcp)?,
            Traffic::Udp(udp) => {
                start = start + part(udp.rate.transmission(group.packet.get()), random.unit());
                Endpoint::Udp(Box::new(Datagrams::open(id, group, udp)?))
            }
            Traffic::Tfrc(_) => return Err(io::ErrorKind::Unsupported.into()),
        };
        Ok(Self { end, start, stop: group.stop, sending: false })
    }

    fn sent(&self) -> FlowSent {
        match &self.end {
            Endpoint::Tcp { connection, .. } => {
                let info = TcpInfo::of(connection.as_fd()).unwrap_or_default();
                FlowSent {
                    packets: info.sent,
                    again: info.sent_again,
                    timeouts: info.timeouts,
                    busy: info.busy,
                    short_of_buffer: info.short_of_buffer,
                }
            }
            Endpoint::Udp(udp) => FlowSent { packets: udp.number, ..FlowSent::default() },
            Endpoint::Stopped { sent, .. } => *sent,
        }
    }

    fn sent_by(&self) -> SenderSample {
        let info = match &self.end {
            Endpoint::Tcp { connection, .. } => TcpInfo::of(connection.as_fd()).ok(),
            Endpoint::Udp(_) | Endpoint::Stopped { .. } => None,
        };
        SenderSample {
            sent: self.sent(),
            cwnd: info.map(|info| f64::from(info.window)),
            srtt: info.map(|info| info.smoothed).filter(|smoothed| *smoothed > Duration::ZERO),
        }
    }

    fn round_trip(&self) -> Option<Duration> {
        match &self.end {
            Endpoint::Tcp { connection, .. } => TcpInfo::of(connection.as_fd()).ok().map(|info| info.round_trip),
            Endpoint::Udp(_) => None,
            Endpoint::Stopped { round_trip, .. } => *round_trip,
        }
    }

    fn payload(&self) -> u64 {
        match &self.end {
            // The kernel accounts for the connection's options.
            Endpoint::Tcp { connection, payload } => {
                TcpInfo::of(connection.as_fd()).map_or(*payload, |info| u64::from(info.segment))
            }
            Endpoint::Udp(udp) => udp.datagram.len() as u64,
            Endpoint::Stopped { payload, .. } => *payload,
        }
    }
}

impl FlowSent {
    fn since(&self, before: &Self) -> Self {
        let less = |after: Duration, before: Duration| {
            Duration::from_nanos(after.as_nanos().saturating_sub(before.as_nanos()))
        };
        Self {
            packets: self.packets.saturating_sub(before.packets),
            again: self.again.saturating_sub(before.again),
            timeouts: self.timeouts.saturating_sub(before.timeouts),
            busy: less(self.busy, before.busy),
            short_of_buffer: less(self.short_of_buffer, before.short_of_buffer),
        }
    }
}

impl Datagrams {
    fn open(id: u32, group: &FlowGroup, udp: &Udp) -> io::Result<Self> {
        let socket = UdpSocket::bind((source(id), PORT))?;
        socket.set_nonblocking(true)?;
        setsockopt(&socket, Ipv4Tos, &i32::from(group.class | if udp.ecn { ECT } else { 0 }))?;
        socket.connect((destination(id), PORT))?;
        let bytes = group.packet.get();
        let datagram = vec![0; (bytes - UDP_HEADERS) as usize];
        Ok(Self { socket, datagram, bytes: bytes as u32, pace: LinkClock::new(udp.rate), number: 0 })
    }

    /// Sends the next datagram. It is not counted if the kernel refuses it.
    fn send(&mut self) {
        self.datagram[..8].copy_from_slice(&self.number.to_be_bytes());
        if self.socket.send(&self.datagram).is_ok() {
            self.number += 1;
        }
    }
}

/// Starts to open a connection.
fn open_tcp(id: u32, place: usize, group: &FlowGroup, tcp: &Tcp) -> io::Result<Endpoint> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let socket = open(AddressFamily::Inet, SockType::Stream, flags, None)?;
    let payload = group.packet.get() - TCP_HEADERS;
    setsockopt(&socket, TcpCongestion, &OsString::from(kernel_name(tcp)))?;
    setsockopt(&socket, TcpMaxSeg, &(payload as u32))?;
    setsockopt(&socket, Ipv4Tos, &i32::from(group.class))?;
    // The connection ends with a reset, so that nothing of it remains in the namespace.
    setsockopt(&socket, Linger, &linger { l_onoff: 1, l_linger: 0 })?;
    if tcp.pacing {
        pace(socket.as_fd())?;
    }
    bind(socket.as_raw_fd(), &SockaddrIn::from(SocketAddrV4::new(source(id), 0)))?;
    let to = SockaddrIn::from(SocketAddrV4::new(destination(id), port(place)));
    match connect(socket.as_raw_fd(), &to) {
        Ok(()) | Err(Errno::EINPROGRESS) => Ok(Endpoint::Tcp { connection: TcpStream::from(socket), payload }),
        Err(error) => Err(error.into()),
    }
}

/// Writes to a connection until its buffer is full.
fn fill(mut connection: &TcpStream) -> io::Result<()> {
    loop {
        match connection.write(&DATA) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}

fn part(whole: Duration, ratio: f64) -> Duration {
    Duration::from_nanos((whole.as_nanos() as f64 * ratio) as u64)
}

fn timeout(duration: Duration) -> TimeSpec {
    TimeSpec::new((duration.as_nanos() / 1_000_000_000) as i64, (duration.as_nanos() % 1_000_000_000) as i64)
}
