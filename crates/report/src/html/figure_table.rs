//! A figure's numbers as a table.

use fairlane_outcome::Estimate;

use super::table::{Cell, Table};
use crate::figure::{Bars, Content, Figure, Line};

/// Suffix of the column of half widths of 95 % intervals, which follows the column of values.
const INTERVAL: &str = "± 95 %";

impl Figure {
    /// The figure's numbers. Lines with the same x values are columns, others follow each other as rows; a column of
    /// intervals follows if there are any.
    #[must_use]
    pub fn data(&self) -> Table {
        match &self.content {
            Content::Lines(lines) if same_places(lines) => side_by_side(self.places(), lines),
            Content::Lines(lines) => one_below_the_other(self.places(), &self.y.label, lines),
            Content::Bars(bars) | Content::Stacked(bars) | Content::Shares(bars) => {
                over_categories(&self.x.label, bars)
            }
        }
    }

    fn places(&self) -> &str {
        if self.x.label.is_empty() { "x" } else { &self.x.label }
    }
}

/// Returns true if all lines have points at the same x values.
fn same_places(lines: &[Line]) -> bool {
    let places = |line: &Line| line.points.iter().map(|(x, _)| x.to_bits()).collect::<Vec<_>>();
    lines.windows(2).all(|pair| places(&pair[0]) == places(&pair[1]))
}

fn side_by_side(places: &str, lines: &[Line]) -> Table {
    let xs = lines.first().map_or_else(Vec::new, |line| line.points.iter().map(|(x, _)| value(*x)).collect());
    lines.iter().fold(Table::new().column(places, xs), |table, line| {
        let values: Vec<Estimate> = line.points.iter().map(|(_, y)| *y).collect();
        with_values(table, &line.name, &values)
    })
}

fn one_below_the_other(places: &str, values: &str, lines: &[Line]) -> Table {
    let points = || lines.iter().flat_map(|line| line.points.iter().map(move |point| (&line.name, point)));
    let table = Table::new()
        .key("line", points().map(|(name, _)| Cell::Text(name.clone())).collect())
        .column(places, points().map(|(_, (x, _))| value(*x)).collect());
    let ys: Vec<Estimate> = points().map(|(_, (_, y))| *y).collect();
    with_values(table, if values.is_empty() { "y" } else { values }, &ys)
}

fn over_categories(places: &str, bars: &Bars) -> Table {
    let names = bars.categories.iter().map(|name| Cell::Text(name.clone())).collect();
    let table = Table::new().key(places, names);
    bars.series.iter().fold(table, |table, (name, values)| {
        let all = 0..bars.categories.len();
        let values: Vec<Estimate> = all.map(|category| values.get(category).copied().unwrap_or_default()).collect();
        with_values(table, name, &values)
    })
}

/// The values, and their intervals if there are any.
fn with_values(table: Table, title: &str, values: &[Estimate]) -> Table {
    let table = table.column(title, values.iter().map(|estimate| value(estimate.mean)).collect());
    if values.iter().all(|estimate| estimate.ci95().is_none()) {
        return table;
    }
    let half = |estimate: &Estimate| estimate.ci95().map_or_else(Cell::none, value);
    table.column(&format!("{title} {INTERVAL}"), values.iter().map(half).collect())
}

fn value(value: f64) -> Cell {
    if value.is_finite() { Cell::value(value) } else { Cell::none() }
}
