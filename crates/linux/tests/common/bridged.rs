//! A bridge between a sender and a receiver on the same network.

use std::collections::HashMap;
use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::Command;
use std::thread;

use fairlane_linux::{
    BridgeConfig, BridgeDirections, DataPath, Exempt, FlowsBy, Link, LinkLayer, Report, Router, RouterConfig,
    RouterHandle,
};
use fairlane_qdisc::{Kind, QdiscParameters, Rate};
use nix::errno::Errno;
use nix::ifaddrs::getifaddrs;
use nix::sched::{CloneFlags, unshare};
use nix::sys::socket::sockopt::{RcvBufForce, ReceiveTimeout};
use nix::sys::socket::{AddressFamily, LinkAddr, MsgFlags, SockFlag, SockProtocol, SockType, recv, setsockopt, socket};
use nix::sys::time::{TimeVal, TimeValLike};

use super::{Lab, Missing, Node, RECEIVER, address, in_turn, ip, spawn_router, tool};

/// The bridge's interfaces, towards the sender and towards the receiver.
pub(crate) const INSIDE: &str = "b0";
pub(crate) const OUTSIDE: &str = "b1";

/// The receiver has the same addresses as behind a router, and the sender is its neighbour.
pub(crate) const SENDER: &str = "10.77.2.9";
pub(crate) const SENDER6: &str = "fd77:2::9";

/// Runs `test` in a namespace with the interfaces of a bridge between a sender and a receiver, or prints why it cannot
/// run. No interface offloads anything but checksums. Without IPv6, no kernel sends frames by itself.
pub(crate) fn bridged(ipv6: bool, test: impl FnOnce(&Lab) + Send + 'static) {
    in_turn(impossible(), move || test(&build(ipv6)));
}

fn impossible() -> Option<Missing> {
    if let Some(missing) =
        ["ip", "ethtool"].into_iter().find(|program| Command::new(program).arg("-V").output().is_err())
    {
        return Some((missing, format!("there is no {missing}")));
    }
    let tried = thread::spawn(|| {
        let alone = unshare(CloneFlags::CLONE_NEWNET);
        alone.map_err(|error| ("netns", format!("no network namespace of our own: {error}")))?;
        match socket(AddressFamily::Packet, SockType::Raw, SockFlag::empty(), None) {
            Err(Errno::EAFNOSUPPORT) => Err(("packets", "this kernel has no packet sockets".to_owned())),
            _ => Ok(()),
        }
    });
    tried.join().unwrap().err()
}

fn build(ipv6: bool) -> Lab {
    let lab = Lab { sender: Node::new(), receiver: Node::new() };
    ip("link set lo up");
    // A bridge has no addresses, not even link-local ones. The write fails if the kernel has no IPv6, and then there is
    // nothing to disable.
    let off = || drop(fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1"));
    off();
    if !ipv6 {
        lab.sender.run(off);
        lab.receiver.run(off);
    }
    ip(&format!("link add {INSIDE} type veth peer name s0 netns {}", lab.sender.tid));
    ip(&format!("link add {OUTSIDE} type veth peer name d0 netns {}", lab.receiver.tid));
    for interface in [INSIDE, OUTSIDE] {
        ip(&format!("link set {interface} up"));
    }
    // The receiver's kernel verifies checksums only if they have been calculated when a frame is sent.
    tool("ethtool", &format!("-K {OUTSIDE} tx off"));
    tool("ethtool", &format!("-K {INSIDE} tx off"));
    let end = |name: &'static str, four: &'static str, six: &'static str| {
        move || {
            tool("ethtool", &format!("-K {name} tso off gso off"));
            address(name, four, six, ipv6);
        }
    };
    lab.sender.run(end("s0", "10.77.2.9/24", "fd77:2::9/64"));
    lab.receiver.run(end("d0", "10.77.2.1/24", "fd77:2::1/64"));
    lab
}

/// Returns the configuration of a bridge with `discipline` and a link of `rate`.
pub(crate) fn config(discipline: &QdiscParameters, rate: Rate) -> RouterConfig {
    RouterConfig {
        path: path(INSIDE, OUTSIDE),
        link: Link { rate, layer: LinkLayer::default() },
        discipline: discipline.resolve(rate).unwrap(),
        flows: FlowsBy::FiveTuple,
    }
}

pub(crate) fn path(inside: &str, outside: &str) -> DataPath {
    let (inside, outside) = (inside.to_owned(), outside.to_owned());
    DataPath::Bridge(BridgeConfig {
        inside,
        outside,
        gso: false,
        directions: BridgeDirections::Both,
        exempt: Exempt::default(),
    })
}

/// A running bridge.
pub(crate) struct Bridge {
    pub(crate) handle: RouterHandle,
    thread: thread::JoinHandle<std::io::Result<Report>>,
}

/// Starts a bridge that is open.
pub(crate) fn start(router: Router) -> Bridge {
    Bridge { handle: router.handle(), thread: spawn_router(|| router.run()) }
}

impl Bridge {
    /// Ends the bridge when its queue is empty, or after `most` seconds.
    pub(crate) fn stop(self, most: f64) -> Report {
        self.handle.stop(fairlane_qdisc::Duration::from_secs(most));
        self.end().unwrap()
    }

    /// Waits until the bridge ends by itself.
    pub(crate) fn end(self) -> std::io::Result<Report> {
        self.thread.join().unwrap()
    }
}

/// Returns the counts of the interface `name` in this thread's namespace: frames received, sent, and dropped while
/// sending.
pub(crate) fn interface(name: &str) -> [u64; 3] {
    let text = fs::read_to_string("/proc/thread-self/net/dev").unwrap();
    let lines: HashMap<&str, &str> = text.lines().filter_map(|line| line.trim().split_once(':')).collect();
    let counts: Vec<u64> = lines[name].split_whitespace().map(|word| word.parse().unwrap()).collect();
    [counts[1], counts[9], counts[11]]
}

pub(crate) fn droptail(limit: &str) -> QdiscParameters {
    QdiscParameters::new(Kind::DropTail).with("limit", limit).unwrap()
}

/// Opens a socket that captures all frames, with or, as a datagram socket, without their Ethernet headers.
pub(crate) fn capture(kind: SockType) -> OwnedFd {
    let capture = socket(AddressFamily::Packet, kind, SockFlag::SOCK_CLOEXEC, SockProtocol::EthAll).unwrap();
    setsockopt(&capture, RcvBufForce, &(256 << 20)).unwrap();
    setsockopt(&capture, ReceiveTimeout, &TimeVal::seconds(1)).unwrap();
    capture
}

/// Returns the captured frames until none arrives for a second.
pub(crate) fn captured(capture: &OwnedFd) -> Vec<Vec<u8>> {
    let mut buffer = [0; 10_000];
    std::iter::from_fn(|| {
        let length = recv(capture.as_raw_fd(), &mut buffer, MsgFlags::empty()).ok()?;
        Some(buffer[..length].to_vec())
    })
    .collect()
}

/// Returns the interface `name` as the destination of a packet socket.
pub(crate) fn hardware(name: &str) -> LinkAddr {
    let mut all = getifaddrs().unwrap().filter(|interface| interface.interface_name == name);
    all.find_map(|interface| interface.address?.as_link_addr().copied()).unwrap()
}

/// Gives the sender the receiver's hardware address. While it has to ask for it, its kernel holds only about a hundred
/// packets.
pub(crate) fn introduce(lab: &Lab) {
    let address = lab.receiver.run(|| hardware("d0").addr().unwrap());
    let address: Vec<String> = address.iter().map(|byte| format!("{byte:02x}")).collect();
    let address = address.join(":");
    lab.sender.run(move || ip(&format!("neigh replace {RECEIVER} lladdr {address} dev s0 nud permanent")));
}
