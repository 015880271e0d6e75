//! Figures as SVG.

mod draw;
pub(crate) mod outcomes;
pub(crate) mod over_time;
pub(crate) mod sweep;

use fairlane_outcome::Estimate;

pub use self::outcomes::{compare_figure, delay_figure, scatter_figure};
pub use self::over_time::series_figure;
pub use self::sweep::sweep_figure;

/// A figure: its content and its axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// The figure's title.
    pub title: String,
    /// The horizontal axis; bars have their categories there, and only its label is used.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The lines or bars.
    pub content: Content,
    /// Reference values of the vertical axis, drawn as dashed lines.
    pub marks: Vec<Mark>,
}

/// An axis: its label and its scale.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// The quantity and its unit; empty for none.
    pub label: String,
    /// True for a logarithmic axis. Points that are not above zero are then left out. Bars ignore it.
    pub log: bool,
    /// The least and the greatest possible value, at which intervals end.
    pub range: (f64, f64),
}

/// A quantity of a sweep or of a time series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Of a sweep: a group's share of the throughput.
    Share,
    /// Of a sweep: the mean delay in the queue.
    Delay,
    /// Packets in the queue: of a sweep their mean, of a series their number.
    Length,
    /// Of a sweep: the utilisation of the link.
    Utilisation,
    /// Of a series: the average that the discipline keeps.
    Average,
    /// Of a series: the probability of a signal.
    Probability,
    /// Of a series: drops per second.
    Drops,
    /// Of a series: marks per second.
    Marks,
    /// Of a series: a group's goodput.
    Goodput,
    /// Of a series: the mean congestion window of a group's flows.
    Window,
    /// Of a series: the mean smoothed round trip time of a group's flows.
    RoundTrip,
}

impl Measure {
    /// The measures, their names and their descriptions.
    pub const NAMED: [(Self, &'static str, &'static str); 11] = [
        (Self::Share, "share", "Of a sweep: a group's share of the throughput"),
        (Self::Delay, "delay", "Of a sweep: the mean delay in the queue"),
        (Self::Length, "length", "Packets in the queue: of a sweep their mean, of a series their number"),
        (Self::Utilisation, "utilisation", "Of a sweep: the utilisation of the link"),
        (Self::Average, "average", "Of a series: the average that the discipline keeps"),
        (Self::Probability, "probability", "Of a series: the probability of a signal"),
        (Self::Drops, "drops", "Of a series: drops per second"),
        (Self::Marks, "marks", "Of a series: marks per second"),
        (Self::Goodput, "goodput", "Of a series: a group's goodput"),
        (Self::Window, "window", "Of a series: the mean congestion window of a group's flows"),
        (Self::RoundTrip, "rtt", "Of a series: the mean smoothed round trip time of a group's flows"),
    ];
}

/// The content of a figure.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Lines through points, with error bars for intervals.
    Lines(Vec<Line>),
    /// For each category the bars of all series side by side, with error bars for intervals.
    Bars(Bars),
    /// For each category one bar, with the series' values stacked.
    Stacked(Bars),
    /// For each category one bar of length 1, divided into the series' parts.
    Shares(Bars),
}

/// A line through points.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// The name in the legend.
    pub name: String,
    /// The style of the line.
    pub style: LineStyle,
    /// The points, from left to right. Points that are not finite are left out.
    pub points: Vec<(f64, Estimate)>,
}

/// Styles of lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LineStyle {
    /// A line through the points, each with a marker and its interval.
    #[default]
    Marked,
    /// A line without markers, for many points.
    Plain,
    /// Steps, level from each point to the next, for counts and distributions.
    Steps,
    /// Only markers, for reference values such as a paper's.
    Points,
}

/// Bars over categories.
#[derive(Clone, Debug, PartialEq)]
pub struct Bars {
    /// The categories' names, in their order.
    pub categories: Vec<String>,
    /// Each series' name and its values, one for each category; missing ones are 0.
    pub series: Vec<(String, Vec<Estimate>)>,
}

/// A reference value.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// The value at which it crosses the vertical axis.
    pub at: f64,
    /// The label.
    pub label: String,
}

impl Axis {
    /// A linear axis.
    #[must_use]
    pub fn linear(label: impl Into<String>) -> Self {
        Self { label: label.into(), log: false, range: (f64::NEG_INFINITY, f64::INFINITY) }
    }

    /// A logarithmic axis.
    #[must_use]
    pub fn log(label: impl Into<String>) -> Self {
        Self { log: true, ..Self::linear(label) }
    }

    /// The axis with the range of possible values, at which intervals end.
    #[must_use]
    pub fn within(self, least: f64, most: f64) -> Self {
        Self { range: (least, most), ..self }
    }
}

impl Line {
    /// A line called `name`, drawn in `style`.
    #[must_use]
    pub fn new(name: impl Into<String>, style: LineStyle, points: Vec<(f64, Estimate)>) -> Self {
        Self { name: name.into(), style, points }
    }
}

impl Figure {
    /// Lines over `x` and `y`.
    #[must_use]
    pub fn lines(title: impl Into<String>, x: Axis, y: Axis, lines: Vec<Line>) -> Self {
        Self { title: title.into(), x, y, content: Content::Lines(lines), marks: Vec::new() }
    }

    /// The figure as SVG, without a background: it takes that of the page.
    #[must_use]
    pub fn to_svg(&self) -> String {
        draw::standalone(self)
    }

    /// The figure as a PDF of one page of its size, in points. Its font is DejaVu Sans, of which it contains the
    /// letters that it uses; letters that this font does not have are taken from the system's fonts.
    ///
    /// # Errors
    /// The figure could not be converted, which would be a mistake in this crate.
    #[cfg(feature = "pdf")]
    pub fn to_pdf(&self) -> Result<Vec<u8>, String> {
        draw::pdf(self)
    }
}
