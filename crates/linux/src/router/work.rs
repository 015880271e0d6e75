//! What a router's thread does, whatever its data path.

use std::io;

use fairlane_qdisc::{Duration, Time};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::prctl::set_timerslack;
use nix::sys::time::TimeSpec;

use crate::clock::now;
use crate::driver::{Driver, Reading};
use crate::engine::Engine;
use crate::remote::{Order, Remote};
use crate::report::Report;
use crate::top_flows::TopFlows;

/// How often the report is renewed.
const PUBLISH: Duration = Duration::from_millis(250);

/// Waiting in the kernel for less than this takes longer than this.
const SHORT: Duration = Duration::from_nanos(2_000);

/// A data path, and the engine between its two ends.
pub(super) struct Work<D> {
    driver: D,
    engine: Engine<TopFlows>,
    reading: Reading,
    remote: Remote,
    reloads: u64,
    /// When it ends even if packets wait.
    end: Option<Time>,
}

impl<D: Driver> Work<D> {
    /// Ready to work; whoever asks from now on is told how it is.
    pub(super) fn new(driver: D, engine: Engine<TopFlows>, reading: Reading, remote: Remote) -> Self {
        let mut work = Self { driver, engine, reading, remote, reloads: 0, end: None };
        let report = work.report();
        work.remote.publish(report);
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
            self.driver.decide(self.engine.verdicts())?;
            let now = now();
            self.obey(now)?;
            if self.is_over(now, more) {
                break;
            }
            if now.since(published) >= PUBLISH {
                let report = self.report();
                self.remote.publish(report);
                published = now;
            }
            if !more {
                self.wait(now)?;
            }
        }
        self.driver.release()?;
        let mut report = self.report();
        report.released = report.packets as u64;
        (report.packets, report.bytes) = (0, 0);
        self.remote.publish(report.clone());
        Ok(report)
    }

    /// Takes in what has come and lets the link send; whether there may be more.
    fn receive(&mut self, batch: &mut D::Batch) -> io::Result<bool> {
        let Self { driver, engine, reading, .. } = self;
        let arrived = now();
        let more = driver.receive(batch, reading, |packet| engine.arrive(arrived, packet))?;
        engine.advance(now());
        Ok(more)
    }

    /// Does what it was asked for.
    fn obey(&mut self, now: Time) -> io::Result<()> {
        for order in self.remote.orders() {
            match order {
                Order::Reload(discipline, link) => {
                    self.engine.replace(now, *discipline, link.rate);
                    self.reading.layer = link.layer;
                    self.reloads += 1;
                }
                Order::Stop(most) => {
                    self.end = Some(now + most);
                    self.driver.close()?;
                }
            }
        }
        Ok(())
    }

    /// Whether it was told to stop and nothing waits, or there was time enough.
    fn is_over(&self, now: Time, more: bool) -> bool {
        self.end.is_some_and(|end| now >= end || (!more && self.engine.packets() == 0))
    }

    /// Waits for a packet, an order, or the moment when the link can send.
    fn wait(&mut self, now: Time) -> io::Result<()> {
        let due = self.engine.due().map(|due| due.since(now));
        let until = [due, self.driver.retry()].into_iter().flatten().fold(PUBLISH, Duration::min);
        if until <= SHORT {
            return Ok(());
        }
        let timeout = TimeSpec::new(0, until.as_nanos() as i64);
        let sources = self.driver.sources().chain([self.remote.wake()]);
        let mut ready: Vec<PollFd<'_>> = sources.map(|source| PollFd::new(source, PollFlags::POLLIN)).collect();
        match ppoll(&mut ready, Some(timeout), None) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
        let failed = |ready: &PollFd<'_>| ready.revents().is_some_and(|events| events.contains(PollFlags::POLLERR));
        if ready.iter().any(failed) { self.driver.mend() } else { Ok(()) }
    }

    fn report(&mut self) -> Report {
        let mut report = Report {
            at: now(),
            counters: self.engine.counters().clone(),
            packets: self.engine.packets(),
            bytes: self.engine.bytes(),
            average: self.engine.average(),
            sojourn: *self.engine.sojourn(),
            lateness: *self.engine.lateness(),
            flows: self.engine.seen().heaviest(),
            reloads: self.reloads,
            ..Report::default()
        };
        self.driver.tell(&mut report);
        report
    }
}
