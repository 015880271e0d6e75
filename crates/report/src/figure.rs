//! Figures as SVG.

#[cfg(feature = "html")]
mod data;
mod draw;
mod outcomes;

use fairlane_outcome::Estimate;

pub use self::outcomes::compare_figure;

/// A figure: what it shows, and how its axes read.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// What the figure shows.
    pub title: String,
    /// The horizontal axis; bars have their categories there, and only its label is used.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// What is drawn.
    pub content: Content,
    /// Values of the vertical axis to compare with, drawn as dashed lines.
    pub marks: Vec<Mark>,
}

/// An axis: its label and its scale.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// What is measured, with the unit; nothing for none.
    pub label: String,
    /// Whether equal ratios are equally far apart. Points that are not above zero are then left out. Bars ignore it.
    pub log: bool,
}

/// What a figure draws.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Lines through points, with error bars where there are intervals.
    Lines(Vec<Line>),
    /// For each category a bar of each series, side by side, with error bars where there are intervals.
    Bars(Bars),
    /// For each category one bar, of the series' values upon each other.
    Stacked(Bars),
    /// For each category one bar, of the series' parts of 1.
    Shares(Bars),
}

/// A line through points.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// The name in the legend.
    pub name: String,
    /// How it is drawn.
    pub style: LineStyle,
    /// The points, from left to right. Points that are not finite are left out.
    pub points: Vec<(f64, Estimate)>,
}

/// How a line is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LineStyle {
    /// Through the points, each with a marker and its interval.
    #[default]
    Marked,
    /// Through the points, without markers: for many of them.
    Plain,
    /// Level from each point to the next: for counts and distributions.
    Steps,
    /// Only the markers: for values to compare with, such as a paper's.
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

/// A value to compare with.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// Where it crosses the vertical axis.
    pub at: f64,
    /// What it says.
    pub label: String,
}

impl Axis {
    /// An axis on which equal differences are equally far apart.
    #[must_use]
    pub fn linear(label: impl Into<String>) -> Self {
        Self { label: label.into(), log: false }
    }

    /// An axis on which equal ratios are equally far apart.
    #[must_use]
    pub fn log(label: impl Into<String>) -> Self {
        Self { label: label.into(), log: true }
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

    /// For a page of usual width: without the title, in colours of the page's style.
    #[cfg(feature = "html")]
    pub(crate) fn wide_svg(&self) -> String {
        draw::wide(self)
    }

    /// For a page as narrow as a telephone.
    #[cfg(feature = "html")]
    pub(crate) fn narrow_svg(&self) -> String {
        draw::narrow(self)
    }

    /// What the figure shows, for those who do not see it.
    #[cfg(feature = "html")]
    pub(crate) fn description(&self) -> String {
        let (what, names): (&str, Vec<&str>) = match &self.content {
            Content::Lines(lines) => ("Lines", lines.iter().map(|line| line.name.as_str()).collect()),
            Content::Bars(bars) | Content::Stacked(bars) | Content::Shares(bars) => {
                ("Bars", bars.series.iter().map(|(name, _)| name.as_str()).collect())
            }
        };
        let over = if self.x.label.is_empty() { String::new() } else { format!(" over {}", self.x.label) };
        format!("{what} of {}{over}: {}. The data below has all numbers.", self.y.label, names.join(", "))
    }
}
