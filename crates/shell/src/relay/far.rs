//! A thread in a network namespace, and the sockets that it makes there.

use std::fs::File;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};

use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::socket::sockopt::{ReuseAddr, ReusePort};
use nix::sys::socket::{
    AddressFamily, Backlog, SockFlag, SockType, SockaddrStorage, bind, connect, listen, setsockopt, socket,
};
use nix::unistd::gettid;

use crate::error::{ShellError, setup};
use crate::sys::set_transparent;

type Job = Box<dyn FnOnce() + Send>;

/// A network namespace with a thread. The namespace ends with the thread and the sockets made there.
pub(crate) struct Namespace {
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
    id: u32,
}

impl Namespace {
    /// Creates the namespace; its thread has this name.
    pub(crate) fn new(name: &str) -> Result<Self, ShellError> {
        Self::with(name, || unshare(CloneFlags::CLONE_NEWNET))
    }

    /// Starts the thread, which enters its namespace by `enter`.
    fn with(name: &str, enter: impl FnOnce() -> nix::Result<()> + Send + 'static) -> Result<Self, ShellError> {
        let (jobs, todo) = channel::<Job>();
        let (tell, told) = channel();
        let work = move || {
            let made = enter().map(|()| gettid().as_raw() as u32);
            if tell.send(made).is_ok() && made.is_ok() {
                todo.iter().for_each(|job| job());
            }
        };
        let thread = thread::Builder::new().name(name.to_owned()).spawn(work).map_err(setup("a thread"))?;
        let made = told.recv().map_err(io::Error::other).map_err(setup("a thread"))?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread), id: made.map_err(setup("a network namespace"))? })
    }

    /// Joins the network namespace of a process; the thread has this name.
    pub(crate) fn of_process(name: &str, process: u32) -> Result<Self, ShellError> {
        let namespace = File::open(format!("/proc/{process}/ns/net")).map_err(setup("the network inside"))?;
        Self::with(name, move || setns(namespace, CloneFlags::CLONE_NEWNET))
    }

    /// Returns the id of the thread, which identifies the namespace.
    pub(crate) const fn id(&self) -> u32 {
        self.id
    }

    /// Runs `job` in the namespace and returns its result.
    pub(crate) fn run<T: Send + 'static>(&self, job: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
        let (tell, told) = channel();
        let job = move || {
            // Nobody waits for it if the shell has ended.
            let _ = tell.send(job());
        };
        self.jobs.as_ref().and_then(|jobs| jobs.send(Box::new(job)).ok()).ok_or_else(gone)?;
        told.recv().unwrap_or_else(|_| Err(gone()))
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // A panic was reported to the caller that waited for the result.
            let _ = thread.join();
        }
    }
}

fn gone() -> io::Error {
    io::Error::other("the thread of a namespace has ended")
}

/// Listens for TCP connections to `address`, which may be any.
pub(crate) fn listen_at(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = open(SockType::Stream, address.ip())?;
    setsockopt(&socket, ReuseAddr, &true)?;
    set_transparent(&socket, &address)?;
    bind(std::os::fd::AsRawFd::as_raw_fd(&socket), &SockaddrStorage::from(address))?;
    listen(&socket, Backlog::MAXCONN)?;
    Ok(socket.into())
}

/// Opens a UDP socket for the datagrams from `peer` to `address`, which may be any.
pub(crate) fn datagrams(address: SocketAddr, peer: SocketAddr) -> io::Result<UdpSocket> {
    let socket = open(SockType::Datagram, address.ip())?;
    setsockopt(&socket, ReuseAddr, &true)?;
    setsockopt(&socket, ReusePort, &true)?;
    set_transparent(&socket, &address)?;
    let raw = std::os::fd::AsRawFd::as_raw_fd(&socket);
    bind(raw, &SockaddrStorage::from(address))?;
    connect(raw, &SockaddrStorage::from(peer))?;
    Ok(socket.into())
}

/// Begins to connect to `address`.
pub(crate) fn connect_to(address: SocketAddr) -> io::Result<TcpStream> {
    let socket = open(SockType::Stream, address.ip())?;
    match connect(std::os::fd::AsRawFd::as_raw_fd(&socket), &SockaddrStorage::from(address)) {
        Ok(()) | Err(nix::errno::Errno::EINPROGRESS) => Ok(socket.into()),
        Err(error) => Err(error.into()),
    }
}

fn open(kind: SockType, address: IpAddr) -> nix::Result<OwnedFd> {
    let family = if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
    socket(family, kind, SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK, None)
}
