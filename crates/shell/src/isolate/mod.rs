//! The command's namespaces, and the process that is the first in them.

mod files;
mod init;
mod tcp_settings;

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;

use fairlane_lab::{enter_user_namespace, namespace_refusal};
use nix::errno::Errno;
use nix::sched::CloneFlags;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::waitpid;
use nix::unistd::{Pid, getegid, geteuid};

pub(crate) use files::resolver;
pub(crate) use tcp_settings::TcpSettings;

use crate::address::Addresses;
use crate::error::{ShellError, setup};
use crate::sys::fork_into;

/// The namespaces of any command, and those of one behind the link.
const OWN: CloneFlags = CloneFlags::CLONE_NEWPID.union(CloneFlags::CLONE_NEWNS);
const INSIDE: CloneFlags = OWN.union(CloneFlags::CLONE_NEWNET);

/// The name of the command's interface.
pub(crate) const INTERFACE: &str = "link";

/// The setup of the first process of the namespaces.
#[derive(Clone, Debug)]
pub(crate) struct Interior {
    pub(crate) command: Vec<OsString>,
    /// The network behind the link; `None` for the caller's.
    pub(crate) network: Option<Network>,
}

/// The network behind the link.
#[derive(Clone, Debug)]
pub(crate) struct Network {
    pub(crate) addresses: Addresses,
    pub(crate) tcp: TcpSettings,
    /// The caller reaches other hosts by IPv6.
    pub(crate) has_ipv6: bool,
}

/// A message of the first process of the namespaces to its parent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Message {
    /// The namespaces are set up.
    Ready,
    /// The command runs.
    Started,
    /// The namespaces cannot be set up, with the reason.
    Failed(String),
    /// The command cannot be executed, with the reason and the exit code of shells for it.
    NoCommand(String, u8),
    /// The command has ended: its exit code, or 128 and the number of the signal.
    Ended(u8),
}

/// The first process of the command's namespaces. It ends with its parent, and with it ends all that is inside.
pub(crate) struct Inside {
    pub(crate) pid: Pid,
    channel: UnixStream,
}

impl Inside {
    /// Creates the namespaces, and a user namespace around them if the caller may create none without. Called while
    /// the process has one thread.
    ///
    /// # Errors
    /// The system does not allow it.
    pub(crate) fn create(interior: &Interior) -> Result<Self, ShellError> {
        let (channel, other) = UnixStream::pair().map_err(setup("a socket"))?;
        let namespaces = if interior.network.is_some() { INSIDE } else { OWN };
        let child = match fork_into(namespaces) {
            Err(Errno::EPERM) => {
                enter_user_namespace(geteuid(), getegid()).map_err(ShellError::NotPermitted)?;
                fork_into(namespaces).map_err(refused)?
            }
            result => result.map_err(refused)?,
        };
        match child {
            Some(pid) => Ok(Self { pid, channel }),
            None => {
                drop(channel);
                init::run(other, interior)
            }
        }
    }

    /// Lets the first process set up the namespaces, and waits until it has.
    pub(crate) fn set_up(&mut self) -> Result<(), ShellError> {
        self.start()?;
        match self.message() {
            Some(Message::Ready) => Ok(()),
            Some(Message::Failed(reason)) => Err(ShellError::Inside(reason)),
            _ => Err(ShellError::Inside("its first process has ended".to_owned())),
        }
    }

    /// Lets the first process go on: start the command.
    pub(crate) fn start(&mut self) -> Result<(), ShellError> {
        self.channel.write_all(&[0]).map_err(setup("the first process"))
    }

    /// Waits for the next message; `None` if the first process has ended.
    pub(crate) fn message(&mut self) -> Option<Message> {
        Message::read(&mut self.channel).ok()
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        // It ends by itself behind the command.
        let _ = (kill(self.pid, Signal::SIGKILL), waitpid(self.pid, None));
    }
}

impl std::os::fd::AsFd for Inside {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.channel.as_fd()
    }
}

impl Message {
    fn write(&self, to: &mut impl Write) -> io::Result<()> {
        let (kind, code, text) = match self {
            Self::Ready => (4, 0, ""),
            Self::Started => (0, 0, ""),
            Self::Failed(text) => (1, 0, text.as_str()),
            Self::NoCommand(text, code) => (2, *code, text.as_str()),
            Self::Ended(code) => (3, *code, ""),
        };
        let text = &text.as_bytes()[..text.len().min(usize::from(u16::MAX))];
        let length = (text.len() as u16).to_ne_bytes();
        to.write_all(&[&[kind, code][..], &length, text].concat())
    }

    fn read(from: &mut impl Read) -> io::Result<Self> {
        let mut head = [0; 4];
        from.read_exact(&mut head)?;
        let mut text = vec![0; u16::from_ne_bytes([head[2], head[3]]).into()];
        from.read_exact(&mut text)?;
        let text = String::from_utf8_lossy(&text).into_owned();
        Ok(match head[0] {
            0 => Self::Started,
            1 => Self::Failed(text),
            2 => Self::NoCommand(text, head[1]),
            4 => Self::Ready,
            _ => Self::Ended(head[1]),
        })
    }
}

fn refused(error: Errno) -> ShellError {
    ShellError::NotPermitted(namespace_refusal(error))
}
