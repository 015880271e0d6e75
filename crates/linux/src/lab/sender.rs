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
use super::plan::{Plan, kernel_name};
use super::receiver::{PORT, port};
use super::socket::{bytes_not_gone, pace};
use super::stage::Stage;
use super::tcp_info::TcpInfo;

/// IPv4's and TCP's headers without options.
const TCP_HEADERS: u64 = 40;
/// IPv4's and UDP's headers.
const UDP_HEADERS: u64 = 28;
/// ECT(0).
const ECT: u8 = 0b10;
/// How long connections may take to open.
const OPENING: Duration = Duration::from_millis(15_000);
/// After how long the senders look whether they are to end.
const LOOK: Duration = Duration::from_millis(20);
/// A sender that was kept from sending for longer does not make up for more than this.
const MOST_LATE: Duration = Duration::from_millis(500);
/// Data for TCP, which says nothing.
static DATA: [u8; 32 << 10] = [0; 32 << 10];

/// What was sent of one flow, in packets unless said otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sent {
    /// Data, that which was sent again too.
    pub(super) packets: u64,
    /// Sent again.
    pub(super) again: u64,
    /// Retransmission timeouts.
    pub(super) timeouts: u64,
    /// How long TCP had something to send.
    pub(super) busy: Duration,
    /// How much of it its send buffer kept it from sending.
    pub(super) short_of_buffer: Duration,
}

/// What a flow had sent at a moment.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SentBy {
    pub(super) sent: Sent,
    pub(super) cwnd: Option<f64>,
    pub(super) srtt: Option<Duration>,
}

/// What was sent in the window.
#[derive(Debug)]
pub(super) struct AllSent {
    /// What each flow had sent at each moment.
    pub(super) moments: Vec<Vec<SentBy>>,
    pub(super) flows: Vec<Sent>,
    /// Data in a full packet of each flow, in bytes.
    pub(super) payloads: Vec<u64>,
    /// Packets of UDP that should have been sent by the clock.
    pub(super) udp_due: u64,
    /// The most bytes that a connection's packets counted against it that were gone.
    pub(super) not_gone: u32,
    /// TCP's shortest round trip, from the handshakes on; `None` without TCP.
    pub(super) round_trip: Option<Duration>,
}

/// The senders.
pub(super) struct Sender {
    epoll: Epoll,
    flows: Vec<Flow>,
    udp_times: BinaryHeap<Reverse<(Time, usize)>>,
    /// Packets of UDP whose time has come.
    udp_due: u64,
}

struct Flow {
    end: End,
    start: Duration,
    stop: Option<Duration>,
    sending: bool,
}

enum End {
    Tcp {
        connection: TcpStream,
        payload: u64,
    },
    Udp(Box<Datagrams>),
    /// Of TCP that was stopped: what there was of it.
    Stopped {
        sent: Sent,
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
    /// Opens everything in this thread's namespace, once the receivers wait: TCP's connections stand before the scenario begins,
    /// as in the simulator. `seed` is that of the scenario and the run.
    pub(super) fn new(plan: &Plan, seed: Seed, stage: &Stage) -> Result<Self, LabError> {
        let mut sender = Self::open(plan, seed).map_err(setup("the senders"))?;
        sender.connected(stage)?;
        Ok(sender)
    }

    fn open(plan: &Plan, seed: Seed) -> io::Result<Self> {
        let mut flows = Vec::with_capacity(plan.flows.len());
        for (id, (place, index)) in plan.flows.iter().enumerate() {
            let group = plan.group(id as u32);
            let seed = seed.named("flow").named(&group.name).numbered(u64::from(*index));
            flows.push(Flow::open(id as u32, *place, group, seed)?);
        }
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        Ok(Self { epoll, flows, udp_times: BinaryHeap::new(), udp_due: 0 })
    }

    /// Waits until all connections stand.
    fn connected(&mut self, stage: &Stage) -> Result<(), LabError> {
        let failed = |error: io::Error| LabError::Failed("opening TCP's connections", error);
        let end = now() + OPENING;
        for flow in &self.flows {
            let End::Tcp { connection, .. } = &flow.end else { continue };
            loop {
                let mut ready = [PollFd::new(connection.as_fd(), PollFlags::POLLOUT)];
                let opened = ppoll(&mut ready, Some(timeout(LOOK)), None);
                if stage.is_over() {
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

    /// Sends until the stage is over; what was sent in its window.
    pub(super) fn run(mut self, stage: &Stage) -> Result<AllSent, LabError> {
        let failed = |error: io::Error| LabError::Failed("the senders", error);
        // Without it the kernel may let us sleep for 50 us longer than asked for.
        let _ = set_timerslack(1);
        let (mut before, mut sent) = (None, None);
        let (mut ticks, mut samples) = (stage.ticks(), Vec::new());
        while !stage.is_over() {
            let now = now();
            while ticks.come(now, stage).is_some() {
                samples.push(self.flows.iter().map(Flow::sent_by).collect());
            }
            if before.is_none() && now >= stage.from() {
                before = Some((self.counted(), self.udp_due));
            }
            if let Some((before, due)) = before.as_ref().filter(|_| sent.is_none() && now >= stage.to()) {
                sent = Some(self.sent_since(before, *due, mem::take(&mut samples)));
                stage.tell_measured();
            }
            if sent.is_none() {
                let next = self.turn(now, stage).map_err(failed)?.min(ticks.next(stage));
                self.wait(now, next).map_err(failed)?;
            } else {
                // The receivers may go first, and reset the connections.
                let _ = ppoll(&mut [], Some(timeout(LOOK)), None);
            }
        }
        sent.ok_or(LabError::Interrupted)
    }

    /// Starts and stops flows and sends UDP's packets, as the clock says; when there is something to do next.
    fn turn(&mut self, now: Time, stage: &Stage) -> io::Result<Time> {
        let zero = stage.start();
        if now < zero {
            return Ok(zero);
        }
        let mut next = [stage.from(), stage.to()].into_iter().filter(|edge| *edge > now).min().unwrap_or(Time::MAX);
        for (id, flow) in self.flows.iter_mut().enumerate() {
            let (start, stop) = (zero + flow.start, flow.stop.map_or(Time::MAX, |stop| zero + stop));
            if !flow.sending && start <= now && now < stop {
                flow.sending = true;
                match &flow.end {
                    End::Tcp { connection, .. } => {
                        self.epoll.add(connection, EpollEvent::new(EpollFlags::EPOLLOUT, id as u64))?;
                    }
                    End::Udp(_) => self.udp_times.push(Reverse((start, id))),
                    End::Stopped { .. } => {}
                }
            } else if flow.sending && stop <= now {
                flow.sending = false;
                flow.stop = Some(Duration::ZERO);
                if matches!(flow.end, End::Tcp { .. }) {
                    // Closing it forgets what waits in its buffer, which may be seconds of data.
                    let (sent, payload, round_trip) = (flow.sent(), flow.payload(), flow.round_trip());
                    flow.end = End::Stopped { sent, payload, round_trip };
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
            let End::Udp(udp) = &mut flow.end else { continue };
            if !flow.sending {
                continue;
            }
            self.udp_due += 1;
            udp.pace.wake(at);
            udp.pace.advance(udp.bytes);
            if now.since(at) <= MOST_LATE {
                udp.send();
            }
            self.udp_times.push(Reverse((udp.pace.next(), id)));
        }
    }

    /// Waits until `next`, or until a connection takes more data, and gives it some.
    fn wait(&self, now: Time, next: Time) -> io::Result<()> {
        let mut ready = [PollFd::new(self.epoll.0.as_fd(), PollFlags::POLLIN)];
        match ppoll(&mut ready, Some(timeout(next.since(now).min(LOOK))), None) {
            Ok(0) | Err(Errno::EINTR) => return Ok(()),
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        let mut events = [EpollEvent::empty(); 64];
        let ready = self.epoll.wait(&mut events, EpollTimeout::ZERO)?;
        for event in &events[..ready] {
            if let Some(Flow { end: End::Tcp { connection, .. }, .. }) = self.flows.get(event.data() as usize) {
                fill(connection)?;
            }
        }
        Ok(())
    }

    /// What was sent so far.
    fn counted(&self) -> Vec<Sent> {
        self.flows.iter().map(Flow::sent).collect()
    }

    fn sent_since(&self, before: &[Sent], due_before: u64, moments: Vec<Vec<SentBy>>) -> AllSent {
        let flows = self.counted().iter().zip(before).map(|(after, before)| after.since(before)).collect();
        let not_gone = |flow: &Flow| match &flow.end {
            End::Tcp { connection, .. } => bytes_not_gone(connection.as_fd()).unwrap_or(0),
            End::Udp(_) | End::Stopped { .. } => 0,
        };
        AllSent {
            moments,
            flows,
            payloads: self.flows.iter().map(Flow::payload).collect(),
            udp_due: self.udp_due - due_before,
            not_gone: self.flows.iter().map(not_gone).max().unwrap_or(0),
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
                End::Udp(Box::new(Datagrams::open(id, group, udp)?))
            }
            Traffic::Tfrc(_) => return Err(io::ErrorKind::Unsupported.into()),
        };
        Ok(Self { end, start, stop: group.stop, sending: false })
    }

    fn sent(&self) -> Sent {
        match &self.end {
            End::Tcp { connection, .. } => {
                let info = TcpInfo::of(connection.as_fd()).unwrap_or_default();
                Sent {
                    packets: info.sent,
                    again: info.sent_again,
                    timeouts: info.timeouts,
                    busy: info.busy,
                    short_of_buffer: info.short_of_buffer,
                }
            }
            End::Udp(udp) => Sent { packets: udp.number, ..Sent::default() },
            End::Stopped { sent, .. } => *sent,
        }
    }

    fn sent_by(&self) -> SentBy {
        let info = match &self.end {
            End::Tcp { connection, .. } => TcpInfo::of(connection.as_fd()).ok(),
            End::Udp(_) | End::Stopped { .. } => None,
        };
        SentBy {
            sent: self.sent(),
            cwnd: info.map(|info| f64::from(info.window)),
            srtt: info.map(|info| info.smoothed).filter(|smoothed| *smoothed > Duration::ZERO),
        }
    }

    fn round_trip(&self) -> Option<Duration> {
        match &self.end {
            End::Tcp { connection, .. } => TcpInfo::of(connection.as_fd()).ok().map(|info| info.round_trip),
            End::Udp(_) => None,
            End::Stopped { round_trip, .. } => *round_trip,
        }
    }

    fn payload(&self) -> u64 {
        match &self.end {
            // With its options, the connection knows better what fits.
            End::Tcp { connection, payload } => {
                TcpInfo::of(connection.as_fd()).map_or(*payload, |info| u64::from(info.segment))
            }
            End::Udp(udp) => udp.datagram.len() as u64,
            End::Stopped { payload, .. } => *payload,
        }
    }
}

impl Sent {
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

    /// Sends the next datagram. One that the kernel does not take was not sent.
    fn send(&mut self) {
        self.datagram[..8].copy_from_slice(&self.number.to_be_bytes());
        if self.socket.send(&self.datagram).is_ok() {
            self.number += 1;
        }
    }
}

/// A connection that is being opened.
fn open_tcp(id: u32, place: usize, group: &FlowGroup, tcp: &Tcp) -> io::Result<End> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let socket = open(AddressFamily::Inet, SockType::Stream, flags, None)?;
    let payload = group.packet.get() - TCP_HEADERS;
    setsockopt(&socket, TcpCongestion, &OsString::from(kernel_name(tcp)))?;
    setsockopt(&socket, TcpMaxSeg, &(payload as u32))?;
    setsockopt(&socket, Ipv4Tos, &i32::from(group.class))?;
    // It ends by a reset: nothing of it stays behind in the namespace.
    setsockopt(&socket, Linger, &linger { l_onoff: 1, l_linger: 0 })?;
    if tcp.pacing {
        pace(socket.as_fd())?;
    }
    bind(socket.as_raw_fd(), &SockaddrIn::from(SocketAddrV4::new(source(id), 0)))?;
    let to = SockaddrIn::from(SocketAddrV4::new(destination(id), port(place)));
    match connect(socket.as_raw_fd(), &to) {
        Ok(()) | Err(Errno::EINPROGRESS) => Ok(End::Tcp { connection: TcpStream::from(socket), payload }),
        Err(error) => Err(error.into()),
    }
}

/// Gives a connection as much data as it takes.
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
