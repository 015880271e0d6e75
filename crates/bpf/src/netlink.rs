//! The root queue disciplines of devices, through rtnetlink.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::sys::socket::{AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, recv, sendto, socket};

const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const RTM_NEWQDISC: u16 = 36;
const RTM_DELQDISC: u16 = 37;
const RTM_GETQDISC: u16 = 38;
const REQUEST: u16 = 1;
const ACKNOWLEDGE: u16 = 4;
const DUMP: u16 = 0x300;
const REPLACE: u16 = 0x100;
const CREATE: u16 = 0x400;
const ROOT: u32 = 0xffff_ffff;
const KIND: u16 = 1;

/// The sizes of `struct nlmsghdr` and `struct tcmsg`.
const HEADER: usize = 16;
const MESSAGE: usize = 20;

/// A queue discipline at the root of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RootQdisc {
    pub(crate) ifindex: u32,
    pub(crate) kind: String,
}

/// Puts a discipline at the root of a device, in place of the one that is there.
pub(crate) fn replace(ifindex: u32, kind: &str) -> io::Result<()> {
    Socket::open()?.change(RTM_NEWQDISC, REPLACE | CREATE, ifindex, Some(kind))
}

/// Removes the discipline at the root of a device, which gets the kernel's default.
pub(crate) fn remove(ifindex: u32) -> io::Result<()> {
    Socket::open()?.change(RTM_DELQDISC, 0, ifindex, None)
}

/// Returns the disciplines at the roots of all devices of this network namespace.
pub(crate) fn roots() -> io::Result<Vec<RootQdisc>> {
    let socket = Socket::open()?;
    socket.send(RTM_GETQDISC, DUMP, 0, 0, None)?;
    let mut roots = Vec::new();
    loop {
        let answer = socket.receive()?;
        for (kind, body) in messages(&answer) {
            match kind {
                NLMSG_DONE => return Ok(roots),
                NLMSG_ERROR => return Err(error(body).unwrap_or_else(|| io::ErrorKind::InvalidData.into())),
                RTM_NEWQDISC => roots.extend(root(body)),
                _ => {}
            }
        }
    }
}

struct Socket(OwnedFd);

impl Socket {
    fn open() -> io::Result<Self> {
        let kind = SockType::Raw;
        Ok(Self(socket(AddressFamily::Netlink, kind, SockFlag::SOCK_CLOEXEC, SockProtocol::NetlinkRoute)?))
    }

    fn change(&self, message: u16, flags: u16, ifindex: u32, kind: Option<&str>) -> io::Result<()> {
        self.send(message, flags | ACKNOWLEDGE, ifindex, ROOT, kind)?;
        let answer = self.receive()?;
        match messages(&answer).next() {
            Some((NLMSG_ERROR, body)) => error(body).map_or(Ok(()), Err),
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    fn send(&self, message: u16, flags: u16, ifindex: u32, parent: u32, kind: Option<&str>) -> io::Result<()> {
        let mut bytes = vec![0; HEADER + MESSAGE];
        bytes[4..6].copy_from_slice(&message.to_ne_bytes());
        bytes[6..8].copy_from_slice(&(flags | REQUEST).to_ne_bytes());
        bytes[HEADER + 4..HEADER + 8].copy_from_slice(&ifindex.to_ne_bytes());
        bytes[HEADER + 12..HEADER + 16].copy_from_slice(&parent.to_ne_bytes());
        if let Some(kind) = kind {
            // The text ends with a zero, and the attribute at a multiple of four.
            bytes.extend((kind.len() as u16 + 5).to_ne_bytes());
            bytes.extend(KIND.to_ne_bytes());
            bytes.extend(kind.as_bytes());
            bytes.push(0);
            bytes.resize(bytes.len().next_multiple_of(4), 0);
        }
        let length = bytes.len() as u32;
        bytes[..4].copy_from_slice(&length.to_ne_bytes());
        sendto(self.0.as_raw_fd(), &bytes, &NetlinkAddr::new(0, 0), MsgFlags::empty())?;
        Ok(())
    }

    fn receive(&self) -> io::Result<Vec<u8>> {
        let mut buffer = vec![0; 1 << 16];
        let length = recv(self.0.as_raw_fd(), &mut buffer, MsgFlags::empty())?;
        buffer.truncate(length);
        Ok(buffer)
    }
}

/// Returns the messages of an answer: their types and their bodies.
fn messages(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = number(bytes, 0)? as usize;
        let kind = u16::from_ne_bytes(*bytes.get(4..)?.first_chunk()?);
        let body = bytes.get(HEADER..length)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or(&[]);
        Some((kind, body))
    })
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// Returns the error of an acknowledgement; `None` if it says that all is well.
fn error(body: &[u8]) -> Option<io::Error> {
    let code = number(body, 0)?.cast_signed();
    (code != 0).then(|| io::Error::from_raw_os_error(-code))
}

/// Reads a discipline; `None` if it is not the root of its device.
fn root(body: &[u8]) -> Option<RootQdisc> {
    let (ifindex, parent) = (number(body, 4)?, number(body, 12)?);
    let mut attributes = body.get(MESSAGE..)?;
    if parent != ROOT {
        return None;
    }
    loop {
        let length = usize::from(u16::from_ne_bytes(*attributes.first_chunk()?));
        if u16::from_ne_bytes(*attributes.get(2..)?.first_chunk()?) == KIND {
            let text = attributes.get(4..length)?.strip_suffix(&[0])?;
            return Some(RootQdisc { ifindex, kind: String::from_utf8_lossy(text).into_owned() });
        }
        attributes = attributes.get(length.next_multiple_of(4).max(4)..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A dump of two disciplines in the format of rtnetlink(7). Would catch an offset that is wrong, and a class taken
    /// for a root.
    #[test]
    fn a_dump_is_read() {
        let message = |ifindex: u32, parent: u32, kind: &[u8]| {
            let mut body = vec![0; MESSAGE];
            body[4..8].copy_from_slice(&ifindex.to_ne_bytes());
            body[12..16].copy_from_slice(&parent.to_ne_bytes());
            // Another attribute before the kind.
            for (name, value) in [(9_u16, &b"x"[..]), (KIND, kind)] {
                body.extend((value.len() as u16 + 4).to_ne_bytes());
                body.extend(name.to_ne_bytes());
                body.extend(value);
                body.resize(body.len().next_multiple_of(4), 0);
            }
            let mut bytes = (body.len() as u32 + HEADER as u32).to_ne_bytes().to_vec();
            bytes.extend(RTM_NEWQDISC.to_ne_bytes());
            bytes.resize(HEADER, 0);
            bytes.extend(body);
            bytes
        };
        let dump = [message(7, ROOT, b"fl_choke12\0"), message(8, 0x1_0001, b"fq_codel\0")].concat();
        let roots: Vec<_> = messages(&dump).filter_map(|(_, body)| root(body)).collect();
        assert_eq!(roots, [RootQdisc { ifindex: 7, kind: "fl_choke12".to_owned() }]);
        assert_eq!(messages(&dump[..dump.len() - 1]).count(), 1, "a message that was cut off");
    }
}
