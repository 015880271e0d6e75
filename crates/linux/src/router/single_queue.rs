//! The processing loop of a router whose data path has one queue.

use std::io;

use fairlane_qdisc::{Duration, Time};
use nix::sys::prctl::set_timerslack;

use super::core::{Core, PUBLISH_INTERVAL, wait};
use crate::router::driver::Driver;
use crate::router::report::Report;
use crate::sys::clock::now;

/// The number of packets of a batch that share one reading of the clock.
///
/// Time passes while a batch is read, and a fast link becomes free meanwhile. With one reading for a whole batch,
/// packets that never had to wait would be reordered by disciplines with several queues, and each would need a separate
/// verdict message.
const PACKETS_PER_CLOCK_READ: u32 = 8;

/// A driver and the core, run by one thread.
pub(super) struct SingleQueue<D: Driver> {
    driver: D,
    core: Core,
    /// The interfaces to which the next reload moves.
    prepared: Option<D::Successor>,
}

impl<D: Driver> SingleQueue<D> {
    /// Joins `driver` and `core`, and publishes the first report.
    pub(super) fn new(driver: D, core: Core) -> Self {
        let mut queue = Self { driver, core, prepared: None };
        let report = queue.report();
        queue.core.handle.publish(report);
        queue
    }

    /// Processes packets until the router is told to stop.
    pub(super) fn run(mut self) -> io::Result<Report> {
        // Without this the kernel may extend each wait by 50 us.
        let _ = set_timerslack(1);
        let mut buffer = self.driver.buffer();
        let mut published = now();
        loop {
            let more = self.receive(&mut buffer)?;
            self.driver.decide(self.core.shaper.verdicts())?;
            let now = now();
            if self.core.run_commands(now) {
                self.driver.close()?;
            }
            self.prepare_and_move()?;
            if self.core.is_finished(now, more) {
                break;
            }
            if now.since(published) >= PUBLISH_INTERVAL {
                let report = self.report();
                self.core.handle.publish(report);
                published = now;
            }
            if !more {
                self.wait(now)?;
            }
        }
        self.driver.release()?;
        let mut report = self.report();
        report.release();
        self.core.handle.publish(report.clone());
        Ok(report)
    }

    /// Opens other interfaces, or moves to them, if the router was told to.
    fn prepare_and_move(&mut self) -> io::Result<()> {
        if let Some((bridge, told)) = self.core.preparation.take() {
            let prepared = bridge.map(|bridge| self.driver.prepare(&bridge)).transpose();
            let result = prepared.map(|prepared| self.prepared = prepared);
            if told.send(result).is_err() {
                // Nobody has waited for it.
                self.prepared = None;
            }
        }
        if std::mem::take(&mut self.core.moves)
            && let Some(successor) = self.prepared.take()
        {
            let (Core { shaper, classifier, .. }, arrived) = (&mut self.core, now());
            self.driver.move_to(successor, classifier, |packet| shaper.arrive(arrived, packet))?;
        }
        Ok(())
    }

    /// Passes received packets to the discipline and lets the link send. Returns `true` if there may be more to
    /// receive.
    fn receive(&mut self, buffer: &mut D::Buffer) -> io::Result<bool> {
        let Core { shaper, classifier, .. } = &mut self.core;
        let (mut arrived, mut taken) = (now(), 0);
        let more = self.driver.receive(buffer, classifier, |packet| {
            if taken == PACKETS_PER_CLOCK_READ {
                (arrived, taken) = (now(), 0);
            }
            taken += 1;
            shaper.arrive(arrived, packet);
        })?;
        shaper.advance(now());
        Ok(more)
    }

    /// Waits for a packet, a command, or the time at which the link can send.
    fn wait(&mut self, now: Time) -> io::Result<()> {
        let timeout = self.driver.retry().into_iter().fold(self.core.max_sleep(now), Duration::min);
        let sources = self.driver.sources().chain([self.core.handle.wake()]);
        let errors = wait(sources, timeout)?;
        if errors || self.driver.may_be_gone() { self.driver.clear_errors() } else { Ok(()) }
    }

    fn report(&mut self) -> Report {
        let mut report = self.core.report();
        self.driver.fill_report(&mut report);
        report
    }
}
