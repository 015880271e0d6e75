//! The same traffic under several disciplines.

use fairlane_scenario::{Kind, LinkSide, QdiscConfig, Scenario};

use crate::Error;

/// What every comparison that names none begins with: no management, and the best known one.
const USUAL: [Kind; 2] = [Kind::DropTail, Kind::Red];

/// The link of the dumbbell shorthand.
const BOTTLENECK: &str = "bottleneck";

/// The disciplines of a comparison that names none: droptail, RED, and those that `scenario` has, each once.
#[must_use]
pub fn usual(scenario: &Scenario) -> Vec<Kind> {
    let own = scenario.links.iter().flat_map(|link| {
        let (forward, reverse) = compared(&link.name, &link.forward, &link.reverse);
        let sides = [(forward, &link.forward), (reverse, &link.reverse)];
        sides.into_iter().filter_map(|(compared, side)| compared.then_some(side.queue.kind()))
    });
    once(USUAL.into_iter().chain(own))
}

/// Each of `kinds` once, in the order in which they first come.
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

/// The scenario with `kind` at every queue that is compared, each with those of its parameters that `kind` knows too.
///
/// # Errors
/// The scenario describes no queue of a link.
pub fn with_kind(scenario: &Scenario, kind: Kind) -> Result<Scenario, Error> {
    with(scenario, |queue| *queue = queue.with_kind(kind))
}

/// The scenario with `config` at every queue that is compared.
///
/// # Errors
/// The scenario describes no queue of a link.
pub fn with_config(scenario: &Scenario, config: &QdiscConfig) -> Result<Scenario, Error> {
    with(scenario, |queue| queue.clone_from(config))
}

/// The names of the links whose queues are compared, as [`link_name`](fairlane_sim::link_name) has them.
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

fn with(scenario: &Scenario, mut change: impl FnMut(&mut QdiscConfig)) -> Result<Scenario, Error> {
    let mut changed = scenario.clone();
    let mut none = true;
    for link in &mut changed.links {
        let (forward, reverse) = compared(&link.name, &link.forward, &link.reverse);
        for (_, side) in [(forward, &mut link.forward), (reverse, &mut link.reverse)].into_iter().filter(|it| it.0) {
            change(&mut side.queue);
            none = false;
        }
    }
    if none { Err(no_queue()) } else { Ok(changed) }
}

/// Whether a comparison changes the queues of the link called `name`, in each direction: the bottleneck's, and every other
/// one that the file describes.
fn compared(name: &str, forward: &LinkSide, reverse: &LinkSide) -> (bool, bool) {
    let plain = QdiscConfig::new(Kind::DropTail).with("limit", "1000p").ok();
    let described = |side: &LinkSide| plain.as_ref() != Some(&side.queue);
    (name == BOTTLENECK || described(forward), described(reverse))
}

fn no_queue() -> Error {
    let message = "this scenario describes no queue of a link, so there is nothing to compare";
    Error::new(message, "give a link one: queue = { kind = \"choke\" }")
}
