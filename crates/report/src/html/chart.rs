//! Charts that the script of a page draws.

use fairlane_outcome::Estimate;

use crate::figure::{Axis, Figure, Line, Mark};

/// A chart, or several that belong together.
#[derive(Clone, Debug, PartialEq)]
pub enum Chart {
    /// Lines over an axis.
    Lines {
        /// A note on how to read it.
        note: String,
        /// The lines.
        chart: Lines,
    },
    /// Lines over the same axis in panels below each other, which share their cursor and their zoom.
    Stack {
        /// The title.
        title: String,
        /// A note on how to read it.
        note: String,
        /// The names that can be chosen to be drawn; a line belongs to one by [`Lines::keys`].
        keys: Vec<String>,
        /// The panels.
        panels: Vec<Lines>,
    },
    /// Small charts with equal axes, each with the title of what it shows.
    Grid {
        /// The title.
        title: String,
        /// A note on how to read it.
        note: String,
        /// The charts.
        cells: Vec<Lines>,
    },
    /// Places in the plane of two measures, in panels with equal axes.
    Scatter {
        /// The title.
        title: String,
        /// A note on how to read it.
        note: String,
        /// The horizontal axis.
        x: Axis,
        /// The panels.
        panels: Vec<Panel>,
    },
}

/// Lines over an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Lines {
    /// The title.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The lines.
    pub lines: Vec<Line>,
    /// Values of the vertical axis, drawn as dashed lines with their names.
    pub marks: Vec<Mark>,
    /// The number of the key of each line; empty where there is nothing to choose.
    pub keys: Vec<usize>,
    /// The end of the warm-up in the unit of the horizontal axis; the time until then is shaded.
    pub warmup: Option<f64>,
    /// True if the lines are groups of flows, and have their colours.
    pub groups: bool,
    /// How points are drawn that are closer to each other than can be seen; `None` to draw each of them.
    pub bins: Option<Bins>,
}

/// How several points are drawn as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bins {
    /// Their mean: for rates, whose mean is the rate over a longer time.
    Mean,
    /// Their mean, and the range of their values as a band.
    Range,
}

/// Places in the plane of two measures.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// The title.
    pub title: String,
    /// The vertical axis.
    pub y: Axis,
    /// The places, each with its name and its two measures.
    pub places: Vec<(String, Estimate, Estimate)>,
}

impl Lines {
    /// Lines with a title over an axis.
    #[must_use]
    pub fn new(title: impl Into<String>, x: Axis, y: Axis, lines: Vec<Line>) -> Self {
        let (marks, keys) = (Vec::new(), Vec::new());
        Self { title: title.into(), x, y, lines, marks, keys, warmup: None, groups: false, bins: None }
    }

    /// The lines of a figure.
    pub(super) fn of(figure: &Figure, lines: &[Line]) -> Self {
        let all = Self::new(&figure.title, figure.x.clone(), figure.y.clone(), lines.to_vec());
        Self { marks: figure.marks.clone(), ..all }
    }

    /// The number of points of all lines.
    pub(super) fn points(&self) -> usize {
        self.lines.iter().map(|line| line.points.len()).sum()
    }
}

impl Chart {
    /// The title.
    #[must_use]
    pub fn title(&self) -> &str {
        match self {
            Self::Lines { chart, .. } => &chart.title,
            Self::Stack { title, .. } | Self::Grid { title, .. } | Self::Scatter { title, .. } => title,
        }
    }

    /// The note on how to read it; empty for none.
    #[must_use]
    pub fn note(&self) -> &str {
        match self {
            Self::Lines { note, .. }
            | Self::Stack { note, .. }
            | Self::Grid { note, .. }
            | Self::Scatter { note, .. } => note,
        }
    }
}
