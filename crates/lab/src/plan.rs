//! Checks that the lab supports a scenario.

use std::fs;

use fairlane_qdisc::{AnyConfig, Duration, QdiscConfig, Rate, Size};
use fairlane_scenario::{
    Access, Application, Congestion, FlowGroup, KernelDiscipline, Link, LinkSide, LossRecovery, PacketSizes, Scenario,
    Source, Tcp, Traffic, Udp,
};

use crate::address::{IpVersion, Side};
use crate::error::{LabError, Unsupported};
use crate::link::{check_kernel_side, check_link, of_link};

/// The maximum number of flows. Each has a socket at both ends.
const MAX_FLOWS: u32 = 1_000;

/// The maximum number of packets per second at the bottleneck, which user space processes with a margin.
const MAX_PACKETS: f64 = 100_000.0;

/// The sizes of packets in bytes: all of TCP's have Linux's smallest segment of 88 bytes, and all of UDP's its header
/// and a sequence number of eight bytes. To the minimum the header of IP is added, and to TCP's that of TCP with
/// timestamps.
const TCP_PACKETS: [u64; 2] = [88 + 32, 9_000];
const UDP_PACKETS: [u64; 2] = [16, 9_000];

/// The length of a TCP header with all options and a margin: with the header of IP, no acknowledgement is larger.
const LARGEST_TCP_HEADER: u32 = 80;

/// The minimum MTU of the interfaces: that of Ethernet.
const USUAL_MTU: u32 = 1_500;

/// A scenario that the lab supports.
#[derive(Clone, Debug)]
pub(crate) struct LabPlan {
    pub(crate) scenario: Scenario,
    pub(crate) link: Link,
    /// The group of each flow, and the flow's index within it.
    pub(crate) flows: Vec<(usize, u32)>,
    /// The MTU of all interfaces.
    pub(crate) mtu: u32,
    /// `true` if hosts use selective acknowledgements.
    pub(crate) sack: bool,
    /// The loss recovery of a group is RACK-TLP.
    rack: bool,
    pub(crate) ip_version: IpVersion,
}

impl LabPlan {
    /// Checks `scenario`.
    pub(crate) fn new(scenario: &Scenario, ip_version: IpVersion) -> Result<Self, Unsupported> {
        scenario.links.first().map_or(Ok(()), check_link)?;
        Self::hosted(scenario, ip_version)
    }

    /// Checks the flows of `scenario`, whose link is another's.
    pub(crate) fn hosted(scenario: &Scenario, ip_version: IpVersion) -> Result<Self, Unsupported> {
        let [link] = &scenario.links[..] else {
            return Err(Unsupported::new(
                "links",
                "the lab supports one link between two nodes",
                "simulate networks: fairlane run",
            ));
        };
        scenario.flows.iter().try_for_each(|group| check_group(group, ip_version))?;
        check_load(scenario, link)?;
        let flows: Vec<(usize, u32)> = scenario.flows.iter().enumerate().flat_map(numbered).collect();
        if flows.len() as u64 > u64::from(MAX_FLOWS) {
            let message = format!("{} flows exceed the maximum of the lab, {MAX_FLOWS}", flows.len());
            return Err(Unsupported::new("flows", message, "simulate many flows: fairlane run"));
        }
        let largest = scenario.flows.iter().map(|group| largest_packet(group, ip_version)).max().unwrap_or(0);
        Ok(Self {
            flows,
            mtu: largest.max(USUAL_MTU),
            sack: scenario.flows.iter().filter_map(tcp_of).any(Tcp::uses_sack),
            rack: scenario.flows.iter().filter_map(tcp_of).any(|tcp| tcp.recovery == LossRecovery::Rack),
            ip_version,
            link: link.clone(),
            scenario: scenario.clone(),
        })
    }

    /// Checks that a discipline of the kernel can be in front of the link.
    pub(crate) fn check_kernel_link(&self) -> Result<(), Unsupported> {
        check_kernel_side(&self.link, &self.link.forward)
    }

    /// Returns the kernel's discipline that corresponds to that of the queue.
    pub(crate) fn kernel_discipline(&self) -> Result<KernelDiscipline, Unsupported> {
        self.check_kernel_link()?;
        let LinkSide { queue, rate, .. } = &self.link.forward;
        let packet = self.scenario.flows.iter().map(|group| group.packet.get()).max().unwrap_or(1);
        KernelDiscipline::new(queue.config(), *rate, packet).ok_or_else(|| {
            let message = format!("the kernel has no {} with these parameters", queue.kind());
            let help = "it has droptail, red, choke, sfb, sfq, codel, fq-codel, pie, fq-pie, cake and dualpi2";
            Unsupported::new(&of_link(&self.link, "queue.kind"), message, help)
        })
    }

    /// Checks that the kernel has the congestion controls of the scenario.
    pub(crate) fn check_kernel(&self) -> Result<(), LabError> {
        let file = "/proc/sys/net/ipv4/tcp_available_congestion_control";
        let known = fs::read_to_string(file).map_err(crate::error::setup(file))?;
        for group in &self.scenario.flows {
            let Some(wanted) = tcp_of(group).map(kernel_name) else { continue };
            if !known.split_whitespace().any(|name| name == wanted) {
                let message = format!("this kernel has no congestion control \"{wanted}\"");
                let help = format!("it has {}", known.split_whitespace().collect::<Vec<_>>().join(", "));
                return Err(Unsupported::new(&of_group(group, "cc"), message, help).into());
            }
        }
        Ok(())
    }

    /// Returns the loss recovery of the kernel: without SACK that of NewReno. With SACK it is always RACK-TLP; a
    /// scenario that asks for RFC 6675 gets the nearest equivalent.
    pub(crate) const fn recovery(&self) -> LossRecovery {
        match (self.sack, self.rack) {
            (true, true) => LossRecovery::Rack,
            (true, false) => LossRecovery::Sack,
            (false, _) => LossRecovery::NewReno,
        }
    }

    /// Returns the transport of a group in outcomes.
    pub(crate) fn transport(&self, group: &FlowGroup) -> String {
        tcp_of(group).map_or_else(
            || group.traffic.to_string(),
            |tcp| format!("tcp {} of Linux, recovery {}", kernel_name(tcp), self.recovery().name()),
        )
    }

    /// Returns the side from which the data of flow `flow` come.
    pub(crate) fn side(&self, flow: u32) -> Side {
        Side::of(self.group(flow))
    }

    /// Returns the sides from which data come.
    pub(crate) fn sides(&self) -> Vec<Side> {
        let sent_by = |side: &Side| self.scenario.flows.iter().any(|group| Side::of(group) == *side);
        [Side::Left, Side::Right].into_iter().filter(sent_by).collect()
    }

    /// Returns the place of the way that carries the data of flow `flow` among those that carry data.
    pub(crate) fn place(&self, flow: u32) -> usize {
        let side = self.side(flow);
        self.sides().iter().position(|other| *other == side).unwrap_or(0)
    }

    /// Returns `true` if flow `flow` makes transfers.
    pub(crate) fn has_transfers(&self, flow: u32) -> bool {
        tcp_of(self.group(flow)).is_some_and(|tcp| matches!(tcp.application, Application::Transfers(_)))
    }

    /// Returns `true` if the TCP of flow `flow` asks for ECN.
    pub(crate) fn uses_ecn(&self, flow: u32) -> bool {
        tcp_of(self.group(flow)).is_some_and(|tcp| tcp.ecn)
    }

    /// Returns `true` if flow `flow` is UDP.
    pub(crate) fn is_udp(&self, flow: u32) -> bool {
        matches!(self.group(flow).traffic, Traffic::Udp(_))
    }

    /// Returns the size of the scenario's largest packet or acknowledgement in bytes.
    pub(crate) fn largest(&self) -> u32 {
        let data = self.scenario.flows.iter().map(|group| largest_packet(group, self.ip_version)).max().unwrap_or(0);
        data.max(self.ip_version.header() + LARGEST_TCP_HEADER)
    }

    /// Returns the shortest round trip of TCP from the delays of the links, without their jitter.
    pub(crate) fn round_trip(&self) -> Duration {
        let of = |access: &Option<Access>| access.as_ref().map_or(Duration::ZERO, |access| access.delay);
        let hosts = |group: &FlowGroup| of(&group.source) + of(&group.sink);
        let tcp = self.scenario.flows.iter().filter(|group| tcp_of(group).is_some());
        let hosts = tcp.map(hosts).min().unwrap_or(Duration::ZERO);
        hosts + hosts + self.link.forward.delay + self.link.reverse.delay
    }

    /// Returns the time by which a round trip may be shorter or longer for the jitter of the links.
    pub(crate) fn jitter(&self) -> Duration {
        self.link.forward.wire.jitter + self.link.reverse.wire.jitter
    }

    /// Returns the least and the largest UDP packet in bytes.
    pub(crate) fn udp_sizes(&self) -> [u32; 2] {
        udp_packets(self.ip_version).map(|bytes| bytes as u32)
    }

    /// Returns the group of flow `flow`.
    pub(crate) fn group(&self, flow: u32) -> &FlowGroup {
        &self.scenario.flows[self.flows[flow as usize].0]
    }
}

/// Returns the TCP parameters of a group; `None` if it is not TCP.
pub(crate) const fn tcp_of(group: &FlowGroup) -> Option<&Tcp> {
    match &group.traffic {
        Traffic::Tcp(tcp) => Some(tcp),
        Traffic::Udp(_) | Traffic::Tfrc(_) | Traffic::Endpoint => None,
    }
}

/// Returns the kernel's name of a congestion control. Loss recovery is always the kernel's.
pub(crate) const fn kernel_name(tcp: &Tcp) -> &'static str {
    match tcp.congestion {
        Congestion::Tahoe => "tahoe",
        Congestion::Reno | Congestion::NewReno | Congestion::Sack => "reno",
        Congestion::Vegas => "vegas",
        Congestion::Cubic => "cubic",
        Congestion::Dctcp => "dctcp",
        Congestion::Bbr => "bbr",
        Congestion::Bbr3 => "bbr3",
        Congestion::Ledbat => "ledbat",
        Congestion::Prague => "prague",
        Congestion::Own(own) => own.name,
    }
}

/// Returns how many packets of `bytes` bytes fit into a host's queue; `None` for a queue that is not a DropTail.
pub(crate) fn room(queue: &QdiscConfig, bytes: u64) -> Option<u64> {
    let AnyConfig::DropTail(droptail) = queue.config() else { return None };
    Some(match droptail.limit {
        Size::Packets(packets) => packets.get().into(),
        Size::Bytes(limit) => limit.get() / bytes.max(1),
    })
}

/// Returns the highest rate of a direction.
pub(crate) fn fastest(side: &LinkSide) -> Rate {
    let rates = side.wire.rates.as_ref().map(|rates| rates.steps().iter().map(|(_, rate)| *rate));
    rates.and_then(Iterator::max).unwrap_or(side.rate)
}

/// Returns the least and the largest UDP packet in bytes.
fn udp_packets(ip_version: IpVersion) -> [u64; 2] {
    let [least, most] = UDP_PACKETS;
    [least + u64::from(ip_version.header()), most]
}

/// Returns the size in bytes of the largest packet of a group.
fn largest_packet(group: &FlowGroup, ip_version: IpVersion) -> u32 {
    let [_, most] = udp_packets(ip_version);
    let bytes = match &group.traffic {
        Traffic::Udp(udp) if udp.sizes == PacketSizes::Geometric => most,
        Traffic::Udp(Udp { source: Source::Trace(trace), .. }) => {
            let recorded = (0..trace.flows() as u32).flat_map(|flow| trace.flow(flow));
            recorded.map(|packet| packet.bytes.get()).max().unwrap_or(0).min(most)
        }
        _ => group.packet.get(),
    };
    bytes as u32
}

fn numbered((place, group): (usize, &FlowGroup)) -> impl Iterator<Item = (usize, u32)> {
    (0..group.count).map(move |index| (place, index))
}

fn a_second(bits: u64, group: &FlowGroup) -> f64 {
    bits as f64 / (8.0 * group.packet.get().max(1) as f64)
}

/// Checks the number of packets per second. The error names the rate of the link, or that of the UDP group with the
/// highest load.
fn check_load(scenario: &Scenario, link: &Link) -> Result<(), Unsupported> {
    let load = |group: &FlowGroup| match &group.traffic {
        Traffic::Udp(udp) => f64::from(group.count) * a_second(udp.rate.bits_per_second(), group),
        Traffic::Tcp(_) | Traffic::Tfrc(_) | Traffic::Endpoint => 0.0,
    };
    let udp: f64 = scenario.flows.iter().map(load).sum();
    // TCP at most fills the link, in each direction.
    let filled = |side: Side| {
        let rate = fastest(if side == Side::Left { &link.forward } else { &link.reverse });
        let groups = scenario.flows.iter().filter(|group| tcp_of(group).is_some() && Side::of(group) == side);
        groups.map(|group| a_second(rate.bits_per_second(), group)).fold(0.0, f64::max)
    };
    let tcp = filled(Side::Left) + filled(Side::Right);
    if udp + tcp <= MAX_PACKETS {
        return Ok(());
    }
    let most = scenario.flows.iter().max_by(|one, other| load(one).total_cmp(&load(other)));
    let key = match most {
        Some(group) if udp > tcp => of_group(group, "rate"),
        _ => of_link(link, "rate"),
    };
    let message = format!("about {:.0} packets per second exceed the maximum of the lab, {MAX_PACKETS}", udp + tcp);
    Err(Unsupported::new(&key, message, "reduce the rate of the link and the load in proportion"))
}

fn check_group(group: &FlowGroup, ip_version: IpVersion) -> Result<(), Unsupported> {
    let refuse = |key: &str, message: &str, help: &str| Err(Unsupported::new(&of_group(group, key), message, help));
    let simulated = match tcp_of(group).map(|tcp| &tcp.application) {
        Some(Application::Web(_)) => "pages of objects",
        Some(Application::Video(_)) => "adaptive video",
        Some(Application::Rpc(_)) => "calls of remote procedures",
        Some(Application::Cbr(_)) => "applications at a rate",
        Some(Application::Own(_)) => "applications of a program",
        _ => "",
    };
    if !simulated.is_empty() {
        let message = format!("the lab has no {simulated}");
        return refuse("source", &message, "choose source = \"transfers\", or simulate it");
    }
    if group.score.is_some() {
        return refuse("score", "the lab does not see both ends by one clock", "leave it out, or simulate it");
    }
    for access in [&group.source, &group.sink].into_iter().flatten() {
        check_access(access, group)?;
    }
    let sizes = match &group.traffic {
        Traffic::Tcp(_) => {
            let [least, most] = TCP_PACKETS;
            [least + u64::from(ip_version.header()), most]
        }
        Traffic::Udp(_) => udp_packets(ip_version),
        Traffic::Tfrc(_) => return refuse("kind", "Linux has no tfrc", "choose tcp or udp, or simulate it"),
        Traffic::Endpoint => return refuse("kind", "the lab has no endpoints of a program", "choose tcp or udp"),
    };
    let [least, most] = sizes;
    if !(least..=most).contains(&group.packet.get()) {
        let message = format!("the lab does not support packets of {} bytes", group.packet.get());
        return Err(Unsupported::new(&of_group(group, "packet"), message, format!("choose {least}b to {most}b")));
    }
    Ok(())
}

fn check_access(access: &Access, group: &FlowGroup) -> Result<(), Unsupported> {
    if room(&access.queue, group.packet.get()).is_some() {
        return Ok(());
    }
    let message = format!("hosts of the lab have a droptail queue, not {}", access.queue.kind());
    Err(Unsupported::new("access.queue", message, "manage only the bottleneck's queue, or simulate it: fairlane run"))
}

fn of_group(group: &FlowGroup, key: &str) -> String {
    format!("flows.{}.{key}", group.name)
}
