//! Hosts of a test's network.

use std::process::Command;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use nix::sched::{CloneFlags, unshare};
use nix::unistd::gettid;

type Job = Box<dyn FnOnce() + Send>;

/// A thread in its own network namespace.
pub(crate) struct Node {
    jobs: Sender<Job>,
    pub(crate) tid: i32,
}

impl Node {
    /// Starts the thread. Its namespace has only loopback.
    pub(crate) fn new() -> Self {
        let (jobs, todo) = channel::<Job>();
        let (tell, told) = channel();
        thread::spawn(move || {
            unshare(CloneFlags::CLONE_NEWNET).unwrap();
            let up = Command::new("ip").args(["link", "set", "lo", "up"]).status();
            assert!(up.is_ok_and(|status| status.success()), "loopback cannot be set up");
            tell.send(gettid().as_raw()).unwrap();
            todo.iter().for_each(|job| job());
        });
        Self { jobs, tid: told.recv().unwrap() }
    }

    /// Starts `job` on the thread and returns a channel that receives its result.
    pub(crate) fn start<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> Receiver<T> {
        let (tell, told) = channel();
        self.jobs.send(Box::new(move || drop(tell.send(job())))).unwrap();
        told
    }

    /// Runs `job` on the thread and returns its result.
    pub(crate) fn run<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> T {
        self.start(job).recv().expect("a job that does not panic")
    }
}
