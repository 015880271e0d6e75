//! One run of a scenario, as the input of measures.

use std::collections::BTreeMap;

use fairlane_outcome::Outcome;
use fairlane_qdisc::{Duration, Time};
use fairlane_scenario::{Document, Scenario};
use fairlane_sim::{Control, FlowSample, Intervals, Observer, PacketEvent, PacketKind, QueueEvent, QueueSample, run};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::experiment::{ExperimentPoint, written};

/// The scenario of `document`, with the point's settings.
pub(crate) fn scenario(mut document: Document, point: &ExperimentPoint) -> Result<Scenario, String> {
    for (key, value) in &point.settings {
        document.set(key, &written(value)).map_err(|error| error.to_string())?;
    }
    document.scenario().map_err(|error| error.to_string())
}

/// Runs `scenario` once and returns its outcome's JSON form, with `series` and `losses` if requested; `None` if it was
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
    let Some(outcome) = Outcome::from_runs([run]) else { return Ok(None) };
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
    intervals: Intervals,
    flows: BTreeMap<String, Columns>,
    queues: BTreeMap<String, Columns>,
}

/// The columns of a flow or a queue.
type Columns = BTreeMap<String, Vec<Value>>;

impl Series {
    fn new(scenario: &Scenario, every: Duration) -> Self {
        Self {
            every,
            from: scenario.warmup.as_secs(),
            intervals: Intervals::new(scenario),
            flows: BTreeMap::new(),
            queues: BTreeMap::new(),
        }
    }

    fn json(&self) -> Value {
        json!({ "flows": self.flows, "queues": self.queues })
    }
}

/// Adds a row, which is a table of numbers.
fn push(columns: &mut Columns, row: &impl Serialize) {
    if let Ok(Value::Object(row)) = serde_json::to_value(row) {
        for (name, value) in row {
            columns.entry(name).or_default().push(value);
        }
    }
}

impl Observer for Series {
    fn packet(&mut self, _event: &PacketEvent) {}

    fn delivered(&mut self, _at: Time, _flow: u32, _seq: u32) {}

    fn interval(&self) -> Option<Duration> {
        Some(self.every)
    }

    fn flow(&mut self, at: Time, now: &FlowSample) {
        if let Some(row) = self.intervals.flow(at, now)
            && row.time_s > self.from
        {
            push(self.flows.entry(row.flow_name.to_owned()).or_default(), &row);
        }
    }

    fn queue(&mut self, at: Time, now: &QueueSample) {
        if let Some(row) = self.intervals.queue(at, now)
            && row.time_s > self.from
        {
            push(self.queues.entry(row.queue.to_owned()).or_default(), &row);
        }
    }
}

/// Times of drops, for some flows.
struct Losses {
    /// The flows, by their numbers.
    times: BTreeMap<u32, (String, Vec<f64>)>,
}

impl Losses {
    fn new(scenario: &Scenario, wanted: &[String]) -> Self {
        let names = scenario.flow_names().enumerate();
        let times = names.filter(|(_, name)| wanted.contains(name)).map(|(id, name)| (id as u32, (name, Vec::new())));
        Self { times: times.collect() }
    }

    fn json(self) -> Value {
        self.times.into_values().map(|(name, times)| (name, json!(times))).collect::<Map<_, _>>().into()
    }
}

impl Observer for Losses {
    fn packet(&mut self, event: &PacketEvent) {
        if let (QueueEvent::Dropped(_), PacketKind::Data) = (event.queue_event, event.kind)
            && let Some((_, times)) = self.times.get_mut(&event.flow)
        {
            times.push(event.at.as_secs());
        }
    }

    fn delivered(&mut self, _at: Time, _flow: u32, _seq: u32) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
        duration = "5s"
        warmup = "2s"
        [bottleneck]
        rate = "1mbit"
        delay = "1ms"
        queue = { kind = "droptail", limit = "10p" }
        [[flows]]
        name = "cbr"
        kind = "udp"
        rate = "2mbit"
        packet = "1000b"
        start = "0s"
    "#;

    /// Series have the seconds after the warm-up, losses all of them; half of the packets do not fit.
    #[test]
    fn what_a_measure_sees() {
        let scenario = Document::parse("x", TEXT).and_then(|document| document.scenario()).expect("it is one");
        let every = Some(Duration::from_millis(1000));
        let seen = simulate(&scenario, 0, every, &["cbr/0".to_owned()], &Control::default());
        let seen = seen.expect("it runs").expect("it is not stopped");
        assert_eq!(seen["series"]["queues"]["bottleneck"]["time_s"], json!([3.0, 4.0, 5.0]));
        assert_eq!(seen["series"]["flows"]["cbr/0"]["time_s"], json!([3.0, 4.0, 5.0]));
        let losses = seen["losses"]["cbr/0"].as_array().expect("they are noted");
        // 125 a second, but for the first few packets, which fill the queue.
        assert!((610..=625).contains(&losses.len()), "{}", losses.len());
        assert!(losses.first().and_then(Value::as_f64).is_some_and(|first| first < 1.0));
        assert_eq!(seen.get("cost"), None);
    }
}
