//! Flows and hosts of packets, identified by a hash with a random key.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::IpAddr;

use fairlane_capture::{FlowId, FlowsBy, Headers};
use fairlane_qdisc::{FlowKey, Seed};

/// Returns the header fields that all packets of a flow have in common. Fragments have no ports, not even the first
/// one.
pub(crate) fn flow_id(headers: &Headers) -> FlowId {
    match headers.flow {
        FlowId::Ip { protocol, source, destination, .. } if headers.fragment.is_some() => {
            FlowId::Ip { protocol, source, destination, ports: None }
        }
        id => id,
    }
}

/// Hashes of flows and hosts, with a random key: a sender cannot choose packets that collide with another's flow.
///
/// The hash is SipHash-1-3 with a key from the operating system.
///
/// **Fragments.** All fragments between two hosts with the same protocol are one flow, including first fragments. Later
/// fragments have no ports, and this way no state is needed to find them.
///
/// **Tunnels.** A tunnel is one flow, by its outer header.
///
/// **Other than IP.** Frames are identified by Ethernet type and hardware addresses. An NFQUEUE does not report these,
/// so all such packets of a queue are one flow.
#[derive(Clone, Debug)]
pub struct FlowKeys {
    by: FlowsBy,
    hosts: HostHasher,
}

/// Hashes of hosts, with the same key.
#[derive(Clone, Debug)]
pub(crate) struct HostHasher(RandomState);

impl FlowKeys {
    /// Creates hashes for flows as defined by `by`, with a new random key.
    #[must_use]
    pub fn new(by: FlowsBy) -> Self {
        Self { by, hosts: HostHasher(RandomState::new()) }
    }

    /// Returns hashes for flows as defined by `by`, with the same key.
    pub(crate) fn with(&self, by: FlowsBy) -> Self {
        Self { by, ..self.clone() }
    }

    /// Returns the definition of a flow.
    pub(crate) const fn by(&self) -> FlowsBy {
        self.by
    }

    /// Returns the flow of a packet with `headers`.
    #[must_use]
    pub fn of(&self, headers: &Headers) -> FlowKey {
        self.key(flow_id(headers))
    }

    /// Returns the flow of packets with these fields in common.
    pub(crate) fn key(&self, id: FlowId) -> FlowKey {
        self.key_by(self.by, id)
    }

    fn key_by(&self, by: FlowsBy, id: FlowId) -> FlowKey {
        let FlowId::Ip { protocol, source, destination, ports } = id else {
            return FlowKey::new(self.hosts.0.hash_one(id));
        };
        let mut fields = Fields::default();
        if by != FlowsBy::DestinationAddress {
            fields.put_address(source);
        }
        if by != FlowsBy::SourceAddress {
            fields.put_address(destination);
        }
        if by == FlowsBy::FiveTuple {
            fields.put(&[protocol]);
            if let Some((from, to)) = ports {
                fields.put(&from.to_be_bytes());
                fields.put(&to.to_be_bytes());
            }
        }
        FlowKey::new(self.hosts.hash(fields))
    }

    /// Returns the number of the connection, and the direction, of packets with these fields in common, under any
    /// definition of flows.
    pub(crate) fn connection(&self, id: FlowId) -> u64 {
        self.key_by(FlowsBy::FiveTuple, id).get()
    }

    /// Returns the hashes of hosts.
    pub(crate) fn hosts(&self) -> HostHasher {
        self.hosts.clone()
    }
}

impl HostHasher {
    /// Returns the hash of the source host; without IP, that of the flow.
    pub(crate) fn sender(&self, id: FlowId) -> u64 {
        match id {
            FlowId::Ip { source, .. } => self.host(source),
            FlowId::Frame { .. } => self.0.hash_one(id),
        }
    }

    /// Returns the hash of the destination host; without IP, that of the flow.
    pub(crate) fn receiver(&self, id: FlowId) -> u64 {
        match id {
            FlowId::Ip { destination, .. } => self.host(destination),
            FlowId::Frame { .. } => self.0.hash_one(id),
        }
    }

    /// Returns the hash of the host with `address`.
    pub(crate) fn host(&self, address: IpAddr) -> u64 {
        let mut fields = Fields::default();
        fields.put_address(address);
        self.hash(fields)
    }

    fn hash(&self, fields: Fields) -> u64 {
        let mut hasher = self.0.build_hasher();
        hasher.write(&fields.bytes[..fields.length]);
        hasher.finish()
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

/// Returns a random seed for a discipline on a real link.
#[must_use]
pub fn random_seed() -> Seed {
    Seed::new(RandomState::new().hash_one(0_u8))
}

#[cfg(test)]
mod tests {
    use fairlane_capture::LinkType;

    use super::*;

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
        let by = FlowKeys::new(FlowsBy::FiveTuple);
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
        let name = |by: FlowsBy, packet: &[u8]| by.flow(flow_id(&headers(packet))).to_string();
        let (whole, first) = (ipv4([1, 2], [5, 6], WHOLE), ipv4([1, 2], [5, 6], FIRST));
        assert_eq!(name(FlowsBy::FiveTuple, &whole), "udp/10.0.0.1:5>10.0.0.2:6");
        assert_eq!(name(FlowsBy::FiveTuple, &first), "udp/10.0.0.1>10.0.0.2");
        assert_eq!(name(FlowsBy::AddressPair, &whole), "10.0.0.1>10.0.0.2");
        assert_eq!(name(FlowsBy::AddressPair, &[]), "other-0000/00:00:00:00:00:00>00:00:00:00:00:00");
    }

    #[test]
    fn address_pairs_have_no_ports_and_hosts_are_told() {
        let by = FlowKeys::new(FlowsBy::AddressPair);
        let of = |hosts, ports, fragment| {
            let id = flow_id(&headers(&ipv4(hosts, ports, fragment)));
            (by.key(id), by.hosts().sender(id), by.hosts().receiver(id))
        };
        let pair = of([1, 2], [5, 6], WHOLE);
        assert_eq!([of([1, 2], [7, 8], WHOLE), of([1, 2], [5, 6], LATER)], [pair; 2]);
        let back = of([2, 1], [6, 5], WHOLE);
        assert_ne!(back.0, pair.0);
        assert_eq!((back.1, back.2), (pair.2, pair.1));
        assert_ne!(pair.1, pair.2);
        // Packets other than IP are their own host at both ends.
        let frame = flow_id(&headers(&[]));
        assert_eq!([by.hosts().sender(frame), by.hosts().receiver(frame)], [by.key(frame).get(); 2]);
    }

    /// Would catch flows by one address that look at the other, or at the wrong one.
    #[test]
    fn one_address_makes_a_flow() {
        for (by, same) in [(FlowsBy::SourceAddress, [true, false]), (FlowsBy::DestinationAddress, [false, true])] {
            let keys = FlowKeys::new(by);
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
        let by = FlowKeys::new(FlowsBy::FiveTuple);
        let tunnel = |inner: &[u8]| {
            let mut packet = ipv4([1, 2], [0, 0], WHOLE)[..20].to_vec();
            packet[3] = 20 + inner.len() as u8;
            packet[9] = 4;
            packet.extend(inner);
            by.of(&headers(&packet))
        };
        assert_eq!(tunnel(&ipv4([7, 8], [1, 2], WHOLE)), tunnel(&ipv4([8, 9], [3, 4], WHOLE)));
    }

    /// Would catch a hash that is the same in every run, which an attacker could compute. Two keys agree on a flow's
    /// hash with probability 2^-64. Any bytes have a hash.
    #[test]
    fn keys_differ_from_run_to_run_and_any_bytes_have_one() {
        let packet = ipv4([1, 2], [5, 6], WHOLE);
        let keys = |packet: &[u8]| FlowKeys::new(FlowsBy::FiveTuple).of(&headers(packet));
        assert_ne!(keys(&packet), keys(&packet));
        for length in 0..packet.len() {
            keys(&packet[..length]);
        }
        assert_ne!(random_seed(), random_seed());
    }
}
