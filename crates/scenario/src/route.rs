//! Paths through the links.

use std::collections::VecDeque;

use crate::model::{Hop, Link};

/// The shortest path by hops between two nodes; among equally short ones the one whose first differing link was
/// declared first. `None` when there is none.
pub(crate) fn shortest(links: &[Link], from: usize, to: usize) -> Option<Vec<Hop>> {
    let arrival = flood(links, from);
    let mut path = Vec::new();
    let mut node = to;
    while node != from {
        let hop = *arrival.get(node)?.as_ref()?;
        path.push(hop);
        node = tail(links, hop);
    }
    path.reverse();
    Some(path)
}

/// The nodes that can be reached from a node, itself left out.
pub(crate) fn reachable(links: &[Link], from: usize) -> Vec<usize> {
    let arrival = flood(links, from);
    (0..arrival.len()).filter(|node| arrival[*node].is_some()).collect()
}

/// The path over the nodes of `path`, by the first link declared between each two; the first two that are not joined
/// when it breaks.
pub(crate) fn along(links: &[Link], path: &[usize]) -> Result<Vec<Hop>, (usize, usize)> {
    path.windows(2)
        .map(|pair| {
            hops(links)
                .find(|hop| (tail(links, *hop), head(links, *hop)) == (pair[0], pair[1]))
                .ok_or((pair[0], pair[1]))
        })
        .collect()
}

/// The same links the other way.
pub(crate) fn back(path: &[Hop]) -> Vec<Hop> {
    path.iter().rev().map(|hop| Hop { link: hop.link, reverse: !hop.reverse }).collect()
}

/// Breadth first from `from`: the hop by which each other node is first reached.
fn flood(links: &[Link], from: usize) -> Vec<Option<Hop>> {
    let nodes = links.iter().map(|link| link.from.max(link.to) + 1).max().unwrap_or(0);
    let mut leaving = vec![Vec::new(); nodes];
    for hop in hops(links) {
        leaving[tail(links, hop)].push(hop);
    }
    let mut arrival = vec![None; nodes];
    let mut waiting = VecDeque::from([from]);
    while let Some(node) = waiting.pop_front() {
        for hop in leaving.get(node).into_iter().flatten() {
            let next = head(links, *hop);
            if next != from && arrival[next].is_none() {
                arrival[next] = Some(*hop);
                waiting.push_back(next);
            }
        }
    }
    arrival
}

/// Every link in both directions, as declared.
fn hops(links: &[Link]) -> impl Iterator<Item = Hop> {
    (0..links.len()).flat_map(|link| [Hop { link, reverse: false }, Hop { link, reverse: true }])
}

fn tail(links: &[Link], hop: Hop) -> usize {
    let link = &links[hop.link];
    if hop.reverse { link.to } else { link.from }
}

fn head(links: &[Link], hop: Hop) -> usize {
    let link = &links[hop.link];
    if hop.reverse { link.from } else { link.to }
}
