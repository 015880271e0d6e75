//! Scenario files.

use std::path::{Path, PathBuf, absolute};
use std::{fs, io};

use fairlane_scenario::{BUNDLED, Bundled, Document as Inner, Point, Scenario, ScenarioError, Vary, bundled};
use fairlane_sim::Control;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList};

use crate::errors;
use crate::quantity;
use crate::values::{from_table, from_toml, to_toml};
use crate::watched::watched;

/// The keys of a point of a sweep with their values.
pub(crate) type Settings = Vec<(String, String)>;

/// A discipline that a sweep varies, from Python: its key, the text that stands for it in points, and its table.
pub(crate) type GivenDiscipline<'py> = (String, String, Bound<'py, PyDict>);

/// The disciplines that a sweep varies: the key, the text that stands for one in points, and its table.
pub(crate) struct Disciplines(Vec<(String, String, toml::Value)>);

impl Disciplines {
    pub(crate) fn read(given: Vec<GivenDiscipline<'_>>) -> PyResult<Self> {
        let read = given.into_iter().map(|(key, text, table)| {
            let table = to_toml(table.as_any(), &key)?;
            Ok((key, text, table))
        });
        read.collect::<PyResult<_>>().map(Self)
    }

    /// Returns the document with the disciplines of a point, and the other settings of the point.
    fn put(&self, document: &Inner, settings: &[(String, String)]) -> Result<(Inner, Settings), ScenarioError> {
        let (mut document, mut others) = (document.clone(), Vec::new());
        for (key, text) in settings {
            match self.0.iter().find(|(of, name, _)| (of, name) == (key, text)) {
                Some((_, _, table)) => document.put(key, table, &format!("{key} = {text}"))?,
                None => others.push((key.clone(), text.clone())),
            }
        }
        Ok((document, others))
    }

    /// Returns the scenario at a point.
    pub(crate) fn at(&self, document: &Inner, settings: &[(String, String)]) -> Result<Scenario, ScenarioError> {
        let (document, others) = self.put(document, settings)?;
        document.at(&Point::of(others))
    }
}

/// A checked scenario file: methods that change it reject invalid values.
#[pyclass(module = "fairlane._core", frozen)]
pub(crate) struct Document {
    pub(crate) inner: Inner,
    pub(crate) name: String,
    /// The file from which it was read, if there is one.
    file: Option<PathBuf>,
    /// Its links are enough.
    links_alone: bool,
}

impl Document {
    /// Checks it.
    fn new(py: Python<'_>, name: &str, read: Result<Inner, ScenarioError>) -> PyResult<Self> {
        Self::checked(py, name, read, false)
    }

    /// Checks it, or its links alone.
    fn checked(py: Python<'_>, name: &str, read: Result<Inner, ScenarioError>, links_alone: bool) -> PyResult<Self> {
        let check = |inner: &Inner| if links_alone { inner.links_alone() } else { inner.scenario() };
        let inner = read.and_then(|inner| check(&inner).map(|_| inner)).map_err(|e| errors::scenario(py, &e))?;
        Ok(Self { inner, name: name.to_owned(), file: None, links_alone })
    }

    /// Returns the files that are read: its own, and those that it names.
    pub(crate) fn inputs(&self) -> Vec<PathBuf> {
        self.file.clone().into_iter().chain(self.inner.files()).collect()
    }
}

#[pymethods]
impl Document {
    #[staticmethod]
    #[pyo3(signature = (path, links_alone=false))]
    fn load(py: Python<'_>, path: &str, links_alone: bool) -> PyResult<Self> {
        let read = py.detach(|| Inner::open(path));
        let file = Path::new(path).is_file().then(|| path.into());
        Ok(Self { file, ..Self::checked(py, path, read, links_alone)? })
    }

    #[staticmethod]
    #[pyo3(signature = (name, text, links_alone=false))]
    fn parse(py: Python<'_>, name: &str, text: &str, links_alone: bool) -> PyResult<Self> {
        // What was sent or kept of one that is compiled in.
        let read = bundled(name).map_or_else(|| Inner::parse(name, text), |bundled| bundled.changed(text));
        Self::checked(py, name, read, links_alone)
    }

    #[staticmethod]
    fn from_dict(name: &str, table: &Bound<'_, PyDict>) -> PyResult<Self> {
        let value = to_toml(table.as_any(), "")?;
        let table_of = value.as_table().cloned().unwrap_or_default();
        Self::new(table.py(), name, Inner::from_table(name, &table_of))
    }

    #[staticmethod]
    fn builtin(py: Python<'_>) -> PyResult<Self> {
        Self::new(py, "choke-fig3", Ok(Inner::builtin()))
    }

    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    fn to_toml(&self) -> String {
        self.inner.to_toml()
    }

    /// Writes it as `scenario.toml` into another folder, where it means the same: files that it names have absolute
    /// paths there, and those that are compiled in are written too.
    fn write_into(&self, folder: PathBuf) -> PyResult<()> {
        let outside = self.inner.files();
        let name_there = |name: &mut String| -> io::Result<()> {
            let path = self.inner.beside(name);
            if outside.contains(&path) {
                *name = absolute(path)?.to_string_lossy().into_owned();
                return Ok(());
            }
            let mut files = BUNDLED.iter().flat_map(Bundled::files);
            files.find(|(known, _)| known == name).map_or(Ok(()), |(_, text)| fs::write(folder.join(name), text))
        };
        let mut table = self.inner.to_table();
        each_trace(&mut table, &name_there)?;
        let text = if outside.is_empty() { self.inner.to_toml() } else { table.to_string() };
        Ok(fs::write(folder.join("scenario.toml"), text)?)
    }

    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        from_table(py, &self.inner.to_table())
    }

    /// The value under a key; `None` where the document says nothing.
    fn get<'py>(&self, py: Python<'py>, key: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.inner.get(key).map(|value| from_toml(py, &value)).transpose()
    }

    /// Checks that a scenario can have the key.
    fn check_key(&self, py: Python<'_>, key: &str) -> PyResult<()> {
        let mut probe = self.inner.clone();
        let date = toml::value::Date { year: 1970, month: 1, day: 1 };
        let date = toml::value::Datetime { date: Some(date), time: None, offset: None };
        // No key takes a date, so the first error is about the key or its value. The parameters of queues are read
        // before they are looked up, so that they need a value that can be read.
        let value = if key.rsplit('.').nth(1) == Some("queue") { true.into() } else { date.into() };
        let put = probe.put(key, &value, &format!("scenario[\"{key}\"]"));
        put.map_err(|error| errors::unknown_key(py, &error))?;
        match probe.scenario() {
            Err(error) if error.is_unknown_key() => Err(errors::unknown_key(py, &error)),
            _ => Ok(()),
        }
    }

    /// Returns a copy with these values; plain numbers are in the unit of their key.
    fn with_values(&self, changes: &Bound<'_, PyList>) -> PyResult<Self> {
        let py = changes.py();
        let mut inner = self.inner.clone();
        for change in changes {
            let (key, value): (String, Bound<'_, PyAny>) = change.extract()?;
            let statement = format!("scenario[\"{key}\"]");
            let number = value.is_instance_of::<PyInt>() || value.is_instance_of::<PyFloat>();
            let quantity = if number && !value.is_instance_of::<PyBool>() { quantity::of(&inner, &key) } else { None };
            let value = match quantity {
                Some(quantity) => quantity::written(py, quantity, value.extract()?, &key)?.into(),
                None => to_toml(&value, &key)?,
            };
            let put = inner.put(&key, &value, &statement);
            put.map_err(|error| errors::scenario(py, &error))?;
        }
        Ok(Self { file: self.file.clone(), ..Self::checked(py, &self.name, Ok(inner), self.links_alone)? })
    }

    /// Returns plain numbers as text in the unit of their key; `None` for a key without a unit.
    fn with_unit(&self, py: Python<'_>, key: &str, numbers: Vec<f64>) -> PyResult<Option<Vec<String>>> {
        let Some(quantity) = quantity::of(&self.inner, key) else { return Ok(None) };
        let written = numbers.into_iter().map(|number| quantity::written(py, quantity, number, key));
        written.collect::<PyResult<_>>().map(Some)
    }

    /// The points of a sweep: each a list of keys and values.
    #[staticmethod]
    fn points(py: Python<'_>, varies: Vec<(String, Values)>) -> PyResult<Vec<Settings>> {
        let varies = varies.into_iter().map(|(key, values)| match values {
            Values::Range(text) => Vary::parse(&format!("{key}={text}")),
            Values::List(values) => Vary::of(&key, values),
        });
        let varies = varies.collect::<Result<Vec<_>, _>>().map_err(|error| errors::scenario(py, &error))?;
        let points = Point::all(&varies).map_err(|error| errors::scenario(py, &error))?;
        Ok(points.iter().map(|point| point.settings().to_vec()).collect())
    }

    /// Checks the points of a sweep. Returns false after Ctrl-C.
    fn check_points(
        &self,
        py: Python<'_>,
        points: Vec<Settings>,
        disciplines: Vec<GivenDiscipline<'_>>,
    ) -> PyResult<bool> {
        let disciplines = Disciplines::read(disciplines)?;
        let control = Control::default();
        let check = |point: &Settings| disciplines.at(&self.inner, point).map(drop);
        let checked =
            watched(py, &control, None, 0, || points.iter().take_while(|_| !control.stopped()).try_for_each(check))?;
        checked.map_err(|error| errors::scenario(py, &error))?;
        Ok(!control.stopped())
    }

    /// Returns the document at a point of a sweep.
    fn at(&self, py: Python<'_>, settings: Settings, disciplines: Vec<GivenDiscipline<'_>>) -> PyResult<Self> {
        let (mut inner, others) = Disciplines::read(disciplines)?
            .put(&self.inner, &settings)
            .map_err(|error| errors::scenario(py, &error))?;
        let set = inner.set_point(&Point::of(others));
        Ok(Self { file: self.file.clone(), ..Self::new(py, &self.name, set.map(|()| inner))? })
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

/// Calls `change` with the values of all keys called `trace`.
fn each_trace(table: &mut toml::Table, change: &impl Fn(&mut String) -> io::Result<()>) -> io::Result<()> {
    for (key, value) in table {
        match value {
            toml::Value::String(name) if key == "trace" => change(name)?,
            toml::Value::Table(inner) => each_trace(inner, change)?,
            toml::Value::Array(items) => {
                let mut tables = items.iter_mut().filter_map(toml::Value::as_table_mut);
                tables.try_for_each(|inner| each_trace(inner, change))?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// The values of a key in a sweep.
#[derive(FromPyObject)]
pub(crate) enum Values {
    /// `a..b/N` or `a,b,c`.
    Range(String),
    /// A list of values.
    List(Vec<String>),
}
