//! The lab's three network namespaces and their interfaces.

pub(crate) mod node;
mod offload;

use std::fs;
use std::net::IpAddr;

use crate::address::{IpVersion, Side};
use crate::error::{LabError, setup};
use crate::network::node::{Node, ip, sysctl};
use crate::network::offload::switch_off;
use crate::plan::LabPlan;

/// The router's interfaces, to the left and to the right.
pub(crate) const ROUTER: [&str; 2] = ["r0", "r1"];
/// The interfaces of the hosts on the left and on the right.
const HOSTS: [&str; 2] = ["s0", "d0"];

/// The hardware addresses of the hosts' interfaces.
const HARDWARE: [&str; 2] = ["02:00:00:00:01:01", "02:00:00:00:02:01"];

/// The router's interfaces behind a discipline of the kernel, which is in front of `r1`.
pub(crate) const EXIT: [&str; 2] = ["x0", "x1"];

/// The connected namespaces. Dropping it removes them.
pub(crate) struct Network {
    pub(crate) left: Node,
    pub(crate) router: Node,
    pub(crate) right: Node,
}

impl Network {
    /// Creates the network, with room for a discipline `in_kernel`.
    pub(crate) fn new(plan: &LabPlan, in_kernel: bool) -> Result<Self, LabError> {
        let network =
            Self { left: Node::new("lab-left")?, router: Node::new("lab-router")?, right: Node::new("lab-right")? };
        let ip_version = plan.ip_version;
        for node in network.nodes() {
            node.run(move || {
                for interfaces in ["all", "default"] {
                    ipv6(interfaces, ip_version)?;
                    sysctl(&format!("net/ipv4/conf/{interfaces}/rp_filter"), "0")?;
                }
                ip("link set lo up\n")
            })?;
        }
        network.join(plan, in_kernel)?;
        let sack = plan.sack;
        for (node, side) in [(&network.left, Side::Left), (&network.right, Side::Right)] {
            let routes = ecn_routes(plan, side);
            node.run(move || {
                tcp_parameters(sack)?;
                ip(&routes)
            })?;
        }
        Ok(network)
    }

    /// Returns the namespace of the hosts on `side`.
    pub(crate) const fn hosts(&self, side: Side) -> &Node {
        match side {
            Side::Left => &self.left,
            Side::Right => &self.right,
        }
    }

    fn nodes(&self) -> [&Node; 3] {
        [&self.left, &self.router, &self.right]
    }

    /// Connects the namespaces. Neighbour entries are permanent, so that no packet waits for ARP.
    fn join(&self, plan: &LabPlan, in_kernel: bool) -> Result<(), LabError> {
        let (left, right, mtu, ip_version) = (self.left.id(), self.right.id(), plan.mtu, plan.ip_version);
        let [left_mac, right_mac] = HARDWARE;
        let (last, more) = if in_kernel {
            (EXIT[1], format!("link add r1 mtu {mtu} type veth peer name x0 mtu {mtu}\n"))
        } else {
            (ROUTER[1], String::new())
        };
        let pairs = format!(
            "\
link add r0 mtu {mtu} type veth peer name s0 mtu {mtu} address {left_mac} netns {left}
link add {last} mtu {mtu} type veth peer name d0 mtu {mtu} address {right_mac} netns {right}
{more}"
        );
        self.router.run(move || {
            ip(&pairs)?;
            ROUTER.into_iter().chain(EXIT.into_iter().filter(|_| in_kernel)).try_for_each(up)
        })?;
        // Every address of the hosts of a side is local there.
        for (interface, side) in HOSTS.into_iter().zip([Side::Left, Side::Right]) {
            let neighbour = if side == Side::Left { right_mac } else { left_mac };
            self.hosts(side).run(move || {
                up(interface)?;
                let (address, prefix) = (ip_version.interface(side), ip_version.link_prefix());
                let (hosts, gateway) = (ip_version.hosts(side), ip_version.interface(side.other()));
                let at_once = if ip_version == IpVersion::V6 { " nodad" } else { "" };
                ip(&format!(
                    "\
address add {address}/{prefix} dev {interface}{at_once}
neighbour replace {gateway} lladdr {neighbour} dev {interface} nud permanent
route add local {hosts} dev lo
route add default via {gateway}
"
                ))?;
                // Unlike IPv4, IPv6 lets a socket have such an address only with this.
                if ip_version == IpVersion::V6 { sysctl("net/ipv6/ip_nonlocal_bind", "1") } else { Ok(()) }
            })?;
        }
        Ok(())
    }

    /// Returns the number of packets dropped by all interfaces.
    pub(crate) fn interface_drops(&self) -> Result<u64, LabError> {
        let mut drops = 0;
        for node in self.nodes() {
            drops += node.run(|| {
                let file = "/proc/thread-self/net/dev";
                fs::read_to_string(file).map(|text| text.lines().map(dropped).sum::<u64>()).map_err(setup(file))
            })?;
        }
        Ok(drops)
    }
}

/// Returns the drops in a line of `/proc/net/dev`, of received and of sent packets; 0 for a heading.
fn dropped(line: &str) -> u64 {
    let Some((_, counts)) = line.split_once(':') else { return 0 };
    let counts: Vec<u64> = counts.split_whitespace().map(|count| count.parse().unwrap_or(0)).collect();
    // The columns are bytes, packets, errors, drops and four more for received packets, then the same for sent ones.
    counts.get(3).unwrap_or(&0) + counts.get(11).unwrap_or(&0)
}

/// Disables IPv6, or prepares it: addresses can be used at once.
fn ipv6(interfaces: &str, ip_version: IpVersion) -> Result<(), LabError> {
    let at = |name: &str| format!("net/ipv6/conf/{interfaces}/{name}");
    if ip_version == IpVersion::V6 {
        sysctl(&at("disable_ipv6"), "0")?;
        return sysctl(&at("accept_dad"), "0");
    }
    // This fails if the kernel has no IPv6, and then there is nothing to disable.
    let _ = sysctl(&at("disable_ipv6"), "1");
    Ok(())
}

/// Sets `interface` up, with segmentation offloads off.
fn up(interface: &'static str) -> Result<(), LabError> {
    ip(&format!("link set {interface} up\n"))?;
    switch_off(interface).map_err(setup(format!("offloads of {interface}")))
}

/// Returns ip(8)'s commands that let connections from `side` of flows with ECN ask for it.
fn ecn_routes(plan: &LabPlan, side: Side) -> String {
    let (gateway, ip_version) = (plan.ip_version.interface(side.other()), plan.ip_version);
    let flows = (0..plan.flows.len() as u32).filter(|flow| plan.side(*flow) == side && plan.uses_ecn(*flow));
    let route = |flow| {
        let host: IpAddr = side.other().host(ip_version, flow);
        format!("route add {host} via {gateway} features ecn\n")
    };
    flows.map(route).collect()
}

/// Sets the TCP parameters of a host's namespace. All others keep the kernel's defaults. A host agrees to ECN, and asks
/// for it where the [route](ecn_routes) says so.
fn tcp_parameters(sack: bool) -> Result<(), LabError> {
    sysctl("net/ipv4/tcp_sack", if sack { "1" } else { "0" })?;
    sysctl("net/ipv4/tcp_ecn", "2")?;
    sysctl("net/ipv4/tcp_timestamps", "1")?;
    sysctl("net/ipv4/tcp_window_scaling", "1")?;
    // Connections of one run must not influence those of the next.
    sysctl("net/ipv4/tcp_no_metrics_save", "1")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line in the format of the kernel's `dev_seq_printf_stats`. Would catch drops of one direction that are left
    /// out.
    #[test]
    fn drops_of_both_directions_count() {
        let line =
            "    r0: 9001  90  1  7    0     0          0         0   9002  91  2   5    0     0       0          0";
        assert_eq!(dropped(line), 12);
        assert_eq!(dropped(" face |bytes    packets errs drop fifo frame compressed multicast|bytes"), 0);
        assert_eq!(dropped("lo: 1 2"), 0);
    }
}
