//! Errors with firewall rules.

use std::io;

use fairlane_qdisc::Duration;

/// Errors with firewall rules.
#[derive(Debug, thiserror::Error)]
pub enum RuleError {
    /// The interface does not exist.
    #[error("there is no interface {0:?}: ip link lists the interfaces")]
    NoInterface(String),
    /// The MTU of an interface cannot be read.
    #[error("cannot read the MTU of {0:?}: {1}")]
    NoMtu(String, #[source] io::Error),
    /// The name of an interface has a meaning beyond itself in a rule.
    #[error("the interface name {0:?} cannot be used in a rule: only letters, digits and . _ - @ : are allowed")]
    BadName(String),
    /// Another router queues the packets that leave by the interface.
    #[error(
        "another fairlane router queues the packets that leave by {0:?}, and a link can have only one: end that router first, or \
         choose another interface"
    )]
    InUse(String),
    /// Another router has the queue.
    #[error("another fairlane router has queue {0}: end that router first, or choose another --queue-num")]
    QueueInUse(u16),
    /// The interface or the queue cannot be reserved.
    #[error("cannot reserve {0} for this router: {1}")]
    CannotReserve(String, #[source] io::Error),
    /// Other routers were changing their rules all the time, or one hangs while it does.
    #[error("another fairlane router is changing its rules, and does not come to an end")]
    Changing,
    /// Packets between the ports of a bridge would be queued.
    #[error(
        "{0:?} is a bridge whose ports' packets pass firewall rules, and packets between its ports would be queued too: \
         sysctl -w net.bridge.bridge-nf-call-iptables=0 net.bridge.bridge-nf-call-ip6tables=0 ends that, and for the bridge's own flags \
         ip link set {0} type bridge nf_call_iptables 0 nf_call_ip6tables 0"
    )]
    BridgedPorts(String),
    /// The firewall knows the packets of the interface by another one's name.
    #[error(
        "{interface:?} is a port of the {kind} {master:?}, and the firewall sees its packets at {master:?} only: name that one"
    )]
    Port {
        /// The interface.
        interface: String,
        /// The interface that it belongs to.
        master: String,
        /// The kind of that one: bridge, bond or team.
        kind: String,
    },
    /// The mask has not two bits.
    #[error("expected two bits of the firewall mark, such as 0x18000000, not {0:#x}")]
    NotTwoBits(u32),
    /// No two bits of the firewall mark are free.
    #[error("the rules of this machine use all bits of the firewall mark: free two of them, and name them by --marks")]
    NoFreeBits,
    /// Neither nft nor iptables can be used.
    #[error(
        "found neither an nft that can queue nor iptables-restore in PATH: install iptables, or nftables with a kernel that has nft_queue"
    )]
    NoTool,
    /// A tool could not be started.
    #[error("{0} cannot be started: {1}")]
    Start(&'static str, #[source] io::Error),
    /// A tool did not end in time, and was killed.
    #[error("{0} hangs: it has not ended in {1}, and was killed")]
    Hangs(&'static str, Duration),
    /// A tool refused the request.
    #[error("{0} refused: {1}")]
    Refused(&'static str, String),
    /// The bound queues cannot be listed.
    #[error("cannot list the bound queues: {0}")]
    Unknown(#[source] io::Error),
}
