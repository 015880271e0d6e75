//! The counts of a link, as an outcome.

use std::sync::Arc;

use fairlane_outcome::{Cost, Expected, FlowRun, QueueRun, Run};
use fairlane_qdisc::headers::FlowId;
use fairlane_scenario::Scenario;

use crate::path::{LinkFlow, LinkResults};
use crate::relay::{FlowPair, Retransmitted};
use crate::run::Ended;

/// The protocol number of TCP.
const TCP: u8 = 6;

/// Returns the outcome of a command that has ended with `code`.
pub(crate) fn outcome(scenario: &Scenario, code: u8, results: LinkResults, retransmitted: &[Retransmitted]) -> Ended {
    let LinkResults { queues: [down, mut up], flows: [down_flows, up_flows], seconds, .. } = results;
    // The flows of both directions are numbered together.
    let before = down_flows.len() as u32;
    for flow in &mut up.flows {
        flow.flow += before;
    }
    let mut flows = Vec::with_capacity(down_flows.len() + up_flows.len());
    for (exit, (queue, named)) in [(&down, &down_flows), (&up, &up_flows)].into_iter().enumerate() {
        flows.extend(named.iter().enumerate().map(|(index, flow)| flow_run(exit, queue, index, flow)));
    }
    for Retransmitted { flow, packets, timeouts } in retransmitted {
        let sent = down_flows.iter().position(|down| is_towards(&down.name, flow));
        if let Some(sent) = sent.and_then(|place| flows.get_mut(place)) {
            (sent.retransmitted, sent.timeouts) = (sent.retransmitted + packets, sent.timeouts + timeouts);
        }
    }
    let packets = flows.iter().map(|flow| flow.sent).sum();
    let run = Run {
        scenario: scenario.name.clone(),
        engine: "shell".into(),
        seed: scenario.seed,
        run: 0,
        from_s: 0.0,
        to_s: seconds,
        partial: false,
        queues: vec![down, up],
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
        flows: Vec::new(),
    }
}

/// Returns the flow `index` of `queue`.
fn flow_run(exit: usize, queue: &QueueRun, index: usize, flow: &LinkFlow) -> FlowRun {
    let counts = &queue.flows[index];
    let protocol = flow.name.protocol_name();
    let kind: Arc<str> = protocol.into();
    FlowRun {
        id: counts.flow,
        name: name(&flow.name).into(),
        group: format!("{protocol} {}", if exit == 0 { "down" } else { "up" }).into(),
        kind: protocol.into(),
        transport: kind,
        exit: Some(exit),
        sent: counts.arrived,
        delivered: counts.departed - counts.lost,
        unique_bytes: counts.departed_bytes - flow.lost_bytes,
        dropped: counts.dropped.iter().sum(),
        lost: counts.lost,
        ..FlowRun::default()
    }
}

/// Returns true for the direction towards the command of a TCP connection that it has opened.
fn is_towards(name: &FlowId, opened: &FlowPair) -> bool {
    let (from, to) = (opened.destination, opened.source);
    let wanted =
        FlowId::Ip { protocol: TCP, source: from.ip(), destination: to.ip(), ports: Some((from.port(), to.port())) };
    *name == wanted
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
