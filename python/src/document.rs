//! Scenario files.

use fairlane_scenario::{Document as Inner, Point, ScenarioError, Vary};
use fairlane_sim::Control;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::errors;
use crate::values::{from_table, from_toml, to_toml};
use crate::watched::watched;

/// The keys of a point of a sweep with their values.
pub(crate) type Settings = Vec<(String, String)>;

/// A checked scenario file: methods that change it reject invalid values.
#[pyclass(module = "fairlane._core", frozen)]
pub(crate) struct Document {
    pub(crate) inner: Inner,
    pub(crate) name: String,
}

impl Document {
    /// Checks it.
    fn new(py: Python<'_>, name: &str, read: Result<Inner, ScenarioError>) -> PyResult<Self> {
        let inner = read.and_then(|inner| inner.scenario().map(|_| inner)).map_err(|e| errors::scenario(py, &e))?;
        Ok(Self { inner, name: name.to_owned() })
    }
}

#[pymethods]
impl Document {
    #[staticmethod]
    fn load(py: Python<'_>, path: &str) -> PyResult<Self> {
        let read = py.detach(|| Inner::load(path));
        Self::new(py, path, read)
    }

    #[staticmethod]
    fn parse(py: Python<'_>, name: &str, text: &str) -> PyResult<Self> {
        Self::new(py, name, Inner::parse(name, text))
    }

    #[staticmethod]
    fn from_dict(name: &str, table: &Bound<'_, PyDict>) -> PyResult<Self> {
        let value = to_toml(table.as_any(), "")?;
        let table_of = value.as_table().cloned().unwrap_or_default();
        Self::new(table.py(), name, Inner::from_table(name, &table_of))
    }

    #[staticmethod]
    fn builtin(py: Python<'_>) -> PyResult<Self> {
        Self::new(py, "choke-fig3.toml", Ok(Inner::builtin()))
    }

    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    fn to_toml(&self) -> String {
        self.inner.to_toml()
    }

    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        from_table(py, &self.inner.to_table())
    }

    /// The value under a key; `None` where the document says nothing.
    fn get<'py>(&self, py: Python<'py>, key: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.inner.get(key).map(|value| from_toml(py, &value)).transpose()
    }

    /// Returns a copy with these values.
    fn with_values(&self, changes: &Bound<'_, PyList>) -> PyResult<Self> {
        let py = changes.py();
        let mut inner = self.inner.clone();
        for change in changes {
            let (key, value): (String, Bound<'_, PyAny>) = change.extract()?;
            let statement = format!("scenario[\"{key}\"]");
            let put = inner.put(&key, &to_toml(&value, &key)?, &statement);
            put.map_err(|error| errors::scenario(py, &error))?;
        }
        Self::new(py, &self.name, Ok(inner))
    }

    /// The points of a sweep: each a list of keys and values. `None` after Ctrl-C.
    fn points(&self, py: Python<'_>, varies: Vec<(String, Values)>) -> PyResult<Option<Vec<Settings>>> {
        let varies = varies.into_iter().map(|(key, values)| match values {
            Values::Range(text) => Vary::parse(&format!("{key}={text}")),
            Values::List(values) => Vary::of(&key, values),
        });
        let varies = varies.collect::<Result<Vec<_>, _>>().map_err(|error| errors::scenario(py, &error))?;
        let points = Point::all(&varies).map_err(|error| errors::scenario(py, &error))?;
        // Each is checked, which takes its time where there are many.
        let control = Control::default();
        let check = |point: &Point| self.inner.at(point).map(drop);
        let checked =
            watched(py, &control, None, 0, || points.iter().take_while(|_| !control.stopped()).try_for_each(check))?;
        checked.map_err(|error| errors::scenario(py, &error))?;
        let settings = points.iter().map(|point| point.settings().to_vec());
        Ok((!control.stopped()).then(|| settings.collect()))
    }

    /// The keys of the queues that a comparison changes.
    fn queues(&self) -> Vec<String> {
        self.inner.queues()
    }

    /// Returns the names of the queues that outcomes report.
    fn reported(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let scenario = self.inner.scenario().map_err(|error| errors::scenario(py, &error))?;
        Ok(fairlane_sim::queue_names(&scenario))
    }

    /// Returns the names of all flows, by their numbers.
    fn flow_names(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let scenario = self.inner.scenario().map_err(|error| errors::scenario(py, &error))?;
        Ok(scenario.flow_names().collect())
    }

    /// Returns the number of flows, of links and of simulated seconds.
    fn size(&self, py: Python<'_>) -> PyResult<(u64, usize, f64)> {
        let scenario = self.inner.scenario().map_err(|error| errors::scenario(py, &error))?;
        let flows = scenario.flows.iter().map(|group| u64::from(group.count)).sum();
        Ok((flows, scenario.links.len(), scenario.duration.as_secs()))
    }

    /// Returns the name as outcomes contain it.
    fn title(&self, py: Python<'_>) -> PyResult<String> {
        self.inner.scenario().map(|scenario| scenario.name).map_err(|error| errors::scenario(py, &error))
    }
}

/// The values of a key in a sweep.
#[derive(FromPyObject)]
pub(crate) enum Values {
    /// `a..b/N` or `a,b,c`.
    Range(String),
    /// A list of values.
    List(Vec<String>),
}
