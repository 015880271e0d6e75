//! The names of links and queues.

use fairlane_scenario::{Hop, Scenario, Shaper};

/// Returns the number of one direction of a link of the scenario.
pub(crate) const fn link_of(hop: Hop) -> u32 {
    2 * hop.link as u32 + hop.reverse as u32
}

/// Returns the name of the link with number `link` in [`PacketEvent::link`](crate::PacketEvent::link): `bottleneck`,
/// `bottleneck/reverse`, and `ftp/3/source` or `ftp/3/sink` for the links of the hosts of flow `ftp/3`, with `/reverse`
/// for the direction towards the source.
#[must_use]
pub fn link_name(scenario: &Scenario, link: u32) -> String {
    let mut index = link as usize;
    let reverse = |on: bool| if on { "/reverse" } else { "" };
    if let Some(named) = scenario.links.get(index / 2) {
        return format!("{}{}", named.name, reverse(index % 2 == 1));
    }
    index -= 2 * scenario.links.len();
    let shaped = shaped_hops(scenario);
    if let Some((hop, _)) = shaped.get(index) {
        return format!("{}{}/buffer", scenario.links[hop.link].name, reverse(hop.reverse));
    }
    index -= shaped.len();
    for group in &scenario.flows {
        let ends: Vec<&str> = [(&group.source, "source"), (&group.sink, "sink")]
            .into_iter()
            .filter_map(|(access, end)| access.is_some().then_some(end))
            .collect();
        let each = 2 * ends.len();
        let all = each * group.count as usize;
        if index < all {
            return format!("{}/{}/{}{}", group.name, index / each, ends[index % each / 2], reverse(index % 2 == 1));
        }
        index -= all;
    }
    format!("link {link}")
}

/// Returns the names of the queues that outcomes of `scenario` report, in their order: those of all links between nodes
/// that the scenario [reports](Scenario::reports), then the buffers behind shapers.
#[must_use]
pub fn queue_names(scenario: &Scenario) -> Vec<String> {
    let sides = (0..scenario.links.len()).flat_map(|link| [false, true].map(|reverse| Hop { link, reverse }));
    let buffers = shaped_hops(scenario).into_iter().map(|(hop, _)| hop);
    let counted = (0_u32..).zip(sides.chain(buffers)).filter(|(_, hop)| scenario.reports(*hop));
    counted.map(|(number, _)| link_name(scenario, number)).collect()
}

/// Returns the directions of links that have a shaper, in the order of the numbers of their buffers.
pub(crate) fn shaped_hops(scenario: &Scenario) -> Vec<(Hop, &Shaper)> {
    let sides = scenario.links.iter().enumerate().flat_map(|(link, both)| {
        [(&both.forward, false), (&both.reverse, true)].map(|(side, reverse)| (Hop { link, reverse }, side))
    });
    sides.filter_map(|(hop, side)| Some((hop, side.wire.shaper.as_ref()?))).collect()
}
