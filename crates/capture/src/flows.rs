//! Numbers for flows and hosts, in the order in which they come.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;

use fairlane_qdisc::headers::{FlowId, FlowName, FlowsBy, Headers, Network};
use fairlane_qdisc::{Duration, Time};

use crate::direction::first_direction;

/// Datagrams whose later fragments are waited for at a time; the one begun first makes room.
const DATAGRAMS: usize = 4096;

/// Longest time between the first fragment and a later one: the time that a receiver waits (RFC 8200, section 4.5).
const WAIT: Duration = Duration::from_millis(60_000);

/// The flows that have been seen.
#[derive(Clone, Debug, Default)]
pub struct Flows {
    by: FlowsBy,
    numbers: HashMap<FlowName, u32>,
    all: Vec<FlowName>,
    connections: HashMap<FlowId, u32>,
    hosts: HashMap<IpAddr, u32>,
    datagrams: Datagrams,
}

impl Flows {
    /// No flows yet, by 5-tuples.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// No flows yet, as defined by `by`. For [`FlowsBy::Inner`], pass headers [by](Headers::by) that definition.
    #[must_use]
    pub fn by(by: FlowsBy) -> Self {
        Self { by, ..Self::default() }
    }

    /// The definition of a flow.
    #[must_use]
    pub const fn definition(&self) -> FlowsBy {
        self.by
    }

    /// The number of the flow of a packet with `headers` that came at `time`: from 0, in the order in which flows were
    /// first seen.
    ///
    /// A later fragment belongs to the flow of the first fragment of its datagram, told by both addresses, protocol and
    /// identification. If that one has not come within the 60 s before, the fragment is of the flow between its
    /// addresses without ports.
    pub fn number(&mut self, time: Time, headers: &Headers) -> u32 {
        let Some((fragment, datagram)) = headers.fragment.zip(Datagram::of(headers)) else {
            return self.of(headers.flow);
        };
        if fragment.first {
            let flow = self.of(headers.flow);
            self.datagrams.begin(time, datagram, flow);
            return flow;
        }
        self.datagrams.flow_of(time, &datagram).unwrap_or_else(|| self.of(headers.flow))
    }

    /// The number of the connection of packets with `id`, under any definition of flows, from 0 in the order in which
    /// they were first asked for.
    pub fn connection(&mut self, id: FlowId) -> u32 {
        let next = self.connections.len() as u32;
        *self.connections.entry(id).or_insert(next)
    }

    /// The network where one direction of the connections begins of which both directions were asked for, that of the
    /// first of them; `None` if there is only one direction.
    #[must_use]
    pub fn first_direction(&self) -> Option<Network> {
        let mut numbered: Vec<(u32, FlowId)> = self.connections.iter().map(|(id, number)| (*number, *id)).collect();
        numbered.sort_unstable_by_key(|(number, _)| *number);
        first_direction(&numbered.into_iter().map(|(_, id)| id).collect::<Vec<_>>())
    }

    /// The number of a host, from 0 in the order in which they were first asked for.
    pub fn host(&mut self, address: IpAddr) -> u32 {
        let next = self.hosts.len() as u32;
        *self.hosts.entry(address).or_insert(next)
    }

    /// All flows, by their numbers.
    #[must_use]
    pub fn all(&self) -> &[FlowName] {
        &self.all
    }

    fn of(&mut self, id: FlowId) -> u32 {
        let flow = self.by.flow(id);
        let next = self.all.len() as u32;
        let number = *self.numbers.entry(flow).or_insert(next);
        if number == next {
            self.all.push(flow);
        }
        number
    }
}

/// The fields that the fragments of a datagram have in common (RFC 791, section 3.2; RFC 8200, section 4.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Datagram {
    source: IpAddr,
    destination: IpAddr,
    protocol: u8,
    identification: u32,
}

impl Datagram {
    fn of(headers: &Headers) -> Option<Self> {
        let FlowId::Ip { protocol, source, destination, .. } = headers.flow else { return None };
        Some(Self { source, destination, protocol, identification: headers.fragment?.identification })
    }
}

/// The flows of the datagrams begun last.
#[derive(Clone, Debug, Default)]
struct Datagrams {
    flows: HashMap<Datagram, (Time, u32)>,
    /// In the order of beginning, with the time of it: an identification that is used again stands here twice.
    order: VecDeque<(Time, Datagram)>,
}

impl Datagrams {
    fn begin(&mut self, time: Time, datagram: Datagram, flow: u32) {
        if self.order.len() == DATAGRAMS
            && let Some((begun, oldest)) = self.order.pop_front()
            && self.flows.get(&oldest).is_some_and(|(time, _)| *time == begun)
        {
            self.flows.remove(&oldest);
        }
        self.order.push_back((time, datagram));
        self.flows.insert(datagram, (time, flow));
    }

    fn flow_of(&self, time: Time, datagram: &Datagram) -> Option<u32> {
        let (begun, flow) = self.flows.get(datagram)?;
        (time.since(*begun) <= WAIT).then_some(*flow)
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use fairlane_qdisc::headers::Fragment;

    use super::*;

    fn fragment(identification: u32, first: bool) -> Headers {
        let address = |last| IpAddr::V4(Ipv4Addr::new(10, 0, 0, last));
        let ports = first.then_some((identification as u16, 9));
        let flow = FlowId::Ip { protocol: 17, source: address(1), destination: address(2), ports };
        let fragment = Some(Fragment { identification, first });
        Headers { flow, fragment, bytes: 1000, tos: 0, ip_at: Some(14) }
    }

    fn at(seconds: f64) -> Time {
        Time::ZERO + Duration::from_secs(seconds)
    }

    /// Would catch a fragment that goes to another datagram's flow, one that is taken for a datagram of the past, and a
    /// flow that is counted twice.
    #[test]
    fn a_fragment_is_of_its_first_fragments_flow_for_a_minute() {
        let mut flows = Flows::new();
        assert_eq!(flows.number(at(0.0), &fragment(7, true)), 0);
        assert_eq!(flows.number(at(1.0), &fragment(8, true)), 1);
        assert_eq!(flows.number(at(2.0), &fragment(7, false)), 0);
        assert_eq!(flows.number(at(3.0), &fragment(8, false)), 1);
        assert_eq!(flows.number(at(60.0), &fragment(7, false)), 0);
        // Their flow is unknown, so they form a flow without ports.
        assert_eq!(flows.number(at(60.1), &fragment(7, false)), 2);
        assert_eq!(flows.number(at(60.2), &fragment(9, false)), 2);
        assert_eq!(flows.number(at(61.0), &fragment(7, true)), 0);
        assert_eq!(flows.number(at(121.0), &fragment(7, false)), 0);
        assert_eq!(flows.all().len(), 3);
    }

    /// Would catch memory that grows with the capture, and a datagram whose place is taken by its own predecessor's
    /// end.
    #[test]
    fn datagrams_are_forgotten_when_there_are_too_many() {
        let mut flows = Flows::new();
        for identification in 0..3 * DATAGRAMS as u32 {
            flows.number(at(0.001 * f64::from(identification)), &fragment(identification % 3000, true));
        }
        assert_eq!(flows.datagrams.order.len(), DATAGRAMS);
        assert!(flows.datagrams.flows.len() <= DATAGRAMS);
        let last = 3 * DATAGRAMS as u32 - 1;
        for back in 0..DATAGRAMS as u32 {
            let identification = (last - back) % 3000;
            assert_eq!(flows.number(at(12.3), &fragment(identification, false)), identification);
        }
    }
}
