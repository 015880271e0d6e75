//! The sizes of packets, and how many events they cause.

use fairlane_scenario::{Application, FlowGroup, Scenario, Traffic, Web};

/// The smallest packet of a flow whose sizes differ, and the smallest acknowledgement, in bytes.
pub(crate) const SMALLEST: u64 = 1;

/// Returns the size of the smallest packet of a group in bytes.
pub(crate) fn smallest(group: &FlowGroup) -> u64 {
    match &group.traffic {
        Traffic::Tcp(tcp) => group.packet.get().min(tcp.ack.get()),
        Traffic::Udp(udp) if udp.sizes_differ() => SMALLEST,
        Traffic::Udp(_) => group.packet.get(),
        Traffic::Tfrc(_) | Traffic::Endpoint => SMALLEST,
    }
}

/// Estimates the number of events per second: five for each packet that crosses a link between nodes, and two for each
/// packet of a UDP source.
pub(crate) fn events_per_second(scenario: &Scenario) -> f64 {
    let packet_bits = |bytes: u64| 8.0 * bytes.max(1) as f64;
    let smallest = scenario.flows.iter().map(|group| group.packet.get()).min().unwrap_or(1000);
    let rates = scenario.links.iter().map(|link| link.forward.rate.bits_per_second() as f64);
    let links = rates.map(|rate| 5.0 * rate / packet_bits(smallest));
    let sources = scenario.flows.iter().map(|group| match &group.traffic {
        Traffic::Udp(udp) => {
            2.0 * f64::from(group.count) * udp.rate.bits_per_second() as f64 / packet_bits(group.packet.get())
        }
        Traffic::Tcp(_) | Traffic::Tfrc(_) | Traffic::Endpoint => 0.0,
    });
    links.chain(sources).sum()
}

/// Returns the pages that a group loads; `None` for other traffic.
pub(crate) const fn browser_of(group: &FlowGroup) -> Option<&Web> {
    match &group.traffic {
        Traffic::Tcp(tcp) => match &tcp.application {
            Application::Web(web) => Some(web),
            _ => None,
        },
        _ => None,
    }
}
