//! Congestion control of the program that runs the simulator. A mistake in it becomes an error of its run, and the flow
//! goes on with the window that it had.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use fairlane_qdisc::Time;
use fairlane_scenario::Tcp;

use crate::run::error::Error;

use super::reno::{self, Reno};
use super::{AckSample, CongestionControl, CongestionEvent, LossState, WindowSize};

/// Makes the congestion control of one connection, from the number of its flow and the flow's TCP.
pub(crate) type Maker = dyn Fn(u32, &Tcp) -> Box<dyn CongestionControl> + Send + Sync;

/// A mistake of a congestion control of the program: it panicked, or gave a value that is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CongestionFault {
    /// The congestion control's name.
    pub name: &'static str,
    /// The name of the flow: that of its group, and its number in it.
    pub flow: String,
    /// The simulated time.
    pub at: Time,
    /// The mistake, with the value and with those that are allowed.
    pub mistake: String,
}

impl fmt::Display for CongestionFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, flow, at, mistake } = self;
        write!(f, "flow {flow} at {} s: the congestion control \"{name}\" {mistake}", at.as_secs())
    }
}

/// The first fault in a run, with the number of its flow. Where several flows have one, it is that of the earliest
/// time and then the smallest number, since the flows of a run on several threads come in any order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Faults(Arc<Mutex<Option<(u32, CongestionFault)>>>);

impl Faults {
    fn note(&self, flow: u32, fault: CongestionFault) {
        let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if first.as_ref().is_none_or(|(number, earlier)| (fault.at, flow) < (earlier.at, *number)) {
            *first = Some((flow, fault));
        }
    }

    /// Fails with the first fault, if there is one.
    pub(crate) fn first(&self) -> Result<(), Error> {
        let first = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        first.map_or(Ok(()), |(_, fault)| Err(Error::Congestion(fault)))
    }
}

/// The congestion control of one flow, made anew for each of its connections.
#[derive(Clone)]
pub(crate) struct FlowAlgorithm {
    pub(crate) name: &'static str,
    pub(crate) make: Arc<Maker>,
    /// The number of the flow, and its name.
    pub(crate) flow: (u32, String),
    pub(crate) faults: Faults,
}

impl FlowAlgorithm {
    /// Makes it for a connection that begins at `now`.
    pub(crate) fn connect(&self, tcp: &Tcp, now: Time) -> Box<dyn CongestionControl> {
        let guarded = |inner| Guarded { inner, of: self.clone(), now, failed: AtomicBool::new(false) };
        match catch_unwind(AssertUnwindSafe(|| (self.make)(self.flow.0, tcp))) {
            Ok(inner) => Box::new(guarded(inner)),
            Err(panic) => {
                let guarded = guarded(Box::new(Reno));
                guarded.fail(panicked(&*panic));
                Box::new(guarded)
            }
        }
    }
}

impl fmt::Debug for FlowAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FlowAlgorithm").field("name", &self.name).field("flow", &self.flow).finish_non_exhaustive()
    }
}

/// A congestion control whose calls are watched. After the first fault it is called no more.
#[derive(Debug)]
struct Guarded {
    inner: Box<dyn CongestionControl>,
    of: FlowAlgorithm,
    /// The time of the last call that told it.
    now: Time,
    failed: AtomicBool,
}

impl Guarded {
    /// Returns the result of a call; `None` after a panic.
    fn result<T>(&self, done: thread::Result<T>) -> Option<T> {
        done.map_err(|panic| self.fail(panicked(&*panic))).ok()
    }

    /// Lets `act` change the window, unless it fails.
    fn change(&mut self, window: &mut WindowSize, act: impl FnOnce(&mut dyn CongestionControl, &mut WindowSize)) {
        if self.failed.load(Ordering::Relaxed) {
            return;
        }
        let mut next = *window;
        let done = catch_unwind(AssertUnwindSafe(|| act(&mut *self.inner, &mut next)));
        if self.result(done).is_some() && self.is_size("window", next.cwnd) && self.is_size("threshold", next.ssthresh)
        {
            *window = next;
        }
    }

    /// Lets `act` take note of something.
    fn tell(&mut self, act: impl FnOnce(&mut dyn CongestionControl)) {
        if !self.failed.load(Ordering::Relaxed) {
            let done = catch_unwind(AssertUnwindSafe(|| act(&mut *self.inner)));
            self.result(done);
        }
    }

    /// Returns the answer of `act`, or `usual` after a fault.
    fn ask<T>(&self, usual: T, act: impl FnOnce(&dyn CongestionControl) -> T) -> T {
        if self.failed.load(Ordering::Relaxed) {
            return usual;
        }
        self.result(catch_unwind(AssertUnwindSafe(|| act(&*self.inner)))).unwrap_or(usual)
    }

    fn is_size(&self, name: &str, value: f64) -> bool {
        self.is_allowed(value > 0.0, value, || {
            format!("set the {name} to {value} segments; a {name} is finite and above 0")
        })
    }

    /// Returns true if a value is in its `range` and finite; otherwise that is the fault.
    fn is_allowed(&self, range: bool, value: f64, mistake: impl FnOnce() -> String) -> bool {
        let allowed = range && value.is_finite();
        if !allowed {
            self.fail(mistake());
        }
        allowed
    }

    #[cold]
    fn fail(&self, mistake: String) {
        self.failed.store(true, Ordering::Relaxed);
        let (number, flow) = self.of.flow.clone();
        self.of.faults.note(number, CongestionFault { name: self.of.name, flow, at: self.now, mistake });
    }
}

/// Returns the mistake of a panic with its message.
fn panicked(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("panicked: {}", text.unwrap_or("it gave no message"))
}

impl CongestionControl for Guarded {
    fn grow(&mut self, window: &mut WindowSize, ack: &AckSample) {
        self.now = ack.now;
        self.change(window, |inner, window| inner.grow(window, ack));
    }

    fn on_congestion(&mut self, window: &WindowSize, event: &CongestionEvent) -> f64 {
        self.now = event.now;
        let mut threshold = None;
        self.tell(|inner| threshold = Some(inner.on_congestion(window, event)));
        let allowed = |threshold: &f64| {
            self.is_allowed(*threshold >= 0.0, *threshold, || {
                format!("returned a threshold of {threshold} segments; a threshold is finite and not negative")
            })
        };
        threshold.filter(allowed).unwrap_or_else(|| reno::decrease(event.segments))
    }

    fn on_ack(&mut self, window: &mut WindowSize, ack: &AckSample, loss: LossState) {
        self.now = ack.now;
        self.change(window, |inner, window| inner.on_ack(window, ack, loss));
    }

    fn on_unused(&mut self, window: &mut WindowSize, ack: &AckSample) {
        self.now = ack.now;
        self.change(window, |inner, window| inner.on_unused(window, ack));
    }

    fn on_undo(&mut self) {
        self.tell(|inner| inner.on_undo());
    }

    fn on_send(&mut self, now: Time, seq: u32, idle: bool, in_flight: u32) {
        self.now = now;
        self.tell(|inner| inner.on_send(now, seq, idle, in_flight));
    }

    fn on_arrived(&mut self, start: u32, end: u32) {
        self.tell(|inner| inner.on_arrived(start, end));
    }

    fn on_lost(&mut self, now: Time, seq: u32) {
        self.now = now;
        self.tell(|inner| inner.on_lost(now, seq));
    }

    fn on_application_limited(&mut self, in_flight: u32) {
        self.tell(|inner| inner.on_application_limited(in_flight));
    }

    fn pacing_rate(&self, window: &WindowSize) -> Option<f64> {
        self.ask(None, |inner| inner.pacing_rate(window)).filter(|rate| {
            self.is_allowed(*rate > 0.0, *rate, || {
                format!("returned a pacing rate of {rate} segments per second; a rate is finite and above 0")
            })
        })
    }

    fn has_model(&self) -> bool {
        self.ask(false, |inner| inner.has_model())
    }

    fn has_own_slow_start(&self) -> bool {
        self.ask(false, |inner| inner.has_own_slow_start())
    }

    fn is_scalable(&self) -> bool {
        self.ask(false, |inner| inner.is_scalable())
    }

    fn smallest_window(&self) -> Option<f64> {
        self.ask(None, |inner| inner.smallest_window()).filter(|least| self.is_size("smallest window", *least))
    }

    fn reacts_to_mark(&self) -> bool {
        self.ask(true, |inner| inner.reacts_to_mark())
    }
}
