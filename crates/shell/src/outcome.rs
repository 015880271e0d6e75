//! The counts of a link, as an outcome.

use std::sync::Arc;

use fairlane_outcome::{Cost, Expected, FlowRun, QueueRun, Run};
use fairlane_qdisc::headers::FlowId;
use fairlane_scenario::Scenario;

use crate::path::{LinkFlow, LinkResults};
use crate::relay::{FlowPair, Retransmitted};
use crate::run::Ended;

/// The name of the flows that are counted together, since there are too many.
const OTHERS: &str = "others";

/// The protocol number of TCP.
const TCP: u8 = 6;

/// Returns the outcome of a command that has ended with `code`.
pub(crate) fn outcome(scenario: &Scenario, code: u8, results: LinkResults, retransmitted: &[Retransmitted]) -> Ended {
    let LinkResults { mut queues, flows: named, numbers, seconds, .. } = results;
    // The flows of both directions are numbered together.
    for (queue, numbers) in queues.iter_mut().zip(&numbers) {
        queue.flows.iter_mut().zip(numbers).for_each(|(flow, number)| flow.flow = *number);
    }
    let mut flows = Vec::with_capacity(named.iter().map(Vec::len).sum());
    for (way, (queue, named)) in queues.iter().zip(&named).enumerate() {
        flows.extend(named.iter().enumerate().map(|(index, flow)| flow_run(way, queue, index, flow)));
    }
    for Retransmitted { flow, packets, timeouts } in retransmitted {
        let sent = named[0].iter().position(|down| is_towards(down.name.as_ref(), flow));
        if let Some(sent) = sent.and_then(|place| flows.get_mut(place)) {
            (sent.retransmitted, sent.timeouts) = (sent.retransmitted + packets, sent.timeouts + timeouts);
        }
    }
    flows.sort_unstable_by_key(|flow| flow.id);
    let packets = flows.iter().map(|flow| flow.sent).sum();
    let run = Run {
        scenario: scenario.name.clone(),
        engine: "shell".into(),
        seed: scenario.seed,
        run: 0,
        from_s: 0.0,
        to_s: seconds,
        partial: false,
        queues: queues.into(),
        flows,
        cost: Cost { events: packets, packet_hops: packets, wall_s: seconds, ..Cost::default() },
        expected: Expected::default(),
    };
    let [mut late, up_late] = results.lateness;
    late.join(&up_late);
    Ended {
        code,
        run,
        lateness: late,
        lost_frames: results.lost_frames,
        signalled: results.signalled,
        capture_failed: results.capture_failed,
        flows: Vec::new(),
        server_ended: false,
    }
}

/// The names of a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowName {
    /// The flow: `tcp 198.18.0.2:40000 > 198.18.0.1:80`, or `others` for those that are counted together.
    pub name: String,
    /// Its protocol and direction: `tcp up`.
    pub group: String,
    /// Its protocol: `tcp`.
    pub protocol: &'static str,
}

impl FlowName {
    /// Names a flow of a direction: 0 is that towards the command.
    pub(crate) fn new(flow: Option<&FlowId>, way: usize) -> Self {
        let protocol = flow.map_or(OTHERS, FlowId::protocol_name);
        let direction = if way == 0 { "down" } else { "up" };
        Self { name: flow.map_or(OTHERS.to_owned(), name), group: format!("{protocol} {direction}"), protocol }
    }
}

/// Returns the flow `index` of `queue`, that of this direction.
fn flow_run(way: usize, queue: &QueueRun, index: usize, flow: &LinkFlow) -> FlowRun {
    let counts = &queue.flows[index];
    let FlowName { name, group, protocol } = FlowName::new(flow.name.as_ref(), way);
    let kind: Arc<str> = protocol.into();
    FlowRun {
        id: counts.flow,
        name: name.into(),
        group: group.into(),
        kind: protocol.into(),
        transport: kind,
        exit: Some(way),
        sent: counts.arrived,
        delivered: counts.departed - counts.lost,
        unique_bytes: counts.departed_bytes - flow.lost_bytes,
        dropped: counts.dropped.iter().sum(),
        lost: counts.lost,
        ..FlowRun::default()
    }
}

/// Returns true for the direction towards the command of a TCP connection that it has opened.
fn is_towards(name: Option<&FlowId>, opened: &FlowPair) -> bool {
    let (from, to) = (opened.destination, opened.source);
    let wanted =
        FlowId::Ip { protocol: TCP, source: from.ip(), destination: to.ip(), ports: Some((from.port(), to.port())) };
    name == Some(&wanted)
}

/// Returns a flow's name: `tcp 198.18.0.2:40000 > 198.18.0.1:80`.
fn name(flow: &FlowId) -> String {
    let protocol = flow.protocol_name();
    let FlowId::Ip { source, destination, ports, .. } = flow else { return protocol.to_owned() };
    match ports {
        None => format!("{protocol} {source} > {destination}"),
        Some((from, to)) => {
            let at = |address, port| std::net::SocketAddr::new(address, port);
            format!("{protocol} {} > {}", at(*source, *from), at(*destination, *to))
        }
    }
}
