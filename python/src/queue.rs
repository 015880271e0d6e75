//! A queue that is operated packet by packet.

use std::sync::Arc;

use fairlane_qdisc::{BoxQdisc, DropSink, Host, Qdisc, Rate, Reason, Seed, SimplePacket, Time};
use pyo3::prelude::*;

use crate::custom::{CustomDiscipline, PyPacket, RunState, pair, time};
use crate::disciplines::{Given, config};
use crate::errors;

/// A discipline with a seed, operated packet by packet.
#[pyclass(module = "fairlane._core")]
pub(crate) struct Queue {
    discipline: Discipline,
    shared: Arc<RunState>,
    now: Time,
    next: u64,
    told: Events,
}

enum Discipline {
    Library(Box<BoxQdisc<SimplePacket>>),
    Custom(Box<CustomDiscipline<SimplePacket>>),
}

/// The events of the last call: true for a drop, the packet, and the reason.
#[derive(Default)]
struct Events(Vec<(bool, SimplePacket, Reason)>);

impl DropSink<SimplePacket> for Events {
    fn dropped(&mut self, _now: Time, packet: SimplePacket, reason: Reason) {
        self.0.push((true, packet, reason));
    }
    fn marked(&mut self, _now: Time, packet: &SimplePacket, reason: Reason) {
        self.0.push((false, *packet, reason));
    }
}

/// Calls a method of either kind of discipline.
macro_rules! of {
    ($discipline:expr, $queue:ident => $call:expr) => {
        match $discipline {
            Discipline::Library($queue) => $call,
            Discipline::Custom($queue) => $call,
        }
    };
}

#[pymethods]
impl Queue {
    /// Creates a queue of a discipline of the library.
    #[staticmethod]
    fn of(given: Given<'_>, rate: &str, seed: u64) -> PyResult<Self> {
        let py = given.1.py();
        let host = Host { rate: read_rate(py, rate)?, seed: Seed::new(seed) };
        let config = config(&given)?;
        let built = config.build(&host).map_err(|error| errors::refused(py, format!("{} {error}", config.kind())))?;
        Ok(Self::new(Discipline::Library(Box::new(built)), Arc::default()))
    }

    /// Creates a queue of a discipline that is a Python object.
    #[staticmethod]
    fn custom(object: Bound<'_, PyAny>) -> PyResult<Self> {
        let shared = Arc::<RunState>::default();
        let custom = CustomDiscipline::new(object.py(), object, Arc::clone(&shared))?;
        Ok(Self::new(Discipline::Custom(Box::new(custom)), shared))
    }

    /// Offers a packet.
    fn enqueue(
        &mut self,
        now: f64,
        flow: u64,
        bytes: u32,
        ecn: bool,
        traffic_class: u8,
        responsive: bool,
    ) -> PyResult<()> {
        let now = self.at(now)?;
        if bytes == 0 {
            return Err(errors::argument("bytes: must be at least 1"));
        }
        let mut packet = SimplePacket::new(flow, bytes).with_id(self.next).with_class(traffic_class);
        (packet.ecn_capable, packet.responsive) = (ecn, responsive);
        self.next += 1;
        let told = &mut self.told;
        of!(&mut self.discipline, queue => queue.enqueue(now, packet, told));
        self.shared.failure().map_or(Ok(()), Err)
    }

    /// The next packet for the link.
    fn dequeue(&mut self, now: f64) -> PyResult<Option<PyPacket>> {
        let now = self.at(now)?;
        let told = &mut self.told;
        let packet = of!(&mut self.discipline, queue => queue.dequeue(now, told));
        self.shared.failure().map_or(Ok(()), Err)?;
        Ok(packet.map(|packet| seen(&packet)))
    }

    /// The events of the last call: `dropped` or `marked`, the packet, and the reason.
    fn events(&self) -> Vec<(&'static str, PyPacket, &'static str)> {
        let event = |(dropped, packet, reason): &(bool, SimplePacket, Reason)| {
            (if *dropped { "dropped" } else { "marked" }, seen(packet), reason.name())
        };
        self.told.0.iter().map(event).collect()
    }

    #[getter]
    fn packets(&self) -> usize {
        of!(&self.discipline, queue => queue.packets())
    }

    #[getter]
    fn bytes(&self) -> u64 {
        of!(&self.discipline, queue => queue.bytes())
    }

    #[getter]
    fn average(&self) -> PyResult<Option<f64>> {
        let average = of!(&self.discipline, queue => queue.average());
        self.shared.failure().map_or(Ok(average), Err)
    }

    #[getter]
    fn probability(&self) -> Option<f64> {
        of!(&self.discipline, queue => queue.probability())
    }

    #[getter]
    fn ready_at(&self) -> PyResult<Option<f64>> {
        let at = of!(&self.discipline, queue => queue.ready_at());
        self.shared.failure().map_or(Ok(at.map(Time::as_secs)), Err)
    }

    /// Packets and bytes under each name; drops and marks by their reasons, where there were any.
    fn counters(&self) -> Vec<(&'static str, &'static str, (u64, u64))> {
        let counters = of!(&self.discipline, queue => queue.counters());
        let mut all = vec![("arrived", "", pair(counters.arrived)), ("departed", "", pair(counters.departed))];
        for reason in Reason::ALL {
            all.push(("dropped", reason.name(), pair(counters.dropped(reason))));
            all.push(("marked", reason.name(), pair(counters.marked(reason))));
        }
        all
    }
}

impl Queue {
    fn new(discipline: Discipline, shared: Arc<RunState>) -> Self {
        Self { discipline, shared, now: Time::ZERO, next: 0, told: Events::default() }
    }

    /// Converts the time of a call and clears the events of the previous one.
    fn at(&mut self, now: f64) -> PyResult<Time> {
        let at = time(now, "now")?;
        if at < self.now {
            let before = self.now.as_secs();
            return Err(errors::argument(format!("now: {now} s is before {before} s: time cannot run backwards")));
        }
        self.now = at;
        self.told.0.clear();
        Ok(at)
    }
}

fn seen(packet: &SimplePacket) -> PyPacket {
    PyPacket::of(packet, packet.id, packet.marked)
}

/// A rate in bit/s.
#[pyfunction]
pub(crate) fn rate(py: Python<'_>, text: &str) -> PyResult<u64> {
    read_rate(py, text).map(Rate::bits_per_second)
}

fn read_rate(py: Python<'_>, text: &str) -> PyResult<Rate> {
    let rate: Rate = text.parse().map_err(|error| errors::refused(py, format!("rate: {error}")))?;
    if rate.bits_per_second() == 0 {
        return Err(errors::refused(py, "rate: must be greater than zero"));
    }
    Ok(rate)
}
