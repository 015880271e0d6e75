//! A router's report as JSON.

use fairlane_autorate::Config;
use fairlane_console::Stopwatch;
use fairlane_linux as linux;
use fairlane_qdisc::{Counters, Reason};

use super::autorate::AutorateView;
use super::settings::Settings;
use super::way::{Path, Way};
use crate::state::{
    AutorateState, Bridge, Count, Delays, DirectionCounts, Discipline, Kernel, Link, Reasons, State, TopFlow, quantile,
};

/// Returns the state of one way of a router with `settings` that was started at `since`, from its `report`.
pub(super) fn state(
    settings: &Settings,
    way: &Way,
    since: Stopwatch,
    report: &linux::Report,
    autorate: Option<&AutorateView>,
) -> State {
    let (path, bridge) = match &way.path {
        Path::Kernel(_) => ("bpf".to_owned(), None),
        Path::Process(linux::DataPath::Queue(queue)) => (format!("queue {}", queue.queues), None),
        Path::Process(linux::DataPath::Bridge(config)) => {
            let path = format!("bridge {},{}", config.inside, config.outside);
            (path, Some(bridge(config, report.bridge.unwrap_or_default())))
        }
    };
    let layer = match &way.path {
        Path::Process(_) => way.link.layer.to_string(),
        Path::Kernel(_) => "Ethernet headers counted".to_owned(),
    };
    let counters = &report.counters;
    let rate = autorate.filter(|view| !view.dry_run).map_or(way.link.rate, |view| view.rate);
    State {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        direction: way.direction.map(|direction| direction.name().to_owned()),
        path,
        bridge,
        interfaces: settings.interfaces.clone(),
        flows_by: settings.flows.name().to_owned(),
        uptime_s: since.elapsed_s(),
        at_s: report.at.as_nanos() as f64 / 1e9,
        link: Link { rate_bps: rate.bits_per_second(), layer },
        autorate: autorate.map(autorate_state),
        discipline: discipline(way),
        arrived: count(counters.arrived),
        departed: count(counters.departed),
        dropped: reasons(counters, Counters::dropped),
        marked: reasons(counters, Counters::marked),
        flushed: count(report.flushed),
        backlog: Count { packets: report.packets as u64, bytes: report.bytes },
        average: report.average,
        sojourn_s: delays(&report.sojourn),
        lateness_s: delays(&report.lateness),
        kernel: report.kernel.map(|kernel| Kernel {
            waiting_packets: kernel.waiting,
            dropped_full_packets: kernel.dropped_full,
            dropped_unread_packets: kernel.dropped_unread,
        }),
        overruns: report.overruns,
        unsent_verdicts: report.unsent,
        unknown_verdicts: report.unknown,
        malformed_messages: report.malformed,
        reloads: report.reloads,
        top_flows: report.flows.iter().map(top_flow).collect(),
    }
}

fn autorate_state(view: &AutorateView) -> AutorateState {
    let Config { min, base, max, .. } = view.config;
    AutorateState {
        rate_bps: view.rate.bits_per_second(),
        min_bps: min.bits_per_second(),
        base_bps: base.bits_per_second(),
        max_bps: max.bits_per_second(),
        dry_run: view.dry_run,
        reason: view.reason.words().to_owned(),
        blocker: view.blocker.map(|blocker| blocker.words().to_owned()),
        probes_sent: view.sent,
        probes_answered: view.answered,
    }
}

fn bridge(config: &linux::BridgeConfig, counts: linux::BridgeCounts) -> Bridge {
    let way = |linux::DirectionCounts {
                   received,
                   forwarded,
                   exempt,
                   kernel_dropped,
                   gso_frames,
                   unfit,
                   no_memory,
                   refused,
               }| {
        let joined = gso_frames;
        DirectionCounts { received, forwarded, exempt, kernel_dropped, joined, unfit, no_memory, refused }
    };
    let (inside, outside) = (config.inside.clone(), config.outside.clone());
    let (out, back) = match config.directions {
        linux::BridgeDirections::Both => (Some(counts.forward), Some(counts.reverse)),
        linux::BridgeDirections::Out => (Some(counts.forward), None),
        linux::BridgeDirections::In => (None, Some(counts.forward)),
    };
    Bridge { inside, outside, out: out.map(way), back: back.map(way) }
}

fn discipline(way: &Way) -> Discipline {
    let config = &way.discipline;
    let resolved = config.explanation().parameters.iter();
    let parameters = resolved.map(|parameter| (parameter.key.to_owned(), parameter.value.clone())).collect();
    Discipline { kind: config.kind().name().to_owned(), parameters }
}

pub(super) const fn count(count: fairlane_qdisc::Count) -> Count {
    Count { packets: count.packets, bytes: count.bytes }
}

pub(super) fn reasons(counters: &Counters, of: impl Fn(&Counters, Reason) -> fairlane_qdisc::Count) -> Reasons {
    Reason::ALL.into_iter().map(|reason| (reason.name().to_owned(), count(of(counters, reason)))).collect()
}

fn delays(delays: &linux::DelayHistogram) -> Delays {
    let classes: Vec<(Option<f64>, u64)> =
        delays.buckets().map(|(bound, count)| (bound.is_finite().then_some(bound), count)).collect();
    let any = delays.count() > 0;
    Delays {
        count: delays.count(),
        mean: any.then(|| delays.sum_s() / delays.count() as f64),
        p50: quantile(&classes, 0.5),
        p95: quantile(&classes, 0.95),
        p99: quantile(&classes, 0.99),
        max: any.then(|| delays.max().as_nanos() as f64 / 1e9),
        classes,
    }
}

fn top_flow(flow: &linux::TopFlow) -> TopFlow {
    let occurred = |mut reasons: Reasons| {
        reasons.retain(|_, count| count.packets > 0);
        reasons
    };
    TopFlow {
        flow: flow.name.to_string(),
        matched_packets: flow.matched(),
        lost_packets: flow.lost(),
        missed_packets: flow.missed,
        arrived: count(flow.counters.arrived),
        departed: count(flow.counters.departed),
        dropped: occurred(reasons(&flow.counters, Counters::dropped)),
        marked: occurred(reasons(&flow.counters, Counters::marked)),
    }
}

#[cfg(test)]
mod tests {
    use fairlane_linux::{BridgeConfig, BridgeDirections, DataPath, Exempt, LinkLayer, Report};
    use fairlane_qdisc::{Kind, QdiscParameters, Rate};

    use super::super::example;
    use super::*;

    /// No two numbers are the same. Would catch a number under the name of another one.
    #[test]
    fn each_number_has_its_key() {
        let rate = Rate::from_bits_per_second(3_000_000);
        let (inside, outside) = ("lan0".to_owned(), "wan0".to_owned());
        let way = Way {
            direction: None,
            path: Path::Process(DataPath::Bridge(BridgeConfig {
                inside,
                outside,
                gso: false,
                directions: BridgeDirections::Both,
                exempt: Exempt::default(),
            })),
            link: linux::Link { rate, layer: LinkLayer::default() },
            discipline: QdiscParameters::new(Kind::Red).with("limit", "30p").unwrap().resolve(rate).unwrap(),
        };
        let settings = Settings { ways: vec![way.clone()], ..example::settings() };
        let report = Report { bridge: Some(example::bridge()), ..example::report() };
        let told = serde_json::to_value(state(&settings, &way, Stopwatch::start(), &report, None)).unwrap();
        for (place, expected) in [
            ("/path", "bridge lan0,wan0".into()),
            ("/interfaces/0", "eth7".into()),
            ("/flows_by", "address-pair".into()),
            ("/at_s", 9.5.into()),
            ("/link/rate_bps", 3_000_000.into()),
            ("/discipline/kind", "red".into()),
            ("/discipline/parameters/limit", "30p".into()),
            ("/arrived/packets", 11.into()),
            ("/arrived/bytes", 1100.into()),
            ("/departed/packets", 12.into()),
            ("/departed/bytes", 1200.into()),
            ("/dropped/match_victim/bytes", 130.into()),
            ("/marked/early/bytes", 280.into()),
            ("/kernel/waiting_packets", 14.into()),
            ("/kernel/dropped_full_packets", 15.into()),
            ("/kernel/dropped_unread_packets", 16.into()),
            ("/flushed/packets", 24.into()),
            ("/backlog/packets", 17.into()),
            ("/backlog/bytes", 1700.into()),
            ("/average", 18.5.into()),
            ("/overruns", 19.into()),
            ("/unknown_verdicts", 20.into()),
            ("/malformed_messages", 21.into()),
            ("/unsent_verdicts", 22.into()),
            ("/reloads", 23.into()),
            ("/bridge/inside", "lan0".into()),
            ("/bridge/outside", "wan0".into()),
        ] {
            assert_eq!(told.pointer(place), Some(&expected), "{place}: {told:#}");
        }
        for (way, first) in [("out", 31), ("in", 41)] {
            let keys = ["received", "forwarded", "kernel_dropped", "unfit", "no_memory", "refused", "joined", "exempt"];
            for (key, number) in keys.into_iter().zip(first..) {
                assert_eq!(told["bridge"][way][key], number, "{way} {key}: {told:#}");
            }
        }
        // Of two directions each has its own frames only.
        for (directions, key, none) in [(BridgeDirections::Out, "out", "in"), (BridgeDirections::In, "in", "out")] {
            let (inside, outside) = ("lan0".to_owned(), "wan0".to_owned());
            let path =
                DataPath::Bridge(BridgeConfig { inside, outside, gso: false, directions, exempt: Exempt::default() });
            let way = Way { path: Path::Process(path), ..way.clone() };
            let told = serde_json::to_value(state(&settings, &way, Stopwatch::start(), &report, None)).unwrap();
            assert_eq!((&told["bridge"][key]["received"], told["bridge"][none].is_null()), (&31.into(), true));
        }
    }
}
