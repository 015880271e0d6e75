//! The flow of a packet, from its headers.

use std::net::IpAddr;
use std::slice;

use fairlane_qdisc::headers::{FlowKeys, FlowsBy, Headers, LinkType};

use crate::fl_packet;

/// Finds flow, hosts, TOS and size of an IP packet: `ip` are its first bytes, `length` how many there are. The handle,
/// the label and the flags of `packet` stay.
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
