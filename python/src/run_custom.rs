//! Runs with parts that are written in Python.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use fairlane_outcome::{Extent, Outcome as Measured};
use fairlane_qdisc::{BoxQdisc, Host, Packet, Seed, Time};
use fairlane_runner::machine::CostMeter;
use fairlane_runner::memory::Needs;
use fairlane_runner::replay::{self as captures, Captured, Departures};
use fairlane_runner::{Series, Trace, compare};
use fairlane_scenario::Scenario;
use fairlane_sim::{Brought, Control, Observer, PacketEvent, Replay, run_brought};
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError};
use pyo3::prelude::*;

use crate::application;
use crate::congestion;
use crate::custom::{CustomDiscipline, RunState};
use crate::document::Document;
use crate::endpoint;
use crate::errors;
use crate::more::{ReplayLink, replay_link};
use crate::outcome::Outcome;
use crate::raised::{self, Raised};
use crate::record_files::RecordFiles;
use crate::run::{interval, scenario};

/// Number of packet events between two readings of the clock, some milliseconds at most.
const LOOK_EVERY: u32 = 1 << 12;

/// The time after which signals and other threads get their turn. A thread that waits for Python's lock asks for it
/// after 5 ms; a shorter interval would take the lock back before the other thread wakes.
const TURN: Duration = Duration::from_millis(20);

#[expect(clippy::disallowed_methods, reason = "the clock decides only when other threads get their turn")]
fn wall_clock() -> Instant {
    Instant::now()
}

/// The makers of parts of a run, with the names of their groups of flows.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Makers {
    congestion: Vec<(String, Py<PyAny>)>,
    applications: Vec<(String, Py<PyAny>)>,
    pub(crate) endpoints: Vec<(String, Py<PyAny>)>,
}

impl Makers {
    pub(crate) fn is_empty(&self) -> bool {
        self.congestion.is_empty() && self.applications.is_empty() && self.endpoints.is_empty()
    }

    /// Checks the scenario of `document` and returns it with the congestion controls of the groups.
    pub(crate) fn scenario(&self, py: Python<'_>, document: &Bound<'_, Document>) -> PyResult<Scenario> {
        endpoint::check(py, &scenario(py, document)?, &self.endpoints)?;
        congestion::scenario(py, &document.get().inner, &self.congestion)
    }

    /// Lets groups of `scenario` have their congestion controls and applications, and returns a control with these.
    pub(crate) fn install(&self, py: Python<'_>, scenario: &mut Scenario, raised: &Raised) -> PyResult<Control> {
        let control = congestion::install(py, scenario, &self.congestion, raised)?;
        application::install(py, scenario, &self.applications, raised, control)
    }
}

/// Options of runs with parts written in Python.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct CustomOptions {
    runs: u32,
    /// The files in which the first run is recorded, in addition to its timeline for a page.
    files: Option<RecordFiles>,
    /// Keep a series of the first run at this interval.
    series: Option<String>,
    /// Keep a trace of the first run.
    trace: bool,
    /// The key of the queue that has the discipline; without one, every queue that a comparison changes.
    queue: Option<String>,
    makers: Makers,
    /// Called with the number of finished runs and the total.
    progress: Option<Py<PyAny>>,
}

/// Runs a scenario with parts that are written in Python: a discipline from `factory`, if there is one, which gets the
/// link's name, its rate in bit/s and a seed; congestion controls; and endpoints. When `heard` returns true the current
/// run ends as a partial one, and no other begins.
#[pyfunction]
pub(crate) fn run_custom(
    py: Python<'_>,
    document: &Bound<'_, Document>,
    factory: Option<Bound<'_, PyAny>>,
    heard: &Bound<'_, PyAny>,
    options: CustomOptions,
) -> PyResult<(Vec<Outcome>, bool)> {
    let CustomOptions { runs, files, series, trace, queue, makers, progress } = options;
    let mut scenario = makers.scenario(py, document)?;
    let series = series.map(|every| interval(py, &every)).transpose()?;
    let needs = Needs::of([&scenario], runs, Some(1));
    let needs = series.map_or(needs, |every| needs.with_series(&scenario, every));
    needs.check().map_err(|error| errors::batch(py, &error))?;
    let links = match (&factory, queue) {
        (None, _) => Vec::new(),
        (Some(_), Some(key)) => vec![link_of(py, &scenario, &key)?],
        (Some(_), None) => compare::links(&scenario).map_err(|error| errors::batch(py, &error))?,
    };
    let meter = CostMeter::start();
    let mut records = files.map(|files| files.begin(py, document.get(), &scenario, series)).transpose()?;
    let mut series = series.map(|every| Series::in_memory(every, &scenario));
    let mut trace = trace.then(|| Trace::in_memory(&scenario));
    let mut done = Vec::new();
    let mut interrupted = false;
    for number in 0..runs {
        let raised = Raised::default();
        let shared = Arc::new(RunState::with(makers.install(py, &mut scenario, &raised)?));
        let own = |link: &str, host: &Host| {
            let factory = factory.as_ref().filter(|_| links.iter().any(|name| name == link))?;
            let made = make(py, factory, link, host, &shared);
            made.map_err(|error| shared.fail(error)).ok()
        };
        let ends = |group: &str, index: u32, seed: Seed| {
            let made = endpoint::make(py, &makers.endpoints, (group, index, seed), &raised, Some((heard, &shared)));
            made.map_err(|error| shared.fail(error)).ok().flatten()
        };
        let brought = Brought::default().with_disciplines(own).with_endpoints(ends);
        let first = number == 0;
        let kept = (series.as_mut().filter(|_| first), trace.as_mut().filter(|_| first));
        let records = records.as_mut().filter(|_| first).map(|records| records.observer(&shared.control));
        let mut observers = ((kept, records), SignalObserver::new(heard, &shared));
        let run = run_brought(&scenario, number, &shared.control, &mut observers, brought);
        let run = run.map_err(|error| raised::exception(py, error, &raised));
        match shared.failure().map_or(run, Err) {
            // It interrupted what is written in Python, whose state may be inconsistent.
            Err(error) if error.is_instance_of::<PyKeyboardInterrupt>(py) => interrupted = true,
            Err(error) => return Err(error),
            Ok(run) => {
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
    let ended = records.map(|records| records.finish(Extent::of(interrupted))).transpose();
    let timeline = ended.map_err(|error| errors::batch(py, &error))?.flatten();
    let Some(mut inner) = Measured::from_runs(done) else { return Ok((Vec::new(), interrupted)) };
    inner.partial |= interrupted;
    meter.measure(&mut inner.cost);
    let mistake = |error: fairlane_outcome::tables::TableError| PyRuntimeError::new_err(error.to_string());
    let series = series.map(Series::into_batches).transpose().map_err(mistake)?;
    let trace = trace.map(Trace::into_batches).transpose().map_err(mistake)?;
    Ok((vec![Outcome { inner, timeline, series, trace }], interrupted))
}

/// Returns the name of the link whose queue has the key, such as `bottleneck.queue` or `links.r1-r2.reverse.queue`.
fn link_of(py: Python<'_>, scenario: &Scenario, key: &str) -> PyResult<String> {
    let side = || {
        let path = key.strip_suffix(".queue")?;
        let (path, reverse) = path.strip_suffix(".reverse").map_or((path, 0), |path| (path, 1));
        let name = path.strip_prefix("links.").unwrap_or(path);
        let (_, number) = scenario.links.iter().zip(0_u32..).find(|(link, _)| link.name == name)?;
        Some(fairlane_sim::link_name(scenario, 2 * number + reverse))
    };
    side().ok_or_else(|| {
        let message =
            format!("{key}: a discipline written in Python belongs to a queue, under a key such as bottleneck.queue");
        errors::refused(py, message)
    })
}

/// Sends the packets of a capture through a discipline from `factory`. Returns the outcome, if there is one, whether it
/// was interrupted, and the number of packets that were out of order.
#[pyfunction]
pub(crate) fn replay_custom(
    py: Python<'_>,
    file: PathBuf,
    factory: &Bound<'_, PyAny>,
    heard: &Bound<'_, PyAny>,
    link: ReplayLink<'_>,
) -> PyResult<(Option<Outcome>, bool, u64)> {
    let (rate, seed, selection) = replay_link(py, link)?;
    captures::check(&file).map_err(|error| errors::batch(py, &error))?;
    let shared = Arc::new(RunState::default());
    let own = |link: &str, host: &Host| make(py, factory, link, host, &shared).map_err(ReplayError::Python);
    let replay = Replay::with(rate, Seed::new(seed), own).map_err(|error| match error {
        ReplayError::Python(error) => error,
        ReplayError::Engine(error) => errors::refused(py, error),
    })?;
    let mut observer = SignalObserver::new(heard, &shared);
    let passed = captures::pass_through(&file, (|| Ok(replay), seed), selection, &shared.control, &mut observer);
    let interrupted = match shared.failure() {
        // It interrupted the discipline, whose state may be inconsistent.
        Some(error) if error.is_instance_of::<PyKeyboardInterrupt>(py) => return Ok((None, true, 0)),
        Some(error) => return Err(error),
        None => heard.call0()?.is_truthy()?,
    };
    let (outcome, findings) = passed.map_err(|error| errors::batch(py, &error))?;
    let interrupted = interrupted || outcome.as_ref().is_none_or(|outcome| outcome.partial);
    Ok((outcome.map(|outcome| Outcome::new(outcome, None)), interrupted, findings.late.packets))
}

/// Why a queue of a replay could not be made.
enum ReplayError {
    Python(PyErr),
    Engine(fairlane_sim::Error),
}

impl From<fairlane_sim::Error> for ReplayError {
    fn from(error: fairlane_sim::Error) -> Self {
        Self::Engine(error)
    }
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

    /// Counts an event, and listens from time to time.
    fn count(&mut self) {
        self.events = self.events.wrapping_add(1);
        if self.events.is_multiple_of(LOOK_EVERY) && self.since.elapsed() > TURN {
            self.listen().unwrap_or_else(|error| self.shared.fail(error));
            self.since = wall_clock();
        }
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
        self.count();
    }

    fn delivered(&mut self, _at: Time, _flow: u32, _seq: u32) {}
}

impl Departures for SignalObserver<'_, '_> {
    type Error = fairlane_runner::Error;

    fn expect(&mut self, _packet: &fairlane_capture::Packet<'_>) -> Result<(), Self::Error> {
        self.count();
        Ok(())
    }

    fn departed(&mut self, _at: Time, _packet: &Captured) {}
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
    Ok((name_of(&object)?, Box::new(CustomDiscipline::new(py, object, Arc::clone(shared))?)))
}

/// Returns the name of a discipline or of the class of a congestion control in outcomes.
pub(crate) fn name_of(object: &Bound<'_, PyAny>) -> PyResult<&'static str> {
    let named =
        |attribute| Ok::<_, PyErr>(object.getattr_opt(attribute)?.and_then(|name| name.extract::<String>().ok()));
    let given = named("name")?.or(named("__name__")?);
    given.map_or_else(|| object.get_type().name().map(|name| name.to_string()), Ok).map(interned)
}

/// Keeps a name for the life of the process: there are few.
pub(crate) fn interned(name: String) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name.as_str()) {
        return known;
    }
    let name: &'static str = Box::leak(name.into_boxed_str());
    names.insert(name);
    name
}
