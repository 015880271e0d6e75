//! What one run did over time.

use fairlane_outcome::Estimate;

use super::Block;
use crate::figure::{Axis, Figure, Line, LineStyle};

/// Lines that one figure has at most: more could not be told apart.
pub(super) const LINES: usize = 6;

/// What one run did over time, the warm-up included.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Course {
    /// When each value was taken, in seconds from the start.
    pub time_s: Vec<f64>,
    /// The queues.
    pub queues: Vec<QueueCourse>,
    /// The groups of flows.
    pub groups: Vec<GroupCourse>,
}

/// A queue over time; one value for each of [`Course::time_s`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueueCourse {
    /// The queue's name.
    pub name: String,
    /// Packets in the queue.
    pub packets: Vec<f64>,
    /// The discipline's own average, in its own unit; empty where it keeps none.
    pub average: Vec<f64>,
}

/// A group of flows over time; one value for each of [`Course::time_s`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GroupCourse {
    /// The group's name.
    pub name: String,
    /// What its flows delivered since the value before, in bit/s.
    pub throughput_bps: Vec<f64>,
}

/// What the page says of these figures.
const NOTE: &str = "The first run, its warm-up included.";

/// One scenario: each queue's length with its average, and what the groups got.
pub(super) fn of_one(course: &Course) -> Vec<Block> {
    let queue = |queue: &QueueCourse| {
        let length = line(course, &format!("packets in {}", queue.name), &queue.packets, 1.0);
        let average = line(course, "the discipline's average", &queue.average, 1.0);
        let title = format!("Length of {} over time", queue.name);
        over_time(&title, "packets", vec![length, average])
    };
    let groups = course.groups.iter().map(|group| line(course, &group.name, &group.throughput_bps, 1e-6)).collect();
    let throughput = over_time("Throughput of each group over time", "throughput (Mb/s)", groups);
    course.queues.iter().take(LINES).flat_map(queue).chain(throughput).collect()
}

/// Several scenarios beside each other, each with its label and the queue that it is about.
pub(super) fn of_several(courses: &[(&str, &str, &Course)]) -> Vec<Block> {
    let queue = |(label, name, course): &(&str, &str, &Course)| {
        let queue = course.queues.iter().find(|queue| queue.name == *name)?;
        Some(line(course, label, &queue.packets, 1.0))
    };
    let lengths = courses.iter().filter_map(queue).collect();
    let mut figures = over_time("Length of the queue over time", "packets", lengths);
    let mut names: Vec<&str> = Vec::new();
    for group in courses.iter().flat_map(|(_, _, course)| &course.groups) {
        if !names.contains(&group.name.as_str()) {
            names.push(&group.name);
        }
    }
    for name in names {
        let group = |(label, _, course): &(&str, &str, &Course)| {
            let group = course.groups.iter().find(|group| group.name == name)?;
            Some(line(course, label, &group.throughput_bps, 1e-6))
        };
        let lines = courses.iter().filter_map(group).collect();
        figures.extend(over_time(&format!("Throughput of {name} over time"), "throughput (Mb/s)", lines));
    }
    figures
}

fn line(course: &Course, name: &str, values: &[f64], unit: f64) -> Line {
    let points = course.time_s.iter().zip(values).map(|(time, value)| (*time, Estimate::single(value * unit)));
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
