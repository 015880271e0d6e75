//! The server at the far end: a command in the caller's network, which runs as long as the shell's own command.

use std::ffi::OsString;
use std::fs;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use fairlane_linux::now;
use fairlane_qdisc::{Duration, Time};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};

use crate::error::ShellError;
use crate::isolate::{Inside, Interior, Message};

/// The longest time until the server listens.
const PATIENCE: Duration = Duration::from_millis(60_000);

/// The time that the server has to end by itself.
const FAREWELL: Duration = Duration::from_millis(1_000);

/// How often its sockets are looked at.
const LOOK_MS: u16 = 20;

/// The tables of sockets in proc(5), each with the state of a socket that waits for others: TCP's listens, and UDP's is
/// not connected.
const TABLES: [(&str, &str); 4] = [("tcp", "0A"), ("tcp6", "0A"), ("udp", "07"), ("udp6", "07")];

/// The places of the state and of the inode in a line of these tables.
const STATE: usize = 3;
const INODE: usize = 9;

/// A server that runs. It ends when this is dropped.
pub(crate) struct Server(Inside);

impl Server {
    /// Starts `command`, and waits until one of its processes has a socket that waits for others. Called while the
    /// process has one thread.
    ///
    /// # Errors
    /// The command cannot be executed, ends before it listens, or does not listen in time.
    pub(crate) fn start(command: &[OsString]) -> Result<Self, ShellError> {
        let mut first = Inside::create(&Interior { command: command.to_vec(), network: None })?;
        first.set_up()?;
        first.start()?;
        let name = command.first().map(|name| name.to_string_lossy()).unwrap_or_default();
        match first.message() {
            Some(Message::Started) => {}
            Some(Message::Failed(reason) | Message::NoCommand(reason, _)) => {
                return Err(ShellError::Server(format!("cannot execute {name}: {reason}")));
            }
            _ => return Err(ShellError::Server("its first process has ended".to_owned())),
        }
        let mut server = Self(first);
        server.wait_until_it_listens()?;
        Ok(server)
    }

    fn wait_until_it_listens(&mut self) -> Result<(), ShellError> {
        let began = now();
        while !self.listens() {
            if self.has_message() {
                let reason = match self.0.message() {
                    Some(Message::Ended(code)) => format!("it ended with exit code {code} before it listened"),
                    _ => "it was killed before it listened".to_owned(),
                };
                return Err(ShellError::Server(reason));
            }
            if now().since(began) > PATIENCE {
                let seconds = PATIENCE.as_secs();
                return Err(ShellError::Server(format!("it has no socket that listens after {seconds} s")));
            }
        }
        Ok(())
    }

    /// Lets it end by itself, as on SIGTERM.
    pub(crate) fn end(self) {
        // It may have ended.
        let _ = kill(self.0.pid, Signal::SIGTERM);
        let began: Time = now();
        while !self.has_message() && now().since(began) < FAREWELL {}
    }

    /// Returns `true` if it has ended by itself.
    pub(crate) fn has_ended(&self) -> bool {
        self.look(PollTimeout::ZERO)
    }

    /// Waits for a moment, and returns `true` if its first process has a message, or has ended.
    fn has_message(&self) -> bool {
        self.look(PollTimeout::from(LOOK_MS))
    }

    fn look(&self, most: PollTimeout) -> bool {
        let mut ready = [PollFd::new(self.0.as_fd(), PollFlags::POLLIN)];
        // An interrupted wait is repeated.
        let _ = poll(&mut ready, most);
        ready[0].any() == Some(true)
    }

    fn listens(&self) -> bool {
        let Ok(namespace) = fs::read_link(format!("/proc/{}/ns/pid", self.0.pid)) else { return false };
        let waiting: Vec<PathBuf> = TABLES.iter().flat_map(|(table, state)| waiting(table, state)).collect();
        let processes = fs::read_dir("/proc").into_iter().flatten().flatten().map(|process| process.path());
        let own = |process: &Path| fs::read_link(process.join("ns/pid")).is_ok_and(|other| other == namespace);
        let has_one = |process: PathBuf| {
            let mut files = fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
            files.any(|file| fs::read_link(file.path()).is_ok_and(|socket| waiting.contains(&socket)))
        };
        processes.filter(|process| own(process)).any(has_one)
    }
}

/// Returns the sockets of a table in this state, as proc(5) shows them among the files of a process.
fn waiting(table: &str, state: &str) -> Vec<PathBuf> {
    let text = fs::read_to_string(format!("/proc/thread-self/net/{table}")).unwrap_or_default();
    let socket = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        (words.get(STATE) == Some(&state)).then(|| words.get(INODE).map(|inode| format!("socket:[{inode}]").into()))?
    };
    text.lines().filter_map(socket).collect()
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream, UdpSocket};
    use std::os::fd::AsRawFd;

    use super::*;

    /// Would catch a client that is taken for a server.
    #[test]
    fn sockets_that_wait_for_others_are_found() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let bound = UdpSocket::bind("127.0.0.1:0").unwrap();
        let connected = UdpSocket::bind("127.0.0.1:0").unwrap();
        connected.connect(bound.local_addr().unwrap()).unwrap();
        let name = |socket: &dyn AsRawFd| fs::read_link(format!("/proc/self/fd/{}", socket.as_raw_fd())).unwrap();
        let all: Vec<PathBuf> = TABLES.iter().flat_map(|(table, state)| waiting(table, state)).collect();
        for (socket, waits) in [(name(&listener), true), (name(&client), false), (name(&bound), true)] {
            assert_eq!(all.contains(&socket), waits, "{socket:?}");
        }
        assert!(!all.contains(&name(&connected)));
    }
}
