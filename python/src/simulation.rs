//! Simulations that are advanced in steps.

use std::mem;
use std::sync::Arc;

use fairlane_outcome::{FlowSample, Outcome as Measured, QueueSample, Run};
use fairlane_qdisc::{Host, Seed, Time};
use fairlane_runner::compare;
use fairlane_runner::machine::CostMeter;
use fairlane_runner::memory::Needs;
use fairlane_scenario::Duration;
use fairlane_sim::{Brought, Control, Error, Simulation as Inner, StepError};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::custom::{RunState, pair, time};
use crate::document::Document;
use crate::endpoint;
use crate::errors;
use crate::outcome::Outcome;
use crate::raised::{self, Raised};
use crate::run::scenario;
use crate::run_custom::{Makers, make};

/// A run that is advanced in steps.
#[pyclass(module = "fairlane._core")]
pub(crate) struct Simulation {
    stage: Stage,
    end: Time,
    /// Parts of it are written in Python.
    custom: bool,
    shared: Arc<RunState>,
    raised: Raised,
    /// The counts when the last step began.
    before: Samples,
    cpu_s: f64,
    wall_s: f64,
}

enum Stage {
    Running(Box<Inner>),
    /// The state at the end, and the measurements.
    Ended(Samples, Box<Run>),
    /// A part that is written in Python has failed.
    Failed,
}

/// The counts of all queues and flows since time zero.
#[derive(Clone, Default)]
struct Samples {
    /// Each with the rate at which it is emptied, in bit/s.
    queues: Vec<(QueueSample, f64)>,
    flows: Vec<FlowSample>,
}

impl Samples {
    fn of(simulation: &Inner) -> Self {
        let rate =
            |queue: &QueueSample| simulation.queue_rate(queue.link).map_or(0.0, |rate| rate.bits_per_second() as f64);
        Self {
            queues: simulation.queues().map(|queue| (queue, rate(&queue))).collect(),
            flows: simulation.flows().collect(),
        }
    }
}

/// Packets and bytes.
type Pair = (u64, u64);

/// A queue: packets and bytes in it, its average, its probability and its rate; arrivals, departures, drops and marks
/// of the last step.
type QueueState = (Pair, Option<f64>, Option<f64>, f64, [Pair; 4]);

/// A flow: its congestion window and round-trip time; the counts of the last step.
type FlowState = (Option<f64>, Option<f64>, [u64; 8]);

/// The time of the end of a step: text such as `1s`, or seconds.
#[derive(FromPyObject)]
pub(crate) enum Until {
    Text(String),
    Seconds(f64),
}

#[pymethods]
impl Simulation {
    /// Prepares a run of `document`, with disciplines from `factory` if it is given, and with the makers of parts for
    /// groups of flows; see `run_custom`.
    #[staticmethod]
    fn start(
        py: Python<'_>,
        document: &Bound<'_, Document>,
        factory: Option<&Bound<'_, PyAny>>,
        makers: Makers,
    ) -> PyResult<Self> {
        let mut scenario = makers.scenario(py, document)?;
        let needs = Needs::of([&scenario], 1, Some(1));
        needs.check().map_err(|error| errors::batch(py, &error))?;
        let raised = Raised::default();
        let shared = Arc::new(RunState::with(makers.install(py, &mut scenario, &raised)?));
        let mut brought = Brought::default().with_endpoints(|group: &str, index: u32, seed: Seed| {
            let made = endpoint::make(py, &makers.endpoints, (group, index, seed), &raised, None);
            made.map_err(|error| shared.fail(error)).ok().flatten()
        });
        if let Some(factory) = factory {
            let links = compare::links(&scenario).map_err(|error| errors::batch(py, &error))?;
            let shared = &shared;
            brought = brought.with_disciplines(move |link: &str, host: &Host| {
                let wanted = links.iter().any(|name| name == link);
                let made = wanted.then(|| make(py, factory, link, host, shared))?;
                made.map_err(|error| shared.fail(error)).ok()
            });
        }
        let made = Inner::brought(&scenario, 0, (), &shared.control, brought);
        shared.failure().map_or(Ok(()), Err)?;
        let simulation = made.map_err(|error| raised::exception(py, error, &raised))?;
        Ok(Self {
            before: Samples::of(&simulation),
            stage: Stage::Running(Box::new(simulation)),
            end: Time::ZERO + scenario.duration,
            custom: factory.is_some() || !makers.is_empty(),
            shared,
            raised,
            cpu_s: 0.0,
            wall_s: 0.0,
        })
    }

    /// Handles all events before `until`.
    fn step(&mut self, py: Python<'_>, until: Until) -> PyResult<()> {
        let until = match until {
            Until::Seconds(seconds) => time(seconds, "until")?,
            Until::Text(text) => {
                let after: Result<Duration, _> = text.parse();
                Time::ZERO + after.map_err(|error| errors::refused(py, format!("until: {error}")))?
            }
        };
        match &self.stage {
            Stage::Running(simulation) => self.before = Samples::of(simulation),
            Stage::Ended(now, _) => {
                self.before = now.clone();
                // The same errors as before the end.
                return if until == self.end { Ok(()) } else { Err(self.outside(until)) };
            }
            Stage::Failed => return Err(failed()),
        }
        self.advance(py, until)
    }

    /// The time in seconds.
    #[getter]
    fn now(&self) -> PyResult<f64> {
        match &self.stage {
            Stage::Running(simulation) => Ok(simulation.now().as_secs()),
            Stage::Ended(..) => Ok(self.end.as_secs()),
            Stage::Failed => Err(failed()),
        }
    }

    /// The end of the scenario in seconds.
    #[getter]
    fn end(&self) -> f64 {
        self.end.as_secs()
    }

    /// The state of queue number `index` of those that outcomes report.
    fn queue(&self, index: usize) -> PyResult<QueueState> {
        let before = self.before.queues.get(index).map(|(queue, _)| *queue).unwrap_or_default();
        let now = match &self.stage {
            Stage::Running(simulation) => simulation.queues().nth(index).map(|queue| {
                (queue, simulation.queue_rate(queue.link).map_or(0.0, |rate| rate.bits_per_second() as f64))
            }),
            Stage::Ended(now, _) => now.queues.get(index).copied(),
            Stage::Failed => return Err(failed()),
        };
        self.shared.failure().map_or(Ok(()), Err)?;
        let (queue, rate_bps) = now.ok_or_else(|| PyRuntimeError::new_err("there is no such queue"))?;
        let [arrived, departed, dropped, marked] = [
            (queue.arrived, before.arrived),
            (queue.departed, before.departed),
            (queue.dropped, before.dropped),
            (queue.marked, before.marked),
        ]
        .map(|(now, before)| (now.packets - before.packets, now.bytes - before.bytes));
        Ok((pair(queue.backlog), queue.average, queue.probability, rate_bps, [arrived, departed, dropped, marked]))
    }

    /// The state of flow number `index`.
    fn flow(&self, index: usize) -> PyResult<FlowState> {
        let before = self.before.flows.get(index).copied().unwrap_or_default();
        let now = match &self.stage {
            Stage::Running(simulation) => simulation.flow(index as u32),
            Stage::Ended(now, _) => now.flows.get(index).copied(),
            Stage::Failed => return Err(failed()),
        };
        let now = now.ok_or_else(|| PyRuntimeError::new_err("there is no such flow"))?;
        let counts = |flow: &FlowSample| {
            let FlowSample { sent, delivered, delivered_bytes, unique_bytes, dropped, lost, .. } = *flow;
            [sent, delivered, delivered_bytes, unique_bytes, dropped, lost, flow.retransmitted, flow.timeouts]
        };
        let (after, before) = (counts(&now), counts(&before));
        let since = std::array::from_fn(|count| after[count] - before[count]);
        Ok((now.cwnd, now.srtt.map(Duration::as_secs), since))
    }

    /// Goes on with `document`, which differs from the present one in what can change during a run.
    fn change(&mut self, py: Python<'_>, document: &Bound<'_, Document>) -> PyResult<()> {
        let scenario = scenario(py, document)?;
        match &mut self.stage {
            Stage::Running(simulation) => simulation.change(&scenario).map_err(|error| errors::refused(py, error)),
            Stage::Ended(..) => Err(errors::argument("the simulation has ended: nothing can change any more")),
            Stage::Failed => Err(failed()),
        }
    }

    /// Runs to the end and returns the outcome.
    fn outcome(&mut self, py: Python<'_>) -> PyResult<Outcome> {
        if let Stage::Running(_) = self.stage {
            self.advance(py, self.end)?;
            if let Stage::Running(simulation) = mem::replace(&mut self.stage, Stage::Failed) {
                let state = Samples::of(&simulation);
                let run = py.detach(|| simulation.finish(&Control::default()));
                let mut run = run.map_err(|error| raised::exception(py, error, &self.raised))?;
                CostMeter::start().measure(&mut run.cost);
                (run.cost.cpu_s, run.cost.wall_s) = (self.cpu_s, self.wall_s);
                self.stage = Stage::Ended(state, Box::new(run));
            }
        }
        let Stage::Ended(_, run) = &self.stage else { return Err(failed()) };
        let inner = Measured::from_runs([(**run).clone()]);
        inner.map(|inner| Outcome::new(inner, None)).ok_or_else(failed)
    }
}

impl Simulation {
    /// Advances to `until`, and hears signals on the way.
    fn advance(&mut self, py: Python<'_>, until: Time) -> PyResult<()> {
        // A control that has stopped ends each call after some thousand events, so that signals and other threads get
        // their turn without a thread for each step, of which there may be thousands a second.
        let briefly = Control::default();
        briefly.stop();
        let meter = CostMeter::start();
        let result = loop {
            let Stage::Running(simulation) = &mut self.stage else { break Err(failed()) };
            let reached = if self.custom {
                // Python's lock stays here: to take it again for each packet would cost more than the packet.
                let reached = simulation.step(until, &briefly);
                py.detach(|| ());
                reached
            } else {
                py.detach(|| simulation.step(until, &briefly))
            };
            if let Some(error) = self.shared.failure() {
                self.stage = Stage::Failed;
                break Err(error);
            }
            match reached {
                Ok(true) => break Ok(()),
                Ok(false) => {}
                Err(StepError::Endpoint(error)) => break Err(self.failed_by(py, Error::Endpoint(error))),
                Err(StepError::Congestion(fault)) => break Err(self.failed_by(py, Error::Congestion(fault))),
                Err(error) => break Err(errors::argument(format!("until: {error}"))),
            }
            if let Err(signal) = py.check_signals() {
                break Err(signal);
            }
        };
        let mut cost = fairlane_outcome::Cost::default();
        meter.measure(&mut cost);
        self.cpu_s += cost.cpu_s;
        self.wall_s += cost.wall_s;
        result
    }

    /// Ends the simulation, and returns the exception for what ended it.
    fn failed_by(&mut self, py: Python<'_>, error: Error) -> PyErr {
        self.stage = Stage::Failed;
        raised::exception(py, error, &self.raised)
    }

    /// Returns the error of a step to a time other than the end, after the end.
    fn outside(&self, until: Time) -> PyErr {
        let (until, end) = (until.as_secs(), self.end.as_secs());
        errors::argument(format!("until: the simulation has ended at {end} s and cannot step to {until} s"))
    }
}

fn failed() -> PyErr {
    errors::state("the simulation ended when a part written in Python failed; start another one")
}
