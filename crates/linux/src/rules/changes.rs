//! Changes of firewall rules by anybody, as far as the kernel tells them.

use std::fs;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::libc;
use nix::sys::socket::{AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, socket};

use crate::sys::sockopt::get_with;

/// The multicast group of nf_tables (`NFNLGRP_NFTABLES`, `linux/netfilter/nfnetlink.h`).
const NFTABLES: u32 = 7;

/// `IPT_SO_GET_INFO` and `IP6T_SO_GET_INFO` (`linux/netfilter_ipv4/ip_tables.h`), and the levels of the option.
const INFO: libc::c_int = 64;
const FAMILIES: [(AddressFamily, libc::c_int, &str); 2] = [
    (AddressFamily::Inet, libc::IPPROTO_IP, "/proc/thread-self/net/ip_tables_names"),
    (AddressFamily::Inet6, libc::IPPROTO_IPV6, "/proc/thread-self/net/ip6_tables_names"),
];

/// The length of `struct ipt_getinfo`, which begins with the name of the table.
const INFO_BYTES: usize = 84;

/// Notices that firewall rules may have changed: by nf_tables's own messages, and by the sizes of the tables that
/// iptables had before nf_tables. A rule of those that is replaced by one of equal size goes unnoticed.
#[derive(Debug)]
pub struct RuleChanges {
    /// `None` if the kernel has no nf_tables.
    events: Option<OwnedFd>,
    /// The sockets of IPv4 and IPv6 that ask for the old tables, and the files that list these; none where IPv6 is
    /// missing.
    tables: Vec<(OwnedFd, libc::c_int, &'static str)>,
    sizes: Vec<Option<Vec<u8>>>,
}

impl RuleChanges {
    /// Begins to listen, in the network namespace of this thread.
    #[must_use]
    pub fn new() -> Self {
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let events = || {
            let events = socket(AddressFamily::Netlink, SockType::Raw, flags, SockProtocol::NetlinkNetFilter)?;
            bind(events.as_raw_fd(), &NetlinkAddr::new(0, 1 << (NFTABLES - 1)))?;
            nix::Result::Ok(events)
        };
        let open = |(family, level, names)| Some((socket(family, SockType::Datagram, flags, None).ok()?, level, names));
        let mut changes =
            Self { events: events().ok(), tables: FAMILIES.into_iter().filter_map(open).collect(), sizes: Vec::new() };
        changes.sizes = changes.sizes();
        changes
    }

    /// Returns the descriptor that is readable after a change by nf_tables.
    pub fn events(&self) -> Option<BorrowedFd<'_>> {
        self.events.as_ref().map(AsFd::as_fd)
    }

    /// Returns `true` if rules may have changed since the last call.
    pub fn happened(&mut self) -> bool {
        let told = self.read_events();
        let sizes = self.sizes();
        let changed = sizes != self.sizes;
        self.sizes = sizes;
        told || changed
    }

    /// Reads all messages. `ENOBUFS` means that some were lost; another error lasts, and ends the listening.
    fn read_events(&mut self) -> bool {
        let mut told = false;
        let mut message = [0; 64];
        while let Some(events) = &self.events {
            match recv(events.as_raw_fd(), &mut message, MsgFlags::empty()) {
                Err(Errno::EAGAIN) => break,
                Ok(_) | Err(Errno::EINTR | Errno::ENOBUFS) => {}
                Err(_) => self.events = None,
            }
            told = true;
        }
        told
    }

    /// Returns what the kernel says of the old table `mangle`: hooks, offsets, the number of entries and their size. A
    /// table that is not there is not asked for, since that would make the kernel set it up for good.
    fn sizes(&self) -> Vec<Option<Vec<u8>>> {
        let mut named = [0; INFO_BYTES];
        named[..6].copy_from_slice(b"mangle");
        let is_there =
            |names: &str| fs::read_to_string(names).is_ok_and(|names| names.lines().any(|name| name == "mangle"));
        let size = |(socket, level, names): &(OwnedFd, libc::c_int, &str)| {
            is_there(names).then(|| get_with(socket.as_fd(), *level, INFO, &named).ok()).flatten()
        };
        self.tables.iter().map(size).collect()
    }
}

impl Default for RuleChanges {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::thread;

    use nix::sched::{CloneFlags, unshare};

    use super::*;

    /// A chain more and a chain less, by the tool that the machine has. Would catch a group that is never told
    /// anything.
    #[test]
    fn a_change_is_noticed_once() {
        let tried = thread::spawn(|| {
            let alone = unshare(CloneFlags::CLONE_NEWNET);
            alone.map_err(|error| ("netns", format!("no network namespace of our own: {error}")))?;
            let run = |arguments: &str| {
                let done = Command::new("iptables").args(arguments.split(' ')).output();
                done.ok()
                    .filter(|output| output.status.success())
                    .map(drop)
                    .ok_or_else(|| ("iptables", "iptables does not work here".to_owned()))
            };
            run("-t mangle -N OTHER")?;
            let mut changes = RuleChanges::new();
            assert!(!changes.happened());
            run("-t mangle -A FORWARD -j OTHER")?;
            assert!(changes.happened() && !changes.happened());
            run("-t mangle -F")?;
            assert!(changes.happened() && !changes.happened());
            Ok(())
        });
        if let Err((requirement, reason)) = tried.join().unwrap() {
            skip::because(requirement, reason);
        }
    }

    /// Would catch a look at the old tables that sets them up: every packet would pass one more hook, for good.
    #[test]
    fn a_look_sets_nothing_up() {
        let tried = thread::spawn(|| {
            unshare(CloneFlags::CLONE_NEWNET).map_err(|error| format!("no network namespace of our own: {error}"))?;
            let names = || FAMILIES.map(|(.., names)| fs::read_to_string(names).ok());
            let before = names();
            assert!(!RuleChanges::new().happened());
            assert_eq!(names(), before);
            Ok::<(), String>(())
        });
        if let Err(reason) = tried.join().unwrap() {
            skip::because("netns", reason);
        }
    }
}
