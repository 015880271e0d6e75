//! What a router's thread does, whatever its data path.

use std::io;

use fairlane_qdisc::{Duration, Time};
use nix::sys::prctl::set_timerslack;

use super::middle::{Middle, PUBLISH, wait};
use crate::clock::now;
use crate::driver::Driver;
use crate::report::Report;

/// After so many packets of a batch the clock is read again. Time goes on while we read them: a fast link is free again meanwhile, and
/// packets that never had to wait are not put into another order by a discipline with several queues, for which each would take a verdict
/// of its own.
const READ_AT_ONCE: u32 = 8;

/// A data path, and the engine between its two ends.
pub(super) struct Work<D> {
    driver: D,
    middle: Middle,
}

impl<D: Driver> Work<D> {
    /// Ready to work; whoever asks from now on is told how it is.
    pub(super) fn new(driver: D, middle: Middle) -> Self {
        let mut work = Self { driver, middle };
        let report = work.report();
        work.middle.remote.publish(report);
        work
    }

    /// Works until it is told to stop.
    pub(super) fn run(mut self) -> io::Result<Report> {
        // Without it the kernel may let us sleep for 50 us longer than asked for.
        let _ = set_timerslack(1);
        let mut batch = self.driver.batch();
        let mut published = now();
        loop {
            let more = self.receive(&mut batch)?;
            self.driver.decide(self.middle.engine.verdicts())?;
            let now = now();
            if self.middle.obey(now) {
                self.driver.close()?;
            }
            if self.middle.is_over(now, more) {
                break;
            }
            if now.since(published) >= PUBLISH {
                let report = self.report();
                self.middle.remote.publish(report);
                published = now;
            }
            if !more {
                self.wait(now)?;
            }
        }
        self.driver.release()?;
        let mut report = self.report();
        report.release();
        self.middle.remote.publish(report.clone());
        Ok(report)
    }

    /// Takes in what has come and lets the link send; whether there may be more.
    fn receive(&mut self, batch: &mut D::Batch) -> io::Result<bool> {
        let Middle { engine, reading, .. } = &mut self.middle;
        let (mut arrived, mut taken) = (now(), 0);
        let more = self.driver.receive(batch, reading, |packet| {
            if taken == READ_AT_ONCE {
                (arrived, taken) = (now(), 0);
            }
            taken += 1;
            engine.arrive(arrived, packet);
        })?;
        engine.advance(now());
        Ok(more)
    }

    /// Waits for a packet, an order, or the moment when the link can send.
    fn wait(&mut self, now: Time) -> io::Result<()> {
        let until = self.driver.retry().into_iter().fold(self.middle.idle(now), Duration::min);
        let sources = self.driver.sources().chain([self.middle.remote.wake()]);
        if wait(sources, until)? { self.driver.mend() } else { Ok(()) }
    }

    fn report(&mut self) -> Report {
        let mut report = self.middle.report();
        self.driver.tell(&mut report);
        report
    }
}
