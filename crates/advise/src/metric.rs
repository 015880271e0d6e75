//! Metrics: numbers of an outcome, by name.

use std::fmt;
use std::str::FromStr;

use fairlane_outcome::{Delay, GroupOutcome, Outcome, QueueOutcome, stats};
use fairlane_qdisc::{Duration, Packets, Rate};
use fairlane_scenario::{Scenario, Traffic, suggest};
use fairlane_sim::queue_names;
use serde::{Deserialize, Serialize};

use crate::text::TextError;

/// A number of an outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Metric {
    /// Of a queue; without a name, of the first one that summaries show, [`Outcome::shown_queues`].
    Queue(Option<String>, QueueMetric),
    /// Of all flows together.
    Flows(FlowsMetric),
    /// Of the group with this name.
    Group(String, GroupMetric),
}

/// A place in a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statistic {
    /// The mean.
    Mean,
    /// The median.
    P50,
    /// The 95th percentile.
    P95,
    /// The 99th percentile.
    P99,
}

impl Statistic {
    fn of(self, delay: &Delay) -> f64 {
        let estimate = match self {
            Self::Mean => delay.mean,
            Self::P50 => delay.p50,
            Self::P95 => delay.p95,
            Self::P99 => delay.p99,
        };
        estimate.mean
    }
}

/// A number of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueMetric {
    /// As [`QueueOutcome::delay_s`].
    Delay(Statistic),
    /// As [`QueueOutcome::utilisation`].
    Utilisation,
    /// Packets dropped over those that arrived.
    DropRatio,
    /// Packets marked over those that arrived.
    MarkRatio,
    /// As [`QueueOutcome::mean_packets`].
    MeanPackets,
}

/// A number of all flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowsMetric {
    /// Bit/s of unique data at all receivers.
    Goodput,
    /// Jain's index of the flows' throughputs over their max-min fair rates, as the paper of Jain, Chiu and Hawe (1984,
    /// section 3) has it for unequal demands. Flows of transfers are left out, as they rest between two of them.
    Jain,
}

/// A number of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupMetric {
    /// As [`GroupOutcome::throughput_bps`].
    Throughput,
    /// Bit/s of unique data at its receivers.
    Goodput,
    /// As [`GroupOutcome::share`].
    Share,
    /// As [`GroupOutcome::drop_ratio`].
    DropRatio,
    /// As [`GroupOutcome::jain`].
    Jain,
    /// As [`GroupOutcome::delay_s`].
    Delay,
    /// As [`GroupOutcome::jitter_s`].
    Jitter,
    /// As [`GroupOutcome::rtt_s`].
    RoundTrip,
    /// The time that a transfer or a page took.
    Completion(Statistic),
}

/// The unit of a metric. In JSON it is that of the values: `s`, `bit/s`, `1` for a ratio, `packets`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum MetricUnit {
    /// Seconds, written `20ms`.
    #[serde(rename = "s")]
    Time,
    /// Bit/s, written `5mbit`.
    #[serde(rename = "bit/s")]
    Rate,
    /// A plain number from 0 to 1.
    #[serde(rename = "1")]
    Ratio,
    /// Jain's index, a plain number from 0 to 1 that is not shown in percent.
    #[serde(rename = "index")]
    Index,
    /// Packets, written `100p`.
    #[serde(rename = "packets")]
    Packets,
}

const QUEUE: [(&str, QueueMetric); 8] = [
    ("delay.mean", QueueMetric::Delay(Statistic::Mean)),
    ("delay.p50", QueueMetric::Delay(Statistic::P50)),
    ("delay.p95", QueueMetric::Delay(Statistic::P95)),
    ("delay.p99", QueueMetric::Delay(Statistic::P99)),
    ("utilisation", QueueMetric::Utilisation),
    ("drop_ratio", QueueMetric::DropRatio),
    ("mark_ratio", QueueMetric::MarkRatio),
    ("mean_packets", QueueMetric::MeanPackets),
];

const FLOWS: [(&str, FlowsMetric); 2] = [("goodput", FlowsMetric::Goodput), ("jain", FlowsMetric::Jain)];

const GROUP: [(&str, GroupMetric); 12] = [
    ("throughput", GroupMetric::Throughput),
    ("goodput", GroupMetric::Goodput),
    ("share", GroupMetric::Share),
    ("drop_ratio", GroupMetric::DropRatio),
    ("jain", GroupMetric::Jain),
    ("delay", GroupMetric::Delay),
    ("jitter", GroupMetric::Jitter),
    ("rtt", GroupMetric::RoundTrip),
    ("completion.mean", GroupMetric::Completion(Statistic::Mean)),
    ("completion.p50", GroupMetric::Completion(Statistic::P50)),
    ("completion.p95", GroupMetric::Completion(Statistic::P95)),
    ("completion.p99", GroupMetric::Completion(Statistic::P99)),
];

impl Metric {
    /// Returns a metric of the shown queue.
    pub(crate) const fn shown(metric: QueueMetric) -> Self {
        Self::Queue(None, metric)
    }

    /// Reads a name, such as `delay.p95`, `queue.r1-r2.utilisation` or `group.web.completion.p95`; an error is the
    /// problem, and the remedy.
    pub(crate) fn parse(text: &str) -> Result<Self, (String, String)> {
        let unknown = |kind: &str, of: &str, prefix: &str, names: &[&str]| {
            let message = format!("{kind} has no metric \"{of}\"");
            let names: Vec<String> = names.iter().map(|name| format!("{prefix}{name}")).collect();
            (message, suggest::help(&format!("{prefix}{of}"), names.iter().map(String::as_str)))
        };
        if let Some((name, of)) = prefixed(text, "group") {
            let names = GROUP.map(|(name, _)| name);
            let found = GROUP.iter().find(|(metric, _)| *metric == of).map(|(_, metric)| *metric);
            let found = found.ok_or_else(|| unknown("a group", of, &format!("group.{name}."), &names))?;
            return Ok(Self::Group(name.to_owned(), found));
        }
        if let Some((name, of)) = prefixed(text, "queue") {
            let names = QUEUE.map(|(name, _)| name);
            let found = QUEUE.iter().find(|(metric, _)| *metric == of).map(|(_, metric)| *metric);
            let found = found.ok_or_else(|| unknown("a queue", of, &format!("queue.{name}."), &names))?;
            return Ok(Self::Queue(Some(name.to_owned()), found));
        }
        let queue = QUEUE.iter().find(|(name, _)| *name == text).map(|(_, metric)| Self::shown(*metric));
        let flows = || FLOWS.iter().find(|(name, _)| *name == text).map(|(_, metric)| Self::Flows(*metric));
        queue.or_else(flows).ok_or_else(|| no_such(text))
    }

    /// Returns its unit.
    #[must_use]
    pub const fn unit(&self) -> MetricUnit {
        match self {
            Self::Queue(_, QueueMetric::Delay(_)) => MetricUnit::Time,
            Self::Queue(_, QueueMetric::MeanPackets) => MetricUnit::Packets,
            Self::Queue(..) => MetricUnit::Ratio,
            Self::Flows(FlowsMetric::Jain) => MetricUnit::Index,
            Self::Flows(FlowsMetric::Goodput) => MetricUnit::Rate,
            Self::Group(_, of) => match of {
                GroupMetric::Throughput | GroupMetric::Goodput => MetricUnit::Rate,
                GroupMetric::Share | GroupMetric::DropRatio => MetricUnit::Ratio,
                GroupMetric::Jain => MetricUnit::Index,
                GroupMetric::Delay | GroupMetric::Jitter | GroupMetric::RoundTrip | GroupMetric::Completion(_) => {
                    MetricUnit::Time
                }
            },
        }
    }

    /// Returns its value in an outcome, in its unit's base: seconds, bit/s, packets; `None` where it is not known.
    #[must_use]
    pub fn of(&self, outcome: &Outcome) -> Option<f64> {
        match self {
            Self::Queue(name, metric) => {
                let queue = match name {
                    Some(name) => outcome.queue(name),
                    None => outcome.shown_queues().next(),
                };
                of_queue(queue?, *metric)
            }
            Self::Flows(FlowsMetric::Goodput) => Some(outcome.flows.iter().map(|flow| flow.goodput_bps.mean).sum()),
            Self::Flows(FlowsMetric::Jain) => jain(outcome),
            Self::Group(name, metric) => of_group(outcome, outcome.group(name)?, *metric),
        }
    }

    /// Checks that outcomes of `scenario` have it.
    ///
    /// # Errors
    /// Outcomes of the scenario do not have the metric: the problem, and the remedy.
    pub(crate) fn check(&self, scenario: &Scenario) -> Result<(), (String, String)> {
        match self {
            Self::Queue(Some(name), _) => {
                let queues = queue_names(scenario);
                let known = queues.iter().any(|queue| queue == name);
                let missing = || {
                    let help = suggest::help(name, queues.iter().map(String::as_str));
                    (format!("the scenario has no queue \"{name}\" that carries data"), help)
                };
                known.then_some(()).ok_or_else(missing)
            }
            Self::Queue(None, _) => Ok(()),
            Self::Flows(FlowsMetric::Jain) if scenario.flows.iter().all(|group| has_transfers(&group.traffic)) => {
                let help = "judge them by group.NAME.completion.mean".to_owned();
                Err(("all flows are transfers, which have no fair rate".to_owned(), help))
            }
            Self::Flows(_) => Ok(()),
            Self::Group(name, metric) => {
                let Some(group) = scenario.flows.iter().find(|group| group.name == *name) else {
                    let help = suggest::help(name, scenario.flows.iter().map(|group| group.name.as_str()));
                    return Err((format!("the scenario has no group \"{name}\""), help));
                };
                let lacks =
                    |what: &str, help: &str| Err((format!("the group \"{name}\" has no {what}"), help.to_owned()));
                match metric {
                    GroupMetric::Completion(_) if !has_transfers(&group.traffic) => {
                        lacks("transfers, so that none is completed", "name a group of transfers or of web pages")
                    }
                    GroupMetric::RoundTrip if !matches!(group.traffic, Traffic::Tcp(_)) => {
                        lacks("acknowledgements, so that no round trip is measured", "use its delay")
                    }
                    _ => Ok(()),
                }
            }
        }
    }
}

impl FromStr for Metric {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        Self::parse(text).map_err(|(message, help)| TextError::new(text, 0..text.len(), message, help))
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let queue = |wanted| QUEUE.iter().find(|(_, metric)| *metric == wanted).map_or("", |(name, _)| *name);
        let flows = |wanted| FLOWS.iter().find(|(_, metric)| *metric == wanted).map_or("", |(name, _)| *name);
        let group = |wanted| GROUP.iter().find(|(_, metric)| *metric == wanted).map_or("", |(name, _)| *name);
        match self {
            Self::Queue(None, metric) => f.write_str(queue(*metric)),
            Self::Queue(Some(name), metric) => write!(f, "queue.{name}.{}", queue(*metric)),
            Self::Flows(metric) => f.write_str(flows(*metric)),
            Self::Group(name, metric) => write!(f, "group.{name}.{}", group(*metric)),
        }
    }
}

impl MetricUnit {
    /// Reads a value with its unit.
    ///
    /// # Errors
    /// The text is no such value.
    pub(crate) fn parse(self, text: &str) -> Result<f64, String> {
        match self {
            Self::Time => text.parse().map(Duration::as_secs).map_err(|error| error.to_string()),
            Self::Rate => {
                text.parse().map(|rate: Rate| rate.bits_per_second() as f64).map_err(|error| error.to_string())
            }
            Self::Packets => {
                text.parse().map(|packets: Packets| f64::from(packets.get())).map_err(|error| error.to_string())
            }
            Self::Ratio | Self::Index => {
                match (text.parse(), text.strip_suffix('%').and_then(|part| part.trim().parse::<f64>().ok())) {
                    (Ok(ratio), _) if (0.0..=1.0).contains(&ratio) => Ok(ratio),
                    (_, Some(percent)) => {
                        Err(format!("a ratio is a plain number: write {} instead of {text}", percent / 100.0))
                    }
                    _ => Err(format!("a ratio cannot be \"{text}\": write a number from 0 to 1, such as 0.95")),
                }
            }
        }
    }

    /// Returns the factor by which a value is shown, and the unit in which it is then: milliseconds, Mbit/s, percent.
    #[must_use]
    pub const fn shown(self) -> (f64, &'static str) {
        match self {
            Self::Time => (1e3, "ms"),
            Self::Rate => (1e-6, "Mbit/s"),
            Self::Ratio => (100.0, "%"),
            Self::Packets => (1.0, "packets"),
            Self::Index => (1.0, ""),
        }
    }
}

/// Splits `group.NAME.rest` into NAME and the rest.
fn prefixed<'t>(text: &'t str, prefix: &str) -> Option<(&'t str, &'t str)> {
    text.strip_prefix(prefix)?.strip_prefix('.')?.split_once('.')
}

/// Returns the problem of a name that no metric has, and the remedy.
fn no_such(text: &str) -> (String, String) {
    let message = format!("there is no metric \"{text}\"");
    let own = QUEUE.iter().map(|(name, _)| *name).chain(FLOWS.iter().map(|(name, _)| *name));
    if let Some((name, of)) = text.split_once('.')
        && let Some((found, _)) = GROUP.iter().find(|(metric, _)| *metric == of)
        && !["queue", "group"].contains(&name)
        && name != "delay"
    {
        return (message, format!("of the group \"{name}\" it is group.{name}.{found}"));
    }
    let own: Vec<&str> = own.collect();
    let groups = GROUP.map(|(name, _)| name).join(", ");
    let near = match suggest::nearest(text, own.iter().copied()) {
        Some(near) => format!("did you mean \"{near}\"? "),
        None => String::new(),
    };
    (message, format!("{near}There are {}, and of each group.NAME {groups}", own.join(", ")))
}

fn of_queue(queue: &QueueOutcome, metric: QueueMetric) -> Option<f64> {
    let over_arrived = |part: f64| if queue.arrived.mean > 0.0 { part / queue.arrived.mean } else { 0.0 };
    Some(match metric {
        // A queue that no packet left by the link has no delay.
        QueueMetric::Delay(_) if queue.departed.mean <= 0.0 => return None,
        QueueMetric::Delay(statistic) => statistic.of(&queue.delay_s),
        QueueMetric::Utilisation => queue.utilisation.mean,
        QueueMetric::DropRatio => over_arrived(queue.dropped.total()),
        QueueMetric::MarkRatio => over_arrived(queue.marked.mean),
        QueueMetric::MeanPackets => queue.mean_packets.mean,
    })
}

fn of_group(outcome: &Outcome, group: &GroupOutcome, metric: GroupMetric) -> Option<f64> {
    match metric {
        GroupMetric::Throughput => Some(group.throughput_bps.mean),
        GroupMetric::Goodput => Some(outcome.flows_of(&group.name).map(|flow| flow.goodput_bps.mean).sum()),
        GroupMetric::Share => Some(group.share.mean),
        GroupMetric::DropRatio => Some(group.drop_ratio.mean),
        GroupMetric::Jain => group.jain.map(|jain| jain.mean),
        GroupMetric::Delay => group.delay_s.map(|delay| delay.mean),
        GroupMetric::Jitter => group.jitter_s.map(|jitter| jitter.mean),
        GroupMetric::RoundTrip => group.rtt_s.map(|rtt| rtt.mean),
        GroupMetric::Completion(statistic) => {
            group.transfers.as_ref()?.completion_s.as_ref().map(|times| statistic.of(times))
        }
    }
}

/// Returns Jain's index of throughputs over fair rates; `None` if all groups are of transfers.
fn jain(outcome: &Outcome) -> Option<f64> {
    let mut parts = Vec::new();
    for group in outcome.groups.iter().filter(|group| group.transfers.is_none()) {
        let fair = group.fair_bps.filter(|fair| *fair > 0.0).map_or(1.0, |fair| fair / group.flows.max(1) as f64);
        parts.extend(outcome.flows_of(&group.name).map(|flow| flow.throughput_bps.mean / fair));
    }
    (!parts.is_empty()).then(|| stats::jain(&parts))
}

fn has_transfers(traffic: &Traffic) -> bool {
    use fairlane_scenario::Application;
    matches!(traffic, Traffic::Tcp(tcp) if matches!(tcp.application, Application::Transfers(_) | Application::Web(_)))
}

/// The metrics that an advice shows in addition to the goal's, of which some may be the same.
pub(crate) fn shown() -> [Metric; 5] {
    [
        Metric::shown(QueueMetric::Delay(Statistic::P95)),
        Metric::shown(QueueMetric::Utilisation),
        Metric::Flows(FlowsMetric::Goodput),
        Metric::Flows(FlowsMetric::Jain),
        Metric::shown(QueueMetric::DropRatio),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Would catch a metric whose name is not read back.
    #[test]
    fn names_are_read_as_they_are_written() {
        let names = QUEUE.iter().flat_map(|(name, _)| [(*name).to_owned(), format!("queue.r1-r2/reverse.{name}")]);
        let names = names.chain(FLOWS.iter().map(|(name, _)| (*name).to_owned()));
        for name in names.chain(GROUP.iter().map(|(name, _)| format!("group.web-2.{name}"))) {
            assert_eq!(Metric::parse(&name).unwrap().to_string(), name);
        }
    }
}
