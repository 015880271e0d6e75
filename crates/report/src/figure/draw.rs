//! Draws figures with the library kuva.

use std::sync::Arc;

use fairlane_outcome::Estimate;
use kuva::plot::annotations::ReferenceLine;
use kuva::plot::legend::{LegendEntry, LegendShape};
use kuva::plot::scatter::MarkerShape;
use kuva::plot::{BarPlot, LegendPosition, LinePlot, ScatterPlot};
use kuva::render::layout::{AxisLabelOverlap, Layout, TickFormat};
use kuva::render::plots::Plot;
use kuva::render::theme::Theme;
use unicode_width::UnicodeWidthStr;

use super::{Axis, Bars, Content, Figure, Line, LineStyle, Mark};
use crate::numbers::significant;
use crate::table::cut;

/// Colours that people with colour-blindness can distinguish, on white and on black (Okabe and Ito 2008).
const SERIES: [&str; 6] = ["#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9"];
/// Colours of text, grid and reference lines. They are readable on a light and on a dark page, since the background is
/// the page's.
const TEXT: &str = "#768390";
const GRID: &str = "#76839040";
const MARK: &str = "#cf222e";
/// The size of a figure.
const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 400.0;
/// Letters of a name that fit into the legend.
const LETTERS: usize = 44;
/// Dashes of lines, for readers who do not see the colours.
const DASHES: [Option<&str>; 6] = [None, Some("7 3"), Some("2 3"), Some("9 3 2 3"), Some("4 2"), Some("12 4")];
/// Shapes of markers, for the same reason.
const MARKERS: [MarkerShape; 6] = [
    MarkerShape::Circle,
    MarkerShape::Square,
    MarkerShape::Triangle,
    MarkerShape::Diamond,
    MarkerShape::TriangleDown,
    MarkerShape::Pentagon,
];
/// Height of a row of the legend.
const LEGEND_ROW: f64 = 18.0;
/// Number of categories from which bars are horizontal, so that their names are below each other.
const LYING: usize = 7;

/// The figure as a separate file.
pub(super) fn standalone(figure: &Figure) -> String {
    let (plots, layout) = laid_out(figure, theme(TEXT, "system-ui, sans-serif"));
    scaled(&own_ids(&kuva::render_to_svg(plots, layout)))
}

/// The figure as a PDF, for paper: text is black.
#[cfg(feature = "pdf")]
pub(super) fn pdf(figure: &Figure) -> Result<Vec<u8>, String> {
    let (plots, layout) = laid_out(figure, theme("#000000", "DejaVu Sans, sans-serif"));
    let mut scene = kuva::render::render::render_multiple(plots, layout);
    scene.width += MARGIN;
    kuva::backend::pdf::PdfBackend::new().render_scene(&scene)
}

fn laid_out(figure: &Figure, theme: Theme) -> (Vec<Plot>, Layout) {
    let sideways = sideways(figure);
    let plots = plots(figure, sideways);
    let entries = legend(figure);
    let mut layout =
        if plots.is_empty() { Layout::new((0.0, 1.0), (0.0, 1.0)) } else { Layout::auto_from_plots(&plots) }
            .with_theme(theme)
            .with_width(WIDTH)
            .with_height(height(figure, sideways) + legend_rows(&entries) * LEGEND_ROW)
            .with_x_label_overlap(AxisLabelOverlap::Thin)
            .with_tick_format(TickFormat::Custom(Arc::new(|value| significant(value, 4))));
    layout = layout.with_title(text(&figure.title)).with_title_wrap(60);
    if !plots.is_empty() {
        layout = with_axes(layout, figure, sideways);
        layout = with_marks(layout, figure, sideways);
        layout = layout
            .with_legend_entries(entries)
            .with_legend_position(LegendPosition::OutsideBottomColumns)
            .with_legend_box(false);
    }
    (plots, layout)
}

fn bars(figure: &Figure) -> Option<&Bars> {
    match &figure.content {
        Content::Lines(_) => None,
        Content::Bars(bars) | Content::Stacked(bars) | Content::Shares(bars) => Some(bars),
    }
}

fn sideways(figure: &Figure) -> bool {
    // A single vertical bar would be as broad as the figure.
    bars(figure).is_some_and(|bars| bars.categories.len() == 1 || bars.categories.len() >= LYING)
}

/// The height that horizontal bars need.
fn height(figure: &Figure, sideways: bool) -> f64 {
    let Some(bars) = bars(figure).filter(|_| sideways) else { return HEIGHT };
    let beside = if matches!(figure.content, Content::Bars(_)) { bars.series.len().max(1) } else { 1 };
    (120 + bars.categories.len() * (10 + 14 * beside)).max(180) as f64
}

/// The rows of the legend after the first, for which the figure is made higher. The renderer sets as many
/// columns as fit next to the vertical axis.
fn legend_rows(entries: &[LegendEntry]) -> f64 {
    let widest = entries.iter().map(|entry| entry.label.width()).max().unwrap_or(0) as f64;
    let columns = ((WIDTH - 90.0) / (38.0 + 6.5 * widest)).max(1.0) as usize;
    entries.len().div_ceil(columns).saturating_sub(1) as f64
}

fn with_axes(layout: Layout, figure: &Figure, sideways: bool) -> Layout {
    let (across, up) = if sideways { (&figure.y, &figure.x) } else { (&figure.x, &figure.y) };
    let mut layout = layout;
    if !across.label.is_empty() {
        layout = layout.with_x_label(text(&across.label));
    }
    if !up.label.is_empty() {
        layout = layout.with_y_label(text(&up.label));
    }
    match &figure.content {
        Content::Lines(lines) => {
            if figure.x.log {
                layout = layout.with_log_x();
            } else if lines.iter().all(|line| line.style == LineStyle::Plain) {
                let places = lines.iter().flat_map(|line| drawn(line, figure)).map(|(x, _)| x);
                let (least, most) = places.fold((f64::MAX, f64::MIN), |(least, most), x| (least.min(x), most.max(x)));
                if least < most {
                    layout = layout.with_x_axis_min(least).with_x_axis_max(most);
                }
            }
            if figure.y.log {
                layout = layout.with_log_y();
            } else if lines.iter().flat_map(|line| drawn(line, figure)).all(|(_, y)| y.mean >= 0.0) {
                layout = layout.with_y_axis_min(0.0);
            }
            layout
        }
        Content::Bars(_) | Content::Stacked(_) if sideways => layout.with_x_axis_min(0.0),
        Content::Bars(_) | Content::Stacked(_) => layout.with_y_axis_min(0.0),
        Content::Shares(_) => {
            let percent = TickFormat::Custom(Arc::new(|share: f64| format!("{:.0} %", share * 100.0)));
            if sideways {
                layout.with_x_axis_min(0.0).with_x_axis_max(1.0).with_x_tick_format(percent)
            } else {
                layout.with_y_axis_min(0.0).with_y_axis_max(1.0).with_y_tick_format(percent)
            }
        }
    }
}

/// Labels are below the title, since next to the lines they would cover the bars.
fn with_marks(mut layout: Layout, figure: &Figure, sideways: bool) -> Layout {
    let marks: Vec<&Mark> = figure.marks.iter().filter(|mark| mark.at.is_finite()).collect();
    for mark in &marks {
        let line = if sideways { ReferenceLine::vertical(mark.at) } else { ReferenceLine::horizontal(mark.at) };
        layout = layout.with_reference_line(line.with_color(MARK).with_stroke_width(1.5));
    }
    if !marks.is_empty() {
        let labels: Vec<String> = marks.iter().map(|mark| text(&mark.label)).collect();
        layout = layout.with_subtitle(format!("dashed: {}", labels.join(", ")));
    }
    layout
}

fn plots(figure: &Figure, sideways: bool) -> Vec<Plot> {
    match &figure.content {
        Content::Lines(lines) => {
            lines.iter().enumerate().flat_map(|(index, line)| line_plots(index, line, figure)).collect()
        }
        Content::Bars(bars) => bar_plot(bars, Some(&figure.y), sideways).into_iter().collect(),
        Content::Stacked(bars) | Content::Shares(bars) => bar_plot(bars, None, sideways).into_iter().collect(),
    }
}

/// The points of a line that have a place on the axes.
fn drawn<'a>(line: &'a Line, figure: &'a Figure) -> impl Iterator<Item = (f64, Estimate)> + 'a {
    let has_place = |value: f64, log: bool| value.is_finite() && (!log || value > 0.0);
    line.points.iter().copied().filter(move |(x, y)| has_place(*x, figure.x.log) && has_place(y.mean, figure.y.log))
}

/// A line, and its points with their intervals.
fn line_plots(index: usize, line: &Line, figure: &Figure) -> Vec<Plot> {
    let points: Vec<(f64, f64)> = drawn(line, figure).map(|(x, y)| (x, y.mean)).collect();
    if points.is_empty() {
        return Vec::new();
    }
    let colour = SERIES[index % SERIES.len()];
    let mut plots = Vec::new();
    if line.style != LineStyle::Points {
        let mut through = LinePlot::new().with_data(points.clone()).with_color(colour);
        through = through.with_stroke_width(if line.style == LineStyle::Plain { 1.5 } else { 2.0 });
        through.step = line.style == LineStyle::Steps;
        if let Some(dashes) = DASHES[index % DASHES.len()] {
            through = through.with_line_style(kuva::plot::LineStyle::Custom(dashes.to_owned()));
        }
        plots.push(through.into());
    }
    if matches!(line.style, LineStyle::Marked | LineStyle::Points) {
        let dots = ScatterPlot::new().with_data(points).with_color(colour);
        let dots = dots.with_marker(marker(index, line.style)).with_size(if line.style == LineStyle::Points {
            5.0
        } else {
            3.5
        });
        let halves: Vec<(f64, f64)> = drawn(line, figure).map(|(_, y)| arms(&y, &figure.y)).collect();
        let measured = halves.iter().any(|(below, above)| *below > 0.0 || *above > 0.0);
        plots.push(if measured { dots.with_y_err_asymmetric(halves) } else { dots }.into());
    }
    plots
}

/// Returns the distances from a point to the ends of its interval, which are inside the axis' range; on a logarithmic
/// axis the lower end stays above zero.
fn arms(value: &Estimate, axis: &Axis) -> (f64, f64) {
    let half = half(value);
    let (least, most) = axis.range;
    let (below, above) = (half.min((value.mean - least).max(0.0)), half.min((most - value.mean).max(0.0)));
    if axis.log { (below.min(value.mean * 0.9), above) } else { (below, above) }
}

fn marker(index: usize, style: LineStyle) -> MarkerShape {
    if style == LineStyle::Points { MarkerShape::Cross } else { MARKERS[index % MARKERS.len()] }
}

/// Bars with their intervals on `axis`, or without an axis for intervals stacked.
fn bar_plot(bars: &Bars, axis: Option<&Axis>, sideways: bool) -> Option<Plot> {
    if bars.categories.is_empty() || bars.series.is_empty() {
        return None;
    }
    let value = |values: &[Estimate], category: usize| values.get(category).copied().unwrap_or_default();
    let mut plot = BarPlot::new().with_width(0.6).with_horizontal(sideways);
    let mut intervals = Vec::new();
    let mut order: Vec<(usize, &String)> = bars.categories.iter().enumerate().collect();
    if sideways {
        // The renderer begins at the bottom.
        order.reverse();
    }
    for (category, name) in order {
        let values = bars.series.iter().enumerate().map(|(index, (_, values))| {
            let mean = value(values, category).mean;
            (if mean.is_finite() { mean } else { 0.0 }, SERIES[index % SERIES.len()])
        });
        plot = plot.with_group(text(name), values);
        let interval = |axis: &Axis, values: &[Estimate]| arms(&value(values, category), axis);
        intervals
            .extend(axis.into_iter().flat_map(|axis| bars.series.iter().map(|(_, values)| interval(axis, values))));
    }
    if axis.is_none() {
        plot = plot.with_stacked();
    } else if intervals.iter().any(|(below, above)| *below > 0.0 || *above > 0.0) {
        plot = plot.with_asymmetric_error(intervals).with_error_color(TEXT);
    }
    Some(plot.into())
}

/// An entry for each series and each line that has a point.
fn legend(figure: &Figure) -> Vec<LegendEntry> {
    let entry = |index: usize, name: &str, shape, dashes: Option<&str>| LegendEntry {
        label: text(&cut(name, LETTERS)),
        color: SERIES[index % SERIES.len()].to_owned(),
        shape,
        dasharray: dashes.map(str::to_owned),
    };
    match &figure.content {
        Content::Lines(lines) => {
            let with_points = lines.iter().enumerate().filter(|(_, line)| drawn(line, figure).next().is_some());
            let of_line = |(index, line): (usize, &Line)| match line.style {
                // A single point has no line.
                _ if line.style == LineStyle::Points || (line.style == LineStyle::Marked && line.points.len() == 1) => {
                    entry(index, &line.name, LegendShape::Marker(marker(index, line.style)), None)
                }
                _ => entry(index, &line.name, LegendShape::Line, DASHES[index % DASHES.len()]),
            };
            with_points.map(of_line).collect()
        }
        Content::Bars(bars) | Content::Stacked(bars) | Content::Shares(bars) => {
            let of_series = |(index, (name, _)): (usize, &(String, _))| entry(index, name, LegendShape::Rect, None);
            bars.series.iter().enumerate().map(of_series).collect()
        }
    }
}

/// The half width of the interval; 0 without one.
fn half(value: &Estimate) -> f64 {
    value.ci95().filter(|half| half.is_finite()).unwrap_or(0.0)
}

fn theme(ink: &str, font: &str) -> Theme {
    let ink = || ink.to_owned();
    Theme {
        background: "none".to_owned(),
        axis_color: ink(),
        grid_color: GRID.to_owned(),
        tick_color: ink(),
        text_color: ink(),
        legend_bg: "none".to_owned(),
        legend_border: ink(),
        font_family: Some(font.to_owned()),
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

/// Room to the right for half of the last tick's label, which extends beyond the axis.
const MARGIN: f64 = 16.0;

/// Adds the view box, without which a picture is cut rather than scaled. The renderer writes width and height first.
fn scaled(svg: &str) -> String {
    let size = |name: &str| {
        let (_, rest) = svg.split_once(&format!(" {name}=\""))?;
        rest.split_once('"').and_then(|(value, _)| value.parse::<f64>().ok())
    };
    match (size("width"), size("height")) {
        (Some(width), Some(height)) => {
            let width = width + MARGIN;
            svg.replacen("<svg ", &format!("<svg viewBox=\"0 0 {width} {height}\" "), 1)
        }
        _ => svg.to_owned(),
    }
}

/// A name as it is: a dollar sign would begin a formula, and control characters are not XML.
fn text(name: &str) -> String {
    name.chars().map(|c| if c.is_control() { '�' } else { c }).collect::<String>().replace('$', "\\$")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 0.99 ± 0.05 of at most 1, 2 ± 5 of at least 0, and on a logarithmic axis never to zero. Would catch an error bar
    /// of a share that passes 100 %.
    #[test]
    fn intervals_end_at_the_range() {
        let near = |(below, above): (f64, f64), ends: (f64, f64)| {
            assert!((below - ends.0).abs() < 1e-12 && (above - ends.1).abs() < 1e-12, "{below}, {above}");
        };
        let share = Axis::linear("").within(0.0, 1.0);
        near(arms(&Estimate::new(0.99, Some(0.05)), &share), (0.05, 0.01));
        near(arms(&Estimate::new(2.0, Some(5.0)), &Axis::linear("").within(0.0, f64::INFINITY)), (2.0, 5.0));
        near(arms(&Estimate::new(2.0, Some(5.0)), &Axis::log("")), (1.8, 5.0));
        near(arms(&Estimate::new(-3.0, Some(1.0)), &Axis::linear("")), (1.0, 1.0));
    }
}
