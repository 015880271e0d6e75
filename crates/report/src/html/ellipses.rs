//! Ellipses in the plane of two measures, which need no script.

use maud::{Markup, html};

use super::table::{Cell, Table};
use crate::numbers::significant;

const WIDTH: f64 = 460.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 56.0;
const BOTTOM: f64 = 42.0;
const TOP: f64 = 10.0;
const RIGHT: f64 = 12.0;
/// The colours of the style.
const COLOURS: usize = 6;
/// The dashes of the first six series, of the next six and so on.
const DASHES: [&str; 3] = ["none", "6 3", "2 2"];

/// Ellipses of several series in panels.
#[derive(Clone, Debug, PartialEq)]
pub struct Ellipses {
    /// The title.
    pub title: String,
    /// A note on how to read it; empty for none.
    pub note: String,
    /// The label of the horizontal axis.
    pub x: String,
    /// The label of the vertical axis.
    pub y: String,
    /// The panels, each with a title and its series.
    pub panels: Vec<(String, Vec<EllipseSeries>)>,
}

/// A series in a panel.
#[derive(Clone, Debug, PartialEq)]
pub struct EllipseSeries {
    /// The name in the legend.
    pub name: String,
    /// The points of the contour; empty for none.
    pub contour: Vec<(f64, f64)>,
    /// The median, drawn as a circle.
    pub median: (f64, f64),
    /// The points from which it follows.
    pub points: Vec<(f64, f64)>,
}

/// An axis: its end, and the step of its grid.
#[derive(Clone, Copy, Debug, PartialEq)]
struct EllipseAxis {
    end: f64,
    step: f64,
}

impl EllipseAxis {
    /// Returns the axis from zero that has room for `most`, with four to ten steps of 1, 2 or 5 times a power of ten.
    fn to(most: f64) -> Self {
        let most = if most.is_finite() && most > 0.0 { most } else { 1.0 };
        let power = libm::pow(10.0, libm::floor(libm::log10(most / 4.0)));
        let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|step| step * power).rfind(|step| most / step >= 4.0);
        let step = step.unwrap_or(power);
        Self { end: (most / step).ceil() * step, step }
    }

    fn ticks(self) -> impl Iterator<Item = f64> {
        let count = (self.end / self.step).round() as u32;
        (0..=count).map(move |number| f64::from(number) * self.step)
    }
}

impl Ellipses {
    /// The panels side by side below their legend.
    pub(super) fn markup(&self) -> Markup {
        let mut names: Vec<&str> = Vec::new();
        for series in self.panels.iter().flat_map(|(_, series)| series) {
            if !names.contains(&series.name.as_str()) {
                names.push(&series.name);
            }
        }
        html! {
            p.legend { @for (index, name) in names.iter().enumerate() {
                span { svg.dash style=(style(index)) viewBox="0 0 28 4" aria-hidden="true" { line x2="28" y1="2" y2="2" {} } (name) }
            } }
            div.figures { @for (title, series) in &self.panels {
                div { p { strong { (title) } } (self.panel(title, series, &names)) }
            } }
        }
    }

    /// The medians as a table.
    pub(super) fn data(&self) -> Table {
        let all = || self.panels.iter().flat_map(|(title, series)| series.iter().map(move |series| (title, series)));
        Table::new()
            .key("flows", all().map(|(title, _)| Cell::Text(title.clone())).collect())
            .key("queue", all().map(|(_, series)| Cell::Text(series.name.clone())).collect())
            .column(&format!("median of {}", self.x), all().map(|(_, series)| Cell::value(series.median.0)).collect())
            .column(&format!("median of {}", self.y), all().map(|(_, series)| Cell::value(series.median.1)).collect())
    }

    fn panel(&self, title: &str, series: &[EllipseSeries], names: &[&str]) -> Markup {
        let most = |of: fn(&(f64, f64)) -> f64| {
            let all = series.iter().flat_map(|series| series.contour.iter().chain(&series.points));
            all.map(of).filter(|value| value.is_finite()).fold(0.0, f64::max)
        };
        let (across, up) = (EllipseAxis::to(most(|point| point.0)), EllipseAxis::to(most(|point| point.1)));
        let x = move |value: f64| LEFT + value / across.end * (WIDTH - LEFT - RIGHT);
        let y = move |value: f64| HEIGHT - BOTTOM - value / up.end * (HEIGHT - BOTTOM - TOP);
        let colour = |name: &str| names.iter().position(|other| *other == name).unwrap_or(0);
        html! {
            svg.ellipses viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img" aria-label=(format!("{}: {title}", self.title)) {
                @for tick in across.ticks() {
                    line.grid x1=(fixed(x(tick))) x2=(fixed(x(tick))) y1=(fixed(TOP)) y2=(fixed(HEIGHT - BOTTOM)) {}
                    text x=(fixed(x(tick))) y=(fixed(HEIGHT - BOTTOM + 14.0)) text-anchor="middle" { (significant(tick, 3)) }
                }
                @for tick in up.ticks() {
                    line.grid x1=(fixed(LEFT)) x2=(fixed(WIDTH - RIGHT)) y1=(fixed(y(tick))) y2=(fixed(y(tick))) {}
                    text x=(fixed(LEFT - 6.0)) y=(fixed(y(tick) + 4.0)) text-anchor="end" { (significant(tick, 3)) }
                }
                text x=(fixed(f64::midpoint(LEFT, WIDTH - RIGHT))) y=(fixed(HEIGHT - 8.0)) text-anchor="middle" { (self.x) }
                text transform=(format!("translate(12 {}) rotate(-90)", fixed(f64::midpoint(TOP, HEIGHT - BOTTOM)))) text-anchor="middle" { (self.y) }
                @for series in series {
                    g style=(style(colour(&series.name))) {
                        @for point in &series.points {
                            circle.point cx=(fixed(x(point.0))) cy=(fixed(y(point.1))) r="1.6" {}
                        }
                        @if !series.contour.is_empty() { polygon points=(path(&series.contour, x, y)) {} }
                        circle.median cx=(fixed(x(series.median.0))) cy=(fixed(y(series.median.1))) r="4" { title { (series.name) } }
                    }
                }
            }
        }
    }
}

/// The colour and the dash of a series.
fn style(index: usize) -> String {
    let dash = DASHES[index / COLOURS % DASHES.len()];
    format!("color:var(--series-{});stroke-dasharray:{dash}", index % COLOURS + 1)
}

/// The points of a contour; what lies below zero is drawn at zero.
fn path(contour: &[(f64, f64)], x: impl Fn(f64) -> f64, y: impl Fn(f64) -> f64) -> String {
    let point = |(across, up): &(f64, f64)| format!("{},{}", fixed(x(across.max(0.0))), fixed(y(up.max(0.0))));
    contour.iter().map(point).collect::<Vec<_>>().join(" ")
}

fn fixed(value: f64) -> String {
    format!("{value:.1}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: 7 is four to ten steps of 1; 9.99 up to 10; 83 five of 20.
    #[test]
    fn axes_have_round_steps() {
        for (most, end, step) in [(7.0, 7.0, 1.0), (9.99, 10.0, 2.0), (83.0, 100.0, 20.0), (0.0, 1.0, 0.2)] {
            let scale = EllipseAxis::to(most);
            assert!((scale.end - end).abs() < 1e-9 && (scale.step - step).abs() < 1e-9, "{most}: {scale:?}");
        }
    }

    /// Would catch names that are not escaped.
    #[test]
    fn a_panel_has_its_series() {
        let series = EllipseSeries {
            name: "a<b".to_owned(),
            contour: vec![(1.0, 1.0), (2.0, 1.0), (1.5, 2.0)],
            median: (1.5, 1.2),
            points: vec![(1.0, 1.0)],
        };
        let chart = Ellipses {
            title: "t".to_owned(),
            note: String::new(),
            x: "ms".to_owned(),
            y: "Mbit/s".to_owned(),
            panels: vec![("web".to_owned(), vec![series])],
        };
        let html = chart.markup().into_string();
        assert!(html.contains("a&lt;b") && html.contains("<polygon") && !html.contains("a<b"), "{html}");
        assert_eq!(chart.data().rows(), 1);
    }
}
