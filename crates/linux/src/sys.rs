//! Calls to the kernel that know nothing of packets and routers: clock, sockets, netlink, interfaces, locks.

pub(crate) mod attributes;
pub(crate) mod clock;
pub mod ethtool;
pub(crate) mod icmp_probe;
pub(crate) mod interface_info;
pub(crate) mod lock_file;
pub(crate) mod random;
pub mod rtnetlink;
pub(crate) mod runtime_dir;
pub(crate) mod secure;
pub mod sockopt;
