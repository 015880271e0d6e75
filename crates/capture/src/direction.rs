//! The direction of the packets of a capture that has both.

use std::collections::HashSet;
use std::net::IpAddr;

use fairlane_qdisc::headers::{FlowId, Network};

/// Returns the smallest network that has the sources of one direction of all conversations of which `flows` has both:
/// the direction of the first flow. `None` if there is no such conversation. Where no network tells the directions
/// apart, it is that flow's source alone.
pub(crate) fn first_direction(flows: &[FlowId]) -> Option<Network> {
    let all: HashSet<FlowId> = flows.iter().copied().collect();
    let mut seen = HashSet::new();
    // The flow of each conversation that came first.
    let mut first = flows.iter().filter_map(|flow| {
        seen.insert(*flow);
        let back = turned(flow)?;
        if all.contains(&back) && !seen.contains(&back) { ends(flow) } else { None }
    });
    let (source, destination) = first.next()?;
    let (mut shared, mut others) = (u8::MAX, vec![destination]);
    for (from, to) in first {
        // Another conversation may have begun at the other end.
        let (near, far) = if common(source, from) >= common(source, to) { (from, to) } else { (to, from) };
        shared = shared.min(common(source, near));
        others.push(far);
    }
    let network = Network::new(source, shared);
    let mixed = others.iter().any(|other| network.contains(*other));
    Some(if mixed { Network::new(source, u8::MAX) } else { network })
}

fn turned(flow: &FlowId) -> Option<FlowId> {
    let FlowId::Ip { protocol, source, destination, ports } = *flow else { return None };
    let ports = ports.map(|(from, to)| (to, from));
    Some(FlowId::Ip { protocol, source: destination, destination: source, ports })
}

fn ends(flow: &FlowId) -> Option<(IpAddr, IpAddr)> {
    let FlowId::Ip { source, destination, .. } = *flow else { return None };
    Some((source, destination))
}

/// Returns the number of first bits that two addresses share; 0 for addresses of different versions.
fn common(a: IpAddr, b: IpAddr) -> u8 {
    let same = match (a, b) {
        (IpAddr::V4(a), IpAddr::V4(b)) => (a.to_bits() ^ b.to_bits()).leading_zeros(),
        (IpAddr::V6(a), IpAddr::V6(b)) => (a.to_bits() ^ b.to_bits()).leading_zeros(),
        _ => 0,
    };
    same as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    fn flow(source: &str, destination: &str, ports: (u16, u16)) -> FlowId {
        let (source, destination) = (address(source), address(destination));
        FlowId::Ip { protocol: 6, source, destination, ports: Some(ports) }
    }

    /// Would catch a direction told by one flow alone, and a network that has both ends.
    #[test]
    fn both_directions_are_told_apart() {
        let first = |flows: &[FlowId]| first_direction(flows).map(|network| network.to_string());
        let there = flow("10.0.0.1", "10.128.0.1", (1, 2));
        let back = flow("10.128.0.1", "10.0.0.1", (2, 1));
        assert_eq!(first(&[there, flow("10.128.0.1", "10.0.0.1", (2, 3))]), None);
        assert_eq!(first(&[there, back]), Some("10.0.0.1".to_owned()));
        let other = [flow("10.128.0.6", "10.0.0.6", (2, 1)), flow("10.0.0.6", "10.128.0.6", (1, 2))];
        assert_eq!(first(&[there, back, other[0], other[1]]), Some("10.0.0.0/29".to_owned()));
        let near = [flow("10.0.0.1", "10.0.0.2", (1, 2)), flow("10.0.0.2", "10.0.0.1", (2, 1))];
        assert_eq!(first(&near), Some("10.0.0.1".to_owned()));
    }
}
