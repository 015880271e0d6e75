//! Devices and their queue disciplines, through rtnetlink.
//!
//! **Source.** rtnetlink(7); `linux/rtnetlink.h`, `linux/netlink.h`, `linux/if_link.h`, `linux/gen_stats.h`.

mod interfaces;
mod request;

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::{AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, recv, sendto, socket};

use crate::sys::attributes::Attributes;

pub use interfaces::{Route, VethEnd};

use request::Request;

/// The parent of a discipline at the root of its device (`TC_H_ROOT`).
pub const ROOT: u32 = u32::MAX;

const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const RTM_NEWQDISC: u16 = 36;
const RTM_DELQDISC: u16 = 37;
const RTM_GETQDISC: u16 = 38;
const RTM_NEWRULE: u16 = 32;
const RTM_GETRULE: u16 = 34;
const REQUEST: u16 = 1;
const ACKNOWLEDGE: u16 = 4;
const REPLACE: u16 = 0x100;
const EXCLUSIVE: u16 = 0x200;
const DUMP: u16 = 0x300;
const CREATE: u16 = 0x400;

/// The sizes of `struct nlmsghdr` and `struct tcmsg`.
const HEADER: usize = 16;
const TCMSG: usize = 20;

/// The attributes with the kind and with the counts, and those of the queue within the latter.
const TCA_KIND: u16 = 1;
const TCA_STATS2: u16 = 7;
const TCA_STATS_QUEUE: u16 = 3;

/// The size of `struct fib_rule_hdr` (`linux/fib_rules.h`), and the attribute with the firewall mark of a rule.
const FIB_RULE: usize = 12;
const FRA_FWMARK: u16 = 10;

/// The room for an answer. The kernel fills at most 32 KiB at a time.
const ANSWER: usize = 32 << 10;

/// A queue discipline of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QdiscEntry {
    /// The index of the device.
    pub ifindex: u32,
    /// The handle, the major number in the upper half.
    pub handle: u32,
    /// The handle of the class above, or [`ROOT`].
    pub parent: u32,
    /// The kind, such as `fq_codel`.
    pub kind: String,
    /// The counts; `None` if the kernel does not report them.
    pub counts: Option<QdiscCounts>,
}

/// The kernel's counts of a queue discipline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QdiscCounts {
    /// Packets in the queue.
    pub packets: u32,
    /// Their bytes.
    pub bytes: u32,
    /// Packets dropped since the discipline was installed.
    pub drops: u32,
}

/// A socket for requests in the network namespace of the thread that opened it.
#[derive(Debug)]
pub struct RouteSocket(OwnedFd);

impl RouteSocket {
    /// Opens a socket.
    ///
    /// # Errors
    /// The system refuses it.
    pub fn open() -> io::Result<Self> {
        let flags = SockFlag::SOCK_CLOEXEC;
        Ok(Self(socket(AddressFamily::Netlink, SockType::Raw, flags, SockProtocol::NetlinkRoute)?))
    }

    /// Returns the disciplines of all devices.
    ///
    /// # Errors
    /// The kernel refuses to list them.
    pub fn qdiscs(&self) -> io::Result<Vec<QdiscEntry>> {
        self.dump(RTM_GETQDISC, RTM_NEWQDISC, entry)
    }

    /// Returns the firewall marks by which policy routing selects packets, of IPv4 and IPv6.
    ///
    /// # Errors
    /// The kernel refuses to list the rules.
    pub fn rule_marks(&self) -> io::Result<Vec<u32>> {
        let mark = |body: &[u8]| u32_at(attribute(body.get(FIB_RULE..)?, FRA_FWMARK)?, 0).filter(|mark| *mark != 0);
        self.dump(RTM_GETRULE, RTM_NEWRULE, mark)
    }

    /// Asks for all objects of a kind, and reads each.
    fn dump<T>(&self, asked: u16, answered: u16, read: impl Fn(&[u8]) -> Option<T>) -> io::Result<Vec<T>> {
        self.send(&request(asked, DUMP, 0, 0, None))?;
        let mut entries = Vec::new();
        loop {
            let answer = self.receive()?;
            for (kind, body) in RouteMessages(&answer) {
                match kind {
                    NLMSG_DONE => return Ok(entries),
                    NLMSG_ERROR => return Err(error(body).unwrap_or_else(|| io::ErrorKind::InvalidData.into())),
                    kind if kind == answered => entries.extend(read(body)),
                    _ => {}
                }
            }
        }
    }

    /// Puts a discipline without parameters at the root of a device, in place of the one that is there.
    ///
    /// # Errors
    /// The kernel refuses it.
    pub fn replace_root(&self, ifindex: u32, kind: &str) -> io::Result<()> {
        self.change(&request(RTM_NEWQDISC, REPLACE | CREATE | ACKNOWLEDGE, ifindex, ROOT, Some(kind)))
    }

    /// Removes the discipline at the root of a device, which gets the kernel's default.
    ///
    /// # Errors
    /// The kernel refuses it.
    pub fn remove_root(&self, ifindex: u32) -> io::Result<()> {
        self.change(&request(RTM_DELQDISC, ACKNOWLEDGE, ifindex, ROOT, None))
    }

    fn change(&self, request: &[u8]) -> io::Result<()> {
        self.send(request)?;
        match RouteMessages(&self.receive()?).next() {
            Some((NLMSG_ERROR, body)) => error(body).map_or(Ok(()), Err),
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    fn send(&self, request: &[u8]) -> io::Result<()> {
        sendto(self.0.as_raw_fd(), request, &NetlinkAddr::new(0, 0), MsgFlags::empty())?;
        Ok(())
    }

    fn receive(&self) -> io::Result<Vec<u8>> {
        let mut buffer = vec![0; ANSWER];
        loop {
            match recv(self.0.as_raw_fd(), &mut buffer, MsgFlags::empty()) {
                Ok(length) => {
                    buffer.truncate(length);
                    return Ok(buffer);
                }
                Err(Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Returns a request about the discipline of a device.
fn request(kind: u16, flags: u16, ifindex: u32, parent: u32, discipline: Option<&str>) -> Vec<u8> {
    let mut body = [0; TCMSG];
    body[4..8].copy_from_slice(&ifindex.to_ne_bytes());
    body[12..16].copy_from_slice(&parent.to_ne_bytes());
    let mut request = Request::new(kind, flags, &body);
    if let Some(kind) = discipline {
        request.text(TCA_KIND, kind);
    }
    request.finish()
}

/// The messages of an answer: each one's type and body.
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

/// Reads a discipline from the body of its message.
fn entry(body: &[u8]) -> Option<QdiscEntry> {
    let attributes = body.get(TCMSG..)?;
    let kind = attribute(attributes, TCA_KIND)?.strip_suffix(&[0])?;
    // Behind the family and three bytes of padding: the device, the handle, the parent.
    Some(QdiscEntry {
        ifindex: u32_at(body, 4)?,
        handle: u32_at(body, 8)?,
        parent: u32_at(body, 12)?,
        kind: String::from_utf8_lossy(kind).into_owned(),
        counts: counts(attributes),
    })
}

fn counts(attributes: &[u8]) -> Option<QdiscCounts> {
    let queue = attribute(attribute(attributes, TCA_STATS2)?, TCA_STATS_QUEUE)?;
    Some(QdiscCounts { packets: u32_at(queue, 0)?, bytes: u32_at(queue, 4)?, drops: u32_at(queue, 8)? })
}

fn attribute(bytes: &[u8], wanted: u16) -> Option<&[u8]> {
    Attributes::new(bytes).find(|(kind, _)| *kind == wanted).map(|(_, value)| value)
}

/// Returns the error of an acknowledgement; `None` if it says that all is well.
fn error(body: &[u8]) -> Option<io::Error> {
    let code = u32_at(body, 0)?.cast_signed();
    (code != 0).then(|| io::Error::from_raw_os_error(code.wrapping_neg()))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_ne_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute_of(kind: u16, value: &[u8]) -> Vec<u8> {
        let mut request = Request::new(0, 0, &[]);
        request.attribute(kind, value);
        request.finish().split_off(HEADER)
    }

    fn message(kind: u16, body: &[u8]) -> Vec<u8> {
        Request::new(kind, 0, body).finish()
    }

    /// The body of a discipline's message with its counts, laid out as `linux/rtnetlink.h` and `linux/gen_stats.h` have
    /// it, and an attribute before the kind.
    fn discipline(handle: u32, parent: u32, kind: &[u8], counts: [u32; 5]) -> Vec<u8> {
        let mut body = vec![0; 4];
        body.extend([7_u32, handle, parent].iter().flat_map(|number| number.to_ne_bytes()));
        body.resize(TCMSG, 0);
        body.extend(attribute_of(9, b"x"));
        body.extend(attribute_of(TCA_KIND, kind));
        let queue: Vec<u8> = counts.iter().flat_map(|count| count.to_ne_bytes()).collect();
        let stats = [attribute_of(1, &[9; 12]), attribute_of(TCA_STATS_QUEUE, &queue)].concat();
        body.extend(attribute_of(TCA_STATS2, &stats));
        body
    }

    /// Would catch an offset that is wrong, and the counts of another discipline or attribute.
    #[test]
    fn a_dump_is_read() {
        let answer = [
            message(RTM_NEWQDISC, &discipline(1 << 16, ROOT, b"tbf\0", [1, 2, 3, 4, 5])),
            message(RTM_NEWQDISC, &discipline(2 << 16, 1 << 16 | 1, b"fl_choke12\0", [17, 17_000, 230, 0, 9])),
            message(NLMSG_DONE, &[0; 4]),
        ]
        .concat();
        let entries: Vec<_> = RouteMessages(&answer).filter_map(|(_, body)| entry(body)).collect();
        let of = |handle, parent, kind: &str, [packets, bytes, drops]: [u32; 3]| QdiscEntry {
            ifindex: 7,
            handle,
            parent,
            kind: kind.to_owned(),
            counts: Some(QdiscCounts { packets, bytes, drops }),
        };
        assert_eq!(
            entries,
            [of(1 << 16, ROOT, "tbf", [1, 2, 3]), of(2 << 16, 1 << 16 | 1, "fl_choke12", [17, 17_000, 230])]
        );
    }

    /// No part of a message causes a panic, and nothing is made up from it.
    #[test]
    fn a_message_that_was_cut_has_no_counts() {
        let body = discipline(2 << 16, ROOT, b"choke\0", [17, 17_000, 230, 0, 9]);
        let whole = message(RTM_NEWQDISC, &body);
        for end in 0..whole.len() {
            assert_eq!(RouteMessages(&whole[..end]).count(), 0, "{end}");
        }
        for end in 0..body.len() {
            assert_eq!(entry(&body[..end]).and_then(|entry| entry.counts), None, "{end}");
        }
    }

    /// The layout of `struct nlmsghdr` and `struct tcmsg`. Would catch a kind that the kernel reads beyond its end.
    #[test]
    fn a_request_names_the_device_and_the_kind() {
        let bytes = request(RTM_NEWQDISC, REPLACE, 7, ROOT, Some("fl_red1"));
        assert_eq!((u32_at(&bytes, 0), u32_at(&bytes, 20), u32_at(&bytes, 28)), (Some(48), Some(7), Some(ROOT)));
        assert_eq!((bytes.len(), &bytes[36..]), (48, &[&[12, 0, 1, 0][..], b"fl_red1\0"].concat()[..]));
        assert_eq!(request(RTM_GETQDISC, DUMP, 0, 0, None).len(), 36);
    }

    /// Would catch an error that is taken for success.
    #[test]
    fn an_acknowledgement_has_an_error_or_none() {
        assert!(error(&0_u32.to_ne_bytes()).is_none());
        let refused = error(&(-16_i32).to_ne_bytes()).and_then(|error| error.raw_os_error());
        assert_eq!(refused, Some(16));
        assert_eq!(error(&i32::MIN.to_ne_bytes()).and_then(|error| error.raw_os_error()), Some(i32::MIN));
    }
}
