//! Flows and hosts of packets, identified by a keyed hash.

use core::fmt;
use core::net::IpAddr;

use siphasher::sip::SipHasher13;

use super::Headers;
use super::flow::FlowId;
use super::flows_by::FlowsBy;
use crate::FlowKey;

/// Hashes of flows and hosts under a secret: a sender cannot choose packets that collide with another's flow.
///
/// The hash is SipHash-1-3 of the fields in network order, so it is the same on every platform. Its key is the secret
/// and the secret's complement. Draw the secret from the operating system's randomness, and keep it as long as the
/// queue.
///
/// **Fragments.** All fragments between two hosts with the same protocol are one flow, including first fragments. Later
/// fragments have no ports, and this way no state is needed to find them.
///
/// **Tunnels.** A tunnel is one flow, by its outer header; for [`FlowsBy::Inner`], pass headers
/// [by](Headers::by) that definition.
///
/// **Other than IP.** Frames are identified by Ethernet type and hardware addresses. Where these are unknown, as in an
/// NFQUEUE of Linux, all such packets are one flow.
#[derive(Clone, Copy)]
pub struct FlowKeys {
    by: FlowsBy,
    secret: u64,
}

impl FlowKeys {
    /// Creates hashes for flows as defined by `by`, under `secret`.
    #[must_use]
    pub const fn new(by: FlowsBy, secret: u64) -> Self {
        Self { by, secret }
    }

    /// Returns hashes for flows as defined by `by`, under the same secret.
    #[must_use]
    pub const fn with(self, by: FlowsBy) -> Self {
        Self { by, ..self }
    }

    /// Returns the definition of a flow.
    #[must_use]
    pub const fn by(&self) -> FlowsBy {
        self.by
    }

    /// Returns the flow of a packet with `headers`.
    #[must_use]
    pub fn of(&self, headers: &Headers) -> FlowKey {
        self.key(headers.common_flow())
    }

    /// Returns the flow of packets with these fields in common.
    #[must_use]
    pub fn key(&self, flow: FlowId) -> FlowKey {
        FlowKey::new(self.key_by(self.by, flow))
    }

    /// Returns the hash of addresses, protocol and ports, regardless of the definition of flows.
    #[must_use]
    pub fn connection(&self, flow: FlowId) -> u64 {
        self.key_by(FlowsBy::FiveTuple, flow)
    }

    /// Returns the hash of the source host; without IP, that of the flow.
    #[must_use]
    pub fn source(&self, flow: FlowId) -> u64 {
        self.key_by(FlowsBy::SourceAddress, flow)
    }

    /// Returns the hash of the destination host; without IP, that of the flow.
    #[must_use]
    pub fn destination(&self, flow: FlowId) -> u64 {
        self.key_by(FlowsBy::DestinationAddress, flow)
    }

    /// Returns the hash of the host with `address`.
    #[must_use]
    pub fn host(&self, address: IpAddr) -> u64 {
        let mut fields = Fields::default();
        fields.put_address(address);
        self.hash(&fields)
    }

    fn key_by(&self, by: FlowsBy, flow: FlowId) -> u64 {
        let mut fields = Fields::default();
        match flow {
            FlowId::Ip { protocol, source, destination, ports } => {
                if by != FlowsBy::DestinationAddress {
                    fields.put_address(source);
                }
                if by != FlowsBy::SourceAddress {
                    fields.put_address(destination);
                }
                if matches!(by, FlowsBy::FiveTuple | FlowsBy::Inner) {
                    fields.put(&[protocol]);
                    if let Some((from, to)) = ports {
                        fields.put(&from.to_be_bytes());
                        fields.put(&to.to_be_bytes());
                    }
                }
            }
            FlowId::Frame { ether_type, source, destination } => {
                fields.put(&ether_type.to_be_bytes());
                fields.put(&source);
                fields.put(&destination);
            }
        }
        self.hash(&fields)
    }

    fn hash(&self, fields: &Fields) -> u64 {
        SipHasher13::new_with_keys(self.secret, !self.secret).hash(&fields.bytes[..fields.length])
    }
}

/// Without the secret.
impl fmt::Debug for FlowKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FlowKeys").field("by", &self.by).finish_non_exhaustive()
    }
}

/// Header fields in one buffer: hashing them in one call takes a third of the time. Packets with different fields have
/// different lengths, and the length is hashed too.
#[derive(Clone, Copy, Debug)]
struct Fields {
    bytes: [u8; Self::MAX],
    length: usize,
}

impl Fields {
    /// Two IPv6 addresses, the protocol and two ports.
    const MAX: usize = 2 * 16 + 1 + 2 * 2;

    fn put(&mut self, field: &[u8]) {
        let end = self.length + field.len();
        debug_assert!(end <= Self::MAX, "all fields have room");
        if let Some(place) = self.bytes.get_mut(self.length..end) {
            place.copy_from_slice(field);
            self.length = end;
        }
    }

    fn put_address(&mut self, address: IpAddr) {
        match address {
            IpAddr::V4(address) => self.put(&address.octets()),
            IpAddr::V6(address) => self.put(&address.octets()),
        }
    }
}

impl Default for Fields {
    fn default() -> Self {
        Self { bytes: [0; Self::MAX], length: 0 }
    }
}

#[cfg(test)]
mod tests {
    use std::string::ToString;
    use std::vec;
    use std::vec::Vec;

    use super::*;
    use crate::headers::LinkType;

    const SECRET: u64 = 0x0123_4567_89ab_cdef;

    /// Returns the first bytes of a UDP datagram. `hosts` and `ports` are the last bytes of its addresses and ports;
    /// `fragment` is the fragment field.
    fn ipv4(hosts: [u8; 2], ports: [u8; 2], fragment: [u8; 2]) -> Vec<u8> {
        let mut packet = vec![0x45, 0, 0, 28, 0, 1, fragment[0], fragment[1], 64, 17, 0, 0];
        packet.extend([10, 0, 0, hosts[0], 10, 0, 0, hosts[1], 0, ports[0], 0, ports[1], 0, 8, 0, 0]);
        packet
    }

    fn headers(packet: &[u8]) -> Headers {
        Headers::read(LinkType::Raw, packet, packet.len() as u32)
    }

    const WHOLE: [u8; 2] = [0x40, 0];
    const FIRST: [u8; 2] = [0x20, 0];
    const LATER: [u8; 2] = [0, 1];

    /// Would catch a field that is left out, directions that are not distinguished, and a fragment whose data are taken
    /// for ports.
    #[test]
    fn packets_with_the_same_fields_are_a_flow() {
        let by = FlowKeys::new(FlowsBy::FiveTuple, SECRET);
        let flow = |hosts, ports, fragment| by.of(&headers(&ipv4(hosts, ports, fragment)));
        let whole = flow([1, 2], [5, 6], WHOLE);
        assert_eq!(whole, flow([1, 2], [5, 6], WHOLE));
        for (hosts, ports) in [([2, 1], [6, 5]), ([1, 3], [5, 6]), ([3, 2], [5, 6]), ([1, 2], [5, 7]), ([1, 2], [7, 6])]
        {
            assert_ne!(whole, flow(hosts, ports, WHOLE), "{hosts:?} {ports:?}");
        }
        let fragments = flow([1, 2], [5, 6], FIRST);
        assert_ne!(fragments, whole);
        assert_eq!([flow([1, 2], [7, 8], FIRST), flow([1, 2], [9, 9], LATER)], [fragments; 2]);
        assert_ne!(flow([1, 3], [5, 6], LATER), fragments);
        let mut tcp = ipv4([1, 2], [5, 6], WHOLE);
        tcp[9] = 6;
        assert_ne!(by.of(&headers(&tcp)), whole);
    }

    /// Would catch a fragment named with ports, and a protocol in the name of an address pair.
    #[test]
    fn a_name_has_the_common_fields() {
        let name = |by: FlowsBy, packet: &[u8]| by.flow(headers(packet).common_flow()).to_string();
        let (whole, first) = (ipv4([1, 2], [5, 6], WHOLE), ipv4([1, 2], [5, 6], FIRST));
        assert_eq!(name(FlowsBy::FiveTuple, &whole), "udp/10.0.0.1:5>10.0.0.2:6");
        assert_eq!(name(FlowsBy::FiveTuple, &first), "udp/10.0.0.1>10.0.0.2");
        assert_eq!(name(FlowsBy::AddressPair, &whole), "10.0.0.1>10.0.0.2");
        assert_eq!(name(FlowsBy::AddressPair, &[]), "other-0000/00:00:00:00:00:00>00:00:00:00:00:00");
    }

    #[test]
    fn address_pairs_have_no_ports_and_hosts_are_told() {
        let by = FlowKeys::new(FlowsBy::AddressPair, SECRET);
        let of = |hosts, ports, fragment| {
            let id = headers(&ipv4(hosts, ports, fragment)).common_flow();
            (by.key(id), by.source(id), by.destination(id))
        };
        let pair = of([1, 2], [5, 6], WHOLE);
        assert_eq!([of([1, 2], [7, 8], WHOLE), of([1, 2], [5, 6], LATER)], [pair; 2]);
        let back = of([2, 1], [6, 5], WHOLE);
        assert_ne!(back.0, pair.0);
        assert_eq!((back.1, back.2), (pair.2, pair.1));
        assert_ne!(pair.1, pair.2);
        // Packets other than IP are their own host at both ends.
        let frame = headers(&[]).common_flow();
        assert_eq!([by.source(frame), by.destination(frame)], [by.key(frame).get(); 2]);
    }

    /// Would catch flows by one address that look at the other, or at the wrong one.
    #[test]
    fn one_address_makes_a_flow() {
        for (by, same) in [(FlowsBy::SourceAddress, [true, false]), (FlowsBy::DestinationAddress, [false, true])] {
            let keys = FlowKeys::new(by, SECRET);
            let flow = |hosts, ports| keys.of(&headers(&ipv4(hosts, ports, WHOLE)));
            let plain = flow([1, 2], [5, 6]);
            assert_eq!(flow([1, 2], [7, 8]), plain);
            assert_eq!([flow([1, 3], [5, 6]) == plain, flow([3, 2], [5, 6]) == plain], same, "{by:?}");
            assert_ne!(flow([2, 1], [5, 6]), plain);
        }
    }

    /// IP in IP (protocol 4). Would catch a flow that depends on the inner header.
    #[test]
    fn a_tunnel_is_one_flow() {
        let by = FlowKeys::new(FlowsBy::FiveTuple, SECRET);
        let tunnel = |inner: &[u8]| {
            let mut packet = ipv4([1, 2], [0, 0], WHOLE)[..20].to_vec();
            packet[3] = 20 + inner.len() as u8;
            packet[9] = 4;
            packet.extend(inner);
            by.of(&headers(&packet))
        };
        assert_eq!(tunnel(&ipv4([7, 8], [1, 2], WHOLE)), tunnel(&ipv4([8, 9], [3, 4], WHOLE)));
    }

    const FIVE: u64 = 0x9a39_138d_21d6_f35f;
    const PAIR: u64 = 0x760d_3e6a_9bdf_7821;
    const SOURCE: u64 = 0x5fb8_8910_c64a_3770;
    const DESTINATION: u64 = 0xfcd9_dd63_2be2_7d2b;
    const FRAGMENT: u64 = 0xd592_d1b8_723f_782b;
    const SIX: u64 = 0xbb12_081d_88bc_37e5;
    const ARP: u64 = 0xf56d_f89c_0bb6_9eeb;

    /// The values were computed by another implementation of SipHash, in Python, which was checked with the
    /// reference's vector for SipHash-2-4. Would catch a hash that depends on the platform, and a field in another
    /// place or order.
    #[test]
    fn hashes_are_the_same_everywhere() {
        let whole = headers(&ipv4([1, 2], [5, 6], WHOLE)).common_flow();
        let key = |by, flow| FlowKeys::new(by, SECRET).key(flow).get();
        for (by, expected) in [
            (FlowsBy::FiveTuple, FIVE),
            (FlowsBy::Inner, FIVE),
            (FlowsBy::AddressPair, PAIR),
            (FlowsBy::SourceAddress, SOURCE),
            (FlowsBy::DestinationAddress, DESTINATION),
        ] {
            assert_eq!(key(by, whole), expected, "{by:?}");
        }
        let keys = FlowKeys::new(FlowsBy::AddressPair, SECRET);
        assert_eq!((keys.source(whole), keys.destination(whole), keys.connection(whole)), (SOURCE, DESTINATION, FIVE));
        assert_eq!(keys.host([10, 0, 0, 1].into()), SOURCE);
        assert_eq!(key(FlowsBy::FiveTuple, headers(&ipv4([1, 2], [5, 6], LATER)).common_flow()), FRAGMENT);
        let [source, destination] = [1, 2].map(|last| [0xfd00, 0, 0, 0, 0, 0, 0, last].into());
        let six = FlowId::Ip { protocol: 6, source, destination, ports: Some((1000, 80)) };
        assert_eq!(key(FlowsBy::FiveTuple, six), SIX);
        let frame = FlowId::Frame { ether_type: 0x0806, source: [2, 0, 0, 0, 0, 1], destination: [2, 0, 0, 0, 0, 2] };
        assert_eq!((key(FlowsBy::AddressPair, frame), keys.source(frame)), (ARP, ARP));
    }

    /// Would catch a secret that has no effect or stands in a log.
    #[test]
    fn another_secret_makes_other_hashes() {
        let flow = headers(&ipv4([1, 2], [5, 6], WHOLE)).common_flow();
        let keys = FlowKeys::new(FlowsBy::FiveTuple, SECRET);
        assert_ne!(keys.key(flow), FlowKeys::new(FlowsBy::FiveTuple, SECRET + 1).key(flow));
        assert_eq!(keys.with(FlowsBy::AddressPair).connection(flow), keys.key(flow).get());
        assert_eq!(std::format!("{keys:?}"), "FlowKeys { by: FiveTuple, .. }");
    }
}
