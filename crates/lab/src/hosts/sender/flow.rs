//! A flow of the senders.

use std::collections::VecDeque;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd;

use fairlane_qdisc::{Duration, Seed, Time};
use fairlane_scenario::{Application, FlowGroup, Phase, Tcp, Traffic};
use fairlane_traffic::{OnOffPeriods, start};
use nix::sys::epoll::{Epoll, EpollEvent, EpollFlags};

use super::connection::{Connector, fill, segment};
use super::counts::{FlowSent, SenderSample};
use super::datagrams::Datagrams;
use super::transfers::{TransferState, Transfers};
use crate::hosts::socket_options::{stop_sending, unsent_bytes};
use crate::hosts::tcp_info::TcpInfo;
use crate::hosts::{PORT, port};
use crate::plan::LabPlan;

/// The longest delay that a UDP sender makes up for.
const MAX_LATE: Duration = Duration::from_millis(500);

/// The port from which datagrams are sent. Receivers for the other direction have [`PORT`] on all addresses.
const FROM_PORT: u16 = PORT - 1;

/// A flow with its sockets.
#[derive(Debug)]
pub(super) struct Flow {
    pub(super) id: u32,
    endpoint: Endpoint,
    /// The time from time zero to the first event.
    pub(super) start: Duration,
    /// The end of the first phase.
    pub(super) stop: Option<Duration>,
    /// Time zero of the scenario.
    pub(super) zero: Time,
    stopped: bool,
    /// The phases after the present one.
    later: VecDeque<Phase>,
    /// Opens the connections of later phases; `None` for UDP.
    connector: Option<Connector>,
    /// The number of connections that were opened for later phases.
    reopened: u64,
}

#[derive(Debug)]
enum Endpoint {
    /// Unlimited data.
    Ftp(Established),
    /// Unlimited data in on periods.
    OnOff {
        established: Established,
        periods: OnOffPeriods,
    },
    Transfers(Box<Transfers>),
    Udp(Box<Datagrams>),
    /// A TCP connection that was stopped.
    Stopped(Past),
}

/// A connection that lasts.
#[derive(Debug)]
struct Established {
    connection: TcpStream,
    payload: u64,
    /// The counts of the connections before.
    past: Past,
}

/// The last counts of connections that were stopped.
#[derive(Clone, Copy, Debug, Default)]
struct Past {
    sent: FlowSent,
    payload: u64,
    round_trip: Option<Duration>,
}

impl Flow {
    /// Opens the sockets of flow `id`, and starts to connect those that are connected before time zero.
    pub(super) fn open(plan: &LabPlan, id: u32, seed: Seed) -> io::Result<Self> {
        let (group, side) = (plan.group(id), plan.side(id));
        let (place, index) = plan.flows[id as usize];
        let seed = seed.named("flow").named(&group.name).numbered(u64::from(index));
        let from = side.host(plan.ip_version, id);
        let to = side.other().host(plan.ip_version, id);
        let mut random = seed.stream("start");
        let mut begin = start(group, &mut random);
        let mut connector = None;
        let endpoint = match &group.traffic {
            Traffic::Tcp(tcp) => {
                let ends = [SocketAddr::new(from, 0), SocketAddr::new(to, port(place))];
                let connector = connector.insert(Connector::new(group, tcp, ends));
                Endpoint::tcp(group, tcp, connector, seed)?
            }
            Traffic::Udp(udp) => {
                let ends = [SocketAddr::new(from, FROM_PORT), SocketAddr::new(to, PORT)];
                let mut datagrams = Datagrams::open((group, udp, index), ends, plan.udp_sizes(), seed)?;
                begin = begin + datagrams.first(&mut random);
                Endpoint::Udp(Box::new(datagrams))
            }
            Traffic::Tfrc(_) | Traffic::Endpoint => return Err(io::ErrorKind::Unsupported.into()),
        };
        Ok(Self {
            id,
            endpoint,
            start: begin,
            stop: group.stop,
            zero: Time::ZERO,
            stopped: false,
            later: group.later_phases.iter().copied().collect(),
            connector,
            reopened: 0,
        })
    }

    /// Returns `true` for TCP.
    pub(super) const fn is_tcp(&self) -> bool {
        self.connector.is_some()
    }

    /// Returns the phases after the present one.
    pub(super) fn later_phases(&self) -> impl Iterator<Item = &Phase> {
        self.later.iter()
    }

    /// Goes on to the first phase that ends after `at`. Returns its start, or `at` if that is past; `None` if there is
    /// none.
    fn next_phase(&mut self, at: Time) -> Option<Time> {
        while let Some(Phase { from, to }) = self.later.pop_front() {
            if self.zero + to > at {
                self.stopped = false;
                return Some(at.max(self.zero + from));
            }
        }
        None
    }

    /// Begins the phase of a TCP flow that is due at `at`: with a new connection, as the one before was reset.
    fn reopen(&mut self, at: Time, epoll: &Epoll, place: u64) -> io::Result<()> {
        let (Endpoint::Stopped(past), Some(connector)) = (&self.endpoint, &self.connector) else { return Ok(()) };
        let established = Established { past: *past, ..Established::open(connector)? };
        epoll.add(&established.connection, EpollEvent::new(EpollFlags::EPOLLOUT, place))?;
        self.endpoint = Endpoint::Ftp(established);
        self.reopened += 1;
        self.next_phase(at);
        Ok(())
    }

    /// Returns the connection that must be established before time zero.
    pub(super) const fn first_connection(&self) -> Option<&TcpStream> {
        match &self.endpoint {
            Endpoint::Ftp(established) | Endpoint::OnOff { established, .. } => Some(&established.connection),
            Endpoint::Transfers(_) | Endpoint::Udp(_) | Endpoint::Stopped(_) => None,
        }
    }

    /// Handles the event of the source that was due at `at`: its start, a packet, a transfer, or the end of a period.
    /// Connections that can be written to are registered as `place`. Returns the time of the next event.
    pub(super) fn on_source(&mut self, (at, now): (Time, Time), epoll: &Epoll, place: u64) -> io::Result<Option<Time>> {
        if self.stopped {
            if !self.is_tcp() {
                return Ok(self.next_phase(at));
            }
            self.reopen(at, epoll, place)?;
            return Ok(None);
        }
        match &mut self.endpoint {
            Endpoint::Ftp(established) => {
                epoll.add(&established.connection, EpollEvent::new(EpollFlags::EPOLLOUT, place))?;
                Ok(None)
            }
            Endpoint::OnOff { established, periods } => {
                let (on, length) = periods.next_period();
                if on {
                    epoll.add(&established.connection, EpollEvent::new(EpollFlags::EPOLLOUT, place))?;
                } else {
                    // It is not registered before the first on period.
                    let _ = epoll.delete(&established.connection);
                }
                Ok(Some(at + length))
            }
            Endpoint::Transfers(transfers) => {
                epoll.add(transfers.begin(now)?, EpollEvent::new(EpollFlags::EPOLLOUT, place))?;
                Ok(None)
            }
            Endpoint::Udp(datagrams) => Ok(Some(at + datagrams.send(now.since(at) > MAX_LATE))),
            Endpoint::Stopped(_) => Ok(None),
        }
    }

    /// Writes to the connection, which is ready. Returns the time of the next event of the source if this makes one.
    pub(super) fn on_ready(&mut self, now: Time, epoll: &Epoll, place: u64) -> io::Result<Option<Time>> {
        match &mut self.endpoint {
            Endpoint::Ftp(established) | Endpoint::OnOff { established, .. } => {
                fill(&established.connection, u64::MAX)?;
                Ok(None)
            }
            Endpoint::Transfers(transfers) => match transfers.continue_current()? {
                TransferState::Writing => Ok(None),
                TransferState::Written => {
                    if let Some(connection) = transfers.connection() {
                        epoll.modify(connection, &mut EpollEvent::new(EpollFlags::EPOLLIN, place))?;
                    }
                    Ok(None)
                }
                TransferState::Over => Ok(transfers.next_pause().map(|pause| now + pause)),
            },
            Endpoint::Udp(_) | Endpoint::Stopped(_) => Ok(None),
        }
    }

    /// Ends the flow. Data in the buffers of its connections are discarded: they may be enough for seconds.
    pub(super) fn stop(&mut self) {
        self.stopped = true;
        if let Some(connection) = self.connection() {
            // If this fails, data sent between the count and the reset are not counted.
            let _ = stop_sending(connection.as_fd());
        }
        match &mut self.endpoint {
            Endpoint::Ftp(_) | Endpoint::OnOff { .. } => {
                let past = Past { sent: self.sent(), payload: self.payload(), round_trip: self.round_trip() };
                self.endpoint = Endpoint::Stopped(past);
            }
            Endpoint::Transfers(transfers) => transfers.stop(),
            Endpoint::Udp(_) | Endpoint::Stopped(_) => {}
        }
    }

    /// Returns `true` for UDP that has not been stopped.
    pub(super) const fn is_sending_udp(&self) -> bool {
        matches!(self.endpoint, Endpoint::Udp(_)) && !self.stopped
    }

    /// Returns the counts so far.
    pub(super) fn sent(&self) -> FlowSent {
        match &self.endpoint {
            Endpoint::Ftp(established) | Endpoint::OnOff { established, .. } => {
                established.past.sent.plus(&FlowSent::of(&established.info()))
            }
            Endpoint::Transfers(transfers) => transfers.sent(),
            Endpoint::Udp(udp) => FlowSent { packets: udp.sent(), ..FlowSent::default() },
            Endpoint::Stopped(past) => past.sent,
        }
    }

    /// Returns the state now.
    pub(super) fn sample(&self) -> SenderSample {
        let info = self.connection().and_then(|connection| TcpInfo::of(connection.as_fd()).ok());
        SenderSample {
            sent: self.sent(),
            cwnd: info.map(|info| f64::from(info.window)),
            srtt: info.map(|info| info.smoothed).filter(|smoothed| *smoothed > Duration::ZERO),
        }
    }

    /// Returns the shortest round trip; `None` for UDP, and before the first.
    pub(super) fn round_trip(&self) -> Option<Duration> {
        match &self.endpoint {
            Endpoint::Ftp(established) | Endpoint::OnOff { established, .. } => {
                [established.info().shortest(), established.past.round_trip].into_iter().flatten().min()
            }
            Endpoint::Transfers(transfers) => transfers.round_trip(),
            Endpoint::Udp(_) => None,
            Endpoint::Stopped(past) => past.round_trip,
        }
    }

    /// Returns the data in a full TCP packet, in bytes; 0 for UDP.
    pub(super) fn payload(&self) -> u64 {
        match &self.endpoint {
            Endpoint::Ftp(Established { connection, payload, .. })
            | Endpoint::OnOff { established: Established { connection, payload, .. }, .. } => {
                segment(connection, *payload)
            }
            Endpoint::Transfers(transfers) => transfers.payload(),
            Endpoint::Udp(_) => 0,
            Endpoint::Stopped(past) => past.payload,
        }
    }

    /// Returns the bytes of the connection's packets that have left and still count against its buffer.
    pub(super) fn unsent_bytes(&self) -> u32 {
        self.connection().and_then(|connection| unsent_bytes(connection.as_fd()).ok()).unwrap_or(0)
    }

    /// Returns the number of connections that were opened during the run, for transfers and phases.
    pub(super) const fn transfers(&self) -> u64 {
        if let Endpoint::Transfers(transfers) = &self.endpoint { transfers.opened() } else { self.reopened }
    }

    fn connection(&self) -> Option<&TcpStream> {
        match &self.endpoint {
            Endpoint::Ftp(established) | Endpoint::OnOff { established, .. } => Some(&established.connection),
            Endpoint::Transfers(transfers) => transfers.connection(),
            Endpoint::Udp(_) | Endpoint::Stopped(_) => None,
        }
    }
}

impl Endpoint {
    fn tcp(group: &FlowGroup, tcp: &Tcp, connector: &Connector, seed: Seed) -> io::Result<Self> {
        let bytes = group.packet.get() as u32;
        match &tcp.application {
            Application::Ftp
            | Application::Web(_)
            | Application::Video(_)
            | Application::Rpc(_)
            | Application::Cbr(_)
            | Application::Own(_) => Established::open(connector).map(Self::Ftp),
            Application::OnOff(config) => Established::open(connector)
                .map(|established| Self::OnOff { established, periods: OnOffPeriods::new(config, seed) }),
            Application::Transfers(config) => {
                Ok(Self::Transfers(Box::new(Transfers::new(connector.clone(), config, bytes, seed))))
            }
        }
    }
}

impl Established {
    /// Starts to open the first connection of a flow.
    fn open(connector: &Connector) -> io::Result<Self> {
        Ok(Self { connection: connector.open()?, payload: connector.payload(), past: Past::default() })
    }

    fn info(&self) -> TcpInfo {
        TcpInfo::of(self.connection.as_fd()).unwrap_or_default()
    }
}
