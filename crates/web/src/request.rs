//! A page's request for a simulation.

use fairlane_scenario::{Document, Kind, Link, Scenario, bundled};

use crate::error::PageError;

/// The most flows that a page simulates: more neither fit on a screen nor leave time for frames.
pub const MOST_FLOWS: u64 = 2_000;

/// The name of a text in errors.
const FILE: &str = "mine.toml";

/// A scenario, the values that replace the file's, and the discipline of its queues.
#[derive(Clone, Debug)]
pub struct Request {
    document: Document,
    kind: Option<Kind>,
}

impl Request {
    /// Reads a request of three parts with a NUL character between them: the name of a scenario that is compiled in, or
    /// a text in TOML; lines of `key=value`, each as after `--set`; and the kind of the queues that a comparison
    /// changes, empty for the scenario's own.
    ///
    /// # Errors
    /// The errors of the scenario, as on the command line.
    pub fn read(text: &str) -> Result<Self, PageError> {
        let mut parts = text.splitn(3, '\0');
        let mut next = || parts.next().unwrap_or_default();
        let (file, settings, kind) = (next(), next(), next());
        let document = match bundled(file) {
            Some(bundled) => bundled.document()?,
            None => Document::parse(FILE, file)?,
        };
        let kind = if kind.is_empty() { None } else { Some(kind.parse().map_err(|error| PageError::new(&error))?) };
        let mut request = Self { document, kind };
        for setting in settings.lines() {
            let (key, value) = setting.split_once('=').unwrap_or((setting, ""));
            // A file has counts and switches without quotes.
            match value.parse().map(toml::Value::Integer).or_else(|_| value.parse().map(toml::Value::Boolean)) {
                Ok(plain) => request.document.put(key, &plain, &format!("--set {setting}"))?,
                Err(_) => request.document.set(key, value)?,
            }
        }
        Ok(request)
    }

    /// The document with all values; its queues are those of the file.
    #[must_use]
    pub const fn document(&self) -> &Document {
        &self.document
    }

    /// Returns the request with another value of `key`.
    ///
    /// # Errors
    /// As [`Document::set`].
    pub fn with(&self, key: &str, value: &str) -> Result<Self, PageError> {
        let mut document = self.document.clone();
        document.set(key, value)?;
        Ok(Self { document, kind: self.kind })
    }

    /// Returns the scenario.
    ///
    /// # Errors
    /// The scenario is not valid, or has more than [`MOST_FLOWS`] flows.
    pub fn scenario(&self) -> Result<Scenario, PageError> {
        let mut scenario = self.document.scenario()?;
        if let Some(kind) = self.kind {
            set_kind(&mut scenario, &self.document.queues(), kind)?;
        }
        let flows: u64 = scenario.flows.iter().map(|group| u64::from(group.count)).sum();
        if flows > MOST_FLOWS {
            let help = "simulate it on the command line, which takes millions";
            return Err(PageError::new(&format!(
                "this page simulates {MOST_FLOWS} flows at most, not {flows}; {help}"
            )));
        }
        Ok(scenario)
    }
}

/// Gives those queues of `scenario` whose keys are among `queues` another kind, with those of their parameters that it
/// knows too.
fn set_kind(scenario: &mut Scenario, queues: &[String], kind: Kind) -> Result<(), PageError> {
    for Link { name, forward, reverse, .. } in &mut scenario.links {
        for (side, ending) in [(forward, ".queue"), (reverse, ".reverse.queue")] {
            let mut paths = queues.iter().filter_map(|queue| queue.strip_suffix(ending));
            if paths.any(|path| path.strip_prefix("links.").unwrap_or(path) == name.as_str()) {
                let queue = side.queue.parameters().with_kind(kind).resolve(side.queue_rate());
                side.queue =
                    queue.map_err(|error| PageError::new(&format!("the queue of link \"{name}\": {error}")))?;
            }
        }
    }
    Ok(())
}
