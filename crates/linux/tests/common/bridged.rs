//! A bridge between a sender and a receiver that are on the same network.

use std::collections::HashMap;
use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::Command;
use std::thread;

use fairlane_linux::{BridgeConfig, DataPath, FlowsBy, Link, LinkLayer, Remote, Report, Router, RouterConfig};
use fairlane_qdisc::{Kind, QdiscConfig, Rate};
use nix::errno::Errno;
use nix::ifaddrs::getifaddrs;
use nix::sched::{CloneFlags, unshare};
use nix::sys::socket::sockopt::{RcvBufForce, ReceiveTimeout};
use nix::sys::socket::{AddressFamily, LinkAddr, MsgFlags, SockFlag, SockProtocol, SockType, recv, setsockopt, socket};
use nix::sys::time::{TimeVal, TimeValLike};

use super::{Lab, Node, RECEIVER, address, in_turn, ip, tool};

/// The bridge's interfaces, towards the sender and towards the receiver.
pub(crate) const INSIDE: &str = "b0";
pub(crate) const OUTSIDE: &str = "b1";

/// The receiver has the addresses that it has behind a router, and the sender is its neighbour.
pub(crate) const SENDER: &str = "10.77.2.9";
pub(crate) const SENDER6: &str = "fd77:2::9";

/// Runs `test` in a namespace with the interfaces of a bridge between a sender and a receiver, or says why it cannot be. No interface
/// leaves anything of a packet to the next but checksums. Without IPv6 nobody sends anything by himself.
pub(crate) fn bridged(ipv6: bool, test: impl FnOnce(&Lab) + Send + 'static) {
    in_turn(impossible(), move || test(&build(ipv6)));
}

fn impossible() -> Option<String> {
    if let Some(missing) =
        ["ip", "ethtool"].into_iter().find(|program| Command::new(program).arg("-V").output().is_err())
    {
        return Some(format!("there is no {missing}"));
    }
    let tried = thread::spawn(|| {
        unshare(CloneFlags::CLONE_NEWNET).map_err(|error| format!("no network namespace of our own: {error}"))?;
        match socket(AddressFamily::Packet, SockType::Raw, SockFlag::empty(), None) {
            Err(Errno::EAFNOSUPPORT) => Err("this kernel has no packet sockets".to_owned()),
            _ => Ok(()),
        }
    });
    tried.join().unwrap().err()
}

fn build(ipv6: bool) -> Lab {
    let lab = Lab { sender: Node::new(), receiver: Node::new() };
    ip("link set lo up");
    // A bridge has no addresses, not even the link's own. Without IPv6 in the kernel there is nothing to switch off.
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
    // The receiver's kernel checks what leaves with a checksum, and takes on trust what leaves without one yet.
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

/// A bridge with `discipline` before a link of `rate`.
pub(crate) fn config(discipline: QdiscConfig, rate: Rate) -> RouterConfig {
    RouterConfig {
        path: path(INSIDE, OUTSIDE),
        link: Link { rate, layer: LinkLayer::default() },
        discipline,
        flows: FlowsBy::FiveTuple,
    }
}

pub(crate) fn path(inside: &str, outside: &str) -> DataPath {
    DataPath::Bridge(BridgeConfig { inside: inside.to_owned(), outside: outside.to_owned(), gso: false })
}

/// A bridge that works.
pub(crate) struct Bridge {
    pub(crate) remote: Remote,
    thread: thread::JoinHandle<std::io::Result<Report>>,
}

/// Starts a bridge that is open.
pub(crate) fn start(router: Router) -> Bridge {
    Bridge { remote: router.remote(), thread: thread::spawn(|| router.run()) }
}

impl Bridge {
    /// Ends it when it has sent what waits, or after `most` seconds.
    pub(crate) fn stop(self, most: f64) -> Report {
        self.remote.stop(fairlane_qdisc::Duration::from_secs(most));
        self.end().unwrap()
    }

    /// Waits until it ends by itself.
    pub(crate) fn end(self) -> std::io::Result<Report> {
        self.thread.join().unwrap()
    }
}

/// What the interface `name` of this thread's namespace has counted: frames received, frames sent, frames that it did not send.
pub(crate) fn interface(name: &str) -> [u64; 3] {
    let text = fs::read_to_string("/proc/thread-self/net/dev").unwrap();
    let lines: HashMap<&str, &str> = text.lines().filter_map(|line| line.trim().split_once(':')).collect();
    let counts: Vec<u64> = lines[name].split_whitespace().map(|word| word.parse().unwrap()).collect();
    [counts[1], counts[9], counts[11]]
}

pub(crate) fn droptail(limit: &str) -> QdiscConfig {
    QdiscConfig::new(Kind::DropTail).with("limit", limit).unwrap()
}

/// A socket that sees all that comes, with its Ethernet header or, as a datagram, without.
pub(crate) fn capture(kind: SockType) -> OwnedFd {
    let capture = socket(AddressFamily::Packet, kind, SockFlag::SOCK_CLOEXEC, SockProtocol::EthAll).unwrap();
    setsockopt(&capture, RcvBufForce, &(256 << 20)).unwrap();
    setsockopt(&capture, ReceiveTimeout, &TimeVal::seconds(1)).unwrap();
    capture
}

/// What it sees until nothing has come for a second.
pub(crate) fn captured(capture: &OwnedFd) -> Vec<Vec<u8>> {
    let mut buffer = [0; 10_000];
    std::iter::from_fn(|| {
        let length = recv(capture.as_raw_fd(), &mut buffer, MsgFlags::empty()).ok()?;
        Some(buffer[..length].to_vec())
    })
    .collect()
}

/// The interface `name` as a place that a packet socket sends to.
pub(crate) fn hardware(name: &str) -> LinkAddr {
    let mut all = getifaddrs().unwrap().filter(|interface| interface.interface_name == name);
    all.find_map(|interface| interface.address?.as_link_addr().copied()).unwrap()
}

/// Tells the sender the receiver's hardware address. Its kernel keeps about a hundred packets at most while it has to ask.
pub(crate) fn introduce(lab: &Lab) {
    let address = lab.receiver.run(|| hardware("d0").addr().unwrap());
    let address: Vec<String> = address.iter().map(|byte| format!("{byte:02x}")).collect();
    let address = address.join(":");
    lab.sender.run(move || ip(&format!("neigh replace {RECEIVER} lladdr {address} dev s0 nud permanent")));
}
