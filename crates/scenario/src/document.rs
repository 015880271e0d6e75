//! A scenario file: reading it, changing it from the command line, checking it.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fairlane_qdisc::Kind;

use crate::bundled::{Bundled, bundled, nearest_bundled};
use crate::error::{Origin, ScenarioError, SourceText};
use crate::model::Scenario;
use crate::read::{self, Needs};
use crate::suggest;
use crate::tcp::OwnCongestion;
use crate::tree::{self, Data, Node, Table};
use crate::vary::{Point, Vary};

/// The largest file, in bytes: scenarios are written by hand.
const LARGEST: usize = 1 << 20;

/// The table of a queue. Set to a text, that is the discipline.
const QUEUE: &str = "queue";

/// Figure 3 of the CHOKe paper.
const BUILTIN: &str = "choke-fig3";

/// A scenario file that has been read: valid TOML, not yet checked.
///
/// ```
/// use fairlane_scenario::Document;
///
/// let mut document = Document::builtin();
/// document.set("flows.cbr.rate", "3mbit")?;
/// let scenario = document.scenario()?;
/// assert_eq!(scenario.flows[0].count, 32);
/// # Ok::<(), fairlane_scenario::ScenarioError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Document {
    pub(crate) source: SourceText,
    pub(crate) root: Table,
    /// True if a program has changed it, so that the text is out of date.
    pub(crate) edited: bool,
    /// The parts of the program.
    pub(crate) own: Own,
}

/// The parts of a program that scenarios may name, in addition to those of Fairlane.
#[derive(Clone, Debug, Default)]
pub(crate) struct Own {
    pub(crate) congestion: Vec<OwnCongestion>,
    /// The names of its applications.
    pub(crate) applications: Vec<&'static str>,
}

/// Returns what was probably meant by the name of a file that does not exist.
fn remedy(name: &str) -> Option<String> {
    let near = || nearest_bundled(name.trim_end_matches(".toml"));
    let file = format!("{name}.toml");
    if Path::new(&file).is_file() {
        Some(format!("did you mean {file}?"))
    } else if name.parse::<Kind>().is_ok() {
        Some(format!(
            "{name} is a queue discipline: write --queue {name}, and several with commas, such as --queue droptail,{name}"
        ))
    } else {
        near().map(|near| format!("did you mean \"{near}\", which `fairlane scenarios` lists?"))
    }
}

impl Document {
    /// Reads the file at `path`.
    ///
    /// # Errors
    /// The file cannot be read, is a folder, is larger than 1 MiB, is not UTF-8 or not TOML.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, ScenarioError> {
        let path = path.as_ref();
        let name = path.display().to_string();
        let refuse = |why: String| ScenarioError::new(&SourceText::new(&name, ""), &Origin::Whole, "", why);
        let file = File::open(path).map_err(|error| {
            let refused = refuse(format!("this file cannot be opened: {error}"));
            match remedy(&name).filter(|_| error.kind() == ErrorKind::NotFound) {
                Some(help) => refused.with_help(help),
                None => refused,
            }
        })?;
        if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
            return Err(refuse("this is a folder".to_owned()).with_help("name a scenario file in it"));
        }
        Self::from_reader(&name, file)
    }

    /// Reads the scenario that `name` names: a file, or one that is compiled in. A file takes precedence; a folder,
    /// such as one of results, does not.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn open(name: impl AsRef<Path>) -> Result<Self, ScenarioError> {
        let path = name.as_ref();
        match path.to_str().and_then(bundled) {
            Some(bundled) if !path.exists() || path.is_dir() => bundled.document(),
            _ => Self::load(path),
        }
    }

    /// Reads a scenario from `file`, such as standard input, which errors call `name`. Files that it names are in the
    /// folder of `name`.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn from_reader(name: &str, file: impl Read) -> Result<Self, ScenarioError> {
        let refuse = |why: String| ScenarioError::new(&SourceText::new(name, ""), &Origin::Whole, "", why);
        let mut bytes = Vec::new();
        // Reading one byte more than allowed detects a file that is too large, even if its metadata is wrong.
        file.take(LARGEST as u64 + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| refuse(format!("this file cannot be read: {error}")))?;
        let text = String::from_utf8(bytes).or_else(|error| {
            // A character cut at the limit is not the file's fault: the size is reported instead.
            let bytes = error.into_bytes();
            if bytes.len() > LARGEST { Ok(String::from_utf8_lossy(&bytes).into_owned()) } else { Err(bytes) }
        });
        match text {
            Ok(text) => Self::parse(name, &text),
            Err(bytes) => Err(not_utf8(name, &bytes)),
        }
    }

    /// Reads `text`, which errors call `name`.
    ///
    /// # Errors
    /// The text is longer than 1 MiB or is not TOML.
    pub fn parse(name: &str, text: &str) -> Result<Self, ScenarioError> {
        if text.len() > LARGEST {
            let error =
                ScenarioError::new(&SourceText::new(name, ""), &Origin::Whole, "", "this file is larger than 1 MiB");
            return Err(error.with_help("a scenario is a few hundred lines at most: is it the right file?"));
        }
        Self::read(SourceText::new(name, text))
    }

    pub(crate) fn read(source: SourceText) -> Result<Self, ScenarioError> {
        let root = tree::parse(&source)?;
        Ok(Self { source, root, edited: false, own: Own::default() })
    }

    /// Lets groups of flows have the congestion controls `own` of the program, in addition to those of Fairlane:
    /// `cc = "mine"`.
    ///
    /// ```
    /// use fairlane_scenario::Document;
    ///
    /// let mut document = Document::builtin().with_congestion(["mine"]);
    /// document.set("flows.ftp.cc", "mine")?;
    /// assert!(document.scenario()?.flows[0].traffic.to_string().contains("mine"));
    /// # Ok::<(), fairlane_scenario::ScenarioError>(())
    /// ```
    #[must_use]
    pub fn with_congestion(mut self, own: impl IntoIterator<Item = impl Into<OwnCongestion>>) -> Self {
        self.own.congestion.extend(own.into_iter().map(Into::into));
        self
    }

    /// Lets groups of flows have the applications `own` of the program, in addition to those of Fairlane:
    /// `source = "mine"`. Such a group has no other keys of an application.
    ///
    /// ```
    /// use fairlane_scenario::{Application, Document, Traffic};
    ///
    /// let mut document = Document::builtin().with_applications(["mine"]);
    /// document.set("flows.ftp.source", "mine")?;
    /// let scenario = document.scenario()?;
    /// let Traffic::Tcp(tcp) = &scenario.flows[0].traffic else { panic!("TCP") };
    /// assert_eq!(tcp.application, Application::Own("mine"));
    /// # Ok::<(), fairlane_scenario::ScenarioError>(())
    /// ```
    #[must_use]
    pub fn with_applications(mut self, own: impl IntoIterator<Item = &'static str>) -> Self {
        self.own.applications.extend(own);
        self
    }

    /// The text that was read, without what [`set`](Self::set) changed.
    #[must_use]
    pub fn text(&self) -> &str {
        self.source.text()
    }

    /// Figure 3 of the CHOKe paper: 32 TCP flows and one UDP flow of 2 Mbit/s over 1 Mbit/s.
    ///
    /// # Panics
    /// Never: the text is part of this crate, and tests read it.
    #[must_use]
    pub fn builtin() -> Self {
        match bundled(BUILTIN).map(Bundled::document) {
            Some(Ok(document)) => document,
            other => panic!("{BUILTIN}: {other:?}"),
        }
    }

    /// Sets the value of `key`, as `--set key=value` does.
    ///
    /// A key is the path to a value: `duration`, `bottleneck.queue.max`, and by name `flows.cbr.rate`,
    /// `links.r1-r2.delay`. The value has the type of its key: a count, a ratio, `true`, a value with a unit. A new
    /// `queue.kind` keeps the parameters of the file that the new discipline knows too; `queue` is short for it.
    ///
    /// # Errors
    /// There is no such group or link, or the path ends in a table or leads through a value. Whether the key exists
    /// and takes the value is checked by [`scenario`](Self::scenario).
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), ScenarioError> {
        self.assign(key, value, &format!("--set {key}={value}").into())
    }

    /// The keys of the queues that a comparison of disciplines changes, such as `bottleneck.queue` or
    /// `links.r1-r2.reverse.queue`: those of links that the file describes, and a dumbbell's bottleneck in any case.
    #[must_use]
    pub fn queues(&self) -> Vec<String> {
        let links = match self.root.get("links").map(|entry| &entry.node.data) {
            Some(Data::Array(nodes)) => nodes.as_slice(),
            _ => &[],
        };
        let named = links.iter().filter_map(|node| Some((format!("links.{}", table_name(node)?), node)));
        let bottleneck = self.root.get("bottleneck").map(|entry| ("bottleneck".to_owned(), &entry.node));
        let mut queues = Vec::new();
        for (path, node) in named.chain(bottleneck) {
            let Data::Table(link) = &node.data else { continue };
            if path == "bottleneck" || link.get("queue").is_some() {
                queues.push(format!("{path}.queue"));
            }
            if let Some(Data::Table(reverse)) = link.get("reverse").map(|entry| &entry.node.data)
                && reverse.get("queue").is_some()
            {
                queues.push(format!("{path}.reverse.queue"));
            }
        }
        queues
    }

    /// The files that the scenario reads, those of links' rates and of captured packets.
    #[must_use]
    pub fn files(&self) -> Vec<PathBuf> {
        let mut names = Vec::new();
        traces(&self.root, &mut names);
        let names = names.into_iter().filter(|name| self.source.bundled_file(name).is_none());
        names.map(|name| self.beside(name)).collect()
    }

    /// Returns the path of a file that the scenario calls `name`: relative names begin in the folder of the scenario.
    #[must_use]
    pub fn beside(&self, name: &str) -> PathBuf {
        self.source.beside(name)
    }

    /// Every point of a sweep: all combinations of the values of `varies`, the last one varying fastest. Each has been
    /// checked, so that a long sweep does not stop in its middle.
    ///
    /// # Errors
    /// A key is varied twice, there are more than 100,000 points, or a point is no valid scenario.
    pub fn points(&self, varies: &[Vary]) -> Result<Vec<Point>, ScenarioError> {
        let points = Point::all(varies)?;
        for point in &points {
            self.at(point)?;
        }
        Ok(points)
    }

    /// The scenario at one point of a sweep.
    ///
    /// # Errors
    /// The errors of [`set_point`](Self::set_point) and [`scenario`](Self::scenario), which name the option
    /// `--vary key=value`.
    pub fn at(&self, point: &Point) -> Result<Scenario, ScenarioError> {
        let mut document = self.clone();
        document.set_point(point)?;
        document.scenario().map_err(|error| match error.option() {
            Some(option) if option.contains("..") => {
                error.with_help("a range of values says how many: a..b/N, or a..b/Nlog for equal factors")
            }
            _ => error,
        })
    }

    /// The scenario, checked.
    ///
    /// # Errors
    /// The first thing that is wrong: an unknown key, a missing one, a value of the wrong unit or out of its range, a
    /// contradiction.
    pub fn scenario(&self) -> Result<Scenario, ScenarioError> {
        read::scenario(&self.source, &self.root, &self.own, Needs::All)
    }

    /// The scenario as [`scenario`](Self::scenario), for its links alone: `duration` and `[[flows]]` may be left out.
    /// Without them the scenario has no flows and the longest duration.
    ///
    /// ```
    /// use fairlane_scenario::Document;
    ///
    /// let document = Document::parse("home.toml", "[bottleneck]\nrate = \"5mbit\"\ndelay = \"10ms\"\n")?;
    /// assert!(document.scenario().is_err());
    /// assert_eq!(document.links_alone()?.links.len(), 1);
    /// # Ok::<(), fairlane_scenario::ScenarioError>(())
    /// ```
    ///
    /// # Errors
    /// The first thing that is wrong in the parts that the file has.
    pub fn links_alone(&self) -> Result<Scenario, ScenarioError> {
        read::scenario(&self.source, &self.root, &self.own, Needs::Links)
    }

    /// Returns `true` if the file or an option has this key at its top, such as `duration`.
    #[must_use]
    pub fn has(&self, key: &str) -> bool {
        self.root.get(key).is_some()
    }

    /// Creates the error of an engine that does not support `key`, such as `bottleneck.loss` or `flows.web.source`: the
    /// problem, the remedy, and the place where the key or its table was written.
    #[must_use]
    pub fn refuse(&self, key: &str, message: &str, help: &str) -> ScenarioError {
        let origin = self.origin(key);
        ScenarioError::new(&self.source, &origin, key, message).with_help(help)
    }

    /// Returns the place where `key` was written, or the longest part of its path that exists.
    fn origin(&self, key: &str) -> Origin {
        let (mut table, mut origin) = (&self.root, Origin::Whole);
        let mut steps = key.split('.');
        while let Some(step) = steps.next() {
            let Some(entry) = table.get(step) else { break };
            origin = entry.node.origin.clone();
            match &entry.node.data {
                Data::Table(inner) => table = inner,
                Data::Array(items) => {
                    let name = steps.next();
                    let Some(item) = items.iter().find(|item| name.is_some() && table_name(item).as_deref() == name)
                    else {
                        break;
                    };
                    origin = item.origin.clone();
                    let Data::Table(inner) = &item.data else { break };
                    table = inner;
                }
                _ => break,
            }
        }
        origin
    }

    pub(crate) fn assign(&mut self, key: &str, value: &str, option: &Arc<str>) -> Result<(), ScenarioError> {
        let origin = Origin::Given(Arc::clone(option));
        self.edited = true;
        let result = assign(&mut self.root, key, value, option);
        result.map_err(|(message, help)| ScenarioError::new(&self.source, &origin, "", message).with_help(help))
    }
}

impl Bundled {
    /// Reads it.
    ///
    /// # Errors
    /// None: tests read them all.
    pub fn document(&self) -> Result<Document, ScenarioError> {
        self.changed(self.text)
    }

    /// Reads `text`, which it became by changes: what it reads, such as the rates of a link, stays compiled in.
    ///
    /// # Errors
    /// As [`Document::parse`].
    pub fn changed(&self, text: &str) -> Result<Document, ScenarioError> {
        Document::read(SourceText::bundled(self.name, text))
    }
}

/// Collects the values of all keys called `trace`.
fn traces<'t>(table: &'t Table, names: &mut Vec<&'t str>) {
    for entry in table.entries() {
        match &entry.node.data {
            Data::Text(name) if entry.key == "trace" => names.push(name),
            Data::Table(inner) => traces(inner, names),
            Data::Array(items) => {
                for item in items {
                    if let Data::Table(inner) = &item.data {
                        traces(inner, names);
                    }
                }
            }
            _ => {}
        }
    }
}

/// A message about a key path, and the help that goes with it.
pub(crate) type KeyError = (String, String);

fn assign(root: &mut Table, key: &str, value: &str, option: &Arc<str>) -> Result<(), KeyError> {
    let (mut path, mut last) = steps(key)?;
    if last == QUEUE {
        path.push(last);
        last = "kind";
    }
    let table = walk(root, &path, &Origin::Given(Arc::clone(option)))?;
    if let Some(Data::Table(inner)) = table.get(last).map(|entry| &entry.node.data) {
        let keys = inner.entries().map(|entry| format!("{key}.{}", entry.key)).collect::<Vec<_>>().join(", ");
        return Err((format!("`{key}` is a table"), format!("set one of its keys, such as {keys}")));
    }
    let data = match table.get(last).map(|entry| &entry.node.data) {
        Some(Data::Array(items)) if items.iter().any(|item| matches!(item.data, Data::Table(_))) => {
            return member(root, key, None).map(|_| ());
        }
        // A list stays a list.
        Some(Data::Array(_)) => Data::Array(value.split(',').map(|item| text(item, option)).collect()),
        _ => Data::Text(value.to_owned()),
    };
    table.set(last, data, &Origin::Given(Arc::clone(option)));
    Ok(())
}

/// The steps of a key's path, the last one by itself.
pub(crate) fn steps(key: &str) -> Result<(Vec<&str>, &str), KeyError> {
    let mut steps = key.split('.').collect::<Vec<_>>();
    match steps.pop() {
        Some(last) if !last.is_empty() && !steps.contains(&"") => Ok((steps, last)),
        _ => Err((format!("\"{key}\" is not a key"), "write for example bottleneck.rate".to_owned())),
    }
}

fn text(item: &str, option: &Arc<str>) -> Node {
    Node { data: Data::Text(item.trim().to_owned()), origin: Origin::Given(Arc::clone(option)) }
}

/// The table at the end of `path`; tables that the file does not have are made.
pub(crate) fn walk<'t>(root: &'t mut Table, path: &[&str], origin: &Origin) -> Result<&'t mut Table, KeyError> {
    let mut table = root;
    let mut rest = path;
    if let [list @ ("flows" | "links"), after @ ..] = path {
        let (name, after) = after.split_first().map_or((None, after), |(name, after)| (Some(*name), after));
        table = member(table, list, name)?;
        rest = after;
    }
    for step in rest {
        table = table
            .table_mut(step, origin)
            .ok_or_else(|| (format!("`{step}` is a value and has no keys"), format!("set `{step}` itself")))?;
    }
    Ok(table)
}

/// The group of flows or the link called `wanted`.
fn member<'t>(root: &'t mut Table, list: &str, wanted: Option<&str>) -> Result<&'t mut Table, KeyError> {
    let nodes = match root.get_mut(list).map(|node| &mut node.data) {
        Some(Data::Array(nodes)) => nodes.as_mut_slice(),
        _ => &mut [],
    };
    let names = nodes.iter().filter_map(table_name).collect::<Vec<_>>();
    let Some(place) = nodes.iter().position(|node| wanted.is_some() && table_name(node).as_deref() == wanted) else {
        let known = names.iter().map(String::as_str);
        return Err(match wanted {
            _ if names.is_empty() => (format!("this scenario has no [[{list}]]"), "add some to the file".to_owned()),
            Some(wanted) => (format!("`{list}` has no \"{wanted}\""), suggest::help(wanted, known)),
            None => (
                format!("it is not said which of `{list}`"),
                format!("write {list}.{}.…", names.join(&format!(".… or {list}."))),
            ),
        });
    };
    match &mut nodes[place].data {
        Data::Table(table) => Ok(table),
        _ => Err((format!("`{list}` is not a list of tables"), format!("begin each by [[{list}]]"))),
    }
}

/// The name of a group of flows or of a link, as in the file.
pub(crate) fn table_name(node: &Node) -> Option<String> {
    let Data::Table(table) = &node.data else { return None };
    let text = |key: &str| match table.get(key).map(|entry| &entry.node.data) {
        Some(Data::Text(text)) => Some(text.as_str()),
        _ => None,
    };
    text("name").map(str::to_owned).or_else(|| Some(read::link_name(text("from")?, text("to")?)))
}

/// The place of the first byte that is not UTF-8, shown in the text before it.
fn not_utf8(name: &str, bytes: &[u8]) -> ScenarioError {
    let before = bytes.utf8_chunks().next().map_or("", |chunk| chunk.valid());
    let source = SourceText::new(name, before);
    let place = Origin::File(before.len()..before.len());
    ScenarioError::new(&source, &place, "", "this is not UTF-8 text").with_help("save the file as UTF-8")
}
