//! What of a scenario the lab does, and which of it it cannot.

use std::fs;

use fairlane_qdisc::{Duration, Kind, QdiscConfig, Size, Value};
use fairlane_scenario::{
    Access, Application, Congestion, FlowGroup, Hop, Link, LinkSide, PacketSizes, Scenario, Source, Tcp, Traffic, Udp,
};

use super::error::{LabError, Unsupported};

/// Flows that the lab runs at most: each has a socket at either end.
const MOST_FLOWS: u32 = 1_000;

/// Packets a second at most, of all flows together at the bottleneck: what user space can take in with room to spare.
const MOST_PACKETS: f64 = 100_000.0;

/// Packets of this many bytes fit through any interface of the lab, and Linux's smallest segment of 88 bytes with its headers too.
const TCP_PACKETS: [u64; 2] = [140, 9_000];

/// IPv4's and UDP's headers and a sequence number of eight bytes.
const UDP_PACKETS: [u64; 2] = [36, 9_000];

/// IPv4's and TCP's headers with all options: no acknowledgement is larger.
const LARGEST_ACK: u32 = 100;

/// The MTU where no packet needs more: Ethernet's.
const USUAL_MTU: u32 = 1_500;

/// The link of the dumbbell shorthand.
const BOTTLENECK: &str = "bottleneck";

/// A scenario that the lab can do.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) scenario: Scenario,
    pub(super) link: Link,
    /// The group of each flow, and its number there.
    pub(super) flows: Vec<(usize, u32)>,
    /// The MTU of all interfaces.
    pub(super) mtu: u32,
    /// Hosts acknowledge selectively.
    pub(super) sack: bool,
    /// Hosts ask for ECN.
    pub(super) ecn: bool,
}

impl Plan {
    /// Finds what the lab cannot do.
    pub(super) fn new(scenario: &Scenario) -> Result<Self, Unsupported> {
        let [link] = &scenario.links[..] else {
            return Err(cannot("links", "the lab has one link between two nodes", "simulate networks: fairlane run"));
        };
        check_link(link)?;
        scenario.flows.iter().try_for_each(check_group)?;
        check_load(scenario, link)?;
        let tcp = || scenario.flows.iter().filter_map(|group| Some((group, tcp_of(group)?)));
        let flows: Vec<(usize, u32)> = scenario.flows.iter().enumerate().flat_map(numbered).collect();
        if flows.len() as u64 > u64::from(MOST_FLOWS) {
            let message = format!("these are {} flows, and the lab runs {MOST_FLOWS}", flows.len());
            return Err(cannot("flows", message, "simulate many flows: fairlane run"));
        }
        let ecn = tcp().any(|(_, tcp)| tcp.ecn);
        if let Some((group, _)) = tcp().find(|(_, tcp)| ecn && !tcp.ecn) {
            let message = "hosts of the lab have one switch for ECN, and another group has it on";
            return Err(cannot(&of_group(group, "tcp.ecn"), message, "give all TCP flows ECN, or none"));
        }
        let largest = scenario.flows.iter().map(|group| group.packet.get() as u32).max().unwrap_or(0);
        Ok(Self {
            flows,
            mtu: largest.max(USUAL_MTU),
            sack: tcp().any(|(_, tcp)| tcp.congestion.uses_sack()),
            ecn,
            link: link.clone(),
            scenario: scenario.clone(),
        })
    }

    /// Makes sure that the kernel has the congestion controls that are asked for.
    pub(super) fn check_kernel(&self) -> Result<(), LabError> {
        let file = "/proc/sys/net/ipv4/tcp_available_congestion_control";
        let known = fs::read_to_string(file).map_err(super::error::setup(file))?;
        for group in &self.scenario.flows {
            let Some(wanted) = tcp_of(group).map(kernel_name) else { continue };
            if !known.split_whitespace().any(|name| name == wanted) {
                let message = format!("this kernel has no congestion control \"{wanted}\"");
                let help = format!("it has {}", known.split_whitespace().collect::<Vec<_>>().join(", "));
                return Err(cannot(&of_group(group, "cc"), message, help).into());
            }
        }
        Ok(())
    }

    /// Whether flow `flow` is of UDP.
    pub(super) fn is_udp(&self, flow: u32) -> bool {
        matches!(self.group(flow).traffic, Traffic::Udp(_))
    }

    /// The largest packet of the scenario in bytes, and of acknowledgements.
    pub(super) fn largest(&self) -> u32 {
        self.scenario.flows.iter().map(|group| group.packet.get() as u32).max().unwrap_or(0).max(LARGEST_ACK)
    }

    /// The shortest round trip of TCP by the links' delays alone.
    pub(super) fn round_trip(&self) -> Duration {
        let of = |access: &Option<Access>| access.as_ref().map_or(Duration::ZERO, |access| access.delay);
        let hosts = |group: &FlowGroup| of(&group.source) + of(&group.sink);
        let tcp = self.scenario.flows.iter().filter(|group| tcp_of(group).is_some());
        let hosts = tcp.map(hosts).min().unwrap_or(Duration::ZERO);
        hosts + hosts + self.link.forward.delay + self.link.reverse.delay
    }

    /// The group of flow `flow`.
    pub(super) fn group(&self, flow: u32) -> &FlowGroup {
        &self.scenario.flows[self.flows[flow as usize].0]
    }
}

/// TCP's parameters of a group, if it is of TCP.
pub(super) const fn tcp_of(group: &FlowGroup) -> Option<&Tcp> {
    match &group.traffic {
        Traffic::Tcp(tcp) => Some(tcp),
        Traffic::Udp(_) | Traffic::Tfrc(_) => None,
    }
}

/// What the kernel calls a congestion control. Its loss recovery is the kernel's own.
pub(super) const fn kernel_name(tcp: &Tcp) -> &'static str {
    match tcp.congestion {
        Congestion::Tahoe => "tahoe",
        Congestion::Reno | Congestion::NewReno | Congestion::Sack => "reno",
        Congestion::Vegas => "vegas",
        Congestion::Cubic => "cubic",
        Congestion::Dctcp => "dctcp",
        Congestion::Bbr => "bbr",
    }
}

/// Packets that a host's queue has room for, of those of `bytes` bytes.
pub(super) fn room(queue: &QdiscConfig, bytes: u64) -> Option<u64> {
    if queue.kind() != Kind::DropTail {
        return None;
    }
    let limit = queue.given().find_map(|(key, value)| match value {
        Value::Text(text) if key == "limit" => text.parse().ok(),
        _ => None,
    });
    limit.map(|limit| match limit {
        Size::Packets(packets) => packets.get().into(),
        Size::Bytes(limit) => limit.get() / bytes.max(1),
    })
}

fn numbered((place, group): (usize, &FlowGroup)) -> impl Iterator<Item = (usize, u32)> {
    (0..group.count).map(move |index| (place, index))
}

fn a_second(bits: u64, group: &FlowGroup) -> f64 {
    bits as f64 / (8.0 * group.packet.get().max(1) as f64)
}

/// Whether user space can take in so many packets. It is the link's rate that is refused, or that of the UDP which has the most.
fn check_load(scenario: &Scenario, link: &Link) -> Result<(), Unsupported> {
    let load = |group: &FlowGroup| match &group.traffic {
        Traffic::Udp(udp) => f64::from(group.count) * a_second(udp.rate.bits_per_second(), group),
        Traffic::Tcp(_) | Traffic::Tfrc(_) => 0.0,
    };
    let udp: f64 = scenario.flows.iter().map(load).sum();
    // Beside UDP, TCP fills the link at the most.
    let rate = link.forward.rate.bits_per_second();
    let tcp = scenario.flows.iter().filter(|group| tcp_of(group).is_some()).map(|group| a_second(rate, group));
    let tcp = tcp.fold(0.0, f64::max);
    if udp + tcp <= MOST_PACKETS {
        return Ok(());
    }
    let most = scenario.flows.iter().max_by(|one, other| load(one).total_cmp(&load(other)));
    let key = match most {
        Some(group) if udp > tcp => of_group(group, "rate"),
        _ => of_link(link, "rate"),
    };
    let message = format!("this is about {:.0} packets a second, and the lab takes {MOST_PACKETS}", udp + tcp);
    Err(cannot(&key, message, "a slower link and less to send ask the same question"))
}

fn check_link(link: &Link) -> Result<(), Unsupported> {
    check_side(&link.forward, &of_link(link, ""))?;
    check_side(&link.reverse, &of_link(link, "reverse."))
}

/// `before` is what the keys of this direction begin with.
fn check_side(side: &LinkSide, before: &str) -> Result<(), Unsupported> {
    let refuse = |key: &str, message: &str| {
        Err(cannot(&format!("{before}{key}"), message, "leave it out here, or simulate it: fairlane run"))
    };
    let wire = &side.wire;
    if wire.loss.is_some() {
        return refuse("loss", "the lab's link loses nothing");
    }
    if wire.jitter.as_nanos() > 0 {
        return refuse("jitter", "the lab's link has one delay for all packets");
    }
    if wire.reorder {
        return refuse("reorder", "the lab's link keeps packets in order");
    }
    if wire.rates.is_some() {
        return refuse("rate", "the lab's link has one rate");
    }
    Ok(())
}

fn check_group(group: &FlowGroup) -> Result<(), Unsupported> {
    let refuse = |key: &str, message: &str, help: &str| Err(cannot(&of_group(group, key), message, help));
    if group.path != [Hop { link: 0, reverse: false }] {
        return refuse("from", "the lab's data goes from the left to the right", "leave out from, to and path");
    }
    for access in [&group.source, &group.sink].into_iter().flatten() {
        check_access(access, group)?;
    }
    let sizes = match &group.traffic {
        Traffic::Tcp(tcp) => {
            check_tcp(tcp, group)?;
            TCP_PACKETS
        }
        Traffic::Udp(udp) => {
            check_udp(udp, group)?;
            UDP_PACKETS
        }
        Traffic::Tfrc(_) => return refuse("kind", "Linux has no tfrc", "choose tcp or udp, or simulate it"),
    };
    let [least, most] = sizes;
    if !(least..=most).contains(&group.packet.get()) {
        let message = format!("packets of {} bytes cannot be had here", group.packet.get());
        return Err(cannot(&of_group(group, "packet"), message, format!("choose {least}b to {most}b")));
    }
    Ok(())
}

fn check_access(access: &Access, group: &FlowGroup) -> Result<(), Unsupported> {
    if room(&access.queue, group.packet.get()).is_some() {
        return Ok(());
    }
    let message = format!("the lab's hosts have a droptail queue, and this is {}", access.queue.kind());
    Err(cannot("access.queue", message, "manage the bottleneck's queue alone, or simulate it: fairlane run"))
}

fn check_tcp(tcp: &Tcp, group: &FlowGroup) -> Result<(), Unsupported> {
    match tcp.application {
        Application::Ftp => Ok(()),
        Application::Transfers(_) | Application::OnOff(_) => {
            let message = "the lab's TCP has unlimited data";
            Err(cannot(&of_group(group, "source"), message, "leave it out, or simulate it: fairlane run"))
        }
    }
}

fn check_udp(udp: &Udp, group: &FlowGroup) -> Result<(), Unsupported> {
    let refuse = |key: &str, message: &str| {
        Err(cannot(&of_group(group, key), message, "leave it out, or simulate it: fairlane run"))
    };
    match udp.source {
        Source::Cbr { jitter: 0.0 } => {}
        Source::Cbr { .. } => return refuse("jitter", "the lab's UDP is evenly spaced"),
        _ => return refuse("source", "the lab's UDP has a constant rate"),
    }
    if udp.sizes != PacketSizes::Fixed {
        return refuse("sizes", "the lab's packets are all of one size");
    }
    Ok(())
}

fn of_link(link: &Link, key: &str) -> String {
    if link.name == BOTTLENECK { format!("{BOTTLENECK}.{key}") } else { format!("links.{}.{key}", link.name) }
}

fn of_group(group: &FlowGroup, key: &str) -> String {
    format!("flows.{}.{key}", group.name)
}

fn cannot(key: &str, message: impl Into<String>, help: impl Into<String>) -> Unsupported {
    Unsupported { key: key.to_owned(), message: message.into(), help: help.into() }
}
