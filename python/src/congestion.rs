//! Adapts congestion control written in Python to the simulator.

use std::sync::Arc;

use fairlane_qdisc::Time;
use fairlane_scenario::{Congestion, Document, OwnCongestion, Scenario, Traffic};
use fairlane_sim::Control;
use fairlane_sim::tcp::{
    AckSample, CongestionControl, CongestionEvent, CongestionSignal, LossState, OwnConnection, WindowSize,
};
use pyo3::call::PyCallArgs;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::errors;
use crate::methods;
use crate::raised::{Raised, fail};
use crate::run_custom::name_of;

/// A congestion window and its threshold, in segments.
#[pyclass(name = "Window", module = "fairlane._core")]
pub(crate) struct PyWindow {
    /// The congestion window.
    #[pyo3(get, set)]
    cwnd: f64,
    /// The slow start threshold; before the first congestion the receiver's window.
    #[pyo3(get, set)]
    ssthresh: f64,
}

/// The information in an acknowledgement.
#[pyclass(name = "Ack", module = "fairlane._core", frozen)]
pub(crate) struct PyAck(AckSample);

#[pymethods]
impl PyAck {
    /// The time in seconds.
    #[getter]
    fn now(&self) -> f64 {
        self.0.now.as_secs()
    }

    /// The segments that it acknowledges for the first time.
    #[getter]
    const fn acked(&self) -> u32 {
        self.0.acked
    }

    /// The segments that let the window grow; those of `acked`, or as in Linux without those that have arrived earlier.
    #[getter]
    fn growth(&self) -> u32 {
        self.0.growth()
    }

    /// True if Reno's window grows by the segments acknowledged (RFC 3465); otherwise each acknowledgement counts as
    /// one.
    #[getter]
    const fn byte_counting(&self) -> bool {
        self.0.byte_counting
    }

    /// The marked segments that it tells of.
    #[getter]
    fn marks(&self) -> u32 {
        self.0.marks()
    }

    /// The round trip of the segment whose time it echoes, in seconds.
    #[getter]
    fn rtt(&self) -> f64 {
        self.0.rtt.as_secs()
    }

    /// The oldest segment that is still unacknowledged.
    #[getter]
    const fn una(&self) -> u32 {
        self.0.una
    }

    /// One past the highest segment ever sent.
    #[getter]
    const fn max(&self) -> u32 {
        self.0.max
    }
}

/// A reduction of the window.
#[pyclass(name = "CongestionEvent", module = "fairlane._core", frozen)]
pub(crate) struct PyCongestionEvent(CongestionEvent);

#[pymethods]
impl PyCongestionEvent {
    /// The time in seconds.
    #[getter]
    fn now(&self) -> f64 {
        self.0.now.as_secs()
    }

    /// The reason: `loss`, `mark` or `timeout`.
    #[getter]
    const fn signal(&self) -> &'static str {
        match self.0.signal {
            CongestionSignal::Loss => "loss",
            CongestionSignal::Mark => "mark",
            CongestionSignal::Timeout => "timeout",
        }
    }

    /// The part of the window that is reduced: the window or, if that is less, the flight (RFC 5681).
    #[getter]
    const fn segments(&self) -> f64 {
        self.0.segments
    }
}

/// Returns the scenario of `document` with the congestion controls of `classes`, by the names of their groups of flows:
/// these have the loss recovery and the slow start that the scenario gives to own ones.
pub(crate) fn scenario(py: Python<'_>, document: &Document, classes: &[(String, Py<PyAny>)]) -> PyResult<Scenario> {
    let read = |document: &Document| document.scenario().map_err(|error| errors::scenario(py, &error));
    let plain = read(document)?;
    let mut named = document.clone();
    let mut known: Vec<OwnCongestion> = Vec::new();
    for (group, class) in classes {
        if !plain.flows.iter().any(|of| of.name == *group && matches!(of.traffic, Traffic::Tcp(_))) {
            return Err(errors::refused(py, format!("cc: there is no group of TCP flows \"{group}\"")));
        }
        let own = own_of(class.bind(py))?;
        if !known.iter().any(|other| other.name == own.name) {
            known.push(own);
            named = named.with_congestion([own]);
        }
        let set = named.set(&format!("flows.{group}.cc"), own.name);
        set.map_err(|error| errors::scenario(py, &error))?;
    }
    read(&named)
}

/// Returns a congestion control as a scenario knows it.
fn own_of(class: &Bound<'_, PyAny>) -> PyResult<OwnCongestion> {
    let paces = class.getattr_opt("paces")?.map_or(Ok(false), |paces| paces.is_truthy())?;
    Ok(OwnCongestion { name: name_of(class)?, paces })
}

/// Returns `scenario` with the congestion controls that `classes` make, by the names of their groups of flows, and a
/// control that knows these.
pub(crate) fn install(
    py: Python<'_>,
    scenario: &mut Scenario,
    classes: &[(String, Py<PyAny>)],
    raised: &Raised,
) -> PyResult<Control> {
    let mut control = Control::default();
    let mut known: Vec<(OwnCongestion, &Py<PyAny>)> = Vec::new();
    for (group, class) in classes {
        let found = scenario.flows.iter_mut().find(|of| of.name == *group);
        let Some(Traffic::Tcp(tcp)) = found.map(|of| &mut of.traffic) else {
            return Err(errors::refused(py, format!("cc: there is no group of TCP flows \"{group}\"")));
        };
        let own = own_of(class.bind(py))?;
        tcp.congestion = Congestion::Own(own);
        match known.iter().find(|(other, _)| other.name == own.name) {
            Some((_, other)) if other.is(class) => continue,
            Some(_) => {
                let message =
                    format!("cc: two congestion controls are called \"{}\": give one another `name`", own.name);
                return Err(errors::argument(message));
            }
            None => known.push((own, class)),
        }
        let (class, raised) = (class.clone_ref(py), Arc::clone(raised));
        control = control.with_congestion(own, move |connection| {
            Python::attach(|py| match Own::new(py, class.bind(py), connection, &raised) {
                Ok(made) => Box::new(made),
                Err(error) => fail(&raised, error),
            })
        });
    }
    Ok(control)
}

/// The methods that a congestion control need not have.
#[derive(Debug)]
struct Optional {
    on_ack: bool,
    on_unused: bool,
    on_undo: bool,
    on_send: bool,
    on_lost: bool,
    on_application_limited: bool,
    pacing_rate: bool,
}

/// The congestion control of a connection, an object in Python.
#[derive(Debug)]
struct Own {
    object: Py<PyAny>,
    window: Py<PyWindow>,
    has: Optional,
    has_model: bool,
    has_own_slow_start: bool,
    is_scalable: bool,
    smallest_window: Option<f64>,
    raised: Raised,
}

impl Own {
    fn new(
        py: Python<'_>,
        class: &Bound<'_, PyAny>,
        &OwnConnection { flow, seed, tcp }: &OwnConnection<'_>,
        raised: &Raised,
    ) -> PyResult<Self> {
        let connection = py.import("fairlane.congestion")?.getattr("Connection")?;
        let seed = seed.stream("python").bits();
        let object = class.call1((connection.call1((flow, seed, tcp.initial_window, tcp.window))?,))?;
        methods::require(&object, ["grow", "on_congestion"], "CongestionControl")?;
        let has = |method| methods::has(&object, method);
        let says = |name| object.getattr_opt(name)?.map_or(Ok(false), |said| said.is_truthy());
        let smallest = object.getattr_opt("smallest_window")?;
        Ok(Self {
            has: Optional {
                on_ack: has("on_ack")?,
                on_unused: has("on_unused")?,
                on_undo: has("on_undo")?,
                on_send: has("on_send")?,
                on_lost: has("on_lost")?,
                on_application_limited: has("on_application_limited")?,
                pacing_rate: has("pacing_rate")?,
            },
            has_model: says("has_model")?,
            has_own_slow_start: says("has_own_slow_start")?,
            is_scalable: says("is_scalable")?,
            smallest_window: smallest.map_or(Ok(None), |smallest| smallest.extract())?,
            window: Py::new(py, PyWindow { cwnd: 0.0, ssthresh: 0.0 })?,
            object: object.unbind(),
            raised: Arc::clone(raised),
        })
    }

    /// Calls `method` and returns its result as `T`.
    fn call<'py, T: FromPyObjectOwned<'py>>(
        &self,
        py: Python<'py>,
        method: &str,
        arguments: impl PyCallArgs<'py>,
    ) -> T {
        let result = self.object.bind(py).call_method1(method, arguments).and_then(|result| {
            result.extract().map_err(|_| {
                let what = result.get_type().to_string();
                PyTypeError::new_err(format!("{method} returned {what}, which is no number"))
            })
        });
        result.unwrap_or_else(|error| fail(&self.raised, error))
    }

    /// Tells of something that has no answer.
    fn tell<'py>(&self, py: Python<'py>, method: &str, arguments: impl PyCallArgs<'py>) {
        if let Err(error) = self.object.bind(py).call_method1(method, arguments) {
            fail(&self.raised, error);
        }
    }

    /// Shows the window.
    fn shown<'py>(&self, py: Python<'py>, window: &WindowSize) -> Bound<'py, PyWindow> {
        let shown = self.window.bind(py).clone();
        match shown.try_borrow_mut() {
            Ok(mut shown) => (shown.cwnd, shown.ssthresh) = (window.cwnd, window.ssthresh),
            Err(error) => fail(&self.raised, error.into()),
        }
        shown
    }

    /// Calls a method that may change the window.
    fn change(&self, method: &str, window: &mut WindowSize, ack: &AckSample, loss: Option<LossState>) {
        Python::attach(|py| {
            let shown = self.shown(py, window);
            let ack = PyAck(*ack);
            match loss {
                Some(loss) => self.tell(py, method, (&shown, ack, loss.in_flight, loss.recovering)),
                None => self.tell(py, method, (&shown, ack)),
            }
            match shown.try_borrow() {
                Ok(shown) => (window.cwnd, window.ssthresh) = (shown.cwnd, shown.ssthresh),
                Err(error) => fail(&self.raised, error.into()),
            }
        });
    }
}

impl CongestionControl for Own {
    fn grow(&mut self, window: &mut WindowSize, ack: &AckSample) {
        self.change("grow", window, ack, None);
    }

    fn on_congestion(&mut self, window: &WindowSize, event: &CongestionEvent) -> f64 {
        Python::attach(|py| {
            let shown = self.shown(py, window);
            self.call(py, "on_congestion", (shown, PyCongestionEvent(*event)))
        })
    }

    fn on_ack(&mut self, window: &mut WindowSize, ack: &AckSample, loss: LossState) {
        if self.has.on_ack {
            self.change("on_ack", window, ack, Some(loss));
        }
    }

    fn on_unused(&mut self, window: &mut WindowSize, ack: &AckSample) {
        if self.has.on_unused {
            self.change("on_unused", window, ack, None);
        }
    }

    fn on_undo(&mut self) {
        if self.has.on_undo {
            Python::attach(|py| self.tell(py, "on_undo", ()));
        }
    }

    fn on_send(&mut self, now: Time, seq: u32, idle: bool, in_flight: u32) {
        if self.has.on_send {
            Python::attach(|py| self.tell(py, "on_send", (now.as_secs(), seq, idle, in_flight)));
        }
    }

    fn on_lost(&mut self, now: Time, seq: u32) {
        if self.has.on_lost {
            Python::attach(|py| self.tell(py, "on_lost", (now.as_secs(), seq)));
        }
    }

    fn on_application_limited(&mut self, in_flight: u32) {
        if self.has.on_application_limited {
            Python::attach(|py| self.tell(py, "on_application_limited", (in_flight,)));
        }
    }

    fn pacing_rate(&self, window: &WindowSize) -> Option<f64> {
        if !self.has.pacing_rate {
            return None;
        }
        Python::attach(|py| {
            let shown = self.shown(py, window);
            self.call(py, "pacing_rate", (shown,))
        })
    }

    fn has_model(&self) -> bool {
        self.has_model
    }

    fn has_own_slow_start(&self) -> bool {
        self.has_own_slow_start
    }

    fn is_scalable(&self) -> bool {
        self.is_scalable
    }

    fn smallest_window(&self) -> Option<f64> {
        self.smallest_window
    }
}
