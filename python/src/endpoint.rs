//! Adapts transports written in Python to the simulator.

use std::sync::Arc;

use fairlane_qdisc::{Seed, Time};
use fairlane_scenario::{Duration, Scenario, Traffic};
use fairlane_sim::endpoint::{Ecn, Endpoint, LARGEST, Outgoing, Pair};
use fairlane_sim::{Control, run_endpoints};
use pyo3::call::PyCallArgs;
use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyTuple};

use crate::custom::{RunState, time};
use crate::errors;
use crate::methods;
use crate::raised::{Raised, fail};

/// The ECN fields in the order of their numbers in the header (RFC 3168, section 5).
const FIELDS: [Ecn; 4] = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];

/// Checks that `scenario` can be run with endpoints for the groups of `makers`, which are not called.
pub(crate) fn check(py: Python<'_>, scenario: &Scenario, makers: &[(String, Py<PyAny>)]) -> PyResult<()> {
    let known = |name: &str| scenario.flows.iter().any(|of| of.name == name && of.traffic == Traffic::Endpoint);
    if let Some((group, _)) = makers.iter().find(|(group, _)| !known(group)) {
        return Err(errors::refused(py, format!("endpoints: there is no group of endpoints \"{group}\"")));
    }
    let none = Scenario { duration: Duration::ZERO, warmup: Duration::ZERO, ..scenario.clone() };
    let made = |group: &str| makers.iter().any(|(name, _)| name == group).then(|| Pair::new(Idle, Idle));
    let checked = run_endpoints(&none, 0, &Control::default(), &mut (), |group, _, _| made(group));
    checked.map(drop).map_err(|error| errors::refused(py, error))
}

/// An endpoint that does nothing.
#[derive(Debug)]
struct Idle;

impl Endpoint for Idle {
    fn start(&mut self, _now: Time) {}
    fn receive(&mut self, _now: Time, _datagram: &mut Vec<u8>, _ecn: Ecn) {}
    fn transmit(&mut self, _now: Time, _datagram: &mut Vec<u8>) -> Option<Outgoing> {
        None
    }
    fn deadline(&mut self) -> Option<Time> {
        None
    }
    fn on_timer(&mut self, _now: Time) {}
    fn delivered_bytes(&self) -> u64 {
        0
    }
}

/// Returns the endpoints of flow `index` of `group`, which one of `makers` makes from that number and a seed; `None` if
/// there is none for this group. `heard` returns true after Ctrl-C, which then stops the run of this state.
pub(crate) fn make(
    py: Python<'_>,
    makers: &[(String, Py<PyAny>)],
    (group, index, seed): (&str, u32, Seed),
    raised: &Raised,
    heard: Option<(&Bound<'_, PyAny>, &Arc<RunState>)>,
) -> PyResult<Option<Pair>> {
    let Some((_, maker)) = makers.iter().find(|(name, _)| name == group) else { return Ok(None) };
    let made = maker.bind(py).call1((index, seed.stream("python").bits()))?;
    let (source, sink) = made.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>().map_err(|_| {
        let what = made.get_type().to_string();
        let message = format!("endpoints: what makes \"{group}\" returned {what}: return two, the source and the sink");
        PyTypeError::new_err(message)
    })?;
    let listener = || heard.map(|(heard, run)| Listener::new(heard, run));
    let own = |object| OwnEndpoint::new(py, object, raised, listener());
    Ok(Some(Pair::new(own(source)?, own(sink)?)))
}

/// The methods that an endpoint defines, of those that it need not have.
#[derive(Debug)]
struct Defined {
    start: bool,
    deadline: bool,
    on_timer: bool,
    wake: bool,
    delivered_bytes: bool,
}

/// Timers between two looks at Ctrl-C: some milliseconds.
const LOOK_EVERY: u32 = 1 << 10;

/// Hears Ctrl-C in a run whose endpoints have timers and send nothing, which an observer of packets would miss.
#[derive(Debug)]
struct Listener {
    heard: Py<PyAny>,
    run: Arc<RunState>,
    timers: u32,
}

impl Listener {
    fn new(heard: &Bound<'_, PyAny>, run: &Arc<RunState>) -> Self {
        Self { heard: heard.clone().unbind(), run: Arc::clone(run), timers: 0 }
    }

    /// Counts a timer, and listens from time to time.
    fn count(&mut self) {
        self.timers = self.timers.wrapping_add(1);
        if self.timers.is_multiple_of(LOOK_EVERY) {
            let heard = |py: Python<'_>| {
                py.check_signals()?;
                self.heard.bind(py).call0()?.is_truthy()
            };
            match Python::attach(heard) {
                Ok(true) => self.run.control.stop(),
                Ok(false) => {}
                Err(error) => self.run.fail(error),
            }
        }
    }
}

/// An endpoint that is an object in Python.
#[derive(Debug)]
struct OwnEndpoint {
    object: Py<PyAny>,
    has: Defined,
    /// The members of `fairlane.Ecn`, in the order of their numbers.
    fields: [Py<PyAny>; 4],
    raised: Raised,
    listener: Option<Listener>,
}

impl OwnEndpoint {
    fn new(py: Python<'_>, object: Bound<'_, PyAny>, raised: &Raised, listener: Option<Listener>) -> PyResult<Self> {
        let module = py.import("fairlane.endpoint")?;
        let (class, ecn) = (module.getattr("Endpoint")?, module.getattr("Ecn")?);
        methods::require(&object, ["receive", "transmit"], "Endpoint")?;
        // The methods of the base class do nothing, so that they need not be called.
        let has = |name: &str| {
            let (own, base) = (object.get_type().getattr_opt(name)?, class.getattr_opt(name)?);
            let inherited = own.zip(base).is_some_and(|(own, base)| own.is(&base));
            Ok::<_, PyErr>(!inherited && object.hasattr(name)?)
        };
        let field = |number: u8| Ok::<_, PyErr>(ecn.call1((number,))?.unbind());
        Ok(Self {
            has: Defined {
                start: has("start")?,
                deadline: has("deadline")?,
                on_timer: has("on_timer")?,
                wake: has("wake")?,
                delivered_bytes: object.hasattr("delivered_bytes")?,
            },
            fields: [field(0)?, field(1)?, field(2)?, field(3)?],
            object: object.unbind(),
            raised: Arc::clone(raised),
            listener,
        })
    }

    /// Calls `method` and returns what `read` makes of its result.
    fn call<T>(
        &self,
        method: &str,
        arguments: impl for<'py> PyCallArgs<'py>,
        read: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>,
    ) -> T {
        Python::attach(|py| {
            let result = self.object.bind(py).call_method1(method, arguments).and_then(|result| read(&result));
            result.unwrap_or_else(|error| fail(&self.raised, error))
        })
    }
}

impl Endpoint for OwnEndpoint {
    fn start(&mut self, now: Time) {
        if self.has.start {
            self.call("start", (now.as_secs(),), |_| Ok(()));
        }
    }

    fn receive(&mut self, now: Time, datagram: &mut Vec<u8>, ecn: Ecn) {
        Python::attach(|py| {
            let field = &self.fields[FIELDS.iter().position(|field| *field == ecn).unwrap_or_default()];
            let arguments = (now.as_secs(), PyBytes::new(py, datagram), field);
            if let Err(error) = self.object.bind(py).call_method1(intern!(py, "receive"), arguments) {
                fail(&self.raised, error);
            }
        });
    }

    fn transmit(&mut self, now: Time, datagram: &mut Vec<u8>) -> Option<Outgoing> {
        Python::attach(|py| {
            let given = self.object.bind(py).call_method1(intern!(py, "transmit"), (now.as_secs(),));
            let given = given.and_then(|given| outgoing(&given, datagram));
            given.unwrap_or_else(|error| fail(&self.raised, error))
        })
    }

    fn deadline(&mut self) -> Option<Time> {
        if !self.has.deadline {
            return None;
        }
        self.call("deadline", (), |at| {
            let at: Option<f64> = at.extract().map_err(|_| no(at, "deadline returned", "no time in seconds"))?;
            at.map(deadline).transpose()
        })
    }

    fn on_timer(&mut self, now: Time) {
        if let Some(listener) = &mut self.listener {
            listener.count();
        }
        if self.has.on_timer {
            self.call("on_timer", (now.as_secs(),), |_| Ok(()));
        }
    }

    fn wake(&mut self) -> Option<u32> {
        if !self.has.wake {
            return None;
        }
        self.call("wake", (), |flow| flow.extract().map_err(|_| no(flow, "wake returned", "no number of a flow")))
    }

    fn delivered_bytes(&self) -> u64 {
        if !self.has.delivered_bytes {
            return 0;
        }
        Python::attach(|py| {
            let bytes = self.object.bind(py).getattr(intern!(py, "delivered_bytes"));
            let bytes = bytes
                .and_then(|bytes| bytes.extract().map_err(|_| no(&bytes, "delivered_bytes is", "no number of bytes")));
            bytes.unwrap_or_else(|error| fail(&self.raised, error))
        })
    }
}

/// Returns a deadline in seconds as the first nanosecond whose seconds are no less, so that it has come when the timer
/// is called.
fn deadline(seconds: f64) -> PyResult<Time> {
    let near = time(seconds, "deadline")?;
    Ok(if near.as_secs() < seconds { near + Duration::from_nanos(1) } else { near })
}

/// Reads the result of `transmit` and writes its payload into `datagram`.
fn outgoing(given: &Bound<'_, PyAny>, datagram: &mut Vec<u8>) -> PyResult<Option<Outgoing>> {
    if given.is_none() {
        return Ok(None);
    }
    let expected = "neither None nor a payload of bytes with its size on the wire: see fairlane.Outgoing";
    let wrong = || no(given, "transmit returned", expected);
    let tuple = given.cast::<PyTuple>().map_err(|_| wrong())?;
    if !(2..=4).contains(&tuple.len()) {
        return Err(wrong());
    }
    let payload: PyBackedBytes = tuple.get_item(0)?.extract().map_err(|_| wrong())?;
    let number = |place: usize, name: &str, least: i64, most: i64| {
        let Ok(item) = tuple.get_item(place) else { return Ok(0) };
        let number: i64 = item.extract().map_err(|_| wrong())?;
        if (least..=most).contains(&number) {
            return Ok(number as u32);
        }
        Err(errors::argument(format!("transmit: {number} is no {name}: expected {least} to {most}")))
    };
    let bytes = number(1, "size on the wire", 1, i64::from(LARGEST))?;
    let ecn = FIELDS[number(2, "ECN field", 0, 3)? as usize];
    let class = number(3, "traffic class", 0, 255)? as u8;
    datagram.extend_from_slice(&payload);
    Ok(Some(Outgoing { bytes, ecn, class }))
}

/// Returns the error of a value of the wrong type.
fn no(value: &Bound<'_, PyAny>, says: &str, expected: &str) -> PyErr {
    PyTypeError::new_err(format!("{says} {}, which is {expected}", value.get_type()))
}
