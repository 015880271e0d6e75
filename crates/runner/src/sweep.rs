//! The points of a sweep.

use fairlane_outcome::{Point, PointValue};
use fairlane_scenario::{Document, ScenarioError, Vary};

use crate::Job;

/// Returns a job for each point of a sweep of `varies`: all combinations of the values, the last one varying fastest.
///
/// # Errors
/// As [`Document::points`].
pub fn jobs(document: &Document, varies: &[Vary]) -> Result<Vec<Job>, ScenarioError> {
    let points = document.points(varies)?;
    let job = |point: &fairlane_scenario::Point| {
        let asked: Vec<String> = point.settings().iter().map(|(key, value)| format!("--vary {key}={value}")).collect();
        Ok(Job { scenario: document.at(point)?, point: Some(typed(point.settings())), asked: asked.join(" ") })
    };
    points.iter().map(job).collect()
}

/// Returns the point with numbers as numbers, as in a scenario file.
#[must_use]
pub fn typed(settings: &[(String, String)]) -> Point {
    settings.iter().fold(Point::new(), |point, (key, value)| point.with(key, typed_value(value)))
}

fn typed_value(text: &str) -> PointValue {
    match (text.parse::<bool>(), text.parse::<i64>(), text.parse::<f64>()) {
        (Ok(switch), _, _) => switch.into(),
        (_, Ok(count), _) => count.into(),
        (_, _, Ok(ratio)) => ratio.into(),
        _ => text.into(),
    }
}
