//! One run of a scenario, as a measure sees it.

use std::collections::BTreeMap;

use fairlane_outcome::Outcome;
use fairlane_qdisc::Duration;
use fairlane_scenario::{Document, Scenario};
use fairlane_sim::{Control, FlowSample, Happening, Observer, PacketEvent, PacketKind, QueueSample, link_name, run};
use serde_json::{Map, Value, json};

use crate::experiment::{Point, written};

/// The scenario called `name`, with the point's settings.
pub(crate) fn scenario(name: &str, text: &str, point: &Point) -> Result<Scenario, String> {
    let mut document = Document::parse(&format!("{name}.toml"), text).map_err(|error| error.to_string())?;
    for (key, value) in &point.settings {
        document.set(key, &written(value)).map_err(|error| error.to_string())?;
    }
    document.scenario().map_err(|error| error.to_string())
}

/// One run of `scenario`: its outcome's JSON form, with `series` and `losses` where they are asked for. `None` when it was
/// stopped.
pub(crate) fn simulate(
    scenario: &Scenario,
    number: u32,
    series: Option<Duration>,
    losses: &[String],
    control: &Control,
) -> Result<Option<Value>, String> {
    let mut series = series.map(|every| Series::new(scenario, every));
    let mut lost = (!losses.is_empty()).then(|| Losses::new(scenario, losses));
    let run = run(scenario, number, control, &mut (&mut series, &mut lost)).map_err(|error| error.to_string())?;
    if run.partial {
        return Ok(None);
    }
    let Some(outcome) = Outcome::from_runs(&[run]) else { return Ok(None) };
    let mut value = serde_json::to_value(&outcome).map_err(|error| error.to_string())?;
    if let Some(keys) = value.as_object_mut() {
        keys.remove("cost");
        series.map(|series| keys.insert("series".to_owned(), series.json()));
        lost.map(|lost| keys.insert("losses".to_owned(), lost.json()));
    }
    Ok(Some(value))
}

/// Flows and queues, interval by interval: an array for each column of `fairlane run --series`.
struct Series {
    every: Duration,
    from: f64,
    scenario: Scenario,
    names: Vec<String>,
    flows: BTreeMap<u32, Columns<FlowSample>>,
    queues: BTreeMap<u32, Columns<QueueSample>>,
}

/// The columns of one flow or queue.
struct Columns<Sample> {
    before: f64,
    last: Sample,
    columns: BTreeMap<&'static str, Vec<Value>>,
}

impl<Sample: Default> Default for Columns<Sample> {
    fn default() -> Self {
        Self { before: 0.0, last: Sample::default(), columns: BTreeMap::new() }
    }
}

impl<Sample> Columns<Sample> {
    fn push(&mut self, values: impl IntoIterator<Item = (&'static str, Value)>) {
        for (name, value) in values {
            self.columns.entry(name).or_default().push(value);
        }
    }
}

impl Series {
    fn new(scenario: &Scenario, every: Duration) -> Self {
        Self {
            every,
            from: scenario.warmup.as_secs(),
            scenario: scenario.clone(),
            names: flow_names(scenario),
            flows: BTreeMap::new(),
            queues: BTreeMap::new(),
        }
    }

    fn json(self) -> Value {
        let flow = |(id, columns): (u32, Columns<FlowSample>)| {
            let name = self.names.get(id as usize).cloned().unwrap_or_else(|| id.to_string());
            (name, json!(columns.columns))
        };
        let flows: Map<String, Value> = self.flows.into_iter().map(flow).collect();
        let queue =
            |(link, columns): (u32, Columns<QueueSample>)| (link_name(&self.scenario, link), json!(columns.columns));
        let queues: Map<String, Value> = self.queues.into_iter().map(queue).collect();
        json!({ "flows": flows, "queues": queues })
    }
}

impl Observer for Series {
    fn packet(&mut self, _event: &PacketEvent) {}

    fn delivered(&mut self, _at: fairlane_qdisc::Time, _flow: u32, _seq: u32) {}

    fn interval(&self) -> Option<Duration> {
        Some(self.every)
    }

    fn flow(&mut self, at: fairlane_qdisc::Time, now: &FlowSample) {
        let columns = self.flows.entry(now.flow).or_default();
        let (time, seconds) = (at.as_secs(), at.as_secs() - columns.before);
        let last = std::mem::replace(&mut columns.last, *now);
        columns.before = time;
        if time <= self.from || seconds <= 0.0 {
            return;
        }
        let bits = |bytes: u64| bytes as f64 * 8.0 / seconds;
        columns.push([
            ("time_s", json!(time)),
            ("sent", json!(now.sent - last.sent)),
            ("delivered", json!(now.delivered - last.delivered)),
            ("dropped", json!(now.dropped - last.dropped)),
            ("throughput_bps", json!(bits(now.delivered_bytes - last.delivered_bytes))),
            ("goodput_bps", json!(bits(now.unique_bytes - last.unique_bytes))),
            ("cwnd", json!(now.cwnd)),
        ]);
    }

    fn queue(&mut self, at: fairlane_qdisc::Time, now: &QueueSample) {
        let columns = self.queues.entry(now.link).or_default();
        let (time, seconds) = (at.as_secs(), at.as_secs() - columns.before);
        let last = std::mem::replace(&mut columns.last, *now);
        columns.before = time;
        if time <= self.from || seconds <= 0.0 {
            return;
        }
        columns.push([
            ("time_s", json!(time)),
            ("arrived", json!(now.arrived.packets - last.arrived.packets)),
            ("departed", json!(now.departed.packets - last.departed.packets)),
            ("dropped", json!(now.dropped.packets - last.dropped.packets)),
            ("marked", json!(now.marked.packets - last.marked.packets)),
            ("throughput_bps", json!((now.departed.bytes - last.departed.bytes) as f64 * 8.0 / seconds)),
            ("backlog_packets", json!(now.backlog.packets)),
            ("backlog_bytes", json!(now.backlog.bytes)),
            ("avg", json!(now.average)),
        ]);
    }
}

/// When packets of some flows were dropped.
struct Losses {
    /// The flows, by their numbers.
    times: BTreeMap<u32, (String, Vec<f64>)>,
}

impl Losses {
    fn new(scenario: &Scenario, wanted: &[String]) -> Self {
        let names = flow_names(scenario).into_iter().enumerate();
        let times = names.filter(|(_, name)| wanted.contains(name)).map(|(id, name)| (id as u32, (name, Vec::new())));
        Self { times: times.collect() }
    }

    fn json(self) -> Value {
        self.times.into_values().map(|(name, times)| (name, json!(times))).collect::<Map<_, _>>().into()
    }
}

impl Observer for Losses {
    fn packet(&mut self, event: &PacketEvent) {
        if let (Happening::Dropped(_), PacketKind::Data) = (event.happening, event.kind)
            && let Some((_, times)) = self.times.get_mut(&event.flow)
        {
            times.push(event.at.as_secs());
        }
    }

    fn delivered(&mut self, _at: fairlane_qdisc::Time, _flow: u32, _seq: u32) {}
}

/// The flows' names, by their numbers.
fn flow_names(scenario: &Scenario) -> Vec<String> {
    scenario.flows.iter().flat_map(|group| (0..group.count).map(|n| format!("{}/{n}", group.name))).collect()
}
