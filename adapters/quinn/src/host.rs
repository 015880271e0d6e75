//! A host with one connection.

use std::collections::VecDeque;
use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use bytes::Bytes;
use fairlane_qdisc::Time;
use fairlane_sim::endpoint::{Ecn, Endpoint, Outgoing};
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint, Event, StreamId, Transmit,
};

use crate::{Lost, NAME};

/// The headers of IPv4 and UDP, in bytes.
const HEADERS: u32 = 28;

/// The server's address, of those for documentation (RFC 5737).
const SERVER: ([u8; 4], u16) = ([192, 0, 2, 1], 443);

/// Returns the client's address after this many changes, modulo 256.
fn client_address(changes: u8) -> SocketAddr {
    (Ipv4Addr::new(198, 51, 100, changes), 443).into()
}

/// The data that the server sends again and again.
static DATA: [u8; 65_536] = [0; 65_536];

/// The application.
pub(crate) enum Role {
    /// Connects, and reads all streams.
    Client {
        config: ClientConfig,
        /// The times at which the host's address changes, the next one first.
        address_changes: VecDeque<Time>,
    },
    /// Sends a stream without end.
    Server { stream: Option<StreamId> },
}

/// An endpoint of quinn with its connection, once there is one.
///
/// A datagram's last byte is the client's address, as the IP header has it: [`client_address`].
pub(crate) struct Host {
    /// The instant of time zero.
    start: Instant,
    endpoint: quinn_proto::Endpoint,
    pub(crate) connection: Option<(ConnectionHandle, Connection)>,
    pub(crate) lost: Option<Lost>,
    role: Role,
    /// The changes of the client's address so far; only the client counts them.
    changes: u8,
    /// Datagrams that belong to no connection, such as refusals.
    responses: VecDeque<(Transmit, Vec<u8>)>,
    delivered: u64,
}

impl Host {
    pub(crate) fn new(start: Instant, endpoint: quinn_proto::Endpoint, role: Role) -> Self {
        Self {
            start,
            endpoint,
            connection: None,
            lost: None,
            role,
            changes: 0,
            responses: VecDeque::new(),
            delivered: 0,
        }
    }

    fn instant(&self, now: Time) -> Instant {
        self.start + Duration::from_nanos(now.as_nanos())
    }

    /// Handles a QUIC event: accepts a new connection, or passes the event to the open connection.
    fn handle(&mut self, now: Instant, event: DatagramEvent, mut buffer: Vec<u8>) {
        match event {
            DatagramEvent::NewConnection(incoming) => match self.endpoint.accept(incoming, now, &mut buffer, None) {
                Ok(connection) => self.connection = Some(connection),
                Err(refused) => self.responses.extend(refused.response.map(|transmit| (transmit, buffer))),
            },
            DatagramEvent::ConnectionEvent(handle, event) => {
                let connection = self.connection.as_mut().filter(|(own, _)| *own == handle);
                if let Some((_, connection)) = connection {
                    connection.handle_event(event);
                }
            }
            DatagramEvent::Response(transmit) => self.responses.push_back((transmit, buffer)),
        }
    }

    /// Lets the endpoint, the connection and the application react to each other.
    fn settle(&mut self, now: Time) {
        let Some((handle, connection)) = &mut self.connection else { return };
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(event);
            }
        }
        while let Some(event) = connection.poll() {
            if let Event::ConnectionLost { reason } = event {
                self.lost.get_or_insert(Lost { at: now, reason });
            }
        }
        match &mut self.role {
            Role::Client { .. } => self.delivered += read(connection),
            Role::Server { stream } => write(connection, stream),
        }
    }
}

/// Reads the server's stream, and returns the number of bytes that came.
fn read(connection: &mut Connection) -> u64 {
    let mut stream = connection.recv_stream(StreamId::new(quinn_proto::Side::Server, Dir::Uni, 0));
    let Ok(mut chunks) = stream.read(true) else { return 0 };
    let mut bytes = 0;
    while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
        bytes += chunk.bytes.len() as u64;
    }
    let _ = chunks.finalize();
    bytes
}

/// Writes as much as the connection takes.
fn write(connection: &mut Connection, stream: &mut Option<StreamId>) {
    *stream = stream.or_else(|| connection.streams().open(Dir::Uni));
    let Some(stream) = *stream else { return };
    while connection.send_stream(stream).write_chunks(&mut [Bytes::from_static(&DATA)]).is_ok() {}
}

impl Endpoint for Host {
    fn start(&mut self, now: Time) {
        let at = self.instant(now);
        if let Role::Client { config, .. } = &self.role {
            let connection = self.endpoint.connect(at, config.clone(), SERVER.into(), NAME);
            self.connection = Some(connection.expect("a valid address and name"));
        }
    }

    fn receive(&mut self, now: Time, datagram: &mut Vec<u8>, ecn: Ecn) {
        let Some(changes) = datagram.pop() else { return };
        let peer = match &self.role {
            Role::Server { .. } => client_address(changes),
            // Nobody has the old address any more.
            Role::Client { .. } if changes != self.changes => return,
            Role::Client { .. } => SERVER.into(),
        };
        let ecn = match ecn {
            Ecn::NotEct => None,
            Ecn::Ect0 => Some(EcnCodepoint::Ect0),
            Ecn::Ect1 => Some(EcnCodepoint::Ect1),
            Ecn::Ce => Some(EcnCodepoint::Ce),
        };
        let (at, mut buffer) = (self.instant(now), Vec::new());
        if let Some(event) = self.endpoint.handle(at, peer, None, ecn, datagram.as_slice().into(), &mut buffer) {
            self.handle(at, event, buffer);
        }
        self.settle(now);
    }

    fn transmit(&mut self, now: Time, datagram: &mut Vec<u8>) -> Option<Outgoing> {
        let now = self.instant(now);
        let transmit = match self.responses.pop_front() {
            Some((transmit, data)) => {
                datagram.extend_from_slice(&data);
                transmit
            }
            None => self.connection.as_mut()?.1.poll_transmit(now, 1, datagram)?,
        };
        datagram.push(match (&self.role, transmit.destination) {
            (Role::Server { .. }, SocketAddr::V4(client)) => client.ip().octets()[3],
            _ => self.changes,
        });
        let ecn = match transmit.ecn {
            None => Ecn::NotEct,
            Some(EcnCodepoint::Ect0) => Ecn::Ect0,
            Some(EcnCodepoint::Ect1) => Ecn::Ect1,
            Some(EcnCodepoint::Ce) => Ecn::Ce,
        };
        Some(Outgoing { ecn, ..Outgoing::new(transmit.size as u32 + HEADERS) })
    }

    fn deadline(&mut self) -> Option<Time> {
        let change = match &self.role {
            Role::Client { address_changes, .. } => address_changes.front().copied(),
            Role::Server { .. } => None,
        };
        let timer = self.connection.as_mut().and_then(|(_, connection)| connection.poll_timeout());
        let timer = timer.map(|at| {
            let since = at.saturating_duration_since(self.start).as_nanos();
            Time::from_nanos(u64::try_from(since).unwrap_or(u64::MAX))
        });
        change.into_iter().chain(timer).min()
    }

    fn on_timer(&mut self, now: Time) {
        let at = self.instant(now);
        if let Some((_, connection)) = &mut self.connection {
            connection.handle_timeout(at);
            if let Role::Client { address_changes, .. } = &mut self.role
                && address_changes.pop_front_if(|at| *at <= now).is_some()
            {
                self.changes = self.changes.wrapping_add(1);
                connection.local_address_changed();
            }
        }
        self.settle(now);
    }

    fn delivered_bytes(&self) -> u64 {
        self.delivered
    }
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host").field("delivered", &self.delivered).finish_non_exhaustive()
    }
}
