//! The flow of a packet, from its headers.

use std::net::IpAddr;
use std::slice;

use fairlane_qdisc::headers::{FlowKeys, FlowsBy, Headers, LinkType};

use crate::packet::{FL_UNRESPONSIVE, fl_packet};

/// Finds flow, hosts, TOS and size of an IP packet: `ip` are its first bytes, `length` how many there are. The handle
/// and the label of `packet` stay. FL_UNRESPONSIVE is set, or cleared for TCP, SCTP and DCCP.
///
/// A flow has addresses, protocol and ports in common. All fragments between two hosts with the same protocol are one
/// flow, since later fragments have no ports. The size is that of the header, or `length` where the header has none, as
/// with segmentation offload; the bytes of the link's own header are for the caller to add. `secret` keeps senders from
/// choosing packets that fall into another's flow: draw it from the operating system's randomness, and keep it as long
/// as the queue.
///
/// Returns 0; or -1 if that is no IP packet, or a pointer is NULL: then nothing has changed.
///
/// # Safety
/// `packet` is NULL, or points to a packet that can be written; `ip` is NULL, or points to `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fl_classify(packet: *mut fl_packet, ip: *const u8, length: usize, secret: u64) -> i32 {
    if ip.is_null() || length > isize::MAX as usize {
        return -1;
    }
    // SAFETY: the caller promises it.
    let (Some(packet), data) = (unsafe { packet.as_mut() }, unsafe { slice::from_raw_parts(ip, length) }) else {
        return -1;
    };
    let headers = Headers::read(LinkType::Raw, data, 0);
    let Some((source, _)) = headers.hosts() else { return -1 };
    let (keys, flow) = (FlowKeys::new(FlowsBy::FiveTuple, secret), headers.common_flow());
    packet.flow = keys.key(flow).get();
    packet.source = keys.source(flow).max(1);
    packet.destination = keys.destination(flow).max(1);
    packet.tos = headers.tos;
    packet.flags &= !FL_UNRESPONSIVE;
    packet.flags |= if headers.flow.responsive() { 0 } else { FL_UNRESPONSIVE };
    let header = match source {
        IpAddr::V4(_) => u32::from(word(data, 2)),
        IpAddr::V6(_) => {
            Some(u32::from(word(data, 4))).filter(|payload| *payload > 0).map_or(0, |payload| payload + 40)
        }
    };
    packet.bytes = if header > 0 { header } else { length as u32 };
    0
}

/// Returns the number of 16 bits at `at`.
fn word(data: &[u8], at: usize) -> u16 {
    data.get(at..at + 2).map_or(0, |bytes| u16::from_be_bytes([bytes[0], bytes[1]]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: u64 = 0x0123_4567_89ab_cdef;

    /// Classifies an IPv4 header with UDP's ports behind it. `hosts` and `ports` are the last bytes of its addresses
    /// and ports.
    fn classified(hosts: [u8; 2], ports: [u8; 2], fragment: [u8; 2], protocol: u8) -> fl_packet {
        let mut ip = vec![0x45, 0, 0, 60, 0, 1, fragment[0], fragment[1], 64, protocol, 0, 0];
        ip.extend([10, 0, 0, hosts[0], 10, 0, 0, hosts[1], 0, ports[0], 0, ports[1], 0, 40, 0, 0]);
        let mut packet = fl_packet::default();
        // SAFETY: the packet can be written, and the bytes are as many as is said.
        assert_eq!(unsafe { fl_classify(&raw mut packet, ip.as_ptr(), ip.len(), SECRET) }, 0);
        packet
    }

    const WHOLE: [u8; 2] = [0x40, 0];

    /// Would catch ports of a first fragment that count, bytes of a later one that are taken for ports, and fragments
    /// of other hosts or protocols that are the same flow.
    #[test]
    fn fragments_between_two_hosts_are_one_flow() {
        let fragments = classified([1, 2], [5, 6], [0x20, 0], 17);
        for (ports, place) in [([7, 8], [0x20, 0]), ([9, 9], [0x20, 1]), ([5, 6], [0, 2])] {
            assert_eq!(classified([1, 2], ports, place, 17).flow, fragments.flow, "{place:?}");
        }
        assert_ne!(classified([1, 2], [5, 6], WHOLE, 17).flow, fragments.flow);
        assert_ne!(classified([1, 3], [5, 6], [0, 2], 17).flow, fragments.flow);
        assert_ne!(classified([1, 2], [5, 6], [0, 2], 6).flow, fragments.flow);
    }

    /// TCP, UDP, DCCP, SCTP, ICMP. Would catch a flood of UDP that counts as TCP.
    #[test]
    fn transports_that_do_not_slow_down_are_told() {
        let flags = [6, 17, 33, 132, 1].map(|protocol| classified([1, 2], [5, 6], WHOLE, protocol).flags);
        assert_eq!(flags, [0, FL_UNRESPONSIVE, 0, 0, FL_UNRESPONSIVE]);
    }

    /// The values are those of `fairlane_qdisc::headers`, which has them from another implementation. Would catch
    /// flows and hosts that differ between C and Rust.
    #[test]
    fn flows_and_hosts_are_those_of_rust() {
        let packet = classified([1, 2], [5, 6], WHOLE, 17);
        assert_eq!(packet.flow, 0x9a39_138d_21d6_f35f);
        assert_eq!((packet.source, packet.destination), (0x5fb8_8910_c64a_3770, 0xfcd9_dd63_2be2_7d2b));
        let keys = FlowKeys::new(FlowsBy::FiveTuple, SECRET);
        let [source, destination] = [[10, 0, 0, 1], [10, 0, 0, 2]].map(IpAddr::from);
        assert_eq!((packet.source, packet.destination), (keys.host(source), keys.host(destination)));
    }
}
