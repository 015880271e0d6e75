//! Figures as SVG.

use fairlane_outcome::{Estimate, Outcome};
use kuva::plot::annotations::ReferenceLine;
use kuva::plot::{BarPlot, LegendPosition, LinePlot, ScatterPlot};
use kuva::render::layout::{Layout, TickFormat};
use kuva::render::plots::Plot;
use kuva::render::theme::Theme;

use crate::summary::{fair_share, group_names, labels};

/// A figure: what it shows, and how its axes read.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// What the figure shows.
    pub title: String,
    /// The horizontal axis, with its unit.
    pub x: String,
    /// The vertical axis, with its unit.
    pub y: String,
    /// What is drawn.
    pub content: Content,
    /// Horizontal lines to compare with.
    pub marks: Vec<Mark>,
}

/// What a figure draws.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Lines through points, with error bars where there are intervals.
    Lines(Vec<Line>),
    /// For each category a bar of each series, side by side, with error bars where there are intervals.
    Bars(Bars),
    /// For each category one bar, of the series' parts of 1.
    Shares(Bars),
}

/// A line through points.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// The name in the legend.
    pub name: String,
    /// The points, from left to right. Points that are not finite are left out.
    pub points: Vec<(f64, Estimate)>,
}

/// Bars over categories.
#[derive(Clone, Debug, PartialEq)]
pub struct Bars {
    /// The categories' names, from left to right.
    pub categories: Vec<String>,
    /// Each series' name and its values, one for each category; missing ones are 0.
    pub series: Vec<(String, Vec<Estimate>)>,
}

/// A horizontal line to compare with.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// Where it crosses the vertical axis.
    pub at: f64,
    /// What it says.
    pub label: String,
}

/// Colours that people with colour-blindness tell apart, on white and on black (Okabe and Ito 2008).
const SERIES: [&str; 6] = ["#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9"];
/// Text and axes: equally readable on a light and on a dark page, since the background is the page's.
const INK: &str = "#768390";
/// Lines of the grid, which only guide the eye.
const GRID: &str = "#76839040";
/// Lines to compare with.
const MARK: &str = "#cf222e";

/// Each group's share of the bottleneck under each discipline, with lines where the shares would be if every flow had
/// the same.
#[must_use]
pub fn compare_figure(outcomes: &[Outcome]) -> Figure {
    let names = group_names(outcomes);
    let share = |outcome: &Outcome, name: &str| outcome.group(name).map_or_else(Estimate::default, |group| group.share);
    let series = |name: &&str| {
        let shares = outcomes.iter().map(|outcome| share(outcome, name)).collect();
        ((*name).to_owned(), shares)
    };
    let mut below = 0.0;
    let mark = |name: &&str| {
        let part = fair_share(outcomes.first()?, name);
        below += part;
        Some(Mark { at: below, label: format!("fair share of {name}: {:.0} %", part * 100.0) })
    };
    // The last line would be the top of the bar.
    let marks = names.iter().take(names.len().saturating_sub(1)).filter_map(mark).collect();
    Figure {
        title: outcomes.first().map_or_else(String::new, |outcome| outcome.scenario.clone()),
        x: String::new(),
        y: "share of the throughput".to_owned(),
        content: Content::Shares(Bars { categories: labels(outcomes), series: names.iter().map(series).collect() }),
        marks,
    }
}

impl Figure {
    /// The figure as SVG, without a background: it takes that of the page.
    #[must_use]
    pub fn to_svg(&self) -> String {
        let plots = self.plots();
        if plots.is_empty() {
            let empty = Layout::new((0.0, 1.0), (0.0, 1.0)).with_theme(theme()).with_title(text(&self.title));
            return own_ids(&kuva::render_to_svg(plots, empty));
        }
        let mut layout = Layout::auto_from_plots(&plots)
            .with_theme(theme())
            .with_width(640.0)
            .with_height(360.0)
            .with_legend_position(LegendPosition::OutsideRightTop)
            .with_legend_box(false)
            .with_title(text(&self.title))
            .with_y_label(text(&self.y))
            .with_y_axis_min(0.0);
        if !self.x.is_empty() {
            layout = layout.with_x_label(text(&self.x));
        }
        if let Content::Shares(_) = self.content {
            let percent = |share: f64| format!("{:.0} %", share * 100.0);
            layout = layout.with_y_axis_max(1.0).with_y_tick_format(TickFormat::Custom(std::sync::Arc::new(percent)));
        }
        // Beside the lines the labels would lie on the bars; under the title they can always be read.
        let marks: Vec<&Mark> = self.marks.iter().filter(|mark| mark.at.is_finite()).collect();
        for mark in &marks {
            let line = ReferenceLine::horizontal(mark.at).with_color(MARK).with_stroke_width(1.5);
            layout = layout.with_reference_line(line);
        }
        if !marks.is_empty() {
            let labels: Vec<String> = marks.iter().map(|mark| text(&mark.label)).collect();
            layout = layout.with_subtitle(format!("dashed: {}", labels.join(", ")));
        }
        own_ids(&kuva::render_to_svg(plots, layout))
    }

    fn plots(&self) -> Vec<Plot> {
        match &self.content {
            Content::Lines(lines) => {
                lines.iter().enumerate().flat_map(|(index, line)| line_plots(index, line)).collect()
            }
            Content::Bars(bars) => bar_plot(bars, false).into_iter().collect(),
            Content::Shares(bars) => bar_plot(bars, true).into_iter().collect(),
        }
    }
}

/// A line, and its points with their intervals.
fn line_plots(index: usize, line: &Line) -> Vec<Plot> {
    let finite = |(x, y): &&(f64, Estimate)| x.is_finite() && y.mean.is_finite();
    let points: Vec<(f64, f64)> = line.points.iter().filter(finite).map(|(x, y)| (*x, y.mean)).collect();
    if points.is_empty() {
        return Vec::new();
    }
    let halves: Vec<f64> = line.points.iter().filter(finite).map(|(_, y)| half(y)).collect();
    let colour = SERIES[index % SERIES.len()];
    let dots = ScatterPlot::new().with_data(points.clone()).with_color(colour).with_size(3.0);
    let dots = if halves.iter().any(|&half| half > 0.0) { dots.with_y_err(halves) } else { dots };
    let through = LinePlot::new().with_data(points).with_color(colour).with_stroke_width(2.0);
    vec![through.with_legend(text(&line.name)).into(), dots.into()]
}

fn bar_plot(bars: &Bars, stacked: bool) -> Option<Plot> {
    if bars.categories.is_empty() || bars.series.is_empty() {
        return None;
    }
    let value = |values: &[Estimate], category: usize| values.get(category).copied().unwrap_or_default();
    let mut plot = BarPlot::new().with_width(0.6);
    let mut halves = Vec::new();
    for (category, name) in bars.categories.iter().enumerate() {
        let values = bars.series.iter().enumerate().map(|(index, (_, values))| {
            let mean = value(values, category).mean;
            (if mean.is_finite() { mean } else { 0.0 }, SERIES[index % SERIES.len()])
        });
        plot = plot.with_group(text(name), values);
        halves.extend(bars.series.iter().map(|(_, values)| half(&value(values, category))));
    }
    let names: Vec<String> = bars.series.iter().map(|(name, _)| text(name)).collect();
    plot = plot.with_legend(names.iter().map(String::as_str).collect());
    if stacked {
        plot = plot.with_stacked();
    } else if halves.iter().any(|&half| half > 0.0) {
        plot = plot.with_error(halves).with_error_color(INK);
    }
    Some(plot.into())
}

/// The half width of the interval; 0 where there is none.
fn half(value: &Estimate) -> f64 {
    value.ci95().filter(|half| half.is_finite()).unwrap_or(0.0)
}

fn theme() -> Theme {
    let ink = || INK.to_owned();
    Theme {
        background: "none".to_owned(),
        axis_color: ink(),
        grid_color: GRID.to_owned(),
        tick_color: ink(),
        text_color: ink(),
        legend_bg: "none".to_owned(),
        legend_border: ink(),
        font_family: Some("system-ui, sans-serif".to_owned()),
        ..Theme::light()
    }
}

/// Names the clip paths by the figure's content. The renderer counts them over the life of the process, so the same
/// figure would have other bytes each time; and figures on one page must not share a name.
fn own_ids(svg: &str) -> String {
    let mut parts = svg.split("kuva-clip-");
    let mut pieces: Vec<&str> = parts.next().into_iter().collect();
    pieces.extend(parts.map(|part| part.trim_start_matches(|c: char| c.is_ascii_digit())));
    // FNV-1a over everything but the numbers.
    let hash = pieces
        .iter()
        .flat_map(|piece| piece.bytes())
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    pieces.join(&format!("clip-{hash:016x}"))
}

/// A name as it is: a dollar sign would begin a formula, and control characters are not XML.
fn text(name: &str) -> String {
    name.chars().map(|c| if c.is_control() { '�' } else { c }).collect::<String>().replace('$', "\\$")
}
