//! Figures drawn from the experiments' tables.

use fairlane_outcome::Estimate;
use fairlane_outcome::stats::Moments;
use fairlane_report::{Axis, Bars, Content, Figure, Line, LineStyle};
use serde_json::Value;

use crate::book::{AxisText, FigureText, LineText, PaperLine};
use crate::expression::{Expression, Input};
use crate::plan::Results;
use crate::table::Row;

/// Number of points from which a line is drawn without markers.
const MANY: usize = 40;

impl FigureText {
    /// Draws the figure from `results`; `None` if none of its experiments was run.
    ///
    /// # Errors
    /// A line's program is not valid jq, or gives neither a number nor points.
    pub fn draw(&self, results: &Results) -> Result<Option<Figure>, String> {
        let lines = self.lines.iter().map(|line| self.points(line, results)).collect::<Result<Vec<_>, _>>()?;
        if lines.iter().all(Vec::is_empty) {
            return Ok(None);
        }
        let content = if self.bars { Content::Bars(self.as_bars(lines)) } else { Content::Lines(self.as_lines(lines)) };
        Ok(Some(Figure { title: self.title.clone(), x: axis(&self.x), y: axis(&self.y), content, marks: Vec::new() }))
    }

    /// The points of a line: the mean of all runs at each place, in the order of the rows.
    fn points(&self, line: &LineText, results: &Results) -> Result<Vec<PlottedPoint>, String> {
        let Some(table) = results.tables.get(&line.experiment) else { return Ok(Vec::new()) };
        let condition = line.condition.as_deref().map(Expression::new).transpose()?;
        let place = self.x.value.as_deref().map(Expression::new).transpose()?;
        let height = Expression::new(&line.y)?;
        let mut points: Vec<PlottedPoint> = Vec::new();
        for row in &table.rows {
            let input = Input::new(&Value::Object(row.clone()))?;
            let wanted = condition.as_ref().map(|condition| condition.apply(&input)).transpose()?;
            if wanted.is_some_and(|wanted| wanted != Some(Value::Bool(true))) {
                continue;
            }
            let place = place.as_ref().map(|place| place.apply(&input)).transpose()?.flatten();
            for (x, y) in heights(place.unwrap_or(Value::Null), height.apply(&input)?, row)? {
                match points.iter_mut().find(|point| point.x == x) {
                    Some(point) => point.y.push(y),
                    None => points.push(PlottedPoint { x, y: [y].into_iter().collect() }),
                }
            }
        }
        Ok(points)
    }

    fn as_lines(&self, lines: Vec<Vec<PlottedPoint>>) -> Vec<Line> {
        let ours = self.lines.iter().zip(lines).map(|(line, points)| {
            let measured = points.iter().any(|point| point.y.count() > 1);
            let style = if points.len() >= MANY || !measured { LineStyle::Plain } else { LineStyle::Marked };
            let place = |point: &PlottedPoint| Some((point.x.as_f64()?, point.estimate()));
            let mut points: Vec<(f64, Estimate)> = points.iter().filter_map(place).collect();
            points.sort_by(|(a, _), (b, _)| a.total_cmp(b));
            Line::new(line.name.clone(), style, points)
        });
        ours.chain(self.paper.iter().map(of_paper)).collect()
    }

    fn as_bars(&self, lines: Vec<Vec<PlottedPoint>>) -> Bars {
        let mut places: Vec<Value> = Vec::new();
        for point in lines.iter().flatten() {
            if !places.contains(&point.x) {
                places.push(point.x.clone());
            }
        }
        let series = |(line, points): (&LineText, Vec<PlottedPoint>)| {
            let at = |x: &Value| {
                points.iter().find(|point| point.x == *x).map_or_else(Estimate::default, PlottedPoint::estimate)
            };
            (line.name.clone(), places.iter().map(at).collect())
        };
        let series: Vec<(String, Vec<Estimate>)> = self.lines.iter().zip(lines).map(series).collect();
        let name = |place: &Value| place.as_str().map_or_else(|| place.to_string(), str::to_owned);
        Bars { categories: places.iter().map(name).collect(), series }
    }
}

/// A place on the horizontal axis, and the runs' heights there.
struct PlottedPoint {
    x: Value,
    y: Moments,
}

impl PlottedPoint {
    fn estimate(&self) -> Estimate {
        Estimate::new(self.y.mean(), self.y.ci95())
    }
}

/// The points of a row: a single one, or a whole line.
fn heights(place: Value, height: Option<Value>, row: &Row) -> Result<Vec<(Value, f64)>, String> {
    match height {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(pairs)) => {
            let pair = |pair: &Value| Some((pair.get(0)?.clone(), pair.get(1)?.as_f64()?));
            Ok(pairs.iter().filter_map(pair).collect())
        }
        Some(value) => match value.as_f64() {
            Some(y) => Ok(vec![(place, y)]),
            None => {
                Err(format!("{value} is not a number or a list of points, in the row {}", Value::Object(row.clone())))
            }
        },
    }
}

fn of_paper(line: &PaperLine) -> Line {
    let points = line.points.iter().map(|(x, y)| (*x, Estimate::single(*y))).collect();
    Line::new(line.name.clone(), LineStyle::Points, points)
}

fn axis(text: &AxisText) -> Axis {
    let label = if text.unit.is_empty() { text.label.clone() } else { format!("{}, {}", text.label, text.unit) };
    let axis = if text.log { Axis::log(label) } else { Axis::linear(label) };
    if text.unit == "%" { axis.within(0.0, 100.0) } else { axis }
}
