//! Runs with disciplines that are written in Python.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use fairlane_outcome::Outcome as Measured;
use fairlane_qdisc::{BoxQdisc, Host, Packet, Time};
use fairlane_runner::machine::CostMeter;
use fairlane_runner::memory::Needs;
use fairlane_runner::{Recorder, check, compare};
use fairlane_sim::{Observer, PacketEvent, run_with};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

use crate::custom::{CustomDiscipline, RunState};
use crate::document::Document;
use crate::errors;
use crate::outcome::Outcome;
use crate::run::scenario;

/// Number of packet events between two readings of the clock, some milliseconds at most.
const LOOK_EVERY: u32 = 1 << 12;

/// The time after which signals and other threads get their turn. A thread that waits for Python's lock asks for it after 5 ms; a
/// shorter interval would take the lock back before the other thread wakes.
const TURN: Duration = Duration::from_millis(20);

#[expect(clippy::disallowed_methods, reason = "the clock decides only when other threads get their turn")]
fn wall_clock() -> Instant {
    Instant::now()
}

/// Runs a scenario with a discipline from `factory` at every queue that a comparison changes; `factory` gets the link's name, its rate in
/// bit/s and a seed. When `heard` returns true the current run ends as a partial one, and no other begins.
#[pyfunction]
pub(crate) fn run_custom(
    py: Python<'_>,
    document: &Bound<'_, Document>,
    factory: &Bound<'_, PyAny>,
    heard: &Bound<'_, PyAny>,
    runs: u32,
    recorded: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Vec<Outcome>, bool)> {
    let scenario = scenario(py, document)?;
    let needs = Needs::of([&scenario], runs, Some(1));
    needs.check().and_then(|()| check(&scenario, "")).map_err(|error| errors::batch(py, &error))?;
    let links = compare::links(&scenario).map_err(|error| errors::batch(py, &error))?;
    let meter = CostMeter::start();
    let mut recorder = recorded.then(|| Recorder::new(&scenario));
    let mut done = Vec::new();
    let mut interrupted = false;
    for number in 0..runs {
        let shared = Arc::new(RunState::default());
        let own = |link: &str, host: &Host| {
            let wanted = links.iter().any(|name| name == link);
            let made = wanted.then(|| make(py, factory, link, host, &shared))?;
            made.map_err(|error| shared.fail(error)).ok()
        };
        let mut observers = (recorder.as_mut().filter(|_| number == 0), SignalObserver::new(heard, &shared));
        let run = run_with(&scenario, number, &shared.control, &mut observers, own);
        match shared.failure() {
            // It interrupted the discipline, whose state may be inconsistent.
            Some(error) if error.is_instance_of::<PyKeyboardInterrupt>(py) => interrupted = true,
            Some(error) => return Err(error),
            None => {
                let run = run.map_err(|error| errors::refused(py, error))?;
                let last = number + 1 == runs && !run.partial;
                interrupted = heard.call0()?.is_truthy()? && !last;
                done.extend((!run.partial || run.to_s > run.from_s).then_some(run));
            }
        }
        if interrupted {
            break;
        }
        progress.as_ref().map(|progress| progress.call1(py, (number + 1, runs))).transpose()?;
    }
    let Some(mut inner) = Measured::from_runs(&done) else { return Ok((Vec::new(), interrupted)) };
    inner.partial |= interrupted;
    meter.measure(&mut inner.cost);
    Ok((vec![Outcome::new(inner, recorder.map(Recorder::finish))], interrupted))
}

/// Checks for signals and lets other Python threads run, also while no packet reaches a discipline written in Python.
struct SignalObserver<'a, 'py> {
    heard: &'a Bound<'py, PyAny>,
    shared: &'a RunState,
    events: u32,
    since: Instant,
}

impl<'a, 'py> SignalObserver<'a, 'py> {
    fn new(heard: &'a Bound<'py, PyAny>, shared: &'a RunState) -> Self {
        Self { heard, shared, events: 0, since: wall_clock() }
    }

    fn listen(&self) -> PyResult<()> {
        let py = self.heard.py();
        py.detach(|| ());
        py.check_signals()?;
        if self.heard.call0()?.is_truthy()? {
            self.shared.control.stop();
        }
        Ok(())
    }
}

impl Observer for SignalObserver<'_, '_> {
    fn packet(&mut self, _event: &PacketEvent) {
        self.events = self.events.wrapping_add(1);
        if self.events.is_multiple_of(LOOK_EVERY) && self.since.elapsed() > TURN {
            self.listen().unwrap_or_else(|error| self.shared.fail(error));
            self.since = wall_clock();
        }
    }

    fn delivered(&mut self, _at: Time, _flow: u32, _seq: u32) {}
}

/// Makes the discipline of `link` by `factory`, and returns its name in outcomes with it.
pub(crate) fn make<P: Packet + Send + Sync + 'static>(
    py: Python<'_>,
    factory: &Bound<'_, PyAny>,
    link: &str,
    host: &Host,
    shared: &Arc<RunState>,
) -> PyResult<(&'static str, BoxQdisc<P>)> {
    let object = factory.call1((link, host.rate.bits_per_second(), host.seed.stream("python").bits()))?;
    Ok((name(&object)?, Box::new(CustomDiscipline::new(py, object, Arc::clone(shared))?)))
}

/// Returns the name of a discipline in outcomes. Names are few, so each is kept for the life of the process.
fn name(object: &Bound<'_, PyAny>) -> PyResult<&'static str> {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let given = object.getattr_opt("name")?.and_then(|name| name.extract::<String>().ok());
    let name = given.map_or_else(|| object.get_type().name().map(|name| name.to_string()), Ok)?;
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name.as_str()) {
        return Ok(known);
    }
    let name: &'static str = Box::leak(name.into_boxed_str());
    names.insert(name);
    Ok(name)
}
