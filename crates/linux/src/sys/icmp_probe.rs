//! Probes of the delay behind an interface: ICMP echoes and time stamps, as ping(8) sends them.
//!
//! **Source.** RFC 792. A packet socket (packet(7)) sees probes when they leave the machine, behind a queue of ours,
//! and answers before they wait in one.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use fairlane_qdisc::Time;
use nix::errno::Errno;
use nix::libc;
use nix::net::if_::if_nametoindex;
use nix::sys::socket::sockopt::BindToDevice;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrIn, recv, sendto, setsockopt, socket,
};
use nix::sys::time::TimeValLike;
use nix::time::{ClockId, clock_gettime};

use crate::sys::clock::now;
use crate::sys::interface_info::interface_name;
use crate::sys::sockopt::{FilterInstruction, attach_filter, bind_packet};

/// The types of ICMP messages: requests and their answers.
const ECHO_REPLY: u8 = 0;
const ECHO: u8 = 8;
const TIME_STAMP: u8 = 13;
const TIME_STAMP_REPLY: u8 = 14;

/// The length of a probe: that of a message with three time stamps, which an echo has too.
const LENGTH: usize = 20;

/// A day in milliseconds, in which time stamps count from midnight UTC.
const DAY: i64 = 24 * 60 * 60 * 1000;

/// The quantity that a probe requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeKind {
    /// The round trip.
    Echo,
    /// The times at which the reflector has received it and answered, in milliseconds of the reflector's clock.
    TimeStamp,
}

/// A probe that was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbeEvent {
    /// The time at which it was seen.
    pub at: Time,
    /// The number of the probe.
    pub number: u16,
    /// `None` when the probe leaves.
    pub answer: Option<ProbeAnswer>,
}

/// The answer to a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbeAnswer {
    /// The delays to the reflector and back in milliseconds, each with an unknown constant, since clocks differ; `None`
    /// of an echo.
    pub one_way_millis: Option<(i64, i64)>,
}

/// Sends probes by an interface, and sees them leave and their answers arrive.
#[derive(Debug)]
pub struct ProbeSocket {
    kind: ProbeKind,
    sender: OwnedFd,
    tap: OwnedFd,
    identifier: u16,
    /// The kernel's number of the interface.
    index: u32,
}

impl ProbeSocket {
    /// Opens the sockets for probes that leave by `interface`. `identifier` tells them from those of others.
    ///
    /// # Errors
    /// The interface does not exist, or a right is missing (`CAP_NET_RAW`).
    pub fn open(interface: &str, kind: ProbeKind, identifier: u16) -> io::Result<Self> {
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let index = if_nametoindex(interface)?;
        let sender = socket(AddressFamily::Inet, SockType::Raw, flags, SockProtocol::Icmp)?;
        setsockopt(&sender, BindToDevice, &interface.into())?;
        // Without a protocol the socket receives nothing until it is bound, behind the filter.
        let tap = socket(AddressFamily::Packet, SockType::Datagram, flags, None)?;
        attach_filter(tap.as_fd(), &filter(identifier))?;
        // Only sockets for all protocols see what leaves.
        bind_packet(tap.as_fd(), index, libc::ETH_P_ALL as u16)?;
        Ok(Self { kind, sender, tap, identifier, index })
    }

    /// Returns the bytes that the interface has sent and received, even under a new name; `None` if it is gone.
    #[must_use]
    pub fn bytes(&self) -> Option<(u64, u64)> {
        let name = interface_name(self.index)?;
        let counts = fs::read_to_string("/proc/thread-self/net/dev").ok()?;
        let line = counts.lines().find_map(|line| line.trim_start().strip_prefix(&*name)?.strip_prefix(':'))?;
        // The received bytes are the first of eight counts, the sent ones the first of the next eight.
        let mut columns = line.split_whitespace();
        let received = columns.next()?.parse().ok()?;
        Some((columns.nth(7)?.parse().ok()?, received))
    }

    /// Sends the probe `number` to `reflector`. One that cannot be sent now is lost, as on the way.
    ///
    /// # Errors
    /// A rule of this machine forbids the probe, as `IPAddressDeny=` of systemd does.
    pub fn send(&self, reflector: Ipv4Addr, number: u16) -> io::Result<()> {
        let mut message = [0; LENGTH];
        message[0] = if self.kind == ProbeKind::Echo { ECHO } else { TIME_STAMP };
        message[4..6].copy_from_slice(&self.identifier.to_be_bytes());
        message[6..8].copy_from_slice(&number.to_be_bytes());
        message[8..12].copy_from_slice(&time_of_day().to_be_bytes());
        let sum = checksum(&message);
        message[2..4].copy_from_slice(&sum.to_be_bytes());
        let to = SockaddrIn::from(SocketAddrV4::new(reflector, 0));
        match sendto(self.sender.as_raw_fd(), &message, &to, MsgFlags::MSG_DONTWAIT) {
            Err(Errno::EPERM) => Err(Errno::EPERM.into()),
            _ => Ok(()),
        }
    }

    /// Returns the next probe or answer that was seen; `None` if there is none.
    ///
    /// # Errors
    /// The interface is down or was removed.
    pub fn receive(&self) -> io::Result<Option<ProbeEvent>> {
        // The kernel gives the socket for sending a copy of all answers, which nobody reads.
        while recv(self.sender.as_raw_fd(), &mut [0; 1], MsgFlags::empty()).is_ok() {}
        let mut packet = [0; 128];
        loop {
            match recv(self.tap.as_raw_fd(), &mut packet, MsgFlags::empty()) {
                Ok(length) => {
                    if let Some(event) = read(now(), time_of_day(), &packet[..length]) {
                        return Ok(Some(event));
                    }
                }
                Err(Errno::EAGAIN) => return Ok(None),
                Err(Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl AsFd for ProbeSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.tap.as_fd()
    }
}

/// Reads an IPv4 packet that the filter has passed; `today` is our time of day, when an answer has arrived.
fn read(at: Time, today: u32, packet: &[u8]) -> Option<ProbeEvent> {
    let header = usize::from(packet.first()? & 0x0f) * 4;
    let message = packet.get(header..)?;
    let number = u16::from_be_bytes(*message.get(6..)?.first_chunk()?);
    let stamp = |place: usize| Some(u32::from_be_bytes(*message.get(place..)?.first_chunk()?));
    let answer = match *message.first()? {
        ECHO | TIME_STAMP => None,
        ECHO_REPLY => Some(ProbeAnswer { one_way_millis: None }),
        TIME_STAMP_REPLY => {
            let (sent, received, answered) = (stamp(8)?, stamp(12)?, stamp(16)?);
            Some(ProbeAnswer { one_way_millis: Some((between(sent, received), between(answered, today))) })
        }
        _ => return None,
    };
    Some(ProbeEvent { at, number, answer })
}

/// Returns the milliseconds from one time of day to another, from half a day before to half a day behind.
fn between(from: u32, to: u32) -> i64 {
    (i64::from(to) - i64::from(from) + DAY / 2).rem_euclid(DAY) - DAY / 2
}

/// Returns the milliseconds since midnight UTC.
fn time_of_day() -> u32 {
    let time = clock_gettime(ClockId::CLOCK_REALTIME).map_or(0, |time| time.num_milliseconds());
    time.rem_euclid(DAY) as u32
}

/// Returns the Internet checksum of a message whose own field is 0 (RFC 1071).
fn checksum(message: &[u8; LENGTH]) -> u16 {
    let sum: u32 = message.chunks_exact(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum();
    let once = (sum & 0xffff) + (sum >> 16);
    !(((once & 0xffff) + (once >> 16)) as u16)
}

/// The place from which a filter loads the packet's Ethernet type (`SKF_AD_OFF + SKF_AD_PROTOCOL`, `linux/filter.h`).
const PROTOCOL: u32 = 0xffff_f000;

/// Returns the filter for IPv4 packets with ICMP messages of ours, in classic BPF (`linux/filter.h`).
fn filter(identifier: u16) -> [FilterInstruction; 16] {
    const LOAD_BYTE: u16 = 0x30;
    const LOAD_HALF: u16 = 0x28;
    const LOAD_BYTE_AT_X: u16 = 0x50;
    const LOAD_HALF_AT_X: u16 = 0x48;
    const HEADER_LENGTH_TO_X: u16 = 0xb1;
    const IF_EQUAL: u16 = 0x15;
    const IF_ANY_BIT: u16 = 0x45;
    const RETURN: u16 = 0x06;
    [
        (LOAD_HALF, 0, 0, PROTOCOL),
        (IF_EQUAL, 0, 12, libc::ETH_P_IP as u32),
        (LOAD_BYTE, 0, 0, 9),
        (IF_EQUAL, 0, 10, 1),
        (LOAD_HALF, 0, 0, 6),
        (IF_ANY_BIT, 8, 0, 0x1fff),
        (HEADER_LENGTH_TO_X, 0, 0, 0),
        (LOAD_BYTE_AT_X, 0, 0, 0),
        (IF_EQUAL, 3, 0, ECHO as u32),
        (IF_EQUAL, 2, 0, ECHO_REPLY as u32),
        (IF_EQUAL, 1, 0, TIME_STAMP as u32),
        (IF_EQUAL, 0, 2, TIME_STAMP_REPLY as u32),
        (LOAD_HALF_AT_X, 0, 0, 4),
        (IF_EQUAL, 1, 0, identifier as u32),
        (RETURN, 0, 0, 0),
        (RETURN, 0, 0, 128),
    ]
}

#[cfg(test)]
mod tests {
    use std::thread;

    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    use nix::sched::{CloneFlags, unshare};

    use super::*;

    /// Interprets the instructions that the filter has (`linux/filter.h`).
    fn run(filter: &[FilterInstruction], ethernet_type: u32, packet: &[u8]) -> u32 {
        let (mut a, mut x, mut at) = (0_u32, 0_usize, 0);
        let byte = |place: usize| u32::from(packet[place]);
        let half = |place: usize| byte(place) << 8 | byte(place + 1);
        loop {
            let (code, yes, no, k) = filter[at];
            let place = k as usize;
            at += 1;
            match code {
                0x30 => a = byte(place),
                0x28 if k == PROTOCOL => a = ethernet_type,
                0x28 => a = half(place),
                0x50 => a = byte(x + place),
                0x48 => a = half(x + place),
                0xb1 => x = 4 * (byte(place) & 0xf) as usize,
                0x15 => at += usize::from(if a == k { yes } else { no }),
                0x45 => at += usize::from(if a & k != 0 { yes } else { no }),
                0x06 => return k,
                other => panic!("{other:#x}"),
            }
        }
    }

    /// Would catch a jump to the wrong place: the socket would get every packet, or none.
    #[test]
    fn only_our_messages_pass() {
        let filter = filter(0xabcd);
        let packet = |options: usize, protocol: u8, fragment: u8, kind: u8, identifier: u16| {
            let mut packet = vec![0; 20 + options + LENGTH];
            packet[0] = 0x45 + (options / 4) as u8;
            (packet[7], packet[9]) = (fragment, protocol);
            packet[20 + options] = kind;
            packet[24 + options..26 + options].copy_from_slice(&identifier.to_be_bytes());
            packet
        };
        for kind in 0..=255 {
            let passes = [0, 8, 13, 14].contains(&kind);
            for options in [0, 12] {
                assert_eq!(run(&filter, 0x800, &packet(options, 1, 0, kind, 0xabcd)) > 0, passes, "{kind}");
            }
        }
        for other in [packet(0, 17, 0, 8, 0xabcd), packet(0, 1, 3, 8, 0xabcd), packet(0, 1, 0, 8, 0xabce)] {
            assert_eq!(run(&filter, 0x800, &other), 0);
        }
        assert_eq!(run(&filter, 0x86dd, &packet(0, 1, 0, 8, 0xabcd)), 0);
    }

    /// By hand. Would catch a day that ends between two time stamps, and a direction that is mistaken for the other.
    #[test]
    fn time_stamps_are_delays() {
        let mut packet = vec![0; 20 + LENGTH];
        packet[0] = 0x45;
        packet[20] = TIME_STAMP_REPLY;
        packet[26..28].copy_from_slice(&7_u16.to_be_bytes());
        // Sent 10 ms before midnight, received 500 ms later by a clock that is 200 ms ahead, answered after 5 ms.
        for (place, stamp) in [(28, DAY as u32 - 10), (32, 490), (36, 495)] {
            packet[place..place + 4].copy_from_slice(&u32::to_be_bytes(stamp));
        }
        let event = read(Time::ZERO, 345, &packet).unwrap();
        let answer = Some(ProbeAnswer { one_way_millis: Some((500, -150)) });
        assert_eq!((event.number, event.answer), (7, answer));
        for length in 0..packet.len() {
            let _ = read(Time::ZERO, 345, &packet[..length]);
        }
        assert_eq!(between(5, 5), 0);
    }

    /// On loopback each probe is seen four times: leaving and arriving, and its answer the same. Would catch probes
    /// that nobody answers, as with a wrong checksum.
    #[test]
    fn a_kernel_answers() {
        let tried = thread::spawn(|| {
            let alone = unshare(CloneFlags::CLONE_NEWNET);
            alone.map_err(|error| ("netns", format!("no network namespace of our own: {error}")))?;
            let up = std::process::Command::new("ip").args(["link", "set", "lo", "up"]).status();
            if !up.is_ok_and(|status| status.success()) {
                return Err(("ip", "there is no ip".to_owned()));
            }
            for (kind, one_way) in [(ProbeKind::Echo, false), (ProbeKind::TimeStamp, true)] {
                let socket = ProbeSocket::open("lo", kind, 0x1234).unwrap();
                let other = ProbeSocket::open("lo", kind, 0x1235).unwrap();
                socket.send(Ipv4Addr::LOCALHOST, 0x5678).unwrap();
                let mut seen = Vec::new();
                while seen.len() < 4 {
                    let mut ready = [PollFd::new(socket.as_fd(), PollFlags::POLLIN)];
                    assert_eq!(poll(&mut ready, PollTimeout::from(5000_u16)), Ok(1), "{kind:?}: {seen:?}");
                    seen.extend(socket.receive().unwrap());
                }
                assert!(seen.iter().all(|event| event.number == 0x5678), "{seen:?}");
                assert_eq!(seen[0].answer, None);
                let answer = seen[3].answer.unwrap();
                assert_eq!(answer.one_way_millis.is_some(), one_way, "{seen:?}");
                assert!(
                    answer.one_way_millis.is_none_or(|(to, back)| to.abs() < 5000 && back.abs() < 5000),
                    "{seen:?}"
                );
                assert_eq!(other.receive().unwrap(), None);
                // Two packets of 40 bytes by now, and four behind the second probe. The kernel counts a packet
                // of loopback after it has arrived.
                let least = if one_way { 160 } else { 80 };
                let counted = || {
                    let _ = poll(&mut [], PollTimeout::from(10_u8));
                    socket.bytes().is_some_and(|(sent, received)| sent >= least && sent == received)
                };
                assert!((0..500).any(|_| counted()), "{:?}", socket.bytes());
            }
            Ok(())
        });
        if let Err((requirement, reason)) = tried.join().unwrap() {
            skip::because(requirement, reason);
        }
    }
}
