//! Adapts disciplines written in Python to the simulator.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use fairlane_qdisc::{Count, Counters, DropSink, Fate, Packet, Qdisc, Reason, Status, Time};
use fairlane_sim::Control;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::errors;
use crate::methods;

/// The state of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PacketState {
    Queued,
    Dropped,
    Sent,
}

/// A packet at a queue, as passed to a discipline written in Python.
#[pyclass(name = "Packet", module = "fairlane._core", eq)]
#[derive(PartialEq)]
pub(crate) struct PyPacket {
    /// Its number at this queue, from 0 in the order of arrival.
    #[pyo3(get)]
    id: u64,
    /// The number of its flow.
    #[pyo3(get)]
    flow: u64,
    /// Its size on the wire in bytes.
    #[pyo3(get)]
    bytes: u32,
    /// True if it may be marked instead of dropped.
    #[pyo3(get)]
    ecn_capable: bool,
    /// True if it has been marked.
    #[pyo3(get)]
    marked: bool,
    /// Its TOS or traffic class byte without the bits of ECN, 0 to 255.
    #[pyo3(get)]
    traffic_class: u8,
    /// True if its transport slows down after a loss.
    #[pyo3(get)]
    responsive: bool,
    /// The queue that it came to.
    queue: u64,
    state: PacketState,
}

impl PyPacket {
    pub(crate) fn of(packet: &impl Packet, id: u64, marked: bool) -> Self {
        Self::at(packet, id, marked, u64::MAX)
    }

    fn at(packet: &impl Packet, id: u64, marked: bool, queue: u64) -> Self {
        Self {
            id,
            flow: packet.flow().get(),
            bytes: packet.bytes(),
            ecn_capable: packet.ecn_capable(),
            marked,
            traffic_class: packet.class(),
            responsive: packet.responsive(),
            queue,
            state: PacketState::Queued,
        }
    }
}

#[pymethods]
impl PyPacket {
    fn __repr__(&self) -> String {
        format!("<Packet {} of flow {}, {} bytes>", self.id, self.flow, self.bytes)
    }

    fn __hash__(&self) -> u64 {
        self.id
    }
}

/// Takes reports of every packet that does not leave by `dequeue`, and of every mark.
#[pyclass(name = "DropSink", module = "fairlane._core")]
pub(crate) struct PyDropSink {
    queue: u64,
    said: Vec<(bool, u64, Reason)>,
}

#[pymethods]
impl PyDropSink {
    /// Reports that `packet`, arriving or queued, is dropped for `reason`, such as `limit`, `early` or `match_victim`.
    ///
    /// Raises:
    ///     DisciplineError: It was dropped or sent before, or came to another queue.
    ///     ValueError: There is no such reason.
    #[pyo3(signature = (packet, reason="early"))]
    fn dropped(&mut self, packet: &Bound<'_, PyPacket>, reason: &str) -> PyResult<()> {
        let py = packet.py();
        let reason = read_reason(reason)?;
        let mut packet = packet.try_borrow_mut()?;
        self.must_be_queued(py, &packet, "drops")?;
        packet.state = PacketState::Dropped;
        self.said.push((true, packet.id, reason));
        Ok(())
    }

    /// Reports that `packet`, which is ECN-capable, is marked for `reason` and stays.
    ///
    /// Raises:
    ///     DisciplineError: It is not ECN-capable, was dropped or sent before, or came to another queue.
    ///     ValueError: There is no such reason.
    #[pyo3(signature = (packet, reason="early"))]
    fn marked(&mut self, packet: &Bound<'_, PyPacket>, reason: &str) -> PyResult<()> {
        let py = packet.py();
        let reason = read_reason(reason)?;
        let mut packet = packet.try_borrow_mut()?;
        self.must_be_queued(py, &packet, "marks")?;
        if !packet.ecn_capable {
            let message = format!("it marks packet {}, which is not ECN-capable: drop it", packet.id);
            return Err(errors::discipline(py, message));
        }
        packet.marked = true;
        self.said.push((false, packet.id, reason));
        Ok(())
    }
}

impl PyDropSink {
    fn must_be_queued(&self, py: Python<'_>, packet: &PyPacket, does: &str) -> PyResult<()> {
        let why = match packet.state {
            _ if packet.queue != self.queue => "that came to another queue",
            PacketState::Dropped => "that it has dropped before",
            PacketState::Sent => "that it has given to the link before",
            PacketState::Queued => return Ok(()),
        };
        Err(errors::discipline(py, format!("it {does} packet {} of flow {}, {why}", packet.id, packet.flow)))
    }
}

fn read_reason(name: &str) -> PyResult<Reason> {
    Reason::ALL.into_iter().find(|reason| reason.name() == name).ok_or_else(|| {
        let names = Reason::ALL.map(Reason::name).join(", ");
        errors::argument(format!("there is no reason \"{name}\"; there are {names}"))
    })
}

/// State that a run shares with its disciplines: the first error, and the control that stops the run.
#[derive(Debug, Default)]
pub(crate) struct RunState {
    pub(crate) control: Control,
    failed: Mutex<Option<PyErr>>,
}

impl RunState {
    /// Returns the state of a run that `control` may stop.
    pub(crate) fn with(control: Control) -> Self {
        Self { control, ..Self::default() }
    }

    pub(crate) fn fail(&self, error: PyErr) {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        // The first error is the cause of later ones.
        failed.get_or_insert(error);
        self.control.stop();
    }

    /// Takes the first error, if there was one.
    pub(crate) fn failure(&self) -> Option<PyErr> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// A discipline that is a Python object. Its packets are kept here, so that none can be lost or sent twice.
pub(crate) struct CustomDiscipline<P> {
    object: Py<PyAny>,
    sink: Py<PyDropSink>,
    averages: bool,
    delays: bool,
    queue: u64,
    held: BTreeMap<u64, (P, Py<PyPacket>)>,
    next: u64,
    bytes: u64,
    counters: Counters,
    broken: bool,
    /// The packet that came last, and its fate.
    arrival: (u64, Fate),
    /// The last call of `dequeue` returned no packet although packets wait.
    held_back: bool,
    shared: Arc<RunState>,
}

impl<P: Packet> CustomDiscipline<P> {
    /// Wraps `object`, which must have the methods of a discipline.
    pub(crate) fn new(py: Python<'_>, object: Bound<'_, PyAny>, shared: Arc<RunState>) -> PyResult<Self> {
        static QUEUES: AtomicU64 = AtomicU64::new(0);
        methods::require(&object, ["enqueue", "dequeue"], "Discipline")?;
        let has = |method| methods::has(&object, method);
        let queue = QUEUES.fetch_add(1, Ordering::Relaxed);
        Ok(Self {
            averages: has("average")?,
            delays: has("ready_at")?,
            object: object.unbind(),
            sink: Py::new(py, PyDropSink { queue, said: Vec::new() })?,
            queue,
            held: BTreeMap::new(),
            next: 0,
            bytes: 0,
            counters: Counters::default(),
            broken: false,
            arrival: (0, Fate::Queued),
            held_back: false,
            shared,
        })
    }

    /// Calls a method and then applies the drops and marks that it reported.
    fn call<'py>(
        &mut self,
        now: Time,
        sink: &mut dyn DropSink<P>,
        call: impl FnOnce(&Bound<'py, PyAny>, &Bound<'py, PyDropSink>) -> PyResult<Bound<'py, PyAny>>,
        py: Python<'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let result = call(self.object.bind(py), self.sink.bind(py));
        let said = std::mem::take(&mut self.sink.bind(py).try_borrow_mut()?.said);
        for (dropped, id, reason) in said {
            if id == self.arrival.0 {
                self.arrival.1 = if dropped { Fate::Dropped(reason) } else { Fate::Marked(reason) };
            }
            if dropped {
                if let Some((packet, _)) = self.held.remove(&id) {
                    self.bytes -= u64::from(packet.bytes());
                    self.counters.count_drop(reason, packet.bytes());
                    sink.dropped(now, packet, reason);
                }
            } else if let Some((packet, _)) = self.held.get_mut(&id) {
                packet.mark_ce();
                self.counters.count_mark(reason, packet.bytes());
                sink.marked(now, packet, reason);
            }
        }
        result
    }

    /// Drops every packet after an error, so that the run can end with consistent counters.
    fn give_up(&mut self, now: Time, sink: &mut dyn DropSink<P>, error: PyErr) {
        self.shared.fail(error);
        self.broken = true;
        for (id, (packet, _)) in std::mem::take(&mut self.held) {
            let fate = self.refuse(now, packet, sink);
            if id == self.arrival.0 {
                self.arrival.1 = fate;
            }
        }
        self.bytes = 0;
    }

    /// Drops a packet that cannot be passed on because of an error.
    fn refuse(&mut self, now: Time, packet: P, sink: &mut dyn DropSink<P>) -> Fate {
        self.counters.count_drop(Reason::Limit, packet.bytes());
        sink.dropped(now, packet, Reason::Limit);
        Fate::Dropped(Reason::Limit)
    }

    /// Checks and removes the packet that `dequeue` returned.
    fn given(&mut self, py: Python<'_>, given: &Bound<'_, PyAny>) -> PyResult<Option<P>> {
        if given.is_none() {
            return if self.held.is_empty() || self.delays { Ok(None) } else { Err(self.lost(py)) };
        }
        let Ok(packet) = given.cast::<PyPacket>() else {
            let message = format!("dequeue must return a packet or None, not a {}", given.get_type().name()?);
            return Err(PyTypeError::new_err(message));
        };
        let mut packet = packet.try_borrow_mut()?;
        PyDropSink { queue: self.queue, said: Vec::new() }.must_be_queued(py, &packet, "gives out")?;
        packet.state = PacketState::Sent;
        let Some((sent, _)) = self.held.remove(&packet.id) else { return Ok(None) };
        self.bytes -= u64::from(sent.bytes());
        self.counters.departed.add(sent.bytes());
        Ok(Some(sent))
    }

    /// The error of a discipline that returns nothing although packets have neither left nor been dropped.
    fn lost(&self, py: Python<'_>) -> PyErr {
        let count = self.held.len();
        let first = self.held.values().next().map(|(_, packet)| packet.borrow(py).__repr__()).unwrap_or_default();
        let noun = if count == 1 { "packet has" } else { "packets have" };
        let message = format!(
            "dequeue gave None, and {count} {noun} neither left nor been dropped, first {first}: tell sink.dropped of every \
             packet that will not leave, or say with ready_at() until when they are held back"
        );
        errors::discipline(py, message)
    }
}

impl<P: Packet> Qdisc<P> for CustomDiscipline<P> {
    fn enqueue(&mut self, now: Time, packet: P, sink: &mut dyn DropSink<P>) -> Fate {
        self.counters.arrived.add(packet.bytes());
        if self.broken {
            return self.refuse(now, packet, sink);
        }
        self.held_back = false;
        Python::attach(|py| {
            let id = self.next;
            self.next += 1;
            let seen = match Py::new(py, PyPacket::at(&packet, id, false, self.queue)) {
                Ok(seen) => seen,
                Err(error) => {
                    self.give_up(now, sink, error);
                    return self.refuse(now, packet, sink);
                }
            };
            self.arrival = (id, Fate::Queued);
            self.bytes += u64::from(packet.bytes());
            self.held.insert(id, (packet, seen.clone_ref(py)));
            let time = now.as_secs();
            let result = self.call(now, sink, |object, said| object.call_method1("enqueue", (time, seen, said)), py);
            if let Err(error) = result {
                self.give_up(now, sink, error);
            }
            self.arrival.1
        })
    }

    fn dequeue(&mut self, now: Time, sink: &mut dyn DropSink<P>) -> Option<P> {
        if self.broken {
            return None;
        }
        Python::attach(|py| {
            let time = now.as_secs();
            let result = self.call(now, sink, |object, said| object.call_method1("dequeue", (time, said)), py);
            let sent = result.and_then(|given| self.given(py, &given)).unwrap_or_else(|error| {
                self.give_up(now, sink, error);
                None
            });
            self.held_back = sent.is_none() && !self.held.is_empty();
            sent
        })
    }

    fn status(&self) -> Status {
        let mut status = Status::new(self.packets(), self.bytes());
        (status.average, status.ready_at) = (self.average(), self.ready_at());
        status
    }

    fn packets(&self) -> usize {
        self.held.len()
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn average(&self) -> Option<f64> {
        if !self.averages || self.broken {
            return None;
        }
        Python::attach(|py| {
            let average = self.object.bind(py).call_method0("average").and_then(|average| {
                average.extract().or_else(|_| {
                    let what = average.get_type().name()?;
                    Err(PyTypeError::new_err(format!("average must return a number or None, not a {what}")))
                })
            });
            average.unwrap_or_else(|error| {
                self.shared.fail(error);
                None
            })
        })
    }

    fn ready_at(&self) -> Option<Time> {
        if !self.delays || self.broken || !self.held_back {
            return None;
        }
        Python::attach(|py| {
            let at = self.object.bind(py).call_method0("ready_at").and_then(|at| at.extract::<Option<f64>>());
            let at = at.and_then(|at| at.map(|at| time(at, "ready_at")).transpose());
            match at {
                Ok(Some(at)) => Some(at),
                Ok(None) => {
                    self.shared.fail(self.lost(py));
                    None
                }
                Err(error) => {
                    self.shared.fail(error);
                    None
                }
            }
        })
    }
}

/// Converts a time from seconds.
pub(crate) fn time(seconds: f64, name: &str) -> PyResult<Time> {
    let nanos = (seconds * 1e9).round();
    // Up to 2^53 every nanosecond is exactly representable.
    if (0.0..=9_007_199_254_740_992.0).contains(&nanos) {
        return Ok(Time::from_nanos(nanos as u64));
    }
    Err(errors::argument(format!("{name}: {seconds} is not a time: expected seconds from 0 to 9007199")))
}

/// Packets and bytes as a pair, for Python.
pub(crate) const fn pair(count: Count) -> (u64, u64) {
    (count.packets, count.bytes)
}
