//! The link: both directions, in one thread.

mod capture;
mod direction;
mod meter;
mod sampling;

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender};

use fairlane_lab::{Judgement, Lateness, Stamps, Timeline, wait};
use fairlane_linux::now;
use fairlane_outcome::QueueRun;
use fairlane_qdisc::{Duration, Time};
use nix::poll::{PollFd, PollFlags};
use nix::sys::eventfd::EventFd;
use nix::sys::prctl::set_timerslack;

pub(crate) use capture::Capture;
pub use direction::Signalled;
pub(crate) use direction::{Direction, Ends};
pub(crate) use meter::LinkFlow;
pub use sampling::LinkSample;

use crate::path::sampling::FlowNumbers;
use crate::relay::{Answer, Contact, Gate};

/// The longest sleep, after which the thread looks whether it is to end.
const MOST_SLEEP: Duration = Duration::from_millis(50);

/// The interval between attempts to send frames that the kernel has not accepted.
const RETRY: Duration = Duration::from_millis(1);

/// The state that the link's thread shares with the others.
pub(crate) struct Shared {
    /// The link ends.
    pub(crate) over: AtomicBool,
    /// Wakes the link's thread.
    pub(crate) wake: EventFd,
}

/// Both directions of a link.
pub(crate) struct LinkPath {
    /// Towards the command, and away from it.
    down: Direction,
    up: Direction,
    gate: Gate,
    /// Tells the relay of contacts, and receives its answers.
    contacts: Sender<Contact>,
    answers: Receiver<Answer>,
    relay_wake: Arc<EventFd>,
    shared: Arc<Shared>,
    capture: Option<Capture>,
    timeline: Timeline,
    numbers: FlowNumbers,
    /// Receives the samples; nobody, if it is closed.
    samples: Sender<LinkSample>,
    start: Time,
}

/// The counts of a link.
pub(crate) struct LinkResults {
    /// Towards the command, and away from it.
    pub(crate) queues: [QueueRun; 2],
    /// The names of the flows that the queues number, of both.
    pub(crate) flows: [Vec<LinkFlow>; 2],
    /// The number of each of these flows among those of both directions.
    pub(crate) numbers: [Vec<u32>; 2],
    /// How late packets were delivered, in both directions.
    pub(crate) lateness: [Lateness; 2],
    /// Frames that were lost outside of the link.
    pub(crate) lost_frames: u64,
    pub(crate) signalled: [Signalled; 2],
    /// The reason why the capture lacks packets.
    pub(crate) capture_failed: Option<io::Error>,
    /// The seconds from the start to the end.
    pub(crate) seconds: f64,
}

impl LinkPath {
    pub(crate) fn new(
        [down, up]: [Direction; 2],
        gate: Gate,
        (contacts, answers): (Sender<Contact>, Receiver<Answer>),
        relay_wake: Arc<EventFd>,
        shared: Arc<Shared>,
        capture: Option<Capture>,
        (timeline, samples): (Timeline, Sender<LinkSample>),
    ) -> Self {
        let numbers = FlowNumbers::default();
        Self {
            down,
            up,
            gate,
            contacts,
            answers,
            relay_wake,
            shared,
            capture,
            timeline,
            numbers,
            samples,
            start: now(),
        }
    }

    /// Carries packets until the shell is over.
    pub(crate) fn run(mut self) -> io::Result<LinkResults> {
        // Without this the kernel may extend each wait by 50 us.
        let _ = set_timerslack(1);
        self.start = now();
        let mut stamps = Stamps::new(self.start);
        self.capture.iter_mut().for_each(|capture| capture.begin(stamps.zero()));
        self.timeline.begin(Time::ZERO, Duration::ZERO, Time::MAX.since(Time::ZERO));
        while !self.shared.over.load(Ordering::Acquire) {
            let at = self.elapsed();
            stamps.follow(at, self.start);
            let more = self.down.receive(at, &stamps) | self.up.receive(at, &stamps);
            let pending = self.deliver(self.elapsed())?;
            self.take_answers()?;
            self.tell_samples();
            if !more {
                self.wait(pending)?;
            }
        }
        let at = self.elapsed();
        self.timeline.cut(at);
        let (down, up) = (self.down.finish(at), self.up.finish(at));
        self.tell_samples();
        for (way, flows) in [&down.flows, &up.flows].into_iter().enumerate() {
            self.numbers.complete(way, flows.len());
        }
        Ok(LinkResults {
            queues: [down.queue, up.queue],
            flows: [down.flows, up.flows],
            numbers: self.numbers.into_numbers(),
            capture_failed: self.capture.and_then(Capture::finish),
            lateness: [down.lateness, up.lateness],
            signalled: [down.signalled, up.signalled],
            lost_frames: down.lost_frames + up.lost_frames,
            seconds: at.since(Time::ZERO).as_secs(),
        })
    }

    /// Returns the time of the scenario.
    fn elapsed(&self) -> Time {
        Time::ZERO + now().since(self.start)
    }

    /// Delivers at `at` what has arrived at both ends. Returns `true` if the kernel has not accepted all frames yet.
    fn deliver(&mut self, at: Time) -> io::Result<bool> {
        let Self { down, up, gate, contacts, relay_wake, capture, .. } = self;
        let pending = down.deliver(at, |due, _, _, frame| {
            capture.iter_mut().for_each(|capture| capture.add(due, frame));
            Judgement::Pass
        })?;
        let mut told = false;
        let pending_up = up.deliver(at, |due, id, flow, frame| {
            capture.iter_mut().for_each(|capture| capture.add(due, frame));
            match gate.contact(id, flow, frame) {
                Ok(judgement) => judgement,
                Err(contact) => {
                    told = true;
                    if contacts.send(contact).is_ok() { Judgement::Asked } else { Judgement::Drop }
                }
            }
        })?;
        if told {
            relay_wake.write(1)?;
        }
        Ok(pending || pending_up)
    }

    /// Sends or drops the packets on which the relay has decided.
    fn take_answers(&mut self) -> io::Result<()> {
        let mut any = false;
        while let Ok(answer) = self.answers.try_recv() {
            any = true;
            match answer {
                Answer::Pass(id) => {
                    self.gate.answered(id);
                    self.up.answer(id, true)?;
                }
                Answer::Drop(id) => {
                    self.gate.answered(id);
                    self.up.answer(id, false)?;
                }
                Answer::Open(flow) => self.gate.open(flow),
                Answer::Forget(flow) => self.gate.forget(&flow),
            }
        }
        if any { self.up.flush().map(drop) } else { Ok(()) }
    }

    /// Passes on the samples that both directions have taken.
    fn tell_samples(&mut self) {
        while let Some(sample) = self.numbers.join([self.down.sampling(), self.up.sampling()]) {
            // Nobody listens if the shell has failed.
            let _ = self.samples.send(sample);
        }
    }

    /// Waits for a packet, an answer, or the next event of the link.
    fn wait(&self, pending: bool) -> io::Result<()> {
        let at = self.elapsed();
        let due = [self.down.due(), self.up.due()].into_iter().flatten().min();
        let sources: [BorrowedFd<'_>; 3] = [self.down.as_fd(), self.up.as_fd(), self.shared.wake.as_fd()];
        let mut ready = sources.map(|source| PollFd::new(source, PollFlags::POLLIN));
        wait(&mut ready, due.map(|due| due.since(at)), if pending { RETRY } else { MOST_SLEEP })?;
        if ready[2].any() == Some(true) {
            // Another thread may have read it, which cannot be.
            let _ = self.shared.wake.read();
        }
        Ok(())
    }
}
