//! Congestion control of the program that runs the simulator. A mistake in it ends its run with an error.
//!
//! A catch around each call would take as many instructions as the call. So a run notes in [`Calls`] which call goes
//! on, and is itself what is caught.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use fairlane_qdisc::{Seed, Time};
use fairlane_scenario::{Scenario, Tcp};

use super::{AckSample, CongestionControl, CongestionEvent, LossState, OwnConnection, WindowSize};

/// Makes the congestion control of one connection.
pub(crate) type Maker = dyn Fn(&OwnConnection<'_>) -> Box<dyn CongestionControl> + Send + Sync;

/// A mistake of a congestion control of the program: it panicked, or gave a value that is not allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CongestionFault {
    /// The name of the flow: that of its group, and its number in it.
    pub flow: String,
    /// The simulated time.
    pub at: Time,
    /// The mistake, with the value and with those that are allowed.
    pub mistake: String,
}

impl fmt::Display for CongestionFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "flow {} at {} s: its congestion control {}", self.flow, self.at.as_secs(), self.mistake)
    }
}

/// A mistake of the congestion control of a flow with this number.
pub(crate) struct Mistake {
    flow: u32,
    at: Time,
    panic: Box<dyn Any + Send>,
}

impl Mistake {
    /// Returns it with the flow's name in `scenario`.
    pub(crate) fn of(self, scenario: &Scenario) -> CongestionFault {
        let Some(flow) = scenario.flow_names().nth(self.flow as usize) else { resume_unwind(self.panic) };
        CongestionFault { flow, at: self.at, mistake: mistake(&*self.panic) }
    }
}

/// The call that goes on in a run, and the time of the last one that was told it.
#[derive(Debug)]
pub(crate) struct Calls {
    /// The number of the flow, or [`NO_FLOW`].
    flow: AtomicU32,
    at: AtomicU64,
}

impl Calls {
    pub(crate) const fn new() -> Self {
        Self { flow: AtomicU32::new(NO_FLOW), at: AtomicU64::new(0) }
    }

    /// Calls `run`, a part of the run of these calls.
    ///
    /// # Errors
    /// The first mistake of a congestion control, after which the run cannot go on.
    pub(crate) fn watch<T>(&self, run: impl FnOnce() -> T) -> Result<T, Mistake> {
        catch_unwind(AssertUnwindSafe(run)).map_err(|panic| {
            let flow = self.flow.load(Ordering::Relaxed);
            if flow == NO_FLOW {
                // Outside of such a call, the simulator's own mistake is none of the program's.
                resume_unwind(panic);
            }
            Mistake { flow, at: Time::from_nanos(self.at.load(Ordering::Relaxed)), panic }
        })
    }
}

/// The number that no flow has.
const NO_FLOW: u32 = u32::MAX;

/// A value that is not allowed, as a sentence.
struct Refused(String);

/// Returns the mistake that ended a run.
fn mistake(panic: &(dyn Any + Send)) -> String {
    if let Some(Refused(text)) = panic.downcast_ref() {
        return text.clone();
    }
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("panicked: {}", text.unwrap_or("it gave no message"))
}

/// The congestion control of one flow, made anew for each of its connections.
#[derive(Clone)]
pub(crate) struct FlowAlgorithm {
    make: Arc<Maker>,
    flow: u32,
    seed: Seed,
    calls: Arc<Calls>,
}

impl FlowAlgorithm {
    /// Returns that of flow `flow`, whose randomness follows from `seed`.
    pub(crate) const fn new(make: Arc<Maker>, flow: u32, seed: Seed, calls: Arc<Calls>) -> Self {
        Self { make, flow, seed, calls }
    }

    /// Makes it for a connection that begins at `now`.
    pub(crate) fn connect(&self, tcp: &Tcp, now: Time) -> Box<dyn CongestionControl> {
        self.enter(now);
        let seed = self.seed.numbered(now.as_nanos());
        let inner = (self.make)(&OwnConnection { flow: self.flow, seed, tcp });
        self.leave();
        Box::new(Guarded { inner, of: self.clone() })
    }

    /// Notes that a call begins.
    fn enter(&self, now: Time) {
        self.calls.at.store(now.as_nanos(), Ordering::Relaxed);
        self.enter_timeless();
    }

    /// Notes that a call begins that is not told the time.
    fn enter_timeless(&self) {
        self.calls.flow.store(self.flow, Ordering::Relaxed);
    }

    /// Notes that the call has ended.
    fn leave(&self) {
        self.calls.flow.store(NO_FLOW, Ordering::Relaxed);
    }
}

impl fmt::Debug for FlowAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FlowAlgorithm").field("flow", &self.flow).finish_non_exhaustive()
    }
}

/// A congestion control whose calls are noted and whose values are checked.
#[derive(Debug)]
struct Guarded {
    inner: Box<dyn CongestionControl>,
    of: FlowAlgorithm,
}

impl Guarded {
    /// Notes that a call has ended that may have changed the window.
    fn leave(&self, window: &WindowSize) {
        if !(is_positive(window.cwnd) && is_positive(window.ssthresh)) {
            refuse_window(window);
        }
        self.of.leave();
    }

    /// Returns the answer to a question.
    fn ask<T>(&self, question: impl FnOnce(&dyn CongestionControl) -> T) -> T {
        self.of.enter_timeless();
        let answer = question(&*self.inner);
        self.of.leave();
        answer
    }

    /// Tells of something that comes without the time.
    fn tell(&mut self, news: impl FnOnce(&mut dyn CongestionControl)) {
        self.of.enter_timeless();
        news(&mut *self.inner);
        self.of.leave();
    }
}

#[cold]
fn refuse_window(window: &WindowSize) {
    check_size("window", window.cwnd);
    check_size("threshold", window.ssthresh);
}

/// Refuses a size in segments that is not finite and above 0.
fn check_size(name: &str, value: f64) {
    if !is_positive(value) {
        refuse(format!("set the {name} to {value} segments; a {name} is finite and above 0"));
    }
}

fn is_positive(value: f64) -> bool {
    value > 0.0 && value < f64::INFINITY
}

/// Ends the run. Nothing is printed, unlike after a panic.
#[cold]
fn refuse(mistake: String) -> ! {
    resume_unwind(Box::new(Refused(mistake)))
}

impl CongestionControl for Guarded {
    fn grow(&mut self, window: &mut WindowSize, ack: &AckSample) {
        self.of.enter(ack.now);
        self.inner.grow(window, ack);
        self.leave(window);
    }

    fn on_congestion(&mut self, window: &WindowSize, event: &CongestionEvent) -> f64 {
        self.of.enter(event.now);
        let threshold = self.inner.on_congestion(window, event);
        if !(is_positive(threshold) || threshold == 0.0) {
            refuse(format!("returned a threshold of {threshold} segments; a threshold is finite and not negative"));
        }
        self.of.leave();
        threshold
    }

    fn on_ack(&mut self, window: &mut WindowSize, ack: &AckSample, loss: LossState) {
        self.of.enter(ack.now);
        self.inner.on_ack(window, ack, loss);
        self.leave(window);
    }

    fn on_unused(&mut self, window: &mut WindowSize, ack: &AckSample) {
        self.of.enter(ack.now);
        self.inner.on_unused(window, ack);
        self.leave(window);
    }

    fn on_undo(&mut self) {
        self.tell(|inner| inner.on_undo());
    }

    fn on_send(&mut self, now: Time, seq: u32, idle: bool, in_flight: u32) {
        self.of.enter(now);
        self.inner.on_send(now, seq, idle, in_flight);
        self.of.leave();
    }

    fn on_arrived(&mut self, start: u32, end: u32) {
        self.tell(|inner| inner.on_arrived(start, end));
    }

    fn on_lost(&mut self, now: Time, seq: u32) {
        self.of.enter(now);
        self.inner.on_lost(now, seq);
        self.of.leave();
    }

    fn on_application_limited(&mut self, in_flight: u32) {
        self.tell(|inner| inner.on_application_limited(in_flight));
    }

    fn pacing_rate(&self, window: &WindowSize) -> Option<f64> {
        self.ask(|inner| {
            inner.pacing_rate(window).inspect(|rate| {
                if !is_positive(*rate) {
                    refuse(format!(
                        "returned a pacing rate of {rate} segments per second; a rate is finite and above 0"
                    ));
                }
            })
        })
    }

    fn has_model(&self) -> bool {
        self.ask(|inner| inner.has_model())
    }

    fn has_own_slow_start(&self) -> bool {
        self.ask(|inner| inner.has_own_slow_start())
    }

    fn is_scalable(&self) -> bool {
        self.ask(|inner| inner.is_scalable())
    }

    fn smallest_window(&self) -> Option<f64> {
        self.ask(|inner| inner.smallest_window().inspect(|least| check_size("smallest window", *least)))
    }

    fn reacts_to_mark(&self) -> bool {
        self.ask(|inner| inner.reacts_to_mark())
    }
}
