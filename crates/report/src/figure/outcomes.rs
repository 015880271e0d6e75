//! Figures of outcomes.

use fairlane_outcome::{Estimate, Outcome};

use super::{Axis, Bars, Content, Figure};
use crate::queues::labels;
use crate::summary::group_names;

/// The bar of the shares that would be fair.
const FAIR: &str = "max-min fair";

/// Each group's share of the throughput under each discipline, beside the shares of the max-min fair rates if these are known.
#[must_use]
pub fn compare_figure(outcomes: &[Outcome]) -> Figure {
    let names = group_names(outcomes);
    let fair = |name: &str| Some(Estimate::single(outcomes.first()?.group(name)?.fair_share?));
    let fair: Option<Vec<Estimate>> = names.iter().map(|name| fair(name)).collect();
    let fair = fair.filter(|fair| !fair.is_empty());
    let share = |outcome: &Outcome, name: &str| outcome.group(name).map_or_else(Estimate::default, |group| group.share);
    let series = |(number, name): (usize, &&str)| {
        let fair = fair.as_ref().and_then(|fair| fair.get(number)).copied();
        let shares = fair.into_iter().chain(outcomes.iter().map(|outcome| share(outcome, name))).collect();
        ((*name).to_owned(), shares)
    };
    let categories = fair.as_ref().map(|_| FAIR.to_owned()).into_iter().chain(labels(outcomes)).collect();
    Figure {
        title: outcomes.first().map_or_else(String::new, |outcome| outcome.scenario.clone()),
        x: Axis::linear(""),
        y: Axis::linear("share of the throughput"),
        content: Content::Shares(Bars { categories, series: names.iter().enumerate().map(series).collect() }),
        marks: Vec::new(),
    }
}
