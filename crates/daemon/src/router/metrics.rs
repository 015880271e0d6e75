//! A router's counts in the text format of Prometheus.

use std::fmt;

use fairlane_autorate::Reason as AutorateReason;
use fairlane_linux::{BridgeCounts, DataPath, DelayHistogram, DirectionCounts, Report, TopFlow};
use fairlane_qdisc::{Count, Rate, Reason};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;

use super::autorate::AutorateView;
use super::way::{Direction, Path, Way};

/// The maximum number of exported flows, as each takes several series.
const FLOWS: usize = 16;

/// The direction of the packets, and the rate of the link.
#[derive(Clone, Debug)]
pub(super) struct LinkRates {
    pub(super) direction: Option<Direction>,
    /// As in the settings.
    pub(super) link: Rate,
    /// `None` if the rate stays.
    pub(super) autorate: Option<AutorateView>,
}

impl LinkRates {
    /// Returns the rate at which packets leave.
    fn now(&self) -> Rate {
        self.autorate.as_ref().filter(|view| !view.dry_run).map_or(self.link, |view| view.rate)
    }
}

/// Counts of a router as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OwnCounts {
    pub(super) log_lines_dropped: u64,
    pub(super) rules_restored: u64,
}

/// Returns all metrics of a router from the report of each of its ways. Counts of the router as a whole have the labels
/// of the first.
pub(super) fn text_of_ways(
    ways: impl Iterator<Item = (Way, Report, Option<AutorateView>)>,
    counts: OwnCounts,
) -> String {
    let texts: Vec<String> = ways
        .enumerate()
        .map(|(at, (way, report, autorate))| {
            let Way { direction, path, link, .. } = way;
            text(report, &path, LinkRates { direction, link: link.rate, autorate }, (at == 0).then_some(counts))
        })
        .collect();
    merged(texts)
}

/// Merges texts with the same metrics, since all samples of a metric must follow its description.
pub(super) fn merged(texts: Vec<String>) -> String {
    const END: &str = "# EOF\n";
    let texts = match <[String; 1]>::try_from(texts) {
        Ok([text]) => return text,
        Err(texts) => texts,
    };
    let mut metrics: Vec<(&str, String)> = Vec::new();
    for text in &texts {
        let mut place = 0;
        for line in text.split_inclusive('\n').filter(|line| *line != END) {
            let description = line.strip_prefix("# ").and_then(|rest| rest.split(' ').nth(1));
            if let Some(name) = description {
                let known = metrics.iter().position(|(other, _)| *other == name);
                if known.is_none() {
                    metrics.push((name, String::new()));
                }
                place = known.unwrap_or(metrics.len() - 1);
            }
            if let Some((_, text)) = metrics.get_mut(place)
                && (description.is_none() || !text.contains(line))
            {
                text.push_str(line);
            }
        }
    }
    metrics.into_iter().map(|(_, text)| text).collect::<String>() + END
}

/// Returns all metrics of one way of a router from its `report`; its packets arrive by `path`. A discipline that no
/// router watches has no `counts`.
pub(super) fn text(report: Report, path: &Path, rates: LinkRates, counts: Option<OwnCounts>) -> String {
    let label = match path {
        Path::Process(DataPath::Queue(queue)) => ("queue", queue.queues.to_string()),
        Path::Process(DataPath::Bridge(bridge)) => ("bridge", format!("{},{}", bridge.inside, bridge.outside)),
        Path::Kernel(interface) => ("interface", interface.clone()),
    };
    let direction = rates.direction.map(|direction| ("direction", direction.name().to_owned()));
    let labels = [label].into_iter().chain(direction).map(|(key, value)| (key.into(), value.into()));
    let mut registry = Registry::with_prefix_and_labels("fairlane", labels);
    let in_kernel = matches!(path, Path::Kernel(_));
    registry.register_collector(Box::new(ReportCollector { report, rates, in_kernel, counts }));
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = encode(&mut text, &registry);
    text
}

/// Exports a report.
#[derive(Debug)]
struct ReportCollector {
    report: Report,
    rates: LinkRates,
    /// True for the report of a discipline in the kernel, which knows neither flows nor delays.
    in_kernel: bool,
    counts: Option<OwnCounts>,
}

impl Collector for ReportCollector {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut metrics = MetricsEncoder(encoder);
        of_discipline(&mut metrics, &self.report)?;
        match &self.report.bridge {
            _ if self.in_kernel => {
                metrics.counts("flushed", "dropped with their queue", &[(None, self.report.flushed)])?;
            }
            Some(bridge) if self.rates.direction.is_some() => of_bridge_way(&mut metrics, bridge.forward)?,
            Some(bridge) => of_bridge(&mut metrics, bridge)?,
            None => of_queue(&mut metrics, &self.report)?,
        }
        if let Some(OwnCounts { log_lines_dropped, rules_restored }) = self.counts {
            metrics.counter(
                "log_lines_dropped",
                "lines of the log that could not be written at once",
                log_lines_dropped,
            )?;
            metrics.counter(
                "rules_restored",
                "times that the rules were missing and installed again",
                rules_restored,
            )?;
        }
        of_rates(&mut metrics, &self.rates)?;
        of_backlog(&mut metrics, &self.report)?;
        if self.in_kernel { Ok(()) } else { of_flows_and_delays(&mut metrics, &self.report) }
    }
}

/// Writes the rate of the link, and how it is adjusted.
fn of_rates(metrics: &mut MetricsEncoder<'_>, rates: &LinkRates) -> fmt::Result {
    metrics.gauge("link_bits_per_second", "the rate of the link", rates.now().bits_per_second() as f64)?;
    let Some(view) = &rates.autorate else { return Ok(()) };
    metrics.gauge(
        "autorate_bits_per_second",
        "the rate that autorate has decided",
        view.rate.bits_per_second() as f64,
    )?;
    metrics.counter("autorate_probes_sent", "probes sent", view.sent)?;
    metrics.counter("autorate_probes_answered", "probes answered", view.answered)?;
    let help = "decisions about the rate";
    let mut metric = metrics.0.encode_descriptor("autorate_decisions", help, None, MetricType::Counter)?;
    for (reason, count) in AutorateReason::ALL.into_iter().zip(view.decisions) {
        let labels = [("reason", reason.words())];
        metric.encode_family(&labels)?.encode_counter::<NoLabelSet, _, f64>(&count, None)?;
    }
    Ok(())
}

/// Writes the metrics of every path.
fn of_discipline(metrics: &mut MetricsEncoder<'_>, report: &Report) -> fmt::Result {
    let counters = &report.counters;
    metrics.counts("arrived", "that came to the queue", &[(None, counters.arrived)])?;
    metrics.counts("departed", "that went on", &[(None, counters.departed)])?;
    metrics.counts(
        "dropped",
        "that the discipline dropped",
        &Reason::ALL.map(|reason| (Some(reason), counters.dropped(reason))),
    )?;
    metrics.counts(
        "marked",
        "that the discipline marked",
        &Reason::ALL.map(|reason| (Some(reason), counters.marked(reason))),
    )
}

/// Writes the reloads and the present queue.
fn of_backlog(metrics: &mut MetricsEncoder<'_>, report: &Report) -> fmt::Result {
    metrics.counter("reloads", "times that the parameters were replaced", report.reloads)?;
    metrics.gauge("backlog_packets", "packets that wait", report.packets as f64)?;
    metrics.gauge("backlog_bytes", "bytes on the wire of the packets that wait", report.bytes as f64)?;
    if let Some(average) = report.average {
        metrics.gauge("average", "the average queue that the discipline steers by, in its own unit", average)?;
    }
    Ok(())
}

/// Writes the metrics of a router in this process only.
fn of_flows_and_delays(metrics: &mut MetricsEncoder<'_>, report: &Report) -> fmt::Result {
    let flows = report.flows.get(..FLOWS).unwrap_or(&report.flows);
    metrics.of_flows(
        "matched_packets",
        "packets that matched another of their flow (CHOKe)",
        flows,
        TopFlow::matched,
    )?;
    metrics.of_flows("dropped_packets", "packets that were dropped", flows, |flow| {
        flow.counters.dropped_total().packets
    })?;
    metrics
        .of_flows("marked_packets", "packets that were marked", flows, |flow| flow.counters.marked_total().packets)?;
    metrics.of_flows("departed_bytes", "bytes on the wire that went on", flows, |flow| flow.counters.departed.bytes)?;
    metrics.histogram("sojourn_seconds", "time in the queue of packets that were sent", &report.sojourn)?;
    metrics.histogram("lateness_seconds", "delay of sent packets beyond the schedule of the link", &report.lateness)
}

/// Writes the counts of an NFQUEUE's socket and of the kernel.
fn of_queue(metrics: &mut MetricsEncoder<'_>, report: &Report) -> fmt::Result {
    let kernel = report.kernel.unwrap_or_default();
    metrics.counter(
        "kernel_dropped_full_packets",
        "packets that the kernel dropped: too many waited",
        kernel.dropped_full,
    )?;
    metrics.counter(
        "kernel_dropped_unread_packets",
        "packets that the kernel dropped: the receive buffer was full",
        kernel.dropped_unread,
    )?;
    metrics.counter("overruns", "times that the kernel reported ENOBUFS", report.overruns)?;
    metrics.counter("unknown_verdicts", "verdicts for packets that the kernel no longer had", report.unknown)?;
    metrics.counter("malformed_messages", "messages of the kernel that could not be read", report.malformed)?;
    metrics.counter("unsent_verdicts", "times that the kernel did not take verdicts at once", report.unsent)
}

/// A count of a bridge's frames: name, help and value.
type BridgeCount = (&'static str, &'static str, fn(&DirectionCounts) -> u64);

const BRIDGE_COUNTS: [BridgeCount; 8] = [
    ("received_frames", "frames that came in", |way| way.received),
    ("forwarded_frames", "frames given to the other interface", |way| way.forwarded),
    ("exempt_frames", "frames that were not queued because of their address", |way| way.exempt),
    ("kernel_dropped_frames", "frames that the kernel dropped: the ring was full", |way| way.kernel_dropped),
    ("joined_frames", "frames that came joined of several", |way| way.gso_frames),
    ("unfit_frames", "frames dropped that the other interface cannot send", |way| way.unfit),
    ("no_memory_frames", "frames dropped for lack of memory for them", |way| way.no_memory),
    ("refused_frames", "frames that the other interface had no room for", |way| way.refused),
];

/// Writes the counts of a bridge's interfaces, of which one direction is queued: `out`, and `in` at once.
fn of_bridge(metrics: &mut MetricsEncoder<'_>, bridge: &BridgeCounts) -> fmt::Result {
    for (name, help, of) in BRIDGE_COUNTS {
        let mut metric = metrics.0.encode_descriptor(name, help, None, MetricType::Counter)?;
        for (direction, way) in [("out", &bridge.forward), ("in", &bridge.reverse)] {
            let labels = [("direction", direction)];
            metric.encode_family(&labels)?.encode_counter::<NoLabelSet, _, f64>(&of(way), None)?;
        }
    }
    Ok(())
}

/// Writes the counts of one direction over a bridge, which all metrics have as a label.
fn of_bridge_way(metrics: &mut MetricsEncoder<'_>, way: DirectionCounts) -> fmt::Result {
    BRIDGE_COUNTS.into_iter().try_for_each(|(name, help, of)| metrics.counter(name, help, of(&way)))
}

/// Writes metrics one after the other.
struct MetricsEncoder<'e>(DescriptorEncoder<'e>);

impl MetricsEncoder<'_> {
    fn counter(&mut self, name: &str, help: &str, value: u64) -> fmt::Result {
        let mut metric = self.0.encode_descriptor(name, help, None, MetricType::Counter)?;
        metric.encode_counter::<NoLabelSet, _, f64>(&value, None)
    }

    /// Writes packets and bytes, by reason if there are reasons.
    fn counts(&mut self, name: &str, what: &str, counts: &[(Option<Reason>, Count)]) -> fmt::Result {
        for (unit, of) in [("packets", (|count| count.packets) as fn(&Count) -> u64), ("bytes", |count| count.bytes)] {
            let (name, help) = (format!("{name}_{unit}"), format!("{unit} {what}"));
            let mut metric = self.0.encode_descriptor(&name, &help, None, MetricType::Counter)?;
            for (reason, count) in counts {
                match reason {
                    Some(reason) => metric
                        .encode_family(&[("reason", reason.name())])?
                        .encode_counter::<NoLabelSet, _, f64>(&of(count), None)?,
                    None => metric.encode_counter::<NoLabelSet, _, f64>(&of(count), None)?,
                }
            }
        }
        Ok(())
    }

    /// Writes a count of each of the heaviest flows.
    fn of_flows(&mut self, name: &str, what: &str, flows: &[TopFlow], of: impl Fn(&TopFlow) -> u64) -> fmt::Result {
        let (name, help) = (format!("flow_{name}"), format!("{what}, of a flow that lost much, since it was found to"));
        let mut metric = self.0.encode_descriptor(&name, &help, None, MetricType::Counter)?;
        for flow in flows {
            let labels = [("flow", flow.name.to_string())];
            metric.encode_family(&labels)?.encode_counter::<NoLabelSet, _, f64>(&of(flow), None)?;
        }
        Ok(())
    }

    fn gauge(&mut self, name: &str, help: &str, value: f64) -> fmt::Result {
        self.0.encode_descriptor(name, help, None, MetricType::Gauge)?.encode_gauge(&value)
    }

    fn histogram(&mut self, name: &str, help: &str, delays: &DelayHistogram) -> fmt::Result {
        let mut metric = self.0.encode_descriptor(name, help, None, MetricType::Histogram)?;
        metric.encode_histogram::<NoLabelSet>(delays.sum_s(), delays.count(), &delays.coarse_buckets(), None)
    }
}

#[cfg(test)]
mod tests {
    use fairlane_linux::{BridgeConfig, BridgeDirections, Exempt, Marking, QueueConfig, Queues};

    use super::super::example::{bridge, report};
    use super::*;

    const fn rates(direction: Option<Direction>) -> LinkRates {
        LinkRates { direction, link: Rate::from_bits_per_second(27), autorate: None }
    }

    const COUNTS: OwnCounts = OwnCounts { log_lines_dropped: 25, rules_restored: 26 };

    /// The samples other than 0, without the prefix and the label that all have.
    fn samples(report: Report, path: DataPath, label: &str) -> Vec<String> {
        short_samples(&text(report, &Path::Process(path), rates(None), Some(COUNTS)), label)
    }

    fn short_samples(text: &str, label: &str) -> Vec<String> {
        let samples = text
            .lines()
            .filter(|line| !line.starts_with('#') && ![" 0", " 0.0"].iter().any(|none| line.ends_with(none)));
        let short = |line: &str| {
            let line = line.strip_prefix("fairlane_").unwrap_or(line);
            line.replace(&format!("{label},"), "").replace(&format!("{{{label}}}"), "")
        };
        samples.map(short).filter(|line| !line.contains("seconds")).collect()
    }

    /// Would catch a number under the name of another one.
    #[test]
    fn each_number_has_its_name() {
        let queue = QueueConfig {
            queues: Queues::new(4, 7).unwrap(),
            marking: Marking::ByUs,
            repeat: None,
            fail_open: false,
            gso: false,
            mtu: None,
        };
        let expected = [
            "arrived_packets_total 11",
            "arrived_bytes_total 1100",
            "departed_packets_total 12",
            "departed_bytes_total 1200",
            "dropped_packets_total{reason=\"match_victim\"} 1",
            "dropped_bytes_total{reason=\"match_victim\"} 130",
            "marked_packets_total{reason=\"early\"} 2",
            "marked_bytes_total{reason=\"early\"} 280",
            "kernel_dropped_full_packets_total 15",
            "kernel_dropped_unread_packets_total 16",
            "overruns_total 19",
            "unknown_verdicts_total 20",
            "malformed_messages_total 21",
            "unsent_verdicts_total 22",
            "log_lines_dropped_total 25",
            "rules_restored_total 26",
            "link_bits_per_second 27.0",
            "reloads_total 23",
            "backlog_packets 17.0",
            "backlog_bytes 1700.0",
            "average 18.5",
        ];
        assert_eq!(samples(report(), DataPath::Queue(queue), "queue=\"4:7\""), expected);
    }

    /// Would catch a dry run that shows the rate that packets do not have.
    #[test]
    fn the_adjusted_rate_is_that_of_the_link() {
        let of = |bits| Rate::from_bits_per_second(bits);
        let mut view = AutorateView {
            config: fairlane_autorate::Config::new(of(10), of(20), of(90)),
            rate: of(41),
            dry_run: false,
            reason: AutorateReason::Cut,
            blocker: None,
            decisions: [1, 2, 3, 4, 5, 6, 7],
            sent: 42,
            answered: 40,
        };
        let shown = |view: &AutorateView| {
            let rates = LinkRates { autorate: Some(view.clone()), ..rates(None) };
            short_samples(&text(report(), &Path::Kernel("eth7".to_owned()), rates, None), "interface=\"eth7\"")
        };
        let lines = shown(&view);
        for expected in [
            "link_bits_per_second 41.0",
            "autorate_bits_per_second 41.0",
            "autorate_probes_sent_total 42",
            "autorate_probes_answered_total 40",
            "autorate_decisions_total{reason=\"cut by delay\"} 1",
            "autorate_decisions_total{reason=\"held\"} 7",
        ] {
            assert!(lines.iter().any(|line| line == expected), "{expected}: {lines:?}");
        }
        view.dry_run = true;
        let lines = shown(&view);
        assert!(lines.contains(&"link_bits_per_second 27.0".to_owned()), "{lines:?}");
        assert!(lines.contains(&"autorate_bits_per_second 41.0".to_owned()), "{lines:?}");
    }

    /// Both directions in one text: each metric is described once, in front of the samples of both (OpenMetrics 1.0).
    /// Would catch samples that are told apart by nothing, and a second description.
    #[test]
    fn both_directions_are_one_text() {
        let of = |number: u16, direction| {
            let queues = number.into();
            let queue =
                QueueConfig { queues, marking: Marking::ByUs, repeat: None, fail_open: false, gso: false, mtu: None };
            text(report(), &Path::Process(DataPath::Queue(queue)), rates(Some(direction)), None)
        };
        let (up, down) = (of(0, Direction::Up), of(1, Direction::Down).replace("fairlane_average", "fairlane_other"));
        let both = merged(vec![up.clone(), down.clone()]);
        let descriptions = |text: &str| text.lines().filter(|line| line.starts_with('#')).count();
        assert_eq!(descriptions(&both), descriptions(&up) + 2);
        let mut metric = "";
        for line in both.lines() {
            metric = line.strip_prefix("# HELP ").map_or(metric, |rest| rest.split(' ').next().unwrap());
            assert!(line.starts_with('#') || line.starts_with(metric), "{line} behind {metric}");
        }
        let arrived = both.find("fairlane_arrived_packets_total{queue=\"0\",direction=\"up\"} 11\nfairlane_arrived_packets_total{queue=\"1\",direction=\"down\"} 11\n");
        assert!(arrived.is_some() && both.ends_with("\n# EOF\n") && both.matches("# EOF").count() == 1, "{both}");
    }

    /// The same for a discipline in the kernel, which has no sockets, flows and delays.
    #[test]
    fn each_number_of_the_kernel_has_its_name() {
        let text = text(report(), &Path::Kernel("eth7".to_owned()), rates(None), None);
        let samples = short_samples(&text, "interface=\"eth7\"");
        let rest = [
            "flushed_packets_total 24",
            "flushed_bytes_total 2400",
            "link_bits_per_second 27.0",
            "reloads_total 23",
            "backlog_packets 17.0",
        ];
        for expected in rest.iter().chain(&["arrived_packets_total 11", "marked_bytes_total{reason=\"early\"} 280"]) {
            assert!(samples.iter().any(|sample| sample == expected), "{expected}: {samples:?}");
        }
        assert!(!text.contains("sojourn") && !text.contains("verdicts") && !text.contains("flow_"), "{text}");
    }

    /// Would catch a sample with two labels of one name, which Prometheus refuses.
    #[test]
    fn a_direction_over_a_bridge_is_one_label() {
        let report = Report { bridge: Some(bridge()), ..Report::default() };
        let (inside, outside) = ("lan0".to_owned(), "wan0".to_owned());
        let config =
            BridgeConfig { inside, outside, gso: false, directions: BridgeDirections::In, exempt: Exempt::default() };
        let text = text(report, &Path::Process(DataPath::Bridge(config)), rates(Some(Direction::Down)), None);
        let expected = "fairlane_received_frames_total{bridge=\"lan0,wan0\",direction=\"down\"} 31\n";
        assert!(text.contains(expected), "{text}");
        assert!(!text.contains("direction=\"in\"") && !text.contains("direction=\"out\""), "{text}");
    }

    /// The same for the frames of a bridge, which has no queue in the kernel.
    #[test]
    fn each_number_of_a_bridge_has_its_name() {
        let report = Report { bridge: Some(bridge()), reloads: 23, ..Report::default() };
        let path = DataPath::Bridge(BridgeConfig {
            inside: "lan0".to_owned(),
            outside: "wan0".to_owned(),
            gso: false,
            directions: BridgeDirections::Both,
            exempt: Exempt::default(),
        });
        let names = [
            ("received", 31),
            ("forwarded", 32),
            ("exempt", 38),
            ("kernel_dropped", 33),
            ("joined", 37),
            ("unfit", 34),
            ("no_memory", 35),
            ("refused", 36),
        ];
        let both = |(name, number): (&str, u64)| {
            [("out", number), ("in", number + 10)]
                .map(|(direction, count)| format!("{name}_frames_total{{direction=\"{direction}\"}} {count}"))
        };
        let mut expected: Vec<String> = names.into_iter().flat_map(both).collect();
        let own =
            ["log_lines_dropped_total 25", "rules_restored_total 26", "link_bits_per_second 27.0", "reloads_total 23"];
        expected.extend(own.map(str::to_owned));
        assert_eq!(samples(report, path, "bridge=\"lan0,wan0\""), expected);
    }
}
