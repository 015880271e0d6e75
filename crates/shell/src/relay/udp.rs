//! UDP through the relay.

use std::collections::HashMap;
use std::io::{self, ErrorKind};
use std::net::UdpSocket;

use fairlane_linux::now;
use fairlane_qdisc::{Duration, Time};

use super::far::datagrams;
use super::{Answer, Common, Contact, FlowPair};

/// The time after which a flow without datagrams is forgotten (RFC 4787, section 4.3: at least two minutes).
const IDLE: Duration = Duration::from_millis(120_000);

/// The longest datagram.
const LONGEST: usize = 65_535;

/// All UDP flows.
pub(crate) struct Datagrams {
    flows: HashMap<FlowPair, u64>,
    open: HashMap<u64, Open>,
    buffer: Vec<u8>,
}

/// A flow: the socket at the far end of the link, and the one in the caller's namespace.
struct Open {
    flow: FlowPair,
    inner: UdpSocket,
    outer: UdpSocket,
    used: Time,
}

impl Default for Datagrams {
    fn default() -> Self {
        Self { flows: HashMap::new(), open: HashMap::new(), buffer: vec![0; LONGEST] }
    }
}

impl Datagrams {
    /// Returns `true` if the socket with this token is that of a flow.
    pub(crate) fn owns(&self, token: u64) -> bool {
        self.open.contains_key(&token)
    }

    /// Handles the first datagram of a flow. Without sockets for it, it passes, and the far end says that nobody
    /// listens.
    pub(crate) fn contact(&mut self, contact: Contact, common: &mut Common) {
        let Contact { id, flow, .. } = contact;
        if !self.flows.contains_key(&flow) && self.accept(flow, common).is_ok() {
            common.answer(Answer::Open(flow));
        }
        common.answer(Answer::Pass(id));
    }

    fn accept(&mut self, flow: FlowPair, common: &mut Common) -> io::Result<()> {
        let outer = connected(flow, common)?;
        let inner = common.far.run(move || datagrams(flow.destination, flow.source))?;
        let token = common.token();
        common.watch(&inner, token)?;
        common.watch(&outer, token)?;
        self.flows.insert(flow, token);
        self.open.insert(token, Open { flow, inner, outer, used: now() });
        Ok(())
    }

    /// Copies the datagrams of a flow, in both directions.
    pub(crate) fn ready(&mut self, token: u64) {
        let Some(open) = self.open.get_mut(&token) else { return };
        open.used = now();
        copy(&open.inner, &open.outer, &mut self.buffer);
        copy(&open.outer, &open.inner, &mut self.buffer);
    }

    /// Forgets flows without datagrams.
    pub(crate) fn sweep(&mut self, common: &Common) {
        let old: Vec<u64> =
            self.open.iter().filter(|(_, open)| now().since(open.used) > IDLE).map(|(token, _)| *token).collect();
        for token in old {
            if let Some(open) = self.open.remove(&token) {
                self.flows.remove(&open.flow);
                common.answer(Answer::Forget(open.flow));
            }
        }
    }
}

/// Opens a socket in the caller's namespace to where the datagrams of `flow` go.
fn connected(flow: FlowPair, common: &Common) -> io::Result<UdpSocket> {
    let mut last = io::Error::from(ErrorKind::AddrNotAvailable);
    for address in common.destinations.of(flow.destination) {
        let any: std::net::IpAddr = if address.is_ipv4() {
            std::net::Ipv4Addr::UNSPECIFIED.into()
        } else {
            std::net::Ipv6Addr::UNSPECIFIED.into()
        };
        let socket = UdpSocket::bind((any, 0))?;
        match socket.connect(address) {
            Ok(()) => {
                socket.set_nonblocking(true)?;
                return Ok(socket);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Copies the datagrams that have come.
fn copy(from: &UdpSocket, to: &UdpSocket, buffer: &mut [u8]) {
    loop {
        match from.recv(buffer) {
            // A datagram that cannot be sent is lost, as it would be in a full buffer.
            Ok(read) => drop(to.send(&buffer[..read])),
            // An answer that nobody listens is no end.
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {}
            Err(_) => return,
        }
    }
}
