//! A process that takes the rules away while the router hangs, so that packets pass unqueued instead of being lost.
//!
//! The router tells it each quarter of a second that it is alive. When nothing has come for a second, because the
//! router is stopped, swapped out or hangs, the process takes the rules away; the router itself puts them back when it
//! is alive again.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use fairlane_console::{Failure, Stopwatch};
use fairlane_linux::Firewall;
use fairlane_qdisc::Time;
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::prctl::set_name;
use nix::sys::signal::{SigSet, Signal};

use super::remote::Remote;
use crate::args::router::GuardedRules;

/// The messages of the router: it is alive, and the rules are in place again.
const ALIVE: u8 = b'a';
const IN_PLACE: u8 = b'i';

/// The message of the process: it has taken the rules away.
const TAKEN: u8 = b't';

/// The time between two signs of life.
const BEAT: Duration = Duration::from_millis(250);

/// The router hangs when it has missed so many periods of `PERIOD_MILLIS` in a row. Two, since a machine that stood
/// still as a whole lets the first end before the router can say anything.
const MISSED: u32 = 2;
const PERIOD_MILLIS: u16 = 500;

/// The time that the process has at the end for a change of the rules that it has begun: more than the tools wait for
/// each other.
const ENDING: Duration = Duration::from_secs(8);

/// The guard of a running router. Dropping it ends the process, which changes nothing after that.
pub(super) struct Guard {
    process: Child,
    /// `None` at the end.
    to: Option<File>,
    from: File,
    beat: Option<Beat>,
}

/// The thread that tells the process that the router is alive. Dropping the sender ends it.
struct Beat {
    end: Sender<()>,
    thread: JoinHandle<()>,
}

impl Guard {
    /// Starts the process, and tells it of the life of `routers` from now on.
    pub(super) fn start(rules: &GuardedRules, routers: Vec<Remote>) -> io::Result<Self> {
        let mut process = Command::new("/proc/self/exe")
            .arg0("fairlane")
            .args(["router", "--guard", &rules.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // A terminal's Ctrl-C and Ctrl-Z are for the router.
            .process_group(0)
            .spawn()?;
        let (Some(to), Some(from)) = (process.stdin.take(), process.stdout.take()) else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        let to = File::from(OwnedFd::from(to));
        // A process that does not read must not hold us up.
        fcntl(&to, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        let (pipe, (end, ended)) = (to.try_clone()?, mpsc::channel());
        let thread = thread::Builder::new().name("alive".to_owned()).spawn(move || beat(&pipe, &routers, &ended))?;
        Ok(Self { process, to: Some(to), from: OwnedFd::from(from).into(), beat: Some(Beat { end, thread }) })
    }

    /// Returns the descriptor that is readable when the process has taken the rules away, or has ended.
    pub(super) fn news(&self) -> BorrowedFd<'_> {
        self.from.as_fd()
    }

    /// Returns `true` if the process has taken the rules away since the last call.
    ///
    /// # Errors
    /// The process has ended.
    pub(super) fn has_taken(&mut self) -> io::Result<bool> {
        let mut ready = [PollFd::new(self.from.as_fd(), PollFlags::POLLIN)];
        if poll(&mut ready, PollTimeout::ZERO)? == 0 {
            return Ok(false);
        }
        match self.from.read(&mut [0; 64])? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(true),
        }
    }

    /// Tells the process that the rules are in place again.
    pub(super) fn rules_are_back(&mut self) {
        if let Some(to) = &mut self.to {
            // If the process has ended, the next call of `has_taken` finds out.
            let _ = to.write(&[IN_PLACE]);
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(Beat { end, thread }) = self.beat.take() {
            drop(end);
            // If it panicked, it has said so.
            let _ = thread.join();
        }
        drop(self.to.take());
        let (waiting, step) = (Stopwatch::start(), PollTimeout::from(20_u8));
        while waiting.elapsed_s() < ENDING.as_secs_f64() {
            if !matches!(self.process.try_wait(), Ok(None)) {
                return;
            }
            // An interrupted wait is shorter, which is harmless.
            let _ = poll(&mut [], step);
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Tells that all `routers` are alive whenever they have published new reports, until `ended` is closed.
fn beat(mut pipe: &File, routers: &[Remote], ended: &Receiver<()>) {
    let mut seen = vec![Time::ZERO; routers.len()];
    while ended.recv_timeout(BEAT) == Err(RecvTimeoutError::Timeout) {
        let at: Vec<Time> = routers.iter().map(|router| router.report().at).collect();
        if at.iter().zip(&seen).all(|(at, seen)| at > seen) {
            seen = at;
            // A full pipe has signs of life enough.
            let _ = pipe.write(&[ALIVE]);
        }
    }
}

/// Guards the rules of a router, which has started this process, until the router closes standard input.
///
/// # Errors
/// Standard input or output fails.
pub(super) fn run(rules: &GuardedRules) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::plain(format!("a guard is started by a router: {error}"));
    // By its program, /proc/self/exe, it would be called "exe"; a name that cannot be set is shown so.
    let _ = set_name(c"fairlane-guard");
    // The router decides about the end.
    let signals = SigSet::from_iter([Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP]);
    signals.thread_block().map_err(|error| failed(error.into()))?;
    let (mut from, mut to) = (io::stdin().lock(), io::stdout().lock());
    let (mut in_place, mut missed) = (true, 0);
    loop {
        let mut ready = [PollFd::new(from.as_fd(), PollFlags::POLLIN)];
        match poll(&mut ready, PollTimeout::from(PERIOD_MILLIS)) {
            Ok(0) => missed += 1,
            Ok(_) => {
                let mut told = [0; 64];
                let length = from.read(&mut told).map_err(failed)?;
                if length == 0 {
                    return Ok(());
                }
                missed = 0;
                in_place |= told[..length].contains(&IN_PLACE);
            }
            Err(Errno::EINTR) => {}
            Err(error) => return Err(failed(error.into())),
        }
        if in_place && missed >= MISSED && take_away(rules) {
            in_place = false;
            to.write_all(&[TAKEN]).and_then(|()| to.flush()).map_err(failed)?;
        }
    }
}

/// Sends no more packets to the queues. Returns `false` if that failed, so that it is tried again.
fn take_away(rules: &GuardedRules) -> bool {
    let firewall = [Firewall::Nft, Firewall::Iptables].into_iter().find(|firewall| firewall.to_string() == rules.tool);
    firewall.is_some_and(|firewall| rules.queues.iter().all(|queue| firewall.stop(*queue).is_ok()))
}
