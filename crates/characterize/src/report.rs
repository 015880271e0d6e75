//! Reports: the measurements of all sections.

use std::collections::BTreeMap;

use fairlane_outcome::stats::Moments;
use fairlane_outcome::{QueueOutcome, Reason, VideoOutcome};
use serde::{Deserialize, Serialize};

use crate::cdf::Cdf;
use crate::checklist::{Entry, PhaseEnd};
use crate::ellipse::Ellipse;
use crate::observe::{GroupMeasures, RunMeasures, TimePoint};
use crate::sensitivity::{Sensitivity, SweptValue};

/// The report of one or several disciplines.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Report {
    /// The facts about the set-up that RFC 7928 leaves to the tester.
    pub setup: Vec<(String, String)>,
    /// The names of the disciplines, DropTail first.
    pub subjects: Vec<String>,
    /// The sections.
    pub sections: Vec<Section>,
    /// Runs that an interruption left out, of all; `None` if none are missing.
    pub missing_runs: Option<(u64, u64)>,
}

/// The extent to which a section was done. RFC 7928 has no pass and no fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Its scenarios were run.
    Characterised,
    /// The section asks for a discussion, which is given.
    Discussed,
    /// The section does not apply to these disciplines.
    NotApplicable,
}

impl Verdict {
    /// Returns the words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Characterised => "characterised",
            Self::Discussed => "discussed",
            Self::NotApplicable => "not applicable",
        }
    }
}

/// A section of a report.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Section {
    /// The name by which it is chosen.
    pub id: String,
    /// The section of RFC 7928.
    pub section: String,
    /// A title of a few words.
    pub title: String,
    /// Its weight in the RFC.
    pub weight: String,
    /// The request of the RFC.
    pub asks: String,
    /// The extent to which it was done.
    pub verdict: Verdict,
    /// The scenarios that were run.
    pub cases: Vec<CaseReport>,
    /// Sentences about each discipline, of a discussion.
    pub discussion: Vec<(String, Vec<String>)>,
    /// The fairness of round trips, of the section about it.
    pub curve: Option<Curve>,
}

/// Ratios of the last group's goodput to the first one's against a variable.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Curve {
    /// The variable of the cases.
    pub variable: String,
    /// A line for each discipline.
    pub lines: Vec<CurveLine>,
}

/// The ratios of a discipline.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct CurveLine {
    /// The name of the discipline.
    pub label: String,
    /// The values of the variable, each with the ratio.
    pub points: Vec<(f64, Number)>,
}

/// A scenario with the measurements of each discipline.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct CaseReport {
    /// Its name.
    pub name: String,
    /// The scenario under DropTail, as a file.
    pub scenario: String,
    /// The drop rate that the number of flows stands for (section 8.2.1); `None` where the section has no level.
    pub projected_loss: Option<f64>,
    /// The disciplines that refuse the scenario, each with its reason.
    pub left_out: Vec<(String, String)>,
    /// The disciplines.
    pub subjects: Vec<SubjectReport>,
    /// How much the results follow each parameter, of the section about it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sensitivities: Vec<Sensitivity>,
}

/// The measurements of a discipline in a scenario.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct SubjectReport {
    /// The name of the discipline.
    pub label: String,
    /// Number of runs.
    pub runs: usize,
    /// The first queue under study.
    pub queue: QueueReport,
    /// The groups of flows.
    pub groups: Vec<GroupReport>,
    /// The phases.
    pub phases: Vec<PhaseReport>,
    /// The first run over time, a point every ten round trips.
    pub series: Vec<TimePoint>,
}

/// A queue.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct QueueReport {
    /// Bits sent, over the capacity of the link.
    pub utilisation: Number,
    /// Mean time in the queue in seconds.
    pub delay_s: Number,
    /// Its 95th percentile.
    pub delay_p95_s: Number,
    /// Packets dropped over those that arrived.
    pub loss: Number,
    /// Packets marked over those that arrived.
    pub marked: Number,
    /// The mean share of the active flows that lose packets in a loss event; `None` without events.
    pub synchronisation: Option<Number>,
    /// Its 90th percentile over the events of all runs.
    pub synchronisation_p90: Option<f64>,
    /// The shares of the drops by their reasons.
    pub drop_reasons: BTreeMap<String, f64>,
}

/// A group of flows.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct GroupReport {
    /// Its name.
    pub name: String,
    /// Goodput of all its flows in bit/s.
    pub goodput_bps: Number,
    /// Mean delay above that of the empty path, in seconds.
    pub queueing_s: Number,
    /// Median, 95th and 99th percentile of the one-way delay in seconds.
    pub delay_s: [Number; 3],
    /// The same of the packet delay variation (RFC 5481): the delay above the least one of the flow.
    pub variation_s: [Number; 3],
    /// Packets lost over those sent.
    pub loss: Number,
    /// Mean time in seconds in which transfers or pages were complete; `None` without any.
    pub completion_s: Option<Number>,
    /// Its 95th percentile over all runs.
    pub completion_p95_s: Option<f64>,
    /// Transfers or pages in all runs.
    pub completed: usize,
    /// Mean time in seconds from the start of a complete transfer, or of a page's first object, until its first data
    /// reached the receiver (section 2.2); `None` without any.
    #[serde(default)]
    pub startup_s: Option<Number>,
    /// Mean time in seconds between consecutive losses of a flow; `None` without two losses.
    pub gap_s: Option<Number>,
    /// Acknowledgements dropped over those that arrived at queues with a discipline; `None` where none did.
    #[serde(default)]
    pub ack_loss: Option<Number>,
    /// Mean opinion score of calls, 1 to 4.5; `None` for other flows.
    #[serde(default)]
    pub mos: Option<Number>,
    /// Quality of Outcome, 0 to 100; `None` for flows without a profile.
    #[serde(default)]
    pub qoo: Option<Number>,
    /// The playback of adaptive video at its viewers; `None` for other flows.
    #[serde(default)]
    pub video: Option<VideoReport>,
    /// The distribution of the one-way delay in seconds, and that of the goodput in bit/s of a flow in ten round trips
    /// (section 2.7); the means over the runs.
    #[serde(default)]
    pub delay_cdf: Cdf,
    /// See `delay_cdf`.
    #[serde(default)]
    pub goodput_cdf: Cdf,
    /// The points of the graph of delay in ms and goodput in Mbit/s: of each flow in each run, or of each run where
    /// goodputs are cumulated.
    pub points: Vec<(f64, f64)>,
    /// Their ellipse; `None` for fewer than three.
    pub ellipse: Option<Ellipse>,
}

/// The playback at all viewers of a group together.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct VideoReport {
    /// The mean bit rate of the segments in bit/s; `None` where none arrived.
    pub bit_rate_bps: Option<Number>,
    /// Times that the playback stopped for want of data.
    pub stalls: Number,
    /// The time in seconds that it stood still.
    pub stalled_s: Number,
    /// Segments of another bit rate than the one before.
    pub switches: Number,
    /// The time in seconds until the playback began; `None` where it did not.
    pub startup_s: Option<Number>,
}

/// A phase, its repetitions together.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct PhaseReport {
    /// Its name.
    pub name: String,
    /// The rate at which the receivers got data, in bit/s.
    pub throughput_bps: Number,
    /// Mean delay above that of the empty path, in seconds.
    pub queueing_s: Number,
}

/// The mean over runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct Number {
    /// The mean.
    pub mean: f64,
    /// Half of its 95 % confidence interval; `None` for one run.
    pub ci95: Option<f64>,
}

impl Number {
    /// Returns the mean of `values` with its interval; `None` without any.
    #[must_use]
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut moments = Moments::new();
        values.into_iter().for_each(|value| moments.push(value));
        (moments.count() > 0).then(|| Self { mean: moments.mean(), ci95: moments.ci95() })
    }
}

impl Section {
    /// Returns the section of `entry` with `cases` that were run.
    pub(crate) fn new(entry: &Entry, verdict: Verdict, cases: Vec<CaseReport>) -> Self {
        Self {
            id: entry.id.clone(),
            section: entry.section.clone(),
            title: entry.title.clone(),
            weight: entry.weight.clone(),
            asks: entry.asks.clone(),
            verdict,
            cases,
            discussion: Vec::new(),
            curve: None,
        }
    }
}

impl SubjectReport {
    /// Returns the means over `runs`; `None` without any.
    pub(crate) fn new(label: &str, entry: &Entry, queue: &str, runs: &[RunMeasures]) -> Option<Self> {
        let first = runs.first()?;
        let group = |index: usize| {
            let of_runs: Vec<&GroupMeasures> = runs.iter().filter_map(|run| run.groups.get(index)).collect();
            group_report(&of_runs, entry.cumulated)
        };
        let phase = |(index, phase): (usize, &PhaseEnd)| {
            let of = || runs.iter().filter_map(move |run| run.phases.get(index));
            Some(PhaseReport {
                name: phase.name.clone(),
                throughput_bps: Number::of(of().map(|phase| phase.throughput_bps))?,
                queueing_s: Number::of(of().map(|phase| phase.queueing_s))?,
            })
        };
        Some(Self {
            label: label.to_owned(),
            runs: runs.len(),
            queue: queue_report(queue, runs),
            groups: (0..first.groups.len()).filter_map(group).collect(),
            phases: entry.phases.iter().enumerate().filter_map(phase).collect(),
            series: first.series.clone(),
        })
    }

    /// Returns the goodput of all groups in bit/s.
    #[must_use]
    pub fn goodput_bps(&self) -> f64 {
        self.groups.iter().map(|group| group.goodput_bps.mean).sum()
    }

    /// Returns the results with this value of a parameter.
    pub(crate) fn swept(&self, value: &str, factor: f64) -> SweptValue {
        let goodput_bps = self.goodput_bps();
        let weighted: f64 = self.groups.iter().map(|group| group.goodput_bps.mean * group.queueing_s.mean).sum();
        let queueing_s = if goodput_bps > 0.0 { weighted / goodput_bps } else { 0.0 };
        SweptValue { value: value.to_owned(), factor, goodput_bps, queueing_s }
    }
}

fn queue_report(name: &str, runs: &[RunMeasures]) -> QueueReport {
    let queues: Vec<_> = runs.iter().filter_map(|run| run.outcome.as_ref()?.queue(name)).collect();
    let number =
        |of: &dyn Fn(&QueueOutcome) -> f64| Number::of(queues.iter().map(|queue| of(queue))).unwrap_or_default();
    let ratio = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
    let mean = |shares: &Vec<f64>| shares.iter().sum::<f64>() / shares.len() as f64;
    let dropped = |reason: Reason| queues.iter().map(|queue| queue.dropped.get(reason).mean).sum::<f64>();
    let all: f64 = Reason::ALL.into_iter().map(dropped).sum();
    let reasons = Reason::ALL.into_iter().filter(|reason| dropped(*reason) > 0.0);
    QueueReport {
        utilisation: number(&|queue| queue.utilisation.mean),
        delay_s: number(&|queue| queue.delay_s.mean.mean),
        delay_p95_s: number(&|queue| queue.delay_s.p95.mean),
        loss: number(&|queue| ratio(queue.dropped.total(), queue.arrived.mean)),
        marked: number(&|queue| ratio(queue.marked.mean, queue.arrived.mean)),
        synchronisation: Number::of(
            runs.iter().map(|run| &run.loss_shares).filter(|shares| !shares.is_empty()).map(mean),
        ),
        synchronisation_p90: quantile(runs.iter().flat_map(|run| run.loss_shares.iter().copied()), 0.9),
        drop_reasons: reasons.map(|reason| (reason.name().to_owned(), dropped(reason) / all)).collect(),
    }
}

fn group_report(runs: &[&GroupMeasures], cumulated: bool) -> Option<GroupReport> {
    let number = |of: &dyn Fn(&GroupMeasures) -> f64| Number::of(runs.iter().map(|run| of(run)));
    let three =
        |of: fn(&GroupMeasures) -> &[f64; 3]| [0, 1, 2].map(|index| number(&|run| of(run)[index]).unwrap_or_default());
    let goodput = |run: &GroupMeasures| run.flows.iter().map(|(_, goodput)| goodput).sum::<f64>();
    let shown = |(delay, goodput): (f64, f64)| (delay * 1e3, goodput / 1e6);
    let points: Vec<(f64, f64)> = if cumulated {
        runs.iter().map(|run| shown((run.queueing_s, goodput(run)))).collect()
    } else {
        runs.iter().flat_map(|run| run.flows.iter().copied().map(shown)).collect()
    };
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let means = |of: fn(&GroupMeasures) -> &Vec<f64>| {
        Number::of(runs.iter().map(|run| of(run)).filter(|values| !values.is_empty()).map(|values| mean(values)))
    };
    Some(GroupReport {
        name: runs.first()?.name.clone(),
        goodput_bps: number(&goodput)?,
        queueing_s: number(&|run| run.queueing_s)?,
        delay_s: three(|run| &run.delay_s),
        variation_s: three(|run| &run.variation_s),
        loss: number(&|run| run.loss)?,
        completion_s: means(|run| &run.completions_s),
        completion_p95_s: quantile(runs.iter().flat_map(|run| run.completions_s.iter().copied()), 0.95),
        completed: runs.iter().map(|run| run.completions_s.len()).sum(),
        startup_s: Number::of(
            runs.iter().filter_map(|run| Some(run.outcome.as_ref()?.transfers.as_ref()?.startup_s?.mean)),
        ),
        gap_s: means(|run| &run.gaps_s),
        ack_loss: Number::of(runs.iter().filter_map(|run| run.ack_loss)),
        mos: Number::of(runs.iter().filter_map(|run| Some(run.outcome.as_ref()?.score.as_ref()?.mos?.mean))),
        qoo: Number::of(runs.iter().filter_map(|run| Some(run.outcome.as_ref()?.score.as_ref()?.qoo?.mean))),
        video: video_report(runs),
        delay_cdf: Cdf::mean(runs.iter().map(|run| &run.delay_cdf)),
        goodput_cdf: Cdf::mean(runs.iter().map(|run| &run.goodput_cdf)),
        ellipse: Ellipse::of(&points),
        points,
    })
}

fn video_report(runs: &[&GroupMeasures]) -> Option<VideoReport> {
    let videos: Vec<_> = runs.iter().filter_map(|run| run.outcome.as_ref()?.video.as_deref()).collect();
    let number = |of: &dyn Fn(&VideoOutcome) -> Option<f64>| Number::of(videos.iter().filter_map(|video| of(video)));
    Some(VideoReport {
        bit_rate_bps: number(&|video| Some(video.bit_rate_bps?.mean)),
        stalls: number(&|video| Some(video.stalls.mean))?,
        stalled_s: number(&|video| Some(video.stalled_s.mean))?,
        switches: number(&|video| Some(video.switches.mean))?,
        startup_s: number(&|video| Some(video.startup_s?.mean)),
    })
}

/// Returns the least value that a part `quantile` of all values does not exceed; `None` without values.
fn quantile(values: impl Iterator<Item = f64>, quantile: f64) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let place = (quantile * values.len() as f64).ceil() as usize;
    values.get(place.saturating_sub(1)).copied()
}

/// Returns the ratio of the last group's goodput to the first one's, with its interval by the relative ones of both.
pub(crate) fn ratio(subject: &SubjectReport) -> Option<Number> {
    let (first, last) = (subject.groups.first()?, subject.groups.last()?);
    let (a, b) = (first.goodput_bps, last.goodput_bps);
    if a.mean <= 0.0 {
        return None;
    }
    let relative = |number: Number| number.ci95.map(|ci95| ci95 / number.mean.max(1.0));
    let mean = b.mean / a.mean;
    Some(Number { mean, ci95: relative(a).zip(relative(b)).map(|(a, b)| mean * libm::hypot(a, b)) })
}
