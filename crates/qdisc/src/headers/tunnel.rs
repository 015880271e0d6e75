//! Tunnels of IP in IP and of GRE.
//!
//! **Source.** IPv4 in IP: RFC 2003. IPv6 in IP: RFC 4213, RFC 2473. GRE: RFC 2784, with keys and sequence numbers by
//! RFC 2890; the Ethernet frames in it have the type 0x6558 (RFC 1701).

use etherparse::{LaxIpSlice, ip_number};

use super::Fragment;
use super::flow::FlowId;
use super::ip;
use super::layer::{self, FIRST_ETHER_TYPE, Inside, Layer, word};

/// The most tunnels in each other that are looked into, which bounds the work for a packet.
const MOST_TUNNELS: usize = 8;

/// The Ethernet type of Ethernet in GRE, Transparent Ethernet Bridging.
const BRIDGED: u16 = 0x6558;

/// Returns the flow of the innermost IP header of the packet `data`, and its position in a fragmented datagram; `None`
/// if the packet is no tunnel's.
///
/// A fragment of a tunnel's packet is not looked into: later fragments have no inner header.
pub(super) fn innermost(data: &[u8]) -> Option<(FlowId, Option<Fragment>)> {
    let mut inner = inside(&read(data)?)?;
    for _ in 1..MOST_TUNNELS {
        let Some(next) = inside(&inner) else { break };
        inner = next;
    }
    Some(ip::flow(&inner))
}

fn read(data: &[u8]) -> Option<LaxIpSlice<'_>> {
    LaxIpSlice::from_slice(data).ok().map(|(ip, _)| ip)
}

/// Returns the packet in a tunnel's packet.
fn inside<'d>(ip: &LaxIpSlice<'d>) -> Option<LaxIpSlice<'d>> {
    if ip::fragment(ip).is_some() {
        return None;
    }
    let payload = ip.payload();
    match payload.ip_number {
        ip_number::IPV4 | ip_number::IPV6 => read(payload.payload),
        ip_number::GRE => read(payload.payload.get(gre(payload.payload)?..)?),
        _ => None,
    }
}

/// Returns the offset of IP behind a GRE header.
fn gre(data: &[u8]) -> Option<usize> {
    const CHECKSUM: u16 = 0x8000;
    const KEY: u16 = 0x2000;
    const SEQUENCE: u16 = 0x1000;
    /// The bits of RFC 1701 that later documents do not allow, and the version.
    const REFUSED: u16 = 0x4c07;
    let flags = word(data, 0)?;
    if flags & REFUSED != 0 {
        return None;
    }
    let fields = [CHECKSUM, KEY, SEQUENCE].into_iter().filter(|flag| flags & flag != 0).count();
    let layer = match word(data, 2)? {
        BRIDGED => Layer::Ethernet,
        // Numbers that are no Ethernet types, such as that of keepalives, are no lengths here.
        other if other < FIRST_ETHER_TYPE => return None,
        ether_type => Layer::EtherType(ether_type),
    };
    match layer::find_ip(layer, data, 4 + 4 * fields, data.len()) {
        Inside::Ip(at) => Some(at),
        Inside::Other(_) => None,
    }
}
