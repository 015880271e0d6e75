//! TCP connections through the relay.

use std::collections::{HashMap, HashSet};
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener, TcpStream};

use fairlane_lab::retransmissions;
use fairlane_linux::now;
use fairlane_qdisc::{Duration, Time};
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::Linger;

use super::far::{connect_to, listen_at};
use super::splice::{Progress, Spliced};
use super::{Answer, Common, Contact, FlowPair, Served};
use crate::sys::set_option;

/// The time after which a connection that the command has not completed is given up.
const PATIENCE: Duration = Duration::from_millis(60_000);

/// The most bytes that wait in the kernel behind those that TCP may send. The command's server sees a full buffer soon,
/// as it would without the relay.
const UNSENT: i32 = 128 << 10;

/// The room for a copy.
const BUFFER: usize = 256 << 10;

/// All TCP connections.
pub(crate) struct Connections {
    /// Connections that the relay makes, or that wait for the command, by their ends.
    pending: HashMap<FlowPair, Pending>,
    /// The ends of connections that the relay makes, by token.
    connecting: HashMap<u64, FlowPair>,
    /// The sockets that accept the command's connections, by address, and their addresses by token.
    listeners: HashMap<SocketAddr, Listener>,
    listening: HashMap<u64, SocketAddr>,
    served: HashMap<u64, Served>,
    joined: HashMap<u64, (Option<FlowPair>, Spliced)>,
    /// The ends of joined connections that the command has opened.
    flows: HashSet<FlowPair>,
    /// Joined connections with more to copy.
    more: Vec<u64>,
    /// The counts of connections that have ended.
    ended: Vec<Retransmitted>,
    buffer: Vec<u8>,
}

/// A connection that is not joined yet.
struct Pending {
    outer: TcpStream,
    /// The packet that waits; `None` if it was passed on.
    waits: Option<u32>,
    /// Where else to connect if this fails.
    others: Vec<SocketAddr>,
    since: Time,
}

/// The retransmissions of the far end of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Retransmitted {
    pub(crate) flow: FlowPair,
    pub(crate) packets: u64,
    pub(crate) timeouts: u64,
}

impl Retransmitted {
    /// Returns the counts, if there was any retransmission.
    fn of(flow: FlowPair, spliced: &Spliced) -> Option<Self> {
        let (packets, timeouts) = retransmissions(&spliced.inner).ok()?;
        (packets > 0).then_some(Self { flow, packets, timeouts })
    }
}

struct Listener {
    socket: TcpListener,
    token: u64,
}

impl Connections {
    pub(crate) fn new(served: Vec<Served>, common: &mut Common) -> io::Result<Self> {
        let mut by_token = HashMap::new();
        for one in served {
            one.listener.set_nonblocking(true)?;
            let token = common.token();
            common.watch(&one.listener, token)?;
            by_token.insert(token, one);
        }
        Ok(Self {
            pending: HashMap::new(),
            connecting: HashMap::new(),
            listeners: HashMap::new(),
            listening: HashMap::new(),
            served: by_token,
            joined: HashMap::new(),
            flows: HashSet::new(),
            more: Vec::new(),
            ended: Vec::new(),
            buffer: vec![0; BUFFER],
        })
    }

    /// Handles a packet that opens a connection.
    pub(crate) fn contact(&mut self, contact: Contact, common: &mut Common) {
        let Contact { id, flow, .. } = contact;
        if self.flows.contains(&flow) {
            return common.answer(Answer::Pass(id));
        }
        match self.pending.get(&flow) {
            // The command repeats its packet: the first one still waits, or was passed on and lost its answer.
            Some(Pending { waits: Some(_), .. }) => common.answer(Answer::Drop(id)),
            Some(Pending { waits: None, .. }) => common.answer(Answer::Pass(id)),
            None => {
                let others = common.destinations.of(flow.destination);
                self.connect(flow, id, others, common);
            }
        }
    }

    /// Connects to the first of `others` that does not fail at once. If none is left the packet passes, and nobody
    /// listens for it, so that the command's connection is refused.
    fn connect(&mut self, flow: FlowPair, id: u32, mut others: Vec<SocketAddr>, common: &mut Common) {
        while !others.is_empty() {
            let Ok(outer) = connect_to(others.remove(0)) else { continue };
            let token = common.token();
            if common.watch(&outer, token).is_err() {
                continue;
            }
            self.connecting.insert(token, flow);
            self.pending.insert(flow, Pending { outer, waits: Some(id), others, since: now() });
            return;
        }
        common.answer(Answer::Pass(id));
    }

    /// Handles an event of a socket.
    pub(crate) fn ready(&mut self, token: u64, common: &mut Common) {
        if self.joined.contains_key(&token) {
            self.pump(token);
        } else if let Some(flow) = self.connecting.remove(&token) {
            self.connected(flow, token, common);
        } else if let Some(address) = self.listening.get(&token).copied() {
            self.accept(address, common);
        } else if self.served.contains_key(&token) {
            self.serve(token, common);
        }
    }

    /// Passes the command's packet on when the relay's own connection is made.
    fn connected(&mut self, flow: FlowPair, token: u64, common: &mut Common) {
        let Some(pending) = self.pending.get_mut(&flow) else { return };
        match pending.outer.take_error() {
            // An edge without an error may come before the connection is made.
            Ok(None) if pending.outer.peer_addr().is_err() => drop(self.connecting.insert(token, flow)),
            Ok(None) => match self.listen(flow.destination, common) {
                Ok(()) => {
                    let waits = self.pending.get_mut(&flow).and_then(|pending| pending.waits.take());
                    waits.into_iter().for_each(|id| common.answer(Answer::Pass(id)));
                }
                Err(_) => self.refuse(flow, common),
            },
            Ok(Some(_)) | Err(_) => self.refuse(flow, common),
        }
    }

    /// Tries the next address, or lets the command's connection be refused.
    fn refuse(&mut self, flow: FlowPair, common: &mut Common) {
        if let Some(Pending { waits: Some(id), others, .. }) = self.pending.remove(&flow) {
            self.connect(flow, id, others, common);
        }
    }

    /// Listens at `address` in the far namespace.
    fn listen(&mut self, address: SocketAddr, common: &mut Common) -> io::Result<()> {
        if self.listeners.contains_key(&address) {
            return Ok(());
        }
        let socket = common.far.run(move || listen_at(address))?;
        let token = common.token();
        common.watch(&socket, token)?;
        self.listeners.insert(address, Listener { socket, token });
        self.listening.insert(token, address);
        Ok(())
    }

    /// Joins the connections that have been accepted at `address`.
    fn accept(&mut self, address: SocketAddr, common: &mut Common) {
        while let Some((inner, source)) = self.listeners.get(&address).and_then(|it| accepted(&it.socket)) {
            let flow = FlowPair { source, destination: address };
            match self.pending.remove(&flow) {
                Some(Pending { outer, .. }) => self.join(Some(flow), inner, outer, common),
                None => drop(setsockopt(&inner, Linger, &nix::libc::linger { l_onoff: 1, l_linger: 0 })),
            }
        }
        if !self.pending.keys().any(|flow| flow.destination == address)
            && let Some(Listener { token, .. }) = self.listeners.remove(&address)
        {
            self.listening.remove(&token);
        }
    }

    /// Connects those who have come to a served port with the command's end.
    fn serve(&mut self, token: u64, common: &mut Common) {
        while let Some((outer, _)) = self.served.get(&token).and_then(|one| accepted(&one.listener)) {
            let Some(inside) = self.served.get(&token).map(|one| one.inside) else { return };
            if let Ok(inner) = common.far.run(move || connect_to(inside)) {
                self.join(None, inner, outer, common);
            }
        }
    }

    fn join(&mut self, flow: Option<FlowPair>, inner: TcpStream, outer: TcpStream, common: &mut Common) {
        let token = common.token();
        let prepared = || -> io::Result<()> {
            for end in [&inner, &outer] {
                end.set_nonblocking(true)?;
                end.set_nodelay(true)?;
            }
            set_option(&inner, nix::libc::IPPROTO_TCP, nix::libc::TCP_NOTSENT_LOWAT, UNSENT)?;
            common.watch(&inner, token)?;
            // The socket's events had another number while the relay connected.
            let _ = common.epoll.delete(&outer);
            Ok(common.watch(&outer, token)?)
        };
        if prepared().is_ok() {
            self.flows.extend(flow);
            self.joined.insert(token, (flow, Spliced::new(inner, outer)));
            self.pump(token);
        }
    }

    fn pump(&mut self, token: u64) {
        let Some((_, spliced)) = self.joined.get_mut(&token) else { return };
        match spliced.pump(&mut self.buffer) {
            Progress::Waits => {}
            Progress::More => self.more.push(token),
            Progress::Ended => {
                if let Some((Some(flow), spliced)) = self.joined.remove(&token) {
                    self.flows.remove(&flow);
                    self.ended.extend(Retransmitted::of(flow, &spliced));
                }
            }
        }
    }

    /// Returns the retransmissions of all connections that the command has opened, towards it.
    pub(crate) fn retransmitted(mut self) -> Vec<Retransmitted> {
        let open = self.joined.values().filter_map(|(flow, spliced)| Retransmitted::of((*flow)?, spliced));
        self.ended.extend(open);
        self.ended
    }

    /// Returns `true` if there is more to copy.
    pub(crate) fn has_more(&self) -> bool {
        !self.more.is_empty()
    }

    /// Continues with the connections that have more to copy.
    pub(crate) fn pump_more(&mut self) {
        for token in std::mem::take(&mut self.more) {
            self.pump(token);
        }
    }

    /// Gives up connections that the command has not completed, and with them the sockets that wait for them. Accepts
    /// those that could not be accepted for want of descriptors.
    pub(crate) fn sweep(&mut self, common: &mut Common) {
        self.pending.retain(|_, pending| pending.waits.is_some() || now().since(pending.since) < PATIENCE);
        for address in self.listeners.keys().copied().collect::<Vec<_>>() {
            self.accept(address, common);
        }
        for token in self.served.keys().copied().collect::<Vec<_>>() {
            self.serve(token, common);
        }
    }
}

/// Accepts the next connection. One that has been given up is passed over.
fn accepted(listener: &TcpListener) -> Option<(TcpStream, SocketAddr)> {
    loop {
        match listener.accept() {
            Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::ConnectionAborted) => {}
            result => return result.ok(),
        }
    }
}
