//! A simulation that a page follows frame by frame and changes on the way.

use std::collections::VecDeque;

use fairlane_outcome::{FlowSample, QueueSample};
use fairlane_qdisc::Time;
use fairlane_scenario::{Duration, Scenario};
use fairlane_sim::{ChangeError, Control, Simulation};
use serde_json::Value;

use crate::error::PageError;
use crate::info;
use crate::request::Request;
use crate::watch::Watch;

/// The numbers at the begin of a frame; see [`Player::frame`].
pub const FRAME_HEADER: usize = 20;

/// The numbers of each group in a frame.
const GROUP_FIELDS: usize = 6;

/// The most rows of the series that wait to be read: older ones are dropped.
const MOST_ROWS: usize = 4_000;

/// A page lets a scenario go on after its end for so long, in all.
const LONGEST: &str = "100000s";

/// The result of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The change holds from now on.
    Live,
    /// The change cannot be made while the simulation runs: the scenario has to begin again.
    NeedsRestart,
}

/// A simulation in progress.
#[derive(Debug)]
pub struct Player {
    request: Request,
    simulation: Simulation<Watch>,
    /// The duration of the scenario as it was written.
    duration_s: f64,
    /// The group of each flow.
    group_of: Vec<usize>,
    groups: usize,
    /// The time between two rows of the series, and the time of the next row.
    interval: Duration,
    next_row: Time,
    rows: VecDeque<Vec<f64>>,
}

impl Player {
    /// Starts run number `run` of `request`.
    ///
    /// # Errors
    /// The scenario is not valid, is too large for a page, or cannot be run.
    pub fn new(request: Request, run: u32) -> Result<Self, PageError> {
        let duration_s = request.scenario()?.duration.as_secs();
        let scenario = endless(&request)?;
        let group_of: Vec<usize> =
            scenario.flows.iter().enumerate().flat_map(|(group, of)| (0..of.count).map(move |_| group)).collect();
        // The first link's forward direction has number 0.
        let simulation = Simulation::observed(&scenario, run, Watch::new(0)).map_err(|error| PageError::new(&error))?;
        Ok(Self {
            request,
            simulation,
            duration_s,
            group_of,
            groups: scenario.flows.len(),
            interval: Duration::from_millis(50),
            next_row: Time::ZERO,
            rows: VecDeque::new(),
        })
    }

    /// Returns the description of the scenario, for a page.
    #[must_use]
    pub fn info(&self) -> Value {
        info::scenario(&self.request, self.simulation.scenario(), self.duration_s)
    }

    /// Sets the time between two rows of the series.
    pub fn set_interval(&mut self, interval_ns: f64) {
        self.interval = Duration::from_nanos((interval_ns as u64).max(100_000));
        self.next_row = self.next_row.min(self.simulation.now() + self.interval);
    }

    /// Advances towards `until_ns` by some thousand events, and returns true if it is reached. A time in the past is,
    /// and so is one after the end.
    pub fn advance(&mut self, until_ns: f64) -> bool {
        let end = Time::ZERO + self.simulation.scenario().duration;
        let until = Time::from_nanos(until_ns as u64).min(end);
        let briefly = Control::default();
        briefly.stop();
        while self.simulation.now() < until {
            let next = self.next_row.max(self.simulation.now()).min(until);
            // Times are never in the past or after the end, so a step cannot fail.
            if !self.simulation.step(next, &briefly).unwrap_or(true) {
                return false;
            }
            if next >= self.next_row {
                self.add_row();
                self.next_row = next + self.interval;
            }
        }
        true
    }

    /// Goes on with `request`, which may differ from the one before in what can change during a run.
    ///
    /// # Errors
    /// The request is not valid. Nothing has changed then.
    pub fn update(&mut self, request: Request) -> Result<Change, PageError> {
        request.scenario()?;
        match self.simulation.change(&endless(&request)?) {
            Ok(()) => {
                self.request = request;
                Ok(Change::Live)
            }
            Err(ChangeError::Fixed { .. }) => Ok(Change::NeedsRestart),
            Err(error) => Err(PageError::new(&error)),
        }
    }

    /// Writes the state and the events since the last frame to `frame`:
    ///
    /// 20 numbers: the time in seconds; packets and bytes in the queue; its average and its probability, NaN if it has
    /// none; arrived, departed, dropped and marked packets; the rate in bit/s; departed bytes; then how many there are
    /// of what follows: groups, flows, reasons, queued packets, events; and the events for which there was no room. The
    /// rest are zeros.
    ///
    /// Then for each group the delivered bytes, sent, dropped and queued packets, and the mean of its flows' windows
    /// and round trips; the delivered bytes of each flow; the drops of each reason; and the queued packets and events
    /// of [`Watch`].
    pub fn frame(&mut self, frame: &mut Vec<f64>) {
        frame.clear();
        frame.resize(FRAME_HEADER, 0.0);
        let queue = self.queue();
        let flows: Vec<FlowSample> = self.simulation.flows().collect();
        self.write_groups(&flows, frame);
        frame.extend(flows.iter().map(|flow| flow.delivered_bytes as f64));
        let drops = *self.simulation.observer().drops();
        frame.extend(drops.map(|packets| packets as f64));
        let queued = self.simulation.observer().write_queue(frame);
        let (events, missed) = self.simulation.observer_mut().take_events(frame);
        let rate = self.simulation.queue_rate(0).map_or(0.0, |rate| rate.bits_per_second() as f64);
        let header = [
            self.simulation.now().as_secs(),
            queue.backlog.packets as f64,
            queue.backlog.bytes as f64,
            queue.average.unwrap_or(f64::NAN),
            queue.probability.unwrap_or(f64::NAN),
            queue.arrived.packets as f64,
            queue.departed.packets as f64,
            queue.dropped.packets as f64,
            queue.marked.packets as f64,
            rate,
            queue.departed.bytes as f64,
            self.groups as f64,
            flows.len() as f64,
            drops.len() as f64,
            queued as f64,
            events as f64,
            missed as f64,
        ];
        frame[..header.len()].copy_from_slice(&header);
    }

    /// Writes the rows of the series since the last call to `rows`, and returns the numbers of a row: the time in
    /// seconds, queued packets, the average, the mean waiting time in seconds, dropped and marked packets, and the
    /// delivered bytes of each group.
    pub fn take_rows(&mut self, rows: &mut Vec<f64>) -> usize {
        rows.clear();
        self.rows.drain(..).for_each(|row| rows.extend(row));
        6 + self.groups
    }

    fn add_row(&mut self) {
        let queue = self.queue();
        let wait = self.simulation.observer_mut().take_wait();
        let mut row = vec![
            self.simulation.now().as_secs(),
            queue.backlog.packets as f64,
            queue.average.unwrap_or(f64::NAN),
            wait.unwrap_or(f64::NAN),
            queue.dropped.packets as f64,
            queue.marked.packets as f64,
        ];
        let begin = row.len();
        row.resize(begin + self.groups, 0.0);
        for (flow, group) in self.simulation.flows().zip(&self.group_of) {
            row[begin + group] += flow.delivered_bytes as f64;
        }
        if self.rows.len() == MOST_ROWS {
            self.rows.pop_front();
        }
        self.rows.push_back(row);
    }

    /// Returns the counts of the queue that is shown, the first of the scenario.
    fn queue(&self) -> QueueSample {
        self.simulation.queues().next().unwrap_or_default()
    }

    fn write_groups(&self, flows: &[FlowSample], frame: &mut Vec<f64>) {
        let backlogs = self.simulation.observer().backlogs(self.groups, |flow| self.group_of(flow));
        for (group, backlog) in backlogs.into_iter().enumerate() {
            let members =
                || flows.iter().zip(&self.group_of).filter(move |(_, of)| **of == group).map(|(flow, _)| flow);
            let sum = |count: fn(&FlowSample) -> u64| members().map(count).sum::<u64>() as f64;
            let fields: [f64; GROUP_FIELDS] = [
                sum(|flow| flow.delivered_bytes),
                sum(|flow| flow.sent),
                sum(|flow| flow.dropped),
                backlog as f64,
                mean(members().filter_map(|flow| flow.cwnd)),
                mean(members().filter_map(|flow| flow.srtt.map(Duration::as_secs))),
            ];
            frame.extend(fields);
        }
    }

    /// Returns the group of `flow`; probes of shapers are of none.
    fn group_of(&self, flow: u32) -> usize {
        self.group_of.get(flow as usize).copied().unwrap_or(usize::MAX)
    }
}

/// Returns the mean, NaN of nothing.
fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    sum / count
}

/// Returns the scenario of `request`, which goes on after its end for as long as somebody looks.
fn endless(request: &Request) -> Result<Scenario, PageError> {
    request.with("duration", LONGEST)?.scenario()
}
