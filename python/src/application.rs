//! Adapts applications written in Python to the simulator.

use std::sync::Arc;

use fairlane_qdisc::{Duration, Seed, Time};
use fairlane_scenario::{Application as Source, Scenario, Traffic};
use fairlane_sim::Control;
use fairlane_sim::application::{Application, Client, Server};
use pyo3::PyClass;
use pyo3::call::PyCallArgs;
use pyo3::prelude::*;
use pyo3::pyclass::boolean_struct::False;

use crate::custom::time;
use crate::errors;
use crate::methods;
use crate::raised::{Raised, fail};
use crate::run_custom::interned;

/// The end of a connection that sends data.
#[pyclass(name = "Server", module = "fairlane._core")]
pub(crate) struct PyServer {
    /// `None` outside of a call.
    now: Option<Time>,
    packet: u64,
    /// The packets of the connection so far.
    sent: u32,
    asks: Vec<ServerAsk>,
}

/// A wish of an application to its server.
enum ServerAsk {
    Send(u32),
    Reconnect,
    Timer(Time),
    Wake(u32, Time),
}

#[pymethods]
impl PyServer {
    /// The time in seconds.
    #[getter]
    fn now(&self) -> PyResult<f64> {
        during(self.now).map(Time::as_secs)
    }

    /// Returns the number of packets that `bytes` bytes fill, rounded up.
    fn packets(&self, bytes: u64) -> u32 {
        u32::try_from(bytes.div_ceil(self.packet.max(1))).unwrap_or(u32::MAX)
    }

    /// Sends `packets` more packets, as fast as TCP allows. Returns the number of all packets of the connection.
    fn send(&mut self, packets: u32) -> PyResult<u32> {
        during(self.now)?;
        self.asks.push(ServerAsk::Send(packets));
        self.sent = self.sent.saturating_add(packets);
        Ok(self.sent)
    }

    /// Begins a new connection, which counts packets from zero again.
    fn reconnect(&mut self) -> PyResult<()> {
        during(self.now)?;
        self.asks.push(ServerAsk::Reconnect);
        self.sent = 0;
        Ok(())
    }

    /// Calls `on_timer` once at the time `at` in seconds, instead of one that was set before.
    fn set_timer(&mut self, at: f64) -> PyResult<()> {
        during(self.now)?;
        self.asks.push(ServerAsk::Timer(time(at, "set_timer")?));
        Ok(())
    }

    /// Calls `on_wake` of flow number `flow` of the group at the time `at` in seconds.
    fn wake(&mut self, flow: u32, at: f64) -> PyResult<()> {
        during(self.now)?;
        self.asks.push(ServerAsk::Wake(flow, time(at, "wake")?));
        Ok(())
    }
}

/// The end of a connection that takes data.
#[pyclass(name = "Client", module = "fairlane._core")]
pub(crate) struct PyClient {
    /// `None` outside of a call.
    now: Option<Time>,
    asks: Vec<ClientAsk>,
}

/// A wish of an application to its client.
enum ClientAsk {
    Request(u32, Duration),
    Acknowledge,
    Completed(Duration, Option<Duration>),
}

#[pymethods]
impl PyClient {
    /// The time in seconds.
    #[getter]
    fn now(&self) -> PyResult<f64> {
        during(self.now).map(Time::as_secs)
    }

    /// Sends a request of `bytes` bytes with an acknowledgement; it reaches the server `pause` seconds later.
    #[pyo3(signature = (bytes, pause = 0.0))]
    fn request(&mut self, bytes: u32, pause: f64) -> PyResult<()> {
        during(self.now)?;
        self.asks.push(ClientAsk::Request(bytes, length(pause, "pause")?));
        Ok(())
    }

    /// Acknowledges all that has come at once.
    fn acknowledge(&mut self) -> PyResult<()> {
        during(self.now)?;
        self.asks.push(ClientAsk::Acknowledge);
        Ok(())
    }

    /// Notes that something was completed `duration` seconds after it began, with its first data after `startup`.
    #[pyo3(signature = (duration, startup = None))]
    fn completed(&mut self, duration: f64, startup: Option<f64>) -> PyResult<()> {
        during(self.now)?;
        let startup = startup.map(|startup| length(startup, "startup")).transpose()?;
        self.asks.push(ClientAsk::Completed(length(duration, "duration")?, startup));
        Ok(())
    }
}

/// Returns the time of the call that goes on.
fn during(now: Option<Time>) -> PyResult<Time> {
    now.ok_or_else(|| errors::state("a server or a client is there during its call only: do not keep it"))
}

/// Returns a duration in seconds.
fn length(seconds: f64, name: &str) -> PyResult<Duration> {
    time(seconds, name).map(|time| time - Time::ZERO)
}

/// Lets groups of `scenario` have the applications that `makers` make, by the names of the groups, and returns
/// `control` with these.
pub(crate) fn install(
    py: Python<'_>,
    scenario: &mut Scenario,
    makers: &[(String, Py<PyAny>)],
    raised: &Raised,
    mut control: Control,
) -> PyResult<Control> {
    for (group, maker) in makers {
        let refuse = |why: &str| Err(errors::refused(py, format!("applications: {why} \"{group}\"")));
        let Some(found) = scenario.flows.iter_mut().find(|of| of.name == *group) else {
            return refuse("there is no group of TCP flows");
        };
        if !found.later_phases.is_empty() {
            return refuse("an application has no phases, and there are some in group");
        }
        let Traffic::Tcp(tcp) = &mut found.traffic else { return refuse("there is no group of TCP flows") };
        let name = interned(group.clone());
        tcp.application = Source::Own(name);
        let (maker, raised) = (maker.clone_ref(py), Arc::clone(raised));
        control = control.with_application(name, move |group| {
            let make = |flow: u32| -> Box<dyn Application> {
                let seed = group.seed.numbered(u64::from(flow));
                let made = Python::attach(|py| {
                    OwnApplication::new(py, maker.bind(py), (flow, seed), group.packet_bytes, &raised)
                });
                Box::new(made.unwrap_or_else(|error| fail(&raised, error)))
            };
            (0..group.flows).map(make).collect()
        });
    }
    Ok(control)
}

/// The methods that an application need not have.
#[derive(Debug)]
struct OptionalCalls {
    on_acknowledged: bool,
    on_request: bool,
    on_timer: bool,
    on_wake: bool,
    on_stop: bool,
    begin_measurement: bool,
}

/// An application that is an object in Python.
#[derive(Debug)]
struct OwnApplication {
    object: Py<PyAny>,
    server: Py<PyServer>,
    client: Py<PyClient>,
    has: OptionalCalls,
    raised: Raised,
}

impl OwnApplication {
    fn new(
        py: Python<'_>,
        maker: &Bound<'_, PyAny>,
        (flow, seed): (u32, Seed),
        packet: u32,
        raised: &Raised,
    ) -> PyResult<Self> {
        let object = maker.call1((flow, seed.stream("python").bits()))?;
        methods::require(&object, ["on_start", "on_data"], "Application")?;
        let has = |method| methods::has(&object, method);
        let server = PyServer { now: None, packet: u64::from(packet), sent: 0, asks: Vec::new() };
        Ok(Self {
            has: OptionalCalls {
                on_acknowledged: has("on_acknowledged")?,
                on_request: has("on_request")?,
                on_timer: has("on_timer")?,
                on_wake: has("on_wake")?,
                on_stop: has("on_stop")?,
                begin_measurement: has("begin_measurement")?,
            },
            object: object.unbind(),
            server: Py::new(py, server)?,
            client: Py::new(py, PyClient { now: None, asks: Vec::new() })?,
            raised: Arc::clone(raised),
        })
    }

    /// Calls `method`; an exception ends the run.
    fn call<'py>(&self, py: Python<'py>, method: &str, arguments: impl PyCallArgs<'py>) {
        if let Err(error) = self.object.bind(py).call_method1(method, arguments) {
            fail(&self.raised, error);
        }
    }

    /// Calls `method` with the server, after `acknowledged` if there is one.
    fn serve(&self, method: &str, acknowledged: Option<u32>, server: &mut Server<'_>) {
        Python::attach(|py| {
            let shown = self.server.bind(py);
            self.borrowed(shown, |shown| (shown.now, shown.sent) = (Some(server.now()), server.send(0)));
            match acknowledged {
                Some(acknowledged) => self.call(py, method, (acknowledged, shown)),
                None => self.call(py, method, (shown,)),
            }
            self.borrowed(shown, |shown| {
                shown.now = None;
                for ask in shown.asks.drain(..) {
                    match ask {
                        ServerAsk::Send(packets) => drop(server.send(packets)),
                        ServerAsk::Reconnect => server.reconnect(),
                        ServerAsk::Timer(at) => server.set_timer(at),
                        ServerAsk::Wake(flow, at) => server.wake(flow, at),
                    }
                }
            });
        });
    }

    fn borrowed<T: PyClass<Frozen = False>>(&self, object: &Bound<'_, T>, act: impl FnOnce(&mut T)) {
        match object.try_borrow_mut() {
            Ok(mut object) => act(&mut object),
            Err(error) => fail(&self.raised, error.into()),
        }
    }
}

impl Application for OwnApplication {
    fn on_start(&mut self, server: &mut Server<'_>) {
        self.serve("on_start", None, server);
    }

    fn on_data(&mut self, received: u32, client: &mut Client<'_>) {
        Python::attach(|py| {
            let shown = self.client.bind(py);
            self.borrowed(shown, |shown| shown.now = Some(client.now()));
            self.call(py, "on_data", (received, shown));
            self.borrowed(shown, |shown| {
                shown.now = None;
                for ask in shown.asks.drain(..) {
                    match ask {
                        ClientAsk::Request(bytes, pause) => client.request(bytes, pause),
                        ClientAsk::Acknowledge => client.acknowledge(),
                        ClientAsk::Completed(duration, startup) => client.completed(duration, startup),
                    }
                }
            });
        });
    }

    fn on_acknowledged(&mut self, acknowledged: u32, server: &mut Server<'_>) {
        if self.has.on_acknowledged {
            self.serve("on_acknowledged", Some(acknowledged), server);
        }
    }

    fn on_request(&mut self, server: &mut Server<'_>) {
        if self.has.on_request {
            self.serve("on_request", None, server);
        }
    }

    fn on_timer(&mut self, server: &mut Server<'_>) {
        if self.has.on_timer {
            self.serve("on_timer", None, server);
        }
    }

    fn on_wake(&mut self, server: &mut Server<'_>) {
        if self.has.on_wake {
            self.serve("on_wake", None, server);
        }
    }

    fn on_stop(&mut self, now: Time) {
        if self.has.on_stop {
            Python::attach(|py| self.call(py, "on_stop", (now.as_secs(),)));
        }
    }

    fn begin_measurement(&mut self, now: Time) {
        if self.has.begin_measurement {
            Python::attach(|py| self.call(py, "begin_measurement", (now.as_secs(),)));
        }
    }
}
