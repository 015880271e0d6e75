//! Figures of how one run went over time.

use fairlane_outcome::{Estimate, QueueTimeline, ShaperTimeline, Timeline};

use super::Block;
use crate::figure::{Axis, Figure, Line, LineStyle};

/// The most lines of one figure: more could not be told apart.
pub(super) const LINES: usize = 6;

/// The axis of rates.
const RATE: &str = "rate (Mb/s)";

/// The note below these figures.
const NOTE: &str = "The first run, its warm-up included.";

/// One scenario: each queue's length with its average, and the throughput of each group.
pub(super) fn of_one(timeline: &Timeline) -> Vec<Block> {
    let queue = |queue: &QueueTimeline| {
        let length = line(timeline, &format!("packets in {}", queue.name), &queue.packets, 1.0);
        let average = line(timeline, "the discipline's average", &queue.average, 1.0);
        let title = format!("Length of {} over time", queue.name);
        over_time(&title, "packets", vec![length, average])
    };
    let shaper = |shaper: &ShaperTimeline| {
        let lines = vec![
            line(timeline, "the link", &shaper.link_bps, 1e-6),
            line(timeline, "the shaper", &shaper.rate_bps, 1e-6),
        ];
        over_time(&format!("Rates of {} over time", shaper.name), RATE, lines)
    };
    let groups = timeline.groups.iter().map(|group| line(timeline, &group.name, &group.throughput_bps, 1e-6)).collect();
    let throughput = over_time("Throughput of each group over time", "throughput (Mb/s)", groups);
    let shapers = timeline.shapers.iter().take(LINES).flat_map(shaper);
    timeline.queues.iter().take(LINES).flat_map(queue).chain(shapers).chain(throughput).collect()
}

/// Several scenarios beside each other, each with its label and the queue that it is about.
pub(super) fn of_several(timelines: &[(&str, &str, &Timeline)]) -> Vec<Block> {
    let queue = |(label, name, timeline): &(&str, &str, &Timeline)| {
        let queue = timeline.queues.iter().find(|queue| queue.name == *name)?;
        Some(line(timeline, label, &queue.packets, 1.0))
    };
    let lengths = timelines.iter().filter_map(queue).collect();
    let mut figures = over_time("Length of the queue over time", "packets", lengths);
    let adjusted = timelines.iter().filter_map(|(label, name, timeline)| {
        Some((label, *timeline, timeline.shapers.iter().find(|shaper| shaper.name == *name)?))
    });
    let adjusted: Vec<(&&str, &Timeline, &ShaperTimeline)> = adjusted.collect();
    let link = adjusted.first().map(|(_, timeline, shaper)| line(timeline, "the link", &shaper.link_bps, 1e-6));
    let rates = adjusted.iter().map(|(label, timeline, shaper)| line(timeline, label, &shaper.rate_bps, 1e-6));
    figures.extend(over_time("Rate of the shaper over time", RATE, link.into_iter().chain(rates).collect()));
    let mut names: Vec<&str> = Vec::new();
    for group in timelines.iter().flat_map(|(_, _, timeline)| &timeline.groups) {
        if !names.contains(&group.name.as_str()) {
            names.push(&group.name);
        }
    }
    for name in names {
        let group = |(label, _, timeline): &(&str, &str, &Timeline)| {
            let group = timeline.groups.iter().find(|group| group.name == name)?;
            Some(line(timeline, label, &group.throughput_bps, 1e-6))
        };
        let lines = timelines.iter().filter_map(group).collect();
        figures.extend(over_time(&format!("Throughput of {name} over time"), "throughput (Mb/s)", lines));
    }
    figures
}

fn line(timeline: &Timeline, name: &str, values: &[f64], unit: f64) -> Line {
    let points = timeline.time_s.iter().zip(values).map(|(time, value)| (*time, Estimate::single(value * unit)));
    Line::new(name, LineStyle::Plain, points.collect())
}

fn over_time(title: &str, what: &str, lines: Vec<Line>) -> Vec<Block> {
    let lines = lines.into_iter().filter(|line| !line.points.is_empty()).collect();
    readable(title, lines)
        .into_iter()
        .map(|(title, lines)| Block::Figure {
            figure: Figure::lines(title, Axis::linear("time (s)"), Axis::linear(what), lines),
            note: NOTE.to_owned(),
        })
        .collect()
}

/// The lines in as many figures as it takes, each with its title.
pub(super) fn readable(title: &str, lines: Vec<Line>) -> Vec<(String, Vec<Line>)> {
    let figures = lines.len().div_ceil(LINES);
    if figures <= 1 {
        return if lines.is_empty() { Vec::new() } else { vec![(title.to_owned(), lines)] };
    }
    let each = lines.len().div_ceil(figures);
    let part = |(index, lines): (usize, &[Line])| (format!("{title}, {} of {figures}", index + 1), lines.to_vec());
    lines.chunks(each).enumerate().map(part).collect()
}
