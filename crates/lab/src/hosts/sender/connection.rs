//! TCP connections.

use std::ffi::OsString;
use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, AsRawFd};

use fairlane_qdisc::Duration;
use fairlane_scenario::{Application, FlowGroup, Tcp};
use nix::errno::Errno;
use nix::libc::linger;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::socket::sockopt::{Linger, SocketError, TcpCongestion, TcpMaxSeg};
use nix::sys::socket::{SockFlag, SockType, SockaddrStorage, bind, connect, getsockopt, setsockopt, socket as open};
use nix::sys::time::TimeSpec;

use crate::address::IpVersion;
use crate::hosts::socket_options::{limit_unsent, pace, set_class};
use crate::hosts::tcp_info::TcpInfo;
use crate::plan::kernel_name;

/// The length of a TCP header without options.
const TCP_HEADER: u64 = 20;

/// The limit of written but unsent data of an application with off periods, in segments.
const UNSENT_SEGMENTS: u64 = 2;

/// The data sent by TCP.
static DATA: [u8; 32 << 10] = [0; 32 << 10];

/// The parameters of a flow's connections.
#[derive(Clone, Debug)]
pub(super) struct Connector {
    from: SocketAddr,
    to: SocketAddr,
    payload: u64,
    class: u8,
    tcp: Tcp,
}

impl Connector {
    /// Connects two addresses for a flow of `group`.
    pub(super) fn new(group: &FlowGroup, tcp: &Tcp, [from, to]: [SocketAddr; 2]) -> Self {
        let headers = TCP_HEADER + u64::from(IpVersion::of(from.ip()).header());
        Self { from, to, payload: group.packet.get() - headers, class: group.class, tcp: tcp.clone() }
    }

    /// Returns the data in a full packet without options, in bytes.
    pub(super) const fn payload(&self) -> u64 {
        self.payload
    }

    /// Starts to open a connection. It ends with a reset when it is dropped, unless it carries a transfer.
    pub(super) fn open(&self) -> io::Result<TcpStream> {
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let ip_version = IpVersion::of(self.from.ip());
        let socket = open(ip_version.domain(), SockType::Stream, flags, None)?;
        setsockopt(&socket, TcpCongestion, &OsString::from(kernel_name(&self.tcp)))?;
        setsockopt(&socket, TcpMaxSeg, &(self.payload as u32))?;
        set_class(&socket, ip_version, self.class)?;
        match self.tcp.application {
            Application::Transfers(_) => {}
            Application::Ftp
            | Application::Web(_)
            | Application::Video(_)
            | Application::Rpc(_)
            | Application::Cbr(_)
            | Application::Own(_) => reset_at_end(&socket)?,
            Application::OnOff(_) => {
                reset_at_end(&socket)?;
                limit_unsent(socket.as_fd(), (UNSENT_SEGMENTS * self.payload) as u32)?;
            }
        }
        if self.tcp.pacing {
            pace(socket.as_fd())?;
        }
        bind(socket.as_raw_fd(), &SockaddrStorage::from(self.from))?;
        match connect(socket.as_raw_fd(), &SockaddrStorage::from(self.to)) {
            Ok(()) | Err(Errno::EINPROGRESS) => Ok(TcpStream::from(socket)),
            Err(error) => Err(error.into()),
        }
    }
}

/// Lets a connection end with a reset, so that nothing of it remains in the namespace.
pub(super) fn reset_at_end(socket: &impl AsFd) -> nix::Result<()> {
    setsockopt(socket, Linger, &linger { l_onoff: 1, l_linger: 0 })
}

/// Waits at most `most` until a connection is established or has failed. Returns `true` when it is established.
pub(super) fn is_open(connection: &TcpStream, most: Duration) -> io::Result<bool> {
    let mut ready = [PollFd::new(connection.as_fd(), PollFlags::POLLOUT)];
    match ppoll(&mut ready, Some(timeout(most)), None) {
        Ok(0) | Err(Errno::EINTR) => return Ok(false),
        Ok(_) => {}
        Err(error) => return Err(error.into()),
    }
    match getsockopt(connection, SocketError)? {
        0 => Ok(true),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// Writes to a connection until its buffer is full, but at most `most` bytes. Returns the number written.
pub(super) fn fill(mut connection: &TcpStream, most: u64) -> io::Result<u64> {
    let mut written = 0;
    while written < most {
        let part = (most - written).min(DATA.len() as u64) as usize;
        match connection.write(&DATA[..part]) {
            Ok(bytes) => written += bytes as u64,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(error) => return Err(error),
        }
    }
    Ok(written)
}

/// Returns the data in a full packet of a connection, in bytes. The kernel accounts for its options.
pub(super) fn segment(connection: &TcpStream, before: u64) -> u64 {
    TcpInfo::of(connection.as_fd()).map_or(before, |info| u64::from(info.segment))
}

pub(super) fn timeout(duration: Duration) -> TimeSpec {
    TimeSpec::new((duration.as_nanos() / 1_000_000_000) as i64, (duration.as_nanos() % 1_000_000_000) as i64)
}
