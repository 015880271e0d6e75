//! The far end of the link: connections that the command opens to any address are accepted there, and made again from
//! the caller's namespace.
//!
//! The first packet of a connection waits behind the link until the relay has made its own connection. So a port that
//! is closed is closed for the command too.

mod far;
mod gate;
mod splice;
mod tcp;
mod udp;

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender};

use fairlane_linux::now;
use fairlane_qdisc::Duration;
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::eventfd::EventFd;

pub(crate) use far::Namespace;
pub(crate) use gate::Gate;
use tcp::Connections;
pub(crate) use tcp::Retransmitted;
use udp::Datagrams;

use crate::address::Addresses;

/// The longest wait, after which old connections are looked for.
const MOST_WAIT_MS: u16 = 1000;

/// The interface of the far end.
pub(crate) const OUT: &str = "out";

/// The port of DNS.
const DOMAIN: u16 = 53;

/// The token of the eventfd.
const WAKE: u64 = 0;

/// The two ends of a connection, seen from the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FlowPair {
    pub(crate) source: SocketAddr,
    pub(crate) destination: SocketAddr,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    Tcp,
    Udp,
}

/// A packet that opens a connection, and waits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Contact {
    /// The packet's number.
    pub(crate) id: u32,
    pub(crate) protocol: Protocol,
    pub(crate) flow: FlowPair,
}

/// A message of the relay to the link.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Answer {
    /// Deliver the packet of this number.
    Pass(u32),
    /// Drop the packet of this number.
    Drop(u32),
    /// Deliver all datagrams of a flow.
    Open(FlowPair),
    /// Ask again about datagrams of a flow.
    Forget(FlowPair),
}

/// The addresses to which the relay connects in place of those that the command uses.
#[derive(Clone, Debug)]
pub(crate) struct Destinations {
    addresses: Addresses,
    /// The name server of the caller.
    resolver: Option<IpAddr>,
}

impl Destinations {
    pub(crate) const fn new(addresses: Addresses, resolver: Option<IpAddr>) -> Self {
        Self { addresses, resolver }
    }

    /// Returns where to connect for `destination`, in the order of trying: `gateway` is the caller's own host, or the
    /// host of the outermost shell.
    pub(crate) fn of(&self, destination: SocketAddr) -> Vec<SocketAddr> {
        let (address, port) = (destination.ip(), destination.port());
        let Some(version) = self.addresses.gateway().iter().position(|gateway| *gateway == address) else {
            return vec![destination];
        };
        if let Some(resolver) = self.resolver.filter(|_| port == DOMAIN) {
            return vec![SocketAddr::new(resolver, port)];
        }
        let own = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
        let mut hosts = self.addresses.around().map_or(own, Addresses::gateway);
        hosts.rotate_left(version);
        hosts.map(|host| SocketAddr::new(host, port)).to_vec()
    }
}

/// A port of the caller's host that leads to a port inside.
#[derive(Debug)]
pub(crate) struct Served {
    pub(crate) listener: std::net::TcpListener,
    pub(crate) inside: SocketAddr,
}

/// The state that the parts of the relay share.
pub(crate) struct Common {
    pub(crate) epoll: Epoll,
    pub(crate) far: Arc<Namespace>,
    pub(crate) destinations: Destinations,
    answers: Sender<Answer>,
    link_wake: Arc<crate::path::Shared>,
    next_token: u64,
}

impl Common {
    /// Tells the link's thread.
    pub(crate) fn answer(&self, answer: Answer) {
        // If the link has ended, so will the relay.
        if self.answers.send(answer).is_ok() {
            let _ = self.link_wake.wake.write(1);
        }
    }

    /// Returns a number for the events of a new socket.
    pub(crate) fn token(&mut self) -> u64 {
        self.next_token += 1;
        self.next_token
    }

    /// Waits for events of `socket` that were not there before.
    pub(crate) fn watch(&self, socket: impl AsFd, token: u64) -> nix::Result<()> {
        let all = EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT | EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLET;
        self.epoll.add(socket, EpollEvent::new(all, token))
    }
}

/// The relay, whose thread is in the caller's namespace.
pub(crate) struct Relay {
    common: Common,
    contacts: Receiver<Contact>,
    wake: Arc<EventFd>,
    connections: Connections,
    datagrams: Datagrams,
}

impl Relay {
    pub(crate) fn new(
        far: Arc<Namespace>,
        destinations: Destinations,
        (contacts, answers): (Receiver<Contact>, Sender<Answer>),
        (wake, link_wake): (Arc<EventFd>, Arc<crate::path::Shared>),
        served: Vec<Served>,
    ) -> io::Result<Self> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        epoll.add(&*wake, EpollEvent::new(EpollFlags::EPOLLIN, WAKE))?;
        let mut common = Common { epoll, far, destinations, answers, link_wake, next_token: WAKE };
        let connections = Connections::new(served, &mut common)?;
        Ok(Self { common, contacts, wake, connections, datagrams: Datagrams::default() })
    }

    /// Carries data until `over` is true. Returns the retransmissions at the far end.
    pub(crate) fn run(mut self, over: &AtomicBool) -> io::Result<Vec<Retransmitted>> {
        let mut events = [EpollEvent::empty(); 256];
        let mut swept = now();
        while !over.load(Ordering::Acquire) {
            let busy = self.connections.has_more() || self.datagrams.has_more();
            let timeout = if busy { 0 } else { MOST_WAIT_MS };
            let ready = match self.common.epoll.wait(&mut events, EpollTimeout::from(timeout)) {
                Ok(ready) => ready,
                Err(Errno::EINTR) => 0,
                Err(error) => return Err(error.into()),
            };
            for event in &events[..ready] {
                match event.data() {
                    WAKE => drop(self.wake.read()),
                    token if self.datagrams.owns(token) => self.datagrams.ready(token),
                    token => self.connections.ready(token, &mut self.common),
                }
            }
            while let Ok(contact) = self.contacts.try_recv() {
                match contact.protocol {
                    Protocol::Tcp => self.connections.contact(contact, &mut self.common),
                    Protocol::Udp => self.datagrams.contact(contact, &mut self.common),
                }
            }
            self.connections.pump_more();
            self.datagrams.copy_more();
            if now().since(swept) >= Duration::from_millis(MOST_WAIT_MS.into()) {
                swept = now();
                self.connections.sweep(&mut self.common);
                self.datagrams.sweep(&self.common);
            }
        }
        Ok(self.connections.retransmitted())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Would catch a `gateway` of another host than the caller's, a name server that is asked at the wrong place, and
    /// an address of outside that is changed.
    #[test]
    fn the_gateway_stands_for_the_callers_host() {
        let at = |text: &str| text.parse::<SocketAddr>().unwrap();
        let outermost = Destinations::new(Addresses::at(0), Some("9.9.9.9".parse().unwrap()));
        assert_eq!(outermost.of(at("198.18.0.1:80")), [at("127.0.0.1:80"), at("[::1]:80")]);
        assert_eq!(outermost.of(at("[2001:2::1]:80")), [at("[::1]:80"), at("127.0.0.1:80")]);
        assert_eq!(outermost.of(at("198.18.0.1:53")), [at("9.9.9.9:53")]);
        assert_eq!(outermost.of(at("192.0.2.7:80")), [at("192.0.2.7:80")]);
        // In a shell, `gateway` is the host of the outermost one.
        let inner = Destinations::new(Addresses::at(1), None);
        assert_eq!(inner.of(at("198.18.1.1:80")), [at("198.18.0.1:80"), at("[2001:2::1]:80")]);
        assert_eq!(inner.of(at("198.18.0.1:80")), [at("198.18.0.1:80")]);
    }
}
