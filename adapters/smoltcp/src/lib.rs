//! TCP transfers by smoltcp in Fairlane's simulator.
//!
//! Both hosts are smoltcp as it is, IP and TCP; only their clock and their network are simulated. smoltcp tells the
//! time in microseconds, and its TCP does not use ECN.
#![forbid(unsafe_code)]

mod device;

use std::fmt;
use std::net::Ipv4Addr;

use fairlane_qdisc::{Seed, Time};
use fairlane_sim::endpoint::{Ecn, Endpoint, Outgoing, Pair};
use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::socket::tcp::{CongestionControl, Socket, SocketBuffer};
use smoltcp::time::Instant;
use smoltcp::wire::{HardwareAddress, IpCidr};

use device::Device;

/// The addresses of the hosts (RFC 5737).
const SOURCE: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const SINK: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);
const PORT: u16 = 5001;

/// The size of the buffers in bytes, which is the largest window: 20 Mbit/s for 200 ms.
const BUFFER: usize = 500_000;

/// Returns the hosts of a flow: its source connects to its sink and sends without end, under `congestion`. `seed` is
/// for smoltcp's random numbers.
#[must_use]
pub fn transfer(congestion: CongestionControl, seed: Seed) -> Pair {
    Pair::new(
        Host::new(SOURCE, congestion, seed.stream("source").bits()),
        Host::new(SINK, congestion, seed.stream("sink").bits()),
    )
}

/// An interface with a socket.
struct Host {
    interface: Interface,
    device: Device,
    sockets: SocketSet<'static>,
    socket: SocketHandle,
    is_source: bool,
    /// The time of the last call.
    now: Instant,
    delivered: u64,
}

impl Host {
    fn new(address: Ipv4Addr, congestion: CongestionControl, seed: u64) -> Self {
        let mut config = Config::new(HardwareAddress::Ip);
        config.random_seed = seed;
        let mut device = Device::default();
        let mut interface = Interface::new(config, &mut device, Instant::ZERO);
        // The list of addresses has room for one.
        interface.update_ip_addrs(|addresses| addresses.extend([IpCidr::new(address.into(), 24)]));
        let buffer = || SocketBuffer::new(vec![0; BUFFER]);
        let mut socket = Socket::new(buffer(), buffer());
        socket.set_congestion_control(congestion);
        let mut sockets = SocketSet::new(Vec::new());
        let socket = sockets.add(socket);
        let is_source = address == SOURCE;
        Self { interface, device, sockets, socket, is_source, now: Instant::ZERO, delivered: 0 }
    }

    /// Lets the application and the stack react to each other at `now`.
    fn settle(&mut self, now: Time) {
        self.now = Instant::from_micros((now.as_nanos() / 1000) as i64);
        self.interface.poll(self.now, &mut self.device, &mut self.sockets);
        let socket = self.sockets.get_mut::<Socket<'_>>(self.socket);
        while socket.can_recv() {
            self.delivered += socket.recv(|data| (data.len(), data.len())).unwrap_or(0) as u64;
        }
        // The buffer has its content, zeros, from the start.
        while self.is_source && socket.can_send() && socket.send(|room| (room.len(), ())).is_ok() {}
        self.interface.poll(self.now, &mut self.device, &mut self.sockets);
    }
}

impl Endpoint for Host {
    fn start(&mut self, now: Time) {
        let socket = self.sockets.get_mut::<Socket<'_>>(self.socket);
        if self.is_source {
            let connected = socket.connect(self.interface.context(), (SINK, PORT), PORT);
            connected.expect("a new socket connects to a valid address");
        } else {
            socket.listen(PORT).expect("a new socket listens");
        }
        self.settle(now);
    }

    fn receive(&mut self, now: Time, datagram: &mut Vec<u8>, _ecn: Ecn) {
        self.device.received = Some(std::mem::take(datagram));
        self.settle(now);
    }

    fn transmit(&mut self, _now: Time, datagram: &mut Vec<u8>) -> Option<Outgoing> {
        *datagram = self.device.sent.pop_front()?;
        Some(Outgoing::new(datagram.len() as u32))
    }

    fn deadline(&mut self) -> Option<Time> {
        let at = self.interface.poll_at(self.now, &self.sockets)?;
        // Everything that was due has been done.
        let micros = at.total_micros().max(self.now.total_micros() + 1);
        Some(Time::from_nanos(micros as u64 * 1000))
    }

    fn on_timer(&mut self, now: Time) {
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
