//! Figures that compare outcomes.

use fairlane_outcome::{DelayHistogram, Estimate, Outcome, QueueOutcome, Reason};

use super::Block;
use super::timeline::{LINES, chosen};
use crate::figure::{Axis, Bars, Content, Figure, Line, LineStyle};
use crate::flows::{MOST, throughputs};
use crate::numbers::rate_unit;
use crate::queues::{ShownQueue, labels};
use crate::summary::group_names;

/// The most points of a distribution that are drawn; more would not be visible.
const POINTS: usize = 240;

/// Drops of a queue by reason, as a part of arrivals; nothing if nothing was dropped.
pub(super) fn drops(outcomes: &[Outcome], at: ShownQueue<'_>) -> Option<Block> {
    let queues: Vec<Option<&QueueOutcome>> = outcomes.iter().map(|outcome| outcome.queue(at.name)).collect();
    let mut reasons: Vec<(Reason, Vec<Estimate>)> = Reason::ALL
        .into_iter()
        .map(|reason| {
            let part = |queue: &QueueOutcome| percent_of(queue.dropped.get(reason).mean, queue.arrived.mean);
            (reason, queues.iter().map(|queue| Estimate::single(queue.map_or(0.0, part))).collect())
        })
        .filter(|(_, values): &(Reason, Vec<Estimate>)| values.iter().any(|value| value.mean > 0.0))
        .collect();
    if reasons.is_empty() {
        return None;
    }
    reasons.sort_by(|a, b| total(&b.1).total_cmp(&total(&a.1)));
    let meanings: Vec<String> =
        reasons.iter().map(|(reason, _)| format!("{}: {}", reason.words(), meaning(*reason))).collect();
    let reasons = reasons.into_iter().map(|(reason, values)| (reason.words().to_owned(), values)).collect();
    let series = few(reasons, "other reasons");
    Some(Block::Figure {
        figure: Figure {
            title: at.title("Drops by reason"),
            x: Axis::linear(""),
            y: Axis::linear("dropped (% of arrivals)"),
            content: Content::Stacked(Bars { categories: labels(outcomes), series }),
            marks: Vec::new(),
        },
        note: format!("At the queue {}. {}.", at.name, meanings.join("; ")),
    })
}

/// Describes a reason in a few words.
fn meaning(reason: Reason) -> &'static str {
    match reason {
        Reason::Limit => "the queue was full",
        Reason::Early => "at random, before the queue is full",
        Reason::Forced => "the average was above its upper threshold",
        Reason::MatchArrival => "the arrival met a packet of the same flow",
        Reason::MatchVictim => "the queued packet that it met",
        Reason::Table => "the flow had met itself before",
        Reason::RatePenalty => "the flow was over the rate that it is held to",
        Reason::BinFull => "the flow's bin was full",
        Reason::AqmDequeue => "it had waited too long, when it was due to leave",
        Reason::FairDrop => "Fair Drop",
        Reason::BufferSteal => "pushed out for another flow's packet",
        Reason::Label => "the flow was over its fair rate",
        Reason::Expired => "too old",
        Reason::AckFilter => "a later acknowledgement said the same",
        Reason::Policed => "over the policer's rate and burst",
        _ => "another reason of the discipline",
    }
}

/// Draws each group's part of a queue; nothing for a single group, which has all of it.
pub(super) fn composition(outcomes: &[Outcome], at: ShownQueue<'_>) -> Option<Block> {
    let names = group_names(outcomes);
    if names.len() < 2 {
        return None;
    }
    let part = |outcome: &Outcome, name: &str| {
        outcome
            .queue(at.name)
            .and_then(|queue| queue.group(name))
            .map_or_else(Estimate::default, |group| group.queue_share)
    };
    let series = names
        .iter()
        .map(|name| ((*name).to_owned(), outcomes.iter().map(|outcome| part(outcome, name)).collect()))
        .collect();
    Some(Block::Figure {
        figure: Figure {
            title: at.title("What the queue is made of"),
            x: Axis::linear(""),
            y: Axis::linear("part of the queued packets"),
            content: Content::Shares(Bars { categories: labels(outcomes), series: few(series, "other groups") }),
            marks: Vec::new(),
        },
        note: format!("Each group's part of the packets in the queue {}, averaged over time.", at.name),
    })
}

/// Draws the distribution of the time in a queue.
pub(super) fn delays(outcomes: &[Outcome], at: ShownQueue<'_>) -> Option<Block> {
    let of = |outcome: &Outcome| Some(distribution(&outcome.queue(at.name)?.delay_histogram));
    let note = format!("The part of the packets that left the queue {} within a time.", at.name);
    distributions(&at.title("Delay in the queue"), &note, ["delay (ms)", "part of the packets (%)"], outcomes, of)
}

/// Draws the distribution of the completion times of each group's transfers.
pub(super) fn completions(outcomes: &[Outcome]) -> Vec<Block> {
    let of_group = |name: &&str| {
        let of = |outcome: &Outcome| Some(distribution(&outcome.group(name)?.transfers.as_ref()?.completion_histogram));
        let title = format!("Completion of transfers of {name}");
        let note = "The part of the transfers that were complete within a time.";
        distributions(&title, note, ["time (ms)", "part of the transfers (%)"], outcomes, of)
    };
    group_names(outcomes).iter().filter_map(of_group).collect()
}

/// A line for each outcome that has a distribution.
fn distributions(
    title: &str,
    note: &str,
    [across, up]: [&str; 2],
    outcomes: &[Outcome],
    of: impl Fn(&Outcome) -> Option<Vec<(f64, Estimate)>>,
) -> Option<Block> {
    let names = labels(outcomes);
    let line = |(outcome, label): (&Outcome, &String)| {
        let points = of(outcome)?;
        (!points.is_empty()).then(|| Line::new(label, LineStyle::Steps, points))
    };
    let lines: Vec<Line> = outcomes.iter().zip(&names).filter_map(line).collect();
    let places = lines.iter().flat_map(|line| &line.points).map(|(x, _)| *x).filter(|x| *x > 0.0);
    let (least, most) = places.fold((f64::INFINITY, 0.0_f64), |(least, most), x| (least.min(x), most.max(x)));
    // A wide range needs a logarithmic axis to show its lower end.
    let x = if most > 30.0 * least { Axis::log(across) } else { Axis::linear(across) };
    chosen(title, note, x, Axis::linear(up), lines)
}

/// The part of the packets, in percent, that took at most this many milliseconds.
fn distribution(histogram: &DelayHistogram) -> Vec<(f64, Estimate)> {
    let all: u64 = histogram.bins().iter().map(|bin| bin.packets).sum();
    let mut points = Vec::new();
    let (mut below, mut drawn) = (0_u64, 0_u64);
    let last = histogram.bins().len();
    for (index, bin) in histogram.bins().iter().enumerate() {
        if index == 0 {
            points.push((milliseconds(bin.from_ns), Estimate::single(0.0)));
        }
        below += bin.packets;
        if (below - drawn) as f64 >= all as f64 / POINTS as f64 || index + 1 == last {
            points.push((milliseconds(bin.to_ns), Estimate::single(percent_of(below as f64, all as f64))));
            drawn = below;
        }
    }
    points
}

fn milliseconds(ns: u64) -> f64 {
    ns as f64 / 1e6
}

/// Each flow's throughput within each group of several flows, from the slowest to the fastest.
pub(super) fn flows(outcomes: &[Outcome]) -> Vec<Block> {
    let labels = labels(outcomes);
    let sorted = |name: &&str| -> Vec<Vec<f64>> { outcomes.iter().map(|outcome| throughputs(outcome, name)).collect() };
    let groups = group_names(outcomes).into_iter().map(|name| (name, sorted(&name)));
    let groups: Vec<_> = groups.filter(|(_, sorted)| sorted.iter().any(|values| values.len() > 1)).collect();
    let (unit, divisor) =
        rate_unit(groups.iter().flat_map(|(_, sorted)| sorted).flatten().copied().fold(0.0, f64::max));
    let of_group = |(name, sorted): &(&str, Vec<Vec<f64>>)| {
        let lines = sorted.iter().zip(&labels).filter(|(values, _)| !values.is_empty());
        let lines = lines.map(|(values, label)| ranked(label, values, divisor)).collect();
        let x = Axis::linear(format!("flow of {name}, the slowest first"));
        let title = format!("Throughput of each flow of {name}");
        chosen(&title, "A horizontal line means equal shares.", x, Axis::linear(format!("throughput ({unit})")), lines)
    };
    groups.iter().filter_map(of_group).collect()
}

/// The values over their ranks; a selection that shows the curve if there are very many.
fn ranked(label: &str, values: &[f64], divisor: f64) -> Line {
    let style = if values.len() <= MOST { LineStyle::Marked } else { LineStyle::Plain };
    let every = values.len().div_ceil(POINTS).max(1);
    let shown = |rank: &usize| rank.is_multiple_of(every) || rank + 1 == values.len();
    let point = |rank: usize| ((rank + 1) as f64, Estimate::single(values[rank] / divisor));
    Line::new(label, style, (0..values.len()).filter(shown).map(point).collect())
}

/// The first series, and the sum of those beyond the last colour.
fn few(mut series: Vec<(String, Vec<Estimate>)>, rest: &str) -> Vec<(String, Vec<Estimate>)> {
    if series.len() > LINES {
        let others = series.split_off(LINES - 1);
        let categories = others.iter().map(|(_, values)| values.len()).max().unwrap_or(0);
        let sum = |category: usize| {
            others.iter().filter_map(|(_, values)| values.get(category)).map(|value| value.mean).sum()
        };
        series.push((rest.to_owned(), (0..categories).map(|category| Estimate::single(sum(category))).collect()));
    }
    series
}

fn total(values: &[Estimate]) -> f64 {
    values.iter().map(|value| value.mean).sum()
}

fn percent_of(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { 100.0 * part / whole } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use hdrhistogram::Histogram;

    use super::*;

    /// 94 of 100 packets took 1 ms and 6 took 5 ms, each to three digits of the histogram.
    #[test]
    fn distributions_rise_to_the_whole() {
        let mut delays = Histogram::<u64>::new(3).unwrap();
        delays.record_n(1_000_000, 94).unwrap();
        delays.record_n(5_000_000, 6).unwrap();
        let points = distribution(&DelayHistogram::from(&delays));
        let parts: Vec<f64> = points.iter().map(|(_, part)| part.mean).collect();
        assert_eq!(parts, [0.0, 94.0, 100.0]);
        for ((delay, _), expected) in points.iter().zip([1.0, 1.0, 5.0]) {
            assert!((delay / expected - 1.0).abs() < 1e-3, "{delay} ms");
        }
        assert!(distribution(&DelayHistogram::default()).is_empty());
    }

    /// A bin a packet: thinned, but never by more than a step that can be seen.
    #[test]
    fn long_distributions_are_thinned() {
        let mut delays = Histogram::<u64>::new(3).unwrap();
        for delay in 1..=20_000 {
            delays.record(delay * 1_000).unwrap();
        }
        let points = distribution(&DelayHistogram::from(&delays));
        assert!(points.len() <= POINTS + 2, "{}", points.len());
        assert!(points.windows(2).all(|pair| pair[1].1.mean - pair[0].1.mean < 1.0));
        assert_eq!(points.last().map(|(_, part)| part.mean), Some(100.0));
    }

    /// Parts beyond the last colour are summed, so that the bar is as long as before.
    #[test]
    fn parts_beyond_the_colours_are_one() {
        let series = |count: u32| {
            let part = |n: u32| (n.to_string(), vec![Estimate::single(f64::from(n)), Estimate::single(1.0)]);
            (0..count).map(part).collect::<Vec<_>>()
        };
        assert_eq!(few(series(6), "others"), series(6));
        let merged = few(series(8), "others");
        let others = ("others".to_owned(), vec![Estimate::single(5.0 + 6.0 + 7.0), Estimate::single(3.0)]);
        assert_eq!((merged.len(), merged.last()), (6, Some(&others)));
    }
}
