//! The lab's three namespaces and what joins them.

use std::fs;
use std::net::Ipv4Addr;

use crate::flow::FlowsBy;
use crate::rules::{Firewall, Rules};

use super::error::{LabError, setup};
use super::node::{Node, ip, sysctl};
use super::offload::switch_off;
use super::plan::Plan;

/// The router's interface towards the senders, and the one towards the receivers.
const ROUTER: [&str; 2] = ["r0", "r1"];
const SENDER: &str = "s0";
const RECEIVER: &str = "d0";

/// What a flow is, here as in the simulator.
pub(super) const FLOWS: FlowsBy = FlowsBy::FiveTuple;

/// The bit that marks packets.
pub(super) const CE_BIT: u32 = 1 << 30;

/// The NFQUEUE of what goes to the receivers, and of what comes back.
pub(super) const QUEUES: [u16; 2] = [0, 1];

/// The address of flow `flow`'s source host.
pub(super) const fn source(flow: u32) -> Ipv4Addr {
    host(78, flow)
}

/// The address of flow `flow`'s destination host.
pub(super) const fn destination(flow: u32) -> Ipv4Addr {
    host(79, flow)
}

/// Each flow has hosts of its own, as in the simulator.
const fn host(side: u8, flow: u32) -> Ipv4Addr {
    let number = flow + 1;
    Ipv4Addr::new(10, side, (number >> 8) as u8, number as u8)
}

/// The flow that a host belongs to.
pub(super) fn flow_of(address: Ipv4Addr) -> Option<u32> {
    let [10, 78 | 79, high, low] = address.octets() else { return None };
    (u32::from(high) << 8 | u32::from(low)).checked_sub(1)
}

/// The namespaces, joined. Dropping it removes them.
pub(super) struct Network {
    pub(super) sender: Node,
    pub(super) router: Node,
    pub(super) receiver: Node,
}

impl Network {
    /// Makes all of it, but for the rules of [`lead_to_queues`].
    pub(super) fn new(plan: &Plan) -> Result<Self, LabError> {
        let network = Self {
            sender: Node::new("lab-sender")?,
            router: Node::new("lab-router")?,
            receiver: Node::new("lab-receiver")?,
        };
        for node in network.nodes() {
            node.run(|| {
                // Without IPv6 in the kernel there is nothing to switch off.
                for interfaces in ["all", "default"] {
                    let _ = fs::write(format!("/proc/sys/net/ipv6/conf/{interfaces}/disable_ipv6"), "1");
                    sysctl(&format!("net/ipv4/conf/{interfaces}/rp_filter"), "0")?;
                }
                ip("link set lo up\n")
            })?;
        }
        network.join(plan)?;
        let (sack, ecn) = (plan.sack, plan.ecn);
        for node in [&network.sender, &network.receiver] {
            node.run(move || tcp_parameters(sack, ecn))?;
        }
        Ok(network)
    }

    fn nodes(&self) -> [&Node; 3] {
        [&self.sender, &self.router, &self.receiver]
    }

    /// Joins the namespaces. Neighbours are written down, so that no packet waits for ARP.
    fn join(&self, plan: &Plan) -> Result<(), LabError> {
        let (sender, receiver, mtu) = (self.sender.id(), self.receiver.id(), plan.mtu);
        let pairs = format!(
            "\
link add r0 mtu {mtu} address 02:00:00:00:01:02 type veth peer name s0 mtu {mtu} address 02:00:00:00:01:01 netns {sender}
link add r1 mtu {mtu} address 02:00:00:00:02:02 type veth peer name d0 mtu {mtu} address 02:00:00:00:02:01 netns {receiver}
"
        );
        self.router.run(move || {
            ip(&pairs)?;
            up(ROUTER[0], "10.77.1.2/24", "10.77.1.1", "02:00:00:00:01:01")?;
            up(ROUTER[1], "10.77.2.2/24", "10.77.2.1", "02:00:00:00:02:01")?;
            ip("route add 10.78.0.0/16 via 10.77.1.1\nroute add 10.79.0.0/16 via 10.77.2.1\n")?;
            sysctl("net/ipv4/ip_forward", "1")
        })?;
        // Every address of a side's hosts is local there.
        self.sender.run(|| {
            up(SENDER, "10.77.1.1/24", "10.77.1.2", "02:00:00:00:01:02")?;
            ip("route add local 10.78.0.0/16 dev lo\nroute add default via 10.77.1.2\n")
        })?;
        self.receiver.run(|| {
            up(RECEIVER, "10.77.2.1/24", "10.77.2.2", "02:00:00:00:02:02")?;
            ip("route add local 10.79.0.0/16 dev lo\nroute add default via 10.77.2.2\n")
        })
    }

    /// Packets that the interfaces have dropped, all together.
    pub(super) fn interface_drops(&self) -> Result<u64, LabError> {
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

/// Installs the rules that lead packets to the router's queues, in this thread's namespace, which is the router's.
pub(super) fn lead_to_queues() -> Result<(), LabError> {
    for (queue, interface) in QUEUES.into_iter().zip([ROUTER[1], ROUTER[0]]) {
        let rules = Rules::new(queue, &[interface.to_owned()], CE_BIT)?;
        Firewall::find()?.install(&rules)?;
    }
    Ok(())
}

/// Packets dropped of a line of `/proc/net/dev`, both received and sent; 0 of a heading.
fn dropped(line: &str) -> u64 {
    let Some((_, counts)) = line.split_once(':') else { return 0 };
    let counts: Vec<u64> = counts.split_whitespace().map(|count| count.parse().unwrap_or(0)).collect();
    // Bytes, packets, errors, drops and four more for what came, then the same for what went.
    counts.get(3).unwrap_or(&0) + counts.get(11).unwrap_or(&0)
}

/// Makes `interface` ready, with segmentation offloads off.
fn up(interface: &str, address: &str, neighbour: &str, hardware: &str) -> Result<(), LabError> {
    ip(&format!(
        "\
address add {address} dev {interface}
link set {interface} up
neighbour replace {neighbour} lladdr {hardware} dev {interface} nud permanent
"
    ))?;
    switch_off(interface).map_err(setup(format!("offloads of {interface}")))
}

/// What hosts of the lab are told of TCP; everything else is as in any new namespace.
fn tcp_parameters(sack: bool, ecn: bool) -> Result<(), LabError> {
    let switch = |on: bool| if on { "1" } else { "0" };
    sysctl("net/ipv4/tcp_sack", switch(sack))?;
    sysctl("net/ipv4/tcp_ecn", switch(ecn))?;
    sysctl("net/ipv4/tcp_timestamps", "1")?;
    sysctl("net/ipv4/tcp_window_scaling", "1")?;
    // One run's connections tell the next one's nothing.
    sysctl("net/ipv4/tcp_no_metrics_save", "1")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Would catch two flows that share a host, and the ends of the range of numbers.
    #[test]
    fn a_host_tells_its_flow() {
        for flow in [0, 1, 254, 255, 256, 65_533] {
            assert_eq!((flow_of(source(flow)), flow_of(destination(flow))), (Some(flow), Some(flow)));
        }
        assert_eq!(source(255).octets(), [10, 78, 1, 0]);
        for other in [[10, 77, 1, 1], [10, 78, 0, 0], [127, 0, 0, 1]] {
            assert_eq!(flow_of(other.into()), None);
        }
    }

    /// The line of the kernel's `dev_seq_printf_stats`.
    #[test]
    fn drops_of_both_directions_count() {
        let line =
            "    r0: 9001  90  1  7    0     0          0         0   9002  91  2   5    0     0       0          0";
        assert_eq!(dropped(line), 12);
        assert_eq!(dropped(" face |bytes    packets errs drop fifo frame compressed multicast|bytes"), 0);
        assert_eq!(dropped("lo: 1 2"), 0);
    }
}
