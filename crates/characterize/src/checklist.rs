//! The checklist as data.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::Deserialize;

/// The sections of RFC 7928 that describe scenarios or ask for a discussion.
#[derive(Clone, Debug, Deserialize)]
pub struct Checklist {
    /// The sections, in the RFC's order.
    #[serde(rename = "entry")]
    pub entries: Vec<Entry>,
    /// The networks by their names, as templates.
    pub(crate) networks: BTreeMap<String, String>,
    /// Groups of flows that several sections have, as templates.
    pub(crate) groups: BTreeMap<String, String>,
}

/// A section of the RFC.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The name by which it is chosen.
    pub id: String,
    /// The section of RFC 7928.
    pub section: String,
    /// A title of a few words.
    pub title: String,
    /// Its weight in the RFC's summary (Figure 4).
    pub weight: String,
    /// The request of the RFC, with the values chosen where it leaves them open.
    pub asks: String,
    /// The flows, as a template.
    #[serde(default)]
    pub(crate) flows: String,
    /// The names of common groups of flows.
    #[serde(default)]
    pub(crate) include: Vec<String>,
    #[serde(default = "dumbbell")]
    pub(crate) network: String,
    /// The cases; none for a discussion.
    #[serde(default)]
    pub cases: Vec<Case>,
    /// The subject of a discussion: `scheduling`, `cost` or `operator`.
    pub discussion: Option<String>,
    /// The parameter without which the section does not apply.
    pub needs: Option<String>,
    /// Goodputs are cumulated over the flows of a group, so that a run is one point.
    #[serde(default)]
    pub cumulated: bool,
    /// Each number among the parameters is varied.
    #[serde(default)]
    pub sweep: bool,
    /// The variable against which a figure shows the ratio of the last group's goodput to the first one's.
    pub curve: Option<String>,
    /// The phases, which are repeated after the last one; averages are over each of them, too.
    #[serde(default)]
    pub phases: Vec<PhaseEnd>,
    /// The time in seconds that is left out of averages.
    pub(crate) warmup: Option<f64>,
    /// The duration in seconds of quick runs.
    pub(crate) quick_duration: Option<f64>,
    #[serde(default)]
    pub(crate) vars: BTreeMap<String, f64>,
}

/// A scenario of a section.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Its name, unique in the section.
    pub name: String,
    /// Quick reports have it.
    #[serde(default)]
    pub quick: bool,
    /// Its variables.
    #[serde(default)]
    pub vars: BTreeMap<String, f64>,
    #[serde(default)]
    pub(crate) words: BTreeMap<String, String>,
    /// The keys of the links whose queues are under study.
    #[serde(default = "bottleneck")]
    pub(crate) queues: Vec<String>,
    /// The discipline of the second of two links, if it is another one.
    pub(crate) second: Option<String>,
}

/// A phase that is repeated.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PhaseEnd {
    /// Its name.
    pub name: String,
    /// Its end in seconds from the start of the period; the first one begins there.
    pub to: f64,
}

fn dumbbell() -> String {
    "dumbbell".to_owned()
}

fn bottleneck() -> Vec<String> {
    vec!["bottleneck".to_owned()]
}

impl Checklist {
    /// Returns the checklist.
    #[must_use]
    pub fn get() -> &'static Self {
        static CHECKLIST: OnceLock<Checklist> = OnceLock::new();
        CHECKLIST.get_or_init(|| toml::from_str(include_str!("checklist.toml")).expect("a test reads the checklist"))
    }
}
