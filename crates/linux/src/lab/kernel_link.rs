//! The kernel's own discipline in front of a link, and its counts.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use fairlane_qdisc::Rate;
use nix::errno::Errno;
use nix::net::if_::if_nametoindex;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, connect, recv, send, socket,
};

use crate::nfqueue::Attributes;

use super::error::{LabError, setup};
use super::in_kernel::InKernel;
use super::kernel_discipline::KernelDiscipline;
use super::node::tc;

/// The length of an Ethernet header, which the kernel counts as a part of the packet unless it is told not to.
const ETHERNET: u32 = 14;

/// The handle of the discipline, `2:`; the link before it is `1:`.
const HANDLE: u32 = 2 << 16;

/// The parent of a discipline at the root (`TC_H_ROOT`).
const ROOT: u32 = u32::MAX;

/// `linux/rtnetlink.h` and `linux/netlink.h`.
const RTM_NEWQDISC: u16 = 36;
const RTM_GETQDISC: u16 = 38;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_DUMP: u16 = 0x300;
/// The lengths of `struct nlmsghdr` and `struct tcmsg`.
const HEADER: usize = 16;
const TCMSG: usize = 20;
/// The attribute with the counts, and those of the queue within it (`linux/gen_stats.h`).
const TCA_STATS2: u16 = 7;
const TCA_STATS_QUEUE: u16 = 3;

/// The room for an answer. The kernel fills at most 32 KiB at a time.
const ANSWER: usize = 32 << 10;

/// A link of the kernel with a discipline in front of it.
pub(super) struct KernelLink {
    socket: OwnedFd,
    index: u32,
    place: Place,
}

/// What tells the discipline from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Its handle, since we gave it.
    Handle,
    /// It is the root of the interface of this index.
    RootOf(u32),
}

/// The kernel's counts of the discipline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct KernelCounts {
    /// Packets in the queue.
    pub(super) packets: u32,
    /// Their bytes.
    pub(super) bytes: u32,
    /// Packets dropped since the discipline was installed.
    pub(super) drops: u32,
}

impl KernelLink {
    /// Gives `interface` of this thread's namespace a link of `rate` that begins to send a packet when it has sent the
    /// one before, and `discipline` in front of it. No packet is larger than `largest` bytes.
    pub(super) fn install(interface: &str, discipline: &InKernel, rate: Rate, largest: u32) -> Result<Self, LabError> {
        let failed = || setup(format!("the queue of {interface}"));
        let index = if_nametoindex(interface).map_err(failed())?;
        let place = match discipline {
            InKernel::Own(discipline) => {
                install_own(interface, discipline, rate, largest)?;
                Place::Handle
            }
            InKernel::Installed(installer) => {
                let refused = |why| LabError::Setup(format!("the queue of {interface}"), io::Error::other(why));
                installer.install(interface).map_err(refused)?;
                Place::RootOf(index)
            }
        };
        let flags = SockFlag::SOCK_CLOEXEC;
        let socket =
            socket(AddressFamily::Netlink, SockType::Raw, flags, SockProtocol::NetlinkRoute).map_err(failed())?;
        connect(socket.as_raw_fd(), &NetlinkAddr::new(0, 0)).map_err(failed())?;
        let link = Self { socket, index, place };
        link.counts().map_err(setup("the counts of the kernel's queue"))?;
        Ok(link)
    }

    /// Asks the kernel for the counts.
    pub(super) fn counts(&self) -> io::Result<KernelCounts> {
        send(self.socket.as_raw_fd(), &request(self.index), MsgFlags::empty())?;
        let (mut buffer, mut found) = (vec![0; ANSWER], None);
        loop {
            let length = match recv(self.socket.as_raw_fd(), &mut buffer, MsgFlags::empty()) {
                Ok(length) => length,
                Err(Errno::EINTR) => continue,
                Err(error) => return Err(error.into()),
            };
            for (kind, body) in RouteMessages(&buffer[..length]) {
                match kind {
                    RTM_NEWQDISC => found = found.or_else(|| counts_in(body, self.place)),
                    NLMSG_DONE => return found.ok_or_else(|| io::Error::other("the kernel has no counts of it")),
                    NLMSG_ERROR => return Err(io::Error::other("the kernel refused to list its queues")),
                    _ => {}
                }
            }
        }
    }
}

/// Installs the kernel's own discipline with tc(8).
fn install_own(interface: &str, discipline: &KernelDiscipline, rate: Rate, largest: u32) -> Result<(), LabError> {
    tc(&commands(interface, discipline, rate, largest)).map_err(|error| match error {
        LabError::Setup(_, said) if said.to_string().contains("kind is unknown") => {
            LabError::NoDiscipline(discipline.words.split(' ').next().unwrap_or_default().to_owned())
        }
        other => other,
    })
}

/// Returns the commands for tc(8). A discipline that does not hold packets back stands below a token bucket.
fn commands(interface: &str, discipline: &KernelDiscipline, rate: Rate, largest: u32) -> String {
    let KernelDiscipline { words, shapes, .. } = discipline;
    if *shapes {
        return format!("qdisc replace dev {interface} root handle 2: {words}\n");
    }
    // Room for two packets lets the link make up for a timer that is late by up to the time of one packet. The discipline limits the
    // queue; tbf's own limit must not.
    let (rate, burst) = (rate.bits_per_second(), 2 * largest);
    format!(
        "\
qdisc replace dev {interface} root handle 1: stab overhead -{ETHERNET} linklayer ethernet tbf rate {rate}bit burst {burst}b limit 1gb
qdisc replace dev {interface} parent 1:1 handle 2: {words}
"
    )
}

/// Returns the request for all disciplines of an interface.
fn request(index: u32) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER + TCMSG);
    bytes.extend(((HEADER + TCMSG) as u32).to_ne_bytes());
    bytes.extend(RTM_GETQDISC.to_ne_bytes());
    bytes.extend((NLM_F_REQUEST | NLM_F_DUMP).to_ne_bytes());
    // Sequence number and port; ip_version, interface, handle, parent, information.
    bytes.extend([0; 8 + 4]);
    bytes.extend(index.to_ne_bytes());
    bytes.resize(HEADER + TCMSG, 0);
    bytes
}

/// Netlink messages: each one's type and body.
struct RouteMessages<'a>(&'a [u8]);

impl<'a> Iterator for RouteMessages<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let length = u32_at(self.0, 0)? as usize;
        let kind = u16::from_ne_bytes(self.0.get(4..6)?.try_into().ok()?);
        let body = self.0.get(HEADER..length)?;
        self.0 = self.0.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, body))
    }
}

/// Returns the counts in a message if it is about the discipline at `place`.
fn counts_in(body: &[u8], place: Place) -> Option<KernelCounts> {
    // Behind the ip_version and three bytes of padding: the interface, the handle, the parent.
    let is_it = match place {
        Place::Handle => u32_at(body, 8)? == HANDLE,
        Place::RootOf(index) => u32_at(body, 4)? == index && u32_at(body, 12)? == ROOT,
    };
    if !is_it {
        return None;
    }
    let find = |bytes, wanted| Attributes::new(bytes).find(|(kind, _)| *kind == wanted).map(|(_, value)| value);
    let queue = find(find(body.get(TCMSG..)?, TCA_STATS2)?, TCA_STATS_QUEUE)?;
    Some(KernelCounts { packets: u32_at(queue, 0)?, bytes: u32_at(queue, 4)?, drops: u32_at(queue, 8)? })
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_ne_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::from(((4 + value.len()) as u16).to_ne_bytes());
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    fn message(kind: u16, body: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::from(((HEADER + body.len()) as u32).to_ne_bytes());
        bytes.extend(kind.to_ne_bytes());
        bytes.resize(HEADER, 0);
        bytes.extend(body);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    /// The body of a discipline's message with its counts, laid out as `linux/rtnetlink.h` and `linux/gen_stats.h` have
    /// it.
    fn discipline(handle: u32, parent: u32, counts: [u32; 5]) -> Vec<u8> {
        let mut body = vec![0; 4];
        body.extend([7_u32, handle, parent].iter().flat_map(|number| number.to_ne_bytes()));
        body.resize(TCMSG, 0);
        body.extend(attribute(1, b"choke\0"));
        let queue: Vec<u8> = counts.iter().flat_map(|count| count.to_ne_bytes()).collect();
        let stats = [attribute(1, &[9; 12]), attribute(TCA_STATS_QUEUE, &queue)].concat();
        body.extend(attribute(TCA_STATS2, &stats));
        body
    }

    /// The link's own counts come first in the kernel's answer; only the discipline's are read.
    #[test]
    fn counts_are_those_of_the_discipline() {
        let answer = [
            message(RTM_NEWQDISC, &discipline(1 << 16, ROOT, [1, 2, 3, 4, 5])),
            message(RTM_NEWQDISC, &discipline(HANDLE, 1 << 16 | 1, [17, 17_000, 230, 0, 9])),
            message(NLMSG_DONE, &[0; 4]),
        ]
        .concat();
        let found: Vec<_> = RouteMessages(&answer).map(|(kind, body)| (kind, counts_in(body, Place::Handle))).collect();
        let counts = KernelCounts { packets: 17, bytes: 17_000, drops: 230 };
        assert_eq!(found, [(RTM_NEWQDISC, None), (RTM_NEWQDISC, Some(counts)), (NLMSG_DONE, None)]);
        let at = |place| RouteMessages(&answer).filter_map(|(_, body)| counts_in(body, place)).collect::<Vec<_>>();
        assert_eq!(at(Place::RootOf(7)), [KernelCounts { packets: 1, bytes: 2, drops: 3 }]);
        assert_eq!(at(Place::RootOf(8)), []);
    }

    /// Whatever part of a message has come, nothing panics, and nothing is made up.
    #[test]
    fn a_message_that_was_cut_has_no_counts() {
        let whole = message(RTM_NEWQDISC, &discipline(HANDLE, 1 << 16 | 1, [17, 17_000, 230, 0, 9]));
        for end in 0..whole.len() {
            assert_eq!(RouteMessages(&whole[..end]).count(), 0, "{end}");
        }
        let body = discipline(HANDLE, 1 << 16 | 1, [17, 17_000, 230, 0, 9]);
        for end in 0..body.len() {
            assert_eq!(counts_in(&body[..end], Place::Handle), None, "{end}");
        }
    }

    #[test]
    fn a_discipline_that_shapes_stands_alone() {
        let of = |words: &str, shapes| {
            let discipline = KernelDiscipline { words: words.to_owned(), shapes, differences: Vec::new() };
            commands("r1", &discipline, Rate::from_bits_per_second(10_000_000), 1000)
        };
        assert_eq!(of("cake bandwidth 1mbit", true), "qdisc replace dev r1 root handle 2: cake bandwidth 1mbit\n");
        let choke = of("choke limit 300", false);
        let lines: Vec<&str> = choke.lines().collect();
        assert!(
            lines[0].contains(" root handle 1: stab overhead -14 ")
                && lines[0].contains(" tbf rate 10000000bit burst 2000b ")
        );
        assert_eq!(lines[1..], ["qdisc replace dev r1 parent 1:1 handle 2: choke limit 300"]);
    }

    #[test]
    fn a_request_names_the_interface() {
        let request = request(7);
        assert_eq!((u32_at(&request, 0), u32_at(&request, 20), request.len()), (Some(36), Some(7), 36));
    }
}
