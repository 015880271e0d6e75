//! CAKE's parameters.

use alloc::format;
use alloc::string::ToString;

use crate::Rate;
use crate::discipline::cake::{AckFilter, Config, Diffserv, Isolation, Preset};
use crate::params::shared::{BANDWIDTH, LIMIT};
use crate::params::{Domain, FlowState, Info, Origin, Parameter, ParameterError, Resolver, parameter};

pub(crate) const INFO: Info = Info {
    name: "cake",
    summary: "a shaper, classes, fairness among hosts and then flows, and COBALT on each flow's queue",
    source: "Hoeiland-Joergensen, Taht, Morton: Piece of CAKE: A Comprehensive Queue Management Solution for Home Gateways, \
             IEEE LANMAN 2018",
    year: Some(2018),
    needs: "a table of 1024 queues a tin, each packet's time of arrival, hosts and class",
    flow_state: FlowState::Fixed,
    experimental: false,
    parameters: &[CAKE_LIMIT, CAKE_BANDWIDTH, DIFFSERV, ISOLATION, PRESET, RTT, INGRESS, WASH, ACK_FILTER, NAT],
};

const CAKE_LIMIT: Parameter = LIMIT
    .default("four times what `bandwidth` carries in `rtt`, at least 4194304b, as sch_cake")
    .elsewhere(&["memlimit"]);
const CAKE_BANDWIDTH: Parameter = Parameter {
    default: "the link's rate, without a shaper",
    meaning: "rate to which packets are held back; tins' thresholds, quanta and the least target follow from it",
    ..BANDWIDTH
};
const DIFFSERV: Parameter = parameter(
    "diffserv",
    Domain::Choice(&["diffserv3", "besteffort", "diffserv4", "diffserv8", "precedence"]),
    "diffserv3, as tc(8)",
    "tins, by code point: three (bulk, best effort, voice), one for all, four (video as well), eight, or one for each precedence",
);
const ISOLATION: Parameter = parameter(
    "isolation",
    Domain::Choice(&[
        "triple-isolate",
        "dual-srchost",
        "dual-dsthost",
        "flows",
        "srchost",
        "dsthost",
        "hosts",
        "flowblind",
    ]),
    "triple-isolate, as tc(8)",
    "what is fair: flows, and before them the busier host of both, the senders, the receivers, or none; or, in place of flows, \
     senders, receivers, pairs of them, or nothing",
);
const PRESET: Parameter = parameter(
    "preset",
    Domain::Choice(&["internet", "datacentre", "lan", "metro", "regional", "oceanic", "satellite"]),
    "internet, as tc(8)",
    "kind of network, which gives `rtt`: 100ms, 100us, 1ms, 10ms, 30ms, 300ms or 1s",
);
const RTT: Parameter = parameter(
    "rtt",
    Domain::Duration,
    "by `preset`",
    "common round-trip time: COBALT's interval and twenty times its target",
)
.elsewhere(&["interval"]);
const INGRESS: Parameter = parameter(
    "ingress",
    Domain::Switch,
    "false, as tc(8)",
    "dropped packets count as sent, as they have used the managed link already, and COBALT leaves each bulk flow two packets",
);
const WASH: Parameter = parameter(
    "wash",
    Domain::Switch,
    "false, as tc(8)",
    "packets leave without their code points, whose tins they were in",
);
const ACK_FILTER: Parameter = parameter(
    "ack_filter",
    Domain::Choice(&["none", "filter", "aggressive"]),
    "none, as tc(8)",
    "TCP acknowledgements are dropped that a later one in their queue makes superfluous: none, the first of two, or also a single one",
)
.elsewhere(&["ack-filter"]);
const NAT: Parameter = parameter(
    "nat",
    Domain::Switch,
    "false, as tc(8)",
    "hosts are those behind this machine's address translation; only behind an NFQUEUE, elsewhere addresses are as packets have them",
);

pub(crate) fn resolve(r: &mut Resolver<'_>) -> Result<Config, ParameterError> {
    let bandwidth = r.given::<Rate>("bandwidth")?;
    let rate = r.bandwidth("its quanta and thresholds")?;
    let diffserv = match r.take("diffserv", Origin::Default("as tc(8)"), "diffserv3")? {
        "besteffort" => Diffserv::BestEffort,
        "diffserv4" => Diffserv::Diffserv4,
        "diffserv8" => Diffserv::Diffserv8,
        "precedence" => Diffserv::Precedence,
        _ => Diffserv::Diffserv3,
    };
    let isolation = match r.take("isolation", Origin::Default("as tc(8)"), "triple-isolate")? {
        "dual-srchost" => Isolation::DualSrcHost,
        "dual-dsthost" => Isolation::DualDstHost,
        "flows" => Isolation::Flows,
        "srchost" => Isolation::SrcHost,
        "dsthost" => Isolation::DstHost,
        "hosts" => Isolation::Hosts,
        "flowblind" => Isolation::FlowBlind,
        _ => Isolation::TripleIsolate,
    };
    let preset = preset(r.take("preset", Origin::Default("as tc(8)"), "internet")?);
    let rtt = r.take("rtt", Origin::Derived("by preset, as tc(8)"), preset.rtt())?;
    let ingress = r.take("ingress", Origin::Default("as tc(8)"), false)?;
    let wash = r.take("wash", Origin::Default("as tc(8)"), false)?;
    let ack_filter = match r.take("ack_filter", Origin::Default("as tc(8)"), "none")? {
        "filter" => AckFilter::Filter,
        "aggressive" => AckFilter::Aggressive,
        _ => AckFilter::None,
    };
    let nat = r.take("nat", Origin::Default("as tc(8)"), false)?;
    let limit = r.given("limit")?;
    let config = Config { limit, bandwidth, diffserv, isolation, rtt, ingress, wash, ack_filter, nat };
    let origin = Origin::Derived("four times what bandwidth carries in rtt, at least 4 MiB, as sch_cake");
    r.limit_or(origin, config.limit_at(Some(rate)))?;
    judge(r, rate, bandwidth.is_some());
    if nat && matches!(isolation, Isolation::Flows | Isolation::FlowBlind) {
        r.warn("nat changes nothing here: no isolation asks for hosts".into());
    }
    for (name, target, quantum) in config.targets_and_quanta(rate) {
        r.say(format!("{name}: target {:.3} ms, {quantum} bytes a flow's turn", 1e3 * target.as_secs()));
    }
    Ok(config)
}

fn preset(name: &str) -> Preset {
    match name {
        "datacentre" => Preset::Datacentre,
        "lan" => Preset::Lan,
        "metro" => Preset::Metro,
        "regional" => Preset::Regional,
        "oceanic" => Preset::Oceanic,
        "satellite" => Preset::Satellite,
        _ => Preset::Internet,
    }
}

/// Warns of a shaper that the link makes useless, and of a missing one.
fn judge(r: &mut Resolver<'_>, rate: Rate, shaped: bool) {
    if shaped && r.rate().bits_per_second() > 0 && rate >= r.rate() {
        let link = r.rate().to_string();
        r.warn(format!("bandwidth {rate} is not below the link's {link}: the link paces the packets, not the shaper"));
    }
    if !shaped {
        r.say("bandwidth was not given: packets are not held back".into());
    }
}
