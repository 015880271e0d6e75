//! The candidates of an advice: which disciplines, with which parameters.

use std::fmt;
use std::str::FromStr;

use fairlane_qdisc::{Domain, Duration, FlowState, Kind, QdiscParameters};

use fairlane_runner::compare::once;

use crate::goal::Goal;
use crate::metric::{Metric, QueueMetric};
use crate::mix::Link;
use crate::settings::AdviseSettings;

/// The place where a discipline is to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// Linux: the kernel's own disciplines; those of `fairlane router` only if none of them meets the goal.
    Linux,
    /// `fairlane router`: all disciplines that are not experimental.
    Router,
    /// The simulator: all disciplines.
    Simulator,
    /// A chip: disciplines with one queue and without state of flows.
    Silicon,
}

/// The kernel's own disciplines, the simplest and most widely deployed first.
const KERNEL: [Kind; 11] = [
    Kind::DropTail,
    Kind::FqCodel,
    Kind::Codel,
    Kind::Pie,
    Kind::FqPie,
    Kind::Cake,
    Kind::DualPi2,
    Kind::Red,
    Kind::Choke,
    Kind::Sfq,
    Kind::Sfb,
];

/// Disciplines of chips, the simplest first; further ones follow.
const CHIP: [Kind; 6] = [Kind::DropTail, Kind::Red, Kind::Choke, Kind::Pie, Kind::Codel, Kind::DualPi2];

/// The room of every discipline: Linux's `txqueuelen`, and sch_codel's and sch_pie's default limit.
const ROOM: f64 = 1000.0;

/// The part of a bandwidth-delay product at which DCTCP's step marks: the paper of Alizadeh et al. (SIGCOMM 2010,
/// section 3.4) has at least 1/7.
const STEP: f64 = 1.0 / 7.0;

/// Bits of a packet of 1500 bytes.
const PACKET_BITS: f64 = 12_000.0;

impl Target {
    /// All targets.
    pub const ALL: [Self; 4] = [Self::Linux, Self::Router, Self::Simulator, Self::Silicon];

    /// Returns its name: `linux`, `router`, `simulator` or `silicon`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Linux => "linux",
            Self::Router => "router",
            Self::Simulator => "simulator",
            Self::Silicon => "silicon",
        }
    }

    /// Returns its disciplines in tiers, the simplest first. A tier is of use if none of those before meets the goal.
    fn tiers(self) -> Vec<Vec<Kind>> {
        let first: &[Kind] = if self == Self::Silicon { &CHIP } else { &KERNEL };
        let suits = |kind: &Kind| match self {
            Self::Simulator => true,
            Self::Linux | Self::Router => !kind.is_experimental(),
            // CBQ has a queue for each class.
            Self::Silicon => !kind.is_experimental() && kind.flow_state() == FlowState::None && *kind != Kind::Cbq,
        };
        let mut others: Vec<Kind> = Kind::ALL.into_iter().filter(|kind| !first.contains(kind)).filter(suits).collect();
        // Those that have been known for longest first.
        others.sort_by_key(|kind| kind.year().unwrap_or(u16::MAX));
        match self {
            Self::Linux => vec![first.to_vec(), others],
            _ => vec![[first.to_vec(), others].concat()],
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|target| target.name() == text);
        found.ok_or_else(|| format!("there is no target \"{text}\": write linux, router, simulator or silicon"))
    }
}

/// Returns the disciplines in tiers, the simplest first.
pub(crate) fn tiers(settings: &AdviseSettings) -> Vec<Vec<Kind>> {
    let AdviseSettings { on, kinds, no_flow_state, .. } = settings;
    let mut tiers = on.tiers();
    if !kinds.is_empty() {
        let mut known = [on.tiers().concat(), Kind::ALL.to_vec()].concat();
        known.retain(|kind| kinds.contains(kind));
        tiers = vec![once(known)];
    }
    for tier in &mut tiers {
        tier.retain(|kind| !no_flow_state || kind.flow_state() == FlowState::None);
    }
    tiers.retain(|tier| !tier.is_empty());
    tiers
}

/// Returns the number of packets that a link sends in `seconds`.
fn packets(link: &Link, seconds: f64) -> f64 {
    link.rate.bits_per_second() as f64 * seconds / PACKET_BITS
}

/// Returns the room of every discipline in packets: [`ROOM`], or twice the bandwidth-delay product if that is more.
pub(crate) fn room(link: &Link) -> u32 {
    (2.0 * packets(link, link.rtt.as_secs())).ceil().clamp(ROOM, 16e6) as u32
}

/// Returns a discipline with its defaults and the room of all, and with ECN if the hosts of the mix need it.
pub(crate) fn defaults(kind: Kind, link: &Link) -> QdiscParameters {
    let base = QdiscParameters::new(kind);
    let room = room(link);
    let base = with(&base, &[("limit", format!("{room}p"))])
        .or_else(|| with(&base, &[("limit", format!("{}b", 1500 * u64::from(room)))]))
        .unwrap_or(base);
    let marks = link.mix.needs_ecn().then(|| with(&base, &[("ecn", "true".to_owned())])).flatten();
    marks.unwrap_or(base)
}

/// Returns other values of the one or two parameters that matter: the target, the thresholds, DropTail's limit, CAKE's
/// round trip, the number of queues, and a step of marks for scalable congestion controls.
pub(crate) fn variants(kind: Kind, link: &Link, goal: &Goal) -> Vec<QdiscParameters> {
    let base = defaults(kind, link);
    let (rtt, flows) = (link.rtt.as_secs(), link.mix.flows());
    let aim = aim(goal).unwrap_or(rtt / 2.0);
    let size = |seconds: f64, least: f64| format!("{}p", packets(link, seconds).round().clamp(least, 1e7));
    // A queue cannot be kept shorter than the packet that is being sent.
    let time = |seconds: f64| Duration::from_secs(seconds.max(1.0 / packets(link, 1.0))).to_string();
    let mut sets: Vec<Vec<(&str, String)>> = Vec::new();
    if link.mix.needs_ecn() {
        sets.push(vec![("ce_threshold", time(rtt * STEP))]);
    }
    if link.mix.needs_ecn() && kind == Kind::Red {
        let step = packets(link, rtt * STEP).round().max(2.0);
        let thresholds = [("min", format!("{step}p")), ("max", format!("{}p", step + 1.0))];
        let certain = ["weight", "probability"].map(|key| (key, "1".to_owned()));
        sets.push(thresholds.into_iter().chain(certain).collect());
    }
    if kind == Kind::DropTail {
        // A product divided by the root of the number of flows: Appenzeller, Keslassy and McKeown (SIGCOMM 2004).
        let small = rtt / f64::from(flows.max(1)).sqrt();
        sets.extend([aim, rtt, small].map(|seconds| vec![("limit", size(seconds, 2.0))]));
    }
    if duration(kind, "target") {
        sets.extend([aim / 2.0, aim / 10.0].map(|seconds| vec![("target", time(seconds))]));
    }
    sets.extend([aim, aim / 3.0].map(|most| vec![("min", size(most / 3.0, 2.0)), ("max", size(most, 6.0))]));
    if kind == Kind::Cake {
        sets.push(vec![("rtt", link.rtt.to_string())]);
    }
    if flows >= 512 {
        sets.push(vec![("flows", (8 * flows).next_power_of_two().min(65_536).to_string())]);
    }
    let mut variants: Vec<QdiscParameters> = Vec::new();
    for variant in sets.iter().filter_map(|set| with(&base, set)) {
        if variant != base && !variants.contains(&variant) && variant.resolve(link.rate).is_ok() {
            variants.push(variant);
        }
    }
    variants
}

/// Returns the least bound on the delay in the queue.
fn aim(goal: &Goal) -> Option<f64> {
    let upper = goal.bounds().iter().filter(|bound| bound.comparison.is_upper());
    let delays = upper.filter(|bound| matches!(bound.metric, Metric::Queue(None, QueueMetric::Delay(_))));
    delays.map(|bound| bound.limit).reduce(f64::min)
}

fn duration(kind: Kind, key: &str) -> bool {
    kind.parameters().iter().any(|parameter| parameter.key == key && matches!(parameter.domain, Domain::Duration))
}

/// Returns `base` with these parameters; `None` if the discipline does not have one of them.
fn with(base: &QdiscParameters, set: &[(&str, String)]) -> Option<QdiscParameters> {
    set.iter().try_fold(base.clone(), |base, (key, value)| base.with(key, value.as_str()).ok())
}

#[cfg(test)]
mod tests {
    use fairlane_qdisc::Rate;
    use fairlane_scenario::KernelDiscipline;

    use super::*;

    fn link(rate: u64, rtt: u64, mix: &str) -> Link {
        let rate = Rate::from_bits_per_second(rate);
        Link { rate, rtt: Duration::from_millis(rtt), mix: mix.parse().unwrap() }
    }

    /// Would catch a discipline of the first tier that the kernel lacks, and one of a chip that keeps state of flows.
    #[test]
    fn a_target_can_run_its_disciplines() {
        let link = link(20_000_000, 40, "8 cubic");
        for kind in &Target::Linux.tiers()[0] {
            let config = defaults(*kind, &link).resolve(link.rate).unwrap();
            assert!(KernelDiscipline::new(config.config(), link.rate, 1500).is_some(), "{kind}");
        }
        assert!(Target::Silicon.tiers().concat().iter().all(|kind| kind.flow_state() == FlowState::None));
        assert_eq!(Target::Simulator.tiers().concat().len(), Kind::ALL.len());
        for target in Target::ALL {
            assert_eq!(target.name().parse(), Ok(target));
        }
    }

    /// By hand: 20 Mbit/s and 40 ms are 66.7 packets of 1500 bytes, so 1000 packets; 10 Gbit/s and 10 ms are 8333, so
    /// 16,667. Would catch a discipline that is given more room than another.
    #[test]
    fn all_have_the_same_room() {
        assert_eq!(room(&link(20_000_000, 40, "8 cubic")), 1000);
        assert_eq!(room(&link(10_000_000_000, 10, "8 cubic")), 16_667);
        let link = link(20_000_000, 40, "8 cubic");
        for kind in Kind::ALL {
            let parameters = defaults(kind, &link);
            let limit = parameters.given().find(|(key, _)| *key == "limit").map(|(_, value)| value.to_string());
            assert!(["1000p", "1500000b"].contains(&limit.as_deref().unwrap_or("none")), "{kind}: {limit:?}");
        }
    }

    /// By hand: 20 ms at 20 Mbit/s are 33 packets of 1500 bytes, and 40 ms 67, which over the root of 8 are 24; at 10
    /// Gbit/s and 100 µs 1/7 of the product is 12.
    #[test]
    fn the_parameters_that_matter_follow_from_the_goal_and_the_link() {
        let goal: Goal = "delay.p95<20ms, utilisation>0.9".parse().unwrap();
        let shown = |kind, link: &Link| -> Vec<String> {
            let text = |variant: &QdiscParameters| {
                variant.given().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(" ")
            };
            variants(kind, link, &goal).iter().map(text).collect()
        };
        let home = link(20_000_000, 40, "8 cubic");
        assert_eq!(shown(Kind::DropTail, &home), ["limit=33p", "limit=67p", "limit=24p"]);
        assert_eq!(shown(Kind::Codel, &home), ["limit=1000p target=10ms", "limit=1000p target=2ms"]);
        assert_eq!(shown(Kind::Choke, &home), ["limit=1000p min=11p max=33p", "limit=1000p min=4p max=11p"]);
        let rtt = Duration::from_nanos(100_000);
        let centre = Link { rtt, ..link(10_000_000_000, 1, "20 dctcp") };
        assert_eq!(shown(Kind::Red, &centre)[0], "limit=1000p min=12p max=13p probability=1 weight=1 ecn=true");
    }
}
