//! A run as a data file of flent (flent(1), "data format"), which flent plots.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use fairlane_outcome::{Extent, Timeline, stats};
use fairlane_qdisc::{Duration, Time};
use fairlane_scenario::{Access, FlowGroup, Hop, Scenario, Traffic};
use fairlane_sim::{FlowSample, Intervals, Observer, PacketEvent, QueueEvent};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Map, Value, json};

use crate::{Error, files};

/// The version of the format.
const VERSION: u32 = 4;
/// The interval of flent's own tests.
const INTERVAL: Duration = Duration::from_nanos(200_000_000);
/// The group of UDP flows whose packets are pings.
const PING: &str = "ping";
/// The name under which flent's tests of uploads have the round trips.
const PINGS: &str = "Ping (ms) ICMP";
/// The start of the run: the simulator has no date.
const START: &str = "1970-01-01T00:00:00.000000Z";

/// Records the flows of a run as a data file of flent, version 4 of its format: goodput, window and round trip of each
/// TCP flow, and the round trips of a UDP group called "ping". The file is compressed by gzip.
///
/// The run is kept in memory until its end.
#[derive(Debug)]
pub struct FlentFile {
    path: PathBuf,
    interval: Duration,
    intervals: Intervals,
    scenario: String,
    length: f64,
    /// One for each flow.
    flows: Vec<FlowSeries>,
    /// The ends of the intervals, in seconds.
    times: Vec<f64>,
    /// When each ping that is on its way was sent.
    sent: BTreeMap<(u32, u32), Time>,
    /// The round trips of each interval, in milliseconds.
    pings: Vec<Option<f64>>,
    /// The round trips of the present interval, in milliseconds.
    waiting: Vec<f64>,
    /// Each ping: the time of its answer, its number and its round trip in milliseconds.
    answers: Vec<Value>,
}

/// The series of a flow.
#[derive(Debug)]
struct FlowSeries {
    kind: FlowKind,
    /// Goodput in Mbit/s.
    rates: Vec<f64>,
    raw: Vec<Value>,
}

/// Kinds of flows.
#[derive(Debug, PartialEq)]
enum FlowKind {
    Tcp,
    Other,
    /// A ping's way back takes this long.
    Ping(Duration),
}

impl FlowKind {
    fn of(group: &FlowGroup, scenario: &Scenario) -> Self {
        match &group.traffic {
            Traffic::Tcp(_) => Self::Tcp,
            Traffic::Udp(_) if group.name == PING => Self::Ping(way_back(group, scenario)),
            Traffic::Udp(_) | Traffic::Tfrc(_) | Traffic::Endpoint => Self::Other,
        }
    }
}

/// Returns the time of the way back without queues.
fn way_back(group: &FlowGroup, scenario: &Scenario) -> Duration {
    let access = |access: &Option<Access>| access.as_ref().map_or(0, |access| access.delay.as_nanos());
    let link = |hop: &Hop| {
        let link = &scenario.links[hop.link];
        (if hop.reverse { link.reverse.delay } else { link.forward.delay }).as_nanos()
    };
    Duration::from_nanos(access(&group.source) + access(&group.sink) + group.back.iter().map(link).sum::<u64>())
}

impl FlentFile {
    /// Begins to record a run of `scenario`, every 200 ms without an `interval`; the file will be at `path`, whose name
    /// it contains.
    #[must_use]
    pub fn new(path: &Path, interval: Option<Duration>, scenario: &Scenario) -> Self {
        let series = |group| FlowSeries { kind: FlowKind::of(group, scenario), rates: Vec::new(), raw: Vec::new() };
        Self {
            path: path.to_owned(),
            interval: interval.unwrap_or(INTERVAL),
            intervals: Intervals::new(scenario),
            scenario: scenario.name.clone(),
            length: scenario.duration.as_secs(),
            flows: scenario.flows.iter().flat_map(|group| (0..group.count).map(move |_| series(group))).collect(),
            times: Vec::new(),
            sent: BTreeMap::new(),
            pings: Vec::new(),
            waiting: Vec::new(),
            answers: Vec::new(),
        }
    }

    /// Writes the file to its [place](Extent::path). It appears whole or not at all.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn finish(self, extent: Extent) -> Result<(), Error> {
        write(&self.path, &self.data(), extent)
    }

    /// Ends the interval at `at`, at the first of its flows.
    fn end_interval(&mut self, at: f64) {
        if self.times.last() != Some(&at) {
            let mean = self.waiting.iter().sum::<f64>() / self.waiting.len() as f64;
            self.pings.push((!self.waiting.is_empty()).then_some(mean));
            self.waiting.clear();
            self.times.push(at);
        }
    }

    /// Returns the whole file; its keys are sorted, as flent sorts them.
    fn data(&self) -> Value {
        let tcp: Vec<&FlowSeries> = self.flows.iter().filter(|flow| flow.kind == FlowKind::Tcp).collect();
        let other: Vec<&FlowSeries> = self.flows.iter().filter(|flow| flow.kind == FlowKind::Other).collect();
        let test = if tcp.is_empty() { "udp_flood" } else { "tcp_nup" };
        let at = |flows: &[&FlowSeries], index: usize| -> Vec<f64> {
            flows.iter().filter_map(|flow| flow.rates.get(index).copied()).collect()
        };
        let over = |flows: &[&FlowSeries], of: &dyn Fn(&[f64]) -> f64| -> Vec<f64> {
            (0..self.times.len()).map(|index| of(&at(flows, index))).collect()
        };
        let sum = |rates: &[f64]| rates.iter().sum::<f64>();
        let mut results: BTreeMap<String, Value> = BTreeMap::new();
        let mut raw: BTreeMap<String, Value> = BTreeMap::new();
        for (number, flow) in (1..).zip(&tcp) {
            let name = format!("TCP upload::{number}");
            raw.insert(name.clone(), json!(flow.raw));
            results.insert(name, json!(flow.rates));
        }
        if !tcp.is_empty() {
            results.insert("TCP upload avg".to_owned(), json!(over(&tcp, &|rates| sum(rates) / rates.len() as f64)));
            results.insert("TCP upload sum".to_owned(), json!(over(&tcp, &sum)));
            results.insert("TCP upload fairness".to_owned(), json!(over(&tcp, &|rates| stats::jain(rates))));
        }
        if !other.is_empty() {
            results.insert("UDP upload".to_owned(), json!(over(&other, &sum)));
        }
        if self.flows.iter().any(|flow| matches!(flow.kind, FlowKind::Ping(_))) {
            results.insert(PINGS.to_owned(), json!(self.pings));
            raw.insert(PINGS.to_owned(), json!(self.answers));
        }
        let head = Head {
            path: &self.path,
            test,
            title: &self.scenario,
            made: "simulated",
            length: self.length,
            step: self.interval.as_secs(),
            parameters: json!({ "upload_streams": tcp.len().to_string() }),
        };
        json!({
            "metadata": head.metadata(&results),
            "raw_values": raw,
            "results": results,
            "version": VERSION,
            "x_values": self.times,
        })
    }
}

/// Writes the timeline of a link with real programs to the [place](Extent::path) of a file at `path`, as flent's test
/// `tcp_bidirectional`: the goodput of all TCP towards the programs, the group `tcp down`, and from them, `tcp up`; and
/// so of UDP. The scenario is called `title`.
///
/// # Errors
/// The file cannot be written.
pub fn write_link(path: &Path, title: &str, timeline: &Timeline, extent: Extent) -> Result<(), Error> {
    let times = &timeline.time_s;
    let length = times.last().copied().unwrap_or_default();
    let rates = |group: &str| -> Vec<f64> {
        let found = timeline.groups.iter().find(|one| one.name == group);
        found.map_or_else(|| vec![0.0; times.len()], |one| one.goodput_bps.iter().map(|rate| rate / 1e6).collect())
    };
    let series = [
        ("TCP download", "tcp down"),
        ("TCP upload", "tcp up"),
        ("UDP download", "udp down"),
        ("UDP upload", "udp up"),
    ];
    let results: BTreeMap<&str, Vec<f64>> = series.into_iter().map(|(name, group)| (name, rates(group))).collect();
    // flent shows no file without raw values.
    let raw = |values: &[f64]| -> Vec<Value> {
        times.iter().zip(values).map(|(time, value)| json!({ "t": time, "val": value })).collect()
    };
    let raw: BTreeMap<&str, Vec<Value>> = results.iter().map(|(name, values)| (*name, raw(values))).collect();
    let results: BTreeMap<String, Value> =
        results.into_iter().map(|(name, values)| (name.to_owned(), json!(values))).collect();
    let head = Head {
        path,
        test: "tcp_bidirectional",
        title,
        made: "measured behind a link",
        length,
        step: length / times.len().max(1) as f64,
        parameters: json!({}),
    };
    let data = json!({
        "metadata": head.metadata(&results),
        "raw_values": raw,
        "results": results,
        "version": VERSION,
        "x_values": times,
    });
    write(path, &data, extent)
}

/// Writes the file compressed.
fn write(path: &Path, data: &Value, extent: Extent) -> Result<(), Error> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    let text = serde_json::to_vec_pretty(data).map_err(Error::plain)?;
    packed.write_all(&text).map_err(Error::plain)?;
    files::write(path, packed.finish().map_err(Error::plain)?, extent)
}

/// The metadata of a file. Times are in seconds.
struct Head<'a> {
    path: &'a Path,
    /// The test of flent whose plots suit.
    test: &'a str,
    title: &'a str,
    /// How the values came about.
    made: &'a str,
    length: f64,
    step: f64,
    parameters: Value,
}

impl Head<'_> {
    fn metadata(&self, results: &BTreeMap<String, Value>) -> Value {
        let Self { path, test, title, made, length, step, parameters } = self;
        let series: Map<String, Value> =
            results.iter().map(|(name, values)| (name.clone(), about(name, values))).collect();
        json!({
            "DATA_FILENAME": path.file_name().map(|name| name.to_string_lossy()),
            "FAILED_RUNNERS": 0,
            "FLENT_VERSION": "2.3.0",
            "HOST": "destination",
            "HOSTS": ["destination"],
            "IP_VERSION": 4,
            "LENGTH": length,
            "LOCAL_HOST": "source",
            "NAME": test,
            "NOTE": format!("{made} by Fairlane {}", env!("CARGO_PKG_VERSION")),
            "SERIES_META": series,
            "STEP_SIZE": step,
            "T0": START,
            "TEST_PARAMETERS": parameters,
            "TIME": START,
            "TITLE": title,
            "TOTAL_LENGTH": length,
        })
    }
}

/// Returns the metadata of a series: its unit, and its range and mean.
fn about(name: &str, values: &Value) -> Value {
    let known: Vec<f64> = values.as_array().into_iter().flatten().filter_map(Value::as_f64).collect();
    let mean = known.iter().sum::<f64>() / known.len() as f64;
    let unit = match name {
        PINGS => "ms",
        "TCP upload fairness" => "",
        _ => "Mbits/s",
    };
    if known.is_empty() {
        return json!({ "UNITS": unit });
    }
    json!({
        "MAX_VALUE": known.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        "MEAN_VALUE": mean,
        "MIN_VALUE": known.iter().copied().fold(f64::INFINITY, f64::min),
        "UNITS": unit,
    })
}

impl Observer for FlentFile {
    fn packet(&mut self, event: &PacketEvent) {
        let ping = self.flows.get(event.flow as usize).is_some_and(|flow| matches!(flow.kind, FlowKind::Ping(_)));
        if !ping {
            return;
        }
        match event.queue_event {
            QueueEvent::Arrived => {
                self.sent.insert((event.flow, event.seq), event.sent);
            }
            QueueEvent::Dropped(_) | QueueEvent::Lost => {
                self.sent.remove(&(event.flow, event.seq));
            }
            QueueEvent::Departed { .. } | QueueEvent::Marked(_) => {}
        }
    }

    fn delivered(&mut self, at: Time, flow: u32, seq: u32) {
        let Some(FlowKind::Ping(back)) = self.flows.get(flow as usize).map(|flow| &flow.kind) else { return };
        let Some(sent) = self.sent.remove(&(flow, seq)) else { return };
        let answered = at + *back;
        let milliseconds = 1e3 * answered.since(sent).as_secs();
        self.waiting.push(milliseconds);
        self.answers.push(json!({ "seq": seq, "t": answered.as_secs(), "val": milliseconds }));
    }

    fn interval(&self) -> Option<Duration> {
        Some(self.interval)
    }

    fn flow(&mut self, at: Time, sample: &FlowSample) {
        let Some(row) = self.intervals.flow(at, sample) else { return };
        let (time, rate) = (row.time_s, row.goodput_bps / 1e6);
        let (window, round_trip) = (row.cwnd, row.srtt_s.map(|seconds| 1e3 * seconds));
        self.end_interval(time);
        let Some(flow) = self.flows.get_mut(sample.flow as usize) else { return };
        flow.rates.push(rate);
        if flow.kind == FlowKind::Tcp {
            flow.raw.push(json!({ "t": time, "tcp_cwnd": window, "tcp_rtt": round_trip, "val": rate }));
        }
    }
}
