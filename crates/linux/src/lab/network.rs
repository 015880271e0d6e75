//! The lab's three network namespaces and their interfaces.

use std::fs;
use std::net::Ipv4Addr;

use crate::flow::FlowsBy;
use crate::rules::{Firewall, Rules};
use crate::socket::QueueSocket;

use super::error::{LabError, setup};
use super::node::{Node, ip, iptables, sysctl};
use super::offload::switch_off;
use super::plan::LabPlan;
use super::queue_port::bind;

/// The router's interfaces, towards the senders and towards the receivers.
pub(super) const ROUTER: [&str; 2] = ["r0", "r1"];
const SENDER: &str = "s0";
const RECEIVER: &str = "d0";

/// The definition of a flow, the same as in the simulator.
pub(super) const FLOWS: FlowsBy = FlowsBy::FiveTuple;

/// The bit of the firewall mark for packets to be marked.
pub(super) const CE_BIT: u32 = 1 << 30;

/// The NFQUEUEs of packets to the receivers and of packets to the senders.
pub(super) const QUEUES: [u16; 2] = [0, 1];

/// Returns the address of the source host of flow `flow`.
pub(super) const fn source(flow: u32) -> Ipv4Addr {
    host(78, flow)
}

/// Returns the address of the destination host of flow `flow`.
pub(super) const fn destination(flow: u32) -> Ipv4Addr {
    host(79, flow)
}

/// Returns the address of a flow's host on one side. As in the simulator, each flow has hosts of its own.
const fn host(side: u8, flow: u32) -> Ipv4Addr {
    let number = flow + 1;
    Ipv4Addr::new(10, side, (number >> 8) as u8, number as u8)
}

/// Returns the flow of a host.
pub(super) fn flow_of(address: Ipv4Addr) -> Option<u32> {
    let [10, 78 | 79, high, low] = address.octets() else { return None };
    (u32::from(high) << 8 | u32::from(low)).checked_sub(1)
}

/// The connected namespaces. Dropping it removes them.
pub(super) struct Network {
    pub(super) sender: Node,
    pub(super) router: Node,
    pub(super) receiver: Node,
}

impl Network {
    /// Creates the network without the rules of [`install_rules`].
    pub(super) fn new(plan: &LabPlan) -> Result<Self, LabError> {
        let network = Self {
            sender: Node::new("lab-sender")?,
            router: Node::new("lab-router")?,
            receiver: Node::new("lab-receiver")?,
        };
        for node in network.nodes() {
            node.run(|| {
                // This fails if the kernel has no IPv6, and then there is nothing to disable.
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

    /// Connects the namespaces. Neighbour entries are permanent, so that no packet waits for ARP.
    fn join(&self, plan: &LabPlan) -> Result<(), LabError> {
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
        // Every address of the hosts of a side is local there.
        self.sender.run(|| {
            up(SENDER, "10.77.1.1/24", "10.77.1.2", "02:00:00:00:01:02")?;
            ip("route add local 10.78.0.0/16 dev lo\nroute add default via 10.77.1.2\n")
        })?;
        self.receiver.run(|| {
            up(RECEIVER, "10.77.2.1/24", "10.77.2.2", "02:00:00:00:02:02")?;
            ip("route add local 10.79.0.0/16 dev lo\nroute add default via 10.77.2.2\n")
        })
    }

    /// Returns the number of packets dropped by all interfaces.
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

/// Installs the rules that send packets to the queues. Called in the router's namespace.
pub(super) fn install_rules() -> Result<(), LabError> {
    for (queue, interface) in QUEUES.into_iter().zip([ROUTER[1], ROUTER[0]]) {
        let rules = Rules::new(queue, &[interface.to_owned()], CE_BIT)?;
        Firewall::find()?.install(&rules)?;
    }
    Ok(())
}

/// The NFQUEUE of packets that have left the kernel's own discipline, in the receiver's namespace.
pub(super) const EXIT: u16 = 2;

/// Sends packets that come from the router to an NFQUEUE, and returns it. Called in the receiver's namespace.
pub(super) fn exit() -> Result<QueueSocket, LabError> {
    let socket = bind(EXIT)?;
    iptables(&format!("*mangle\n-A PREROUTING -i {RECEIVER} -j NFQUEUE --queue-num {EXIT}\nCOMMIT\n"))?;
    Ok(socket)
}

/// Returns the drops in a line of `/proc/net/dev`, of received and of sent packets; 0 for a heading.
fn dropped(line: &str) -> u64 {
    let Some((_, counts)) = line.split_once(':') else { return 0 };
    let counts: Vec<u64> = counts.split_whitespace().map(|count| count.parse().unwrap_or(0)).collect();
    // The columns are bytes, packets, errors, drops and four more for received packets, then the same for sent ones.
    counts.get(3).unwrap_or(&0) + counts.get(11).unwrap_or(&0)
}

/// Configures `interface`, with segmentation offloads off.
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

/// Sets the TCP parameters of a host's namespace. All others keep the kernel's defaults.
fn tcp_parameters(sack: bool, ecn: bool) -> Result<(), LabError> {
    let switch = |on: bool| if on { "1" } else { "0" };
    sysctl("net/ipv4/tcp_sack", switch(sack))?;
    sysctl("net/ipv4/tcp_ecn", switch(ecn))?;
    sysctl("net/ipv4/tcp_timestamps", "1")?;
    sysctl("net/ipv4/tcp_window_scaling", "1")?;
    // Connections of one run must not influence those of the next.
    sysctl("net/ipv4/tcp_no_metrics_save", "1")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Would catch two flows that share a host, and an error at the ends of the range of numbers.
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
