//! A host with one connection.

use std::collections::VecDeque;
use std::fmt;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bytes::Bytes;
use fairlane_qdisc::Time;
use fairlane_sim::endpoint::{Ecn, Outgoing};
use quinn_proto::{ClientConfig, Connection, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint, StreamId, Transmit};

use crate::NAME;

/// The headers of IPv4 and UDP, in bytes.
const HEADERS: u32 = 28;

/// The other host, as each of the two sees it. Documentation has this address (RFC 5737).
const PEER: ([u8; 4], u16) = ([192, 0, 2, 1], 443);

/// The data that the server sends again and again.
static DATA: [u8; 65_536] = [0; 65_536];

/// The application.
pub(crate) enum Role {
    /// Connects, and reads all streams.
    Client { config: ClientConfig },
    /// Sends a stream without end.
    Server { stream: Option<StreamId> },
}

/// An endpoint of quinn with its connection, once there is one.
pub(crate) struct Host {
    /// The instant of time zero.
    start: Instant,
    endpoint: quinn_proto::Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    role: Role,
    /// Datagrams that belong to no connection, such as refusals.
    responses: VecDeque<(Transmit, Vec<u8>)>,
    delivered: u64,
}

impl Host {
    pub(crate) fn new(start: Instant, endpoint: quinn_proto::Endpoint, role: Role) -> Self {
        Self { start, endpoint, connection: None, role, responses: VecDeque::new(), delivered: 0 }
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
    fn settle(&mut self) {
        let Some((handle, connection)) = &mut self.connection else { return };
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(event);
            }
        }
        while connection.poll().is_some() {}
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

impl fairlane_sim::endpoint::Endpoint for Host {
    fn start(&mut self, now: Time) {
        let now = self.instant(now);
        if let Role::Client { config } = &self.role {
            let connection = self.endpoint.connect(now, config.clone(), SocketAddr::from(PEER), NAME);
            self.connection = Some(connection.expect("a valid address and name"));
        }
    }

    fn receive(&mut self, now: Time, datagram: &mut Vec<u8>, ecn: Ecn) {
        let now = self.instant(now);
        let ecn = match ecn {
            Ecn::NotEct => None,
            Ecn::Ect0 => Some(EcnCodepoint::Ect0),
            Ecn::Ect1 => Some(EcnCodepoint::Ect1),
            Ecn::Ce => Some(EcnCodepoint::Ce),
        };
        let mut buffer = Vec::new();
        let data = datagram.as_slice().into();
        if let Some(event) = self.endpoint.handle(now, SocketAddr::from(PEER), None, ecn, data, &mut buffer) {
            self.handle(now, event, buffer);
        }
        self.settle();
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
        let ecn = match transmit.ecn {
            None => Ecn::NotEct,
            Some(EcnCodepoint::Ect0) => Ecn::Ect0,
            Some(EcnCodepoint::Ect1) => Ecn::Ect1,
            Some(EcnCodepoint::Ce) => Ecn::Ce,
        };
        Some(Outgoing { ecn, ..Outgoing::new(transmit.size as u32 + HEADERS) })
    }

    fn deadline(&mut self) -> Option<Time> {
        let at = self.connection.as_mut()?.1.poll_timeout()?;
        let since = at.saturating_duration_since(self.start).as_nanos();
        Some(Time::from_nanos(u64::try_from(since).unwrap_or(u64::MAX)))
    }

    fn on_timer(&mut self, now: Time) {
        let now = self.instant(now);
        if let Some((_, connection)) = &mut self.connection {
            connection.handle_timeout(now);
        }
        self.settle();
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
