//! The usual dumbbell, from a program.

use fairlane_qdisc::{Duration, QdiscParameters, Rate, Value};

use crate::document::Document;
use crate::error::ScenarioError;
use crate::model::Scenario;
use crate::tcp::Congestion;

/// A dumbbell in the making: hosts on the left, one bottleneck, hosts on the right.
///
/// The builder generates a scenario file, so everything else has the file's defaults and checks.
///
/// ```
/// use fairlane_scenario::{Congestion, Duration, Rate, Scenario};
///
/// let scenario = Scenario::dumbbell(Rate::from_bits_per_second(1_000_000), Duration::from_millis(120_000))
///     .tcp("ftp", 32, Congestion::Reno, 300)
///     .udp("cbr", 1, Rate::from_bits_per_second(2_000_000))
///     .scenario()?;
/// assert_eq!(scenario.flows.len(), 2);
/// # Ok::<(), fairlane_scenario::ScenarioError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Dumbbell {
    top: Keys,
    tcp: Keys,
    bottleneck: Keys,
    access: Keys,
    flows: Vec<Keys>,
}

impl Scenario {
    /// A dumbbell whose bottleneck has `rate`, to run for `duration`.
    #[must_use]
    pub fn dumbbell(rate: Rate, duration: Duration) -> Dumbbell {
        let empty = Keys::default;
        Dumbbell {
            top: empty().with("name", "dumbbell").with("duration", duration.to_string()),
            tcp: empty(),
            bottleneck: empty().with("rate", rate.to_string()),
            access: empty(),
            flows: Vec::new(),
        }
    }
}

impl Dumbbell {
    /// Name of the scenario; default `dumbbell`.
    #[must_use]
    pub fn name(mut self, name: &str) -> Self {
        self.top = self.top.with("name", name);
        self
    }

    /// Time at the start that is left out of every average; default 0.
    #[must_use]
    pub fn warmup(mut self, warmup: Duration) -> Self {
        self.top = self.top.with("warmup", warmup.to_string());
        self
    }

    /// Seed of all random numbers, at most 2^63 − 1; default 1.
    #[must_use]
    pub fn seed(mut self, seed: i64) -> Self {
        self.top = self.top.with("seed", seed);
        self
    }

    /// The bottleneck's propagation delay; default 1 ms.
    #[must_use]
    pub fn delay(mut self, delay: Duration) -> Self {
        self.bottleneck = self.bottleneck.with("delay", delay.to_string());
        self
    }

    /// The bottleneck's queue; default droptail of 1000 packets.
    #[must_use]
    pub fn queue(mut self, queue: &QdiscParameters) -> Self {
        let kind = Keys::default().with("kind", queue.kind().name());
        let keys = queue.given().fold(kind, |keys, (key, value)| keys.with(key, scalar(value)));
        self.bottleneck = self.bottleneck.with("queue", keys.0);
        self
    }

    /// The link between each host and its side; default 1 ms and ten times the rate of the bottleneck, or ten
    /// times that of a faster source.
    #[must_use]
    pub fn access(mut self, rate: Rate, delay: Duration) -> Self {
        self.access = self.access.with("rate", rate.to_string()).with("delay", delay.to_string());
        self
    }

    /// The parameters of TCP by name, `ns2-1999` (default) or `modern`.
    #[must_use]
    pub fn preset(mut self, preset: &str) -> Self {
        self.tcp = self.tcp.with("preset", preset);
        self
    }

    /// Adds a group of `count` TCP flows.
    #[must_use]
    pub fn tcp(mut self, name: &str, count: u32, congestion: Congestion, window: u32) -> Self {
        let group = group(name, "tcp", count).with("cc", congestion.name()).with("window", i64::from(window));
        self.flows.push(group);
        self
    }

    /// Adds a group of `count` UDP flows of `rate` each.
    #[must_use]
    pub fn udp(mut self, name: &str, count: u32, rate: Rate) -> Self {
        self.flows.push(group(name, "udp", count).with("rate", rate.to_string()));
        self
    }

    /// The scenario file.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let Self { top, tcp, bottleneck, access, flows } = self.clone();
        let flows = flows.into_iter().map(|group| toml::Value::Table(group.0)).collect::<Vec<_>>();
        let tables = top.with("tcp", tcp.0).with("bottleneck", bottleneck.0).with("access", access.0);
        tables.with("flows", flows).0.to_string()
    }

    /// The scenario, checked.
    ///
    /// # Errors
    /// The errors of [`Document::scenario`], with places in [`to_toml`](Self::to_toml).
    pub fn scenario(&self) -> Result<Scenario, ScenarioError> {
        Document::parse("dumbbell", &self.to_toml())?.scenario()
    }
}

/// A table in the making.
#[derive(Clone, Debug, Default)]
struct Keys(toml::Table);

impl Keys {
    fn with(mut self, key: &str, value: impl Into<toml::Value>) -> Self {
        self.0.insert(key.to_owned(), value.into());
        self
    }
}

fn group(name: &str, kind: &str, count: u32) -> Keys {
    Keys::default().with("name", name).with("kind", kind).with("count", i64::from(count))
}

fn scalar(value: &Value) -> toml::Value {
    match value {
        Value::Text(text) => text.as_str().into(),
        Value::Integer(number) => (*number).into(),
        Value::Float(number) => (*number).into(),
        Value::Boolean(switch) => (*switch).into(),
    }
}
