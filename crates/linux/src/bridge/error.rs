//! Why two interfaces cannot be a bridge.

use std::io;
use std::net::IpAddr;

/// Why a bridge was not opened. Nothing has changed then.
#[derive(Debug, thiserror::Error)]
pub enum BridgeError {
    /// This user may not.
    #[error("a bridge needs the capability CAP_NET_RAW: run it as root")]
    NotPermitted,
    /// There is no such interface.
    #[error("there is no interface \"{0}\": ip link shows those that there are")]
    Unknown(String),
    /// Both ends are the same interface.
    #[error("a bridge has two interfaces, and these are both \"{0}\"")]
    Same(String),
    /// Its frames are not those of Ethernet, as with loopback and tunnels.
    #[error(
        "\"{0}\" is not an Ethernet interface: only such can be bridged, and an NFQUEUE takes what leaves by others"
    )]
    NotEthernet(String),
    /// It is switched off.
    #[error("\"{0}\" is down: ip link set dev {0} up")]
    Down(String),
    /// It is a part of another interface, which would forward its frames too.
    #[error(
        "\"{0}\" belongs to another interface, such as a bridge or a bond: ip link set dev {0} nomaster takes it out"
    )]
    Enslaved(String),
    /// The machine itself is reached by it.
    #[error(
        "\"{name}\" has the address {address}: the machine's own packets would go past the discipline. {} takes it away; for a \
         machine that routes, use --queue-num",
        removal(name, *address)
    )]
    Address {
        /// The interface.
        name: String,
        /// One of its addresses.
        address: IpAddr,
    },
    /// Its card joins packets in a way that cannot be undone (LRO). What the kernel joins (GRO) can be.
    #[error("the card of \"{0}\" joins packets so that they cannot be parted again (LRO): ethtool -K {0} lro off")]
    Joins(String),
    /// Another bridge of ours has it.
    #[error("\"{0}\" is bridged by another fairlane router: end that one first")]
    Taken(String),
    /// The kernel cannot, or something else.
    #[error("\"{0}\" cannot be bridged: {1}")]
    Failed(String, #[source] io::Error),
}

/// The command that takes an address away. One of IPv6 would come again with the next router's advertisement.
fn removal(name: &str, address: IpAddr) -> String {
    match address {
        IpAddr::V4(_) => format!("ip address flush dev {name}"),
        IpAddr::V6(_) => format!("sysctl net.ipv6.conf.{name}.disable_ipv6=1"),
    }
}
