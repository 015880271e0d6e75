//! The same traffic under several disciplines.

use fairlane_outcome::Point;
use fairlane_qdisc::Origin;
use fairlane_scenario::{Kind, LinkSide, QdiscParameters, Scenario, ShaperKind};

use crate::Error;

/// The first disciplines of a comparison that names none.
const USUAL: [Kind; 2] = [Kind::DropTail, Kind::Red];

/// The link of the dumbbell shorthand.
const BOTTLENECK: &str = "bottleneck";

/// Returns the disciplines of a comparison that names none: droptail, RED, and those of `scenario`, each once.
#[must_use]
pub fn usual(scenario: &Scenario) -> Vec<Kind> {
    let own = scenario.links.iter().flat_map(|link| {
        let (forward, reverse) = compared(&link.name, &link.forward, &link.reverse);
        let sides = [(forward, &link.forward), (reverse, &link.reverse)];
        sides.into_iter().filter_map(|(compared, side)| compared.then_some(side.queue.kind()))
    });
    once(USUAL.into_iter().chain(own))
}

/// Returns each of `kinds` once, in the order of first appearance.
#[must_use]
pub fn once(kinds: impl IntoIterator<Item = Kind>) -> Vec<Kind> {
    let mut each = Vec::new();
    for kind in kinds {
        if !each.contains(&kind) {
            each.push(kind);
        }
    }
    each
}

/// Returns the scenario with `kind` at every compared queue, each with those of its parameters that `kind` has too.
///
/// # Errors
/// The scenario describes no queue of a link, or the parameters contradict each other at one.
pub fn with_kind(scenario: &Scenario, kind: Kind) -> Result<Scenario, Error> {
    with(scenario, |queue| queue.with_kind(kind))
}

/// Returns the scenario with `parameters` at every compared queue.
///
/// # Errors
/// The scenario describes no queue of a link, or the parameters contradict each other at one.
pub fn with_parameters(scenario: &Scenario, parameters: &QdiscParameters) -> Result<Scenario, Error> {
    with(scenario, |_| parameters.clone())
}

/// Returns the scenario with every shaper of this kind.
///
/// # Errors
/// The scenario has no shaper.
pub fn with_shaper(scenario: &Scenario, kind: ShaperKind) -> Result<Scenario, Error> {
    let mut changed = scenario.clone();
    let mut none = true;
    for side in changed.links.iter_mut().flat_map(|link| [&mut link.forward, &mut link.reverse]) {
        if let Some(shaper) = &mut side.wire.shaper {
            shaper.kind = kind;
            none = false;
        }
    }
    if none {
        let message = "this scenario has no shaper, so there is nothing to compare";
        return Err(Error::new(message, "give a link one: shaper = { rate = \"8mbit\" }"));
    }
    Ok(changed)
}

/// Returns the point of an outcome in a comparison of shapers: its key is `shaper`.
#[must_use]
pub fn shaper_point(kind: ShaperKind) -> Point {
    Point::new().with("shaper", kind.name())
}

/// Returns the names of the links whose queues are compared, as by [`link_name`](fairlane_sim::link_name).
///
/// # Errors
/// The scenario describes no queue of a link.
pub fn links(scenario: &Scenario) -> Result<Vec<String>, Error> {
    let mut names = Vec::new();
    for (link, number) in scenario.links.iter().zip(0_u32..) {
        let (forward, reverse) = compared(&link.name, &link.forward, &link.reverse);
        let sides = [(forward, 2 * number), (reverse, 2 * number + 1)];
        names.extend(
            sides
                .into_iter()
                .filter(|(compared, _)| *compared)
                .map(|(_, side)| fairlane_sim::link_name(scenario, side)),
        );
    }
    if names.is_empty() { Err(no_queue()) } else { Ok(names) }
}

/// Returns the parameters of the compared queues that differ from their defaults, a line for each such queue:
/// `choke: limit = 300p, min = 100p`. The name of the link is in the line if several queues are compared.
#[must_use]
pub fn parameters(scenario: &Scenario) -> Vec<String> {
    let sides = scenario.links.iter().flat_map(|link| {
        let (forward, reverse) = compared(&link.name, &link.forward, &link.reverse);
        let sides = [(forward, &link.forward, ""), (reverse, &link.reverse, "/reverse")];
        sides.map(|(compared, side, end)| (compared, side, format!(" at {}{end}", link.name)))
    });
    let sides: Vec<_> = sides.filter(|(compared, ..)| *compared).collect();
    let line = |(_, side, at): &(bool, &LinkSide, String)| {
        let given = differing(side);
        let at = if sides.len() > 1 { at } else { "" };
        (!given.is_empty()).then(|| format!("{}{at}: {given}", side.queue.kind()))
    };
    sides.iter().filter_map(line).collect()
}

/// Returns the parameters of a queue that differ from their defaults at its rate.
fn differing(side: &LinkSide) -> String {
    let defaults = QdiscParameters::new(side.queue.kind()).explain(side.queue_rate()).ok();
    let default =
        |key: &str| defaults.as_ref()?.parameters.iter().find(|default| default.key == key).map(|it| &it.value);
    let given = side.queue.explanation().parameters.iter().filter(|given| given.origin == Origin::Given);
    let other = given.filter(|given| default(given.key) != Some(&given.value));
    other.map(|given| format!("{} = {}", given.key, given.value)).collect::<Vec<_>>().join(", ")
}

fn with(scenario: &Scenario, change: impl Fn(&QdiscParameters) -> QdiscParameters) -> Result<Scenario, Error> {
    let mut changed = scenario.clone();
    let mut none = true;
    for link in &mut changed.links {
        let (forward, reverse) = compared(&link.name, &link.forward, &link.reverse);
        for (_, side) in [(forward, &mut link.forward), (reverse, &mut link.reverse)].into_iter().filter(|it| it.0) {
            let changed = change(side.queue.parameters()).resolve(side.queue_rate());
            side.queue =
                changed.map_err(|error| Error::plain(format!("the queue of link \"{}\": {error}", link.name)))?;
            none = false;
        }
    }
    if none { Err(no_queue()) } else { Ok(changed) }
}

/// Returns true for each direction of the link `name` whose queue a comparison changes: the bottleneck's, and every
/// other one that the file describes.
fn compared(name: &str, forward: &LinkSide, reverse: &LinkSide) -> (bool, bool) {
    let plain = QdiscParameters::new(Kind::DropTail).with("limit", "1000p").ok();
    let described = |side: &LinkSide| plain.as_ref() != Some(side.queue.parameters());
    (name == BOTTLENECK || described(forward), described(reverse))
}

fn no_queue() -> Error {
    let message = "this scenario describes no queue of a link, so there is nothing to compare";
    Error::new(message, "give a link one: queue = { kind = \"choke\" }")
}
