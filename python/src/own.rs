//! Disciplines that are written in Python, between the simulator and their objects.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use fairlane_qdisc::{Count, Counters, Fate as Hears, Packet as Handled, Qdisc, Reason, Time};
use fairlane_sim::Control;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::errors;

/// Where a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Queued,
    Dropped,
    Sent,
}

/// A packet as a discipline written in Python sees it.
#[pyclass(module = "fairlane._core", eq)]
#[derive(PartialEq)]
pub(crate) struct Packet {
    /// Its number at this queue, from 0 in the order of arrival.
    #[pyo3(get)]
    id: u64,
    #[pyo3(get)]
    flow: u64,
    #[pyo3(get)]
    bytes: u32,
    #[pyo3(get)]
    ecn_capable: bool,
    #[pyo3(get)]
    marked: bool,
    #[pyo3(get)]
    traffic_class: u8,
    #[pyo3(get)]
    responsive: bool,
    /// The queue that it came to.
    queue: u64,
    place: Place,
}

impl Packet {
    pub(crate) fn of(packet: &impl Handled, id: u64, marked: bool) -> Self {
        Self::at(packet, id, marked, u64::MAX)
    }

    fn at(packet: &impl Handled, id: u64, marked: bool, queue: u64) -> Self {
        Self {
            id,
            flow: packet.flow().get(),
            bytes: packet.bytes(),
            ecn_capable: packet.ecn_capable(),
            marked,
            traffic_class: packet.class(),
            responsive: packet.responsive(),
            queue,
            place: Place::Queued,
        }
    }
}

#[pymethods]
impl Packet {
    fn __repr__(&self) -> String {
        format!("<Packet {} of flow {}, {} bytes>", self.id, self.flow, self.bytes)
    }

    fn __hash__(&self) -> u64 {
        self.id
    }
}

/// What a discipline says of its packets.
#[pyclass(module = "fairlane._core")]
pub(crate) struct Fate {
    queue: u64,
    said: Vec<(bool, u64, Reason)>,
}

#[pymethods]
impl Fate {
    #[pyo3(signature = (packet, reason="early"))]
    fn dropped(&mut self, packet: &Bound<'_, Packet>, reason: &str) -> PyResult<()> {
        let py = packet.py();
        let reason = read_reason(reason)?;
        let mut packet = packet.try_borrow_mut()?;
        self.must_be_queued(py, &packet, "drops")?;
        packet.place = Place::Dropped;
        self.said.push((true, packet.id, reason));
        Ok(())
    }

    #[pyo3(signature = (packet, reason="early"))]
    fn marked(&mut self, packet: &Bound<'_, Packet>, reason: &str) -> PyResult<()> {
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

impl Fate {
    fn must_be_queued(&self, py: Python<'_>, packet: &Packet, does: &str) -> PyResult<()> {
        let why = match packet.place {
            _ if packet.queue != self.queue => "that came to another queue",
            Place::Dropped => "that it has dropped before",
            Place::Sent => "that it has given to the link before",
            Place::Queued => return Ok(()),
        };
        Err(errors::discipline(py, format!("it {does} packet {} of flow {}, {why}", packet.id, packet.flow)))
    }
}

fn read_reason(name: &str) -> PyResult<Reason> {
    Reason::ALL.into_iter().find(|reason| reason.name() == name).ok_or_else(|| {
        let names = Reason::ALL.map(Reason::name).join(", ");
        PyValueError::new_err(format!("there is no reason \"{name}\"; there are {names}"))
    })
}

/// What a run shares with its disciplines: the first thing that went wrong, and how to stop.
#[derive(Default)]
pub(crate) struct Shared {
    pub(crate) control: Control,
    failed: Mutex<Option<PyErr>>,
}

impl Shared {
    pub(crate) fn fail(&self, error: PyErr) {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        // What came first is the cause.
        failed.get_or_insert(error);
        self.control.stop();
    }

    /// What went wrong, if anything has.
    pub(crate) fn failure(&self) -> Option<PyErr> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// A discipline that is an object of Python. Its books are kept here, so that none of its packets is lost or doubled.
pub(crate) struct Own<P> {
    object: Py<PyAny>,
    fate: Py<Fate>,
    averages: bool,
    delays: bool,
    queue: u64,
    held: BTreeMap<u64, (P, Py<Packet>)>,
    next: u64,
    bytes: u64,
    counters: Counters,
    broken: bool,
    shared: Arc<Shared>,
}

impl<P: Handled> Own<P> {
    /// Around `object`, which must have the methods of a discipline.
    pub(crate) fn new(py: Python<'_>, object: Bound<'_, PyAny>, shared: Arc<Shared>) -> PyResult<Self> {
        static QUEUES: AtomicU64 = AtomicU64::new(0);
        let has = |method| Ok::<_, PyErr>(object.getattr_opt(method)?.is_some_and(|method| method.is_callable()));
        for method in ["enqueue", "dequeue"] {
            if !has(method)? {
                let message = format!("{} has no method {method}: see fairlane.Discipline", object.get_type().name()?);
                return Err(PyTypeError::new_err(message));
            }
        }
        let queue = QUEUES.fetch_add(1, Ordering::Relaxed);
        Ok(Self {
            averages: has("average")?,
            delays: has("ready_at")?,
            object: object.unbind(),
            fate: Py::new(py, Fate { queue, said: Vec::new() })?,
            queue,
            held: BTreeMap::new(),
            next: 0,
            bytes: 0,
            counters: Counters::default(),
            broken: false,
            shared,
        })
    }

    /// Calls `method` and then does what it said of its packets.
    fn call<'py>(
        &mut self,
        now: Time,
        fate: &mut impl Hears<P>,
        call: impl FnOnce(&Bound<'py, PyAny>, &Bound<'py, Fate>) -> PyResult<Bound<'py, PyAny>>,
        py: Python<'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let result = call(self.object.bind(py), self.fate.bind(py));
        let said = std::mem::take(&mut self.fate.bind(py).try_borrow_mut()?.said);
        for (dropped, id, reason) in said {
            if dropped {
                if let Some((packet, _)) = self.held.remove(&id) {
                    self.bytes -= u64::from(packet.bytes());
                    self.counters.count_drop(reason, packet.bytes());
                    fate.dropped(now, packet, reason);
                }
            } else if let Some((packet, _)) = self.held.get_mut(&id) {
                packet.mark_ce();
                self.counters.count_mark(reason, packet.bytes());
                fate.marked(now, packet, reason);
            }
        }
        result
    }

    /// After an error: everything is dropped, so that the run can end with its books in order.
    fn give_up(&mut self, now: Time, fate: &mut impl Hears<P>, error: PyErr) {
        self.shared.fail(error);
        self.broken = true;
        for (packet, _) in std::mem::take(&mut self.held).into_values() {
            self.counters.count_drop(Reason::Limit, packet.bytes());
            fate.dropped(now, packet, Reason::Limit);
        }
        self.bytes = 0;
    }

    /// The packet that it gave out.
    fn given(&mut self, py: Python<'_>, given: &Bound<'_, PyAny>) -> PyResult<Option<P>> {
        if given.is_none() {
            return if self.held.is_empty() || self.delays { Ok(None) } else { Err(self.lost(py)) };
        }
        let Ok(packet) = given.cast::<Packet>() else {
            let message = format!("dequeue gives a packet or None, and not a {}", given.get_type().name()?);
            return Err(PyTypeError::new_err(message));
        };
        let mut packet = packet.try_borrow_mut()?;
        Fate { queue: self.queue, said: Vec::new() }.must_be_queued(py, &packet, "gives out")?;
        packet.place = Place::Sent;
        let Some((sent, _)) = self.held.remove(&packet.id) else { return Ok(None) };
        self.bytes -= u64::from(sent.bytes());
        self.counters.departed.add(sent.bytes());
        Ok(Some(sent))
    }

    /// It gave nothing although packets came in that neither left nor were dropped.
    fn lost(&self, py: Python<'_>) -> PyErr {
        let count = self.held.len();
        let first = self.held.values().next().map(|(_, packet)| packet.borrow(py).__repr__()).unwrap_or_default();
        let noun = if count == 1 { "packet has" } else { "packets have" };
        let message = format!(
            "dequeue gave None, and {count} {noun} neither left nor been dropped, first {first}: tell fate.dropped of every \
             packet that will not leave, or say with ready_at() until when they are held back"
        );
        errors::discipline(py, message)
    }
}

impl<P: Handled> Qdisc<P> for Own<P> {
    fn enqueue(&mut self, now: Time, packet: P, fate: &mut impl Hears<P>) {
        self.counters.arrived.add(packet.bytes());
        if self.broken {
            self.counters.count_drop(Reason::Limit, packet.bytes());
            fate.dropped(now, packet, Reason::Limit);
            return;
        }
        Python::attach(|py| {
            let id = self.next;
            self.next += 1;
            let seen = match Py::new(py, Packet::at(&packet, id, false, self.queue)) {
                Ok(seen) => seen,
                Err(error) => return self.give_up(now, fate, error),
            };
            self.bytes += u64::from(packet.bytes());
            self.held.insert(id, (packet, seen.clone_ref(py)));
            let time = now.as_secs();
            let result = self.call(now, fate, |object, said| object.call_method1("enqueue", (time, seen, said)), py);
            if let Err(error) = result {
                self.give_up(now, fate, error);
            }
        });
    }

    fn dequeue(&mut self, now: Time, fate: &mut impl Hears<P>) -> Option<P> {
        if self.broken {
            return None;
        }
        Python::attach(|py| {
            let time = now.as_secs();
            let result = self.call(now, fate, |object, said| object.call_method1("dequeue", (time, said)), py);
            result.and_then(|given| self.given(py, &given)).unwrap_or_else(|error| {
                self.give_up(now, fate, error);
                None
            })
        })
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
                    Err(PyTypeError::new_err(format!("average gives a number or None, and not a {what}")))
                })
            });
            average.unwrap_or_else(|error| {
                self.shared.fail(error);
                None
            })
        })
    }

    fn ready_at(&self) -> Option<Time> {
        if !self.delays || self.broken || self.held.is_empty() {
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

/// A time of Python, in seconds, as the disciplines count it.
pub(crate) fn time(seconds: f64, name: &str) -> PyResult<Time> {
    let nanos = (seconds * 1e9).round();
    // Up to here every nanosecond is a number of its own.
    if (0.0..=9_007_199_254_740_992.0).contains(&nanos) {
        return Ok(Time::from_nanos(nanos as u64));
    }
    Err(PyValueError::new_err(format!("{name}: {seconds} is no time: it is in seconds, from 0 to 9007199")))
}

/// Plain counts for Python: packets and bytes.
pub(crate) const fn pair(count: Count) -> (u64, u64) {
    (count.packets, count.bytes)
}
