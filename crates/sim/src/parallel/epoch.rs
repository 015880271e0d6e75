//! An epoch of time of a divided run, which several threads handle.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;

use crossbeam_utils::{Backoff, CachePadded};
use fairlane_qdisc::Time;

use crate::control::Control;
use crate::event_loop::EventLoop;
use crate::parallel::mailbox::Mailboxes;
use crate::parallel::partition::Division;

/// An epoch of a divided run. The parts go through it in steps, each as soon as the packets of the others that it needs
/// have been sent.
pub(crate) struct SharedEpoch<'a> {
    division: &'a Division,
    mailboxes: &'a Mailboxes,
    parts: Vec<CachePadded<Mutex<&'a mut EventLoop<()>>>>,
    /// The thread that handles each part until another one takes it over. A part that changed its thread at each step
    /// would have to come from the other processor's cache each time.
    owners: &'a [AtomicUsize],
    /// The time in nanoseconds before which each part has handled all events and has posted their packets.
    times: Vec<CachePadded<AtomicU64>>,
    end: Time,
    /// True if a thread panics, for which the others must not wait.
    panics: AtomicBool,
}

impl<'a> SharedEpoch<'a> {
    /// Returns an epoch from `start`, before which nothing happens, to `end`.
    pub(crate) fn new(
        division: &'a Division,
        mailboxes: &'a Mailboxes,
        parts: &'a mut [CachePadded<EventLoop<()>>],
        owners: &'a [AtomicUsize],
        (start, end): (Time, Time),
    ) -> Self {
        let times = parts.iter().map(|_| CachePadded::new(AtomicU64::new(start.as_nanos()))).collect();
        let parts = parts.iter_mut().map(|part| CachePadded::new(Mutex::new(&mut **part))).collect();
        Self { division, mailboxes, parts, owners, times, end, panics: AtomicBool::new(false) }
    }

    /// Handles the parts of `thread` until all parts have come to the end. While these wait it takes over those of
    /// other threads.
    pub(crate) fn handle(&self, thread: usize) {
        let _signal = PanicSignal(&self.panics);
        let backoff = Backoff::new();
        while !self.panics.load(Ordering::Relaxed) && (0..self.parts.len()).any(|part| self.time(part) < self.end) {
            let mut goes_on = false;
            for part in 0..self.parts.len() {
                if self.owners[part].load(Ordering::Relaxed) == thread {
                    goes_on |= self.step(part);
                }
            }
            if goes_on || backoff.is_completed() && self.take_over(thread) {
                backoff.reset();
            } else {
                backoff.snooze();
            }
        }
    }

    /// Takes over a part that can go on and that no thread handles just now, flows before links, and handles its next
    /// step; returns false if there is none.
    fn take_over(&self, thread: usize) -> bool {
        let taken = (0..self.parts.len()).rev().find(|part| self.step(*part));
        if let Some(part) = taken {
            self.owners[part].store(thread, Ordering::Relaxed);
        }
        taken.is_some()
    }

    /// Handles the next step of a part; returns false if it is at the end or too far ahead, needs packets that have not
    /// been sent, or is being handled.
    ///
    /// The step reads the times before the mail: a part posts its mail before it publishes its time, so all mail that
    /// arrives before `to` is in the mailboxes.
    fn step(&self, part: usize) -> bool {
        let now = self.time(part);
        let Division { lookaheads, pace, .. } = self.division;
        let to = (now + pace.step).min(self.end);
        let last = (0..self.parts.len()).map(|part| self.time(part)).min().unwrap_or(now);
        if now >= to || last + pace.ahead < to || lookaheads.horizon(part, |part| self.time(part)) < to {
            return false;
        }
        let Ok(mut handled) = self.parts[part].try_lock() else { return false };
        // Another thread may have handled this step since the time was read.
        if handled.now >= to {
            return false;
        }
        self.mailboxes.receive(lookaheads.sources(part), &mut handled.network);
        handled.handle_before(to, &Control::default());
        if let Some(boundary) = &mut handled.network.boundary {
            self.mailboxes.post(boundary);
        }
        self.times[part].store(to.as_nanos(), Ordering::Release);
        true
    }

    fn time(&self, part: usize) -> Time {
        Time::from_nanos(self.times[part].load(Ordering::Acquire))
    }
}

/// Tells the other threads that this one panics.
struct PanicSignal<'a>(&'a AtomicBool);

impl Drop for PanicSignal<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}
