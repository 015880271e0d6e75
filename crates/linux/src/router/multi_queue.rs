//! A router with several NFQUEUEs, which share one discipline and one link. Each queue has a thread.
//!
//! A thread receives the packets of its queue and parses their headers independently of the others. It then locks the
//! shared state and passes a batch of packets to the discipline. Verdicts must be sent on the socket of the packet's
//! own queue, since the kernel accepts them on no other. The thread whose turn released a packet sends its verdict.
//!
//! Lock order: a thread that needs both a driver and the shared state locks the driver first.

use std::io;
use std::mem;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use fairlane_qdisc::Duration;
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::prctl::set_timerslack;

use super::core::{Core, PUBLISH_INTERVAL, wait};
use super::packet_ids::PacketIds;
use crate::nfqueue::Verdict;
use crate::nfqueue::proc::KernelQueue;
use crate::packet::classifier::Classifier;
use crate::router::driver::{Driver, QueueDriver};
use crate::router::report::Report;
use crate::shaper::queued_packet::QueuedPacket;
use crate::sys::clock::now;

/// The queues and the state that they share.
pub(super) struct MultiQueue {
    queues: Vec<Queue>,
    shared: Mutex<SharedState>,
    /// Readable once the router has finished.
    finished: EventFd,
}

/// One NFQUEUE.
struct Queue {
    driver: Mutex<QueueDriver>,
    /// A duplicate of the driver's socket, to wait on without a lock.
    socket: OwnedFd,
}

/// The state that one thread uses at a time.
struct SharedState {
    core: Core,
    ids: PacketIds,
    /// For each queue, the verdicts that its driver has not received yet, in the order of the decisions.
    verdicts: Vec<Vec<Verdict>>,
    /// For each queue, `true` if there may be more packets to receive.
    more: Vec<bool>,
    finished: bool,
}

/// The result of a thread's turn with the shared state.
struct TurnResult {
    /// The longest time that the thread may sleep.
    max_sleep: Duration,
    finished: bool,
    /// The indices of the queues with verdicts to send.
    decided: Vec<usize>,
}

impl MultiQueue {
    /// Joins the drivers and `core`, and publishes the first report.
    pub(super) fn new(drivers: Vec<QueueDriver>, core: Core) -> io::Result<Self> {
        let queue = |driver: QueueDriver| {
            let socket = driver.sources().next().map(|source| source.try_clone_to_owned());
            let socket = socket.unwrap_or_else(|| Err(io::ErrorKind::NotFound.into()))?;
            Ok(Queue { driver: Mutex::new(driver), socket })
        };
        let queues = drivers.into_iter().map(queue).collect::<io::Result<Vec<_>>>()?;
        let verdicts = queues.iter().map(|_| Vec::new()).collect();
        let more = vec![false; queues.len()];
        let shared = SharedState { core, ids: PacketIds::default(), verdicts, more, finished: false };
        let finished = EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?;
        let router = Self { queues, shared: Mutex::new(shared), finished };
        let report = router.report();
        lock(&router.shared).core.handle.publish(report);
        Ok(router)
    }

    /// Processes packets until the router is told to stop.
    pub(super) fn run(self) -> io::Result<Report> {
        let this = &self;
        thread::scope(|scope| {
            let mut others = Vec::new();
            let mut result = Ok(());
            for at in 1..this.queues.len() {
                let name = format!("queue-{at}");
                match thread::Builder::new().name(name).spawn_scoped(scope, move || this.process(at)) {
                    Ok(thread) => others.push(thread),
                    Err(error) => result = Err(error),
                }
            }
            if result.is_err() {
                this.finish();
            }
            let first = this.process(0);
            let joined = others.into_iter().map(|other| other.join().unwrap_or(Err(io::ErrorKind::Other.into())));
            joined.fold(result.and(first), Result::and)
        })?;
        for queue in &self.queues {
            lock(&queue.driver).release()?;
        }
        let mut report = self.report();
        report.release();
        lock(&self.shared).core.handle.publish(report.clone());
        Ok(report)
    }

    /// Runs the thread of the queue with index `at`. If it fails, the other threads end too.
    fn process(&self, at: usize) -> io::Result<()> {
        let _guard = FinishOnDrop(self);
        // Without this the kernel may extend each wait by 50 us.
        let _ = set_timerslack(1);
        let Queue { driver, socket } = &self.queues[at];
        let mut buffer = lock(driver).buffer();
        let (mut classifier, handle) = {
            let shared = lock(&self.shared);
            (shared.core.classifier.clone(), shared.core.handle.clone())
        };
        let (mut received, mut spare, mut published) = (Vec::new(), Vec::new(), now());
        loop {
            let more = lock(driver).receive(&mut buffer, &classifier, |packet| received.push(packet))?;
            let turn = self.take_turn(at, &mut received, more, &mut classifier);
            for queue in turn.decided {
                self.send_verdicts(queue, &mut spare)?;
            }
            if turn.finished {
                return Ok(());
            }
            let now = now();
            if at == 0 && now.since(published) >= PUBLISH_INTERVAL {
                handle.publish(self.report());
                published = now;
            }
            if !more {
                // Commands wake the first thread only.
                let commands = (at == 0).then(|| handle.wake());
                wait([socket.as_fd(), self.finished.as_fd()].into_iter().chain(commands), turn.max_sleep)?;
            }
        }
    }

    /// Passes the packets received from the queue `at` to the discipline, and lets the link send.
    fn take_turn(
        &self,
        at: usize,
        received: &mut Vec<QueuedPacket>,
        more: bool,
        classifier: &mut Classifier,
    ) -> TurnResult {
        let mut shared = lock(&self.shared);
        // The clock is read after the lock is taken: another thread's turn may have lasted until now, and the time that
        // the discipline sees must not go back.
        let now = now();
        let SharedState { core, ids, verdicts, more: all_more, finished } = &mut *shared;
        let other_flows = classifier.keys.by() != core.classifier.keys.by();
        for mut packet in received.drain(..) {
            if other_flows {
                packet.set_flow(&core.classifier.keys);
            }
            packet.id = ids.allocate(at, packet.id);
            core.shaper.arrive(now, packet);
        }
        core.shaper.advance(now);
        for verdict in core.shaper.verdicts() {
            let (queue, id) = ids.release(verdict.id);
            verdicts[queue].push(Verdict { id, ..verdict });
        }
        all_more[at] = more;
        if at == 0 {
            core.run_commands(now);
            *finished |= core.is_finished(now, all_more.contains(&true));
        }
        classifier.clone_from(&core.classifier);
        // The thread's own queue is always included: verdicts that the kernel did not accept before are sent again.
        let decided = (0..verdicts.len()).filter(|queue| *queue == at || !verdicts[*queue].is_empty()).collect();
        TurnResult { max_sleep: core.max_sleep(now), finished: *finished, decided }
    }

    /// Gives the pending verdicts of a queue to its driver. The order is preserved: the thread that holds the driver
    /// takes all verdicts decided so far.
    fn send_verdicts(&self, queue: usize, spare: &mut Vec<Verdict>) -> io::Result<()> {
        let mut driver = lock(&self.queues[queue].driver);
        mem::swap(&mut lock(&self.shared).verdicts[queue], spare);
        driver.decide(spare.drain(..))
    }

    /// Ends all threads.
    fn finish(&self) {
        lock(&self.shared).finished = true;
        // If this fails, the threads notice within a quarter of a second.
        let _ = self.finished.write(1);
    }

    fn report(&self) -> Report {
        let mut report = lock(&self.shared).core.report();
        for queue in &self.queues {
            let mut one = Report::default();
            lock(&queue.driver).fill_report(&mut one);
            report.overruns += one.overruns;
            report.unknown += one.unknown;
            report.malformed += one.malformed;
            report.unsent += one.unsent;
            report.kernel = report.kernel.into_iter().chain(one.kernel).reduce(KernelQueue::with);
        }
        report
    }
}

/// Ends the other threads when the thread that holds it ends, for any reason.
struct FinishOnDrop<'s>(&'s MultiQueue);

impl Drop for FinishOnDrop<'_> {
    fn drop(&mut self) {
        self.0.finish();
    }
}

/// Locks `mutex`. Poisoning is ignored: the data is consistent whenever the lock is released, and a thread that panics
/// ends the others.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
