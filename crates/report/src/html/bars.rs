//! Tables with bars: pictures that need no script, print sharply and can be read out.

use fairlane_outcome::Estimate;
use maud::{Markup, html};

use super::block::Rendered;
use crate::figure::{Axis, Bars, Content, Figure};
use crate::numbers::{Scale, significant};

/// The number of colours of parts.
pub(super) const PARTS: usize = 6;
/// The most series that have a column of numbers each.
const NUMBERED: usize = 4;
/// Longer names of rows and columns are broken into lines.
const LONG: usize = 28;

/// A table of a row for each thing and a column for each measure of it.
#[derive(Clone, Debug, PartialEq)]
pub struct BarTable {
    /// The table's name.
    pub label: String,
    /// The title of the rows' names.
    pub rows_title: String,
    /// The names of the rows.
    pub rows: Vec<String>,
    /// The columns.
    pub columns: Vec<BarColumn>,
    /// A line for each thing without a column: the colour and its name.
    pub legend: Vec<(usize, String)>,
}

/// A column of a table with bars.
#[derive(Clone, Debug, PartialEq)]
pub enum BarColumn {
    /// Numbers, as they are shown and with all their digits.
    Numbers {
        /// The title.
        title: String,
        /// The colour of the part that the numbers belong to.
        part: Option<usize>,
        /// The numbers, one for each row.
        cells: Vec<(String, f64)>,
    },
    /// Bars of parts behind each other. The colour of a part is its number.
    Stacked {
        /// The title.
        title: String,
        /// The length of the axis.
        whole: f64,
        /// The unit of the axis: `%` shows parts of 1 as percent.
        unit: String,
        /// The parts of each row.
        parts: Vec<Vec<f64>>,
        /// Values that are marked by a line.
        marks: Vec<f64>,
    },
    /// A dot at each row's mean, with a line to the first and a tick at the second of two larger values.
    Ranges {
        /// The title.
        title: String,
        /// The unit.
        unit: String,
        /// The mean and the two larger values of each row; `None` where there is nothing.
        values: Vec<Option<[f64; 3]>>,
    },
    /// A bar from zero with its interval for each row.
    Lengths {
        /// The title.
        title: String,
        /// The colour.
        part: usize,
        /// The end of the axis.
        end: f64,
        /// The least and the greatest possible value, at which intervals end.
        range: (f64, f64),
        /// The values.
        values: Vec<Estimate>,
    },
}

impl BarTable {
    /// The bars of a figure; `None` if it has lines.
    pub(super) fn of(figure: &Figure) -> Option<Self> {
        let (bars, stacked) = match &figure.content {
            Content::Lines(_) => return None,
            Content::Bars(bars) => (bars, false),
            Content::Stacked(bars) | Content::Shares(bars) => (bars, true),
        };
        let shares = matches!(figure.content, Content::Shares(_));
        let (columns, legend) =
            if stacked { stacked_columns(bars, shares) } else { (beside(bars, &figure.y), Vec::new()) };
        let columns = if stacked {
            let marks: Vec<f64> = figure.marks.iter().map(|mark| mark.at).collect();
            columns.into_iter().map(|column| column.marked(&figure.y.label, &marks)).collect()
        } else {
            columns
        };
        Some(Self {
            label: figure.title.clone(),
            rows_title: figure.x.label.clone(),
            rows: bars.categories.clone(),
            columns,
            legend,
        })
    }

    /// The table with its bars; `page` numbers its axes.
    pub(super) fn markup(&self, page: &mut Rendered) -> Markup {
        let first = page.axes;
        page.axes += self.columns.len();
        let columns = || self.columns.iter().zip(first..);
        html! {
            @if !self.legend.is_empty() {
                p.legend { @for (part, name) in &self.legend { span { (swatch(*part)) (name) } } }
            }
            table.bars role="table" aria-label=(self.label) {
                thead role="rowgroup" { tr role="row" {
                    @if self.rows_title.is_empty() { td role="cell" {} } @else { th scope="col" role="columnheader" { (self.rows_title) } }
                    @for (column, axis) in columns() { (column.head(axis)) }
                } }
                tbody role="rowgroup" { @for (row, name) in self.rows.iter().enumerate() { tr role="row" {
                    th.long[name.chars().count() > LONG] scope="row" role="rowheader" { (name) }
                    @for (column, axis) in columns() { (column.cell(row, axis)) }
                } } }
            }
        }
    }
}

/// The numbers of each series, if they are few, and one bar of all.
fn stacked_columns(bars: &Bars, shares: bool) -> (Vec<BarColumn>, Vec<(usize, String)>) {
    let all = 0..bars.categories.len();
    let value = |values: &[Estimate], row: usize| values.get(row).copied().unwrap_or_default();
    let parts: Vec<Vec<f64>> = all
        .clone()
        .map(|row| bars.series.iter().map(|(_, values)| finite(value(values, row).mean)).collect())
        .collect();
    let longest = parts.iter().map(|row| row.iter().sum()).fold(0.0_f64, f64::max);
    let whole = if shares || longest <= 0.0 { 1.0 } else { longest };
    let unit = if shares { "%" } else { "" }.to_owned();
    let bar = BarColumn::Stacked { title: String::new(), whole, unit, parts, marks: Vec::new() };
    if bars.series.len() > NUMBERED {
        return (vec![bar], bars.series.iter().enumerate().map(|(part, (name, _))| (part, name.clone())).collect());
    }
    let numbers = bars.series.iter().enumerate().map(|(part, (name, values))| {
        let scale = if shares { Scale::percent(values) } else { Scale::plain(values) };
        let cell = |row| (joined(&scale.parts(&value(values, row))), value(values, row).mean);
        let cells = all.clone().map(cell).collect();
        BarColumn::Numbers { title: name.clone(), part: Some(part), cells }
    });
    (numbers.chain([bar]).collect(), Vec::new())
}

/// For each series its numbers and its bars.
fn beside(bars: &Bars, axis: &Axis) -> Vec<BarColumn> {
    let reach = |value: &Estimate| finite((value.mean + value.ci95().unwrap_or(0.0)).min(axis.range.1).max(value.mean));
    let end = bars.series.iter().flat_map(|(_, values)| values).map(reach).fold(0.0_f64, f64::max);
    let column = |(part, (name, values)): (usize, &(String, Vec<Estimate>))| {
        let values: Vec<Estimate> =
            (0..bars.categories.len()).map(|row| values.get(row).copied().unwrap_or_default()).collect();
        let scale = Scale::plain(&values);
        let cells = values.iter().map(|value| (joined(&scale.parts(value)), value.mean)).collect();
        [
            BarColumn::Numbers { title: name.clone(), part: Some(part), cells },
            BarColumn::Lengths { title: String::new(), part, end, range: axis.range, values },
        ]
    };
    bars.series.iter().enumerate().flat_map(column).collect()
}

/// The parts of a number that are not empty.
pub(super) fn joined(parts: &[String]) -> String {
    parts.iter().filter(|part| !part.is_empty()).map(String::as_str).collect::<Vec<_>>().join(" ")
}

fn finite(value: f64) -> f64 {
    if value.is_finite() { value.max(0.0) } else { 0.0 }
}

/// The colour of a part.
fn swatch(part: usize) -> Markup {
    html! { svg.swatch viewBox="0 0 10 10" aria-hidden="true" { rect.(class(part)) width="10" height="10" rx="2" {} } }
}

fn class(part: usize) -> String {
    format!("part-{}", part % PARTS + 1)
}

fn percent(part: f64) -> String {
    format!("{}%", hundredths(part))
}

/// Per cent with at most two digits after the point.
fn hundredths(part: f64) -> f64 {
    libm::round(10_000.0 * part.clamp(0.0, 1.0)) / 100.0
}

impl BarColumn {
    fn marked(self, label: &str, at: &[f64]) -> Self {
        match self {
            Self::Stacked { whole, unit, parts, .. } => {
                Self::Stacked { title: label.to_owned(), whole, unit, parts, marks: at.to_vec() }
            }
            other => other,
        }
    }

    fn head(&self, axis: usize) -> Markup {
        match self {
            Self::Numbers { title, part, .. } => html! {
                th.number.long[title.chars().count() > LONG] scope="col" role="columnheader" { @if let Some(part) = part { (swatch(*part)) } (title) }
            },
            Self::Stacked { title, whole, unit, .. } => {
                let scale = if unit == "%" { 100.0 } else { *whole };
                html! { th.drawn scope="col" role="columnheader" { (title) (ruler(&linear_ticks(scale), unit, axis)) } }
            }
            Self::Ranges { title, unit, values } => {
                let ticks = LogAxis::over(values).ticks();
                html! { th.drawn scope="col" role="columnheader" { (title) (ruler(&ticks, unit, axis)) } }
            }
            Self::Lengths { title, end, .. } => {
                html! { td.drawn role="cell" data-drawn { (title) (ruler(&linear_ticks(*end), "", axis)) } }
            }
        }
    }

    fn cell(&self, row: usize, axis: usize) -> Markup {
        let drawn = |bar: Markup| {
            html! { td.drawn role="cell" data-drawn {
                svg.bar aria-hidden="true" { (again("grid", axis)) (bar) }
                // A narrow page has no room for the heads of columns.
                div.narrow.scale { svg.ruler aria-hidden="true" { (again("axis", axis)) } }
            } }
        };
        match self {
            Self::Numbers { title, part, cells } => html! {
                td.number role="cell" { @if let Some((text, value)) = cells.get(row) {
                    span.narrow aria-hidden="true" { @if let Some(part) = part { (swatch(*part)) } (title) " " }
                    data value=(value) { (text) }
                } }
            },
            Self::Stacked { whole, parts, marks, .. } => {
                drawn(stacked(parts.get(row).map_or(&[] as &[f64], Vec::as_slice), *whole, marks))
            }
            Self::Ranges { values, .. } => match values.get(row) {
                Some(range) => drawn(LogAxis::over(values).range(*range)),
                None => html! { td.drawn role="cell" data-drawn {} },
            },
            Self::Lengths { part, end, range, values, .. } => drawn(length(values.get(row), *end, *range, *part)),
        }
    }
}

/// Values of an axis with their places from 0 to 1, in steps of 1, 2 or 5 times a power of ten.
fn linear_ticks(end: f64) -> Vec<(f64, f64)> {
    if end <= 0.0 || !end.is_finite() {
        return Vec::new();
    }
    let power = libm::pow(10.0, libm::floor(libm::log10(end / 3.0)));
    let step =
        [1.0, 2.0, 2.5, 5.0, 10.0].iter().map(|times| times * power).find(|step| end / step <= 4.5).unwrap_or(end);
    (0..=4)
        .map(|count| f64::from(count) * step)
        .filter(|value| *value <= end * 1.0001)
        .map(|value| (value, value / end))
        .collect()
}

/// The widths of a column in rem from which numbers are shown that do not fit into narrower ones; `style.css` has a
/// rule for each.
const WIDTHS: [u32; 6] = [6, 9, 12, 16, 20, 28];
/// The width of a letter of an axis in rem, and the room between two numbers.
const LETTER: f64 = 0.46;
const ROOM: f64 = 0.5;

/// The numbers or the lines of a column's axis, which its head has: a page has thousands of bars.
fn again(part: &str, axis: usize) -> Markup {
    html! { use href=(format!("#{part}-{axis}")) {} }
}

/// The numbers of an axis. In a narrow column every second one is left out, and in a very narrow one all but the ends.
fn ruler(ticks: &[(f64, f64)], unit: &str, axis: usize) -> Markup {
    let last = ticks.len().saturating_sub(1);
    let label = |(index, (value, place)): (usize, &(f64, f64))| {
        let unit = if index == last && !unit.is_empty() { format!(" {unit}") } else { String::new() };
        (*place, significant(*value, 3) + &unit)
    };
    let labels: Vec<(f64, String)> = ticks.iter().enumerate().map(label).collect();
    let steps = [1, 2].map(|step| needed(&labels, step));
    let class = |index: usize| {
        let inner = index > 0 && index < last;
        inner.then(|| steps[usize::from((last - index).is_multiple_of(2))].clone())
    };
    html! {
        div.scale { svg.ruler aria-hidden="true" {
            g id=(format!("axis-{axis}")) { @for (index, (place, text)) in labels.iter().enumerate() {
                text class=[class(index)] x=(percent(*place)) y="11" text-anchor=(anchor(*place).0) { (text) }
            } }
            symbol id=(format!("grid-{axis}")) viewBox="0 0 100 1" preserveAspectRatio="none" { path.grid d=(grid(ticks)) {} }
        } }
    }
}

/// The anchor of a number at this place, and the parts of its width before and behind it.
fn anchor(place: f64) -> (&'static str, f64, f64) {
    match place {
        ..0.04 => ("start", 0.0, 1.0),
        0.96.. => ("end", 1.0, 0.0),
        _ => ("middle", 0.5, 0.5),
    }
}

/// The class of numbers that are shown from the width in which each `step`th one, counted from the last, and the first
/// one fit.
fn needed(labels: &[(f64, String)], step: usize) -> String {
    let mut shown: Vec<&(f64, String)> = labels.iter().rev().step_by(step).collect();
    if let Some(first) = labels.first().filter(|first| shown.last().is_some_and(|last| last.0 > first.0)) {
        shown.push(first);
    }
    let wide = |text: &str| LETTER * text.chars().count() as f64;
    let width = |pair: &[&(f64, String)]| {
        let [(behind, after), (place, text)] = [pair[0], pair[1]];
        (wide(text) * anchor(*place).2 + wide(after) * anchor(*behind).1 + ROOM) / (behind - place)
    };
    let width = shown.windows(2).map(width).fold(0.0, f64::max);
    let width = WIDTHS.into_iter().find(|rem| f64::from(*rem) >= width).unwrap_or(WIDTHS[WIDTHS.len() - 1]);
    format!("from-{width}")
}

/// The lines of a grid in one path.
fn grid(ticks: &[(f64, f64)]) -> String {
    ticks.iter().map(|(_, place)| format!("M{} 0v1", hundredths(*place))).collect()
}

fn stacked(parts: &[f64], whole: f64, marks: &[f64]) -> Markup {
    let mut from = 0.0;
    let parts: Vec<(usize, f64, f64)> = parts
        .iter()
        .enumerate()
        .map(|(part, length)| {
            let start = from;
            from += length / whole;
            (part, start, length / whole)
        })
        .filter(|(_, _, length)| *length > 0.0)
        .collect();
    html! {
        @for (part, start, length) in parts {
            rect.(class(part)) x=(percent(start)) y="5" width=(percent(length)) height="16" {}
        }
        @for mark in marks.iter().filter(|mark| mark.is_finite()) {
            line.mark x1=(percent(mark / whole)) x2=(percent(mark / whole)) y2="100%" {}
        }
    }
}

fn length(value: Option<&Estimate>, end: f64, range: (f64, f64), part: usize) -> Markup {
    let Some(value) = value.filter(|value| end > 0.0 && value.mean.is_finite()) else { return html! {} };
    let half = value.ci95().filter(|half| half.is_finite() && *half > 0.0);
    let ends = half.map(|half| [(value.mean - half).max(range.0), (value.mean + half).min(range.1)]);
    html! {
        rect.(class(part)) x="0" y="5" width=(percent(value.mean / end)) height="16" {}
        @if let Some([from, to]) = ends {
            line.interval x1=(percent(from / end)) x2=(percent(to / end)) y1="13" y2="13" {}
        }
    }
}

/// The room of a logarithmic axis beyond its least and its greatest value, as a factor: enough for two of the finest
/// [`TIMES`], whose largest step is 1.25.
const MARGIN: f64 = 1.27;

/// Multiples of powers of ten on a logarithmic axis.
const TIMES: [&[f64]; 4] = [
    &[1.0],
    &[1.0, 2.0, 5.0],
    &[1.0, 1.5, 2.0, 3.0, 5.0, 7.0],
    &[1.0, 1.2, 1.5, 1.8, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0],
];

/// A logarithmic axis over all values of a column.
struct LogAxis {
    low: f64,
    high: f64,
}

impl LogAxis {
    fn over(values: &[Option<[f64; 3]>]) -> Self {
        let all = || values.iter().flatten().flatten().copied().filter(|value| *value > 0.0 && value.is_finite());
        let (low, high) = all().fold((f64::INFINITY, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)));
        if low > high { Self { low: 1.0, high: 10.0 } } else { Self { low: low / MARGIN, high: high * MARGIN } }
    }

    fn place(&self, value: f64) -> f64 {
        libm::log(value.max(self.low) / self.low) / libm::log(self.high / self.low)
    }

    /// Powers of ten, or as many values between them as give the axis three numbers, or two at least.
    fn ticks(&self) -> Vec<(f64, f64)> {
        let first = libm::floor(libm::log10(self.low)) as i32;
        let last = libm::ceil(libm::log10(self.high)) as i32;
        let within = |times: &[f64]| {
            let all = (first..=last)
                .flat_map(|power| times.iter().map(move |times| times * libm::pow(10.0, f64::from(power))));
            let mut ticks: Vec<(f64, f64)> = Vec::new();
            for value in all.filter(|value| (self.low..=self.high).contains(value)) {
                let place = self.place(value);
                // Neighbours need room for their digits.
                if ticks.last().is_none_or(|(_, before)| place - before > 0.16) {
                    ticks.push((value, place));
                }
            }
            ticks
        };
        let three = TIMES.iter().map(|times| within(times)).find(|ticks| ticks.len() > 2);
        three.unwrap_or_else(|| within(TIMES[TIMES.len() - 1]))
    }

    fn range(&self, values: Option<[f64; 3]>) -> Markup {
        let Some([mean, first, second]) = values.filter(|values| values[0] > 0.0) else {
            return html! {};
        };
        let [from, to, end] = [mean, first, second].map(|value| percent(self.place(value)));
        html! {
            line.range x1=(from) x2=(to) y1="13" y2="13" {}
            line.far x1=(end) x2=(end) y1="9" y2="17" {}
            circle.dot cx=(from) cy="13" r="4.5" {}
        }
    }
}
