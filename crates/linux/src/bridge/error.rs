//! Errors when a bridge is opened.

use std::io;
use std::net::IpAddr;

/// A reason why a bridge was not opened. Nothing has changed then.
#[derive(Debug, thiserror::Error)]
pub enum BridgeError {
    /// The user lacks the capability CAP_NET_RAW.
    #[error("a bridge needs the capability CAP_NET_RAW: run it as root")]
    NotPermitted,
    /// The interface does not exist.
    #[error("there is no interface {0:?}: ip link lists the interfaces")]
    Unknown(String),
    /// Both ends are the same interface.
    #[error("a bridge needs two different interfaces, and both are {0:?}")]
    Same(String),
    /// The interface does not carry Ethernet frames, such as loopback and tunnels.
    #[error("{0:?} is not an Ethernet interface and cannot be bridged: use an NFQUEUE (--queue-num) for it")]
    NotEthernet(String),
    /// The interface is down.
    #[error("{0:?} is down: ip link set dev {0} up")]
    Down(String),
    /// The interface is a part of another one, which would forward its frames too.
    #[error(
        "{0:?} belongs to another interface, such as a bridge or a bond: ip link set dev {0} nomaster removes it from there"
    )]
    Enslaved(String),
    /// The interface has an address, by which others reach this machine.
    #[error(
        "{name:?} has the address {address}: the machine's own packets would bypass the discipline. {} removes it; for a \
         machine that routes, use --queue-num",
        removal(name, *address)
    )]
    Address {
        /// The interface's name.
        name: String,
        /// One of its addresses.
        address: IpAddr,
    },
    /// The network card joins packets irreversibly (LRO). Packets joined by the kernel (GRO) can be segmented again.
    #[error("the network card of {0:?} joins packets irreversibly (LRO): ethtool -K {0} lro off")]
    Lro(String),
    /// Another bridge of Fairlane uses the interface.
    #[error("{0:?} is bridged by another fairlane router: end that router first")]
    Taken(String),
    /// There is no folder for the lock that keeps two bridges from one interface.
    #[error("no lock for the bridge: {0}")]
    NoLock(#[source] io::Error),
    /// The other interface of the new pair takes longer frames than this one is open for.
    #[error("{0:?} was opened for shorter frames than the new pair has: a smaller MTU there, or a new start, helps")]
    LongerFrames(String),
    /// A router with an NFQUEUE was told to move to other interfaces.
    #[error("this router is no bridge")]
    NotABridge,
    /// Another error.
    #[error("{0:?} cannot be bridged: {1}")]
    Failed(String, #[source] io::Error),
}

/// Returns the command that removes an address. IPv6 is disabled instead, since the next router advertisement would add
/// an address again.
fn removal(name: &str, address: IpAddr) -> String {
    match address {
        IpAddr::V4(_) => format!("ip address flush dev {name}"),
        IpAddr::V6(_) => format!("sysctl net.ipv6.conf.{name}.disable_ipv6=1"),
    }
}
