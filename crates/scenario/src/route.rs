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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::LinkSide;
    use crate::wire::Wire;
    use fairlane_qdisc::{Duration, Kind, QdiscParameters, Rate};

    fn link(from: usize, to: usize) -> Link {
        let queue = QdiscParameters::new(Kind::DropTail).resolve(Rate::default()).unwrap();
        let side =
            LinkSide { rate: Rate::from_bits_per_second(1), delay: Duration::ZERO, queue, wire: Wire::default() };
        Link { name: String::new(), from, to, forward: side.clone(), reverse: side }
    }

    fn network(ends: &[(usize, usize)]) -> Vec<Link> {
        ends.iter().map(|(from, to)| link(*from, *to)).collect()
    }

    /// Every path that visits no node twice, found by trying everything.
    fn all_paths(links: &[Link], path: &[Hop], visited: &[usize], to: usize) -> Vec<Vec<Hop>> {
        let here = *visited.last().expect("the start is visited");
        if here == to {
            return vec![path.to_vec()];
        }
        let leaving = hops(links).filter(|hop| tail(links, *hop) == here && !visited.contains(&head(links, *hop)));
        let further =
            |hop: Hop| all_paths(links, &[path, &[hop]].concat(), &[visited, &[head(links, hop)]].concat(), to);
        leaving.flat_map(further).collect()
    }

    proptest! {
        #[test]
        fn the_shortest_path_is_the_first_of_the_shortest(
            ends in prop::collection::vec((0_usize..5, 0_usize..5), 1..8),
            from in 0_usize..5,
            to in 0_usize..5,
        ) {
            let ends = ends.into_iter().filter(|(from, to)| from != to).collect::<Vec<_>>();
            let links = network(&ends);
            prop_assume!(from != to);
            let numbers = |path: &Vec<Hop>| path.iter().map(|hop| hop.link).collect::<Vec<_>>();
            let best = all_paths(&links, &[], &[from], to).into_iter().min_by_key(|path| (path.len(), numbers(path)));
            prop_assert_eq!(shortest(&links, from, to), best);
        }
    }

    #[test]
    fn of_two_links_between_the_same_nodes_the_first_is_taken() {
        let links = network(&[(0, 1), (1, 0), (1, 2)]);
        assert_eq!(along(&links, &[1, 0]), Ok(vec![Hop { link: 0, reverse: true }]));
        assert_eq!(
            along(&links, &[0, 1, 2]).map(|path| back(&path)),
            Ok(vec![Hop { link: 2, reverse: true }, Hop { link: 0, reverse: true },])
        );
        assert_eq!(along(&links, &[1, 0, 2]), Err((0, 2)));
    }

    #[test]
    fn an_island_reaches_itself_only() {
        let links = network(&[(0, 1), (2, 3)]);
        assert_eq!(shortest(&links, 0, 3), None);
        assert_eq!(reachable(&links, 0), [1]);
    }
}
