//! A run that its caller advances in steps, reads, and changes.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use fairlane_outcome::{FlowSample, QueueSample, Run};
use fairlane_qdisc::{BoxQdisc, Host, Rate, Seed, Time};
use fairlane_scenario::Scenario;

use crate::control::Control;
use crate::endpoint::{EndpointError, Pair};
use crate::measure::observer::Observer;
use crate::packet::Packet;
use crate::run::brought::Brought;
use crate::run::changes::ChangeError;
use crate::run::engine::Engine;
use crate::run::error::Error;
use crate::run::own_controls::OwnControls;
use crate::run::sampling::queue_sample;
use crate::shortcuts::Shortcuts;
use crate::tcp::CongestionFault;
use crate::tcp::congestion::Calls;

/// A run of a scenario that advances in steps, as control loops and other simulators need it.
///
/// However it is cut into steps, it does what [`run`](crate::run) does and gives the same measurements, bit by bit,
/// unless it is [changed](Self::change). Between steps its flows and queues can be read.
///
/// ```
/// use fairlane_qdisc::{Duration, Time};
/// use fairlane_scenario::Document;
/// use fairlane_sim::{Control, Simulation};
///
/// let mut document = Document::builtin();
/// document.set("duration", "4s")?;
/// document.set("warmup", "1s")?;
/// let mut simulation = Simulation::new(&document.scenario()?, 0)?;
/// simulation.step(Time::ZERO + Duration::from_millis(2_000), &Control::default())?;
/// let backlog = simulation.queues().next().map_or(0, |queue| queue.backlog.packets);
/// assert!(backlog > 0);
///
/// // The flood doubles its rate halfway.
/// document.set("flows.cbr.rate", "4mbit")?;
/// simulation.change(&document.scenario()?)?;
/// let run = simulation.finish(&Control::default())?;
/// assert_eq!((run.from_s, run.to_s), (1.0, 4.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Simulation<O: Observer = ()> {
    engine: Engine<'static, O>,
    calls: Arc<Calls>,
    /// The mistake of a congestion control of the caller, after which nothing goes on.
    fault: Option<CongestionFault>,
}

/// The reason why a simulation cannot advance to a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepError {
    /// The time is in the past.
    Past {
        /// The time that was asked for.
        until: Time,
        /// The simulation's time.
        now: Time,
    },
    /// The time is after the end of the scenario.
    AfterEnd {
        /// The time that was asked for.
        until: Time,
        /// The end.
        end: Time,
    },
    /// An endpoint or an application of the caller has failed, and the simulation cannot go on.
    Endpoint(EndpointError),
    /// A congestion control of the caller has made a mistake, and the simulation cannot go on.
    Congestion(CongestionFault),
}

impl fmt::Display for StepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Past { until, now } => {
                write!(f, "{} s is in the past: the simulation is at {} s", until.as_secs(), now.as_secs())
            }
            Self::AfterEnd { until, end } => {
                write!(f, "{} s is after the end of the scenario, which lasts {} s", until.as_secs(), end.as_secs())
            }
            Self::Endpoint(error) => error.fmt(f),
            Self::Congestion(fault) => fault.fmt(f),
        }
    }
}

impl std::error::Error for StepError {}

impl Simulation {
    /// Prepares run number `run` of `scenario`, at time zero.
    ///
    /// # Errors
    /// Returns an [`Error`] if the scenario cannot be run.
    pub fn new(scenario: &Scenario, run: u32) -> Result<Self, Error> {
        Self::prepare(scenario, run, (), &Control::default(), Brought::default(), Shortcuts::default())
    }

    /// Prepares a run with disciplines of the caller, which `custom` returns as for [`run_with`](crate::run_with).
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_disciplines(
        scenario: &Scenario,
        run: u32,
        custom: impl FnMut(&str, &Host) -> Option<(&'static str, BoxQdisc<Packet>)>,
    ) -> Result<Self, Error> {
        Self::brought(scenario, run, (), &Control::default(), Brought::default().with_disciplines(custom))
    }

    /// Starts a simulation as [`new`](Self::new) does, with these shortcuts. The result is the same with all.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_shortcuts(scenario: &Scenario, run: u32, shortcuts: Shortcuts) -> Result<Self, Error> {
        Self::prepare(scenario, run, (), &Control::default(), Brought::default(), shortcuts)
    }
}

impl<O: Observer> Simulation<O> {
    /// Prepares a run that `observer` follows. It does the same as without one.
    ///
    /// # Errors
    /// As [`new`](Simulation::new).
    pub fn observed(scenario: &Scenario, run: u32, observer: O) -> Result<Self, Error> {
        Self::brought(scenario, run, observer, &Control::default(), Brought::default())
    }

    /// Prepares a run with endpoints of the caller, which `endpoints` returns as for
    /// [`run_endpoints`](crate::run_endpoints), and that `observer` follows.
    ///
    /// # Errors
    /// As [`new`](Simulation::new); and there are no endpoints for a flow that needs them.
    pub fn with_endpoints(
        scenario: &Scenario,
        run: u32,
        observer: O,
        endpoints: impl FnMut(&str, u32, Seed) -> Option<Pair>,
    ) -> Result<Self, Error> {
        Self::brought(scenario, run, observer, &Control::default(), Brought::default().with_endpoints(endpoints))
    }

    /// Prepares a run that `observer` follows, with disciplines and transports of the caller, and the congestion
    /// controls and applications of `control`.
    ///
    /// # Errors
    /// As [`run_brought`](crate::run_brought), before the first event.
    pub fn brought(
        scenario: &Scenario,
        run: u32,
        observer: O,
        control: &Control,
        brought: Brought<'_>,
    ) -> Result<Self, Error> {
        Self::prepare(scenario, run, observer, control, brought, Shortcuts::default())
    }

    fn prepare(
        scenario: &Scenario,
        run: u32,
        observer: O,
        control: &Control,
        brought: Brought<'_>,
        shortcuts: Shortcuts,
    ) -> Result<Self, Error> {
        let own = OwnControls::new(control);
        let copy = Cow::Owned(scenario.clone());
        let engine = own.watch(scenario, || Engine::new(copy, run, observer, brought, shortcuts, &own))?;
        Ok(Self { engine, calls: own.calls, fault: None })
    }

    /// Returns the observer.
    #[must_use]
    pub const fn observer(&self) -> &O {
        &self.engine.part.network.records.observer
    }

    /// Returns the observer, to be changed.
    pub const fn observer_mut(&mut self) -> &mut O {
        &mut self.engine.part.network.records.observer
    }

    /// Returns the time until which all events have been handled.
    #[must_use]
    pub const fn now(&self) -> Time {
        self.engine.part.now
    }

    /// Returns the scenario with all changes.
    #[must_use]
    pub fn scenario(&self) -> &Scenario {
        &self.engine.scenario
    }

    /// Handles every event before `until`. Returns false if `control` stopped it: then [`now`](Self::now) is earlier,
    /// and another step continues. A step handles some thousand events before it looks at `control`.
    ///
    /// # Errors
    /// `until` is in the past or after the end of the scenario, or an endpoint or a congestion control of the caller
    /// fails.
    pub fn step(&mut self, until: Time, control: &Control) -> Result<bool, StepError> {
        let (now, end) = (self.now(), self.engine.end());
        if until < now {
            return Err(StepError::Past { until, now });
        }
        if until > end {
            return Err(StepError::AfterEnd { until, end });
        }
        let Self { engine, calls, fault } = self;
        let stopped = match fault {
            Some(fault) => Err(fault.clone()),
            None => calls.watch(|| engine.advance_to(until, control)).map_err(|mistake| mistake.of(&engine.scenario)),
        };
        let stopped = stopped.map_err(|mistake| StepError::Congestion(fault.insert(mistake).clone()))?;
        match &self.engine.part.network.failure {
            Some(error) => Err(StepError::Endpoint((**error).clone())),
            None => Ok(!stopped),
        }
    }

    /// Returns the counts of each flow since time zero, in the order of their numbers.
    pub fn flows(&self) -> impl Iterator<Item = FlowSample> {
        (0..self.engine.part.hosts.flows.iter().len() as u32).filter_map(|id| self.flow(id))
    }

    /// Returns the counts of flow `id` since time zero; `None` if there is no such flow.
    #[must_use]
    pub fn flow(&self, id: u32) -> Option<FlowSample> {
        let network = &self.engine.part.network;
        let flow = self.engine.part.hosts.flows.get(id)?;
        Some(flow.sample(network.records.dropped[id as usize], network.records.lost[id as usize]))
    }

    /// Returns the counts since time zero and the state of each queue that outcomes report, in the order of
    /// [`queue_names`](crate::queue_names).
    pub fn queues(&self) -> impl Iterator<Item = QueueSample> {
        let links = (0_u32..).zip(&self.engine.part.network.topology.links);
        links.filter_map(|(number, link)| queue_sample(number, link))
    }

    /// Returns the rate at which the queue of `link` is emptied now: that of its shaper, or else of the link; `None` if
    /// there is no such link.
    #[must_use]
    pub fn queue_rate(&self, link: u32) -> Option<Rate> {
        self.engine.part.network.topology.queue_rate(self.now(), link)
    }

    /// Goes on with `scenario`, which may differ from the present one in the rates of links, of hosts' links, of TFRC,
    /// and of UDP sources that have a rate, and in the queues of links.
    ///
    /// A link's rate holds from its next packet on, a source's from the packet after the next one. Where parameters of
    /// a queue differ, a new discipline takes the packets that arrive, and those in the queue leave first, as when a
    /// router reloads its configuration; where only the rate differs, the discipline keeps its state. Outcomes show the
    /// last discipline, count the packets of all, and give no fair rates.
    ///
    /// # Errors
    /// The scenario differs in something else, a parameter is not valid, a rate is zero, or the queue has a discipline
    /// of the caller. Nothing has changed then.
    pub fn change(&mut self, scenario: &Scenario) -> Result<(), ChangeError> {
        self.engine.change(scenario)
    }

    /// Runs to the end, or until `control` stops it, and returns the measurements, as [`run`](crate::run) does.
    ///
    /// # Errors
    /// Returns [`Error::Endpoint`] or [`Error::Congestion`] if an endpoint or a congestion control of the caller fails
    /// or has failed.
    pub fn finish(self, control: &Control) -> Result<Run, Error> {
        let Self { engine, calls, fault } = self;
        if let Some(fault) = fault {
            return Err(Error::Congestion(fault));
        }
        let scenario = engine.scenario.clone();
        calls.watch(|| engine.run(control)).unwrap_or_else(|mistake| Err(Error::Congestion(mistake.of(&scenario))))
    }
}

impl<O: Observer> fmt::Debug for Simulation<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Simulation")
            .field("scenario", &self.engine.scenario.name)
            .field("now", &self.now())
            .finish_non_exhaustive()
    }
}
