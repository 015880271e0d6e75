//! Charts of how one run went over time.

use fairlane_outcome::{Outcome, QueueTimeline, ShaperTimeline, Timeline};

use super::{Bins, Block, Chart, Lines};
use crate::figure::over_time::{
    AVERAGE, DROPPED, GOODPUT, GROUPS, LENGTH, MARKED, PROBABILITY, QUEUES, Quantity, RATE, SIGNALS, line,
    timeline_groups,
};
use crate::figure::{Axis, Line, Mark};
use crate::queues::ShownQueue;

/// The most lines of one chart: more could not be told apart.
pub(super) const LINES: usize = 6;
/// The most marks of one chart.
const MARKS: usize = 4;

/// One scenario: its queues, shapers and groups.
pub(super) fn of_one(outcome: &Outcome, timeline: &Timeline) -> Vec<Block> {
    let line = |name: &str, values: &[f64], quantity: &Quantity| line(timeline, name, values, quantity);
    let mut panels = Vec::new();
    for queue in timeline.queues.iter().take(LINES) {
        let title = |quantity: &Quantity| {
            if timeline.queues.len() > 1 {
                format!("{}, {}", quantity.name, queue.name)
            } else {
                quantity.name.to_owned()
            }
        };
        let lengths = [line("packets", &queue.packets, &LENGTH), line("average", &queue.average, &LENGTH)];
        panels.push(Lines { marks: marks(&[("", queue)]), ..panel(title(&LENGTH), &LENGTH, lengths) });
        panels.push(panel(title(&PROBABILITY), &PROBABILITY, [line("probability", &queue.probability, &PROBABILITY)]));
        let signals = [line("dropped", &queue.dropped_pps, &DROPPED), line("marked", &queue.marked_pps, &MARKED)];
        panels.push(panel(title(&SIGNALS), &SIGNALS, signals));
    }
    for shaper in timeline.shapers.iter().take(LINES) {
        let rates = [line("the link", &shaper.link_bps, &RATE), line("the shaper", &shaper.rate_bps, &RATE)];
        panels.push(panel(format!("Rate of {}", shaper.name), &RATE, rates));
    }
    for (quantity, of) in &GROUPS {
        let lines = timeline.groups.iter().map(|group| line(&group.name, of(group), quantity));
        panels.push(Lines { groups: true, ..panel(quantity.name, quantity, lines) });
    }
    stack("The first run over time", Vec::new(), panels, outcome.from_s).into_iter().collect()
}

/// Several scenarios next to each other, each with its label, at the queues that they show.
pub(super) fn of_several(outcomes: &[Outcome], timelines: &[(&str, &Timeline)]) -> Vec<Block> {
    let Some(first) = outcomes.first() else { return Vec::new() };
    let keys: Vec<String> = timelines.iter().map(|(label, _)| (*label).to_owned()).collect();
    let mut panels = Vec::new();
    for at in ShownQueue::all(outcomes) {
        panels.extend(at_queue(timelines, at));
    }
    for (quantity, of) in &GROUPS {
        for name in timeline_groups(timelines) {
            let lines = timelines.iter().enumerate().filter_map(|(key, (label, timeline))| {
                let group = timeline.groups.iter().find(|group| group.name == name)?;
                Some((key, line(timeline, label, of(group), quantity)))
            });
            panels.push(keyed(format!("{} of {name}", quantity.name), quantity, lines));
        }
    }
    let cell = |(label, timeline): &(&str, &Timeline)| {
        let lines = timeline.groups.iter().map(|group| line(timeline, &group.name, &group.goodput_bps, &GOODPUT));
        let warmup = Some(first.from_s).filter(|end| *end > 0.0);
        Lines { groups: true, warmup, ..panel(*label, &GOODPUT, lines) }
    };
    let cells: Vec<Lines> = timelines.iter().map(cell).filter(|cell| !cell.lines.is_empty()).collect();
    let grid = (cells.len() > 1).then(|| {
        Block::Chart(Chart::Grid {
            title: "Goodput of each group".to_owned(),
            note: "In Mb/s, all with the same axes; the first run.".to_owned(),
            cells,
        })
    });
    grid.into_iter().chain(stack("The first run over time", keys, panels, first.from_s)).collect()
}

/// The panels of one queue and its shaper.
fn at_queue(timelines: &[(&str, &Timeline)], at: ShownQueue<'_>) -> Vec<Lines> {
    let queues: Vec<(usize, &str, &Timeline, &QueueTimeline)> = timelines
        .iter()
        .enumerate()
        .filter_map(|(key, (label, timeline))| {
            Some((key, *label, *timeline, timeline.queues.iter().find(|queue| queue.name == at.name)?))
        })
        .collect();
    let mut panels = Vec::new();
    let named: Vec<(&str, &QueueTimeline)> = queues.iter().map(|(_, label, _, queue)| (*label, *queue)).collect();
    for (quantity, of) in &QUEUES {
        let lines =
            queues.iter().map(|(key, label, timeline, queue)| (*key, line(timeline, label, of(queue), quantity)));
        let marks = if [LENGTH.name, AVERAGE.name].contains(&quantity.name) { marks(&named) } else { Vec::new() };
        panels.push(Lines { marks, ..keyed(at.title(quantity.name), quantity, lines) });
    }
    let shapers: Vec<(usize, &str, &Timeline, &ShaperTimeline)> = timelines
        .iter()
        .enumerate()
        .filter_map(|(key, (label, timeline))| {
            Some((key, *label, *timeline, timeline.shapers.iter().find(|shaper| shaper.name == at.name)?))
        })
        .collect();
    let rates =
        shapers.iter().map(|(key, label, timeline, shaper)| (*key, line(timeline, label, &shaper.rate_bps, &RATE)));
    panels.push(keyed(at.title(RATE.name), &RATE, rates));
    if let Some((key, _, timeline, shaper)) = shapers.first() {
        panels.push(keyed(
            at.title("Rate of the link"),
            &RATE,
            [(*key, line(timeline, "the link", &shaper.link_bps, &RATE))],
        ));
    }
    panels
}

/// The panels that have a line, below each other.
fn stack(title: &str, keys: Vec<String>, panels: Vec<Lines>, warmup: f64) -> Option<Block> {
    let shaded = |panel: Lines| Lines { warmup: Some(warmup).filter(|end| *end > 0.0), ..panel };
    let panels: Vec<Lines> = panels.into_iter().filter(|panel| !panel.lines.is_empty()).map(shaded).collect();
    let note = "Lines are means of short times, bands the range of their values. Drag to zoom into all panels, click twice to leave.";
    (!panels.is_empty())
        .then(|| Block::Chart(Chart::Stack { title: title.to_owned(), note: note.to_owned(), keys, panels }))
}

/// A panel of the lines that have points.
fn panel(title: impl Into<String>, quantity: &Quantity, lines: impl IntoIterator<Item = Line>) -> Lines {
    let lines = lines.into_iter().filter(|line| !line.points.is_empty()).collect();
    let all = Lines::new(title, Axis::linear("time (s)"), Axis::linear(quantity.unit), lines);
    let bins = if quantity.over_interval { Bins::Mean } else { Bins::Range };
    Lines { bins: Some(bins), ..all }
}

/// The same of lines that belong to keys.
fn keyed(title: impl Into<String>, quantity: &Quantity, lines: impl IntoIterator<Item = (usize, Line)>) -> Lines {
    let (keys, lines): (Vec<usize>, Vec<Line>) = lines.into_iter().filter(|(_, line)| !line.points.is_empty()).unzip();
    Lines { keys, ..panel(title, quantity, lines) }
}

/// The thresholds of the queues, each with its name; that of the discipline too if they differ.
fn marks(queues: &[(&str, &QueueTimeline)]) -> Vec<Mark> {
    let of_queue = |(label, queue): &(&str, &QueueTimeline)| {
        let kept = !queue.average.is_empty();
        let all = queue.thresholds.iter().filter(move |_| kept).cloned();
        all.map(|(name, at)| ((*label).to_owned(), name, at)).collect::<Vec<_>>()
    };
    let all: Vec<(String, String, f64)> = queues.iter().flat_map(of_queue).collect();
    let mut marks: Vec<Mark> = Vec::new();
    for (label, name, at) in &all {
        let agreed = all.iter().all(|(_, other, value)| other != name || value == at);
        let label = if agreed { format!("{name} {at}") } else { format!("{name} of {label}, {at}") };
        if marks.iter().all(|mark| mark.label != label) {
            marks.push(Mark { at: *at, label });
        }
    }
    if marks.len() > MARKS { Vec::new() } else { marks }
}

/// Lines over an axis: as a chart, or where they are too many for its colours with a choice of those that are drawn.
pub(super) fn chosen(title: &str, note: &str, x: Axis, y: Axis, lines: Vec<Line>) -> Option<Block> {
    if lines.is_empty() {
        return None;
    }
    let names: Vec<String> = lines.iter().map(|line| line.name.clone()).collect();
    let chart = Lines::new(title, x, y, lines);
    let note = note.to_owned();
    Some(Block::Chart(if names.len() > LINES {
        let (keys, title) = ((0..names.len()).collect(), title.to_owned());
        Chart::Stack { title, note, keys: names, panels: vec![Lines { keys, ..chart }] }
    } else {
        Chart::Lines { note, chart }
    }))
}
