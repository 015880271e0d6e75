//! UDP through the relay.

use std::collections::HashMap;
use std::io::{self, ErrorKind, IoSlice, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;

use fairlane_linux::now;
use fairlane_qdisc::{Duration, Time};
use nix::cmsg_space;
use nix::errno::Errno;
use nix::sys::socket::sockopt::{IpRecvTos, Ipv6RecvTClass};
use nix::sys::socket::{ControlMessage, ControlMessageOwned, MsgFlags, recvmsg, sendmsg, setsockopt};

use super::far::datagrams;
use super::{Answer, Common, Contact, FlowPair};

/// The time after which a flow without datagrams is forgotten (RFC 4787, section 4.3: at least two minutes).
const IDLE: Duration = Duration::from_millis(120_000);

/// The most datagrams of a flow that are copied before others have their turn.
const MOST_AT_ONCE: usize = 64;

/// The longest datagram.
const LONGEST: usize = 65_535;

/// All UDP flows.
pub(crate) struct Datagrams {
    flows: HashMap<FlowPair, u64>,
    open: HashMap<u64, Open>,
    /// Flows with more to copy.
    more: Vec<u64>,
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
        Self { flows: HashMap::new(), open: HashMap::new(), more: Vec::new(), buffer: vec![0; LONGEST] }
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
        for socket in [&inner, &outer] {
            tell_class(socket)?;
            common.watch(socket, token)?;
        }
        self.flows.insert(flow, token);
        self.open.insert(token, Open { flow, inner, outer, used: now() });
        Ok(())
    }

    /// Copies the datagrams of a flow, in both directions.
    pub(crate) fn ready(&mut self, token: u64) {
        let Some(open) = self.open.get_mut(&token) else { return };
        open.used = now();
        let up = copy(&open.inner, &open.outer, &mut self.buffer);
        let down = copy(&open.outer, &open.inner, &mut self.buffer);
        if up || down {
            self.more.push(token);
        }
    }

    /// Returns `true` if there is more to copy.
    pub(crate) fn has_more(&self) -> bool {
        !self.more.is_empty()
    }

    /// Continues with the flows that have more to copy.
    pub(crate) fn copy_more(&mut self) {
        for token in std::mem::take(&mut self.more) {
            self.ready(token);
        }
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
        let any = match address {
            SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
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

/// Lets a socket tell the traffic class of each datagram that it receives.
fn tell_class(socket: &UdpSocket) -> io::Result<()> {
    match socket.local_addr()? {
        SocketAddr::V4(_) => setsockopt(socket, IpRecvTos, &true)?,
        SocketAddr::V6(_) => setsockopt(socket, Ipv6RecvTClass, &true)?,
    }
    Ok(())
}

/// Copies datagrams that have come, each with its traffic class: ECN and DSCP are end to end. Returns `true` if there
/// may be more: a sender that never stops does not hold up other flows.
fn copy(from: &UdpSocket, to: &UdpSocket, buffer: &mut [u8]) -> bool {
    for _ in 0..MOST_AT_ONCE {
        match receive(from, buffer) {
            // A datagram that cannot be sent is lost, as it would be in a full buffer.
            Ok((read, class)) => drop(send(to, &buffer[..read], class)),
            // The other end said that nobody listens; it may listen later.
            Err(Errno::ECONNREFUSED) => {}
            Err(_) => return false,
        }
    }
    true
}

/// Receives a datagram. Returns its length, and its TOS or traffic class byte.
fn receive(socket: &UdpSocket, buffer: &mut [u8]) -> nix::Result<(usize, u8)> {
    let mut space = cmsg_space!(i32);
    let mut parts = [IoSliceMut::new(buffer)];
    let message = recvmsg::<()>(socket.as_raw_fd(), &mut parts, Some(&mut space), MsgFlags::empty())?;
    let class = |control| match control {
        ControlMessageOwned::Ipv4Tos(tos) => Some(tos),
        ControlMessageOwned::Ipv6TClass(class) => Some(class as u8),
        _ => None,
    };
    Ok((message.bytes, message.cmsgs()?.find_map(class).unwrap_or_default()))
}

/// Sends a datagram with this traffic class.
fn send(socket: &UdpSocket, datagram: &[u8], class: u8) -> nix::Result<usize> {
    let wide = i32::from(class);
    let control = match socket.local_addr() {
        Ok(SocketAddr::V6(_)) => ControlMessage::Ipv6TClass(&wide),
        _ => ControlMessage::Ipv4Tos(&class),
    };
    sendmsg::<()>(socket.as_raw_fd(), &[IoSlice::new(datagram)], &[control], MsgFlags::empty(), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns two sockets that are connected to each other, the second as those of the relay.
    fn pair(host: IpAddr) -> (UdpSocket, UdpSocket) {
        let [one, other] = [(); 2].map(|()| UdpSocket::bind((host, 0)).unwrap());
        one.connect(other.local_addr().unwrap()).unwrap();
        other.connect(one.local_addr().unwrap()).unwrap();
        other.set_nonblocking(true).unwrap();
        for socket in [&one, &other] {
            tell_class(socket).unwrap();
        }
        (one, other)
    }

    /// Would catch a sender that never stops and holds up all other flows, and datagrams that are left behind.
    #[test]
    fn a_flow_has_its_turn() {
        let host = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let ((client, inner), (server, outer)) = (pair(host), pair(host));
        let mut buffer = [0; 100];
        for _ in 0..=MOST_AT_ONCE {
            client.send(&[7]).unwrap();
        }
        assert!(copy(&inner, &outer, &mut buffer));
        assert!(!copy(&inner, &outer, &mut buffer));
        server.set_nonblocking(true).unwrap();
        assert_eq!((0..).take_while(|_| receive(&server, &mut buffer).is_ok()).count(), MOST_AT_ONCE + 1);
    }

    /// RFC 3168: ECT(0) is 2, and CE is 3; DSCP EF is 46. Would catch a mark or a class that ends at the relay.
    #[test]
    fn a_datagram_keeps_its_class() {
        for host in [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)] {
            let ((client, inner), (server, outer)) = (pair(host), pair(host));
            let mut buffer = [0; 100];
            for class in [0, 2, 3, 46 << 2 | 1] {
                send(&client, &[class; 9], class).unwrap();
                assert!(!copy(&inner, &outer, &mut buffer));
                assert_eq!(receive(&server, &mut buffer), Ok((9, class)), "{host}");
            }
            assert_eq!(buffer[..10], [&[46 << 2 | 1; 9][..], &[0]].concat());
        }
    }
}
