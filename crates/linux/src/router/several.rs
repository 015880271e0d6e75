//! Several NFQUEUEs before one discipline and one link, with a thread for each.
//!
//! A thread receives the packets of its queue and reads their headers by itself. For the discipline and the link it takes turns with the
//! others, a batch at a time. Verdicts go out by the socket of the packet's own queue, since the kernel takes them from no other;
//! whichever thread has brought the link to send does that.
//!
//! Who needs a driver and the middle at once locks the driver first.

use std::io;
use std::mem;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use fairlane_qdisc::Duration;
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::prctl::set_timerslack;

use super::middle::{Middle, PUBLISH, wait};
use super::places::Places;
use crate::clock::now;
use crate::driver::{Driver, QueueDriver, Reading};
use crate::kernel::KernelQueue;
use crate::nfqueue::Verdict;
use crate::packet::Held;
use crate::report::Report;

/// The queues, and what they share.
pub(super) struct Several {
    queues: Vec<Queue>,
    shared: Mutex<Shared>,
    /// Readable when it is over.
    over: EventFd,
}

/// One queue.
struct Queue {
    driver: Mutex<QueueDriver>,
    /// The driver's socket, to wait for.
    socket: OwnedFd,
}

/// What one thread has at a time.
struct Shared {
    middle: Middle,
    places: Places,
    /// For each queue the verdicts that have not been given to its driver, in the order in which they were made.
    verdicts: Vec<Vec<Verdict>>,
    /// For each queue whether there may be more to receive.
    more: Vec<bool>,
    over: bool,
}

/// What a thread does after its turn.
struct Turn {
    /// How long it may sleep.
    idle: Duration,
    over: bool,
    /// Queues that have verdicts.
    decided: Vec<usize>,
}

impl Several {
    /// Ready to work; whoever asks from now on is told how it is.
    pub(super) fn new(drivers: Vec<QueueDriver>, middle: Middle) -> io::Result<Self> {
        let queue = |driver: QueueDriver| {
            let socket = driver.sources().next().map(|source| source.try_clone_to_owned());
            let socket = socket.unwrap_or_else(|| Err(io::ErrorKind::NotFound.into()))?;
            Ok(Queue { driver: Mutex::new(driver), socket })
        };
        let queues = drivers.into_iter().map(queue).collect::<io::Result<Vec<_>>>()?;
        let verdicts = queues.iter().map(|_| Vec::new()).collect();
        let more = vec![false; queues.len()];
        let shared = Shared { middle, places: Places::default(), verdicts, more, over: false };
        let over = EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?;
        let several = Self { queues, shared: Mutex::new(shared), over };
        let report = several.report();
        lock(&several.shared).middle.remote.publish(report);
        Ok(several)
    }

    /// Works until it is told to stop.
    pub(super) fn run(self) -> io::Result<Report> {
        let this = &self;
        thread::scope(|scope| {
            let mut others = Vec::new();
            let mut result = Ok(());
            for at in 1..this.queues.len() {
                let name = format!("queue-{at}");
                match thread::Builder::new().name(name).spawn_scoped(scope, move || this.work(at)) {
                    Ok(thread) => others.push(thread),
                    Err(error) => result = Err(error),
                }
            }
            if result.is_err() {
                this.end();
            }
            let first = this.work(0);
            let joined = others.into_iter().map(|other| other.join().unwrap_or(Err(io::ErrorKind::Other.into())));
            joined.fold(result.and(first), Result::and)
        })?;
        for queue in &self.queues {
            lock(&queue.driver).release()?;
        }
        let mut report = self.report();
        report.release();
        lock(&self.shared).middle.remote.publish(report.clone());
        Ok(report)
    }

    /// What the thread of a queue does. If it cannot go on, nobody does.
    fn work(&self, at: usize) -> io::Result<()> {
        let _all = Together(self);
        // Without it the kernel may let us sleep for 50 us longer than asked for.
        let _ = set_timerslack(1);
        let Queue { driver, socket } = &self.queues[at];
        let mut batch = lock(driver).batch();
        let (mut reading, remote) = {
            let shared = lock(&self.shared);
            (shared.middle.reading.clone(), shared.middle.remote.clone())
        };
        let (mut came, mut spare, mut published) = (Vec::new(), Vec::new(), now());
        loop {
            let more = lock(driver).receive(&mut batch, &reading, |packet| came.push(packet))?;
            let turn = self.take_turn(at, &mut came, more, &mut reading);
            for queue in turn.decided {
                self.send(queue, &mut spare)?;
            }
            if turn.over {
                return Ok(());
            }
            let now = now();
            if at == 0 && now.since(published) >= PUBLISH {
                remote.publish(self.report());
                published = now;
            }
            if !more {
                // One is enough to hear of orders.
                let orders = (at == 0).then(|| remote.wake());
                wait([socket.as_fd(), self.over.as_fd()].into_iter().chain(orders), turn.idle)?;
            }
        }
    }

    /// Gives the discipline what came by the queue `at`, and lets the link send.
    fn take_turn(&self, at: usize, came: &mut Vec<Held>, more: bool, reading: &mut Reading) -> Turn {
        let mut shared = lock(&self.shared);
        // Not before: another's turn may have lasted until now, and time does not run backwards.
        let now = now();
        let Shared { middle, places, verdicts, more: all_more, over } = &mut *shared;
        for mut packet in came.drain(..) {
            packet.id = places.take(at, packet.id);
            middle.engine.arrive(now, packet);
        }
        middle.engine.advance(now);
        for verdict in middle.engine.verdicts() {
            let (queue, id) = places.leave(verdict.id);
            verdicts[queue].push(Verdict { id, ..verdict });
        }
        all_more[at] = more;
        if at == 0 {
            middle.obey(now);
            *over |= middle.is_over(now, all_more.contains(&true));
        }
        reading.layer = middle.reading.layer;
        // Its own queue in any case: what the kernel did not take it is told again.
        let decided = (0..verdicts.len()).filter(|queue| *queue == at || !verdicts[*queue].is_empty()).collect();
        Turn { idle: middle.idle(now), over: *over, decided }
    }

    /// Gives the verdicts on packets of a queue to its driver. Nobody overtakes: who has the driver has all that were made before.
    fn send(&self, queue: usize, spare: &mut Vec<Verdict>) -> io::Result<()> {
        let mut driver = lock(&self.queues[queue].driver);
        mem::swap(&mut lock(&self.shared).verdicts[queue], spare);
        driver.decide(spare.drain(..))
    }

    /// Ends all threads.
    fn end(&self) {
        lock(&self.shared).over = true;
        // Should this fail, they see it a quarter of a second later at most.
        let _ = self.over.write(1);
    }

    fn report(&self) -> Report {
        let mut report = lock(&self.shared).middle.report();
        for queue in &self.queues {
            let mut one = Report::default();
            lock(&queue.driver).tell(&mut one);
            report.overruns += one.overruns;
            report.unknown += one.unknown;
            report.malformed += one.malformed;
            report.unsent += one.unsent;
            report.kernel = report.kernel.into_iter().chain(one.kernel).reduce(KernelQueue::with);
        }
        report
    }
}

/// A thread's part: when it is gone, for whatever reason, the others end.
struct Together<'s>(&'s Several);

impl Drop for Together<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// What is behind a lock is whole whenever it is let go; a thread that panics ends the others.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
