//! A network namespace with the threads that work in it.

use std::fs;
use std::io::{self, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use nix::errno::Errno;
use nix::sched::{CloneFlags, unshare};
use nix::unistd::gettid;

use crate::error::{LabError, setup};
use crate::user_namespace::namespace_refusal;

type Job = Box<dyn FnOnce() + Send>;

/// A network namespace and its threads. The namespace has no name: it ends with its threads and the sockets created
/// there, even if the process is killed.
pub(crate) struct Node {
    name: &'static str,
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
    id: i32,
}

impl Node {
    /// Creates the namespace. Its threads have this name, which is shown in `/proc`.
    pub(crate) fn new(name: &'static str) -> Result<Self, LabError> {
        let (jobs, todo) = channel::<Job>();
        let (tell, told) = channel();
        let work = move || {
            let made = unshare(CloneFlags::CLONE_NEWNET).map(|()| gettid().as_raw());
            let there = made.is_ok();
            let heard = tell.send(made).is_ok();
            if there && heard {
                serve(name, &todo);
            }
        };
        let thread = thread::Builder::new().name(name.to_owned()).spawn(work).map_err(setup("a thread"))?;
        let made = told.recv().unwrap_or(Err(Errno::EIO));
        let id = made.map_err(|error| match error {
            Errno::EPERM => LabError::NotPermitted(namespace_refusal(error)),
            other => LabError::Setup("a network namespace".to_owned(), other.into()),
        })?;
        Ok(Self { name, jobs: Some(jobs), thread: Some(thread), id })
    }

    /// Returns the id of a thread that lives as long as the namespace and identifies it.
    pub(crate) const fn id(&self) -> i32 {
        self.id
    }

    /// Starts `job` in the namespace, concurrently with those that run there, and returns a channel that receives its
    /// result.
    pub(crate) fn start<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> Receiver<T> {
        let (tell, told) = channel();
        if let Some(jobs) = &self.jobs {
            // If no thread can be started, the job is dropped and `told` is disconnected.
            let _ = jobs.send(Box::new(move || drop(tell.send(job()))));
        }
        told
    }

    /// Runs `job` in the namespace and returns its result.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> Result<T, LabError> + Send + 'static,
    ) -> Result<T, LabError> {
        self.start(job)
            .recv()
            .unwrap_or_else(|_| Err(LabError::Failed(self.name, io::Error::other("its thread ended"))))
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // A panic was reported to the caller that waited for the result.
            let _ = thread.join();
        }
    }
}

/// Runs each job on a separate thread, which is in the namespace of this one, until no more can come and all have
/// ended.
fn serve(name: &'static str, jobs: &Receiver<Job>) {
    let threads = jobs.iter().map(|job| thread::Builder::new().name(name.to_owned()).spawn(job));
    for thread in threads.collect::<Vec<_>>().into_iter().flatten() {
        // A panic was reported to the caller that waited for the result.
        let _ = thread.join();
    }
}

/// Runs ip(8) with `commands`, one per line, in this thread's namespace.
pub(crate) fn ip(commands: &str) -> Result<(), LabError> {
    feed("ip", commands)
}

/// Runs tc(8) with `commands`, one per line, in this thread's namespace.
pub(crate) fn tc(commands: &str) -> Result<(), LabError> {
    feed("tc", commands)
}

/// Runs a program of iproute2 with `commands`.
fn feed(program: &'static str, commands: &str) -> Result<(), LabError> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => LabError::NoTool(program, "iproute2"),
        _ => LabError::Setup(program.to_owned(), error),
    };
    let mut command = Command::new(program);
    command.args(["-batch", "-"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(failed)?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(commands.as_bytes()).map_err(failed)?;
    }
    let output = child.wait_with_output().map_err(failed)?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(LabError::Setup(program.to_owned(), io::Error::other(said)))
}

/// Sets the kernel parameter `name`, such as `net/ipv4/ip_forward`, in this thread's namespace.
pub(crate) fn sysctl(name: &str, value: &str) -> Result<(), LabError> {
    fs::write(format!("/proc/sys/{name}"), value).map_err(setup(name))
}
